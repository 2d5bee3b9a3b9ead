"""Take plain values as TensorFlow does: the dtypes that it gives them, its shapes, and what it refuses."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.errors import TapecError, UnsupportedError, at_user_line, user_line

__all__ = [
    "InvalidArgumentError",
    "TensorShape",
    "axes",
    "check_scalar",
    "converted",
    "default_dtype",
    "invalid",
    "mixed",
    "refuse_options",
    "refusing",
    "sizes",
    "within",
]


# -- what it refuses -------------------------------------------------------------------------------------------------
class InvalidArgumentError(TapecError, TypeError, ValueError):
    """Raised for operands that TensorFlow does not take together, shapes that do not fit, places that are not there."""


def refusing(method: Callable[..., Any]) -> Callable[..., Any]:
    """Turn NumPy's errors into TensorFlow's, with the user's line; tapec's own stay what they are."""

    @functools.wraps(method)
    def call(*args: Any) -> Any:
        try:
            return method(*args)
        except TapecError:
            raise
        except (ValueError, IndexError, OverflowError) as error:
            text, line = str(error), user_line()
            raise InvalidArgumentError(text if not line or text.startswith(line) else f"{line}: {text}") from error

    return call


def mixed(first: np.dtype, second: np.dtype) -> InvalidArgumentError:
    """Return the error for operands of two dtypes."""
    return InvalidArgumentError(
        at_user_line(f"tensors of dtype {first} and {second} do not go together. Fix: tf.cast one of them")
    )


def invalid(text: str) -> InvalidArgumentError:
    """Return the error that says this, with the user's line."""
    return InvalidArgumentError(at_user_line(text))


def refuse_options(function: str, fix: str, **options: Any) -> None:
    """Refuse what a function of TensorFlow can do and ours cannot: each option that is given, and not None."""
    for name, value in options.items():
        if value is not None:
            raise UnsupportedError(at_user_line(f"{function} takes no {name} here. Fix: {fix}"))


# -- shapes ----------------------------------------------------------------------------------------------------------
def sizes(shape: Any) -> tuple[int, ...]:
    """Return whole numbers that a list, an array or a tensor holds, or a number alone."""
    if type(shape) in (list, tuple) and {int}.issuperset(map(type, shape)):
        return tuple(shape)
    found = np.ravel(np.asarray(shape))
    if found.dtype.kind not in "iu" and found.size:
        raise invalid(f"{shape!r} where whole numbers are asked for")
    return tuple([int(n) for n in found])


def axes(axis: Any) -> Any:
    """Return None, a whole number, or a tuple of them, for axes given as numbers, lists, arrays or tensors."""
    if axis is None or type(axis) is int:
        return axis
    found = np.asarray(axis)
    return sizes(found) if found.ndim else sizes(found)[0]


def within(axis: Any, rank: int) -> int:
    """Return an axis counted from the front."""
    found = axes(axis)
    if not isinstance(found, int) or not -rank <= found < rank:
        raise invalid(f"there is no axis {axis!r} of {rank}")
    return found % rank


class TensorShape(tuple):
    """The shape of a tensor: a tuple that says what TensorFlow's says."""

    __slots__ = ()

    def as_list(self) -> list[int]:
        return list(self)

    @property
    def rank(self) -> int:
        return len(self)

    ndims = rank

    def num_elements(self) -> int:
        return math.prod(self)

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, tuple(other)) if isinstance(other, (tuple, list)) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__
    __str__ = tuple.__repr__

    def __repr__(self) -> str:
        return f"TensorShape({list(self)})"

    def __getitem__(self, key: Any) -> Any:
        part = tuple.__getitem__(self, key)
        return TensorShape(part) if isinstance(key, slice) else part

    def __add__(self, other: Any) -> TensorShape:
        return TensorShape((*self, *other))

    def __radd__(self, other: Any) -> TensorShape:
        return TensorShape((*other, *self))


# -- dtypes ----------------------------------------------------------------------------------------------------------
def default_dtype(value: Any) -> Any:
    """The dtype that TensorFlow gives a value."""
    if type(value) is float:
        return np.float32
    if isinstance(value, (list, tuple)):
        array = np.asarray(value)
        plain_numbers = not any(isinstance(x, np.generic) for x in _items(value))
    else:
        array = np.asarray(value)
        plain_numbers = not isinstance(value, (np.ndarray, np.generic))
    if not plain_numbers:
        return array.dtype
    if array.dtype in (np.float64, object) and isinstance(value, (list, tuple)):
        return np.int64 if all(isinstance(x, int) for x in _items(value)) and array.size else np.float32
    if array.dtype == np.float64:
        return np.float32
    if array.dtype.kind in "iu" or array.dtype == object:
        return np.int32 if _holds(np.int32, array) else np.int64
    return array.dtype


def _items(value: Any) -> Any:
    for x in value:
        if isinstance(x, (list, tuple)):
            yield from _items(x)
        elif isinstance(x, np.ndarray):
            yield from x.ravel()[:1]
        else:
            yield x


def converted(value: Any, dtype: np.dtype) -> Any:
    """A value as an array of a dtype, if nothing but precision is lost."""
    if type(value) in _NUMBERS and dtype.kind in _NUMBERS[type(value)] and _lies_within(value, dtype):
        return np.array(value, dtype)
    array = np.asarray(value)
    if array.dtype == object and array is not value and all(isinstance(x, (int, float)) for x in array.flat):
        array = _of_long_numbers(value, array, dtype)
    if array.dtype.kind not in "fciub":
        raise invalid(f"a tensor holds numbers; this is of dtype {array.dtype}: {value!r}")
    order = "biufc"
    if order.index(array.dtype.kind.replace("u", "i")) > order.index(dtype.kind.replace("u", "i")):
        raise invalid(f"Cannot convert {value!r} to a tensor of dtype {dtype}. Fix: tf.cast, or a wider dtype")
    if np.can_cast(array.dtype, dtype):
        return array.astype(dtype)
    if dtype.kind in "iu" and not _holds(dtype, array):
        raise _too_large(value, dtype)
    with np.errstate(over="ignore"):
        found = array.astype(dtype)
    if dtype.kind in "fc" and np.isinf(found).any() and np.any(np.isinf(found) & np.isfinite(array)):
        raise _too_large(value, dtype)
    return found


_NUMBERS = {float: "fc", int: "iufc"}  # plain numbers -> the kinds of dtypes that take them


@functools.cache
def _bounds(dtype: Any) -> tuple[Any, Any]:
    """Return the smallest and the largest number of a dtype."""
    if np.dtype(dtype).kind in "iu":
        return np.iinfo(dtype).min, np.iinfo(dtype).max
    return float(np.finfo(dtype).min), float(np.finfo(dtype).max)


def _lies_within(x: Any, dtype: Any) -> bool:
    low, high = _bounds(dtype)
    return low <= x <= high


def _holds(dtype: Any, array: np.ndarray) -> bool:
    """Return whether all numbers of an array of integers are of a dtype of integers."""
    if array.dtype == object:
        return False
    return not array.size or (_lies_within(int(array.min()), dtype) and _lies_within(int(array.max()), dtype))


def _of_long_numbers(value: Any, array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return an array of numbers of which some are of no integer dtype of NumPy."""
    if dtype.kind not in "fc":
        raise _too_large(value, dtype)
    try:
        return array.astype(np.float64)
    except OverflowError:
        raise _too_large(value, dtype) from None


def _too_large(value: Any, dtype: np.dtype) -> InvalidArgumentError:
    return invalid(f"Cannot convert {value!r} to a tensor of dtype {dtype}: it does not fit. Fix: a wider dtype")


def check_scalar(x: Any, dtype: np.dtype) -> None:
    """Refuse a number that does not fit a dtype: what no integers hold, or what is finite and would be infinite."""
    if type(x) in _NUMBERS and dtype.kind in _NUMBERS[type(x)] and not _lies_within(x, dtype):
        converted(x, dtype)
