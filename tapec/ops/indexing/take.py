"""Define `take` and its variants, open grids, and the positions of nonzero elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import UnsupportedError, at_user_line
from tapec.ir import Type, broadcast_shapes
from tapec.ir.param_types import AXIS, BOOL, maybe
from tapec.ir.static_index import Slot
from tapec.ir.types import normalize_axis
from tapec.ops.core.define import as_operand, define, dtype_of, ndim_of, shape_of
from tapec.ops.core.op_helpers import along, as_array, batch_axis_first, both, constants, flat
from tapec.ops.core.stand_in import apply, implements, method
from tapec.ops.indexing.getitem_and_scatter import SCATTER

__all__ = ["NONZERO", "TAKE_ALONG", "along_index", "along_vjp", "take", "take_along_axis"]


# -- nonzero ----------------------------------------------------------------------------------------------------------
def _nonzero_rule(t: Type) -> Any:
    raise UnsupportedError(at_user_line("the shape of np.nonzero depends on values, which are not known here"))


NONZERO = define(
    "nonzero",
    lambda x: np.nonzero(x),
    _nonzero_rule,
    "dynamic",
    multi=True,
    source="np.nonzero({0})",
    sample=constants(first=(2, 3)),
    numpy=np.nonzero,
)


@method("nonzero")
@implements(np.nonzero)
def nonzero(a: Any) -> Any:
    a = as_array(a)
    if not ndim_of(a):
        raise ValueError(
            at_user_line(
                "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead. "
                "If the context of this error is of the form `arr[nonzero(cond)]`, just use `arr[cond]`."
            )
        )
    return apply(NONZERO, (a,))


@implements(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    return np.nonzero(flat(as_array(a)))[0]


@implements(np.argwhere)
def argwhere(a: Any) -> Any:
    a = as_array(a)
    if not ndim_of(a):
        return np.reshape(argwhere(np.reshape(a, 1)), (-1, 1))[:, :0]
    return np.stack(np.nonzero(a), axis=1)


# -- take -------------------------------------------------------------------------------------------------------------
@method("take")
@implements(np.take, in_rows=True)
def take(a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Any:
    a, indices = as_array(a), as_array(indices)
    if axis is None or not ndim_of(a):  # a number counts as one element along an axis
        a, axis = flat(a), axis or 0
    axis = normalize_axis(axis, ndim_of(a))
    indices = within(indices, shape_of(a)[axis], mode)
    if dtype_of(indices).kind == "b" or 0 in shape_of(indices):  # as of an empty list
        indices = indices.astype(np.intp)
    return a[along(axis, indices)]


def within(places: Any, n: int, mode: str | None) -> Any:
    """Return places among n as a mode of `np.take` understands them."""
    if mode == "raise" or mode is None:
        return places
    if mode == "wrap":
        return as_array(places) % n
    if mode == "clip":
        return np.clip(as_array(places), 0, n - 1)
    raise ValueError(at_user_line(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got '{mode}')"))


# -- take_along_axis --------------------------------------------------------------------------------------------------
def _along_rule(x: Type, i: Type, axis: int, unique: bool = False) -> Type:
    if i.dtype.kind not in "iu":
        raise IndexError(at_user_line("`indices` must be an integer array"))
    if x.ndim != i.ndim:
        raise ValueError(at_user_line("`indices` and `arr` must have the same number of dimensions"))
    rest = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    try:
        return Type(broadcast_shapes(rest, i.shape), x.dtype)
    except ValueError as error:
        raise IndexError(at_user_line(str(error))) from None


def along_index(shape: tuple[int, ...], indices: Any, axis: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the index, static parts and arrays, by which `take_along_axis` reads an array of this shape."""
    arrays = []
    for k, n in enumerate(shape):
        ones = [1] * len(shape)
        ones[k] = n
        arrays.append(indices if k == axis else np.arange(n).reshape(ones))
    return tuple(map(Slot, range(len(shape)))), tuple(arrays)


def takes_one(x: Any, i: Any, axis: int) -> bool:
    """Return whether one element is taken from each line along the axis."""
    return len(x.shape) > 1 and i.shape == (*x.shape[:axis], 1, *x.shape[axis + 1 :])


def one_index(shape: tuple[int, ...], i: Any, axis: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the index of one element in each line as people write it: `x[rows, i]`."""
    rest = (*shape[:axis], *shape[axis + 1 :])
    index, arrays = along_index(rest, np.reshape(i, rest), len(rest))
    return (*index, Slot(len(rest))), (*arrays[:axis], np.reshape(i, rest), *arrays[axis:])


def along_vjp(ct: Any, y: Any, x: Any, i: Any, axis: int, unique: bool = False) -> Any:
    shape = (*ct.shape[:axis], x.shape[axis], *ct.shape[axis + 1 :])
    if takes_one(x, i, axis):
        index, arrays = one_index(shape, i, axis)
        values = np.reshape(ct, (*shape[:axis], *shape[axis + 1 :]))
        return apply(SCATTER, (values, *arrays), (("shape", shape), ("index", index), ("unique", True))), None
    index, arrays = along_index(shape, i, axis)
    params = (("shape", shape), ("index", index))
    return apply(SCATTER, (ct, *arrays), (*params, ("unique", True)) if unique else params), None


def _along_source(args: tuple[str, ...], node: Any) -> str:
    axis = node.param("axis")
    last = axis == node.inputs[0].type.ndim - 1
    return f"np.take_along_axis({args[0]}, {args[1]}, {-1 if last else axis})"


def _along_batch(batched: tuple[bool, ...], x: Any, i: Any, axis: int, unique: bool = False) -> Any:
    xs = batch_axis_first(batched, (x, i))
    return apply(TAKE_ALONG, tuple(xs), (("axis", axis + 1), ("unique", unique)))


TAKE_ALONG = define(
    "take_along_axis",
    lambda x, i, axis, unique=False: np.take_along_axis(x, i, axis),
    _along_rule,
    "indexing",
    params={"axis": AXIS, "unique": maybe(BOOL)},
    vjp=along_vjp,
    linear=(0,),
    batch=_along_batch,
    source=_along_source,
    sample=both(
        constants(np.array([[0, 2, 2]]), first=(2, 3), axis=1),
        constants(np.array([[1, 0, 1], [0, 1, 0]]), first=(2, 3), axis=0, unique=True),
        constants(np.array([[[1], [0]]]), first=(1, 2, 3), axis=2),
    ),
    numpy=np.take_along_axis,
)


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1, *, unique: bool = False) -> Any:
    """Take elements along an axis. `unique`: no element is taken twice, as with the positions that `argsort` gives."""
    arr, indices = as_array(arr), as_array(indices)
    if axis is None:
        if ndim_of(indices) != 1:
            raise ValueError(at_user_line("when axis=None, `indices` must have a single dimension."))
        arr, axis = flat(arr), 0
    axis = normalize_axis(axis, ndim_of(arr))
    params: tuple[tuple[str, Any], ...] = (("axis", axis),)
    return apply(TAKE_ALONG, (arr, indices), (*params, ("unique", True)) if unique else params)


# -- open grids -------------------------------------------------------------------------------------------------------
@implements(np.ix_)
def ix_(*args: Any) -> tuple[Any, ...]:
    out = []
    for k, a in enumerate(args):
        a = as_operand(a)
        if ndim_of(a) != 1:
            raise ValueError(at_user_line("Cross index must be 1 dimensional"))
        if dtype_of(a).kind == "b":
            a = np.nonzero(a)[0]
        elif not np.size(a):
            a = a.astype(np.intp)
        out.append(np.reshape(a, (1,) * k + (-1,) + (1,) * (len(args) - k - 1)))
    return tuple(out)


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Any, ...]:
    if indexing not in ("xy", "ij"):
        raise ValueError(at_user_line("Valid values for `indexing` are 'xy' and 'ij'."))
    n = len(xi)
    out = [np.reshape(as_array(x), (1,) * k + (-1,) + (1,) * (n - k - 1)) for k, x in enumerate(xi)]
    if indexing == "xy" and n > 1:
        out = [np.swapaxes(x, 0, 1) for x in out]
    return tuple(out) if sparse else tuple(np.broadcast_arrays(*out))
