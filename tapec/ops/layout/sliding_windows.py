"""Define windows that slide along axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tapec.errors import at_user_line
from tapec.ir import Type
from tapec.ir.param_types import AXIS, SIZE
from tapec.ir.static_index import Slice, Slot
from tapec.ir.types import normalize_axis
from tapec.ops import tuning
from tapec.ops.core.define import define, ndim_of, shape_of
from tapec.ops.core.op_helpers import as_array, both, drawn, permuted
from tapec.ops.core.stand_in import apply, implements
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE, SCATTER

__all__ = ["WINDOWS"]


def _rule(t: Type, window: int, axis: int) -> Type:
    return Type((*t.shape[:axis], t.shape[axis] - window + 1, *t.shape[axis + 1 :], window), t.dtype)


def _vjp(ct: Any, y: Any, x: Any, window: int, axis: int) -> Any:
    """Return for each element the sum of the cotangents in all windows that hold the element."""
    count = x.shape[axis] - window + 1
    if not window:
        return (np.zeros_like(x),)
    if window <= tuning.WINDOW_MAX_SLICES:
        parts = [_shifted(ct[..., j], x.shape, axis, j, count) for j in range(window)]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return (total,)
    places = np.arange(count)[:, None] + np.arange(window)
    rows = permuted(permuted(ct, axis, 0), ct.ndim - 1, 1)
    rest = (*x.shape[:axis], *x.shape[axis + 1 :])
    total = apply(SCATTER, (rows, places), (("shape", (x.shape[axis], *rest)), ("index", (Slot(0),))))
    return (permuted(total, 0, axis),)


def _shifted(ct: Any, shape: tuple[int, ...], axis: int, start: int, count: int) -> Any:
    index = (*(FULL_SLICE,) * axis, Slice(start, start + count, None))
    return apply(SCATTER, (ct,), (("shape", shape), ("index", index)))


def _source(args: tuple[str, ...], node: Any) -> str:
    axis = f", axis={node.param('axis')}" if node.inputs[0].type.ndim > 1 else ""
    return f"np.lib.stride_tricks.sliding_window_view({args[0]}, {node.param('window')}{axis})"


WINDOWS = define(
    "sliding_window",
    lambda x, window, axis: sliding_window_view(x, window, axis),
    _rule,
    "layout",
    params={"window": SIZE, "axis": AXIS},
    vjp=_vjp,
    linear=(0,),
    batch=lambda batched, x, window, axis: sliding_window_view(x, window, axis + 1),
    source=_source,
    view=True,
    sample=both(
        drawn((6,), window=3, axis=0),
        drawn((2, 5), window=1, axis=1),
        drawn((36, 2), window=34, axis=0),
        drawn((2, 35), window=33, axis=1),
    ),
    numpy=sliding_window_view,
)


@implements(sliding_window_view, gives_views=True)
def windows(x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False) -> Any:
    """Take the windows along one axis after the other, each as a new last axis."""
    x = as_array(x)
    n = ndim_of(x)
    lengths = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    if any(w < 0 for w in lengths):
        raise ValueError(at_user_line("`window_shape` cannot contain negative values"))
    if axis is None:
        if len(lengths) != n:
            message = f"Since axis is None, must provide window_shape for all dimensions of `x`, which has {n}"
            raise ValueError(at_user_line(message))
        axes = tuple(range(n))
    else:
        axes = tuple([normalize_axis(k, n) for k in (axis if isinstance(axis, (tuple, list)) else (axis,))])
        if len(lengths) != len(axes):
            raise ValueError(at_user_line("Must provide matching length window_shape and axis"))
    for w, k in zip(lengths, axes):
        if w > shape_of(x)[k]:
            raise ValueError(at_user_line("window shape cannot be larger than input array shape"))
        x = apply(WINDOWS, (x,), (("window", int(w)), ("axis", k)))
    return x
