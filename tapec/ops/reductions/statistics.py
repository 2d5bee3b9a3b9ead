"""Define spread, averages and correlation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.ir.param_types import REAL
from tapec.ir.types import normalize_axis, several
from tapec.ops.core.define import axes_param, ndim_of, shape_of, spread, strictly
from tapec.ops.core.op_helpers import as_array, plain_number, real_dtype
from tapec.ops.core.stand_in import apply, implements, method
from tapec.ops.core.symbol import holds
from tapec.ops.core.value_checks import checked
from tapec.ops.reductions.sums_and_extremes import (
    count,
    in_dtype,
    mean_dtype,
    reduction,
    reduction_cases,
    reduction_source,
    size_along,
    taken,
    unsupported,
)

__all__ = ["STD", "VAR", "aligned_weights", "average", "corrcoef", "cov"]


# -- variance -----------------------------------------------------------------------------------------------------
def _spread_dtype(dtype: np.dtype) -> np.dtype:
    return real_dtype(mean_dtype(dtype))


def _over_freedom(ct: Any, x: Any, axis: tuple[int, ...], ddof: Any) -> Any:
    """Divide by the degrees of freedom, which NumPy takes to be zero at least."""
    free = max(count(x, axis) - ddof, 0)
    return ct / (size_along(x, axis, ddof) if type(ddof) is int else free) if free else ct * math.inf


def _var_vjp(ct: Any, y: Any, x: Any, axis: tuple[int, ...], keepdims: bool, ddof: Any) -> Any:
    away = x - np.mean(x, axis=axis, keepdims=True)
    return (spread(_over_freedom(2.0 * ct, x, axis, ddof), x, axis, keepdims) * away,)


def _std_vjp(ct: Any, y: Any, x: Any, axis: tuple[int, ...], keepdims: bool, ddof: Any) -> Any:
    """Return the cotangent of a standard deviation, zero where all values are equal: there the deviation counts as
    infinite.
    """
    away = x - np.mean(x, axis=axis, keepdims=True)
    scale = _over_freedom(ct, x, axis, ddof) / np.where(y == 0, np.inf, y)
    return (spread(scale, x, axis, keepdims) * away,)


VAR = reduction(
    "var",
    np.var,
    _spread_dtype,
    _var_vjp,
    params={"ddof": REAL},
    sample=reduction_cases(ddof=0),
    source=reduction_source("var", "ddof"),
)
STD = reduction(
    "std",
    np.std,
    _spread_dtype,
    _std_vjp,
    params={"ddof": REAL},
    sample=reduction_cases(ddof=0),
    source=reduction_source("std", "ddof"),
)


def _moment(
    op: Any, a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any, where: Any, mean: Any, correction: Any
) -> Any:
    """Return the variance or deviation: by the op, or in parts where a mask or a mean is given."""
    a = as_array(a)
    if correction is not None:
        if ddof:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    if dtype is not None:
        if np.dtype(dtype).kind in "biu":
            raise unsupported(
                f"np.{op.name} with dtype={np.dtype(dtype)} rounds at each step, the mean too", "leave dtype out"
            )
        a = a.astype(dtype)
    if where is True and mean is None:
        params = axes_param(a, strictly(axis), keepdims)
        return in_dtype(apply(op, (a,), (*params, ("ddof", plain_number(ddof)))), dtype)
    mean = np.mean(a, axis=axis, keepdims=True, where=where) if mean is None else mean
    number = taken(where, a, axis, keepdims).astype(_spread_dtype(a.dtype))
    squares = np.square(np.abs(a - mean)) if a.dtype.kind == "c" else np.square(a - mean)
    y = np.sum(squares, axis=axis, keepdims=keepdims, where=where) / np.maximum(number - ddof, 0)
    return in_dtype(_root(y) if op is STD else y, dtype)


def _root(y: Any) -> Any:
    """The square root, with zero gradient at zero."""
    flat = y == 0
    return np.where(flat, 0, np.sqrt(np.where(flat, 1, y)))


@method("var")
@implements(np.var)
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    return _moment(VAR, a, axis, dtype, ddof, keepdims, where, mean, correction)


@method("std")
@implements(np.std)
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    return _moment(STD, a, axis, dtype, ddof, keepdims, where, mean, correction)


# -- averages -----------------------------------------------------------------------------------------------------
@implements(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False) -> Any:
    a = as_array(a)
    if axis is not None:
        axis = tuple([normalize_axis(k, a.ndim) for k in several(axis)])
    if weights is None:
        y = np.mean(a, axis=axis, keepdims=keepdims)
        if not y.size:
            raise ZeroDivisionError("division by zero")  # as NumPy, which divides the sizes
        total = np.full_like(y, a.size / y.size)
        return (y, total) if returned else y
    w = as_array(weights)
    if w.shape != a.shape:
        w = aligned_weights(a, axis, w)
    if a.dtype.kind in "biu":
        a = a.astype(np.result_type(a.dtype, w.dtype, np.float64))  # the products must not overflow
    total = np.sum(w, axis=axis, keepdims=keepdims, dtype=np.result_type(a.dtype, w.dtype))
    total = checked(total, total == 0, ZeroDivisionError("Weights sum to zero, can't be normalized"))
    y = np.sum(a * w, axis=axis, keepdims=keepdims) / total
    return (y, np.broadcast_to(total.astype(y.dtype), y.shape)) if returned else y


def aligned_weights(a: Any, axis: Any, w: Any) -> Any:
    """Return weights given along some axes in a shape that broadcasts along the others."""
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = [normalize_axis(k, a.ndim) for k in several(axis)]
    if w.shape != tuple(a.shape[k] for k in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    if len(axes) > 1:
        w = np.transpose(w, sorted(range(len(axes)), key=lambda k: axes[k]))
    return w.reshape([n if k in axes else 1 for k, n in enumerate(a.shape)])


# -- correlation --------------------------------------------------------------------------------------------------
@implements(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """Return the covariance, in double precision at least, as NumPy does."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    x = _variables(m, rowvar, _ROWS_STAY)
    if y is not None:
        x = np.concatenate([x, _variables(y, rowvar, True)], 0)
    x = x.astype(np.result_type(x.dtype, float) if dtype is None else dtype)
    ddof = (0 if bias else 1) if ddof is None else ddof
    w = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is not None:
            some = _checked_weights(name, as_array(given).astype(float), x.shape[1])
            w = some if w is None else w * some
    if w is None:
        x = x - np.mean(x, axis=1, keepdims=True)
        free = max(x.shape[1] - ddof, 0)
        return np.squeeze(x @ np.conj(x.T) * (1.0 / free if free else math.inf))
    total = np.sum(w)
    total = checked(total, total == 0, ZeroDivisionError("Weights sum to zero, can't be normalized"))
    x = x - np.sum(x * w, axis=1, keepdims=True) / total
    lost = ddof if aweights is None else ddof * np.sum(w * as_array(aweights)) / total
    return np.squeeze((x * w) @ np.conj(x.T) / np.maximum(total - lost, 0))


# before NumPy 2.2 a single row is one variable, whatever `rowvar` says
_ROWS_STAY = np.lib.NumpyVersion(np.__version__) < "2.2.0"


def _variables(m: Any, rowvar: bool, row_stays: bool) -> Any:
    """Return an array with one variable a row."""
    m = as_array(m)
    if m.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    if m.ndim < 2:
        return np.reshape(m, (1, -1))
    return m if rowvar or (row_stays and m.shape[0] == 1) else m.T


def _checked_weights(name: str, w: Any, n: int) -> Any:
    if ndim_of(w) > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if shape_of(w) != (n,):
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if name == "fweights" and holds(np.any(w != np.round(w))):
        raise TypeError("fweights must be integer")
    return checked(w, w < 0, ValueError(f"{name} cannot be negative"))


@implements(np.corrcoef)
def corrcoef(
    x: Any, y: Any = None, rowvar: bool = True, bias: Any = None, ddof: Any = None, *, dtype: Any = None
) -> Any:
    """Return the correlation. NumPy before 2.4 took `bias` and `ddof`, which cancel."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    d = np.sqrt(np.real(np.diagonal(c)))
    c = c / d[:, None] / d[None, :]
    if c.dtype.kind == "c":
        return np.clip(c.real, -1, 1) + 1j * np.clip(c.imag, -1, 1)
    return np.clip(c, -1, 1)
