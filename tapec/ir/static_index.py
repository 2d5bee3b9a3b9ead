"""`Slice` and `Slot` are the parts of a static index: slices, and the places of index arrays.

An index is a tuple of ints, `None`, `...`, `Slice` and `Slot(k)`; the arrays in it are inputs, found by their `Slot`.
"""

from __future__ import annotations

from tapec.fast_namedtuple import NamedTuple

__all__ = ["Slice", "Slot"]


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
