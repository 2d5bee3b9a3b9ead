"""Recognise recordings whose structure was asked for often, without scanning them.

A log is scanned record by record, which costs more than many an operation did. A structure that comes again and again
gets a function of its own, which takes all records apart at once and sees whether they are that program on those types
(`recognition_code` writes it). Scanned are logs that no such function knows, and always those that change something in
place, that have rare kinds of operands, or whose key has too many parts.
"""

from __future__ import annotations

from threading import RLock
from typing import Any

from tapec.trace import tuning
from tapec.trace.structure.recognition_code import Known, known_of

__all__ = ["KNOWN", "Known", "forget_known", "learn", "rough_key"]

_LEARNING = RLock()


KNOWN: dict[Any, tuple[Known, ...]] = {}


def rough_key(records: list[tuple[Any, ...]]) -> Any:
    """Return how many records there are, and the first and the last op: most programs differ in these."""
    return len(records), records[0][0], records[-1][0]


def learn(log: Any) -> None:
    """Recognise from now on what is like this log, which was just scanned."""
    if not 0 < len(log.key) <= tuning.RECOGNISED_KEY_MAX_PARTS:
        return
    known = known_of(log)
    if known is not None:
        with _LEARNING:
            key = rough_key(log.records)
            KNOWN[key] = (known, *KNOWN.pop(key, ())[: tuning.RECOGNISED_WITH_A_KEY_MAX - 1])
            while sum([len(k.key) for found in KNOWN.values() for k in found]) > tuning.RECOGNISED_MAX_PARTS:
                del KNOWN[next(iter(KNOWN))]  # what was learned first


def forget_known() -> None:
    """Scan all logs again."""
    with _LEARNING:
        KNOWN.clear()
