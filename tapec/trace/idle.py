"""Large values that a tape's only gradient does not take: they are let go, where nobody else holds them.

`np.tanh(x @ w + b)` records three arrays, and its gradient takes the last. The other two would be held to its end. A
tape that is entered where one recorded the like before lets go of each as soon as the last operation that reads it is
over, or lets that compute in its memory (see `heirs`); of the rest when its gradient runs. What the gradient takes it
may write over. What somebody asks for after all is computed again.

Of a traced function it is the structure that is kept: it lets go of what its run computed as soon as the user does, and
of the rest before that is compiled, and called with the same arguments.
"""

from __future__ import annotations

from collections import Counter
from sys import getrefcount
from typing import Any
from weakref import getweakrefcount

import numpy as np

from tapec.ir import Op, Type
from tapec.ir.types import type_of
from tapec.trace.later import large_input
from tapec.trace.log import Gone, Log
from tapec.trace.recorder import current
from tapec.trace.short import buffer_for
from tapec.trace.tensor import Tensor, set_raw_value
from tapec.tuples import NamedTuple

__all__ = [
    "HABITS",
    "HELD",
    "Due",
    "Heir",
    "Idle",
    "Value",
    "follow_trace",
    "forget",
    "forget_value",
    "free_among",
    "idle_among",
    "idle_values",
    "is_free",
    "large_values",
    "let_go",
    "let_go_of",
    "records_alone",
]

LARGE = 1 << 12  # bytes from which an array is worth the look
SPARE = 1 << 14  # from which its memory is worth being written over,
EARLY = 1 << 18  # and from which it is let go of while others are recorded,
NEAR = 32  # if that many operations later nobody reads it
KINDS = ("elementwise", "reduction", "layout", "product", "indexing")  # of ops that are done again at any time
MOST = 256  # places in programs of which habits are known


class Value(NamedTuple):
    """The record that made it, its slot, in how many places it is read, and what is left of it."""

    record: int
    slot: int
    uses: int
    left: Gone


class Heir(NamedTuple):
    """An operation that may take the memory of what the record of this `number` made, which is `held` in so many places
    by records by then, and is read so often in all (`uses`). It `gives` the like. `takes` tells what the `other`
    operand is, if there is one; `left` is what is left of the value. Where it broadcasts, NumPy's buffer should have
    the length `buffer`."""

    number: int
    uses: int
    held: int
    op: Op
    gives: Any
    other: int | None
    takes: Any
    left: Gone
    buffer: int | None


class Due(NamedTuple):
    """What to do when so many records are there: values that nobody reads any more, and the heir that comes next."""

    values: tuple[Value, ...] = ()
    heir: Heir | None = None


class Idle(NamedTuple):
    """Values of a log, and what is due while it is recorded, by the number of records."""

    values: tuple[Value, ...]
    due: dict[int, Due]


def large_values(log: Log) -> list[Value]:
    """The large values that were computed in a log by operations which may be done again."""
    records = log.records
    if not any([type(v) is Gone or (type(v) is np.ndarray and v.nbytes >= LARGE) for v in log.held]):
        return []
    if any([len(entry) > 6 for entry in records]):
        return []  # with changes in place, which the structure tells, a tensor stands for several values
    uses = Counter([id(x) for entry in records for x in entry[1]])
    found = []
    for number, entry in enumerate(records):
        op, out = entry[0], entry[3]
        slot = log.slot_of(out)
        if slot is not None and isinstance(out, Tensor) and op.kind in KINDS:
            left = Gone(log.type_of(slot))
            if left.type.nbytes >= LARGE:
                found.append(Value(number, slot, uses[id(out)], left))
    return found


def idle_values(log: Log, needed: set[int]) -> Idle | None:
    """Those of them that are in none of these slots."""
    return idle_among(large_values(log), log, needed)


def idle_among(large: list[Value], log: Log, needed: set[int]) -> Idle | None:
    """The same of large values that were found before."""
    idle = [value for value in large if value.slot not in needed]
    if not idle:
        return None
    records = log.records
    last = {id(x): number for number, entry in enumerate(records) for x in entry[1]}
    due: dict[int, list[Value]] = {}
    heirs: dict[int, Heir] = {}
    for value in idle:
        number, size = value.record, value.left.type.nbytes
        reader = last.get(id(records[number][3]), number)
        heir = _heir(log, value, reader) if size >= SPARE and reader > number else None
        if heir is not None:
            heirs.setdefault(reader, heir)
        if size >= EARLY and reader <= number + NEAR:
            due.setdefault(reader + 2, []).append(value)  # it has returned when the next operation is recorded
    return Idle(tuple(idle), {n: Due(tuple(due.get(n, ())), heirs.get(n)) for n in sorted({*due, *heirs})})


def _heir(log: Log, value: Value, reader: int) -> Heir | None:
    """The last operation that reads a value, if it makes the like element by element."""
    number, _, uses, left = value
    t = left.type
    made = log.records[number][3]
    op, inputs, _, out, *_ = log.records[reader]
    slot = log.slot_of(out)
    if op.kind != "elementwise" or not (op.out and type(op.numpy) is np.ufunc) or op.name == "sign" or slot is None:
        return None  # NumPy takes eight times as long for signs in place
    if log.type_of(slot) != t or len(inputs) > 2:
        return None
    held = 1 + sum([x is made for entry in log.records[number + 1 : reader] for x in entry[1]])
    other = None if len(inputs) == 1 else 1 - [x is made for x in inputs].index(True)
    takes = None if other is None else _what_is(log, inputs[other])
    broadcasts = type(takes) is tuple and takes[0] not in ((), t.shape)
    buffer = buffer_for(t.size) if broadcasts else None
    return Heir(number, uses, held, op, (t.shape, t.dtype), other, takes, left, buffer)


def _what_is(log: Log, operand: Any) -> Any:
    """Shape and dtype of an array, the class of a number."""
    slot = log.slot_of(operand)
    value = operand if slot is None else log.held[slot]
    value = value.type if type(value) is Gone else value
    return (value.shape, value.dtype) if type(value) in (np.ndarray, Type) else type(value)


def _references(values: Any, k: int) -> int:
    """Who refers to it, weakly too: the user may, and a base does to its views, which have no memory of their own."""
    return getrefcount(values[k]) + getweakrefcount(values[k])


HELD = _references([object()], 0)  # where nobody else does; it depends on the interpreter
ALONE = HELD + 2  # references to an array that a tensor and a log hold, and a name


def let_go(log: Log, idle: Idle) -> None:
    """Drop those of these values that nobody but the log holds."""
    for value in idle.values:
        if type(log.held[value.slot]) is Gone and type(log.objects[value.slot]) is Tensor:
            continue
        if _is_held_alone(log, value):
            forget_value(log, value)


def _is_held_alone(log: Log, value: Value) -> bool:
    """Does nobody but the log hold the tensor: in its slot, where it was made, and where it is read?"""
    return _references(log.objects, value.slot) == HELD + 1 + value.uses


def forget_value(log: Log, value: Value) -> None:
    log.held[value.slot] = value.left
    _drop(log.objects[value.slot], value.left)


def free_among(large: list[Value], log: Log) -> list[Value]:
    """Those of large values that are worth being written over, and may be."""
    return [value for value in large if value.left.type.nbytes >= SPARE and is_free(log, value)]


def is_free(log: Log, value: Value) -> bool:
    """Is it there, does nobody but the log hold it, and does nobody look into its memory?"""
    array = log.held[value.slot]
    if type(array) is not np.ndarray or not _is_held_alone(log, value):
        return False
    return getrefcount(array) == ALONE and array.flags.owndata and array.flags.writeable


def _drop(t: Tensor, left: Gone) -> None:
    set_raw_value(t, left)
    t.__class__ = Tensor


def forget(log: Log) -> None:
    """Let go of the large values of a run whose graph is known. What is pending holds what it will be computed from."""
    idle = idle_values(log, log.leaves)
    if idle is not None:
        let_go(log, idle)


class Habits:
    """What is due to go in logs, by the place in the user's program where a tape is entered.

    Places are noted from when one is worth it: who never has large values does not pay for it. `follower` makes
    what takes the records then.
    """

    def __init__(self) -> None:
        self.worth_it = False
        self.follower: Any = None
        self._due: dict[Any, dict[int, Due]] = {}

    def follow(self, place: Any, log: Log) -> None:
        """Let an empty log do as the last one should have done that began here."""
        due = self._due.get(place)
        if due:
            log.due, log.gone, log.append = due, True, self.follower(log, due)

    def learn(self, place: Any, due: dict[int, Due]) -> None:
        """What began here has these values to let go."""
        if self.follower is None:
            from tapec.trace.heirs import follower  # most programs have no large values

            self.worth_it, self.follower = True, follower
        if place is None or self._due.get(place) is due:
            return  # it was entered before places were noted; or it did so
        while len(self._due) >= MOST:
            self._due.pop(next(iter(self._due)), None)
        self._due[place] = due


HABITS = Habits()


def records_alone(records: list[tuple[Any, ...]]) -> bool:
    """Is it these alone that records go to? Others may need values that nobody needs here."""
    rec = current()
    return rec is not None and rec.append is not None and rec.log.records is records


def let_go_of(values: tuple[Value, ...], records: list[tuple[Any, ...]]) -> None:
    """Drop those of these values that are there, and that nobody but these records holds."""
    for number, _, _, left in values:
        if number < len(records) and _references(records, number) == HELD:
            made = records[number]
            t = made[3]
            if type(t) is Tensor and type_of(t._value) == left.type:
                reads = sum([x is t for entry in records[number + 1 :] for x in entry[1]])
                if _references(made, 3) == HELD + 1 + reads:
                    t._value = left


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
        over = over or len(entry) > 6 or not records_alone(records)
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
