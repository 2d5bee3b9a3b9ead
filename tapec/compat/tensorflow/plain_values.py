"""Take plain values as TensorFlow does: the dtypes that it gives them, its shapes, and what it refuses."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.errors import TapecError, at_user_line, user_line

__all__ = ["InvalidArgumentError", "TensorShape", "converted", "default_dtype", "mixed", "refusing"]


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
        except (ValueError, IndexError) as error:
            text, line = str(error), user_line()
            raise InvalidArgumentError(text if not line or text.startswith(line) else f"{line}: {text}") from error

    return call


def mixed(first: np.dtype, second: np.dtype) -> InvalidArgumentError:
    """Return the error for operands of two dtypes."""
    return InvalidArgumentError(
        at_user_line(f"tensors of dtype {first} and {second} do not go together. Fix: tf.cast one of them")
    )


# -- shapes ----------------------------------------------------------------------------------------------------------
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
    if isinstance(value, (list, tuple)):
        array = np.asarray(value)
        plain_numbers = not any(isinstance(x, np.generic) for x in _items(value))
    else:
        array = np.asarray(value)
        plain_numbers = not isinstance(value, (np.ndarray, np.generic))
    if plain_numbers and array.dtype == np.float64:
        return np.float32
    if plain_numbers and array.dtype == np.int64:
        return np.int32
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
    array = np.asarray(value)
    if array.dtype.kind not in "fciub":
        raise InvalidArgumentError(at_user_line(f"a tensor holds numbers; this is of dtype {array.dtype}: {value!r}"))
    order = "biufc"
    if order.index(array.dtype.kind.replace("u", "i")) > order.index(dtype.kind.replace("u", "i")):
        raise InvalidArgumentError(
            at_user_line(f"Cannot convert {value!r} to a tensor of dtype {dtype}. Fix: tf.cast, or a wider dtype")
        )
    return array.astype(dtype)
