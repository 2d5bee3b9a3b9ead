"""Reduce over axes, or along one as a running sum does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.compat.tensorflow.elementwise import cast
from tapec.compat.tensorflow.plain_values import axes, within
from tapec.compat.tensorflow.tf_tensor import constant
from tapec.ops.reductions.logsumexp import log_sum_exp

__all__ = [
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "reduce_all",
    "reduce_any",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_std",
    "reduce_sum",
    "reduce_variance",
]


def _reduction(f: Callable[..., Any], name: str, keeps_integers: bool = False) -> Callable[..., Any]:
    def call(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None) -> Any:
        x = constant(input_tensor)
        y = f(x, axis=axes(axis), keepdims=bool(keepdims))
        return y.astype(x.dtype) if keeps_integers and x.dtype.kind in "iu" else y

    call.__name__ = name
    return call


def _mean(x: Any, axis: Any, keepdims: Any) -> Any:
    """The mean of integers is an integer."""
    return (
        np.mean(x, axis=axis, keepdims=keepdims)
        if x.dtype.kind not in "iu"
        else np.trunc(np.mean(x, axis=axis, keepdims=keepdims))
    )


reduce_sum = _reduction(np.sum, "reduce_sum", True)
reduce_prod = _reduction(np.prod, "reduce_prod", True)
reduce_mean = _reduction(_mean, "reduce_mean", True)
reduce_max = _reduction(np.max, "reduce_max")
reduce_min = _reduction(np.min, "reduce_min")
reduce_any = _reduction(np.any, "reduce_any")
reduce_all = _reduction(np.all, "reduce_all")
reduce_std = _reduction(np.std, "reduce_std")
reduce_variance = _reduction(np.var, "reduce_variance")
reduce_logsumexp = _reduction(log_sum_exp, "reduce_logsumexp")


def argmax(input: Any, axis: Any = None, output_type: Any = np.int64, name: Any = None) -> Any:
    return cast(np.argmax(constant(input), axis=0 if axis is None else axes(axis)), output_type)


def argmin(input: Any, axis: Any = None, output_type: Any = np.int64, name: Any = None) -> Any:
    return cast(np.argmin(constant(input), axis=0 if axis is None else axes(axis)), output_type)


def _running(f: Callable[..., Any], start: int) -> Callable[..., Any]:
    def call(x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: Any = None) -> Any:
        x = constant(x)
        axis = within(axis, len(x.shape))
        y = np.flip(x, axis) if reverse else x
        if exclusive:
            first = np.full_like(np.take(y._value, [0], axis), start)
            y = np.concatenate([constant(first), y[(slice(None),) * axis + (slice(None, -1),)]], axis)
        y = cast(f(y, axis=axis), x.dtype)
        return np.flip(y, axis) if reverse else y

    return call


cumsum = _running(np.cumsum, 0)
cumprod = _running(np.cumprod, 1)
