"""Print results: colour for a terminal, tables, and a sign of life when something takes long."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tapec.cli import tuning
from tapec.progress import job
from tapec.report.highlight import ansi

__all__ = [
    "is_colored",
    "show",
    "show_code",
    "show_json",
    "styled",
    "table",
    "use_color",
    "working",
]


_working = False
_STYLES = {"bold": "1", "dim": "90", "good": "32", "bad": "31", "note": "36"}
_color = False


def use_color(when: str) -> None:
    """`auto`: on a terminal, unless NO_COLOR is set; FORCE_COLOR counts as a terminal."""
    global _color
    if when == "auto":
        on = (sys.stdout.isatty() and os.environ.get("TERM") != "dumb") or bool(os.environ.get("FORCE_COLOR"))
        _color = on and not os.environ.get("NO_COLOR")
    else:
        _color = when == "always"


def is_colored() -> bool:
    return _color


def styled(text: str, style: str) -> str:
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if _color and text else text


def show(text: str = "") -> None:
    sys.stdout.write(text + "\n")


def show_code(text: str, language: str = "python") -> None:
    """Print source, graph text or a diff, highlighted on a terminal."""
    text = text.rstrip("\n")
    show(ansi(text, language) if _color else text)


def show_json(data: Any) -> None:
    json.dump(data, sys.stdout, indent=2, default=_plain)
    sys.stdout.write("\n")


def _plain(x: Any) -> Any:
    if isinstance(x, np.generic):
        return x.item()
    if isinstance(x, np.ndarray):
        return x.tolist()
    return str(x)


def table(rows: Sequence[Sequence[Any]], head: Sequence[str] = (), right: str = "") -> str:
    """Lay out columns as text; `right` has an `r` for each column that is aligned to the right."""
    lines = [[str(cell) for cell in row] for row in ([head, *rows] if head else rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))] if lines else []
    right = right.ljust(len(widths))
    out = []
    for n, line in enumerate(lines):
        cells = [c.rjust(w) if r == "r" else c.ljust(w) for c, w, r in zip(line, widths, right)]
        text = "  ".join(cells).rstrip()
        out.append(styled(text, "bold") if head and n == 0 else text)
    return "\n".join(out)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Say on a terminal what takes so long, once it has taken a second; what is done within it says nothing more."""
    global _working
    if _working or not sys.stderr.isatty():
        yield
        return
    _working = True
    done = threading.Event()
    inside = job(what, quiet=True)
    thread = threading.Thread(target=_tick, args=(inside, done), daemon=True)
    thread.start()
    try:
        with inside:
            yield
    finally:
        _working = False
        done.set()
        thread.join()


def _tick(inside: job, done: threading.Event) -> None:
    seconds = 1
    while not done.wait(tuning.WORKING_SECONDS):
        now = inside.own.what if inside.own is not None else ""
        line = f"{inside.name}{': ' if now else ''}{now} … {seconds} s"
        sys.stderr.write("\r" + line[: shutil.get_terminal_size().columns - 1] + "\x1b[K")
        sys.stderr.flush()
        seconds += 1
    if seconds > 1:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
