"""Hold what stands below the methods of tensors: their fields, the classes that are made and tested for, and `wrap`.

The methods of `Tensor` make tensors and ask `type(x) is Tensor`, so the files that implement them cannot import the
class that they are the methods of. They import this file, which knows the fields (`TensorBase`) and, from the moment
when `trace/tensor.py` has put the class together, the class itself: `classes.Tensor`. All other files import `Tensor`
from `trace/tensor.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir.types import NUMBERS
from tapec.ops import ArrayLike
from tapec.ops.core.define import as_data
from tapec.trace.recording_stack import Mark

if TYPE_CHECKING:  # at run time `set_class` sets it, once, when `tapec.trace` is imported
    from tapec.trace.tensor import Tensor

__all__ = [
    "HOLDING",
    "NUMERIC",
    "PLAIN",
    "READABLE",
    "Tensor",
    "TensorBase",
    "around",
    "is_out_of_date",
    "plain_value",
    "raw_value",
    "readable",
    "set_class",
    "set_raw_value",
    "show",
    "unwrap",
    "wrap",
]

_new = object.__new__
_ndarray = np.ndarray
NUMERIC = frozenset("fciub")
PLAIN = frozenset(
    NUMBERS
    | {np.bool_, np.complex64, np.complex128}
    | {np.float64, np.float32, np.float16, np.longdouble}
    | {np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64}
)
READABLE: set[type] = set()  # of what has the value of a tensor when it is an operand: Variables
HOLDING: set[type] = {_ndarray}  # lists that begin with these hold operands


class TensorBase(ArrayLike):
    """Declares the fields of tensors. `Tensor` in `trace/tensor.py`, the class of all tensors, adds methods."""

    __slots__ = ("__weakref__", "_link", "_mark", "_value")

    _value: Any
    _mark: Mark | None  # the recordings that watch it
    _link: Any  # who shares its memory, or the trace in which it was made unwatched: see `inplace/shared_memory.py`


def set_class(tensor: type[Tensor]) -> None:
    """Let the files that implement the methods of `Tensor` know the class."""
    global Tensor
    Tensor = tensor  # type: ignore[misc]
    HOLDING.add(tensor)


def readable(kind: type) -> None:
    """Let the objects of a class be operands, as Variables are: `_tapec_read` gives the tensor that they stand for."""
    READABLE.add(kind)
    HOLDING.add(kind)


def raw_value(t: TensorBase) -> Any:
    """Return what was recorded last, also of a view that is out of date, without reading that anew."""
    return (t._link[3] if is_out_of_date(t) else t)._value


def set_raw_value(t: TensorBase, value: Any) -> None:
    """Let a tensor hold an equal value; a view that is out of date stays out of date."""
    (t._link[3] if is_out_of_date(t) else t)._value = value


def is_out_of_date(t: TensorBase) -> bool:
    """Return whether a tensor is a view whose base has changed since the view was read."""
    link = t._link
    return type(link) is tuple and len(link) == 4


def show(value: Any) -> str:
    return np.array2string(value, separator=", ") if isinstance(value, np.ndarray) and value.ndim else str(value)


def plain_value(value: Any, dtype: Any = None) -> Any:
    """Return what a user gives as a NumPy array or scalar of its own."""
    if isinstance(value, ArrayLike):
        value = value._tapec_read()._value
    elif isinstance(value, np.ndarray):
        as_data(value)
    array = np.array(value, dtype=dtype)
    if array.dtype.kind not in "fciub":
        message = f"a tensor holds numbers; this is an array of dtype {array.dtype}. Fix: `.astype(float)`"
        raise TypeError(at_user_line(message))
    return array if array.ndim else array[()]


def wrap(value: Any) -> Tensor:
    """Return a tensor around a value that is known to be an array or a NumPy scalar."""
    return around(value[()] if type(value) is _ndarray and not value.ndim else value)


def around(value: Any) -> Tensor:
    """Return a tensor around a value that is no array without axes, as operators and ufuncs give none."""
    out = _new(Tensor)
    out._value = value
    out._mark = None
    out._link = None
    return out


def unwrap(x: Any) -> Any:
    """Return the plain value of a tensor, and anything else as it is."""
    return x._value if isinstance(x, Tensor) else x
