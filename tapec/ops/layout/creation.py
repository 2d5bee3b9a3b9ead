"""Create arrays from a shape, a dtype and a number, without gradient, and ranges between two values."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tapec.ir import Type, broadcast_shapes
from tapec.ir.param_types import BOOL, DTYPE, NUMBER, SIZE, SIZES
from tapec.ir.types import NUMBERS, array_type, several
from tapec.ops.core.define import as_operand, define, dtype_of, ndim_of, shape_of, ufunc_dtypes
from tapec.ops.core.op_helpers import aligned_behind_batch, as_array, fitting, real_dtype, source_of_value
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import ArrayLike, apply, implements
from tapec.ops.core.value_checks import checked
from tapec.ops.elementwise.casting import dtype_source


def _full_rule(shape: tuple[int, ...], value: Any, dtype: np.dtype) -> Type:
    if isinstance(value, (complex, np.complexfloating)) and dtype.kind != "c":
        raise TypeError(f"{value} is no value of {dtype}")
    return array_type(shape, dtype)


def _full_source(args: tuple[str, ...], node: Any) -> str:
    shape, value, dtype = node.param("shape"), node.param("value"), node.param("dtype")
    written = shape[0] if len(shape) == 1 else shape
    tail = "" if dtype == np.dtype(float) else f", dtype={dtype_source(dtype)}"
    if not shape:
        return f"np.{dtype.name}({source_of_value(value)})"
    if value == 0 and "-" not in repr(value):
        return f"np.zeros({written}{tail})"
    if value == 1:
        return f"np.ones({written}{tail})"
    if not tail and not isinstance(value, float):
        tail = ", dtype=float"  # NumPy takes the dtype of the number
    return f"np.full({written}, {source_of_value(value)}{tail})"


FULL = define(
    "full",
    lambda shape, value, dtype: np.full(shape, value, dtype)[()],
    _full_rule,
    "creation",
    params={"shape": SIZES, "value": NUMBER, "dtype": DTYPE},
    source=_full_source,
    numpy=np.full,
    sample=lambda rng: [
        Case((), {"shape": (2, 3), "value": 1.5, "dtype": np.dtype(np.float32)}),
        Case((), {"shape": (), "value": 0.0, "dtype": np.dtype(float)}),
    ],
)


def _shape(a: Any, shape: Any) -> tuple[int, ...]:
    if shape is None:
        return shape_of(a)
    return several(shape)


def _uniform(a: Any, value: Any, dtype: Any, shape: Any, order: str) -> Any:
    """Return a stand-in's own kind of uniform array: a node in a graph, a plain tensor on a tape."""
    a = as_operand(a)
    params = (("shape", _shape(a, shape)), ("value", value), ("dtype", np.dtype(dtype or dtype_of(a))))
    if not isinstance(a, ArrayLike):
        return FULL.run(**dict(params))
    made = a._apply(FULL, (), params)
    return made._lie_as(a) if isinstance(made, ArrayLike) and order in "KkAa" and shape is None else made


@implements(np.zeros_like, np.empty_like)
def zeros_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **_: Any) -> Any:
    return _uniform(a, 0.0 if np.dtype(dtype or dtype_of(a)).kind in "fc" else 0, dtype, shape, order)


@implements(np.ones_like)
def ones_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **_: Any) -> Any:
    return _uniform(a, 1.0 if np.dtype(dtype or dtype_of(a)).kind in "fc" else 1, dtype, shape, order)


_NUMBERS = {"f": float, "c": complex}  # these Python numbers need no cast: the element is the same number, rounded


@implements(np.full_like)
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **_: Any
) -> Any:
    value = as_operand(fill_value)
    dtype = np.dtype(dtype or dtype_of(a))
    if type(value) is float and value == 0 and str(value)[0] == "-":
        # parameters are compared by ==, which takes -0.0 for 0.0
        return np.negative(_uniform(a, 0.0, dtype, shape, order))
    if type(value) in NUMBERS:
        if type(value) is not _NUMBERS.get(dtype.kind):
            value = np.full((), value, dtype).item()
        return _uniform(a, value, dtype, shape, order)
    filled = np.broadcast_to(fitting(value, dtype), _shape(a, shape)).astype(dtype)
    if not isinstance(filled, ArrayLike):
        return as_operand(a)._constant(filled)
    return filled._lie_as(a) if order in "KkAa" and shape is None and isinstance(a, ArrayLike) else filled


# -- ranges -------------------------------------------------------------------------------------------------------
def _linspace_rule(start: Type, stop: Type, num: int, endpoint: bool) -> Type:
    # as in a quotient, integers become floats, and Python numbers stay weak
    [dtype] = ufunc_dtypes(np.divide, (start, stop))
    return Type((num, *broadcast_shapes(start.shape, stop.shape)), dtype)


def _linspace_vjp(ct: Any, y: Any, start: Any, stop: Any, num: int, endpoint: bool) -> Any:
    """Return the shares of both ends in the cotangent: 1 - t and t, where t runs from 0 to 1."""
    dtype = real_dtype(ct.dtype)
    ends = (0.0, 1.0) if dtype is np.dtype(float) else (dtype.type(0), dtype.type(1))
    t = ct._apply(LINSPACE, ends, (("num", num), ("endpoint", endpoint)))
    t = np.reshape(t, (num,) + (1,) * (ct.ndim - 1))
    return np.sum(ct * (1 - t), axis=0), np.sum(ct * t, axis=0)


def _linspace_source(args: tuple[str, ...], node: Any) -> str:
    ends = "" if node.param("endpoint") else ", endpoint=False"
    return f"np.linspace({args[0]}, {args[1]}, {node.param('num')}{ends})"


LINSPACE = define(
    "linspace",
    lambda start, stop, num, endpoint: np.linspace(start, stop, num, endpoint),
    _linspace_rule,
    "creation",
    params={"num": SIZE, "endpoint": BOOL},
    vjp=_linspace_vjp,
    linear=(0, 1),
    batch=lambda batched, *ends, **params: np.moveaxis(
        np.linspace(*aligned_behind_batch(batched, ends, (0, 0)), **params), 1, 0
    ),
    source=_linspace_source,
    sample=lambda rng: [
        Case((rng.standard_normal(), rng.standard_normal()), {"num": 5, "endpoint": True}),
        Case((rng.standard_normal((2, 1)), rng.standard_normal(3)), {"num": 4, "endpoint": False}),
    ],
    numpy=np.linspace,
)


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    start, stop, num = as_operand(start), as_operand(stop), operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    y = apply(LINSPACE, (start, stop), (("num", num), ("endpoint", bool(endpoint))))
    if axis != 0:
        y = np.moveaxis(y, 0, axis)
    if dtype is not None:
        y = (np.floor(y) if np.dtype(dtype).kind in "iu" else y).astype(dtype)
    gaps = num - 1 if endpoint else num
    return (y, (stop - start * 1.0) / gaps if gaps > 0 else np.nan) if retstep else y


@implements(np.logspace)
def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    start, stop, base = as_operand(start), as_operand(stop), as_operand(base)
    if ndim_of(base):
        n = max([ndim_of(x) for x in (start, stop, base)])
        start, stop, base = [np.reshape(x, (1,) * (n - ndim_of(x)) + shape_of(x)) for x in (start, stop, base)]
        base = np.expand_dims(base, axis)
    y = np.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return y if dtype is None else y.astype(dtype)


@implements(np.geomspace)
def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """Return numbers with even steps of their logarithm, turned so that start is positive; the ends are as they are
    given.
    """
    start, stop = as_array(start), as_array(stop)
    start = checked(start, (start == 0) | (stop == 0), ValueError("Geometric sequence cannot include zero"))
    double = np.result_type(start.dtype, stop.dtype, float)  # double precision at least, as in NumPy
    start = start.astype(double)
    sign = np.sign(start)
    first, last = start / sign, stop / sign
    y = logspace(np.log10(first), np.log10(last), num, endpoint)
    if num > 0:
        y[0] = first
    if num > 1 and endpoint:
        y[-1] = last
    y = np.moveaxis(sign * y, 0, axis)
    return y if dtype is None else y.astype(dtype)


__all__ = ["FULL", "LINSPACE", "full_like", "geomspace", "linspace", "logspace", "ones_like", "zeros_like"]
