"""Write parts of an array into the array itself, as NumPy does where the two overlap.

NumPy assigns along one axis without a copy, so that `v[::2] = v[:3]` takes for `v[4]` what `v[2]` holds by then. Which
element ends where, NumPy tells itself: it assigns numbers of elements that lie in memory as the elements do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.errors import InPlaceError, at_user_line
from tapec.ops.elementwise.complex_parts import IMAG, REAL
from tapec.trace import classes
from tapec.trace.classes import TensorBase, unwrap
from tapec.trace.inplace.shared_memory import base_of

__all__ = ["elements_read", "may_overlap"]


def may_overlap(t: TensorBase, v: Any) -> bool:
    """Return whether a value that goes into a tensor may share memory with it, and be read while that is written."""
    return type(v) is classes.Tensor and type(v._value) is np.ndarray and v._value.size > 1 and base_of(v) is base_of(t)


def elements_read(t: TensorBase, v: TensorBase, store: Callable[[np.ndarray, np.ndarray], Any], index: Any) -> Any:
    """Return what the tensor holds after `store(t, v)`, as numbers of elements of its base; None where that is the
    same as if `v` had been copied first.

    `index` is what is written, if that is slices and ints, and None for other ways to write. NumPy copies overlapping
    memory of several axes, and goes the right way along one axis where both have the same step.
    """
    base = base_of(t)
    numbers = np.empty_like(base._value, np.intp)
    target, part = _part(numbers, t), _part(numbers, v)
    if index is not None:
        place = np.asarray(target[index])
        if place.ndim != 1 or place.strides == part.strides[-1:]:
            return None
    numbers[...] = np.arange(numbers.size).reshape(numbers.shape)
    target.flags.writeable = True  # as the diagonal that NumPy's einsum gives
    if not np.may_share_memory(target, part):
        return None
    apart, copied = target.copy("K"), part.copy()
    store(target, part)
    store(apart, copied)
    if np.array_equal(target, apart):
        return None
    if any([op in (REAL, IMAG) for x in (t, v) if x is not base for op, _, _ in x._link[1]]):
        message = "the real and imaginary parts of an array are written while they are read. Fix: copy what is read"
        raise InPlaceError(at_user_line(message))
    return target


def _part(numbers: np.ndarray, t: TensorBase) -> np.ndarray:
    """Return the part of the base's numbers that a view looks at."""
    for op, params, more in t._link[1] if type(t._link) is tuple else ():
        numbers = op.run(numbers, *map(unwrap, more), **dict(params))
    return numbers
