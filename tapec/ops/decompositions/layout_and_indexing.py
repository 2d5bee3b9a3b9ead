"""Make changes of layout, reads and writes at places of other ops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.ir import CONSTANT, Node, OpSet, Type, ops
from tapec.ir.static_index import Slice, Slot
from tapec.ops.core.stand_in import apply
from tapec.ops.decompositions.elementwise import Decompose
from tapec.ops.indexing.getitem_and_scatter import (
    GETITEM,
    SCATTER,
    completed,
    index_layout,
    is_added_up,
    picks_one,
)

__all__ = ["TABLE", "are_places", "windows"]


def windows(x: Any, window: int, axis: int) -> Any:
    n = x.shape[axis] - window + 1
    places = np.arange(n)[:, None] + np.arange(window)
    taken = np.take(x, places.ravel(), axis=axis)
    taken = np.reshape(taken, (*x.shape[:axis], n, window, *x.shape[axis + 1 :]))
    return np.moveaxis(taken, axis + 1, -1)


def _pad(x: Any, width: Any, mode: str, value: Any = 0) -> Any:
    for axis, (before, after) in enumerate(width):
        if not before and not after:
            continue
        if mode == "constant":
            sides = [np.full((*x.shape[:axis], n, *x.shape[axis + 1 :]), value, x.dtype) for n in (before, after)]
            x = np.concatenate([sides[0], x, sides[1]], axis=axis)
        else:
            x = np.take(x, np.pad(np.arange(x.shape[axis]), (before, after), mode=mode), axis=axis)  # type: ignore[call-overload]
    return x


def _diff(x: Any, n: int, axis: int) -> Any:
    for _ in range(n):
        front = np.moveaxis(x, axis, 0)
        d = front[1:] != front[:-1] if x.dtype.kind == "b" else front[1:] - front[:-1]
        x = np.moveaxis(d, 0, axis)
    return x


def _linspace(start: Any, stop: Any, num: int, endpoint: bool) -> Any:
    steps = num - 1 if endpoint else num
    ndim = max(start.ndim, stop.ndim)
    t = np.reshape(np.arange(num) * 1.0, (num, *(1,) * ndim))
    if num <= 1 or not steps:
        return start + t * (stop - start)
    y = start + t * ((stop - start) / steps)
    if not endpoint:
        return y
    return np.where(t == num - 1, stop * np.ones_like(y), y)


_PLACES = OpSet("argsort argpartition argmax argmin nonzero searchsorted digitize count_nonzero length")
_MOVED = OpSet("cast reshape broadcast_to transpose concatenate stack take_along_axis add multiply item getitem")


def are_places(node: Node) -> bool:
    """Return whether numbers are known not to be negative: places that are counted from the front."""
    if node.op is CONSTANT:
        return not np.size(node.value) or bool(np.min(node.value) >= 0)
    if node.type.__class__ is Type and node.type.dtype.kind in "ub":
        return True
    if node.op is ops.where:  # as `_from_front` makes it
        test, there, others = node.inputs
        is_test = test.op is ops.less and is_zero(test.inputs[1])
        return is_test and uncast(test.inputs[0]) is uncast(others) and uncast(there).op is ops.add
    return node.op in _PLACES or (node.op in _MOVED and all([are_places(i) for i in node.inputs]))


def uncast(node: Node) -> Node:
    while node.op is ops.cast:
        [node] = node.inputs
    return node


def is_zero(node: Node) -> bool:
    return node.op is CONSTANT and not np.any(node.value)


def _from_front(at: Any, n: int) -> Any:
    """Return places with those that count from the end counted from the front."""
    return at if are_places(at.node) else np.where(at < 0, at + n, at)


def _getitem(x: Any, *arrays: Any, index: Any, unique: bool = False) -> Any:
    """Return x[index] by one `take` of rows: slices first, then one place for all index arrays together."""
    full = completed(x.ndim, index)
    if not arrays:
        return _turned(x, full)
    layout = index_layout(x.shape, index, tuple([a.shape for a in arrays]))
    whole = [p for p in full if p is not None and p is not Ellipsis]
    x = x[tuple([slice(*p) if type(p) is Slice else slice(None) for p in whole])]
    axes = [k for k, p in enumerate(whole) if type(p) is not Slice]
    rest = [k for k in range(x.ndim) if k not in axes]
    front: Any = 0
    for k in axes:
        n, place = x.shape[k], whole[k]
        at = arrays[place.k] if type(place) is Slot else place % n
        at = _from_front(at, n) if type(place) is Slot else at
        front = at if k == axes[0] else front * n + at
    shape = np.shape(front)
    sizes = [math.prod([x.shape[k] for k in part]) for part in (axes, rest)]
    rows = np.reshape(np.transpose(x, (*axes, *rest)), tuple(sizes))
    if not rows.size and not x.size:
        return np.zeros(layout.shape, x.dtype)
    places = np.reshape(front, (math.prod(shape),))
    taken = apply(GETITEM, (rows, places), (("index", (Slot(0),)),))
    taken = np.reshape(taken, (*shape, *[x.shape[k] for k in rest]))
    taken = np.moveaxis(taken, tuple(range(len(shape))), tuple(range(layout.place, layout.place + len(shape))))
    return np.reshape(taken, layout.shape)


def _turned(x: Any, full: list[Any]) -> Any:
    """Return x[full] with the axes turned first that are read backwards."""
    there: list[Any] = []
    turned = []
    axis = 0
    for p in full:
        if type(p) is Slice and p.step is not None and p.step < 0:
            turned.append(axis)
            n = x.shape[axis]
            read = [n - 1 - k for k in range(n)[slice(*p)]]
            p = slice(read[0], read[-1] + 1, -p.step) if read else slice(0, 0)
        elif type(p) is Slice:
            p = slice(*p)
        axis += p is not None and p is not Ellipsis
        there.append(p)
    return np.flip(x, tuple(turned))[tuple(there)]


def _scatter(v: Any, *arrays: Any, shape: Any, index: Any, unique: bool = False) -> Any:
    """Put a block between zeros; where a block is not what is written, add at places of the flat array."""
    full = completed(len(shape), index)
    if not arrays and all([type(p) is not Slice or p.step in (None, 1) for p in full]):
        return _between_zeros(v, full, shape)
    if arrays and picks_one(index, [a.node for a in arrays], shape):
        last = np.arange(shape[-1]) == arrays[-1][..., None] % shape[-1]
        return np.where(last, np.broadcast_to(v, shape[:-1])[..., None], np.zeros((), v.dtype))
    if index == (Slot(0),) and arrays[0].ndim == 1 and not are_places(arrays[0].node):
        v = np.broadcast_to(v, (*arrays[0].shape, *shape[1:]))
        return apply(SCATTER, (v, _from_front(arrays[0], shape[0])), (("shape", shape), ("index", index)))
    size = math.prod(shape)
    places = np.reshape(np.arange(size), shape)
    region = index_layout(shape, index, tuple([a.shape for a in arrays])).shape
    if arrays:
        at = _places(arrays, full, shape, index)
    else:
        at = places[tuple([slice(*p) if type(p) is Slice else p for p in full])]
    values = np.reshape(np.broadcast_to(v, region), (-1,))
    flat = apply(SCATTER, (values, np.reshape(at, (-1,))), (("shape", (size,)), ("index", (Slot(0),))))
    return np.reshape(flat, shape)


def _places(arrays: Any, full: list[Any], shape: Any, index: Any) -> Any:
    """Return the places in the flat array that an index with arrays names."""
    places = np.reshape(np.arange(math.prod(shape)), shape)
    builder = next(a for a in arrays)
    return apply(GETITEM, (builder._constant(places), *arrays), (("index", index),))


def _between_zeros(v: Any, full: list[Any], shape: Any) -> Any:
    axes = [p for p in full if p is not Ellipsis]
    region = [
        1 if type(p) is int else len(range(*slice(*p).indices(n)))
        for p, n in zip([p for p in axes if p is not None], shape)
    ]
    dropped = index_layout(shape, tuple(full), ()).shape
    x = np.reshape(np.broadcast_to(v, dropped), region)
    for axis, (p, n) in enumerate(zip([p for p in axes if p is not None], shape)):
        first = p % n if type(p) is int and n else slice(*p).indices(n)[0] if type(p) is Slice else 0
        before, after = first, n - first - region[axis]
        if not region[axis]:
            before, after = 0, n
        sides = [np.zeros((*x.shape[:axis], k, *x.shape[axis + 1 :]), x.dtype) for k in (before, after)]
        parts = [part for part in (sides[0], x, sides[1]) if part.shape[axis]]
        if len(parts) > 1:
            x = np.concatenate(parts, axis=axis)
        elif parts:
            x = parts[0]
    return x


def _setitem(x: Any, v: Any, *arrays: Any, index: Any, unique: bool = False) -> Any:
    """Return x with v where an index has written: only where it writes to no place twice."""
    layout = index_layout(x.shape, index, tuple([a.shape for a in arrays]))
    ones = np.ones(layout.shape)
    if v.ndim > len(layout.shape):
        v = np.reshape(v, v.shape[v.ndim - len(layout.shape) :])
    params = (("shape", x.shape), ("index", index), ("unique", unique))
    mask = (
        _scatter(x._constant(ones), *arrays, shape=x.shape, index=index)
        if not arrays
        else apply(SCATTER, (x._constant(ones), *arrays), params)
    )
    if arrays and is_added_up(mask.node):
        return None
    value = np.broadcast_to(v.astype(x.dtype), layout.shape)
    if x.dtype.kind == "b":
        value = value.astype(np.int64)
    placed = apply(SCATTER, (value, *arrays), params)
    return np.where(mask > 0, placed.astype(x.dtype), x)


TABLE: dict[str, Decompose] = {
    "sliding_window": windows,
    "pad": _pad,
    "diff": _diff,
    "linspace": _linspace,
    "getitem": _getitem,
    "scatter": _scatter,
    "setitem": _setitem,
}
