"""Let NumPy's warnings of floating point errors name the user's line, not the line of tapec that computes.

NumPy warns from C, at the Python code that called it. From the first recording on, a filter turns the warnings of the
modules that compute for tensors into errors; these modules compute once more, without errors, and warn at the user's
line. An operation that warns of nothing costs what it did. Where all warnings are ignored there is no such filter.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from tapec.errors import note_user_line, user_frame, warn_at
from tapec.trace import tuning

__all__ = ["told", "told_count", "watch_warnings"]

# in the order of `warnings.filters`: action, message, category, module, line
OWN = (
    "error",
    None,
    RuntimeWarning,
    re.compile(r"tapec\.trace\.(dispatch\.(operators|numpy_calls|plan_steps)|perform)\Z"),
    0,
)


class _Told(threading.local):
    count = 0


_told = _Told()


def told_count() -> int:
    """Return how many warnings were told in this thread."""
    return _told.count


def watch_warnings() -> None:
    """Put the filter before all others, where something begins to record."""
    filters: Any = warnings.filters
    first = filters[0] if filters else None
    if first is OWN or _told.count > tuning.TOLD_MAX_WARNINGS or (first is not None and _ignores_all(first)):
        return
    with suppress(ValueError):  # it is not there
        filters.remove(OWN)
    filters.insert(0, OWN)  # of this list: who has saved another one gets that back


def _ignores_all(one: Any) -> bool:
    action, message, category, module, line = one
    return action == "ignore" and message is module is None and not line and issubclass(RuntimeWarning, category)


def told(warning: RuntimeWarning, compute: Callable[..., Any], *operands: Any) -> Any:
    """Return what is computed in spite of a warning, and warn at the user's line; warnings may be errors there."""
    with np.errstate(all="ignore"):
        value = compute(*operands)
    _told.count += 1
    if _told.count > tuning.TOLD_MAX_WARNINGS:  # each has cost another computation
        with suppress(ValueError):  # another thread was here
            warnings.filters.remove(OWN)  # type: ignore[attr-defined]
    frame = user_frame(2)
    if frame is None:
        warnings.warn(str(warning), RuntimeWarning, stacklevel=3)
        return value
    try:
        warn_at(frame, str(warning), RuntimeWarning)
    except RuntimeWarning as error:
        note_user_line(error)
        raise
    return value
