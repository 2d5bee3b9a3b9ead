"""Define differences along an axis, and derivatives and integrals of samples."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tapec.ir import Type
from tapec.ir.param_types import AXIS, SIZE
from tapec.ir.static_index import Slice
from tapec.ir.types import normalize_axis, several
from tapec.ops.core.define import as_operand, define, ndim_of
from tapec.ops.core.op_helpers import along, as_array, available, batch_with_shifted_axes, both, drawn, flat
from tapec.ops.core.stand_in import ArrayLike, apply, implements
from tapec.ops.core.symbol import is_known
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE, SCATTER

__all__ = ["DIFF", "HEAD", "TAIL", "diff", "ediff1d", "gradient", "trapezoid"]

TAIL, HEAD = Slice(1, None, None), Slice(None, -1, None)


def _diff_rule(t: Type, n: int, axis: int) -> Type:
    return Type((*t.shape[:axis], max(t.shape[axis] - n, 0), *t.shape[axis + 1 :]), t.dtype)


def _diff_vjp(ct: Any, y: Any, x: Any, n: int, axis: int) -> Any:
    """Return the cotangent of repeated differences.

    Each step takes an element from the one after it; so back, the cotangent is added at the one after and subtracted at
    the element, as many times.
    """
    m = x.shape[axis]
    if not y.shape[axis]:
        return (np.zeros_like(x),)
    for size in range(m - n + 1, m + 1):
        shape = tuple([size if k == axis else d for k, d in enumerate(x.shape)])
        after, before = (
            apply(SCATTER, (ct,), (("shape", shape), ("index", (*[FULL_SLICE] * axis, place))))
            for place in (TAIL, HEAD)
        )
        ct = after - before
    return (ct,)


def _diff_source(args: tuple[str, ...], node: Any) -> str:
    n, axis = node.param("n"), node.param("axis")
    text = f"{args[0]}, {n}" if n != 1 else args[0]
    return f"np.diff({text})" if axis == node.inputs[0].type.ndim - 1 else f"np.diff({text}, axis={axis})"


DIFF = define(
    "diff",
    np.diff,
    _diff_rule,
    "cumulative",
    params={"n": SIZE, "axis": AXIS},
    vjp=_diff_vjp,
    linear=(0,),
    batch=batch_with_shifted_axes(np.diff, "axis"),
    source=_diff_source,
    sample=both(drawn((5,), n=1, axis=0), drawn((4, 3), n=2, axis=0), drawn((2, 1), n=1, axis=1)),
    numpy=np.diff,
)


@implements(np.diff, gives_views=True)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    a, n = as_array(a), operator.index(n)
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis(axis, a.ndim)
    edge = tuple(1 if k == axis else m for k, m in enumerate(a.shape))
    parts = [as_array(p) for p in (prepend, a, append) if p is not None]
    parts = [p if np.ndim(p) else np.broadcast_to(p, edge) for p in parts]
    a = np.concatenate(parts, axis) if len(parts) > 1 else a
    return apply(DIFF, (a,), (("n", n), ("axis", axis)))


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    x = flat(as_array(ary))
    # np.diff takes booleans, of which subtraction is refused
    steps = x[1:] - x[:-1] if x.dtype.kind == "b" else np.diff(x)
    before, after = _ends(steps, to_begin=to_begin), _ends(steps, to_end=to_end)
    return np.concatenate([*before, steps, *after]) if before or after else steps


def _ends(steps: Any, **given: Any) -> list[Any]:
    """Return the numbers before or after the steps, in their dtype."""
    ((name, value),) = given.items()
    if value is None:
        return []
    part = flat(as_array(value))
    if not np.can_cast(part.dtype, steps.dtype, "same_kind"):
        raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
    return [part.astype(steps.dtype)]


# -- derivatives and integrals of samples ---------------------------------------------------------------------------
@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    f = as_array(f)
    if f.dtype.kind == "b":
        np.subtract(f, f)  # raises NumPy's error for booleans
    if f.dtype.kind not in "fc":
        f = f.astype(float)
    axes = [normalize_axis(k, f.ndim) for k in (range(f.ndim) if axis is None else several(axis))]
    if len(set(axes)) < len(axes):
        raise ValueError("repeated axis")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError("invalid number of arguments")
    spacings = [as_operand(v) for v in varargs] or [1.0]
    spacings = spacings * len(axes) if len(spacings) == 1 else spacings
    found = [_slope(f, h, k, edge_order) for h, k in zip(spacings, axes)]
    return found[0] if len(found) == 1 else tuple(found)


def _slope(f: Any, h: Any, axis: int, edge_order: int) -> Any:
    """Return second-order central differences inside, and one-sided ones of the given order at the ends."""
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )

    def at(start: Any, stop: Any) -> Any:
        return f[along(axis, slice(start, stop))]

    if not ndim_of(h):
        inner = (at(2, None) - at(None, -2)) / (2.0 * h)
        first, last = _uniform_edges(at, h, edge_order)
    elif np.shape(h) == (n,) and _even(h):
        return _slope(f, h[1] - h[0], axis, edge_order)
    elif np.shape(h) == (n,):
        dx = np.reshape(np.diff(h), (-1,) + (1,) * (f.ndim - axis - 1))
        a, b = dx[:-1], dx[1:]
        parts = [at(None, -2), at(1, -1), at(2, None)]
        inner = _weighted(parts, -b / (a * (a + b)), (b - a) / (a * b), a / (b * (a + b)))
        first, last = _uneven_edges(at, dx, edge_order)
    else:
        raise ValueError("distances must match the length of the corresponding dimension")
    slope = np.concatenate([first, inner, last], axis)
    slope = slope if slope.dtype == f.dtype else slope.astype(f.dtype)
    return slope._lie_as(f) if isinstance(slope, ArrayLike) and isinstance(f, ArrayLike) else slope


def _even(h: Any) -> bool:
    """Return whether places, whose values are known, are as far from each other as NumPy can tell."""
    if not is_known(h):
        return False
    steps = np.diff(h)
    return bool((steps == steps[0]).all())


def _weighted(parts: list[Any], a: Any, b: Any, c: Any) -> Any:
    return a * parts[0] + b * parts[1] + c * parts[2]


def _first(at: Any) -> list[Any]:
    return [at(0, 1), at(1, 2), at(2, 3)]


def _last(at: Any) -> list[Any]:
    return [at(-3, -2), at(-2, -1), at(-1, None)]


def _uniform_edges(at: Any, h: Any, edge_order: int) -> tuple[Any, Any]:
    if edge_order == 1:
        return (at(1, 2) - at(0, 1)) / h, (at(-1, None) - at(-2, -1)) / h
    first = _weighted(_first(at), -1.5 / h, 2.0 / h, -0.5 / h)
    return first, _weighted(_last(at), 0.5 / h, -2.0 / h, 1.5 / h)


def _uneven_edges(at: Any, dx: Any, edge_order: int) -> tuple[Any, Any]:
    if edge_order == 1:
        return (at(1, 2) - at(0, 1)) / dx[:1], (at(-1, None) - at(-2, -1)) / dx[-1:]
    a, b = dx[:1], dx[1:2]
    first = _weighted(_first(at), -(2.0 * a + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b)))
    a, b = dx[-2:-1], dx[-1:]
    last = _weighted(_last(at), b / (a * (a + b)), -(a + b) / (a * b), (2.0 * b + a) / (b * (a + b)))
    return first, last


@implements(np.trapezoid, *available("trapz"))  # np.trapz is there until NumPy 2.3
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y = as_array(y)
    place = normalize_axis(axis, y.ndim)
    if x is None:
        d = as_operand(dx)
    else:
        x = as_operand(x)
        d = np.diff(x) if ndim_of(x) == 1 else np.diff(x, axis=axis)
        if ndim_of(x) == 1:
            d = np.reshape(d, (-1,) + (1,) * (y.ndim - place - 1))
    sides = y[along(place, slice(1, None))] + y[along(place, slice(None, -1))]
    return np.sum(d * sides / 2.0, axis=axis)
