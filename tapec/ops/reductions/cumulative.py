"""Define running sums and products along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Type
from tapec.ir.param_types import AXIS, BOOL
from tapec.ir.types import normalize_axis
from tapec.ops.core.define import conj, define, ndim_of
from tapec.ops.core.op_helpers import along, as_array, available, batch_with_shifted_axes, both, drawn, flat
from tapec.ops.core.stand_in import apply, implements, method
from tapec.ops.reductions.sums_and_extremes import in_dtype, sum_dtype

__all__ = ["CUMPROD", "CUMSUM", "RECURRENCE"]


def _axis_source(name: str) -> Any:
    def source(args: tuple[str, ...], node: Any) -> str:
        axis = f", axis={node.param('axis')}" if node.inputs[0].type.ndim > 1 else ""
        return f"np.{name}({args[0]}{axis})"

    return source


def _cumulative_rule(t: Type, axis: int) -> Type:
    return Type(t.shape, sum_dtype(t.dtype))


_CASES = both(drawn((5,), axis=0), drawn((2, 3, 4), axis=1), drawn((3, 4), axis=1, complex=True), drawn((2, 0), axis=1))


# -- running sums -------------------------------------------------------------------------------------------------
CUMSUM = define(
    "cumsum",
    np.cumsum,
    _cumulative_rule,
    "cumulative",
    params={"axis": AXIS},
    vjp=lambda ct, y, x, axis: (np.flip(np.cumsum(np.flip(ct, axis), axis=axis), axis),),
    linear=(0,),
    batch=batch_with_shifted_axes(np.cumsum, "axis"),
    source=_axis_source("cumsum"),
    out=True,
    sample=_CASES,
    numpy=np.cumsum,
)


# -- running products -----------------------------------------------------------------------------------------------
def recurrence(a: np.ndarray, b: np.ndarray, axis: int, reverse: bool) -> np.ndarray:
    """s[i] = b[i] + a[i] * s[i - 1] along an axis (s[i + 1] when reversed), in log2(n) sweeps of doubled reach."""
    shape = np.broadcast_shapes(a.shape, b.shape)
    s = np.array(np.broadcast_to(b, shape), dtype=np.result_type(a, b))
    p = np.array(np.broadcast_to(a, shape))
    step = -1 if reverse else 1
    ss, pp = np.moveaxis(s, axis, 0)[::step], np.moveaxis(p, axis, 0)[::step]
    if not np.isfinite(p).all():  # before anything flows, factors do not matter
        pp[1:][~np.logical_or.accumulate(ss != 0)[:-1]] = 0
    reach = 1
    while reach < len(ss):
        ss[reach:] += pp[reach:] * ss[:-reach]
        pp[reach:] *= pp[:-reach]
        reach *= 2
    return s


def shifted(x: Any, axis: int, fill: float, back: bool) -> Any:
    """Return x moved by one place along an axis (towards the front when `back`), filled up at the end that is free."""
    edge = np.full_like(x[along(axis, slice(0, 1))], fill)
    if back:
        return np.concatenate([x[along(axis, slice(1, None))], edge], axis)
    return np.concatenate([edge, x[along(axis, slice(None, -1))]], axis)


def _recurrence_vjp(ct: Any, y: Any, a: Any, b: Any, axis: int, reverse: bool) -> Any:
    """Return cotangents by the recurrence in the other direction; a[i] has multiplied the neighbour that s[i] came
    from.
    """
    ct_b = apply(
        RECURRENCE,
        (shifted(conj(a), axis, 0, not reverse), ct),
        (("axis", axis), ("reverse", not reverse)),
    )
    return ct_b * conj(shifted(y, axis, 0, reverse)), ct_b


RECURRENCE = define(
    "recurrence",
    recurrence,
    lambda a, b, axis, reverse: Type(b.shape, np.result_type(a.dtype, b.dtype)),
    "cumulative",
    params={"axis": AXIS, "reverse": BOOL},
    vjp=_recurrence_vjp,
    sample=both(
        drawn((5,), (5,), axis=0, reverse=False),
        drawn((3, 4), (3, 4), axis=0, reverse=True),
        drawn((2, 3), (2, 3), axis=1, reverse=True, complex=True),
    ),
    note="s[i] = b[i] + a[i] * s[i - 1]: the derivative of a running product, also where there are zeros",
)


def _cumprod_vjp(ct: Any, y: Any, x: Any, axis: int) -> Any:
    """Return for x[i], a factor of all products from i on, the product before it times sum_k ct[k] x[i+1] ... x[k]."""
    if not x.shape[axis]:
        return (ct,)
    before = shifted(y, axis, 1, False)
    after = apply(RECURRENCE, (shifted(conj(x), axis, 0, True), ct), (("axis", axis), ("reverse", True)))
    return (conj(before) * after,)


CUMPROD = define(
    "cumprod",
    np.cumprod,
    _cumulative_rule,
    "cumulative",
    params={"axis": AXIS},
    vjp=_cumprod_vjp,
    batch=batch_with_shifted_axes(np.cumprod, "axis"),
    source=_axis_source("cumprod"),
    out=True,
    sample=_CASES,
    numpy=np.cumprod,
)


def _along(op: Any, a: Any, axis: Any, dtype: Any) -> Any:
    a = as_array(a)
    if axis is None or (not a.ndim and axis in (0, -1)):
        a, axis = flat(a), 0
    if dtype is not None:
        a = a.astype(dtype)
    return in_dtype(apply(op, (a,), (("axis", normalize_axis(axis, ndim_of(a))),)), dtype)


@method("cumsum")
@implements(np.cumsum, sums=True)
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return _along(CUMSUM, a, axis, dtype)


@method("cumprod")
@implements(np.cumprod, sums=True)
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return _along(CUMPROD, a, axis, dtype)


def _cumulative(run: Any, first: int, x: Any, axis: Any, dtype: Any, include_initial: bool) -> Any:
    """Return running sums or products as the array API defines them, with `first` in front if that is asked for."""
    x = as_array(x)
    x = x if x.ndim else flat(x)
    if axis is None:
        if x.ndim != 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required")
        axis = 0
    y = run(x, axis, dtype)
    if include_initial:
        axis = normalize_axis(axis, x.ndim)
        shape = tuple(1 if k == axis else n for k, n in enumerate(x.shape))
        y = np.concatenate([np.full_like(y, first, shape=shape), y], axis)
    return y


@implements(*available("cumulative_sum"), sums=True)  # NumPy 2.1
def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Any:
    return _cumulative(cumsum, 0, x, axis, dtype, include_initial)


@implements(*available("cumulative_prod"), sums=True)  # NumPy 2.1
def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Any:
    return _cumulative(cumprod, 1, x, axis, dtype, include_initial)
