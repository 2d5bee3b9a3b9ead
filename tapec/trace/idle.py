"""Large values that a tape's only gradient does not take: they are let go, where nobody else holds them.

`np.tanh(x @ w + b)` records three arrays, and its gradient takes the last. The other two go when it runs. What the
gradient takes it may write over. What somebody asks for after all is computed again.

Of a traced function it is the structure that is kept: it lets go of what its run computed before that is compiled, and
called with the same arguments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from sys import getrefcount
from typing import Any
from weakref import getweakrefcount

import numpy as np

from tapec.trace.log import Gone, Log
from tapec.trace.tensor import Tensor, set_raw_value
from tapec.tuples import NamedTuple

__all__ = [
    "Value",
    "forget",
    "forget_value",
    "free_among",
    "is_free",
    "large_values",
    "let_go",
]

LARGE = 1 << 12  # bytes from which an array is worth the look
SPARE = 1 << 14  # and from which its memory is worth being written over
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
    set_raw_value(log.objects[value.slot], value.left)


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
    """Let go of the large values of a run whose graph is known."""
    let_go(log, [value for value in large_values(log) if value.slot not in log.leaves])
