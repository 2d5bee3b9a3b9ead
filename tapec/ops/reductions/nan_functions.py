"""Define the nan-functions: reductions in which nan is replaced by a value that changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Type
from tapec.ir.param_types import NUMBER, optional
from tapec.ops.core.define import define, dtype_of, shape_of
from tapec.ops.core.op_helpers import as_array, plain_number, source_of_value, where_mask
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import apply, deliver, implements

__all__ = ["NAN_TO_NUM", "nan_to_num", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar"]


def _without(a: Any, fill: Any) -> tuple[Any, Any]:
    """Return the operand with nan replaced, and the mask of other numbers; None for the mask when there cannot be any
    nan.
    """
    a = as_array(a)
    if dtype_of(a).kind not in "fc":
        return a, None
    there = ~np.isnan(a)
    return np.where(there, a, fill), there


@implements(np.nansum, sums=True)
def nansum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **more: Any) -> Any:
    return np.sum(_without(a, 0)[0], axis, dtype, keepdims=keepdims, **more)


@implements(np.nanprod, sums=True)
def nanprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **more: Any) -> Any:
    return np.prod(_without(a, 1)[0], axis, dtype, keepdims=keepdims, **more)


@implements(np.nancumsum, sums=True)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return np.cumsum(_without(a, 0)[0], axis, dtype)


@implements(np.nancumprod, sums=True)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return np.cumprod(_without(a, 1)[0], axis, dtype)


def _nan_extreme(run: Any, fill: Any, a: Any, axis: Any, keepdims: Any, more: Any) -> Any:
    """Return the extreme of the numbers that are not nan; nan where there is none."""
    a, there = _without(a, fill)
    y = run(a, axis=axis, keepdims=keepdims, **more)
    if there is not None and more.get("initial") is None:
        y = np.where(np.any(there, axis=axis, keepdims=keepdims), y, np.nan)
    return y


@implements(np.nanmax)
def nanmax(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **more: Any) -> Any:
    return _nan_extreme(np.max, -np.inf, a, axis, keepdims, more)


@implements(np.nanmin)
def nanmin(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **more: Any) -> Any:
    return _nan_extreme(np.min, np.inf, a, axis, keepdims, more)


def _both(there: Any, where: Any) -> Any:
    return there if where is True else where if there is True else there & where_mask(where)


@implements(np.nanmean, sums=True)
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    a, there = _without(a, 0)
    return np.mean(a, axis, dtype, None, keepdims, where=_both(True if there is None else there, where))


def _nan_moment(run: Any, a: Any, where: Any, rest: Any, more: Any) -> Any:
    a, there = _without(a, 0)
    return run(a, *rest, where=_both(True if there is None else there, where), **more)


@implements(np.nanvar)
def nanvar(a: Any, *rest: Any, where: Any = True, **more: Any) -> Any:
    return _nan_moment(np.var, a, where, rest, more)


@implements(np.nanstd)
def nanstd(a: Any, *rest: Any, where: Any = True, **more: Any) -> Any:
    return _nan_moment(np.std, a, where, rest, more)


# -- nan_to_num -----------------------------------------------------------------------------------------------------
def _kept(t: Any, x: Any) -> Any:
    """Return the tangent or cotangent of the values that were finite, and zero for the others."""
    if x.dtype.kind != "c":
        return np.where(np.isfinite(x), t, 0)
    return np.where(np.isfinite(x.real), t.real, 0) + 1j * np.where(np.isfinite(x.imag), t.imag, 0)


def _source(args: tuple[str, ...], node: Any) -> str:
    named = [f", {k}={source_of_value(v)}" for k, v in node.params if v is not None and (k, v) != ("nan", 0.0)]
    return f"np.nan_to_num({args[0]}{''.join(named)})"


def _cases(rng: np.random.Generator) -> list[Case]:
    x = rng.standard_normal((2, 3))
    given = {"nan": 0.0, "posinf": None, "neginf": None}
    return [Case((x,), given), Case((x + 1j * x.T.reshape(2, 3),), {**given, "nan": 1.0})]


NAN_TO_NUM = define(
    "nan_to_num",
    np.nan_to_num,
    lambda t, **params: Type(t.shape, t.dtype),
    "elementwise",
    params={"nan": optional(NUMBER), "posinf": optional(NUMBER), "neginf": optional(NUMBER)},
    vjp=lambda ct, y, x, **params: (_kept(ct, x),),
    jvp=lambda ts, y, x, **params: _kept(ts[0], x),
    source=_source,
    sample=_cases,
    numpy=np.nan_to_num,
)


@implements(np.nan_to_num, gives_views=True)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    x = as_array(x)
    params = (("nan", plain_number(nan)), ("posinf", plain_number(posinf)), ("neginf", plain_number(neginf)))
    y = apply(NAN_TO_NUM, (x,), params)
    if copy:
        return y
    changed = deliver(x, y)
    return changed if shape_of(x) else changed[()]
