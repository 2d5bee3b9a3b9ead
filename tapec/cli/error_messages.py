"""Write what is wrong with a call as one message, and tracebacks with the user's frames alone."""

from __future__ import annotations

import importlib
import os
import re
import runpy
import sysconfig
import traceback
from types import TracebackType

from tapec.config import settings
from tapec.errors import TapecError, is_user_file
from tapec.extras import EXTRAS, install_hint

__all__ = ["Problem", "describe", "user_traceback"]


class Problem(Exception):
    """Raised where something is wrong with the call; exit code 2."""


def describe(error: BaseException) -> str:
    """Return the message for an error of the user's code or of tapec, with the user's line when it does not name
    one."""
    line = _last_user_line(error.__traceback__)
    if isinstance(error, OSError) and error.strerror and error.filename is not None and not line:
        return f"{error.filename}: {error.strerror}"
    text = str(error) or type(error).__name__
    if not line:  # no line of the user's was running: a line that the message begins with is one of ours
        text = _LINE.sub("", text)
    if not isinstance(error, TapecError) and not _LINE.match(text):  # what begins with a line is a message of ours
        text = f"{type(error).__name__}: {text}"
    package = (getattr(error, "name", None) or "").partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and package in EXTRAS and install_hint(package) not in text:
        text += f" ({install_hint(package)})"
    notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()) if note != f"at {line}")
    return (text if not line or line in text or _LINE.match(text) else f"{line}: {text}") + notes


_LINE = re.compile(r"\A[\w.\-]+:\d+: ")


def _last_user_line(tb: TracebackType | None) -> str:
    frames = [f for f in traceback.extract_tb(tb) if is_shown(f.filename) and not f.filename.startswith(_LIBRARY)]
    return f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""


def user_traceback(error: BaseException) -> str:
    """The traceback as Python prints it, without frames of tapec or of the import machinery.

    Where the setting `traceback` is "full", these are in it.
    """
    report = traceback.TracebackException.from_exception(error)
    if settings.traceback == "full":
        return "".join(report.format())
    todo: list[traceback.TracebackException | None] = [report]
    seen: set[int] = set()
    while todo:
        part = todo.pop()
        if part is not None and id(part) not in seen:
            seen.add(id(part))
            part.stack = traceback.StackSummary.from_list([f for f in part.stack if is_shown(f.filename)])
            todo += [part.__cause__, part.__context__]
    return "".join(report.format())


_LIBRARY = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "purelib", "platlib")})
_MACHINERY = (runpy.__file__, os.path.dirname(importlib.__file__) + os.sep)


def is_shown(filename: str) -> bool:
    """Return whether a file is shown: files of the user and of libraries, and generated code."""
    return is_user_file(filename) and not filename.startswith(_MACHINERY)
