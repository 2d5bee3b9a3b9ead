"""Tell how large values are, to whoever decides what pays: passes and targets ask no one else.

A shape that says what a result is (its axes, broadcasting, whether there is anything at all) is read from the type. A
size that only tells whether a form is worth it is asked here, and so can be answered for sizes that are not known.
"""

from __future__ import annotations

from tapec.ir.node import Node
from tapec.ir.types import Type

__all__ = ["bytes_of", "elements", "length"]


def elements(x: Node | Type) -> int:
    """Return how many elements a value has."""
    return x.type.size if x.__class__ is Node else x.size  # type: ignore[union-attr]


def bytes_of(x: Node | Type) -> int:
    """Return how many bytes a value takes."""
    return x.type.nbytes if x.__class__ is Node else x.nbytes  # type: ignore[union-attr]


def length(x: Node | Type, axis: int) -> int:
    """Return how long an axis of a value is."""
    return x.type.shape[axis] if x.__class__ is Node else x.shape[axis]
