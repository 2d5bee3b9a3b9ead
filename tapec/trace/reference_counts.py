"""Count the references to an object, to tell whether somebody else holds it.

Comes in: a list or dict, and where in it the object is.  Goes out: a count.

A recording holds every tensor and array that it has seen. A user may hold any of them: by a name, in a list, through a
view. Only the interpreter's counts tell whether one does. Weak references would not: they tell it after the recording
has let go, but a gradient that fails must leave its recording as it was. A count that is too high is no error: then
memory is not used again, or an array is refused.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any
from weakref import getweakrefcount

__all__ = ["others"]


_HOLDER = [object()]
_OF_ONE_HOLDER = getrefcount(_HOLDER[0])  # with those that counting adds, which depends on the interpreter


def others(holder: Any, key: Any) -> int:
    """Count the references to `holder[key]` beside that of `holder`: names, items, views and weak references."""
    return getrefcount(holder[key]) + getweakrefcount(holder[key]) - _OF_ONE_HOLDER
