"""What a plain array held when it was recorded. NumPy changes arrays in place without asking us.

buffer = np.zeros(3)
for i in range(3):
    buffer[:] = 0; buffer[i] = 1        # the same array object, another value
    s += np.sum(buffer * x) ** 2
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import InPlaceError, at_user_line

__all__ = ["WHOLE", "Snapshot"]

WHOLE = 1 << 16  # bytes: arrays up to this size are kept whole, of larger ones a sample
SAMPLES = 256


class Snapshot:
    """An array and the bytes it held when it was first recorded, and when it was last."""

    __slots__ = ("array", "bytes", "last", "stand_in")

    def __init__(self, array: np.ndarray):
        self.array = array
        self.bytes = self.last = _content(array)
        self.stand_in: np.ndarray | None = None

    def current(self) -> np.ndarray:
        """The array, or a copy of what it holds by now."""
        content = _content(self.array)
        if content != self.last:
            if self.array.nbytes > WHOLE:
                raise InPlaceError(
                    at_user_line(
                        f"an array of shape {self.array.shape} was changed in place after it was recorded, and the "
                        f"gradient needs what it held before. Mend: compute with a copy, `x.copy()`"
                    )
                )
            self.last = content
            self.stand_in = self.array.copy()
        return self.array if self.stand_in is None else self.stand_in

    def first(self) -> Any:
        """The value that was recorded first."""
        array = self.array
        if array.nbytes > WHOLE:
            return array
        return np.frombuffer(self.bytes, array.dtype).reshape(array.shape)


def _content(array: np.ndarray) -> bytes:
    if array.nbytes <= WHOLE:
        return array.tobytes()
    return array.flat[:: max(1, array.size // SAMPLES)].tobytes()
