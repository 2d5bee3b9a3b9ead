"""Remember the contents of plain arrays when they are recorded; NumPy changes them without telling.

buffer = np.zeros(3)
for i in range(3):
    buffer[:] = 0; buffer[i] = 1        # the same array object, another value
    s += np.sum(buffer * x) ** 2
"""

from __future__ import annotations

from math import gcd

import numpy as np

from tapec.errors import InPlaceError, at_user_line
from tapec.trace import tuning

__all__ = ["Snapshot", "again", "first", "held", "lost"]


# an array, the bytes that it held when it was first recorded and when it was last, what has the latter - itself, or a
# copy if those are not the same - and whether they are all of it
Snapshot = tuple[np.ndarray, bytes, bytes, np.ndarray, bool]


def held(array: np.ndarray) -> bytes:
    """Return the contents of an array: all of it, or a sample."""
    if array.nbytes <= tuning.SNAPSHOT_MAX_BYTES:
        return array.tobytes()
    step = max(1, array.size // tuning.SNAPSHOT_SAMPLES)
    while gcd(step, 2 * 3 * 5 * 7 * 11 * 13) > 1:  # what repeats, as `np.arange(n) % 3`, is not met at the same number
        step += 1
    return array.flat[::step].tobytes()


def again(known: Snapshot, now: bytes) -> Snapshot:
    """Return the snapshot of an array that is recorded again and holds something else by now."""
    array = known[0]
    if array.nbytes > tuning.SNAPSHOT_MAX_BYTES:
        raise lost(array)
    return array, known[1], now, array.copy(), True


def lost(array: np.ndarray) -> InPlaceError:
    return InPlaceError(
        at_user_line(
            f"an array of shape {array.shape} was changed in place after it was recorded, and the gradient needs "
            f"what it held before. Fix: compute with a copy, `x.copy()`"
        )
    )


def first(known: Snapshot) -> np.ndarray:
    """The value that was recorded first."""
    array = known[0]
    return array if array.nbytes > tuning.SNAPSHOT_MAX_BYTES else np.ndarray(array.shape, array.dtype, known[1])
