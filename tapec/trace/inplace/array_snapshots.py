"""Remember the contents of plain arrays when they are recorded; NumPy changes them without telling.

buffer = np.zeros(3)
for i in range(3):
    buffer[:] = 0; buffer[i] = 1        # the same array object, another value
    s += np.sum(buffer * x) ** 2

A change that is missed is a wrong gradient. So contents are copied whole when an array is first read, and compared
whole when it is read again. A recording has one copy of each array, and one more for each change.
"""

from __future__ import annotations

import numpy as np

from tapec.trace import tuning

__all__ = ["Contents", "Snapshot", "as_array", "contents", "is_unchanged"]

# what an array held: its bytes in C order, or a copy of it if it is large
Contents = bytes | np.ndarray

# an array, what it held when it was first recorded and when it was last, and what has the latter: itself, or a copy if
# those are not the same
Snapshot = tuple[np.ndarray, Contents, Contents, np.ndarray]


def contents(array: np.ndarray) -> Contents:
    """Copy what an array holds."""
    return array.tobytes() if array.nbytes <= tuning.BYTES_MAX_BYTES else array.copy(order="K")


def is_unchanged(array: np.ndarray, before: Contents) -> bool:
    """Return whether an array holds, bit for bit, what it held."""
    if isinstance(before, bytes):
        return array.tobytes() == before
    return all([np.array_equal(a, b) for a, b in zip(_bits(array), _bits(before))])


def _bits(array: np.ndarray) -> list[np.ndarray]:
    """Return an array, or its real and imaginary part, as integers: they tell nan and signs of zeros apart."""
    parts = [array.real, array.imag] if array.dtype.kind == "c" else [array]
    size = parts[0].itemsize
    return [part.view(f"u{size}") for part in parts] if size <= 8 else [np.frombuffer(array.tobytes(), np.uint8)]


def as_array(array: np.ndarray, before: Contents) -> np.ndarray:
    """Return what an array held, as an array."""
    return np.ndarray(array.shape, array.dtype, before) if isinstance(before, bytes) else before
