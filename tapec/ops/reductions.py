"""Reductions over axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Type
from tapec.ops.array import apply, implements, method
from tapec.ops.define import as_operand, axes_param, define, ndim_of, reduced_shape, spread
from tapec.ops.samples import any_real


def _sum_dtype(dtype: np.dtype) -> np.dtype:
    """NumPy adds small integers and booleans up in the platform's own integer."""
    if dtype.kind in "bi":
        return np.result_type(dtype, np.dtype(int)) if dtype.kind == "i" else np.dtype(int)
    return np.result_type(dtype, np.dtype(np.uint)) if dtype.kind == "u" else dtype


def _sum_rule(t: Type, axis: tuple[int, ...], keepdims: bool) -> Type:
    return Type(reduced_shape(t.shape, axis, keepdims), _sum_dtype(t.dtype))


def reduction_source(name: str) -> Any:
    """`np.sum(x)`, `np.sum(x, axis=0)`, `np.sum(x, axis=(0, 1), keepdims=True)`."""

    def source(args: tuple[str, ...], node: Any) -> str:
        axis, keepdims = node.param("axis"), node.param("keepdims")
        text = args[0]
        if len(axis) != node.inputs[0].type.ndim:
            text += f", axis={axis[0] if len(axis) == 1 else axis}"
        elif not axis:
            text += ", axis=()" if keepdims is None else ""
        if keepdims:
            text += ", keepdims=True"
        return f"np.{name}({text})"

    return source


SUM = define(
    "sum",
    lambda x, axis, keepdims: np.sum(x, axis=axis, keepdims=keepdims),
    _sum_rule,
    "reduction",
    vjp=lambda ct, y, x, axis, keepdims: (spread(ct, x, axis, keepdims),),
    linear=(0,),
    source=reduction_source("sum"),
    out=True,
    sample=(any_real,),
    numpy=np.sum,
)


def _masked(a: Any, where: Any, fill: Any) -> Any:
    return a if where is True else np.where(where, a, fill)


@method("sum")
@implements(np.sum)
def sum_(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    a = _masked(as_operand(a), where, 0)
    if dtype is not None:
        a = a.astype(dtype)
    y = apply(SUM, (a,), axes_param(a, axis, keepdims))
    return y if initial is None else y + initial


def _mean_rule(t: Type, axis: tuple[int, ...], keepdims: bool) -> Type:
    return Type(reduced_shape(t.shape, axis, keepdims), t.dtype if t.dtype.kind in "fc" else np.dtype(float))


def count(x: Any, axis: tuple[int, ...]) -> int:
    n = 1
    for k in axis:
        n *= x.shape[k]
    return n


MEAN = define(
    "mean",
    lambda x, axis, keepdims: np.mean(x, axis=axis, keepdims=keepdims),
    _mean_rule,
    "reduction",
    vjp=lambda ct, y, x, axis, keepdims: (spread(ct / count(x, axis), x, axis, keepdims),),
    linear=(0,),
    source=reduction_source("mean"),
    out=True,
    sample=(any_real,),
    numpy=np.mean,
)


@method("mean")
@implements(np.mean)
def mean_(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    a = as_operand(a)
    if dtype is not None:
        a = a.astype(dtype)
    if where is not True:
        where = np.broadcast_to(where, a.shape)
        return np.sum(a, axis, keepdims=keepdims, where=where) / np.sum(where, axis=axis, keepdims=keepdims)
    return apply(MEAN, (a,), axes_param(a, axis, keepdims))


def _same_rule(t: Type, axis: tuple[int, ...], keepdims: bool) -> Type:
    return Type(reduced_shape(t.shape, axis, keepdims), t.dtype)


def _extreme_vjp(ct: Any, y: Any, x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    """Ties share the gradient evenly, as TensorFlow has it."""
    hit = (x == spread(y, x, axis, keepdims)).astype(x.dtype)
    return (hit / np.sum(hit, axis=axis, keepdims=True) * spread(ct, x, axis, keepdims),)


MAX = define(
    "max",
    lambda x, axis, keepdims: np.max(x, axis=axis, keepdims=keepdims),
    _same_rule,
    "reduction",
    vjp=_extreme_vjp,
    source=reduction_source("max"),
    out=True,
    sample=(any_real,),
    numpy=np.max,
)


@method("max")
@implements(np.max, np.amax)
def max_(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True) -> Any:
    a = as_operand(a)
    if where is not True:
        if initial is None:
            raise ValueError("reduction operation 'maximum' does not have an identity, so to use a where mask one has to specify 'initial'")
        a = np.where(where, a, initial)
    y = apply(MAX, (a,), axes_param(a, axis, keepdims))
    return y if initial is None else np.maximum(y, initial)


__all__ = ["ndim_of"]
