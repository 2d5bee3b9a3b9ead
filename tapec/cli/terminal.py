"""Print results: colour for a terminal, tables, and a sign of life when something takes long."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tapec.cli import tuning
from tapec.progress import job
from tapec.report.highlight import ansi

__all__ = [
    "is_colored",
    "is_terminal",
    "open_address",
    "open_file",
    "show",
    "show_code",
    "show_json",
    "styled",
    "table",
    "use_color",
    "working",
]


_working = False
_STYLES = {"bold": "1", "dim": "90", "good": "32", "bad": "31", "note": "36", "warm": "33"}
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


def is_terminal() -> bool:
    """Return whether a person reads what is printed, not a file or a program."""
    return _color or sys.stdout.isatty()


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
    widths = [max(_width(line[k]) for line in lines) for k in range(len(lines[0]))] if lines else []
    right = right.ljust(len(widths))
    out = []
    for n, line in enumerate(lines):
        blanks = [" " * (w - _width(c)) for c, w in zip(line, widths)]
        cells = [blank + c if r == "r" else c + blank for c, blank, r in zip(line, blanks, right)]
        text = "  ".join(cells).rstrip()
        out.append(styled(text, "bold") if head and n == 0 else text)
    return "\n".join(out)


def _width(cell: str) -> int:
    """Return the columns that a cell takes, which its colours do not."""
    return len(_ESCAPES.sub("", cell))


_ESCAPES = re.compile(r"\x1b\[[\d;]*m")


def open_file(path: str) -> None:
    """Open a file in the browser."""
    open_address(Path(path).resolve().as_uri())


def open_address(address: str) -> None:
    """Show an address in the browser, or say that there is none."""
    import webbrowser

    if not webbrowser.open(address):
        print(f"no browser was found: open {address} yourself", file=sys.stderr)


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
