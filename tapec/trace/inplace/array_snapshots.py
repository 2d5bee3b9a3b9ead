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

__all__ = ["Snapshot", "is_unchanged"]

# an array, and copies of it from when it was first recorded, and from when it was last seen to have changed
Snapshot = tuple[np.ndarray, np.ndarray, np.ndarray]


def is_unchanged(array: np.ndarray, before: np.ndarray) -> bool:
    """Return whether an array holds, bit for bit, what this copy of it holds."""
    if array.nbytes <= tuning.BYTES_MAX_BYTES:
        return array.shape == before.shape and array.tobytes() == before.tobytes()
    return all([np.array_equal(a, b) for a, b in zip(_bits(array), _bits(before))])


def _bits(array: np.ndarray) -> list[np.ndarray]:
    """Return an array, or its real and imaginary part, as integers: they tell nan and signs of zeros apart."""
    parts = [array.real, array.imag] if array.dtype.kind == "c" else [array]
    size = parts[0].itemsize
    return [part.view(f"u{size}") for part in parts] if size <= 8 else [np.frombuffer(array.tobytes(), np.uint8)]
