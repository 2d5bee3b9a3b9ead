"""Decide what is compiled at first sight: not programs that are new each time, such as trees and adaptive solvers.

Where so many structures in a row came once, the next is differentiated operation by operation (`one_by_one`), and
compiled when it comes again. If its operations prove to be as new, that is not tried often.
"""

from __future__ import annotations

from collections import deque
from typing import Any
from weakref import ref

__all__ = ["IN_A_ROW", "IN_VAIN", "Calls", "Place", "forget_places", "place_of"]

IN_A_ROW = 8  # structures that came once
IN_VAIN = 3  # times that operations are tried which are as new
MANY = 256  # places in programs that are looked at


class Place:
    """A line of the user's program: the last structures that ended there, with how often they came, in `times`."""

    __slots__ = ("before", "in_vain")

    def __init__(self) -> None:
        self.before: deque[ref[Any]] = deque(maxlen=IN_A_ROW)
        self.in_vain = 0

    @property
    def is_restless(self) -> bool:
        """Did none of them come again?"""
        if len(self.before) < IN_A_ROW or self.in_vain >= IN_VAIN:
            return False
        return not any([(structure := made()) is not None and structure.times > 1 for made in self.before])


_PLACES: dict[Any, Place] = {}


def place_of(log: Any) -> Place:
    """Where what is recorded ended."""
    code, lasti = log.records[-1][4:6]
    place = id(code), lasti
    if place not in _PLACES and len(_PLACES) == MANY:
        _PLACES.clear()
    return _PLACES.setdefault(place, Place())


def forget_places() -> None:
    _PLACES.clear()


class Calls:
    """Those of a decorated function that nothing known could take."""

    __slots__ = ("hits", "in_a_row", "in_vain")

    def __init__(self) -> None:
        self.in_a_row = self.in_vain = self.hits = 0

    def are_restless(self, hits: int) -> bool:
        """Now comes one more. Had what is known no hits between the last ones?"""
        self.in_a_row = self.in_a_row + 1 if hits == self.hits else 1
        self.hits = hits
        return self.in_a_row > IN_A_ROW and self.in_vain < IN_VAIN
