"""Find the first line at which a recording and plain NumPy part: both runs are traced line by line, and compared."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from linecache import getline
from types import FrameType
from typing import Any

import numpy as np

from tapec.api import tuning
from tapec.errors import is_user_file, place_name
from tapec.trace.classes import unwrap

__all__ = ["parting_line"]

Summary = tuple[Any, ...]
Step = tuple[str, int, int, dict[str, Summary]]  # a file, the line that has run there, the next one, the local values


def parting_line(recorded: Callable[[], Any], plain: Callable[[], Any]) -> str:
    """Return `file.py:7 (its text)`, or an empty string where no line is found."""
    for (file, ran, line, now), (file_of_other, _, other, then) in zip(_steps(recorded), _steps(plain)):
        if (file, line) != (file_of_other, other) or any(_differ(now[k], then[k]) for k in now.keys() & then.keys()):
            return f"{place_name(file, ran)} ({getline(file, ran).strip()})"
    return ""


def _steps(run: Callable[[], Any]) -> list[Step]:
    """Run, and note the numbers that the local variables of user code hold before each line and at each return."""
    steps: list[Step] = []
    last: dict[int, int] = {}

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        file = frame.f_code.co_filename
        if file == "<string>" or not is_user_file(file) or len(steps) >= tuning.TRACED_LINES_MAX:
            return None
        if event in ("line", "return"):
            held = {name: s for name, x in frame.f_locals.items() if (s := _summary(x)) is not None}
            if event == "return":
                held["return"] = _summary(_) or ()
            ran = last.get(id(frame), frame.f_lineno)
            steps.append((file, ran, frame.f_lineno, held))
            last[id(frame)] = frame.f_lineno
        elif event == "call":
            last.pop(id(frame), None)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    except Exception:  # the steps until then are compared
        return steps
    finally:
        sys.settrace(before)
    return steps


def _summary(x: Any) -> Summary | None:
    """Return a few numbers that differ where arrays do, mostly."""
    x = unwrap(x)
    if not isinstance(x, (np.ndarray, np.generic, int, float, complex)):
        return None
    a = np.asarray(x)
    if a.dtype.kind not in "fciub":
        return None
    with np.errstate(all="ignore"):
        finite = np.where(np.isfinite(a), a, 0).astype(complex).ravel()
        weights = np.cos(np.arange(finite.size))
        sums = finite.sum(), (finite * weights).sum(), np.abs(finite).max(initial=0.0)
    return a.shape, a.dtype if a.ndim else None, int(np.isnan(a).sum()), *sums


def _differ(a: Summary, b: Summary) -> bool:
    if a[:3] != b[:3]:
        return True
    scale = max([abs(x) for x in (*a[3:], *b[3:])], default=0.0)
    return any(not math.isclose(abs(x - y), 0.0, abs_tol=1e-6 * scale) for x, y in zip(a[3:], b[3:]))
