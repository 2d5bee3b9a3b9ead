"""Define the ops that give the same elements in another shape or order.

All that only adds or drops axes of length one is `reshape` here, and is written as an index: `x[:, None]`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir import Type, broadcast_shapes
from tapec.ir.param_types import SIZES
from tapec.ir.types import normalize_axes, normalize_axis, several
from tapec.ops.core.define import as_operand, define, ndim_of, shape_of
from tapec.ops.core.op_helpers import as_array, both, drawn
from tapec.ops.core.stand_in import ArrayLike, apply, implements, method
from tapec.ops.core.symbol import is_symbol

__all__ = ["BROADCAST_TO", "RESHAPE", "TRANSPOSE", "inverse", "laid_out", "memory_order", "ravel", "unbroadcast"]


def unbroadcast(ct: Any, shape: tuple[int, ...]) -> Any:
    """Sum a cotangent over the axes along which an operand of this shape was broadcast."""
    if ct.shape == shape:
        return ct
    extra = len(ct.shape) - len(shape)
    axes = tuple(range(extra)) + tuple([i + extra for i, n in enumerate(shape) if n == 1 and ct.shape[i + extra] != 1])
    ct = np.sum(ct, axis=axes)
    return np.reshape(ct, shape) if ct.shape != shape else ct


# -- reshape ----------------------------------------------------------------------------------------------------------
def unit_index(old: tuple[int, ...], new: tuple[int, ...]) -> str | None:
    """The index that makes one shape from another where only axes of length one come or go: `:, None` or `0`."""
    if len(new) > len(old):
        places = _subsequence(old, new)
        parts = None if places is None else [":" if i in places else "None" for i in range(len(new))]
    elif len(new) < len(old):
        places = _subsequence(new, old)
        parts = None if places is None else [":" if i in places else "0" for i in range(len(old))]
    else:
        parts = None
    if parts is None:
        return None
    if parts[-1] != ":" and parts.count(":") == len(parts) - 1 > 1:
        parts = ["...", parts[-1]]
    while parts[-1] == ":":
        parts.pop()
    return ", ".join(parts)


def _subsequence(short: tuple[int, ...], long: tuple[int, ...]) -> set[int] | None:
    """Return the places of the axes of the short shape in the long one; None if other axes there are longer than
    one.
    """
    places: set[int] = set()
    k = 0
    for i, n in enumerate(long):
        if k < len(short) and n == short[k]:
            places.add(i)
            k += 1
        elif n != 1:
            return None
    return places if k == len(short) else None


def _reshape_source(args: tuple[str, ...], node: Any) -> str:
    old, shape = node.inputs[0].type, node.param("shape")
    if old.weak:
        return f"np.reshape({args[0]}, {shape})"
    index = unit_index(old.shape, shape)
    if index is not None:
        return f"{args[0]}[{index}]"
    return f"{args[0]}.reshape({', '.join(map(str, shape)) or '()'})"


def _reshape_rule(t: Type, shape: tuple[int, ...]) -> Type:
    if math.prod(shape) != math.prod(t.shape):
        raise ValueError(f"the shapes {t.shape} and {shape} are not of one size")
    return Type(shape, t.dtype)


RESHAPE = define(
    "reshape",
    lambda x, shape: np.reshape(x, shape),
    _reshape_rule,
    "layout",
    params={"shape": SIZES},
    vjp=lambda ct, y, x, shape: (np.reshape(ct, x.shape),),
    linear=(0,),
    batch=lambda batched, x, shape: np.reshape(x, (x.shape[0], *shape)),
    source=_reshape_source,
    view=True,
    sample=both(drawn((3, 4), shape=(2, 6)), drawn((3,), shape=(3, 1)), drawn((1, 1), shape=()), drawn((), shape=(1,))),
    numpy=np.reshape,
)


def resolve_shape(shape: Any, size: int, old: tuple[int, ...]) -> tuple[int, ...]:
    """Fill in a -1, and check that the number of elements stays."""
    new = several(shape)
    if -1 not in new:
        if math.prod(new) != size or min(new, default=0) < 0:
            raise ValueError(at_user_line(f"cannot reshape array of size {size} and shape {old} into shape {new}"))
        return new
    if new.count(-1) > 1:
        raise ValueError(at_user_line("can only specify one unknown dimension"))
    known = -math.prod(new)
    if known <= 0 or size % known:
        raise ValueError(at_user_line(f"cannot reshape array of size {size} and shape {old} into shape {new}"))
    return tuple([size // known if n == -1 else n for n in new])


@implements(np.reshape, gives_views=True)
def reshape(a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None) -> Any:
    a = as_array(a)
    old = shape_of(a)
    new = resolve_shape(newshape if shape is None else shape, math.prod(old), old)
    order = memory_order(a, order)
    if order == "F" and len(old) + len(new) > 2:
        y = np.transpose(np.reshape(np.transpose(a), new[::-1]))
    else:
        y = a if new == old else apply(RESHAPE, (a,), (("shape", new),))
    if copy:
        return y.copy("K")
    if copy is not None and isinstance(y, ArrayLike) and not is_symbol(y):
        if y is not a and math.prod(new) > 1 and type(y._link) is not tuple:
            raise ValueError(at_user_line("Unable to avoid creating a copy while reshaping."))
    return y


def memory_order(x: Any, order: str | None) -> str:
    """Return C or F; order A depends on how the array lies in memory."""
    if order is None:
        return "C"
    if not isinstance(order, str):
        raise TypeError(at_user_line(f"order must be str, not {type(order).__name__}"))
    order = order.upper()
    if order not in ("C", "F", "A", "K"):
        raise ValueError(at_user_line(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})"))
    if order in ("C", "F"):
        return order
    flags = getattr(x, "flags", None) if len(shape_of(x)) > 1 else None
    return "F" if flags is not None and flags.f_contiguous and not flags.c_contiguous else "C"


@method("reshape", gives_views=True)
def reshape_method(self: Any, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    return reshape(self, shape[0] if len(shape) == 1 else shape, order, copy=copy)


@method("ravel")
@implements(np.ravel, gives_views=True)
def ravel(a: Any, order: str = "C") -> Any:
    """Return a view where memory is in that order; else a copy, also where `reshape` would find a view."""
    a = as_array(a)
    if order in ("K", "k") and len(shape_of(a)) > 1:
        a, order = _from_long_steps(a), "C"
    order = memory_order(a, order)
    y = reshape(a, -1, order)
    if not isinstance(a, ArrayLike) or a._lies_in(order, is_reshaped=True):
        return y
    return a.copy() if y is a else y._own()


def laid_out(value: Any, order: Any) -> Any:
    """Return an array that lies by rows (C) or by columns (F): itself where it does, as for other orders."""
    if order not in ("C", "F") or value._lies_in(order):
        return value
    if order == "F":
        return np.transpose(laid_out(np.transpose(value), "C"))
    return np.reshape(np.ravel(value), shape_of(value))


def _from_long_steps(a: Any) -> Any:
    """Return the array with its axes in the order in which it lies in memory.

    An array that was broadcast lies in no order, and is returned as it is.
    """
    steps = [abs(step) for step in getattr(a, "strides", ())]
    return np.transpose(a, sorted(range(len(steps)), key=lambda k: -steps[k])) if all(steps) and steps else a


@method("squeeze")
@implements(np.squeeze, gives_views=True)
def squeeze(a: Any, axis: Any = None) -> Any:
    a = as_array(a)
    shape = shape_of(a)
    if not shape and axis in (0, -1):
        axis = None  # as NumPy takes it
    axes = [i for i, n in enumerate(shape) if n == 1] if axis is None else normalize_axes(axis, len(shape))
    if any(shape[k] != 1 for k in axes):
        raise ValueError(at_user_line("cannot select an axis to squeeze out which has size not equal to one"))
    return reshape(a, tuple([n for i, n in enumerate(shape) if i not in axes]))


@implements(np.expand_dims, gives_views=True)
def expand_dims(a: Any, axis: Any) -> Any:
    a = as_array(a)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    ndim = ndim_of(a) + len(axes)
    axes = normalize_axes(tuple(axes), ndim)
    rest = iter(shape_of(a))
    return reshape(a, tuple([1 if i in axes else next(rest) for i in range(ndim)]))


# -- transpose --------------------------------------------------------------------------------------------------------
def _transpose_source(args: tuple[str, ...], node: Any) -> str:
    """Return source of a transpose in its shortest form: `x.T`, `x.mT`, a swap of two axes, or all axes."""
    axes = node.param("axes")
    straight = tuple(range(len(axes)))
    if axes == straight[::-1]:
        return f"{args[0]}.T"
    if axes == (*straight[:-2], *straight[:-3:-1]):
        return f"{args[0]}.mT"
    moved = [i for i in straight if axes[i] != i]
    if len(moved) == 2:
        return f"{args[0]}.swapaxes({moved[0]}, {moved[1]})"
    return f"{args[0]}.transpose({', '.join(map(str, axes))})"


def _transpose_rule(t: Type, axes: tuple[int, ...]) -> Type:
    if sorted(axes) != [*range(len(t.shape))]:
        raise ValueError(f"axes {axes} are no order of the axes of the shape {t.shape}")
    return Type(tuple([t.shape[k] for k in axes]), t.dtype)


TRANSPOSE = define(
    "transpose",
    lambda x, axes: np.transpose(x, axes),
    _transpose_rule,
    "layout",
    params={"axes": SIZES},
    vjp=lambda ct, y, x, axes: (np.transpose(ct, inverse(axes)),),
    linear=(0,),
    batch=lambda batched, x, axes: np.transpose(x, (0, *[k + 1 for k in axes])),
    source=_transpose_source,
    view=True,
    sample=both(
        drawn((2, 3), axes=(1, 0)),
        drawn((2, 3, 4), axes=(0, 2, 1)),
        drawn((2, 3, 4), axes=(1, 0, 2)),
        drawn((2, 3, 1, 2), axes=(3, 0, 1, 2)),
    ),
    numpy=np.transpose,
)


def inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    out = [0] * len(axes)
    for i, k in enumerate(axes):
        out[k] = i
    return tuple(out)


@implements(np.transpose, np.permute_dims, gives_views=True)
def transpose(a: Any, axes: Any = None) -> Any:
    a = as_operand(a)
    n = ndim_of(a)
    straight = tuple(range(n))
    order = straight[::-1] if axes is None else tuple([normalize_axis(k, n) for k in several(axes)])
    if order == straight:
        return a
    if len(order) != n:
        raise ValueError(at_user_line("axes don't match array"))
    if len(set(order)) != n:
        raise ValueError(at_user_line("repeated axis in transpose"))
    return apply(TRANSPOSE, (a,), (("axes", order),))


@method("transpose", gives_views=True)
def transpose_method(self: Any, *axes: Any) -> Any:
    if len(axes) == 1 and axes[0] is not None:
        return transpose(self, several(axes[0]))
    return transpose(self, axes if len(axes) > 1 else None)


@method("swapaxes")
@implements(np.swapaxes, gives_views=True)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    a = as_operand(a)
    n = ndim_of(a)
    order = list(range(n))
    i, k = normalize_axis(axis1, n), normalize_axis(axis2, n)
    order[i], order[k] = order[k], order[i]
    return transpose(a, order)


@implements(np.matrix_transpose, np.linalg.matrix_transpose, gives_views=True)
def matrix_transpose(x: Any, /) -> Any:
    if ndim_of(x) < 2:
        raise ValueError(at_user_line(f"Input array must be at least 2-dimensional, but it is {ndim_of(x)}"))
    return swapaxes(x, -1, -2)


@implements(np.moveaxis, gives_views=True)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    a = as_operand(a)
    n = ndim_of(a)
    starts = _axis_list(source, n)
    ends = _axis_list(destination, n)
    if len(starts) != len(ends):
        raise ValueError(at_user_line("`source` and `destination` arguments must have the same number of elements"))
    if len(set(starts)) != len(starts) or len(set(ends)) != len(ends):
        raise ValueError(at_user_line("repeated axis in `source` or `destination` argument"))
    order = [k for k in range(n) if k not in starts]
    for end, start in sorted(zip(ends, starts)):
        order.insert(end, start)
    return transpose(a, order)


def _axis_list(axis: Any, ndim: int) -> list[int]:
    return [normalize_axis(k, ndim) for k in several(axis)]


@implements(np.rollaxis, gives_views=True)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    a = as_operand(a)
    n = ndim_of(a)
    axis = normalize_axis(axis, n)
    if not -n <= start <= n:
        message = "'start' arg requires {} <= start < {}, but {} was passed in"
        raise np.exceptions.AxisError(at_user_line(message.format(-n, n + 1, start)))
    start += n if start < 0 else 0
    order = [k for k in range(n) if k != axis]
    order.insert(start - 1 if axis < start else start, axis)
    return transpose(a, order)


# -- broadcast --------------------------------------------------------------------------------------------------------
def _broadcast_batch(batched: tuple[bool, ...], x: Any, shape: tuple[int, ...]) -> Any:
    ones = (1,) * (len(shape) - x.ndim + 1)
    return np.broadcast_to(np.reshape(x, (x.shape[0], *ones, *x.shape[1:])), (x.shape[0], *shape))


def _broadcast_rule(t: Type, shape: tuple[int, ...]) -> Type:
    if broadcast_shapes(t.shape, shape) != shape:
        raise ValueError(f"the shape {t.shape} does not broadcast to {shape}")
    return Type(shape, t.dtype)


BROADCAST_TO = define(
    "broadcast_to",
    np.broadcast_to,
    _broadcast_rule,
    "layout",
    params={"shape": SIZES},
    vjp=lambda ct, y, x, shape: (unbroadcast(ct, x.shape),),
    linear=(0,),
    batch=_broadcast_batch,
    source="np.broadcast_to({0}, {shape})",
    view=True,
    sample=both(drawn((3, 1), shape=(2, 3, 4)), drawn((), shape=(2,)), drawn((1,), shape=(0,))),
    numpy=np.broadcast_to,
)


@implements(np.broadcast_to, gives_views=True)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    array = as_operand(array)
    new = several(shape)
    old = shape_of(array)
    if old == new and not getattr(array, "weak", False):
        may_change = new and getattr(array, "_rank", 0) > 1
        return apply(BROADCAST_TO, (array,), (("shape", new),)) if may_change else array  # NumPy's view is read-only
    if len(old) > len(new) or any(n not in (1, m) for n, m in zip(old[::-1], new[::-1])):
        message = f"operands could not be broadcast together with remapped shapes [original->remapped]: {old} and {new}"
        raise ValueError(at_user_line(message))
    return apply(BROADCAST_TO, (array,), (("shape", new),))


@implements(np.broadcast_arrays, gives_views=True)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    args = tuple([as_array(a) for a in args])
    shape = broadcast_shapes(*[shape_of(a) for a in args]) if args else ()
    return tuple([a if shape_of(a) == shape else broadcast_to(a, shape) for a in args])
