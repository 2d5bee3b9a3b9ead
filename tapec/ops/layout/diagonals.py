"""Define diagonals and triangles of matrices."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir import Type
from tapec.ir.param_types import AXIS, DTYPE, INTEGER, SIZE
from tapec.ir.static_index import Slice, Slot
from tapec.ir.types import normalize_axis
from tapec.ops.core.define import define, ndim_of, shape_of
from tapec.ops.core.op_helpers import as_array, batch_with_shifted_axes, both, drawn, flat, permuted, same_type
from tapec.ops.core.stand_in import apply, implements, method
from tapec.ops.elementwise.casting import dtype_source
from tapec.ops.indexing.getitem_and_scatter import SCATTER
from tapec.ops.reductions.sums_and_extremes import in_dtype, sum_dtype

__all__ = ["DIAG", "DIAGONAL", "EYE", "TRACE", "TRIL", "TRIU", "eye", "placed_on_diagonal"]


# -- the identity matrix ----------------------------------------------------------------------------------------------
def _eye_source(args: tuple[str, ...], node: Any) -> str:
    n, m, k, dtype = [node.param(name) for name in ("n", "m", "k", "dtype")]
    text = str(n) + (f", {m}" if m != n else "") + (f", k={k}" if k else "")
    return f"np.eye({text}{'' if dtype == np.dtype(float) else f', dtype={dtype_source(dtype)}'})"


EYE = define(
    "eye",
    lambda n, m, k, dtype: np.eye(n, m, k, dtype),
    lambda n, m, k, dtype: Type((n, m), dtype),
    "creation",
    params={"n": SIZE, "m": SIZE, "k": INTEGER, "dtype": DTYPE},
    source=_eye_source,
    sample=both(drawn(n=3, m=3, k=0, dtype=np.dtype(float)), drawn(n=2, m=3, k=1, dtype=np.dtype(complex))),
    numpy=np.eye,
)


def eye(like: Any, n: int, m: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """The identity matrix, in the graph of `like` and of its dtype."""
    kind = np.dtype(like.dtype if dtype is None else dtype)
    return like._apply(EYE, (), (("n", n), ("m", n if m is None else m), ("k", k), ("dtype", kind)))


# -- diagonals --------------------------------------------------------------------------------------------------------
def diagonal_length(n: int, m: int, offset: int) -> int:
    return max(0, min(n, m - offset) if offset >= 0 else min(n + offset, m))


def _diagonal_rule(t: Type, offset: int, axis1: int, axis2: int) -> Type:
    rest = tuple([n for k, n in enumerate(t.shape) if k not in (axis1, axis2)])
    return Type((*rest, diagonal_length(t.shape[axis1], t.shape[axis2], offset)), t.dtype)


def _diagonal_vjp(ct: Any, y: Any, x: Any, offset: int, axis1: int, axis2: int) -> Any:
    """Put the cotangent on the diagonal of zeros: by `np.diag` where that makes the right shape, else by an
    assignment.
    """
    n, m = x.shape[axis1], x.shape[axis2]
    if x.ndim == 2 and axis1 < axis2 and diagonal_length(n, m, offset) + abs(offset) == n == m:
        return (np.diag(ct, offset),)
    return (embed(ct, x.shape, offset, axis1, axis2),)


def embed(v: Any, shape: tuple[int, ...], offset: int, axis1: int, axis2: int) -> Any:
    """Return zeros of this shape with the last axis of v along the diagonal of two axes."""
    v, arrays, index = placed_on_diagonal(v, offset, axis1, axis2)
    return apply(SCATTER, (v, *arrays), (("shape", shape), ("index", index), ("unique", True)))


def placed_on_diagonal(v: Any, offset: int, axis1: int, axis2: int) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Return v, the last axis of which is a diagonal, as an index takes it, and the arrays and static parts of that
    index."""
    start = np.arange(v.shape[-1])
    places = {axis1: start + max(0, -offset), axis2: start + max(0, offset)}
    first, last = min(axis1, axis2), max(axis1, axis2)
    index: list[Any] = [Slice(None, None, None)] * (last + 1)
    index[first], index[last] = Slot(0), Slot(1)
    front = first if last == first + 1 else 0  # where an index of two arrays puts their common axis
    return permuted(v, v.ndim - 1, front), (places[first], places[last]), tuple(index)


def _shift(k: int) -> str:
    return f", {k}" if k else ""


def _diagonal_source(args: tuple[str, ...], node: Any) -> str:
    offset, axes = node.param("offset"), (node.param("axis1"), node.param("axis2"))
    shift = _shift(offset)
    if node.inputs[0].type.ndim == 2 and axes == (0, 1):
        return f"np.diagonal({args[0]}{shift})"
    return f"np.diagonal({args[0]}{shift}, axis1={axes[0]}, axis2={axes[1]})"


DIAGONAL = define(
    "diagonal",
    lambda x, offset, axis1, axis2: np.diagonal(x, offset, axis1, axis2),
    _diagonal_rule,
    "layout",
    params={"offset": INTEGER, "axis1": AXIS, "axis2": AXIS},
    vjp=_diagonal_vjp,
    linear=(0,),
    batch=batch_with_shifted_axes(np.diagonal, "axis1", "axis2"),
    source=_diagonal_source,
    view=True,
    sample=both(
        drawn((3, 3), offset=0, axis1=0, axis2=1),
        drawn((3, 4), offset=-1, axis1=0, axis2=1),
        drawn((3, 2, 3), offset=1, axis1=2, axis2=0),
        drawn((2, 3, 3), offset=4, axis1=1, axis2=2),
    ),
    numpy=np.diagonal,
)


@method("diagonal")
@implements(np.diagonal, gives_views=True)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    a = as_array(a)
    return apply(DIAGONAL, (a,), _diagonal_params(a, offset, axis1, axis2))


def _diagonal_params(a: Any, offset: int, axis1: int, axis2: int) -> tuple[tuple[str, int], ...]:
    n = ndim_of(a)
    if n < 2:
        raise ValueError(at_user_line("diag requires an array of at least two dimensions"))
    i, k = normalize_axis(axis1, n), normalize_axis(axis2, n)
    if i == k:
        raise ValueError(at_user_line("axis1 and axis2 cannot be the same"))
    return ("offset", operator.index(offset)), ("axis1", i), ("axis2", k)


@implements(np.linalg.diagonal, gives_views=True)
def linalg_diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return diagonal(x, offset, -2, -1)


def _diag_batch(batched: tuple[bool, ...], x: Any, k: int) -> Any:
    size = x.shape[1] + abs(k)
    return embed(x, (x.shape[0], size, size), k, 1, 2)


DIAG = define(
    "diag",
    lambda v, k: np.diag(v, k),
    lambda t, k: Type((t.shape[0] + abs(k),) * 2, t.dtype),
    "layout",
    params={"k": INTEGER},
    vjp=lambda ct, y, v, k: (np.diagonal(ct, k),),
    linear=(0,),
    batch=_diag_batch,
    source=lambda args, node: f"np.diag({args[0]}{_shift(node.param('k'))})",
    sample=both(drawn((3,), k=0), drawn((2,), k=-2)),
    numpy=np.diag,
)


@implements(np.diag, gives_views=True)
def diag(v: Any, k: int = 0) -> Any:
    v = as_array(v)
    if ndim_of(v) == 1:
        return apply(DIAG, (v,), (("k", operator.index(k)),))
    if ndim_of(v) == 2:
        return diagonal(v, k)
    raise ValueError(at_user_line("Input must be 1- or 2-d."))


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    return apply(DIAG, (flat(as_array(v)),), (("k", operator.index(k)),))


@implements(np.diag_indices_from)
def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    shape = shape_of(arr)
    if len(shape) < 2:
        raise ValueError(at_user_line("input array must be at least 2-d"))
    if len(set(shape)) > 1:
        raise ValueError(at_user_line("All dimensions of input must be of equal length"))
    return np.diag_indices(shape[0], len(shape))


@implements(np.tril_indices_from)
def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    n, m = _matrix_shape(arr)
    return np.tril_indices(n, k, m)


@implements(np.triu_indices_from)
def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    n, m = _matrix_shape(arr)
    return np.triu_indices(n, k, m)


def _matrix_shape(arr: Any) -> tuple[int, int]:
    if ndim_of(arr) != 2:
        raise ValueError(at_user_line("input array must be 2-d"))
    n, m = shape_of(arr)
    return n, m


# -- trace ------------------------------------------------------------------------------------------------------------
def _trace_vjp(ct: Any, y: Any, x: Any, offset: int, axis1: int, axis2: int) -> Any:
    """Return a matrix in which every element of the diagonal has the cotangent."""
    n = diagonal_length(x.shape[axis1], x.shape[axis2], offset)
    return _diagonal_vjp(np.broadcast_to(ct[..., None], (*y.shape, n)), None, x, offset, axis1, axis2)


def _trace_source(args: tuple[str, ...], node: Any) -> str:
    return _diagonal_source(args, node).replace("np.diagonal", "np.trace", 1)


TRACE = define(
    "trace",
    lambda x, offset, axis1, axis2: np.trace(x, offset, axis1, axis2),
    lambda t, offset, axis1, axis2: Type(_diagonal_rule(t, offset, axis1, axis2).shape[:-1], sum_dtype(t.dtype)),
    "reduction",
    params={"offset": INTEGER, "axis1": AXIS, "axis2": AXIS},
    vjp=_trace_vjp,
    linear=(0,),
    batch=batch_with_shifted_axes(np.trace, "axis1", "axis2"),
    source=_trace_source,
    sample=both(
        drawn((3, 3), offset=0, axis1=0, axis2=1),
        drawn((3, 4), offset=-1, axis1=1, axis2=0),
        drawn((3, 2, 3), offset=1, axis1=0, axis2=2),
    ),
    numpy=np.trace,
)


@method("trace")
@implements(np.trace, sums=True)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    a = as_array(a)
    params = _diagonal_params(a, offset, axis1, axis2)
    if dtype is not None:
        a = a.astype(dtype)
    return in_dtype(apply(TRACE, (a,), params), dtype)


@implements(np.linalg.trace)
def linalg_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return trace(x, offset, -2, -1, dtype)


# -- triangles --------------------------------------------------------------------------------------------------------
def _triangle(name: str) -> Any:
    """Define `tril` or `triu`, which is its own transpose."""
    function = getattr(np, name)
    return define(
        name,
        lambda x, k: function(x, k),
        same_type,
        "layout",
        params={"k": INTEGER},
        vjp=lambda ct, y, x, k: (function(ct, k),),
        linear=(0,),
        batch=lambda batched, x, k: function(x, k),
        source=lambda args, node: f"np.{name}({args[0]}{_shift(node.param('k'))})",
        sample=both(drawn((3, 3), k=0), drawn((2, 3, 4), k=-1), drawn((2, 2), k=1)),
        numpy=function,
    )


TRIL = _triangle("tril")
TRIU = _triangle("triu")


def _triangle_of(op: Any, m: Any, k: int) -> Any:
    m = as_array(m)
    if not ndim_of(m):
        raise ValueError(at_user_line(f"{op.name} takes an array of one or more dimensions"))
    if ndim_of(m) == 1:
        m = np.broadcast_to(m, shape_of(m) * 2)
    return apply(op, (m,), (("k", int(k)),))


@implements(np.tril)
def tril(m: Any, k: int = 0) -> Any:
    return _triangle_of(TRIL, m, k)


@implements(np.triu)
def triu(m: Any, k: int = 0) -> Any:
    return _triangle_of(TRIU, m, k)
