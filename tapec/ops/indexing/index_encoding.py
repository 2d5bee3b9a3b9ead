"""Encode the index of `x[index]` as the static parts and the arrays of `getitem`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir.static_index import Slice, Slot
from tapec.ops.core.define import as_operand, dtype_of, shape_of
from tapec.ops.core.stand_in import ArrayLike, apply, method
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE, GETITEM, completed
from tapec.ops.layout.reshape_and_transpose import RESHAPE

__all__ = ["encode_index", "getitem"]


class Encoder:
    """An encoder takes the parts of an index one by one; `axis` is the axis that the next part stands for."""

    __slots__ = ("arrays", "axis", "lists", "masks", "ndim", "shape", "static")

    def __init__(self, shape: tuple[int, ...], ndim: int):
        self.shape = shape
        self.ndim = ndim  # how many axes the parts use, all together
        self.static: list[Any] = []
        self.arrays: list[Any] = []
        self.axis = 0
        self.masks = self.lists = 0

    def part(self, p: Any) -> None:
        if p is None:
            self.static.append(None)
        elif p is Ellipsis:
            self.static.append(p)
            self.axis += len(self.shape) - self.ndim
        elif type(p) is slice:
            self.static.append(_slice(p))
            self.axis += 1
        elif isinstance(p, (int, np.integer)) and not isinstance(p, bool):
            self.static.append(int(p))
            self.axis += 1
        else:
            self.array(p)

    def array(self, p: Any) -> None:
        kind = dtype_of(p).kind
        if kind == "b":
            self.mask(p)
        elif kind in "iu":
            self.lists += 1
            self.slot(p)
        else:
            raise IndexError(at_user_line("arrays used as indices must be of integer (or boolean) type"))

    def mask(self, p: Any) -> None:
        shape = shape_of(p)
        for k, n in enumerate(shape):
            if self.axis + k < len(self.shape) and n != self.shape[self.axis + k]:
                raise IndexError(
                    at_user_line(
                        f"boolean index did not match indexed array along axis {self.axis + k}; size of axis is "
                        f"{self.shape[self.axis + k]} but size of corresponding boolean axis is {n}"
                    )
                )
        self.masks += 1
        for positions in np.nonzero(p):
            self.slot(positions)

    def slot(self, array: Any) -> None:
        self.static.append(Slot(len(self.arrays)))
        self.arrays.append(array)
        self.axis += 1


def _slice(s: slice) -> Slice:
    """Return a slice as a static part of an index, with plain ints."""
    start, stop, step = s.start, s.stop, s.step
    if step is None and (start is None or type(start) is int) and (stop is None or type(stop) is int):
        return FULL_SLICE if start is None is stop else Slice(start, stop, None)
    try:
        return Slice(*[None if b is None else int(b.__index__()) for b in (s.start, s.stop, s.step)])
    except AttributeError:
        message = "slice indices must be integers or None or have an __index__ method"
        raise TypeError(at_user_line(message)) from None


def _part(p: Any) -> Any:
    """Return a part of an index, with an array in place of what NumPy reads as one: lists, ranges, buffers."""
    if p is None or p is Ellipsis or isinstance(p, (slice, int, np.integer)):
        return p
    if isinstance(p, (ArrayLike, np.ndarray, np.bool_)):
        return as_operand(p)
    if hasattr(p, "__index__") and not hasattr(type(p), "_tapec_read"):
        return np.asarray(p.__index__())
    array = as_operand(p)
    kind = dtype_of(array).kind
    if not shape_of(array) and kind not in "biu":
        message = (
            "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) "
            "and integer or boolean arrays are valid indices"
        )
        raise IndexError(at_user_line(message))
    return array.astype(np.intp) if not np.size(array) and kind == "f" else array


def _axes_used(p: Any) -> int:
    if p is None or p is Ellipsis or isinstance(p, (bool, np.bool_)):
        return 0
    if isinstance(p, (ArrayLike, np.ndarray)) and dtype_of(p).kind == "b":
        return len(shape_of(p))
    return 1


def encode_index(x: Any, index: Any) -> tuple[tuple[Any, ...], tuple[Any, ...], bool]:
    """An index as NumPy takes it: its static parts, its arrays, and whether it names no place twice."""
    kind = type(index)
    if kind is int:
        return (index,), (), False
    if kind is slice:
        return (_slice(index),), (), False
    parts = index if isinstance(index, tuple) else (index,)
    if len(parts) <= len(shape_of(x)) and all([type(p) in _BASIC for p in parts]):
        basic = [_slice(p) if type(p) is slice else p for p in parts]  # the common case
        while len(basic) > 1 and basic[-1] is FULL_SLICE:
            basic.pop()
        return tuple(basic), (), False
    read = [_part(p) for p in parts]
    coder = Encoder(shape_of(x), sum(map(_axes_used, read)))
    for p in read:
        coder.part(p)
    static = coder.static
    if coder.axis > len(coder.shape):
        completed(len(coder.shape), tuple(static))  # raises NumPy's error for too many indices
    if static.count(Ellipsis) > 1:
        raise IndexError(at_user_line("an index can only have a single ellipsis ('...')"))
    while len(static) > 1 and static[-1] == FULL_SLICE and Ellipsis not in static:
        static.pop()
    return tuple(static), tuple(coder.arrays), coder.masks == 1 and not coder.lists


_BASIC = frozenset({int, slice, type(None)})
_AXES = frozenset({None, Ellipsis, FULL_SLICE})


@method("__getitem__", gives_views=True)
def getitem(x: Any, index: Any) -> Any:
    kind = type(index)
    if kind is int:
        return apply(GETITEM, (x,), (("index", (index,)),))
    if kind is tuple and not index and not shape_of(x):
        return x.copy()  # NumPy takes the number out: no view
    if kind is not slice:
        parts = index if kind is tuple else (index,)
        if any([type(p) not in _BASIC and _is_flag(p) for p in parts]):
            return _with_flags(x, parts)
    static, arrays, unique = encode_index(x, index)
    if not arrays and _AXES.issuperset(static):
        return _spread_axes(x, static)
    params: tuple[tuple[str, Any], ...] = (("index", static),)
    return apply(GETITEM, (x, *arrays), (*params, ("unique", True)) if unique else params)


def _spread_axes(x: Any, index: tuple[Any, ...]) -> Any:
    """Return x[index] for an index of `None` and full slices, which only adds axes of length one."""
    shape = shape_of(x)
    cut = index.index(Ellipsis) if Ellipsis in index else len(index)
    new: list[int] = []
    axis = 0
    for i, p in enumerate(index):
        if i == cut:
            stop = len(shape) - sum(1 for q in index[i + 1 :] if q is not None)
            new.extend(shape[axis:stop])
            axis = stop
        elif p is None:
            new.append(1)
        else:
            new.append(shape[axis])
            axis += 1
    new.extend(shape[axis:])
    return x if tuple(new) == shape else apply(RESHAPE, (x,), (("shape", tuple(new)),))


def _is_flag(p: Any) -> bool:
    """Return whether a part of an index is a single boolean, which NumPy takes as an index, too."""
    if isinstance(p, (ArrayLike, np.ndarray)):
        return not shape_of(p) and dtype_of(p).kind == "b"
    return isinstance(p, (bool, np.bool_))


def _with_flags(x: Any, index: tuple[Any, ...]) -> Any:
    """Return x[index] for an index with single booleans.

    Each stands for a new axis, from which it takes one element or none.
    """
    shape = shape_of(x)
    parts = [_part(p) for p in index]
    used = sum(map(_axes_used, parts))
    axis = 0
    places: list[int] = []
    out: list[Any] = []
    for p in parts:
        if _is_flag(p):
            places.append(axis)
            out.append(np.zeros(1 if bool(p) else 0, np.intp))
        else:
            out.append(p)
        if p is Ellipsis:
            axis += len(shape) - used
        elif p is not None:
            axis += 1 if _is_flag(p) else _axes_used(p)
    return getitem(np.expand_dims(x, tuple(places)), tuple(out))
