"""Large values that a tape's only gradient does not take: they are let go before it runs, where nobody else holds them.

`np.tanh(x @ w + b)` records three arrays, and its gradient takes the last. The other two would be held to its end.
Should it fail, the tape is as it was: what was let go is computed again.
"""

from __future__ import annotations

from collections import Counter
from sys import getrefcount
from typing import Any, NamedTuple

import numpy as np

from tapec.ir.types import NUMBERS
from tapec.trace.log import Log
from tapec.trace.tensor import Tensor, run_op

__all__ = ["Idle", "compute_again", "idle_values", "let_go"]

LARGE = 1 << 12  # bytes from which an array is worth the look
KINDS = ("elementwise", "reduction", "layout", "product", "indexing")  # of ops that are done again at any time


class Idle(NamedTuple):
    """The slot of a value, its record, and the references that there are to its tensor when only the log holds it."""

    slot: int
    record: int
    references: int


def _references(objects: list[Any], k: int) -> int:
    return getrefcount(objects[k])


IN_LIST = _references([object()], 0)  # it depends on the interpreter


def idle_values(log: Log, needed: set[int]) -> tuple[Idle, ...]:
    """The large values in a log that were computed there, and are in none of these slots."""
    if any([len(entry) > 6 for entry in log.records]):
        return ()  # with changes in place, which the structure tells, a tensor stands for several values
    uses = Counter([id(x) for entry in log.records for x in entry[1]])
    found = []
    for number, (op, _, _, out, *_) in enumerate(log.records):
        slot = log.slot_of(out)
        if slot is None or slot in needed or type(out) is not Tensor or op.kind not in KINDS:
            continue
        value = log.values[slot]
        if type(value) is np.ndarray and value.nbytes >= LARGE:
            found.append(Idle(slot, number, IN_LIST + 1 + uses[id(out)]))
    return tuple(found)


def let_go(log: Log, idle: tuple[Idle, ...]) -> None:
    """Drop those of these values that nobody but the log holds."""
    objects, values = log.objects, log.values
    for slot, _, references in idle:
        if _references(objects, slot) == references:
            objects[slot]._value = values[slot] = None


def compute_again(log: Log, idle: tuple[Idle, ...]) -> None:
    """The log as it was before `let_go`."""
    with np.errstate(all="ignore"):  # it was said the first time
        for slot, number, _ in idle:
            if log.values[slot] is None:
                op, inputs, params = log.records[number][:3]
                given = [x if type(x) in NUMBERS else log.values[log.index[id(x)]] for x in inputs]
                log.objects[slot]._value = log.values[slot] = run_op(op, given, params)
