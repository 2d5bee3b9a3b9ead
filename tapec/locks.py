"""List all locks, and renew them in the child of a fork.

A child has the one thread that forked. A lock that another thread held at that moment is held in the child for ever,
so all locks are new there. What such a lock guards may be half changed, and a module half imported; so a fork waits a
while until no other thread traces or compiles. `tapec.runtime.gc_pause` does that, and has locks of its own for it.

A lock of a module stands in `MODULE_LOCKS`; an object with a lock of its own is told to `renew_lock_of`. Before
Python 3.12 `cached_property` has a lock of its own, so `computed_once` stands in its place.
"""

from __future__ import annotations

import os
import sys
from threading import RLock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

__all__ = ["MODULE_LOCKS", "computed_once", "renew_lock_of"]

# module -> its lock
MODULE_LOCKS = {
    "tapec.api.compiled.fresh.families": "_LOCK",
    "tapec.api.tape.gradient_request": "_SCANNING",
    "tapec.api.tape.gradient_tape": "_MARKING",
    "tapec.codegen.common.loader": "_lock",
    "tapec.config": "_lock",
    "tapec.errors": "_FILTERS",
    "tapec.ops.special.ufunc_definitions": "_DEFINING",
    "tapec.trace.capture.module_stand_ins.numpy_view": "_VIEWING",
}
_OWNERS: WeakKeyDictionary[Any, str] = WeakKeyDictionary()  # object -> the attribute that is its lock


def renew_lock_of(owner: Any, name: str) -> None:
    """Give this attribute of an object a new lock after each fork, as long as the object lives."""
    _OWNERS[owner] = name


def _renew() -> None:
    """Make the locks anew. A block that the forking thread is in gives back the old lock."""
    for module, name in MODULE_LOCKS.items():
        if module in sys.modules:
            setattr(sys.modules[module], name, RLock())
    for owner, name in list(_OWNERS.items()):
        setattr(owner, name, RLock())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


if TYPE_CHECKING:
    from functools import cached_property as computed_once
else:

    class computed_once:
        """Computes an attribute when it is first read, without a lock: two threads may both compute it."""

        def __init__(self, make):
            self.make = make
            self.__doc__ = make.__doc__

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, owner, kind=None):
            if owner is None:
                return self
            value = owner.__dict__[self.name] = self.make(owner)
            return value
