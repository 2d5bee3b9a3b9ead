"""These rules write variance and standard deviation as what they, and their gradients, are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Node
from tapec.ops import Symbol
from tapec.passes.engine.pattern import variables
from tapec.passes.engine.rule import Rule

__all__ = ["SPREADS"]

(x,) = variables("x")


def _counted(y: Node) -> int:
    """How many values each result is made of."""
    return y.inputs[0].type.size // max(y.type.size, 1)


def variance(y: Symbol, x: Symbol) -> Any:
    """The mean of squares of what values are away from their mean, or of one value less."""
    axis, keepdims, ddof = [y.node.param(name) for name in ("axis", "keepdims", "ddof")]
    away = x - np.mean(x, axis=axis, keepdims=True)
    if ddof == 0:
        return np.mean(away * away, axis=axis, keepdims=keepdims)
    return np.sum(away * away, axis=axis, keepdims=keepdims) / float(_counted(y.node) - ddof)


def deviation(y: Symbol, x: Symbol) -> Any:
    """The root of the variance; NumPy computes it so."""
    return np.sqrt(np.var(x, **dict(y.node.params)))


def _is_counted(y: Node) -> bool:
    """Not for half precision, which NumPy adds up in single precision, and not for nothing over nothing."""
    dtype = y.inputs[0].type.dtype
    return dtype == y.type.dtype and dtype.char in "fd" and _counted(y) > y.param("ddof")


SPREADS = (
    Rule("std-in-parts", np.std(x), deviation, _is_counted),
    Rule("var-in-parts", np.var(x), variance, _is_counted, changes="rounding"),
)
