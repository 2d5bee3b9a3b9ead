"""Keep the call stubs of a compiled function: the newest first, older ones behind it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from tapec.api import tuning

__all__ = ["MISS", "Out", "StubTable"]


class _Miss:
    """Stands for the result of code that is not for this call, and for an argument that is not given."""

    def __repr__(self) -> str:
        return "MISS"


MISS: Any = _Miss()


class Out:
    """Stands, in the template of a result, for the k-th output of the generated function."""

    __slots__ = ("k",)

    def __init__(self, k: int):
        self.k = k


class StubTable:
    """Holds the call stubs of one function, the newest first.

    Each stub hands calls that are not its own to the next one; the last hands them to the slow path.
    """

    def __init__(self, slow: Callable[..., Any]):
        self._slow = slow
        self._known: list[tuple[Any, Callable[..., Any]]] = []
        self._dropped_hits = 0  # calls taken by stubs that were dropped since

    @property
    def first(self) -> Callable[..., Any]:
        """The function that a call goes to first."""
        return self._known[0][1] if self._known else self._slow

    @property
    def hits(self) -> int:
        """The number of calls that stubs took."""
        return self._dropped_hits + sum([_hits(stub) for _, stub in self._known])

    def add(self, program: Any, stub: Callable[..., Any], before: Collection[Any]) -> None:
        """Add a stub for a program, in place of the stubs of the programs that it replaces."""
        kept = [(p, r) for p, r in self._known if p not in before][: tuning.STUBS_MAX - 1]
        staying = [r for _, r in kept]
        self._dropped_hits += sum([_hits(r) for _, r in self._known if r not in staying])
        self._known = [(program, stub), *kept]
        # A stub finds its successor among its own globals: that costs a call nothing, where a loop over stubs would.
        for (_, r), then in zip(self._known, [*staying, self._slow]):
            r.__globals__["_otherwise"] = then

    def clear(self) -> None:
        self._known = []
        self._dropped_hits = 0


def _hits(stub: Callable[..., Any]) -> int:
    """Return the number of calls that a stub took; the stub counts them in its one cell."""
    return stub.__closure__[0].cell_contents  # type: ignore[index]
