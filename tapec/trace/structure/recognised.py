"""Recognise recordings whose structure was asked for often, without scanning them.

A log is scanned record by record, which costs more than many an operation did. A structure that comes again and again
gets a function of its own, which takes all records apart at once and sees whether they are that program on those types
(`recognise` writes it). What it does not know, or what changes something in place, is scanned.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

from tapec.trace import tuning
from tapec.trace.structure.recognition_code import Known, known_of

__all__ = ["KNOWN", "Known", "forget_known", "learn", "place_of"]

_LEARNING = Lock()


KNOWN: dict[Any, tuple[Known, ...]] = {}


def place_of(records: list[tuple[Any, ...]]) -> Any:
    """Return a key that tells most programs apart."""
    return len(records), records[0][0], records[-1][0]


def learn(log: Any) -> None:
    """Recognise from now on what is like this log, which was just scanned."""
    if not 0 < len(log.key) <= tuning.RECOGNISED_KEY_MAX_PARTS:
        return
    known = known_of(log)
    if known is not None:
        with _LEARNING:
            place = place_of(log.records)
            KNOWN[place] = (known, *KNOWN.pop(place, ())[: tuning.RECOGNISED_AT_A_PLACE_MAX - 1])
            while sum([len(k.key) for found in KNOWN.values() for k in found]) > tuning.RECOGNISED_MAX_PARTS:
                del KNOWN[next(iter(KNOWN))]  # what was learned first


def forget_known() -> None:
    """Scan all logs again."""
    with _LEARNING:
        KNOWN.clear()
