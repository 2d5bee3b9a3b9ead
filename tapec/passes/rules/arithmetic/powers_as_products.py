"""These rules write powers with small exponents as products, roots and reciprocals, and norms as roots of sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Node, by_python
from tapec.ir.pattern import Some, number, variables
from tapec.ops import Symbol
from tapec.passes import tuning
from tapec.passes.engine.node_facts import is_nonnegative
from tapec.passes.engine.rule import Rule

__all__ = ["POWERS_AS_PRODUCTS"]

(x,) = variables("x")
k = number("k")


def _product(x: Any, k: float) -> Any:
    """Return x ** k for a whole k, as few products: where x * x overflows or underflows, so does the higher power."""
    total, left = None, int(k)
    while True:
        if left % 2:
            total = x if total is None else x * total
        left //= 2
        if not left:
            return total
        x = x * x


def _is_product(y: Node, k: Any) -> bool:
    """Return whether k is a power that few products make.

    NumPy's own power takes a hundred times as long where a base is negative.
    """
    return (
        not _overflows(y)
        and type(k) in (int, float)
        and k % 1 == 0
        and 2 <= k <= (tuning.ARRAY_POWER_MAX_EXPONENT if y.type.shape else tuning.NUMBER_POWER_MAX_EXPONENT)
    )


def _overflows(y: Node) -> bool:
    """Return whether a power of Python's numbers raises OverflowError where a product is infinite."""
    return by_python(y) and y.type.dtype.kind != "i"


def _half_integer(y: Node, x: Node) -> bool:
    """Return whether `x ** 0.5` may be a root.

    NumPy itself takes the root when x is an array and 0.5 is none; otherwise a root of -inf is nan, where the power is
    inf.
    """
    return (y.type.ndim > 0 and not y.inputs[1].type.shape) or is_nonnegative(x)


def _is_euclidean(y: Node) -> bool:
    return y.param("ord") == 2 and y.type.dtype.char in "fd" and y.type.dtype == y.inputs[0].type.dtype


def root_of_squares(y: Symbol) -> Any:
    """Return what NumPy's norm computes, in operations that other rules can combine."""
    x = Symbol(y.node.inputs[0], y.builder)
    return np.sqrt(np.sum(x * x, axis=y.node.param("axis"), keepdims=y.node.param("keepdims")))


POWERS_AS_PRODUCTS = (
    Rule("power-0", x**0, lambda y: np.ones_like(y), kinds="f"),
    Rule("power-1", x**1, x, kinds="fi"),
    Rule("power-product", x**k, lambda x, k: _product(x, k), when=_is_product, changes="rounding"),
    Rule("integer-power-2", x**2, x * x, kinds="iu"),
    Rule("power-minus-1", x**-1, 1.0 / x, when=lambda y: not _overflows(y), changes="rounding"),
    Rule(
        "power-minus-product",
        x**k,
        lambda x, k: _product(1.0 / x, -k),
        when=lambda y, k: _is_product(y, -k),
        changes="rounding",
    ),
    Rule("power-half", x**0.5, np.sqrt(x), when=lambda y, x: _half_integer(y, x), changes="rounding"),
    Rule("power-minus-half", x**-0.5, 1.0 / np.sqrt(x), when=lambda x: is_nonnegative(x), changes="rounding"),
    Rule("power-3-halves", x**1.5, x * np.sqrt(x), when=lambda x: is_nonnegative(x), changes="rounding"),
    Rule("norm", Some("norm"), root_of_squares, _is_euclidean, changes="rounding"),
)
