"""Large values that a tape's only gradient does not take: they are let go, where nobody else holds them.

`np.tanh(x @ w + b)` records three arrays, and its gradient takes the last. The other two go when it runs. What the
gradient takes it may write over. What somebody asks for after all is computed again.

Of a traced function it is the structure that is kept: it lets go of what its run computed as soon as the user does, and
of the rest before that is compiled, and called with the same arguments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from sys import getrefcount
from typing import Any
from weakref import getweakrefcount

import numpy as np

from tapec.ir.types import type_of
from tapec.trace.later import large_input
from tapec.trace.log import Gone, Log
from tapec.trace.recorder import current
from tapec.trace.tensor import Tensor, set_raw_value
from tapec.tuples import NamedTuple

__all__ = [
    "Value",
    "follow_trace",
    "forget",
    "forget_value",
    "free_among",
    "is_free",
    "large_values",
    "let_go",
]

LARGE = 1 << 12  # bytes from which an array is worth the look
SPARE = 1 << 14  # from which its memory is worth being written over,
EARLY = 1 << 18  # and from which a traced function's run lets go of it,
NEAR = 32  # if that many operations later nobody reads it
KINDS = ("elementwise", "reduction", "layout", "product", "indexing")  # of ops that are done again at any time


class Value(NamedTuple):
    """The record that made it, its slot, in how many places it is read, and what is left of it."""

    record: int
    slot: int
    uses: int
    left: Gone


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


def _references(values: Any, k: int) -> int:
    """Who refers to it, weakly too: the user may, and a base does to its views, which have no memory of their own."""
    return getrefcount(values[k]) + getweakrefcount(values[k])


HELD = _references([object()], 0)  # where nobody else does; it depends on the interpreter
ALONE = HELD + 2  # references to an array that a tensor and a log hold, and a name


def let_go(log: Log, values: Iterable[Value]) -> None:
    """Drop those of these values that nobody but the log holds."""
    for value in values:
        if type(log.held[value.slot]) is Gone and type(log.objects[value.slot]) is Tensor:
            continue
        if _is_held_alone(log, value):
            forget_value(log, value)


def _is_held_alone(log: Log, value: Value) -> bool:
    """Does nobody but the log hold the tensor: in its slot, where it was made, and where it is read?"""
    return _references(log.objects, value.slot) == HELD + 1 + value.uses


def forget_value(log: Log, value: Value) -> None:
    log.held[value.slot] = value.left
    t = log.objects[value.slot]
    set_raw_value(t, value.left)
    t.__class__ = Tensor  # it may have been waiting (see `later`)


def free_among(large: list[Value], log: Log) -> list[Value]:
    """Those of large values that are worth being written over, and may be."""
    return [value for value in large if value.left.type.nbytes >= SPARE and is_free(log, value)]


def is_free(log: Log, value: Value) -> bool:
    """Is it there, does nobody but the log hold it, and does nobody look into its memory?"""
    array = log.held[value.slot]
    if type(array) is not np.ndarray or not _is_held_alone(log, value):
        return False
    return getrefcount(array) == ALONE and array.flags.owndata and array.flags.writeable


def forget(log: Log) -> None:
    """Let go of the large values of a run whose graph is known. What is pending holds what it will be computed from."""
    let_go(log, [value for value in large_values(log) if value.slot not in log.leaves])


def records_alone(records: list[tuple[Any, ...]]) -> bool:
    """Is it these alone that records go to? Others may need values that nobody needs here."""
    rec = current()
    return rec is not None and rec.append is not None and rec.log.records is records


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
