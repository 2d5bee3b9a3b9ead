"""Creation: arrays made of nothing but a shape, a dtype and a number. They have no gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Type
from tapec.ops.array import ArrayLike, implements
from tapec.ops.define import as_operand, define, dtype_of, shape_of
from tapec.ops.samples import Case


def _full_source(args: tuple[str, ...], node: Any) -> str:
    from tapec.ops.layout import dtype_source

    shape, value, dtype = node.param("shape"), node.param("value"), node.param("dtype")
    written = shape[0] if len(shape) == 1 else shape
    tail = "" if dtype == np.dtype(float) else f", dtype={dtype_source(dtype)}"
    if not shape:
        return f"np.{dtype.name}({value!r})"
    if value == 0:
        return f"np.zeros({written}{tail})"
    if value == 1:
        return f"np.ones({written}{tail})"
    return f"np.full({written}, {value!r}{tail})"


FULL = define(
    "full",
    lambda shape, value, dtype: np.full(shape, value, dtype)[()],
    lambda shape, value, dtype: Type(shape, dtype),
    "creation",
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
    return tuple(int(n) for n in shape) if isinstance(shape, (tuple, list)) else (int(shape),)


def _uniform(a: Any, value: Any, dtype: Any, shape: Any) -> Any:
    """A stand-in's own kind of uniform array: a node in a graph, a plain tensor on a tape."""
    a = as_operand(a)
    params = (("shape", _shape(a, shape)), ("value", value), ("dtype", np.dtype(dtype or dtype_of(a))))
    return a._apply(FULL, (), params) if isinstance(a, ArrayLike) else FULL.run(**dict(params))


@implements(np.zeros_like, np.empty_like)
def zeros_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **_: Any) -> Any:
    return _uniform(a, 0.0 if np.dtype(dtype or dtype_of(a)).kind in "fc" else 0, dtype, shape)


@implements(np.ones_like)
def ones_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **_: Any) -> Any:
    return _uniform(a, 1.0 if np.dtype(dtype or dtype_of(a)).kind in "fc" else 1, dtype, shape)


@implements(np.full_like)
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **_: Any
) -> Any:
    value = as_operand(fill_value)
    dtype = np.dtype(dtype or dtype_of(a))
    if type(value) in (float, int, bool, complex):
        return _uniform(a, value, dtype, shape)
    return np.broadcast_to(value, _shape(a, shape)).astype(dtype)


__all__ = ["FULL", "full_like", "ones_like", "zeros_like"]
