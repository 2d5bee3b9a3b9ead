"""Turn tensors into text: `print(t)`, `str(t)`, `f"{t}"`, and errors with tensors in them.

Outside a traced function a tensor shows itself as what it is. In a traced function the user sees the array that was
passed in, as if nothing were traced: what is printed, and what an error says, is what NumPy would print.

A text can also be part of the computation (`params[f"w{n}"]`, `float(f"{x:.1f}")`). So the number in it is a fact that
the path relies on, and text of an array lets the function be recorded at each call, unless the text goes nowhere: it
is an argument of `print`, `warnings.warn` or a method of a logger, as the call stands there. A path whose function
raises is never compiled, so the texts of errors need no rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import user_frame
from tapec.trace.classes import TensorBase, unwrap
from tapec.trace.escape.text_sinks import goes_nowhere, outlets
from tapec.trace.recording_stack import traces_or_around

__all__ = ["looked_at", "plain_arguments", "to_format", "to_repr", "to_str"]


def to_str(t: TensorBase) -> str:
    return str(looked_at(t)) if traces_or_around(t) else repr(t)


def to_format(t: TensorBase, spec: str) -> str:
    if traces_or_around(t):
        return format(looked_at(t), spec)
    value = t._value.item() if isinstance(t._value, np.generic) else t._value
    return format(value, spec) if spec else str(t)


def to_repr(t: TensorBase) -> str | None:
    """Return how a traced function sees a tensor; None outside."""
    return repr(looked_at(t)) if traces_or_around(t) else None


def looked_at(t: TensorBase) -> Any:
    """Return the value, of which text is made; traces note what they rely on by that."""
    frame, value = user_frame(2), t._value
    shown = frame is not None and goes_nowhere(frame)
    kind = None if t.shape else _KINDS.get(t.dtype.kind)
    for trace in traces_or_around(t):
        if shown and trace.outlets == outlets():
            continue
        if kind is None or (kind is float and (not np.isfinite(value) or value == 0)):  # which no comparison tells
            trace.require_retrace(f"it makes text of {'an array' if t.shape else value}")
        else:
            trace.guard(kind, t, kind(value))
    return value


_KINDS = {"b": bool, "i": int, "u": int, "f": float}


def plain_arguments(error: BaseException) -> None:
    """Make plain what an error that leaves a traced function holds: `raise ValueError("too large", x)`."""
    if any(isinstance(a, TensorBase) for a in error.args):
        error.args = tuple([unwrap(a) for a in error.args])
    for name, value in list(getattr(error, "__dict__", {}).items()):
        if isinstance(value, TensorBase):
            error.__dict__[name] = unwrap(value)
