"""Know what the first call that runs now does, and since when; show it once it has taken a second.

No thread watches: whoever works says where it is by `at`, and that looks at the clock. Where nobody looks (no terminal,
no notebook, or the setting `progress` is off) there is no job, and `at` compares one name with None.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from threading import get_ident
from time import perf_counter
from typing import Any

from tapec.config import in_force
from tapec.progress import tuning
from tapec.progress.lazy import display_for

__all__ = ["Job", "at", "counting", "is_notebook", "job"]


class Job:
    """A first call: its name, what it does now, and where that is shown."""

    __slots__ = ("display", "done", "due", "name", "of", "owner", "start", "what")

    def __init__(self, name: str, is_shown: bool):
        self.name, self.owner, self.start = name, get_ident(), perf_counter()
        self.due = self.start + tuning.FIRST_SECONDS if is_shown else float("inf")
        self.what, self.done, self.of = "", 0, 0
        self.display: Any = None

    @property
    def text(self) -> str:
        return f"tapec: {self.name}: {self.what}"

    def show(self, now: float) -> None:
        self.due = now + tuning.SHOWN_SECONDS
        try:
            if self.display is None:
                self.display = display_for(is_notebook())
            self.display.show(self.text, self.done, self.of, now - self.start)
        except Exception:  # whatever a closed stream, or another version of tqdm, raises: the call goes on without
            self.due = float("inf")

    def end(self) -> None:
        if self.display is not None:
            try:
                self.display.close()
            except Exception:  # as above
                return


_now: Job | None = None


def at(what: str, count: int | None = None, name: str = "", done: int = 0, of: int = 0) -> None:
    """Say what is done now, `done` of `of` being behind: `pass cse, 12 000 operations`."""
    current = _now
    if current is None or current.owner != get_ident():
        return
    words = f"{what} {name}" if name else what
    if count is not None:
        words += f", {f'{count:,}'.replace(',', ' ')} operations"
    current.what = words
    current.done, current.of = done, of
    now = perf_counter()
    if now >= current.due:
        current.show(now)


def counting(take: Callable[[Any], None], records: list[Any]) -> Callable[[Any], None]:
    """Return what takes a record, and says now and then how many there are; the same function where nobody looks."""
    if _now is None:
        return take

    def counted(entry: Any) -> None:
        take(entry)
        if len(records) % tuning.COUNTED_RECORDS == 0:
            at("tracing", len(records))

    return counted


class job:
    """Holds the block of a first call; one inside another is part of that. `quiet` ones are shown by somebody else."""

    __slots__ = ("name", "own", "quiet")

    def __init__(self, name: str, quiet: bool = False):
        self.name, self.quiet = name, quiet
        self.own: Job | None = None

    def __enter__(self) -> job:
        global _now
        if _now is None and (self.quiet or (in_force().progress and _is_looked_at())):
            _now = self.own = Job(self.name, not self.quiet)
        return self

    def __exit__(self, *error: Any) -> None:
        global _now
        if self.own is not None:
            _now = None
            self.own.end()
            self.own = None


def _is_looked_at() -> bool:
    stream = sys.stderr
    if stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb":
        return True
    return is_notebook()


def is_notebook() -> bool:
    """Return whether the output is a notebook's, by what IPython tells where it runs."""
    if "IPython" not in sys.modules:
        return False
    shell = getattr(sys.modules["IPython"], "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")
