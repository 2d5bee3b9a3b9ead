"""Print tensors: `print(t)`, `f"{t}"`, and errors with tensors in them.

Outside a traced function a tensor shows itself as what it is. In a traced function the user sees the array that was
passed in, as if nothing were traced: what is printed, and what an error says, is what NumPy would print. A text can
also be part of the computation (`params[f"w{n}"]`), so an integer that is turned into text is a fact that the path
relies on, unless the line does nothing but show it.
"""

from __future__ import annotations

import linecache
import re
from typing import Any

import numpy as np

from tapec.errors import user_frame
from tapec.trace import tuning
from tapec.trace.classes import TensorBase, unwrap
from tapec.trace.recording_stack import traces

__all__ = ["plain_arguments", "to_format", "to_str"]

_SHOWS = r"\s*(print|pprint|raise|assert|warn|warnings\.warn|log\w*(\.\w+)*|sys\.std(out|err)\.write)\b"


def to_str(t: TensorBase) -> str:
    return str(_looked_at(t)) if traces(t) else repr(t)


def to_format(t: TensorBase, spec: str) -> str:
    if traces(t):
        return format(_looked_at(t), spec)
    return format(t._value if np.ndim(t._value) else t._value.item(), spec) if spec else str(t)


def _looked_at(t: TensorBase) -> Any:
    if not t.shape and t.dtype.kind in "iub" and not _only_shown():
        kind = bool if t.dtype.kind == "b" else int
        for trace in traces(t):
            trace.guard(kind, t, kind(t._value))
    return t._value


def _only_shown() -> bool:
    """Return whether the user's statement prints, logs or raises."""
    frame = user_frame(2)
    if frame is None:
        return True
    code = frame.f_code.co_filename
    for k in range(frame.f_lineno, max(frame.f_lineno - tuning.STATEMENT_MAX_LINES, 0), -1):
        if re.match(_SHOWS, linecache.getline(code, k)):
            return True
        if not linecache.getline(code, k - 1).rstrip().endswith(("(", "[", "{", ",")):
            return False  # the statement begins here
    return False


def plain_arguments(error: BaseException) -> None:
    """Make plain what an error that leaves a traced function holds: `raise ValueError("too large", x)`."""
    if any(isinstance(a, TensorBase) for a in error.args):
        error.args = tuple([unwrap(a) for a in error.args])
    for name, value in list(getattr(error, "__dict__", {}).items()):
        if isinstance(value, TensorBase):
            error.__dict__[name] = unwrap(value)
