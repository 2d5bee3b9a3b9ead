"""Make tensors from values, and arrays to be written into."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ops.layout.creation import FULL
from tapec.trace.perform import perform
from tapec.trace.tensor import Tensor
from tapec.tracebacks import shorten
from tapec.values.variable import Variable

__all__ = ["constant", "convert_to_tensor", "empty", "full", "ones", "zeros"]


def constant(value: Any, dtype: Any = None) -> Tensor:
    """Return a tensor with this value, a copy of it.

    >>> import tapec
    >>> tapec.constant([1.0, 2.0])
    tapec.Tensor([1., 2.], shape=(2,), dtype=float64)
    """
    try:
        return Tensor(value, dtype)
    except BaseException as error:
        shorten(error)
        raise


def convert_to_tensor(value: Any, dtype: Any = None) -> Tensor:
    """Return a tensor with this value; a tensor stays itself, a Variable is read."""
    if isinstance(value, Variable):
        value = value.read_value()
    if type(value) is Tensor and (dtype is None or value.dtype == np.dtype(dtype)):
        return value
    return value.astype(dtype) if type(value) is Tensor else Tensor(value, dtype)


def zeros(shape: Any, dtype: Any = float) -> Tensor:
    """Return zeros that can be written into while something records: `y = tapec.zeros(3); y[0] = x * x`."""
    return _uniform(shape, 0, dtype)


def ones(shape: Any, dtype: Any = float) -> Tensor:
    """Return ones that can be written into while something records."""
    return _uniform(shape, 1, dtype)


def full(shape: Any, value: Any, dtype: Any = None) -> Tensor:
    """Return a tensor of one number, or tensor, everywhere; it can be written into while something records."""
    if isinstance(value, (Tensor, Variable)):
        filled: Any = np.copy(np.broadcast_to(convert_to_tensor(value), shape))
        return filled if dtype is None else filled.astype(dtype)
    return _uniform(shape, value, dtype or np.asarray(value).dtype)


def empty(shape: Any, dtype: Any = float) -> Tensor:
    """Return room to be written into while something records; zeros until then."""
    return zeros(shape, dtype)


def _uniform(shape: Any, value: Any, dtype: Any) -> Tensor:
    """Make a tensor of one number: in a traced function it is recorded, and is `np.zeros(n)` in the generated code."""
    dtype = np.dtype(dtype)
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    params = (("shape", tuple([int(n) for n in sizes])), ("value", dtype.type(value).item()), ("dtype", dtype))
    return perform(FULL, (), params)
