"""Define every error and warning that tapec raises.

Comes in: nothing.  Goes out: one hierarchy below `TapecError`.  Must not be imported here: anything of tapec.

A message says what happened, where in the user's file, and how to fix it.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock, local
from types import FrameType
from typing import Any

import numpy

__all__ = [
    "DetachError",
    "GradientCheckError",
    "GraphError",
    "InPlaceError",
    "MismatchError",
    "NonFiniteError",
    "ParseError",
    "TapeError",
    "TapeTypeError",
    "TapeValueError",
    "TapecError",
    "TapecWarning",
    "UnsupportedError",
    "VerifyError",
    "at_user_line",
    "errors_of_values",
    "filtered_warnings",
    "depends_on_values",
    "is_installed",
    "is_user_file",
    "note_user_line",
    "place_name",
    "scipy_package",
    "script_frame",
    "user_frame",
    "user_line",
    "warn_at",
    "warn_user",
]


class TapecError(Exception):
    """The base of all errors that tapec raises on its own account."""


class GraphError(TapecError):
    """A graph is ill-formed, or an operation does not fit its operands."""


class ParseError(GraphError):
    """Raised for graph text that cannot be read; carries `line` and `column` (both from 1)."""

    def __init__(self, message: str, line: int = 0, column: int = 0):
        super().__init__(f"line {line}, column {column}: {message}" if line else message)
        self.line, self.column = line, column


class VerifyError(GraphError):
    """A pass or a transform left a graph that breaks the rules of graphs, or computes another value than before."""

    step: Any = None  # for `tapec bisect`: what left it


class UnsupportedError(TapecError, TypeError):
    """A NumPy function, or a way of calling it, that tapec has no op for."""


class DetachError(TapecError, RuntimeError):
    """A recorded tensor would become a plain number and lose its gradient silently.

    Not a TypeError nor a ValueError: NumPy swallows those while it converts.
    """


class InPlaceError(TapecError, ValueError):
    """An in-place change of something that must not change while it is recorded."""


class TapeError(TapecError, RuntimeError):
    """A tape is used against its life cycle."""


class TapeValueError(TapecError, ValueError):
    """A tape is asked at the wrong time, or given something that does not fit."""


class TapeTypeError(TapecError, TypeError):
    """A tape is given something that is no tensor."""


class GradientCheckError(TapecError, AssertionError):
    """A derivative that differs from differences of values, as `check_grads` measures them."""


class MismatchError(TapecError, AssertionError):
    """A result that differs from what plain NumPy gives, as `settings.check` found."""


class NonFiniteError(TapecError, FloatingPointError):
    """A generated line made a NaN or an infinity while `check_nan` is on."""


class TapecWarning(UserWarning):
    """Warns of something that works, but perhaps not as meant."""


PACKAGE_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
_NUMPY = os.path.dirname(os.path.abspath(numpy.__file__)) + os.sep
_SCIPY = os.path.join(os.path.dirname(os.path.dirname(_NUMPY)), "scipy", "")
_PANDAS = os.path.join(os.path.dirname(os.path.dirname(_NUMPY)), "pandas", "")
_STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def is_user_file(filename: str) -> bool:
    """Return whether a file is none of tapec, NumPy, SciPy or pandas, nor of the standard library."""
    if filename.startswith((PACKAGE_FOLDER, _NUMPY, _SCIPY, _PANDAS, "<frozen")):
        return False
    return not filename.startswith(_STANDARD) or any([folder in filename for folder in INSTALLED])


def is_installed(filename: str) -> bool:
    """Return whether a file is of a package that was installed, by whomever it was written."""
    return any(folder in filename for folder in INSTALLED) or not is_user_file(filename)


def scipy_package(filename: str) -> str:
    """Return where in SciPy a file lies, `special`, `linalg`, ...; an empty string for any other file."""
    return filename.removeprefix(_SCIPY).split(os.sep)[0] if filename.startswith(_SCIPY) else ""


def user_frame(depth: int = 1) -> FrameType | None:
    """The innermost frame of the user's own code."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def user_line(depth: int = 2) -> str:
    """Return `file.py:7` of the user's own code that is running, or an empty string.

    Where that is code of an installed package, `file.py:7 (package.py:120)` tells the line that has called it, too.
    """
    frame, script = user_frame(depth), script_frame(depth)
    if frame is None:
        return ""
    return _place(frame) if script is frame or script is None else f"{_place(script)} ({_place(frame)})"


def script_frame(depth: int = 1) -> FrameType | None:
    """The innermost frame of the user's own code that is none of an installed package."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None and is_installed(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def place_name(file: str, line: int) -> str:
    """Return `file.py:7`, or `In [3], line 7` where the file is the cell of a notebook."""
    cell = _cell_number(file)
    return f"In [{cell}], line {line}" if cell else f"{os.path.basename(file)}:{line}"


def _cell_number(file: str) -> str:
    """Return the number of the notebook's cell that runs under this file name, as IPython tells; else nothing."""
    found = _CELL.match(file)
    if found is None and "IPython" in sys.modules:
        shell = getattr(sys.modules["IPython"], "get_ipython", lambda: None)()
        name = getattr(getattr(shell, "compile", None), "format_code_name", lambda file: None)(file)
        found = _IN.search(name[1]) if name else None
    return found[1] if found else ""


_CELL = re.compile(r"<ipython-input-(\d+)-")
_IN = re.compile(r"\[(\d+)\]")


def _place(frame: FrameType) -> str:
    return place_name(frame.f_code.co_filename, frame.f_lineno)


def warn_user(message: str) -> None:
    """A TapecWarning at the user's own line that is running."""
    frame = user_frame(2)
    if frame is None:
        warnings.warn(message, TapecWarning, stacklevel=3)
        return
    warn_at(frame, message, TapecWarning)


def warn_at(frame: FrameType, message: str, category: type[Warning]) -> None:
    """Warn at the line that a frame runs. What was told is noted with its module: a traced function has globals of its
    own, which are gone after it."""
    name = frame.f_globals.get("__name__")
    space = vars(sys.modules[name]) if name in sys.modules else frame.f_globals
    registry = space.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno, name, registry)


@contextmanager
def filtered_warnings(action: str, category: type[Warning] = Warning) -> Iterator[None]:
    """Put a filter of warnings before the others in this block, in all threads.

    `warnings.catch_warnings` does so as well, but lets the whole process forget which warnings it has told: each that
    is to come once, from whatever library, would come again after each compilation. Threads may be in such blocks at
    the same time: each takes its own filter away.
    """
    own = (action, None, category, None, 0)
    with _FILTERS:
        warnings.filters = [own, *warnings.filters]
    try:
        yield
    finally:
        with _FILTERS:
            warnings.filters = [f for f in warnings.filters if f is not own]


_FILTERS = RLock()


def at_user_line(message: str) -> str:
    """The message with the user's line before it."""
    line = user_line(3)
    return f"{line}: {message}" if line else message


def depends_on_values(error: BaseException) -> bool:
    """Return whether other values of the same types may raise no such error.

    So it is with singular matrices, and with places that are not there.
    """
    return isinstance(error, (ArithmeticError, LookupError, ValueError, Warning)) and not isinstance(error, TapecError)


class _Noted(local):
    count = 0


_noted = _Noted()


def errors_of_values() -> int:
    """Return how often NumPy has raised an error in this thread that depends on values. Who caught one took a
    branch."""
    return _noted.count


def note_user_line(error: BaseException) -> None:
    """Let an error of NumPy's own kind say which line of the user's it came from; once is enough."""
    _noted.count += depends_on_values(error)
    if isinstance(error, TapecError) or any(note.startswith("at ") for note in getattr(error, "__notes__", ())):
        return
    line = user_line(3)
    if line:
        error.add_note(f"at {line}")
