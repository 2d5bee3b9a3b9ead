"""`resting_collector` rests the garbage collector while a graph is built.

Building makes very many small objects that all stay alive; each time the collector walks them all it finds nothing, and
a compilation that should be linear is not. Afterwards what was made counts as old, which puts off the collector's own
turns as well. A program that compiles ever new functions would keep all their garbage, so there is a full collection
where the objects that were made are many beside those that lived at the last one.

Whatever traces, compiles or imports does so while the collector rests; so a fork knows here when no thread is at work.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock, get_ident
from time import monotonic, sleep

from tapec.runtime import tuning

__all__ = ["resting_collector"]


_gate = RLock()  # of those who begin to work
_lock = RLock()
_at_work: dict[int, int] = {}  # threads, and how often each has asked for rest and is not done
_was_enabled = False
_aged = 0  # objects that were made meanwhile, since the last full collection
_alive = 0  # objects that this one left
_unasked = 0  # times that are left before anybody asks again whether objects are frozen


@contextmanager
def resting_collector() -> Iterator[None]:
    """Switch the collector off until the last of those who asked for it is done."""
    global _was_enabled
    thread = get_ident()
    with _lock if thread in _at_work else _gate, _lock:
        if not _at_work:
            _was_enabled = gc.isenabled()
            gc.disable()
        _at_work[thread] = _at_work.get(thread, 0) + 1
    try:
        yield
    finally:
        with _lock:
            count = _at_work.pop(thread, 1) - 1
            if count:
                _at_work[thread] = count
            elif not _at_work and _was_enabled:
                _age()
                gc.enable()
            elif _was_enabled and gc.get_count()[0] > tuning.AGED_MIN_OBJECTS:
                _collect()  # other threads compile without an end, and garbage must not wait for it


def _before_fork() -> None:
    """Wait until no other thread is at work, and let none begin: in the child nothing is half compiled or imported."""
    deadline = monotonic() + tuning.FORK_WAIT_SECONDS
    _gate.acquire()
    while {*_at_work} - {get_ident()} and monotonic() < deadline:
        sleep(tuning.FORK_LOOK_SECONDS)
    _lock.acquire()


def _after_fork() -> None:
    """Let other threads go on; in the child there are none any more."""
    _lock.release()
    _gate.release()


def _in_child() -> None:
    global _gate, _lock
    _gate, _lock = RLock(), RLock()
    if _at_work and _was_enabled:
        gc.enable()
    _at_work.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)


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
