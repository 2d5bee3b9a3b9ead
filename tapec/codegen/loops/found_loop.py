"""Define a loop that was found: its steps, what each operation of a step reads, what steps walk along."""

from __future__ import annotations

from typing import Any

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node

__all__ = ["CARRIED", "OWN", "SAME", "WALK", "Carried", "Loop", "StepOperand", "Walk"]

OWN, CARRIED, SAME, WALK = range(4)
StepOperand = tuple[int, Any]  # what an operation reads: (OWN, place), (CARRIED, Carried), (SAME, node), (WALK, number)
Carried = tuple[int, int]  # a place, and how many steps before, mostly one


class Walk(NamedTuple):
    """A walk is a sequence that a loop goes along: step k reads element `start + k * stride`.

    The base is the number of an input whose elements are read; or "inputs", all of them; or (loop, place), what a loop
    computes there; or ("numbers", the numbers themselves). Of what a loop carries, element k is what step k finds, so
    the first is what it begins with.
    """

    base: Any
    start: int
    stride: int

    @property
    def loop(self) -> Loop | None:
        """Return the loop that the walk goes along; None for others."""
        found = self.base[0] if type(self.base) is tuple else None
        return found if type(found) is Loop else None

    @property
    def is_numbers(self) -> bool:
        """Return whether the walk goes along numbers."""
        return type(self.base) is tuple and self.base[0] == "numbers"

    def at(self, k: int) -> int:
        return self.start + k * self.stride

    def is_whole(self, count: int) -> bool:
        """Return whether the walk goes along all that a loop carries.

        It goes from what the loop's first step finds to what its last one makes, or back. No list has both.
        """
        loop = self.loop
        if loop is None or (self.base[1], 1) not in loop.first:
            return False
        return sorted((self.start, self.at(count - 1))) == [0, len(loop.steps)]


class Loop(NamedTuple):
    """A loop has `steps[k][p]`, the operation at place p of step k, and `sources[p]`, what it reads in each step.

    `first` has what the first step finds of steps before. `exact` tells whether the program has all of it.
    """

    steps: list[list[Node]]
    sources: list[tuple[StepOperand, ...]]
    walks: list[Walk]
    first: dict[Carried, Node]
    exact: bool

    @property
    def pattern(self) -> list[Node]:
        """Return a step that is like all others."""
        return self.steps[1]

    def __repr__(self) -> str:
        return f"<loop of {len(self.steps)} steps>"

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other
