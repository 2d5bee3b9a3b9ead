"""Define writing as a pure op: a copy of x in which x[index] is v. In-place code on tensors is recorded with it.

The index is static as in `tapec.ops.indexing.getitem_and_scatter`; its arrays are inputs after x and v. Where they
name a place several times, the last write wins, and it alone has a gradient; `unique` says that they never do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Type, broadcast_shapes
from tapec.ir.param_types import BOOL, INDEX, maybe
from tapec.ir.static_index import Slice, Slot
from tapec.ops.core.define import define, ndim_of, shape_of
from tapec.ops.core.op_helpers import both
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import apply
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE, GETITEM, are_distinct, index_layout, real_index

__all__ = ["SETITEM", "set_at", "setitem"]


def _run(x: Any, v: Any, *arrays: Any, index: tuple[Any, ...], unique: bool = False) -> Any:
    out = np.array(x)
    out[real_index(index, arrays)] = v
    return out if out.ndim else out[()]


def _rule(x: Type, v: Type, *arrays: Type, index: tuple[Any, ...], unique: bool = False) -> Type:
    """Return the type of x, if the value broadcasts to the region that the index names; raise NumPy's error if not."""
    region = index_layout(x.shape, index, tuple([a.shape for a in arrays])).shape
    value = v.shape
    while len(value) > len(region) and value[0] == 1:  # NumPy drops leading axes of length one
        value = value[1:]
    try:
        fits = broadcast_shapes(value, region) == region
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"could not broadcast input array from shape {v.shape} into shape {region}")
    return Type(x.shape, x.dtype)


def _params(index: tuple[Any, ...], unique: bool) -> tuple[tuple[str, Any], ...]:
    return (("index", index), ("unique", True)) if unique else (("index", index),)


def setitem(x: Any, v: Any, index: tuple[Any, ...], arrays: tuple[Any, ...], unique: bool = False) -> Any:
    return apply(SETITEM, (x, v, *arrays), _params(index, unique))


def set_at(flat: Any, positions: np.ndarray, v: Any) -> Any:
    """Return a vector with v at these positions, each of which is named once."""
    return setitem(flat, v, (Slot(0),), (positions,), True)


def _winners(shape: tuple[int, ...], region: tuple[int, ...], index: Any, arrays: Any) -> Any:
    """Return the mask of the elements of the value that are in the result.

    They are found by writing their numbers, and reading them back: the last write to a place wins.
    """
    size = 1
    for n in region:
        size *= n
    numbers = np.arange(size).reshape(region)
    blank = np.full(shape, -1)
    return apply(GETITEM, (setitem(blank, numbers, index, arrays), *arrays), _params(index, False)) == numbers


def _vjp(ct: Any, y: Any, x: Any, v: Any, *arrays: Any, index: tuple[Any, ...], unique: bool = False) -> Any:
    """Return the parts of the cotangent outside the index, for x, and inside it, for v."""
    to_v = apply(GETITEM, (ct, *arrays), _params(index, unique))
    if any(shape_of(a) for a in arrays) and not unique and not are_distinct([a.node for a in arrays]):
        to_v = np.where(_winners(x.shape, to_v.shape, index, arrays), to_v, 0.0)
    extra = ndim_of(v) - ndim_of(to_v)
    if extra > 0:
        to_v = np.reshape(to_v, (1,) * extra + shape_of(to_v))
    return setitem(ct, 0.0, index, arrays, unique), to_v, *[None for _ in arrays]


def _jvp(ts: Any, y: Any, x: Any, v: Any, *arrays: Any, index: tuple[Any, ...], unique: bool = False) -> Any:
    tx = np.zeros_like(y) if ts[0] is None else ts[0]
    return setitem(tx, 0.0 if ts[1] is None else ts[1], index, arrays, unique)


def _batch(batched: tuple[bool, ...], x: Any, v: Any, *arrays: Any, index: Any, unique: bool = False) -> Any:
    """Write all rows at once; the number of the row is joined to batched index arrays."""
    size = next(a.shape[0] for a, b in zip((x, v, *arrays), batched) if b)
    if not batched[0]:
        x = np.broadcast_to(x, (size, *shape_of(x)))
    shapes = tuple([a.shape[1:] if b else shape_of(a) for a, b in zip(arrays, batched[2:])])
    one = index_layout(x.shape[1:], index, shapes)
    front = len(one.front)
    value = shape_of(v)[1:] if batched[1] else shape_of(v)
    value = value[max(0, len(value) - len(one.shape)) :]
    own = (*(1,) * (len(one.shape) - len(value)), *value)
    v = np.reshape(v, (size, *own) if batched[1] else own)
    v = np.broadcast_to(v, (size, *one.shape))
    if any(batched[2:]):
        rows = np.arange(size).reshape((size,) + (1,) * front)
        arrays = tuple([_lifted(a, size, front, s) if b else a for a, b, s in zip(arrays, batched[2:], shapes)])
        index, arrays = (Slot(len(arrays)), *index), (*arrays, rows)
        moved = index_layout(x.shape, index, tuple(map(shape_of, arrays)))
        if moved.place == 0:
            v = np.moveaxis(v, tuple(range(1 + one.place, 1 + one.place + front)), tuple(range(1, 1 + front)))
        return setitem(x, v, index, arrays, unique)
    index = (FULL_SLICE, *index)
    place = index_layout(x.shape, index, shapes).place
    if front and place != 1 + one.place:
        v = np.moveaxis(v, tuple(range(1 + one.place, 1 + one.place + front)), tuple(range(place, place + front)))
    return setitem(x, v, index, arrays, unique)


def _lifted(array: Any, size: int, front: int, shape: tuple[int, ...]) -> Any:
    """Return a batched index array that broadcasts to (batch, *front)."""
    return np.reshape(array, (size, *(1,) * (front - len(shape)), *shape))


def _samples() -> Any:
    rows = np.array([2, 0, 2])

    def case(x: tuple[int, ...], v: tuple[int, ...], *arrays: Any, **params: Any) -> Any:
        return lambda rng: [Case((rng.standard_normal(x), rng.standard_normal(v), *arrays), params)]

    return both(
        case((4,), (), index=(1,)),
        case((3, 4), (2, 1, 1), index=(Slice(1, None, None), None, Slice(None, None, -2))),
        case((2, 3, 4), (3,), index=(Ellipsis, -1)),
        case((3, 2), (3, 2), rows, index=(Slot(0),)),
        case((3, 2), (2,), np.array([0, 2]), index=(Slot(0),), unique=True),
        case((3, 2, 3), (2, 3, 2), rows, np.array([[1], [0]]), index=(Slot(0), FULL_SLICE, Slot(1))),
        case((2, 3, 2), (1, 3, 1), rows, index=(1, Slot(0), Slice(0, 1, None))),
        case((2, 3), (1, 1, 3), index=(0,)),
    )


SETITEM = define(
    "setitem",
    _run,
    _rule,
    "indexing",
    params={"index": INDEX, "unique": maybe(BOOL)},
    vjp=_vjp,
    jvp=_jvp,
    batch=_batch,
    sample=_samples(),
    note="x.copy() with x[index] = v",
)
