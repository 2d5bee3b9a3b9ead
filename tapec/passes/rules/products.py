"""Constant factors among cotangents leave matrix products, where the product is smaller than the scaled operand.

`(2 * e) @ v` and `(2 * e).T @ u` with a large e become `2 * (e @ v)` and `2 * (e.T @ u)`: e is never scaled, and needs
no second array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Node
from tapec.ops import apply
from tapec.passes.pattern import number, variables
from tapec.passes.rule import Rule
from tapec.passes.rules.scales import is_mild

__all__ = ["PRODUCTS"]

a, b = variables("a b")
k = number("k")
LARGE = 1 << 15  # elements from which a multiplication costs more than a call


def _is_smaller(y: Node, a: Node, k: Any) -> bool:
    return a.type.size >= max(LARGE, 2 * y.type.size) and is_mild(y, k)


def _transposed(of: Any, a: Any) -> Any:
    """a with the axes that the transpose `of` has."""
    return apply(of.op, (a,), of.params)


def _rule(name: str, pattern: Any, replacement: Any) -> Rule:
    return Rule(name, pattern, replacement, _is_smaller, only="cotangents", changes="rounding")


PRODUCTS = (
    _rule("factor-out-of-product", (a * k) @ b, lambda a, b, k: (a @ b) * k),
    _rule("factor-out-of-product-right", np.matmul(b, a * k), lambda a, b, k: (b @ a) * k),
    _rule(
        "factor-out-of-transposed-product",
        np.transpose(a * k) @ b,
        lambda y, a, b, k: (_transposed(y.node.inputs[0], a) @ b) * k,
    ),
    _rule(
        "factor-out-of-transposed-product-right",
        np.matmul(b, np.transpose(a * k)),
        lambda y, a, b, k: (b @ _transposed(y.node.inputs[1], a)) * k,
    ),
)
