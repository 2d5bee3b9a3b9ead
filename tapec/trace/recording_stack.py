"""Keep the stack of tapes and traces that record in this thread or task, in a ContextVar.

A tensor carries a `Mark`: the set of recordings that watch it. An operation is recorded by those recordings that are
active and watch one of its inputs; its result carries their mark. Marks hold tokens, never the recordings themselves,
so a tensor that outlives its tape holds nothing alive.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

__all__ = [
    "CURRENT",
    "READS_AROUND",
    "Mark",
    "Recorder",
    "Token",
    "captures_now",
    "current",
    "in_batch",
    "in_making_batch",
    "pop",
    "push",
    "read_around",
    "recordings",
    "recordings_around",
    "traces",
    "traces_or_around",
    "unrecorded",
]


class Mark:
    """Holds an immutable set of tokens."""

    __slots__ = ("tokens",)

    def __init__(self, tokens: frozenset[Token]):
        self.tokens = tokens


class Token(Mark):
    """Stands for one recording, `alive` until that is over for good, and is the mark of what it alone watches."""

    __slots__ = ("alive",)

    def __init__(self) -> None:
        self.alive = True
        self.tokens = frozenset((self,))

    def end(self) -> None:
        """End the recording. A token knows itself: without this, it would wait for the garbage collector."""
        self.alive = False
        self.tokens = _NONE


_NONE: frozenset[Token] = frozenset()


class Recorder:
    """Holds the recordings active at one moment. Entering and leaving make a new one.

    `tapes` are the recordings, outermost first, and `sinks` holds for each its token and the function that takes its
    records; `sink` is that of a recording that is alone. `mark` is that of tensors which all of them watch. `trace` is
    the innermost traced function, `only_log` the log of a tape that records alone.
    """

    __slots__ = ("mark", "only_log", "sink", "sinks", "tapes", "trace")

    def __init__(self, tapes: tuple[Any, ...]):
        self.tapes = tapes
        self.trace: Any = None
        self.sinks: list[tuple[Token, Callable[[Any], None]]] = []
        for t in tapes:
            hiding, errors = getattr(t, "hiding", None), getattr(t, "errors", None)
            if hiding is not None:  # it hides records from the recordings around it
                self.sinks = [(token, hiding(sink)) for token, sink in self.sinks]
            self.sinks.append((t.token, t.log.sink if errors is None else errors.watching(t.log.sink)))
            if t.is_trace:
                self.trace = t
        is_alone = len(tapes) == 1
        self.mark = tapes[0].token if is_alone else Mark(frozenset([t.token for t in tapes]))
        self.sink = self.sinks[0][1] if is_alone else None
        self.only_log = tapes[0].log if is_alone and self.trace is None else None


CURRENT: ContextVar[Recorder | None] = ContextVar("tapec_recorder", default=None)
current = CURRENT.get  # for what is asked at each operation: Python takes twice as long to look up the method as well


def recordings(t: Any) -> list[Any]:
    """The active recordings that watch a tensor."""
    rec, mark = CURRENT.get(), t._mark
    if rec is None or mark is None:
        return []
    found = [tape for tape in rec.tapes if tape.token in mark.tokens]
    hiding = [k for k, tape in enumerate(found) if hasattr(tape, "hiding")]
    return found[hiding[-1] :] if hiding else found


def recordings_around(trace: Any) -> list[Any]:
    """Return the recordings around a traced function, the innermost first; they are not active while it runs.

    A trace knows what was active when it began, or, where it stands in the place of another trace, that one.
    """
    found: list[Any] = []
    while trace is not None:
        outer = getattr(trace, "outer", None)
        if isinstance(outer, Recorder):
            found += reversed(outer.tapes)
            trace = outer.trace
        else:
            found += [] if outer is None else [outer]
            trace = outer
    return found


def read_around(t: Any) -> list[Any]:
    """Return the recordings around the traced function that runs which watch a tensor: these are not active meanwhile.

    It has found the tensor past its captured state, which it must not do unseen: so it is recorded anew at each call.
    """
    rec, mark = CURRENT.get(), t._mark
    if rec is None or rec.trace is None or mark is None or not mark.tokens.isdisjoint(rec.mark.tokens):
        return []
    found = [tape for tape in recordings_around(rec.trace) if tape.token in mark.tokens]
    if found:
        rec.trace.require_retrace(READS_AROUND)
    return found


READS_AROUND = "code that cannot be followed reads tensors of a recording around it"


def traces(t: Any) -> list[Any]:
    """Return the recordings that watch a tensor and are traced functions."""
    rec = CURRENT.get()
    if rec is None or rec.trace is None:
        return []
    return [tape for tape in recordings(t) if tape.is_trace]


def traces_or_around(t: Any) -> list[Any]:
    """Return the traced functions that watch a tensor; where none does, those around the one that runs."""
    return traces(t) or [tape for tape in read_around(t) if tape.is_trace]


def captures_now() -> Any:
    """Return what the function that is being traced captures; None where none is."""
    rec = CURRENT.get()
    if rec is None or rec.trace is None:
        return None
    return next((c for t in reversed(rec.tapes) if (c := getattr(t, "captures", None)) is not None), None)


def in_batch() -> bool:
    """Return whether a function is being traced with one example of a batch."""
    rec = CURRENT.get()
    return rec is not None and rec.trace is not None and any([getattr(t, "varying", None) for t in rec.tapes])


def in_making_batch() -> bool:
    """Return whether that is so, and the arrays that the run makes are tensors."""
    rec = CURRENT.get()
    return rec is not None and in_batch() and getattr(rec.trace, "making", False)


def push(tape: Any) -> None:
    """Make a recording the innermost active one."""
    rec = current()
    CURRENT.set(Recorder((tape,) if rec is None else (*rec.tapes, tape)))


def pop(tape: Any) -> None:
    """Take a recording out, wherever it stands; no error when it is not there."""
    rec = current()
    if rec is not None and tape in rec.tapes:
        rest = tuple([t for t in rec.tapes if t is not tape]) if len(rec.tapes) > 1 else ()
        CURRENT.set(Recorder(rest) if rest else None)
        tape.log.scan()  # while every tensor still has the value that was recorded


def unrecorded(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return what a function returns while nothing is recorded."""
    before = CURRENT.get()
    CURRENT.set(None)
    try:
        return f(*args, **kwargs)
    finally:
        CURRENT.set(before)
