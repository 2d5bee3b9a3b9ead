"""`Slice` and `Slot` are the parts of a static index: slices, and the places of index arrays.

An index is a tuple of ints, `None`, `...`, `Slice` and `Slot(k)`; the arrays in it are inputs, found by their `Slot`.
"""

from __future__ import annotations

from tapec.fast_namedtuple import NamedTuple

__all__ = ["Slice", "Slot", "slice_of_rows"]


class Slice(NamedTuple):
    """A hashable slice."""

    start: int | None
    stop: int | None
    step: int | None

    def __repr__(self) -> str:
        text = f"{'' if self.start is None else self.start}:{'' if self.stop is None else self.stop}"
        return text if self.step is None else f"{text}:{self.step}"


class Slot(NamedTuple):
    """Names the place of the k-th index array among the inputs after the first."""

    k: int

    def __repr__(self) -> str:
        return f"${self.k}"


def slice_of_rows(first: int, distance: int, count: int, size: int) -> Slice | None:
    """Return the slice of so many rows from one on; None for all rows in order."""
    last = first + (count - 1) * distance
    if (first, distance, count) == (0, 1, size):
        return None
    stop: int | None = last + (1 if distance > 0 else -1)
    start: int | None = first
    if stop is not None and (stop < 0 or (distance > 0 and last + 1 == size)):
        stop = None
    if first == (0 if distance > 0 else size - 1):
        start = None
    return Slice(start, stop, None if distance == 1 else distance)
