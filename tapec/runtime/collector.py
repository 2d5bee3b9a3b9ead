"""The garbage collector rests while a graph is built.

Building makes very many small objects that all stay alive; each time the collector walks them all it finds nothing, and
a compilation that should be linear is not.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

__all__ = ["resting_collector"]

_lock = Lock()
_resting = 0
_was_enabled = False


@contextmanager
def resting_collector() -> Iterator[None]:
    """Switch the collector off until the last of those who asked for it is done."""
    global _resting, _was_enabled
    with _lock:
        if _resting == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _resting += 1
    try:
        yield
    finally:
        with _lock:
            _resting -= 1
            if _resting == 0 and _was_enabled:
                _age()
                gc.enable()


def _age() -> None:
    """Count what was made meanwhile among the old objects, so that it is not walked through at once."""
    if gc.get_freeze_count() == 0:  # else somebody keeps objects frozen, and we would thaw them
        gc.freeze()
        gc.unfreeze()
