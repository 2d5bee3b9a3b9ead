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
    """Return a tensor with this value.

    Parameters
    ----------
    value : array, number, or nested list
        The value, which is copied.
    dtype : dtype, default None
        The dtype. None is that of the value.

    Returns
    -------
    Tensor
        The tensor.

    Raises
    ------
    TypeError
        If the value holds something that is no number.

    Examples
    --------
    >>> import tapec
    >>> tapec.constant([1.0, 2.0])
    tapec.Tensor([1., 2.], shape=(2,), dtype=float64)

    See Also
    --------
    tapec.convert_to_tensor : without a copy, where it is a tensor already
    tapec.Variable : a value that changes
    """
    try:
        return Tensor(value, dtype)
    except BaseException as error:
        shorten(error)
        raise


def convert_to_tensor(value: Any, dtype: Any = None) -> Tensor:
    """Return a tensor with this value; a tensor stays itself, a Variable is read.

    Parameters
    ----------
    value : array, number, nested list, Tensor or Variable
        The value.
    dtype : dtype, default None
        The dtype. None is that of the value.

    Returns
    -------
    Tensor
        The tensor.

    Raises
    ------
    TypeError
        If the value holds something that is no number.

    Examples
    --------
    >>> import tapec
    >>> x = tapec.constant([1.0, 2.0])
    >>> tapec.convert_to_tensor(x) is x
    True

    See Also
    --------
    tapec.constant : always a copy
    """
    if isinstance(value, Variable):
        value = value.read_value()
    if type(value) is Tensor and (dtype is None or value.dtype == np.dtype(dtype)):
        return value
    return value.astype(dtype) if type(value) is Tensor else Tensor(value, dtype)


def zeros(shape: Any, dtype: Any = float) -> Tensor:
    """Return a tensor of zeros that can be written into while something records.

    In functions that are traced, `np.zeros` does the same.

    Parameters
    ----------
    shape : int or tuple of int
        The shape.
    dtype : dtype, default float
        The dtype.

    Returns
    -------
    Tensor
        The tensor.

    Examples
    --------
    >>> import tapec
    >>> x = tapec.Variable(3.0)
    >>> with tapec.GradientTape() as tape:
    ...     y = tapec.zeros(3)
    ...     y[0] = x * x
    >>> tape.gradient(y, x)
    tapec.Tensor(6.0, shape=(), dtype=float64)

    See Also
    --------
    tapec.ones : ones
    tapec.full : any other number
    tapec.empty : where each element will be written
    """
    return _uniform(shape, 0, dtype)


def ones(shape: Any, dtype: Any = float) -> Tensor:
    """Return a tensor of ones that can be written into while something records.

    Parameters
    ----------
    shape : int or tuple of int
        The shape.
    dtype : dtype, default float
        The dtype.

    Returns
    -------
    Tensor
        The tensor.

    Examples
    --------
    >>> import tapec
    >>> tapec.ones(2)
    tapec.Tensor([1., 1.], shape=(2,), dtype=float64)

    See Also
    --------
    tapec.zeros : zeros
    tapec.full : any other number
    """
    return _uniform(shape, 1, dtype)


def full(shape: Any, value: Any, dtype: Any = None) -> Tensor:
    """Return a tensor that holds one number everywhere, and can be written into while something records.

    Parameters
    ----------
    shape : int or tuple of int
        The shape.
    value : number, Tensor or Variable
        The number. A tensor is broadcast to the shape, and stays recorded.
    dtype : dtype, default None
        The dtype. None is that of the value.

    Returns
    -------
    Tensor
        The tensor.

    Examples
    --------
    >>> import tapec
    >>> tapec.full(2, 0.5)
    tapec.Tensor([0.5, 0.5], shape=(2,), dtype=float64)

    See Also
    --------
    tapec.zeros : zeros
    tapec.ones : ones
    """
    if isinstance(value, (Tensor, Variable)):
        filled: Any = np.copy(np.broadcast_to(convert_to_tensor(value), shape))
        return filled if dtype is None else filled.astype(dtype)
    return _uniform(shape, value, dtype or np.asarray(value).dtype)


def empty(shape: Any, dtype: Any = float) -> Tensor:
    """Return a tensor to be written into while something records; it holds zeros until then.

    Parameters
    ----------
    shape : int or tuple of int
        The shape.
    dtype : dtype, default float
        The dtype.

    Returns
    -------
    Tensor
        The tensor.

    Examples
    --------
    >>> import tapec
    >>> y = tapec.empty(2)
    >>> y[:] = [1.0, 2.0]
    >>> y
    tapec.Tensor([1., 2.], shape=(2,), dtype=float64)

    See Also
    --------
    tapec.zeros : the same, said openly
    """
    return zeros(shape, dtype)


def _uniform(shape: Any, value: Any, dtype: Any) -> Tensor:
    """Make a tensor of one number: in a traced function it is recorded, and is `np.zeros(n)` in the generated code."""
    dtype = np.dtype(dtype)
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    params = (("shape", tuple([int(n) for n in sizes])), ("value", dtype.type(value).item()), ("dtype", dtype))
    return perform(FULL, (), params)
