"""Compute the logarithm of a sum of exponentials along axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir.types import normalize_axes
from tapec.ops.control.custom_gradients import stop_gradient
from tapec.ops.core.define import define, dtype_of, ndim_of, shape_of
from tapec.ops.core.sample_domains import Domain
from tapec.ops.core.stand_in import apply
from tapec.ops.elementwise.arithmetic import largest_number
from tapec.ops.elementwise.minmax import CLIP

__all__ = ["CAPPED", "exponentials", "log_of_sum", "log_sum_exp"]

# Bounds that only infinities exceed, whose derivative is not to be lost: it is one there, too. Where derivatives are
# taken it is NumPy's clip, which takes numbers for bounds in half the time of its minimum.
CAPPED = define(
    "capped",
    CLIP.run,
    CLIP.rule,
    "elementwise",
    partials=lambda y, x, low, high: (1, 0, 0),
    source="np.clip({0}, {1}, {2})",
    sample=(Domain(-0.4, 0.4), Domain(-1.5, -0.5), Domain(0.5, 1.5)),
)


def exponentials(x: Any, axis: Any, weights: Any = None) -> tuple[Any, Any]:
    """Return exponentials of which the largest along the axes is one, and the maximum by which they were divided.

    Beside an infinite maximum every smaller number counts nothing. Where the maximum is -inf all exponentials are zero.
    Infinities with weights stay, since their sum may have no value.
    """
    start: Any = {} if 0 not in shape_of(x) else {"initial": -np.inf}  # SciPy has -inf for the logarithm of nothing
    top = stop_gradient(np.max(x, axis=axis, keepdims=True, **start))
    largest = largest_number(np.result_type(dtype_of(x), 0.0))
    x = x - np.clip(top, -largest, largest)
    return (np.exp(apply(CAPPED, (x, -np.inf, 0.0))) if weights is None else weights * np.exp(x)), top


def log_of_sum(total: Any, top: Any) -> Any:
    """Return the logarithm of a sum of such exponentials. Where all are zero the sum counts as one, and has no
    gradient.
    """
    top = np.reshape(top, shape_of(total))
    return np.log(total + (top == -np.inf).astype(total.dtype)) + top


def log_sum_exp(x: Any, axis: Any, keepdims: Any) -> Any:
    axes = normalize_axes(axis, ndim_of(x))
    parts, top = exponentials(x, axes)
    return log_of_sum(np.sum(parts, axis=axes, keepdims=keepdims), top)
