"""Keep the code of one recorded structure, with the Python numbers that are written into it.

They are literals until one is seen to change, and from then on that one is an input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Variants"]


class Variants:
    """Holds all code of one structure, by what is asked for and by the Python numbers that are written into it.

    `moving` are the slots of the numbers that are not written into it, because they were seen to change.
    """

    __slots__ = ("first", "made", "moving")

    def __init__(self, scalars: list[tuple[int, Any]]):
        self.made: dict[Any, Any] = {}
        self.first = list(scalars)
        self.moving: frozenset[int] = frozenset()

    def literals(self, log: Any) -> tuple[tuple[int, Any], ...]:
        """Return the slots and numbers of this recording that are written into its code."""
        moving = self.moving
        return tuple([p for p in log.scalars if p[0] not in moving] if moving else log.scalars)

    def find(self, log: Any, make: Callable[[], Any], what: Any = None) -> Any:
        """Return the code for this recording; numbers that have changed are moving when it is made."""
        found = self.made.get((what, self.literals(log)))
        if found is None:
            moved = {slot for (slot, now), (_, first) in zip(log.scalars, self.first) if now != first}
            if not moved <= self.moving:
                self.moving |= moved
                self.made.clear()  # it has numbers written in it that are inputs from now on
            found = self.made[what, self.literals(log)] = make()
        return found

    @property
    def last(self) -> Any:
        return next(reversed(self.made.values()))
