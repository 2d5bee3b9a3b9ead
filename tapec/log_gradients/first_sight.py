"""Decide whether a program is compiled at first sight: not one that is new each time, such as a tree or a solver.

Where so many structures in a row came once, the next is differentiated operation by operation (`tapec.op_by_op`), and
compiled when it comes again. If its operations prove to be as new, that is not tried often.
"""

from __future__ import annotations

from collections import deque
from typing import Any
from weakref import ref

from tapec.log_gradients import tuning

__all__ = ["Calls", "RecentStructures", "forget_recent", "recent_structures"]


class RecentStructures:
    """Remembers the last structures that ended at one line of the user's program; their `times` tell how often."""

    __slots__ = ("before", "failed_tries")

    def __init__(self) -> None:
        # weak references: the cache alone decides how long a structure and its code live
        self.before: deque[ref[Any]] = deque(maxlen=tuning.NEW_IN_A_ROW)
        self.failed_tries = 0

    @property
    def defers_compilation(self) -> bool:
        """Return whether a structure from here waits until it comes again: none of the last ones came twice."""
        if len(self.before) < tuning.NEW_IN_A_ROW or self.failed_tries >= tuning.TRIES_IN_VAIN_MAX:
            return False
        return not any([(structure := made()) is not None and structure.times > 1 for made in self.before])


_RECENT: dict[Any, RecentStructures] = {}


def recent_structures(log: Any) -> RecentStructures:
    """Return the structures that ended where this log ends in the user's program."""
    code, lasti = log.records[-1][4:6]
    place = id(code), lasti
    if place not in _RECENT and len(_RECENT) == tuning.PLACES_MAX:
        _RECENT.clear()
    return _RECENT.setdefault(place, RecentStructures())


def forget_recent() -> None:
    _RECENT.clear()


class Calls:
    """Counts the calls of a decorated function that no compiled code could take."""

    __slots__ = ("failed_tries", "hits", "in_a_row")

    def __init__(self) -> None:
        self.in_a_row = self.failed_tries = self.hits = 0

    def defers_compilation(self, hits: int) -> bool:
        """Count one more such call; return whether compiling waits until its structure comes again.

        It does after many such calls in a row, between which compiled code had no hits.
        """
        self.in_a_row = self.in_a_row + 1 if hits == self.hits else 1
        self.hits = hits
        return self.in_a_row > tuning.NEW_IN_A_ROW and self.failed_tries < tuning.TRIES_IN_VAIN_MAX
