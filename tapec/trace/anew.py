"""Functions that must be recorded anew at each call, because they draw random numbers or take too many paths.

What such runs have in common is compiled: a structure, with its values left out. Python numbers are written into the
code as literals until one is seen to change, and from then on that one is an input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.ir import Builder, Node
from tapec.ir.types import NUMBERS, type_of
from tapec.trace.program import Program, is_number_like
from tapec.trace.run import Recorded
from tapec.trace.tensor import Tensor

__all__ = ["Literals", "RecordedProgram", "Recordings"]


class Literals:
    """The Python numbers of a structure that are written into its code; `moving` are the slots of those that are not,
    because they were seen to change."""

    __slots__ = ("first", "moving")

    def __init__(self, scalars: list[tuple[int, Any]]):
        self.first = list(scalars)
        self.moving: frozenset[int] = frozenset()

    def of(self, log: Any) -> tuple[tuple[int, Any], ...]:
        moving = self.moving
        return tuple([p for p in log.scalars if p[0] not in moving] if moving else log.scalars)

    def changed(self, log: Any) -> bool:
        """Take notice of numbers that have changed: code that they are written into is of no use any more."""
        moved = {slot for (slot, now), (_, first) in zip(log.scalars, self.first) if now != first}
        if moved <= self.moving:
            return False
        self.moving |= moved
        return True


class Recordings:
    """All code for runs of one structure, by the numbers written into it."""

    def __init__(self, recorded: Recorded):
        self.literals = Literals(recorded.trace.log.scalars)
        self.programs: dict[Any, RecordedProgram] = {}

    @property
    def last(self) -> RecordedProgram:
        return next(reversed(self.programs.values()))

    def find(self, recorded: Recorded, make: Callable[[frozenset[int]], RecordedProgram]) -> RecordedProgram:
        """The program for this run; `make` is told which numbers are inputs."""
        log = recorded.trace.log
        found = self.programs.get(self.literals.of(log))
        if found is None:
            if self.literals.changed(log):
                self.programs.clear()
            found = self.programs[self.literals.of(log)] = make(self.literals.moving)
        return found


class RecordedProgram(Program):
    """One recorded structure: every array is an input, and so are the numbers that change and the plain results.

    `slots` are the log's slots that the compiled function reads, `plain` the places of the results that it reads.
    """

    straight = True
    moving: frozenset[int] = frozenset()

    def leaf_maker(self, recorded: Recorded, builder: Builder) -> Callable[[int, Any], Node]:
        position = {id(t): i for i, t in enumerate(recorded.arguments)}
        log = recorded.trace.log
        self.slots: list[int] = [log.index[id(t)] for t in recorded.arguments]
        self.plain: list[int] = []

        def leaf(slot: int, x: Any) -> Node:
            if type(x) in NUMBERS:
                if slot not in self.moving:
                    return builder.constant(x)
            elif id(x) in position:
                return self.source("argument", position[id(x)], x._value, "")
            self.slots.append(slot)
            return self.source("slot", slot, log.values[slot], "drawn")

        return leaf

    def result(self, builder: Builder, place: int, x: Any) -> Node:
        self.plain.append(place)
        return self.source("result", place, x._value if isinstance(x, Tensor) else _as_array(x), "result")

    @staticmethod
    def key(recorded: Recorded) -> Any:
        """What must be equal for two runs to be of one structure."""
        log = recorded.trace.log
        log.scan()
        return tuple(log.key), tuple([_kind(log, x) for x in recorded.results]), recorded.tree

    def objects(self, recorded: Recorded, arguments: list[Any]) -> list[Any]:
        """The objects to compute with: the caller's own where they are arguments, Variables or captured."""
        log = recorded.trace.log
        outer = {id(t): x for t, x in zip(recorded.arguments, arguments)}
        for variable, tensor in recorded.trace.variables.values():
            outer[id(tensor)] = variable._tapec_read()
        for k in recorded.captures.arrays:
            outer[k] = recorded.captures.originals[k]
        read = [outer.get(id(log.objects[k]), log.objects[k]) for k in self.slots]
        results = [recorded.results[k] for k in self.plain]
        return read + [outer.get(id(x), x) if isinstance(x, Tensor) else _as_array(x) for x in results]


def _kind(log: Any, x: Any) -> Any:
    """Of a result: where it was computed, the type of a plain number, or what it is."""
    if isinstance(x, Tensor):
        slot = log.slot_of(x)
        return type_of(x._value) if slot is None else slot
    if is_number_like(x):
        return type_of(_as_array(x))
    return (type(x), x) if type(x) in _ATOMS else id(x)  # which is nobody else's: the program holds it


_ATOMS = frozenset({int, bool, str, bytes, type(None)})


def _as_array(x: Any) -> Any:
    return x if isinstance(x, (np.ndarray, np.generic)) else np.asarray(x)[()]
