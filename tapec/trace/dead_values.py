"""Free large recorded values that a tape's last gradient does not read.

`np.tanh(x @ w + b)` records three arrays, and the code of its gradient reads the third. Nobody can ask a tape that is
not persistent for another gradient. So when its gradient starts, the first two are freed. The third is donated: the
code may write over it. Either happens only to values that nobody but the tape holds.

Where the code fails the tape goes on, and what it no longer has is computed again when somebody asks for it (see
`Log.compute_again`). So values stay in programs that change tensors in place, and those of ops not in `KINDS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from tapec.fast_namedtuple import NamedTuple
from tapec.trace import tuning
from tapec.trace.log import Log, NotHeld
from tapec.trace.reference_counts import others
from tapec.trace.tensor import Tensor

__all__ = ["Value", "can_be_donated", "free", "free_unheld", "large_values"]

KINDS = ("elementwise", "reduction", "layout", "product", "indexing")  # of ops that compute the same when done again


class Value(NamedTuple):
    """Describes a large value of a log.

    It has the value's slot, how often operations read it, and the placeholder that stands in the slot when it is freed.
    """

    slot: int
    uses: int
    placeholder: NotHeld


def large_values(log: Log) -> list[Value]:
    """Return the values of at least `tuning.FREED_MIN_BYTES` that can be computed again."""
    records = log.records
    if not any([getattr(v, "nbytes", 0) >= tuning.FREED_MIN_BYTES for v in log.held]):
        return []  # most programs: nothing else is looked at
    if any([entry[6] is not None for entry in records]):
        return []  # after changes in place a tensor stands for several values
    uses = Counter([id(x) for entry in records for x in entry[1]])
    found = []
    for op, _, _, out, *_ in records:
        slot = log.slot_of(out)
        if slot is not None and isinstance(out, Tensor) and op.kind in KINDS:
            placeholder = NotHeld(log.type_of(slot))
            if placeholder.type.nbytes >= tuning.FREED_MIN_BYTES:
                found.append(Value(slot, uses[id(out)], placeholder))
    return found


def free_unheld(log: Log, values: Iterable[Value]) -> None:
    """Free those of these values whose tensors nobody but the log holds."""
    objects, held = log.objects, log.held
    for slot, uses, placeholder in values:
        if type(held[slot]) is not NotHeld and others(objects, slot) == 1 + uses:
            held[slot] = objects[slot]._value = placeholder


def free(log: Log, value: Value) -> None:
    """Drop the array of a value; its slot and its tensor then hold a placeholder, which tells its type.

    After changes in place, which make views out of date, there are no such values.
    """
    log.held[value.slot] = log.objects[value.slot]._value = value.placeholder


def can_be_donated(log: Log, value: Value) -> bool:
    """Return whether code may write over a value: nobody may hold its tensor, its array, or a view of that."""
    held, k = log.held, value.slot
    if type(held[k]) is not np.ndarray or held[k].nbytes < tuning.DONATED_MIN_BYTES or not _is_unheld(log, value):
        return False
    return others(held, k) == 1 and held[k].flags.owndata and held[k].flags.writeable  # one: the tensor


def _is_unheld(log: Log, value: Value) -> bool:
    """Return whether only the log holds the tensor: in its slot, in the record that made it, and in those that read
    it."""
    return others(log.objects, value.slot) == 1 + value.uses
