"""Show how far a job is: in a display of the notebook; on a terminal by tqdm where that is installed, else in a line.

tqdm is never asked to start its thread, which would stay.
"""

from __future__ import annotations

import shutil
import sys
from html import escape
from importlib import import_module
from typing import Any

__all__ = ["Bar", "Line", "NotebookText", "display"]


def display(is_notebook: bool) -> Any:
    """Return a new display, with `show(text, done, of, seconds)` and `close()`."""
    if is_notebook:
        return NotebookText()
    try:
        return Bar(import_module("tqdm"))
    except Exception:  # it is not installed, or is another version
        return Line()


class Bar:
    """A bar of tqdm."""

    def __init__(self, module: Any):
        self.bar = type("tqdm", (module.tqdm,), {"monitor_interval": 0})(
            total=1, leave=False, bar_format=_FORMAT, delay=1e-9
        )

    def show(self, text: str, done: int, of: int, seconds: float) -> None:
        bar = self.bar
        bar.total, bar.n = of or None, done
        bar.start_t = bar._time() - seconds  # when the job began, not when it was first shown
        bar.set_description_str(text, refresh=False)
        bar.refresh()

    def close(self) -> None:
        self.bar.close()


_FORMAT = "{desc} |{bar:20}| {elapsed}"


class Line:
    """One line of the terminal, which is written over."""

    def show(self, text: str, done: int, of: int, seconds: float) -> None:
        part = f", {done} of {of}" if of else ""
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r{f'{text}{part} … {seconds:.0f} s'[:width]}\x1b[K")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


class NotebookText:
    """A text below the cell, which is empty in the end."""

    def __init__(self) -> None:
        self.tools: Any = import_module("IPython.display")
        self.handle: Any = None

    def show(self, text: str, done: int, of: int, seconds: float) -> None:
        bar = f'<progress value="{done}" max="{of}"></progress> ' if of else ""
        told = self.tools.HTML(f"{bar}<small>{escape(text)} … {seconds:.0f} s</small>")
        if self.handle is None:
            self.handle = self.tools.display(told, display_id=True)
        else:
            self.handle.update(told)

    def close(self) -> None:
        if self.handle is not None:
            self.handle.update(self.tools.HTML(""))
