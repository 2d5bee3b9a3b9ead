"""Layout: the same elements in another shape or order."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Type, broadcast_shapes
from tapec.ir.types import normalize_axis
from tapec.ops.array import apply, implements, method
from tapec.ops.define import as_operand, define, ndim_of, shape_of
from tapec.ops.samples import any_real


def unbroadcast(ct: Any, shape: tuple[int, ...]) -> Any:
    """Sum a cotangent over the axes along which an operand of this shape was broadcast."""
    if ct.shape == shape:
        return ct
    extra = len(ct.shape) - len(shape)
    axes = tuple(range(extra)) + tuple(
        i + extra for i, n in enumerate(shape) if n == 1 and ct.shape[i + extra] != 1
    )
    ct = np.sum(ct, axis=axes)
    return np.reshape(ct, shape) if ct.shape != shape else ct


RESHAPE = define(
    "reshape",
    lambda x, shape: np.reshape(x, shape),
    lambda t, shape: Type(shape, t.dtype),
    "layout",
    vjp=lambda ct, y, x, shape: (np.reshape(ct, x.shape),),
    linear=(0,),
    source="{0}.reshape({shape})",
    view=True,
    sample=(any_real,),
    numpy=np.reshape,
)


def resolve_shape(shape: Any, size: int, old: tuple[int, ...]) -> tuple[int, ...]:
    """Fill in a -1, and check that the number of elements stays."""
    new = tuple(int(n) for n in shape) if isinstance(shape, (tuple, list, np.ndarray)) else (int(shape),)
    known = 1
    for n in new:
        known *= n if n != -1 else 1
    if new.count(-1) == 1 and known and size % known == 0:
        new = tuple(size // known if n == -1 else n for n in new)
        known = size
    if known != size or -1 in new:
        raise ValueError(f"cannot reshape array of size {size} and shape {old} into shape {new}")
    return new


@implements(np.reshape)
def reshape(a: Any, /, shape: Any = None, order: str = "C", *, copy: Any = None) -> Any:
    a = as_operand(a)
    old = shape_of(a)
    size = 1
    for n in old:
        size *= n
    new = resolve_shape(shape, size, old)
    if order == "F":
        return np.transpose(np.reshape(np.transpose(a), new[::-1]))
    return a if new == old else apply(RESHAPE, (a,), (("shape", new),))


@method("reshape")
def reshape_method(self: Any, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    return reshape(self, shape[0] if len(shape) == 1 else shape, order)


def _transpose_source(args: tuple[str, ...], node: Any) -> str:
    axes = node.param("axes")
    if axes == tuple(range(len(axes)))[::-1]:
        return f"{args[0]}.T"
    return f"{args[0]}.transpose({axes})"


TRANSPOSE = define(
    "transpose",
    lambda x, axes: np.transpose(x, axes),
    lambda t, axes: Type(tuple(t.shape[k] for k in axes), t.dtype),
    "layout",
    vjp=lambda ct, y, x, axes: (np.transpose(ct, inverse(axes)),),
    linear=(0,),
    source=_transpose_source,
    view=True,
    sample=(any_real,),
    numpy=np.transpose,
)


def inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    out = [0] * len(axes)
    for i, k in enumerate(axes):
        out[k] = i
    return tuple(out)


@implements(np.transpose, np.permute_dims)
def transpose(a: Any, axes: Any = None) -> Any:
    a = as_operand(a)
    n = ndim_of(a)
    order = tuple(range(n))[::-1] if axes is None else tuple(normalize_axis(k, n) for k in axes)
    if sorted(order) != list(range(n)):
        raise ValueError("axes don't match array")
    return a if order == tuple(range(n)) else apply(TRANSPOSE, (a,), (("axes", order),))


@method("transpose")
def transpose_method(self: Any, *axes: Any) -> Any:
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
        axes = axes[0]
    return transpose(self, axes or None)


@method("swapaxes")
@implements(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    n = ndim_of(a)
    order = list(range(n))
    i, k = normalize_axis(axis1, n), normalize_axis(axis2, n)
    order[i], order[k] = order[k], order[i]
    return transpose(a, order)


BROADCAST_TO = define(
    "broadcast_to",
    lambda x, shape: np.broadcast_to(x, shape),
    lambda t, shape: Type(shape, t.dtype),
    "layout",
    vjp=lambda ct, y, x, shape: (unbroadcast(ct, x.shape),),
    linear=(0,),
    source="np.broadcast_to({0}, {shape})",
    view=True,
    sample=(any_real,),
    numpy=np.broadcast_to,
)


@implements(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    array = as_operand(array)
    new = tuple(shape) if isinstance(shape, (tuple, list)) else (int(shape),)
    if broadcast_shapes(shape_of(array), new) != new:
        raise ValueError(f"operands could not be broadcast together with shapes {shape_of(array)} and requested {new}")
    return array if shape_of(array) == new else apply(BROADCAST_TO, (array,), (("shape", new),))


def _concatenate_rule(*types: Type, axis: int) -> Type:
    total = sum(t.shape[axis] for t in types)
    first = types[0].shape
    for t in types:
        if t.shape[:axis] != first[:axis] or t.shape[axis + 1 :] != first[axis + 1 :]:
            raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
    return Type((*first[:axis], total, *first[axis + 1 :]), np.result_type(*[t.dtype for t in types]))


def _concatenate_vjp(ct: Any, y: Any, *xs: Any, axis: int) -> Any:
    out, start = [], 0
    for x in xs:
        stop = start + x.shape[axis]
        out.append(ct[(slice(None),) * axis + (slice(start, stop),)])
        start = stop
    return tuple(out)


CONCATENATE = define(
    "concatenate",
    lambda *xs, axis: np.concatenate(xs, axis),
    _concatenate_rule,
    "layout",
    vjp=_concatenate_vjp,
    linear=(0,),
    source=lambda args, node: f"np.concatenate([{', '.join(args)}], axis={node.param('axis')})",
    sample=(any_real, any_real),
    numpy=np.concatenate,
)


@implements(np.concatenate)
def concatenate(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    parts = [as_operand(a) for a in arrays]
    if axis is None:
        parts, axis = [np.ravel(p) for p in parts], 0
    if dtype is not None:
        parts = [p.astype(dtype) for p in parts]
    return apply(CONCATENATE, tuple(parts), (("axis", normalize_axis(axis, ndim_of(parts[0]))),))


def _stack_rule(*types: Type, axis: int) -> Type:
    first = types[0].shape
    if any(t.shape != first for t in types):
        raise ValueError("all input arrays must have the same shape")
    return Type((*first[:axis], len(types), *first[axis:]), np.result_type(*[t.dtype for t in types]))


STACK = define(
    "stack",
    lambda *xs, axis: np.stack(xs, axis),
    _stack_rule,
    "layout",
    vjp=lambda ct, y, *xs, axis: tuple(ct[(slice(None),) * axis + (i,)] for i in range(len(xs))),
    linear=(0,),
    source=lambda args, node: f"np.stack([{', '.join(args)}], axis={node.param('axis')})"
    if node.param("axis")
    else f"np.stack([{', '.join(args)}])",
    sample=(any_real, any_real),
    numpy=np.stack,
)


@implements(np.stack)
def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    parts = [as_operand(a) for a in arrays]
    if not parts:
        raise ValueError("need at least one array to stack")
    if dtype is not None:
        parts = [p.astype(dtype) for p in parts]
    return apply(STACK, tuple(parts), (("axis", normalize_axis(axis, ndim_of(parts[0]) + 1)),))


# -- dtype ----------------------------------------------------------------------------------------------------------
def _cast_vjp(ct: Any, y: Any, x: Any, dtype: np.dtype) -> Any:
    return (ct if dtype.kind in "fc" else None,)  # the cotangent gets the input's dtype in autodiff


CAST = define(
    "cast",
    lambda x, dtype: np.asarray(x).astype(dtype)[()],
    lambda t, dtype: Type(t.shape, dtype),
    "layout",
    vjp=_cast_vjp,
    linear=(0,),
    source=lambda args, node: f"{args[0]}.astype({dtype_source(node.param('dtype'))})",
    sample=(any_real,),
    numpy=None,
)


def dtype_source(dtype: np.dtype) -> str:
    return f"np.{dtype.name}" if dtype.name != "bool" else "bool"


@method("astype")
@implements(np.astype)
def astype(x: Any, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True, device: Any = None) -> Any:
    new = np.dtype(dtype)
    return x if x.dtype == new else apply(CAST, (x,), (("dtype", new),))


@method("ravel")
@implements(np.ravel)
def ravel(a: Any, order: str = "C") -> Any:
    return reshape(a, -1, order)
