"""Copy the user's classes for a run, so that objects which it makes compute with what traced functions find.

Methods of objects that the function itself makes are plain functions: what their `np.zeros` gives takes no tensors, and
what the run sets in variables and containers they do not find. So the function runs once more with tensors for the
arrays that it makes (`trace.making`), and there a class that it looks up is a copy, whose functions are clones. A copy
is equal to its class, has its hash, and knows its objects; `is` tells the two apart, so whatever leads to a class leads
to the copy. What the run sets on a copy is set on its class when the run is over. A run is refused that may have met a
class in another way, of which an object of a copy stays, or that has deleted an attribute of a copy: then the user gets
the error that the first run met.
"""

from __future__ import annotations

import types
from abc import ABCMeta
from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cached_property, partial, partialmethod
from typing import Any

from tapec.errors import UnsupportedError, at_user_line
from tapec.pytree import COPY_OF, class_behind
from tapec.trace.capture.captured_paths import PLAIN, CapturedPath, class_file, class_path, is_own_class, is_own_code

__all__ = ["FollowedClasses"]


class _Copies(type):
    """Lets a copy be equal to the class that it stands for."""

    def __instancecheck__(cls, x: Any) -> bool:
        return super().__instancecheck__(x) or (COPY_OF in vars(cls) and isinstance(x, class_behind(cls)))

    def __subclasscheck__(cls, kind: Any) -> bool:
        return super().__subclasscheck__(kind) or (COPY_OF in vars(cls) and issubclass(kind, class_behind(cls)))

    def __eq__(cls, other: object) -> bool:
        return isinstance(other, type) and class_behind(cls) is class_behind(other)

    def __hash__(cls) -> int:
        return type.__hash__(class_behind(cls))


class _AbstractCopies(_Copies, ABCMeta):
    """Does so for abstract classes."""


_KINDS: dict[type, Any] = {type: _Copies, ABCMeta: _AbstractCopies}


class FollowedClasses:
    """Holds the copies of classes of one traced run. `why` says what keeps the run from being one."""

    def __init__(self, captures: Any):
        self.why: str | None = None
        self._captures = captures
        self._copies: dict[int, tuple[type, type]] = {}  # by the `id` of the class, which is held
        self._held: list[tuple[type, dict[str, Any]]] = []  # copies, with what they hold from the start

    def of(self, kind: type) -> type:
        """Return the copy of a class, or the class itself where it cannot be copied."""
        if COPY_OF in vars(kind):
            return kind
        known = self._copies.get(id(kind))
        if known is not None:
            return known[1]
        if _can_be_copied(kind):
            return self._copy(kind)
        self._copies[id(kind)] = kind, kind
        return kind

    def _copy(self, kind: type) -> type:
        space = {k: v for k, v in vars(kind).items() if type(v) not in _MADE_BY_PYTHON}
        bases = tuple(map(self.of, kind.__bases__))
        copy = _KINDS[type(kind)](kind.__name__, bases, {**space, COPY_OF: kind})
        self._copies[id(kind)] = kind, copy  # before its functions are cloned, of which `super` looks for it
        for name, value in space.items():
            followed = self._followed(value, kind, name)
            if followed is not value:
                setattr(copy, name, followed)
                if type(followed) is cached_property:
                    followed.__set_name__(copy, name)
        self._held.append((copy, dict(vars(copy))))
        return copy

    def _followed(self, value: Any, owner: type, name: str) -> Any:
        """Return what a class holds with clones for its functions, and copies for classes."""
        kind, follow = type(value), partial(self._captures.function_of, is_got=False)
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
        if isinstance(value, (type, *_CONTAINERS)) and not name.startswith("__"):
            return self._captures.read(value, class_path(owner).attribute(name))
        if is_own_class(kind) and not name.startswith("__"):  # perhaps a descriptor
            return self._captures.read(value, class_path(owner).attribute("__dict__").item(name))
        again = getattr(kind, "_tapec_wrap_again", None)
        return value if again is None else again(value, follow)

    def left_of(self, kind: type) -> Iterator[tuple[str, Any, CapturedPath]]:
        """Yield what runs as it is where the run gets a class: the class, or what its copy holds that is not followed,
        by which name.

        A class that can be copied and is not has gone to nobody.
        """
        if not _can_be_copied(kind):
            yield "__call__", kind, class_path(kind)
            return
        for c in kind.__mro__[:-1]:
            _, copy = self._copies.get(id(c), (c, None))
            if copy is c:
                yield "__call__", c, class_path(c)
            for name, value in list(vars(c).items()) if copy is not None and copy is not c else ():
                path, made = class_path(c).attribute("__dict__").item(name), vars(copy).get(name)
                if made is value and not isinstance(value, PLAIN):
                    yield name, value, path
                for inner in _INNER if made is not value else ():
                    f = getattr(value, inner, None)
                    if f is not None and f is getattr(made, inner, None):
                        yield name, f, path.attribute(inner)

    # -- what keeps the run from being one --------------------------------------------------------------------------
    def note_leaving(self, x: Any) -> None:
        """Note that an object stays when the run is over, if it is one of a copy."""
        if COPY_OF in vars(type(x)):
            self.why = f"an object of the class {type(x).__name__} stays when the run is over"

    def note_given(self, values: Iterable[Any]) -> None:
        """Note that the run gets values as they are, of which some may be or hold classes that it knows as copies."""
        for x in values:
            held = x.value if isinstance(x, Enum) else x
            if isinstance(held, type) and _can_be_copied(held):
                self.why = "it may compare classes by `is`"

    def hand_over(self) -> None:
        """Set on classes what the run has set on their copies."""
        for copy, before in self._held:
            for name, value in list(vars(copy).items()):
                if name not in before or value is not before[name]:
                    left = class_behind(value) if isinstance(value, type) else value
                    type.__setattr__(class_behind(copy), name, left)

    def check(self) -> None:
        """Refuse a run for `why`, or because it has deleted attributes of classes."""
        for copy, before in self._held:
            if not vars(copy).keys() >= before.keys():
                self.why = f"it deletes an attribute of the class {copy.__name__}"
        if self.why is not None and self._held:
            raise UnsupportedError(at_user_line(f"the classes of its objects cannot be copied: {self.why}"))


_INNER = ("__func__", "fget", "fset", "fdel", "func")  # where descriptors have functions
_CONTAINERS = (list, tuple, dict, deque, set, frozenset)
_MADE_BY_PYTHON = {types.MemberDescriptorType, types.GetSetDescriptorType}  # slots, __dict__ and __weakref__


def _can_be_copied(kind: type) -> bool:
    """Return whether a class is the user's own, all of it in functions and plain attributes, and none hears of a class
    that is made."""
    if type(kind) not in _KINDS or not is_own_code(class_file(kind)):
        return False
    if not is_own_class(kind) and not issubclass(kind, tuple):
        return False
    hears = any(["__init_subclass__" in vars(c) for c in kind.__mro__ if c is not object])
    told = [type(v) for v in vars(kind).values() if hasattr(type(v), "__set_name__")]
    return not hears and {property, cached_property}.issuperset(told)
