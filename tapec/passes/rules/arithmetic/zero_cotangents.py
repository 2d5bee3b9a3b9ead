"""These rules keep zeros among cotangents zero, whatever a zero would be multiplied by."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Node
from tapec.ir.pattern import Some, number, variables
from tapec.ops.layout.creation import FULL
from tapec.passes.engine.node_facts import is_zero
from tapec.passes.engine.rule import Rule

__all__ = ["ZERO_COTANGENTS", "ZEROS"]

a, c, x, z = variables("a c x z")
k = number("k")


def is_zero_cotangent(node: Node) -> bool:
    """Return whether a node is an array of zeros that a derivative rule made.

    A zero that the user wrote is a number like any other: times inf it is nan.
    """
    return node.op is FULL and node.role is not None and is_zero(node)


def _are_zero(a: Node, z: Node) -> bool:
    return is_zero(a) and is_zero(z)


def _cotangent(name: str, pattern: Any, replacement: Any, **more: Any) -> Rule:
    return Rule(name, pattern, replacement, only="cotangents", changes="zeros", kinds="fc", **more)


# without these rules gradients would not be finite: known zeros meet no infinity, and a sum with zeros keeps its
# structural zeros
ZERO_COTANGENTS = (
    _cotangent("plus-zero", x + k, x, when=lambda k: k == 0),
    _cotangent("minus-any-zero", x - k, x, when=lambda k: k == 0),
    _cotangent("zero-minus", k - x, -x, when=lambda k: k == 0),
    _cotangent("either-zero", np.where(c, a, z), lambda y: np.zeros_like(y), when=lambda a, z: _are_zero(a, z)),
    _cotangent(
        "of-nothing",
        Some("multiply", "matmul", of=("full",)),
        lambda y: np.zeros_like(y),
        when=lambda y: any([is_zero_cotangent(i) for i in y.inputs]),
    ),
    _cotangent(
        "of-nothing-alone",
        Some("divide", "negative", "scatter", "conjugate", "real", "imag", "cast", of=("full",)),
        lambda y: np.zeros_like(y),
        when=lambda y: is_zero_cotangent(y.inputs[0]),
    ),
)
ZEROS = (*ZERO_COTANGENTS, _cotangent("times-one-complex", x * 1, x))
