"""`resting_collector` rests the garbage collector while a graph is built.

Building makes very many small objects that all stay alive; each time the collector walks them all it finds nothing, and
a compilation that should be linear is not. Afterwards what was made counts as old, which puts off the collector's own
turns as well. A program that compiles ever new functions would keep all their garbage, so there is a full collection
where the objects that were made are many beside those that lived at the last one.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from tapec.runtime import tuning

__all__ = ["resting_collector"]


_lock = Lock()
_resting = 0
_was_enabled = False
_aged = 0  # objects that were made meanwhile, since the last full collection
_alive = 0  # objects that this one left
_unasked = 0  # times that are left before anybody asks again whether objects are frozen


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
            elif _was_enabled and gc.get_count()[0] > tuning.AGED_MIN_OBJECTS:
                _collect()  # other threads compile without an end, and garbage must not wait for it


def _age() -> None:
    """Count what was made meanwhile among the old objects, so that it is not walked through at once."""
    global _aged, _alive, _unasked
    if _unasked > 0:
        _unasked -= 1
        return
    if gc.get_freeze_count() > 0:  # somebody keeps objects frozen, and we would thaw them
        _unasked = tuning.FROZEN_UNASKED_COMPILATIONS
        return
    _aged += gc.get_count()[0]
    gc.freeze()
    gc.unfreeze()
    if _aged > max(tuning.AGED_MIN_OBJECTS, _alive // 4):  # a quarter, as Python has it: the work stays linear
        _collect()


def _collect() -> None:
    global _aged, _alive
    gc.collect()
    _aged, _alive = 0, len(gc.get_objects())
