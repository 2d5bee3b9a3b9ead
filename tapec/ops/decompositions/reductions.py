"""Make reductions, running extremes and quantiles of other ops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.ops.decompositions.elementwise import Decompose

__all__ = ["TABLE"]


def _best(of_bools: Decompose, best: Decompose, worst: float) -> Decompose:
    """Return the largest, or the smallest, of bools and of complex numbers."""

    def decompose(x: Any, axis: Any, keepdims: bool) -> Any:
        if x.dtype.kind == "b":
            return of_bools(x, axis=axis, keepdims=keepdims)
        if x.dtype.kind != "c":
            return None
        nan = np.any(np.isnan(x), axis=axis, keepdims=keepdims)
        a = best(np.real(x), axis=axis, keepdims=True)
        b = best(np.where(np.real(x) == a, np.imag(x), worst), axis=axis, keepdims=keepdims)
        return np.where(nan, np.nan, np.reshape(a, b.shape) + 1j * b)

    return decompose


def _variance(x: Any, axis: Any, keepdims: bool, ddof: Any = 0) -> Any:
    n = math.prod([x.shape[k] for k in axis])
    centred = np.abs(x - np.mean(x, axis=axis, keepdims=True))
    return np.sum(centred * centred, axis=axis, keepdims=keepdims) / (n - ddof)


def _nan_place(find: Decompose, worst: float) -> Decompose:
    def decompose(x: Any, axis: Any, keepdims: bool) -> Any:
        x = np.where(np.isnan(x), worst, x)
        return find(x, axis=axis[0] if len(axis) != x.ndim else None, keepdims=keepdims)

    return decompose


def _diagonal(x: Any, offset: int, axis1: int, axis2: int) -> Any:
    x = np.moveaxis(x, (axis1, axis2), (-2, -1))
    n, m = x.shape[-2:]
    first = offset if offset >= 0 else -offset * m
    count = max(0, min(n, m - offset) if offset >= 0 else min(n + offset, m))
    flat = np.reshape(x, (*x.shape[:-2], n * m))
    return flat[..., first : first + max(0, (count - 1) * (m + 1) + 1) if count else first : m + 1]


def _diag(v: Any, k: int) -> Any:
    n = v.shape[0] + abs(k)
    row = np.pad(v, (k, 0) if k > 0 else (0, -k))  # each row has its own column of it
    return np.where(np.eye(n, k=k, dtype=bool), row if k >= 0 else np.roll(row, k)[:, None] * 0 + row[None, :], 0)


def _running(better: Decompose) -> Decompose:
    """Return the running maximum: each element becomes that of itself and of the one 1, 2, 4, ... before it."""

    def decompose(x: Any, axis: int) -> Any:
        step, n = 1, x.shape[axis]
        while step < n:
            front = np.moveaxis(x, axis, 0)
            moved = np.concatenate([front[:step], better(front[step:], front[:-step])])
            x = np.moveaxis(moved, 0, axis)
            step *= 2
        return x

    return decompose


def _in_order(x: Any, axis: Any) -> Any:
    """Return the values along some axes in order, along one last axis."""
    rest = [k for k in range(x.ndim) if k not in axis]
    return np.sort(np.reshape(np.transpose(x, (*rest, *axis)), (*[x.shape[k] for k in rest], -1)), axis=-1)


def _with_kept_axes(value: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return np.reshape(value, tuple([1 if k in axis else n for k, n in enumerate(x.shape)])) if keepdims else value


def _median(x: Any, axis: Any, keepdims: bool) -> Any:
    """Return the value in the middle, or the mean of the two there, which may be infinite; nan where one is nan."""
    if x.dtype.kind == "c":
        return None
    y = _in_order(x, axis)
    n = y.shape[-1]
    value = y[..., n // 2] if n % 2 else (y[..., n // 2 - 1] + y[..., n // 2]) / 2
    return _with_kept_axes(np.where(np.any(np.isnan(y), axis=-1), np.nan, value), x, axis, keepdims)


def _quantile(x: Any, q: Any, axis: Any, keepdims: bool, method: str) -> Any:
    """Return the linear quantile; nan where a value is nan."""
    if method != "linear" or x.dtype.kind == "c":
        return None
    y = _in_order(x, axis)
    n, nan = y.shape[-1], np.any(np.isnan(y), axis=-1)

    def one(q: float) -> Any:
        at = q * (n - 1)
        low = min(math.floor(at), n - 1)
        a, b, t = y[..., low], y[..., min(low + 1, n - 1)], at - low
        value = a + (b - a) * t if t < 0.5 else b - (b - a) * (1 - t)
        return _with_kept_axes(np.where(nan, np.nan, value), x, axis, keepdims)

    def nested(q: Any) -> Any:
        return np.stack([nested(p) for p in q]) if isinstance(q, tuple) else one(float(q))

    return nested(q)


TABLE: dict[str, Decompose] = {
    "max": _best(np.any, np.max, -np.inf),
    "min": _best(np.all, np.min, np.inf),
    "count_nonzero": lambda x, axis, keepdims: np.sum(x != 0, axis=axis, keepdims=keepdims),
    "nanargmax": _nan_place(np.argmax, -np.inf),
    "nanargmin": _nan_place(np.argmin, np.inf),
    "var": _variance,
    "std": lambda x, axis, keepdims, ddof=0: np.sqrt(_variance(x, axis, keepdims, ddof)),
    "trace": lambda x, offset, axis1, axis2: np.sum(_diagonal(x, offset, axis1, axis2), axis=-1),
    "diagonal": _diagonal,
    "diag": _diag,
    "running_maximum": _running(np.maximum),
    "running_minimum": _running(np.minimum),
    "median": _median,
    "quantile": _quantile,
}
