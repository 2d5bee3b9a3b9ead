"""Short buffers of NumPy's, for operations on arrays that are not much longer than those.

Where a row or a column is broadcast NumPy copies it into a buffer, again and again, to run over many rows at once. As
it comes, that is as long as 8192 elements: as much memory as the array itself, where that is no longer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["buffer_for", "with_buffer"]

USUAL = 8192  # elements of NumPy's buffer
PART = 8  # so many times longer than it an array ought to be
STEP = 16  # elements that its length is a multiple of
LEAST = 256  # elements below which operations take longer


def buffer_for(size: int) -> int | None:
    """The length for arrays of so many elements; None for what is usual."""
    return None if size >= PART * USUAL else max(LEAST, size // PART // STEP * STEP)


def with_buffer(length: int, function: Callable[..., Any], values: Any, **options: Any) -> Any:
    """What a function gives while NumPy's buffers have this length."""
    before = np.setbufsize(length)
    try:
        return function(*values, **options)
    finally:
        np.setbufsize(before)


try:
    from numpy._core.umath import _extobj_contextvar, _make_extobj
except ImportError:
    pass
else:
    _known: dict[int, tuple[Any, Any]] = {}  # by length: what was in force, and what was made of it

    def with_buffer(length: int, function: Callable[..., Any], values: Any, **options: Any) -> Any:
        """The same in a fifth of the time: as `np.setbufsize` does it, and back to what was there."""
        now = _extobj_contextvar.get()
        known = _known.get(length)
        if known is None or known[0] is not now:
            known = _known[length] = now, _make_extobj(bufsize=length)
        _extobj_contextvar.set(known[1])
        try:
            return function(*values, **options)
        finally:
            _extobj_contextvar.set(now)
