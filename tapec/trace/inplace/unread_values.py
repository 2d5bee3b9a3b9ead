"""Forget what a tensor held between two writes on a tape, where no rule reads it.

So a loop of writes keeps one array, not one for each.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from tapec.trace import tuning
from tapec.trace.classes import TensorBase, raw_value
from tapec.trace.log import Log

__all__ = ["forget_unread"]


def forget_unread(log: Log, t: TensorBase, before: TensorBase) -> None:
    """Let go of the array that a tensor held between its last two writes, if no rule reads it.

    Reading elements does not count. So a loop of writes keeps one array, not one for each. Where the log lacks values,
    the array is kept: those may be computed again from it.
    """
    is_recorded = before._mark is not None  # otherwise no record made it
    if is_recorded and not log.lacks_values and _is_unread(log.records, t):
        if before._value.nbytes >= tuning.PARTS_COPIED_MIN_BYTES:
            _copy_parts(log, t, before._value)
        before._value = _blank(t._value.dtype, t._value.shape)


def _copy_parts(log: Log, t: TensorBase, whole: np.ndarray) -> None:
    """Give parts read of a tensor since its last write memory of their own, where that is less than to keep the
    whole."""
    for entry in log.records[-2 : -tuning.UNREAD_MAX_RECORDS - 2 : -1]:
        out = entry[3]
        if out is t:
            return
        part = raw_value(out) if isinstance(out, TensorBase) else None
        if type(part) is np.ndarray and part.base is whole and part.nbytes < whole.nbytes:
            log.replace(out, part.copy())


def _is_unread(records: list[Any], t: TensorBase) -> bool:
    """The rule of the op that made it may ask for it, too: that of a quotient does."""
    k = len(records) - 2
    end = k - tuning.UNREAD_MAX_RECORDS if k > tuning.UNREAD_MAX_RECORDS else -1
    while k > end:
        entry = records[k]
        if entry[3] is t:
            return entry[6] is not None and (entry[0].kind in _BLIND or entry[0].name in _SIMPLE)
        for x in entry[1][entry[0].kind in _BLIND :]:
            if x is t:
                return False
        k -= 1
    return False


_BLIND = ("indexing", "layout", "guard")  # kinds of ops whose derivatives ask neither for the first operand's value
_SIMPLE = ("add", "subtract", "multiply", "where")  # nor for their own; these ask for operands


@lru_cache(maxsize=256)
def _blank(dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Stands for a value of which the type is all that is asked for."""
    return np.broadcast_to(np.zeros((), dtype), shape)
