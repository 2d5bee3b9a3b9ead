"""Define `MirroredContainer`, the base of stand-ins for captured lists, deques and dicts.

Its names begin with `_tapec`, since a dict of the user's own class may have attributes of any other name.
"""

from __future__ import annotations

import copy
import sys
from collections import OrderedDict, defaultdict, deque
from operator import is_
from typing import Any

from tapec.pytree import STANDS_FOR
from tapec.trace.capture.captured_paths import CapturedPath
from tapec.trace.capture.container_contents import copied, items_in, refill, values_in

__all__ = ["OF_THE_LIBRARY", "MirroredContainer", "on_a_copy", "on_both", "reading_whole"]

_ABSENT = object()
_MADE = frozenset({list, tuple, dict})  # those that a run makes
OF_THE_LIBRARY = frozenset({list, tuple, dict, OrderedDict, defaultdict, deque})


def on_both(name: str, moves: bool = True) -> Any:
    """Make a method that changes the stand-in and the real container alike. What it `moves` or takes out is taken at
    each call, be it a number or a fact, as integers and functions are.
    """

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if moves:
            self._tapec_captures.trace.require_retrace(
                f"it takes items out of a {STANDS_FOR[type(self)].__name__}, or moves them"
            )
        self._tapec_sync()
        self._tapec_note_filled(args)
        stored = [self._tapec_captures.stores.plain(a) for a in args]
        getattr(self._tapec_real, name)(*stored, **kwargs)
        if moves:
            self._tapec_mirror = copied(self._tapec_real)
        else:
            getattr(self._tapec_mirror, name)(*stored, **kwargs)
        return getattr(super(MirroredContainer, self), name)(*args, **kwargs)

    return method


def reading_whole(name: str, items: bool = True) -> Any:
    """Make a method that may read all `items` of the stand-in, or its keys alone."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        self._tapec_sync()
        if items:
            self._tapec_captures.stores.counters.exposes(self._tapec_real)
        return getattr(super(MirroredContainer, self), name)(*args, **kwargs)

    return method


def on_a_copy(name: str) -> Any:
    """Make a method that returns another container, as the user's own: a second stand-in would write where this one
    does."""

    def method(self: Any, *args: Any) -> Any:
        return getattr(self._tapec_plain_copy(), name)(*args)

    return method


class MirroredContainer:
    """Writes to the real container what is written to its stand-in.

    Code that tapec does not see, as constructors of classes, may change the real one past the stand-in: `_tapec_mirror`
    is what it holds otherwise, and each reading compares the two first.

    Readings are told to `Counters`, which has to know who reads an integer that the run changes.
    """

    _tapec_real: Any
    _tapec_mirror: Any
    _tapec_captures: Any
    _tapec_path: Any
    _tapec_attributes: Any = None  # those that the run has set, where this is the `__dict__` of an object

    def _tapec_stand_for(self, captures: Any, real: Any, path: CapturedPath) -> None:
        """Begin to stand for a container; before anything in it is read, which may lead back to it."""
        self._tapec_real, self._tapec_mirror = real, copied(real)
        self._tapec_captures, self._tapec_path = captures, path
        captures.identities.stands_for(self, real, path)

    def _tapec_set_attributes(self, written: dict[str, bool]) -> None:
        """Note that this is the `__dict__` of an object, and which attributes the run sets."""
        self._tapec_attributes = written

    def _tapec_sync(self: Any) -> None:
        """Take over what others have changed in the real container."""
        real, mirror = self._tapec_real, self._tapec_mirror
        if self._tapec_attributes is not None or _is_same(real, mirror):
            return
        self._tapec_captures.trace.require_retrace(
            f"{self._tapec_path.label} is changed by code that cannot be followed"
        )
        known = {id(theirs): ours for theirs, ours in zip(values_in(mirror), values_in(self), strict=True)}
        items = [known.get(id(x), x) for x in values_in(real)]
        super().clear()  # type: ignore[misc]
        if isinstance(real, dict):
            for key, item in zip([*real], items, strict=True):
                super().__setitem__(key, item)  # type: ignore[misc]
        else:
            super().extend(items)  # type: ignore[misc]
        self._tapec_mirror = copied(real)

    def __len__(self: Any) -> int:
        self._tapec_sync()
        return super().__len__()  # type: ignore[misc]

    def __getitem__(self, key: Any) -> Any:
        key = self._tapec_real_key(key)
        if not (self._tapec_names_item(key) and _has_same(self._tapec_real, self._tapec_mirror, key)):
            self._tapec_sync()
        item = super().__getitem__(key)  # type: ignore[misc]
        counters = self._tapec_captures.stores.counters
        if self._tapec_attributes is not None or not self._tapec_names_item(key):
            counters.exposes(self._tapec_real)
        elif type(item) is int:
            counters.reads(self._tapec_real, key, self._tapec_path.item(key), item, sys._getframe(1))
        return item

    def _tapec_real_key(self, key: Any) -> Any:
        """Return the key or index by which the real container knows an item."""
        return key

    def _tapec_names_item(self, key: Any) -> bool:
        """Return whether this key stands for one item, and no other key for the same one."""
        return True

    def __setitem__(self, key: Any, item: Any) -> None:
        key = self._tapec_real_key(key)
        self._tapec_sync()
        super().__setitem__(key, item)  # type: ignore[misc]
        self._tapec_captures.stores.counters.writes(self._tapec_real, key, item, sys._getframe(1))
        if self._tapec_attributes is None:
            self._tapec_real[key] = self._tapec_mirror[key] = self._tapec_captures.stores.plain(item)
            self._tapec_note_filled((item,))
        else:
            self._tapec_real[key] = item
            self._tapec_attributes[key] = True

    def _tapec_note_filled(self, items: tuple[Any, ...]) -> None:
        """Note this container if the run has put something into it that may go on changing until the run ends."""
        if not _MADE.isdisjoint(map(type, items)):
            self._tapec_captures.stores.is_filled(self)

    def _tapec_write_back(self: Any) -> None:
        for key, item in self.items() if isinstance(self, dict) else enumerate(self):
            if type(item) in _MADE and id(item) not in self._tapec_captures.identities.originals:
                self._tapec_real[key] = self._tapec_captures.stores.plain(item)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # which code calls to make another one
        return STANDS_FOR[type(self)]

    def _tapec_plain_copy(self: Any) -> Any:
        """Return a container of the user's own class that holds the same items. Writes to it stay in the run."""
        self._tapec_sync()
        self._tapec_captures.stores.counters.exposes(self._tapec_real)
        if STANDS_FOR[type(self)] not in OF_THE_LIBRARY:
            self._tapec_captures.trace.require_retrace(
                f"it copies {self._tapec_path.label}, which may have attributes of its own"
            )
        return refill(copy.copy(self._tapec_real), items_in(self))

    def __copy__(self) -> Any:
        return self._tapec_plain_copy()

    def __deepcopy__(self, memo: Any) -> Any:
        memo[id(self)] = made = self._tapec_plain_copy()
        return refill(made, [copy.deepcopy(item, memo) for item in items_in(made)])

    __delitem__, pop, clear = map(on_both, ("__delitem__", "pop", "clear"))
    __iter__, __reversed__, __repr__ = map(reading_whole, ("__iter__", "__reversed__", "__repr__"))
    __eq__, __ne__ = map(reading_whole, ("__eq__", "__ne__"))
    __reduce_ex__, copy = map(on_a_copy, ("__reduce_ex__", "copy"))


def _is_same(a: Any, b: Any) -> bool:
    """Return whether two containers hold the same objects, by the same keys."""
    same_keys = all(map(is_, a, b)) if isinstance(a, dict) else True
    return len(a) == len(b) and same_keys and all(map(is_, values_in(a), values_in(b)))


def _has_same(a: Any, b: Any, key: Any) -> bool:
    """Return whether two containers hold the same object by this key, and as many."""
    if len(a) != len(b):
        return False
    if isinstance(a, dict):
        return dict.get(a, key, _ABSENT) is dict.get(b, key, _ABSENT)
    return key >= len(a) or a[key] is b[key]
