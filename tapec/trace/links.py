"""Who shares memory with whom: what a tensor's `_link` holds."""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np

from tapec.ir import Op
from tapec.trace.recorder import Token

__all__ = ["Link", "Step", "base_of", "link_of", "made_in", "share"]

Step = tuple[Op, tuple[tuple[str, Any], ...], tuple[Any, ...]]  # op, parameters, inputs after the first


class Link:
    """Of a base: its `views` that are up to date. Of a view: its `base` and the `steps` from there to it.

    `made` is the trace in which an unwatched base was made; `tapes` (weak) recorded when a view became out of date.
    """

    __slots__ = ("base", "limit", "made", "steps", "tapes", "views")

    def __init__(self, base: Any, steps: tuple[Step, ...], made: Token | None):
        self.base = base
        self.steps = steps
        self.made = made
        self.tapes: tuple[Any, ...] = ()
        self.views: list[Any] = []
        self.limit = 16  # prune the list of views when it gets longer

    def add(self, view: Any) -> None:
        if len(self.views) > self.limit:
            self.views = [r for r in self.views if r() is not None]
            self.limit = 2 * len(self.views) + 16
        self.views.append(ref(view))


def link_of(base: Any) -> Link:
    """The link of a base, made when it is first needed."""
    link = base._link
    if type(link) is not Link:
        link = base._link = Link(None, (), link)
    return link


def base_of(t: Any) -> Any:
    """The tensor whose memory this one looks at: itself, if it is nobody's view."""
    link = t._link
    return t if type(link) is not Link or link.base is None else link.base


def made_in(t: Any) -> Token | None:
    """The trace in which an unwatched tensor was made."""
    link = base_of(t)._link
    return link.made if type(link) is Link else link


def share(out: Any, parent: Any, step: Step) -> None:
    """Note that a result is a view of the first operand, if NumPy made it one."""
    value = parent._value
    if type(value) is not np.ndarray:
        return
    owner = out._value.base
    if owner is not value and owner is not value.base and not np.may_share_memory(out._value, value):
        return
    link = parent._link
    base, steps = (parent, ()) if type(link) is not Link or link.base is None else (link.base, link.steps)
    out._link = Link(base, (*steps, step), None)
    link_of(base).add(out)
