"""Large values that a tape's only gradient does not take: they are let go, where nobody else holds them.

`np.tanh(x @ w + b)` records three arrays, and its gradient takes the last. The other two would be held to its end. A
tape that is entered where one recorded the like before lets go of each as soon as the last operation that reads it is
over; of the rest when its gradient runs. What somebody asks for after all is computed again. Of a traced function it
is the structure that is kept: it lets go of what its run computed as soon as the user does, and of the rest before that
is compiled, and called with the same arguments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from sys import getrefcount
from typing import Any
from weakref import getweakrefcount

import numpy as np

from tapec.ir.types import type_of
from tapec.trace.later import large_input
from tapec.trace.log import Gone, Log
from tapec.trace.recorder import current
from tapec.trace.tensor import Tensor
from tapec.tuples import NamedTuple

__all__ = ["HABITS", "Idle", "follow_trace", "forget", "idle_values", "let_go"]

LARGE = 1 << 12  # bytes from which an array is worth the look
EARLY = 1 << 18  # and from which while others are recorded,
NEAR = 32  # if that many operations later nobody reads it
KINDS = ("elementwise", "reduction", "layout", "product", "indexing")  # of ops that are done again at any time
MOST = 256  # places in programs of which habits are known


class Value(NamedTuple):
    """The record that made it, its slot, in how many places it is read, and what is left of it."""

    record: int
    slot: int
    uses: int
    left: Gone


class Idle(NamedTuple):
    """Values of a log, and those of them that are due to go by the number of records after which nobody reads them."""

    values: tuple[Value, ...]
    due: dict[int, list[Value]]


def idle_values(log: Log, needed: set[int]) -> Idle | None:
    """The large values in a log that were computed there, and are in none of these slots."""
    records, due = log.records, dict[int, list[Value]]()
    if not any([type(v) is Gone or (type(v) is np.ndarray and v.nbytes >= LARGE) for v in log.held]):
        return None
    if any([len(entry) > 6 for entry in records]):
        return None  # with changes in place, which the structure tells, a tensor stands for several values
    uses = Counter([id(x) for entry in records for x in entry[1]])
    last = {id(x): number for number, entry in enumerate(records) for x in entry[1]}
    found = []
    for number, entry in enumerate(records):
        op, out = entry[0], entry[3]
        slot = log.slot_of(out)
        if slot is None or slot in needed or type(out) is not Tensor or op.kind not in KINDS:
            continue
        left = Gone(log.type_of(slot))
        if left.type.nbytes >= LARGE:
            found.append(Value(number, slot, uses[id(out)], left))
        over = last.get(id(out), number) + 2  # its last reader has returned when the next operation is recorded
        if left.type.nbytes >= EARLY and over <= number + NEAR:
            due.setdefault(over, []).append(found[-1])
    return Idle(tuple(found), due) if found else None


def _references(values: Any, k: int) -> int:
    """Who refers to it, weakly too: the user may, and a base does to its views, which have no memory of their own."""
    return getrefcount(values[k]) + getweakrefcount(values[k])


HELD = _references([object()], 0)  # where nobody else does; it depends on the interpreter


def let_go(log: Log, idle: Idle) -> None:
    """Drop those of these values that nobody but the log holds."""
    objects, held = log.objects, log.held
    for _, slot, uses, left in idle.values:
        if _references(objects, slot) == HELD + 1 + uses:  # and the record
            objects[slot]._value = held[slot] = left


def forget(log: Log) -> None:
    """Let go of the large values of a run whose graph is known. What is pending holds what it will be computed from."""
    idle = idle_values(log, log.leaves)
    if idle is not None:
        let_go(log, idle)


class Habits:
    """What is due to go in logs, by the place in the user's program where a tape is entered.

    Places are noted from when one is worth it: who never has large values does not pay for it.
    """

    def __init__(self) -> None:
        self.worth_it = False
        self._due: dict[Any, dict[int, list[Value]]] = {}

    def follow(self, place: Any, log: Log) -> None:
        """Let an empty log do as the last one should have done that began here."""
        due = self._due.get(place)
        if due:
            log.due, log.gone, log.append = due, True, _follower(log.records, due)

    def learn(self, place: Any, due: dict[int, list[Value]]) -> None:
        """What began here has these values to let go."""
        self.worth_it = True
        if place is None:
            return  # it was entered before places were noted
        while len(self._due) >= MOST:
            self._due.pop(next(iter(self._due)), None)
        self._due[place] = due


HABITS = Habits()


def _follower(records: list[tuple[Any, ...]], due: dict[int, list[Value]]) -> Callable[[tuple[Any, ...]], None]:
    """Takes records, and lets go of what is due, if it is there: another program may be recorded this time."""
    keep = records.append

    def append(entry: tuple[Any, ...]) -> None:
        keep(entry)
        for number, _, _, left in due.get(len(records), ()):
            if _references(records, number) == HELD and _is_free(records[number], left, records[number + 1 :]):
                records[number][3]._value = left

    return append


def _is_free(made: tuple[Any, ...], left: Gone, later: list[tuple[Any, ...]]) -> bool:
    """Is the result such a value, and does nobody hold it but these records?"""
    if type(made[3]) is not Tensor or type_of(made[3]._value) != left.type:
        return False
    return _references(made, 3) == HELD + sum([x is made[3] for entry in later for x in entry[1]])


# -- traced functions -------------------------------------------------------------------------------------------------
def follow_trace(log: Log, pending: list[Any]) -> None:
    """Let an empty log of a traced function drop large values that only its records hold; and let what comes of others
    wait (see `later`).

    Nobody asks for them, unless something is written in place, or a tape records the same operations.
    """
    records, keep = log.records, log.records.append
    read: dict[int, int] = {}  # how often each large value of late was read, by the number of its record
    over = False

    def append(entry: tuple[Any, ...]) -> None:
        keep(entry)
        out = entry[3]
        if read or (type(out) is Tensor and type(out._value) is np.ndarray and out._value.nbytes >= EARLY):
            look(entry)

    def look(entry: tuple[Any, ...]) -> None:
        nonlocal over
        over = over or len(entry) > 6 or current().append is not append  # type: ignore[union-attr]
        if over:
            read.clear()
            return
        last = len(records) - 1
        for number, uses in [*read.items()]:
            made = records[number]
            read[number] = uses = uses + sum([x is made[3] for x in entry[1]])
            if _references(made, 3) == HELD + uses:
                made[3]._value = Gone(type_of(made[3]._value))
                del read[number]
            elif last - number >= NEAR:
                del read[number]
        out = entry[3]
        if type(out) is Tensor and entry[0].kind in KINDS and getattr(out._value, "nbytes", 0) >= EARLY:
            large_input(out, pending)
            read[last] = int(type(out) is not Tensor)  # one refers to it who does not read it: `pending`

    log.append = append
