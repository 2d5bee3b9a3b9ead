"""Find counters: integers in attributes and items that a traced function only adds to, as `self.calls += 1` does.

A run sees each reading and each writing of such an integer. Where a `+=` or `-=` in the source has done both, the value
went nowhere else, and generated code need not know it: a call adds to the present value what the run has added. Any
other reading may decide something, so that the function is recorded at each call, as it is where Python does not tell
who reads: of global variables and those of enclosing functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from tapec.fast_namedtuple import NamedTuple
from tapec.ir.source_location import augmented, positions_of
from tapec.trace.capture.captured_paths import CapturedPath

__all__ = ["Counters", "Increment", "adder", "undo", "without_counting"]


class Increment(NamedTuple):
    """Says that a call adds `by` to the integer at `path`."""

    path: CapturedPath
    by: int


class Counter:
    """Follows one integer of captured state.

    `read` is the value that a `+=` has taken and not yet written, with its place in the source; `added` is the sum of
    what was added; `used` tells that anything else was done with the integer.
    """

    __slots__ = ("added", "read", "source", "used")

    def __init__(self, source: str):
        self.source = source
        self.read: tuple[int, Any] | None = None
        self.added = 0
        self.used = False


class Counters:
    """Holds the integers that one run has read, by the object that holds each and its name or key there."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Any], Counter] = {}
        self._exposed: set[int] = set()
        self.counted: set[tuple[int, Any]] = set()  # those of the increments, by the object that holds each

    def reads(self, owner: Any, key: Any, path: CapturedPath, value: int, frame: FrameType) -> None:
        """Note that the code of a frame reads an integer that an object holds."""
        counter = self._known.get((id(owner), key))
        if counter is None:
            counter = self._known[id(owner), key] = Counter(path.source)
        origin = frame.f_code, frame.f_lasti
        counter.used = counter.used or counter.read is not None or augmented(origin) not in ("+=", "-=")
        counter.read = value, positions_of(origin)

    def writes(self, owner: Any, key: Any, value: Any, frame: FrameType) -> None:
        """Note that the function writes a value in the place of a captured integer."""
        counter = self._known.get((id(owner), key))
        if counter is None:
            return
        if (
            counter.read is None
            or type(value) is not int
            or counter.read[1] != positions_of((frame.f_code, frame.f_lasti))
        ):
            counter.used = True
        else:
            counter.added += value - counter.read[0]
        counter.read = None

    def exposes(self, owner: Any) -> None:
        """Note that the function takes all values that an object holds, or removes one."""
        self._exposed.add(id(owner))

    def increment(self, path: CapturedPath, before: Any) -> Increment | None:
        """Return what was added to the integer at this path; None if anything else was done with it."""
        if type(before) is not int:
            return None
        for (owner, key), counter in self._known.items():
            if counter.source == path.source:
                only_added = not counter.used and counter.read is None and owner not in self._exposed
                by = counter.added
                if not only_added or path.get() != before + by:
                    return None
                self.counted.add((owner, key))
                return Increment(path, by)
        return None


def adder(increments: Iterable[Increment]) -> Callable[[], None]:
    """Return a function that adds what calls add to counters."""
    space: dict[str, Any] = {}
    lines = ["def add():", "    pass"]
    for path, by in increments:
        space.update(path.names)
        lines.append(f"    {path.source} += {by}")
    exec("\n".join(lines), space)
    return space["add"]


def undo(increments: Iterable[Increment]) -> None:
    """Take back what a run has added, before the function runs once more for the same call."""
    adder([Increment(path, -by) for path, by in increments])()


@contextmanager
def without_counting(increments: Iterable[Increment]) -> Iterator[None]:
    """Let another run of the function for the same call count nothing."""
    values = [(path, path.get()) for path, _ in increments]
    try:
        yield
    finally:
        for path, value in values:
            exec(f"{path.source} = _value", {**path.names, "_value": value})
