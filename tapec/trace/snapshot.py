"""What a plain array held when it was recorded. NumPy changes arrays in place without asking us.

buffer = np.zeros(3)
for i in range(3):
    buffer[:] = 0; buffer[i] = 1        # the same array object, another value
    s += np.sum(buffer * x) ** 2
"""

from __future__ import annotations

import numpy as np

from tapec.errors import InPlaceError, at_user_line

__all__ = ["WHOLE", "Snapshot"]

WHOLE = 1 << 16  # bytes: arrays up to this size are kept whole, of larger ones a sample
SAMPLES = 256


class Snapshot:
    """An array and the bytes it held when it was first recorded, and when it was last; `copy` has the latter."""

    __slots__ = ("array", "bytes", "copy", "last")

    def __init__(self, array: np.ndarray):
        self.array = array
        self.copy: np.ndarray | None = None
        self.bytes = self.last = array.tobytes() if array.nbytes <= WHOLE else _sample(array)

    def current(self) -> np.ndarray:
        """The array, or a copy of what it holds by now."""
        array = self.array
        content = array.tobytes() if array.nbytes <= WHOLE else _sample(array)
        if content != self.last:
            self._changed(content)
        return array if self.copy is None else self.copy

    def _changed(self, content: bytes) -> None:
        if self.array.nbytes > WHOLE:
            raise InPlaceError(
                at_user_line(
                    f"an array of shape {self.array.shape} was changed in place after it was recorded, and the "
                    f"gradient needs what it held before. Mend: compute with a copy, `x.copy()`"
                )
            )
        self.last = content
        self.copy = self.array.copy()

    def first(self) -> np.ndarray:
        """The value that was recorded first."""
        array = self.array
        return array if array.nbytes > WHOLE else np.ndarray(array.shape, array.dtype, self.bytes)


def _sample(array: np.ndarray) -> bytes:
    return array.flat[:: max(1, array.size // SAMPLES)].tobytes()
