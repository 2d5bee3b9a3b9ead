"""Define norms of vectors and matrices, and condition numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir import Type
from tapec.ir.param_types import AXES, BOOL, REAL
from tapec.ir.types import normalize_axis
from tapec.ops.core.define import define, ndim_of, reduced_shape, shape_of, spread
from tapec.ops.core.op_helpers import as_array, both, drawn, real_dtype, source_of_value, stacked
from tapec.ops.core.stand_in import ArrayLike, apply, implements
from tapec.ops.reductions.sums_and_extremes import mean_dtype

__all__ = ["NORM"]


# -- the p-norm over any axes -----------------------------------------------------------------------------------------
def _rule(t: Type, ord: float, axis: tuple[int, ...], keepdims: bool) -> Type:
    return Type(reduced_shape(t.shape, axis, keepdims), real_dtype(mean_dtype(t.dtype)))


def _vjp(ct: Any, y: Any, x: Any, ord: float, axis: tuple[int, ...], keepdims: bool) -> Any:
    """Return x/|x| for the 2-norm, and sign(x) (|x|/norm)^(p-1) for others, times the cotangent.

    They are zero, at every order of derivative, where x or the norm is zero.
    """
    whole = spread(y, x, axis, keepdims)
    ct = spread(ct, x, axis, keepdims)
    if ord == 2:
        return (ct * x / np.where(whole == 0, np.inf, whole),)
    size = np.abs(x)
    if ord < 0:
        some = np.where(size == 0, 1.0, size)
        return (ct * np.where(size == 0, 0.0, x / some * (whole / some) ** (1.0 - ord)),)
    share = size / np.where(whole == 0, 1.0, whole)
    if ord >= 2:
        unit = x / np.where(size == 0, 1.0, size)
        return (ct * unit * share ** (ord - 1.0),)
    safe = np.where(size == 0, 1.0, share)
    return (ct * np.where(size == 0, 0.0, x / np.where(size == 0, 1.0, size) * safe ** (ord - 1.0)),)


def _run(x: Any, ord: float, axis: Any, keepdims: Any) -> Any:
    if len(axis) == ndim_of(x) <= 2 and ord == 2:
        return np.linalg.norm(x, keepdims=bool(keepdims))  # type: ignore[call-overload, unused-ignore]
    if len(axis) == 1:
        return np.linalg.norm(x, None if ord == 2 else ord, axis[0], keepdims)
    return np.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)


def _source(args: tuple[str, ...], node: Any) -> str:
    ord, axis, keepdims = node.param("ord"), node.param("axis"), node.param("keepdims")
    ndim = node.inputs[0].type.ndim
    number = int(ord) if float(ord).is_integer() else source_of_value(ord)
    keep = ", keepdims=True" if keepdims else ""
    if ord == 2 and len(axis) == ndim <= 2:
        return f"np.linalg.norm({args[0]}{keep})"
    if len(axis) == 1:
        first = "" if ord == 2 else f", {number}"
        return f"np.linalg.norm({args[0]}{first}{'' if ndim == 1 else f', axis={axis[0]}'}{keep})"
    where = "" if len(axis) == ndim else f", axis={axis}"
    return f"np.linalg.vector_norm({args[0]}{where}{'' if ord == 2 else f', ord={number}'}{keep})"


def _batch(batched: tuple[bool, ...], x: Any, ord: float, axis: tuple[int, ...], keepdims: bool) -> Any:
    return vector_norm(x, axis=tuple([k + 1 for k in axis]), keepdims=keepdims, ord=ord)


NORM = define(
    "norm",
    _run,
    _rule,
    "linalg",
    params={"ord": REAL, "axis": AXES, "keepdims": BOOL},
    vjp=_vjp,
    batch=_batch,
    source=_source,
    sample=both(
        drawn((3,), ord=2.0, axis=(0,), keepdims=False),
        drawn((2, 3), ord=2.0, axis=(0, 1), keepdims=False),
        drawn((2, 3), ord=2.0, axis=(1,), keepdims=True),
        drawn((2, 3, 2), ord=3.0, axis=(0, 2), keepdims=False),
        drawn((3,), ord=1.5, axis=(0,), keepdims=True),
        drawn((2, 3), ord=-1.5, axis=(1,), keepdims=False),
        drawn((2, 3), ord=2.5, axis=(0,), keepdims=False, complex=True),
        drawn((2, 3), ord=2.0, axis=(0, 1), keepdims=True, complex=True),
    ),
    numpy=np.linalg.norm,
)


def _largest(x: Any, axis: Any, keepdims: Any) -> Any:
    """Return the maximum of numbers that are not negative; zero of no numbers."""
    start: Any = {"initial": 0.0} if 0 in shape_of(x) else {}
    return np.max(x, axis=axis, keepdims=keepdims, **start)


def _vector(x: Any, ord: Any, axis: tuple[int, ...], keepdims: Any) -> Any:
    """A vector norm of any order over some axes taken together."""
    if ord is None or ord == 2:
        return apply(NORM, (x,), (("ord", 2.0), ("axis", axis), ("keepdims", bool(keepdims))))
    if ord == np.inf:
        return _largest(np.abs(x), axis, keepdims)
    if ord == -np.inf:
        return np.min(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum((x != 0).astype(_rule(Type((), x.dtype), 2, (), False).dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    if isinstance(ord, ArrayLike):  # a recorded number, which guards have told from those above
        size, most = np.abs(x), np.inf if ord < 0 else 0
        none = size == 0
        total = np.sum(np.where(none, most, np.where(none, 1, size) ** ord), axis=axis, keepdims=keepdims)
        zero = total == 0
        return np.where(zero, most, np.where(zero, 1, total) ** (1.0 / ord))
    if not isinstance(ord, (int, float, np.number)):
        raise ValueError(at_user_line(f"Invalid norm order '{ord}' for vectors"))
    return apply(NORM, (x,), (("ord", float(ord)), ("axis", axis), ("keepdims", bool(keepdims))))


# -- matrices ---------------------------------------------------------------------------------------------------------
def _matrix(x: Any, ord: Any, axes: tuple[int, int], keepdims: bool) -> Any:
    """A matrix norm over two axes: rows, columns."""
    if axes[0] == axes[1]:
        raise ValueError(at_user_line("Duplicate axes given."))
    if ord in (None, "fro", "f"):
        return _vector(x, 2, tuple(sorted(axes)), keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        inner, outer = axes if abs(ord) == 1 else axes[::-1]
        sums = np.sum(np.abs(x), axis=inner, keepdims=True)
        y = _largest(sums, outer, True) if ord > 0 else np.min(sums, axis=outer, keepdims=True)
    elif ord in (2, -2, "nuc"):
        s = np.linalg.svd(np.moveaxis(x, axes, (-2, -1)), compute_uv=False)
        y = np.sum(s, axis=-1) if ord == "nuc" else _extreme(s, ord)
        y = np.expand_dims(y, axes)
    else:
        raise ValueError(at_user_line("Invalid norm order for matrices."))
    return y if keepdims else np.squeeze(y, axes)


def _extreme(s: Any, ord: int) -> Any:
    """The largest or the smallest of singular values, which are in order."""
    if 0 in shape_of(s):
        return _largest(s, -1, False) if ord == 2 else np.min(s, axis=-1)
    return s[..., 0 if ord == 2 else -1]


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = as_array(x)
    if x.dtype.kind not in "fc":
        x = x.astype(float)
    n = ndim_of(x)
    if axis is None:
        if ord is None or (ord in ("f", "fro") and n == 2) or (ord == 2 and n == 1):
            return _vector(x, 2, tuple(range(n)), keepdims)
        axis = tuple(range(n))
    axes = tuple([normalize_axis(k, n) for k in (axis if isinstance(axis, (tuple, list)) else (axis,))])
    if len(axes) == 1:
        return _vector(x, ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix(x, ord, axes, keepdims)
    raise ValueError(at_user_line("Improper number of dimensions to norm."))


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    x = as_array(x)
    if x.dtype.kind not in "fc":
        x = x.astype(float)
    n = ndim_of(x)
    given = range(n) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    return _vector(x, ord, tuple(sorted([normalize_axis(k, n) for k in given])), keepdims)


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    x = as_array(x)
    return norm(x, ord, (-2, -1), keepdims)


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    """Return the condition number: infinite, without a gradient, where there is no inverse; nan for a matrix with a
    nan.
    """
    x = as_array(x)
    if not x.size:
        raise np.linalg.LinAlgError(at_user_line("cond is not defined on empty arrays"))
    unknown = np.isnan(x).any(axis=(-2, -1))
    if p in (None, 2, -2):
        s = np.linalg.svd(x, compute_uv=False)
        above, below = (s[..., -1], s[..., 0]) if p == -2 else (s[..., 0], s[..., -1])
        none = below == 0
        y = above / np.where(none, 1.0, below)
    else:
        n = stacked(Type(shape_of(x), x.dtype))[-1]
        none = np.linalg.slogdet(x)[0] == 0
        x = np.where(none[..., None, None], np.eye(n, dtype=x.dtype), x)
        y = norm(x, p, (-2, -1)) * norm(np.linalg.inv(x), p, (-2, -1))
    return np.where(unknown, np.nan, np.where(none | np.isnan(y), np.inf, y))
