"""Apply a function to slices along axes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tapec.ir.types import normalize_axis
from tapec.ops.core.op_helpers import as_array
from tapec.ops.core.stand_in import implements

__all__ = ["apply_along_axis", "apply_over_axes"]


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function once for each line along an axis; the results stand where the lines stood."""
    axis = normalize_axis(axis, np.ndim(arr))
    arr = np.moveaxis(as_array(arr), axis, -1)
    outer = arr.shape[:-1]
    if 0 in outer:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    rows = [as_array(func1d(arr[index], *args, **kwargs)) for index in itertools.product(*map(range, outer))]
    y = np.reshape(np.stack(rows), (*outer, *rows[0].shape))
    if not rows[0].ndim:
        return y
    inner = tuple(range(len(outer), y.ndim))
    return np.moveaxis(y, inner, tuple(range(axis, axis + len(inner))))


@implements(np.apply_over_axes, gives_views=True)
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    y = as_array(a)
    n = y.ndim
    for axis in np.atleast_1d(axes).tolist():
        axis = normalize_axis(axis, n)
        found = as_array(func(y, axis))
        y = found if found.ndim == y.ndim else np.expand_dims(found, axis)
        if y.ndim != n:
            raise ValueError("function is not returning an array of the correct shape")
    return y
