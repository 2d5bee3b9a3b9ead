"""These rules write variance and standard deviation in the operations of which they, and their gradients, are made."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Node
from tapec.ir.pattern import variables
from tapec.ops import Symbol
from tapec.ops.reductions.sums_and_extremes import size_along
from tapec.passes.engine.rule import Rule

__all__ = ["VARIANCES"]

(x,) = variables("x")


def _values_a_result(y: Node) -> int:
    """Return how many values each result is made of."""
    return y.inputs[0].type.size // max(y.type.size, 1)


def variance(y: Symbol, x: Symbol) -> Any:
    """Return the mean of the squared differences from the mean, or their sum over n - ddof."""
    axis, keepdims, ddof = [y.node.param(name) for name in ("axis", "keepdims", "ddof")]
    away = x - np.mean(x, axis=axis, keepdims=True)
    if ddof == 0:
        return np.mean(away * away, axis=axis, keepdims=keepdims)
    count = size_along(x, axis, ddof) if type(ddof) is int else float(_values_a_result(y.node) - ddof)
    return np.sum(away * away, axis=axis, keepdims=keepdims) / count


def deviation(y: Symbol, x: Symbol) -> Any:
    """Return the root of the variance, as NumPy computes it."""
    return np.sqrt(np.var(x, **dict(y.node.params)))


def _has_more_values_than_ddof(y: Node) -> bool:
    """Return whether there are more values than ddof, and the dtype is that of the result, single or double precision.

    NumPy adds up half precision in single precision.
    """
    dtype = y.inputs[0].type.dtype
    return dtype == y.type.dtype and dtype.char in "fd" and _values_a_result(y) > y.param("ddof")


VARIANCES = (
    Rule("std-in-parts", np.std(x), deviation, _has_more_values_than_ddof),
    Rule("var-in-parts", np.var(x), variance, _has_more_values_than_ddof, changes="rounding"),
)
