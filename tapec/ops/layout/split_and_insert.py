"""Split arrays, insert and delete elements: compositions of `concatenate`, `stack` and slices."""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir.types import normalize_axis
from tapec.ops.core.define import as_operand, ndim_of, shape_of
from tapec.ops.core.op_helpers import along, as_array, available, fitting, flat
from tapec.ops.core.stand_in import ArrayLike, implements

__all__ = ["at_least"]


def at_least(x: Any, ndim: int) -> Any:
    """Return x with axes of length one in front until it has so many."""
    missing = ndim - ndim_of(x)
    return np.reshape(x, (1,) * missing + shape_of(x)) if missing > 0 else x


def _each(arrays: tuple[Any, ...], one: Any) -> Any:
    done = tuple([one(as_array(a)) for a in arrays])
    return done[0] if len(done) == 1 else done


@implements(np.atleast_1d, gives_views=True)
def atleast_1d(*arys: Any) -> Any:
    return _each(arys, lambda a: at_least(a, 1))


@implements(np.atleast_2d, gives_views=True)
def atleast_2d(*arys: Any) -> Any:
    return _each(arys, lambda a: at_least(a, 2))


def _three(a: Any) -> Any:
    return np.reshape(a, {0: (1, 1, 1), 1: (1, *shape_of(a), 1), 2: (*shape_of(a), 1)}.get(ndim_of(a), shape_of(a)))


@implements(np.atleast_3d, gives_views=True)
def atleast_3d(*arys: Any) -> Any:
    return _each(arys, _three)


# -- joining ----------------------------------------------------------------------------------------------------------
@implements(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    parts = [as_array(a) for a in tup]
    if parts and all(ndim_of(p) == 1 for p in parts):
        return np.stack(parts, dtype=dtype)
    return np.concatenate([at_least(p, 2) for p in parts], dtype=dtype)


@implements(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    parts = [at_least(as_array(a), 1) for a in tup]
    axis = 0 if parts and ndim_of(parts[0]) == 1 else 1
    return np.concatenate(parts, axis, dtype=dtype)


@implements(np.dstack)
def dstack(tup: Any) -> Any:
    return np.concatenate([_three(as_array(a)) for a in tup], 2)


@implements(np.column_stack)
def column_stack(tup: Any) -> Any:
    parts = [as_array(a) for a in tup]
    if parts and all(ndim_of(p) == 1 for p in parts):
        return np.stack(parts, 1)
    return np.concatenate([np.transpose(at_least(p, 2)) if ndim_of(p) < 2 else p for p in parts], 1)


@implements(np.block)
def block(arrays: Any) -> Any:
    depth = _depth(arrays)
    ndim = max(depth, _deepest_ndim(arrays))
    return _block(arrays, depth, ndim)


def _depth(arrays: Any) -> int:
    """Return how deep lists are nested; all have to be nested alike."""
    if isinstance(arrays, tuple):
        raise TypeError(at_user_line("np.block takes lists; a tuple was given. Fix: write [...] for (...)"))
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError(at_user_line("List at arrays cannot be empty"))
    depths = {_depth(a) for a in arrays}
    if len(depths) > 1:
        raise ValueError(at_user_line("List depths are mismatched"))
    return depths.pop() + 1


def _deepest_ndim(arrays: Any) -> int:
    return max(map(_deepest_ndim, arrays)) if isinstance(arrays, list) else ndim_of(as_operand(arrays))


def _block(arrays: Any, depth: int, ndim: int) -> Any:
    """Join lists at the innermost depth along the last axis, and lists of those along the axis before it."""
    if depth == 0:
        return at_least(as_array(arrays), ndim)
    return np.concatenate([_block(a, depth - 1, ndim) for a in arrays], ndim - depth)


@implements(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    arr, values = as_array(arr), as_array(values)
    if axis is None:
        arr, values, axis = flat(arr), flat(values), 0
    return np.concatenate((arr, values), axis)


# -- splitting --------------------------------------------------------------------------------------------------------
@implements(np.array_split, gives_views=True)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    ary = as_array(ary)
    axis = normalize_axis(axis, ndim_of(ary))
    total = shape_of(ary)[axis]
    cuts = _cuts(indices_or_sections, total)
    return [ary[along(axis, slice(a, b))] for a, b in pairwise(cuts)]


def _cuts(sections: Any, total: int) -> list[int]:
    if np.ndim(sections):
        return [0, *map(operator.index, sections), total]
    count = int(sections)
    if count <= 0:
        raise ValueError(at_user_line("number sections must be larger than 0."))
    each, extra = divmod(total, count)
    return [i * each + min(i, extra) for i in range(count + 1)]


@implements(np.split, gives_views=True)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    ary = as_array(ary)
    if not np.ndim(indices_or_sections):
        n = shape_of(ary)[normalize_axis(axis, ndim_of(ary))]
        if n % indices_or_sections:
            raise ValueError(at_user_line("array split does not result in an equal division"))
    return array_split(ary, indices_or_sections, axis)


@implements(np.hsplit, gives_views=True)
def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    if not ndim_of(ary):
        raise ValueError(at_user_line("hsplit only works on arrays of 1 or more dimensions"))
    return split(ary, indices_or_sections, 1 if ndim_of(ary) > 1 else 0)


@implements(np.vsplit, gives_views=True)
def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    if ndim_of(ary) < 2:
        raise ValueError(at_user_line("vsplit only works on arrays of 2 or more dimensions"))
    return split(ary, indices_or_sections, 0)


@implements(np.dsplit, gives_views=True)
def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    if ndim_of(ary) < 3:
        raise ValueError(at_user_line("dsplit only works on arrays of 3 or more dimensions"))
    return split(ary, indices_or_sections, 2)


@implements(*available("unstack"), gives_views=True)  # NumPy 2.1
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    x = as_array(x)
    if not ndim_of(x):
        raise ValueError(at_user_line("Input array must be at least 1-d."))
    axis = normalize_axis(axis, ndim_of(x))
    return tuple([x[along(axis, i)] for i in range(shape_of(x)[axis])])


# -- inserting and deleting -------------------------------------------------------------------------------------------
def _positions(obj: Any, n: int) -> np.ndarray:
    """The positions among n that a slice, a mask, an int or a list of ints selects; negative ones stay as they are."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(n))
    places = np.asarray(obj)
    if places.dtype == bool:
        if places.shape != (n,):
            raise ValueError(at_user_line(f"boolean array argument must be one dimensional and match length of {n}"))
        return np.flatnonzero(places)
    return places.astype(np.intp) if not places.size else places


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    arr = as_array(arr)
    if axis is None:
        arr, axis = flat(arr), 0
    axis = normalize_axis(axis, ndim_of(arr))
    n = shape_of(arr)[axis]
    places = np.atleast_1d(_positions(obj, n)).ravel()
    wrong = places[(places < -n) | (places >= n)]
    if wrong.size:
        raise IndexError(at_user_line(f"index {wrong[0]} is out of bounds for axis {axis} with size {n}"))
    keep = np.ones(n, bool)
    keep[places] = False
    if not keep.any():
        return arr[along(axis, slice(0, 0))]
    edges = np.flatnonzero(np.diff(keep, prepend=False, append=False))
    runs = [arr[along(axis, slice(int(a), int(b)))] for a, b in edges.reshape(-1, 2)]
    if len(runs) <= 3:
        found = runs[0] if len(runs) == 1 else np.concatenate(runs, axis)
        if n - keep.sum() == 1:
            return _filled_like(arr, found)
        if isinstance(found, ArrayLike) and ndim_of(arr) > 1:
            found._lie_as(arr[along(axis, np.flatnonzero(keep))])
        return found
    return arr[along(axis, np.flatnonzero(keep))]


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    arr = as_array(arr)
    values = as_array(fitting(values, arr.dtype))
    if axis is None:
        arr, axis = flat(arr), 0
    axis = normalize_axis(axis, ndim_of(arr))
    shape = shape_of(arr)
    n = shape[axis]
    places = _positions(obj, n)
    if places.ndim > 1:
        raise ValueError(at_user_line("index array argument obj to insert must be one dimensional or scalar"))
    wrong = places[(places < -n) | (places > n)]
    if wrong.size:
        raise IndexError(at_user_line(f"index {wrong[0]} is out of bounds for axis {axis} with size {n}"))
    if places.size == 1:
        return _insert_at(arr, operator.index(places.ravel()[0]), values, axis, scalar=places.ndim == 0)
    return _insert_many(arr, places, values, axis)


def _filled_like(arr: Any, found: Any) -> Any:
    """Return a result as NumPy makes it, which fills an array that lies by columns where `arr` does, else by rows."""
    if not (isinstance(arr, ArrayLike) and isinstance(found, ArrayLike)):
        return found
    by_columns = arr._lies_in("F", is_reshaped=True) and not arr._lies_in("C", is_reshaped=True)
    return found._lie_in("F" if by_columns else "C")


def _insert_at(arr: Any, place: int, values: Any, axis: int, scalar: bool) -> Any:
    """Insert all values, as one block, in front of one place."""
    shape = shape_of(arr)
    place += shape[axis] if place < 0 else 0
    values = at_least(values, len(shape)).astype(arr.dtype)
    if scalar:  # a row to insert along an axis is given as that row, not as a column
        values = np.moveaxis(values, 0, axis)
    values = np.broadcast_to(values, (*shape[:axis], shape_of(values)[axis], *shape[axis + 1 :]))
    parts = [arr[along(axis, slice(None, place))], values, arr[along(axis, slice(place, None))]]
    return _filled_like(arr, np.concatenate(parts, axis))


def _insert_many(arr: Any, places: np.ndarray, values: Any, axis: int) -> Any:
    """Insert the k-th value in front of the k-th place."""
    shape = shape_of(arr)
    n, count = shape[axis], places.size
    places = np.where(places < 0, places + n, places)
    values = np.broadcast_to(values.astype(arr.dtype), (*shape[:axis], count, *shape[axis + 1 :]))
    both = np.concatenate([arr, values], axis)
    order = np.argsort(places, kind="stable")
    taken = places[order] + np.arange(count)
    source = np.empty(n + count, np.intp)
    old = np.ones(n + count, bool)
    old[taken] = False
    source[taken] = n + order
    source[old] = np.arange(n)
    return _filled_like(arr, both[along(axis, source)])
