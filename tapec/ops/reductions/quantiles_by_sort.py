"""Compose quantiles of a sort and other ops: without nan, with weights, and at fractions that are tensors.

Sorting brings nan to the end, so the quantile of a lane is read among its first numbers, as many as are none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.ops.core.define import dtype_of, shape_of
from tapec.ops.core.op_helpers import as_array
from tapec.ops.core.symbol import is_known
from tapec.ops.core.value_checks import checked
from tapec.ops.reductions.statistics import aligned_weights

__all__ = ["checked_weights", "flat_fractions", "middle", "ranked", "weighted"]

# Hyndman and Fan's continuous methods: the quantile lies at c q + a + q (1 - a - b) - 1 among c sorted numbers
_BETWEEN = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}


def _nearest_even(p: Any) -> Any:
    """Return the nearest place; where two are as near, the one that is even counted from one."""
    low = np.floor(p - 0.5)
    return np.where((p - 0.5 == low) & (low % 2 == 1), low, low + 1)


# discontinuous methods, as functions of n = c q
_STEPS: dict[str, Callable[[Any], Any]] = {
    "inverted_cdf": lambda n: np.ceil(n) - 1,
    "averaged_inverted_cdf": lambda n: np.where(n == np.floor(n), n - 0.5, np.ceil(n) - 1),
    "closest_observation": lambda n: _nearest_even(n - 1),
}
# and of p = (c - 1) q
_ROUNDED: dict[str, Callable[[Any], Any]] = {
    "linear": lambda p: p,
    "lower": np.floor,
    "higher": np.ceil,
    "midpoint": lambda p: 0.5 * (np.floor(p) + np.ceil(p)),
    "nearest": np.round,
}
_WHOLE = {"lower", "higher", "nearest", "inverted_cdf", "closest_observation"}  # these methods choose an element


def _place(count: Any, q: Any, method: str) -> Any:
    """Return the place of a quantile among so many sorted numbers, counted from zero."""
    if method in _BETWEEN:
        a, b = _BETWEEN[method]
        p = count * q + (a + q * (1 - a - b)) - 1
    elif method in _STEPS:
        p = _STEPS[method](count * q)
    elif method in _ROUNDED:
        p = _ROUNDED[method]((count - 1) * q)
    else:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {[*_ROUNDED, *_STEPS, *_BETWEEN]}")
    return np.clip(p, 0, count - 1)


def ranked(rows: Any, q: Any, dtype: np.dtype, method: str, leave_nan: bool) -> Any:
    """The quantile of each row, in this dtype; nan where there is none, or where one is and they count."""
    rows, count, missing = _sorted(rows)
    p = _place(count, q, method)
    low = np.floor(p).astype(int)
    below = _read(rows, low)
    if method in _WHOLE or dtype_of(q).kind in "iu":
        return below if leave_nan else np.where(missing > 0, np.nan, below)
    share = (p - low).astype(dtype)
    above = _read(rows, np.minimum(low + 1, count - 1))
    late = share >= 0.5  # from the nearer one, as NumPy interpolates: an infinity on the other side does no harm
    y = np.where(late, above, below) + (share - late) * (above - below)
    return y if leave_nan else np.where(missing > 0, np.nan, y)


def middle(rows: Any) -> Any:
    """The median of the numbers of each row: the mean of two where they are even in number."""
    rows, count, _ = _sorted(rows)
    low, high = (count - 1) // 2, count // 2
    below, above = _read(rows, low), _read(rows, high)
    return np.where(low == high, below, (below + above) / 2)


def _sorted(rows: Any) -> tuple[Any, Any, Any]:
    """Return each row with its nan last, how many numbers it has, at least one, and how many nan."""
    missing = np.sum(np.isnan(rows), axis=1)
    return np.sort(rows, 1), np.maximum(shape_of(rows)[1] - missing, 1), missing


def _read(rows: Any, places: Any) -> Any:
    return np.take_along_axis(rows, np.broadcast_to(places, shape_of(rows)[:1])[:, None], 1)[:, 0]


def flat_fractions(q: Any) -> list[Any]:
    """Return each fraction by itself; those of a tensor are tensors."""
    if not is_known(q):
        flat = np.ravel(q)
        return [flat[i] for i in range(flat.shape[0])]
    return np.ravel(q).tolist()


# -- weights ----------------------------------------------------------------------------------------------------------
def checked_weights(a: Any, weights: Any, axis: Any, method: str) -> Any:
    """Return weights of the shape of a; raise NumPy's errors."""
    if method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    if dtype_of(a).kind == "c":
        raise TypeError("a must be an array of real numbers")
    w = as_array(weights)
    if shape_of(w) != shape_of(a):
        w = aligned_weights(a, axis, w)
    return checked(w, w < 0, ValueError("Weights must be non-negative."))


def weighted(rows: Any, weights: Any, fractions: list[Any], leave_nan: bool) -> list[Any]:
    """Return the smallest number of a row at which the share of the weights up to it reaches the fraction.

    The result moves with that number only: in the weights, and in the fraction, it is a step.
    """
    there = ~np.isnan(rows)
    if leave_nan:
        weights = np.where(there, weights, 0)
    order = np.argsort(rows, 1, stable=True)
    ordered = np.take_along_axis(rows, order, 1)
    upto = np.cumsum(np.take_along_axis(weights, order, 1).astype(float), 1)
    share = upto / upto[:, -1:]
    nothing = np.isnan(share[:, -1:]) & np.any(there, axis=1, keepdims=True)
    share = checked(share, nothing, ValueError("Weights included NaN, inf or were all zero."))
    last = shape_of(rows)[1] - 1
    found = [_read(ordered, np.minimum(np.sum(share < q, axis=1), last)) for q in fractions]
    if leave_nan or dtype_of(rows).kind not in "fc":
        return found
    return [np.where(np.all(there, axis=1), y, np.nan) for y in found]
