"""Copy the user's classes for a run, so that objects which it makes compute with what traced functions find.

Methods of objects that the function itself makes are plain functions: what their `np.zeros` gives takes no tensors. So
the function runs once more with tensors for the arrays that it makes (`trace.making`), and there a class that it looks
up is a copy, whose functions are clones. A run is refused of which an object of a copy stays, or that has set an
attribute of one: the error that the first run met is the user's then.
"""

from __future__ import annotations

import types
from abc import ABCMeta
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, partialmethod
from typing import Any

from tapec.errors import UnsupportedError, at_user_line
from tapec.pytree import STANDS_FOR
from tapec.trace.capture.captured_paths import class_file, is_own_class, is_own_code

__all__ = ["FollowedClasses"]


class FollowedClasses:
    """Holds the copies of classes of one traced run. `left` is the class of an object of theirs that was stored."""

    def __init__(self, captures: Any):
        self.left: type | None = None
        self._captures = captures
        self._copies: dict[type, type] = {}
        self._held: list[tuple[type, dict[str, Any]]] = []  # copies, with what they hold from the start

    def of(self, kind: type) -> type:
        """Return the copy of a class, or the class itself where it cannot be copied."""
        if kind in STANDS_FOR:
            return kind
        if kind not in self._copies:
            self._copies[kind] = self._copy(kind) if _can_be_copied(kind) else kind
        return self._copies[kind]

    def _copy(self, kind: type) -> type:
        space = {k: v for k, v in vars(kind).items() if type(v) not in _MADE_BY_PYTHON}
        copy = type(kind)(kind.__name__, tuple(map(self.of, kind.__bases__)), space)
        self._copies[kind] = copy  # before its functions are cloned, of which `super` looks for it
        STANDS_FOR[copy] = kind
        for name, value in space.items():
            followed = self._followed(value)
            if followed is not value:
                setattr(copy, name, followed)
                if type(followed) is cached_property:
                    followed.__set_name__(copy, name)
        self._held.append((copy, dict(vars(copy))))
        return copy

    def _followed(self, value: Any) -> Any:
        """Return what a class holds with clones for its functions."""
        kind, follow = type(value), self._captures.function_of
        if kind is types.FunctionType:
            return follow(value)
        if kind is staticmethod or kind is classmethod:
            return kind(follow(value.__func__))
        if kind is property:
            return property(follow(value.fget), follow(value.fset), follow(value.fdel), value.__doc__)
        if kind is cached_property:
            return cached_property(follow(value.func))
        if kind is partialmethod:
            return partialmethod(follow(value.func), *value.args, **value.keywords)
        again = getattr(kind, "_tapec_wrap_again", None)
        return value if again is None else again(value, follow)

    def note_leaving(self, x: Any) -> None:
        """Note that an object stays when the run is over, if it is one of a copy."""
        if type(x) in STANDS_FOR and STANDS_FOR[type(x)] in self._copies:
            self.left = STANDS_FOR[type(x)]

    @contextmanager
    def known(self) -> Iterator[None]:
        """Let copies count as the classes that they stand for, as long as the run lasts."""
        try:
            yield
        finally:
            for copy, _ in self._held:
                del STANDS_FOR[copy]

    def check(self) -> None:
        """Refuse a run of which objects stay, or that has set attributes of classes."""
        for copy, before in self._held:
            now = vars(copy)
            if now.keys() != before.keys() or any([now[name] is not before[name] for name in before]):
                self.left = STANDS_FOR[copy]
        if self.left is not None:
            raise UnsupportedError(
                at_user_line(f"an object or attribute of the class {self.left.__name__} stays when the run is over")
            )


_MADE_BY_PYTHON = {types.MemberDescriptorType, types.GetSetDescriptorType}  # slots, __dict__ and __weakref__


def _can_be_copied(kind: type) -> bool:
    """Return whether a class is the user's own, all of it in functions and plain attributes, and none hears of a class
    that is made."""
    if type(kind) not in (type, ABCMeta) or not is_own_code(class_file(kind)):
        return False
    if not is_own_class(kind) and not (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return False
    hears = any(["__init_subclass__" in vars(c) for c in kind.__mro__ if c is not object])
    told = [type(v) for v in vars(kind).values() if hasattr(type(v), "__set_name__")]
    return not hears and {property, cached_property}.issuperset(told)
