"""Powers with small exponents as products, roots and reciprocals; norms as roots of sums of squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Node
from tapec.ops import Symbol
from tapec.passes.facts import is_nonnegative
from tapec.passes.pattern import Some, number, variables
from tapec.passes.rule import Rule

__all__ = ["POWERS"]

(x,) = variables("x")
k = number("k")


def _product(x: Any, k: float) -> Any:
    """x ** k for k = 2, 3, 4: where x * x overflows or underflows, so does the higher power."""
    square = x * x
    return square if k == 2 else square * x if k == 3 else square * square


def _half_integer(y: Node, x: Node) -> bool:
    """May `x ** 0.5` be a root? NumPy takes it when x is an array and 0.5 is none; otherwise -inf becomes inf."""
    return (y.type.ndim > 0 and not y.inputs[1].type.shape) or is_nonnegative(x)


def _is_euclidean(y: Node) -> bool:
    return y.param("ord") == 2 and y.type.dtype.char in "fd" and y.type.dtype == y.inputs[0].type.dtype


def root_of_squares(y: Symbol) -> Any:
    """What NumPy's norm does, in operations that can be taken together with others."""
    x = Symbol(y.node.inputs[0], y.builder)
    return np.sqrt(np.sum(x * x, axis=y.node.param("axis"), keepdims=y.node.param("keepdims")))


POWERS = (
    Rule("power-0", x**0, lambda y: np.ones_like(y), kinds="f"),
    Rule("power-1", x**1, x, kinds="fi"),
    Rule("power-2-3-4", x**k, lambda x, k: _product(x, k), guard=lambda k: k in (2, 3, 4), changes="rounding"),
    Rule("integer-power-2", x**2, x * x, kinds="iu"),
    Rule("power-minus-1", x**-1, 1.0 / x, changes="rounding"),
    Rule(
        "power-minus-2-3-4",
        x**k,
        lambda x, k: _product(1.0 / x, -k),
        guard=lambda k: k in (-2, -3, -4),
        changes="rounding",
    ),
    Rule("power-half", x**0.5, np.sqrt(x), guard=lambda y, x: _half_integer(y, x), changes="rounding"),
    Rule("power-minus-half", x**-0.5, 1.0 / np.sqrt(x), guard=lambda x: is_nonnegative(x), changes="rounding"),
    Rule("power-3-halves", x**1.5, x * np.sqrt(x), guard=lambda x: is_nonnegative(x), changes="rounding"),
    Rule("norm", Some("norm"), root_of_squares, _is_euclidean, changes="rounding"),
)
