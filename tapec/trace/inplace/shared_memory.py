"""Tell which tensors share memory: the attribute `_link` of a tensor.

| tensor | its `_link` |
| --- | --- |
| a view | (base, steps from the base to the view) |
| a view out of date | the same, the recordings (weak) that were active when its base changed, a tensor of what it was |
| a base | its `Views` |
| any other | None, or the token of the trace in which it was made unwatched |
"""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np

from tapec.ir import Op
from tapec.trace.recording_stack import Token

__all__ = ["Step", "Views", "base_of", "is_shown", "made_in", "share", "show", "views_of"]

Step = tuple[Op, tuple[tuple[str, Any], ...], tuple[Any, ...]]  # op, parameters, inputs after the first


class Views:
    """Holds the views of a base that are up to date; `made` is the trace in which an unwatched base was made.

    `arrays` are the arrays of its elements that np.asarray has made, in which NumPy would have shared its memory.
    """

    __slots__ = ("arrays", "limit", "made", "refs")

    def __init__(self, made: Token | None):
        self.made = made
        self.refs: list[Any] = []
        self.limit = 16  # prune the list when it gets longer
        self.arrays: list[Any] = []

    def add(self, view: Any) -> None:
        if len(self.refs) > self.limit:
            self.refs = [r for r in self.refs if r() is not None]
            self.limit = 2 * len(self.refs) + 16
        self.refs.append(ref(view))


def views_of(base: Any) -> Views:
    """The views of a base; the list is made when it is first needed."""
    link = base._link
    if type(link) is not Views:
        link = base._link = Views(link)
    return link


def base_of(t: Any) -> Any:
    """The tensor whose memory this one looks at: itself, if it is nobody's view."""
    link = t._link
    return link[0] if type(link) is tuple else t


def made_in(t: Any) -> Token | None:
    """The trace in which an unwatched tensor was made."""
    link = base_of(t)._link
    return link.made if type(link) is Views else link


def show(t: Any, array: np.ndarray) -> np.ndarray:
    """Return an array of a tensor's elements, in which NumPy would share its memory: neither may change while the other
    is in use."""
    array.flags.writeable = False
    views = views_of(base_of(t))
    views.arrays = [*[r for r in views.arrays if r() is not None], ref(array)]
    return array


def is_shown(base: Any) -> bool:
    """Return whether there is an array of a tensor's elements in which NumPy would share its memory."""
    link = base._link
    return type(link) is Views and any([r() is not None for r in link.arrays])


def share(out: Any, parent: Any, steps: tuple[Step, ...]) -> None:
    """Note that a result, an array that looks at memory of another one, is a view of the first operand, if it is."""
    value = parent._value
    if type(value) is not np.ndarray and type(parent._link) is not tuple:
        return
    owner = out._value.base
    if owner is not value and owner is not value.base:
        if not (np.may_share_memory(out._value, value) or _is_place(out, parent, steps)):
            return
    link = parent._link
    if type(link) is tuple:
        parent, steps = link[0], link[1] + steps
        link = parent._link
    out._link = (parent, steps)
    if type(link) is Views and len(link.refs) <= link.limit:  # as `views_of` and `add` do it
        link.refs.append(ref(out))
    else:
        views_of(parent).add(out)


def _is_place(out: Any, parent: Any, steps: tuple[Step, ...]) -> bool:
    """Return whether one of two tensors is a view without axes, as `y[..., 0]` of a vector is.

    The value of such a view is held as a number, which has no memory.
    """
    return not (np.ndim(parent._value) and np.ndim(out._value)) and all([op.view for op, _, _ in steps])
