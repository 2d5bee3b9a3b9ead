"""Copy arrays, and make arrays like another one (`like=`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Type
from tapec.ops.core.define import as_operand, define, shape_of
from tapec.ops.core.op_helpers import as_array, fitting, weak
from tapec.ops.core.sample_domains import any_real
from tapec.ops.core.stand_in import ArrayLike, apply, implements, like, method
from tapec.ops.core.symbol import Symbol
from tapec.ops.layout.creation import FULL
from tapec.ops.layout.reshape_and_transpose import laid_out, memory_order

__all__ = ["COPY", "copy"]

COPY = define(
    "copy",
    lambda x: np.array(x)[()] if np.ndim(x) == 0 else np.array(x),
    lambda t: Type(t.shape, t.dtype),
    "layout",
    vjp=lambda ct, y, x: (ct,),
    linear=(0,),
    batch=lambda batched, x: x,
    source="np.copy({0})",
    sample=(any_real,),
    numpy=np.copy,
)


@implements(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """Return a tensor of its own, to be changed in place. A symbol never changes, and is returned itself."""
    a = as_operand(a)
    if type(a) is Symbol:
        return a
    found = apply(COPY, (a,))
    return found if len(shape_of(found)) < 2 else laid_out(found, order)


@method("copy")
def _copy(self: Any, order: str = "C") -> Any:
    return copy(self, order)


@method("flatten")
def flatten(self: Any, order: str = "C") -> Any:
    """Return a copy always, while `ravel` copies only if it must."""
    return copy(self).ravel(order if order in ("K", "k") else memory_order(self, order))


# -- like= ------------------------------------------------------------------------------------------------------------
def _uniform(stand_in: Any, shape: Any, value: Any, dtype: Any) -> Any:
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    dtype = np.dtype(float if dtype is None else dtype)
    value = value if dtype.kind in "fc" else bool(value) if dtype.kind == "b" else int(value)
    return stand_in._apply(FULL, (), (("shape", tuple([int(n) for n in sizes])), ("value", value), ("dtype", dtype)))


@like(np.zeros, np.empty)
def zeros(stand_in: Any, shape: Any, dtype: Any = None, order: str = "C", **_: Any) -> Any:
    return _uniform(stand_in, shape, 0.0, dtype)


@like(np.ones)
def ones(stand_in: Any, shape: Any, dtype: Any = None, order: str = "C", **_: Any) -> Any:
    return _uniform(stand_in, shape, 1.0, dtype)


@like(np.full)
def full(stand_in: Any, shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", **_: Any) -> Any:
    value = as_operand(fill_value if dtype is None else fitting(fill_value, np.dtype(dtype)))
    if type(value) in (float, int, bool):
        return _uniform(stand_in, shape, value, dtype or type(value))
    spread = copy(np.broadcast_to(value, shape))
    return spread if dtype is None or not hasattr(spread, "astype") else spread.astype(dtype)


@like(np.array)
def array(
    stand_in: Any,
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
) -> Any:
    """Return lists with tensors in them as one tensor; anything else as a constant."""
    if copy is False and isinstance(object, (list, tuple)):
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    value = as_array(object if dtype is None else _fitting(object, np.dtype(dtype)))
    if (value is object and copy and hasattr(value, "copy")) or weak(value):  # no array is weak
        value = value.copy("K")
    if dtype is not None:
        value = value.astype(dtype, copy=False) if hasattr(value, "astype") else np.asarray(value, dtype)
    if not isinstance(value, ArrayLike):
        value = stand_in._constant(np.asarray(value))
    if isinstance(object, (list, tuple)):
        value = value._lie_in("C")
    missing = ndmin - value.ndim
    return laid_out(value if missing <= 0 else np.reshape(value, (1,) * missing + value.shape), order)


def _fitting(x: Any, dtype: np.dtype) -> Any:
    """Return nested lists of which the numbers of Python's fit into a dtype."""
    return type(x)([_fitting(part, dtype) for part in x]) if type(x) in (list, tuple) else fitting(x, dtype)


@like(np.asarray, np.asanyarray, gives_views=True)
def asarray(stand_in: Any, a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, **_: Any) -> Any:
    return array(stand_in, a, dtype, copy=copy, order=order)


@like(np.ascontiguousarray, gives_views=True)
def ascontiguousarray(stand_in: Any, a: Any, dtype: Any = None, **_: Any) -> Any:
    return array(stand_in, a, dtype, copy=None, order="C", ndmin=1)


@like(np.asfortranarray, gives_views=True)
def asfortranarray(stand_in: Any, a: Any, dtype: Any = None, **_: Any) -> Any:
    return array(stand_in, a, dtype, copy=None, order="F", ndmin=1)


def _plainly(function: Any) -> Any:
    return lambda stand_in, *args, **kwargs: stand_in._constant(function(*args, **kwargs))


for _function in (np.eye, np.identity, np.arange, np.tri, np.fromfunction, np.fromiter, np.fromstring, np.frombuffer):
    like(_function)(_plainly(_function))
