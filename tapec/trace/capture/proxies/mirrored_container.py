"""Define `MirroredContainer`, the base of stand-ins for captured lists, deques and dicts.

A stand-in has as many items as the real container, and reads each when it is asked for: what nobody reads costs
nothing at later calls. C code reads items past all methods: it finds `UNREAD`, which is no value, in their places.

Its names begin with `_tapec`, since a dict of the user's own class may have attributes of any other name.
"""

from __future__ import annotations

import copy
import sys
from collections import OrderedDict, defaultdict, deque
from itertools import compress, repeat
from operator import is_not
from typing import Any

from tapec.locks import computed_once
from tapec.pytree import STANDS_FOR
from tapec.trace import tuning
from tapec.trace.capture.captured_paths import PLAIN, CapturedPath
from tapec.trace.capture.container_contents import (
    copied,
    fill,
    is_same,
    item_of,
    items_in,
    keys_in,
    put,
    refill,
    size_of,
    values_in,
)
from tapec.trace.capture.proxies.container_facts import are_plain, as_a_fact, rows_as_array

__all__ = [
    "OF_THE_LIBRARY",
    "UNREAD",
    "MirroredContainer",
    "at_an_end",
    "length_of",
    "on_a_copy",
    "on_both",
    "reading_whole",
]

_ABSENT = object()


class _Unread:
    """Stands in the place of an item that nobody has read yet. Who takes it for the item gets an error."""

    def _refuse(self, *_: Any) -> Any:
        raise TypeError("C code has taken an item of a captured container past its methods. Fix: give it a copy")

    __bool__ = __eq__ = __ne__ = __lt__ = __gt__ = __hash__ = __repr__ = __float__ = __index__ = _refuse


UNREAD = _Unread()
_MADE = frozenset({list, tuple, dict})  # those that a run makes
OF_THE_LIBRARY = frozenset({list, tuple, dict, OrderedDict, defaultdict, deque})


def on_both(name: str, moves: bool = True, at_start: bool = False) -> Any:
    """Make a method that changes the stand-in and the real container alike. What it `moves` or takes out is taken at
    each call, be it a number or a fact, as integers and functions are. Others put an item at the start or the end.
    """

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if moves:
            self._tapec_note_taken()
            self._tapec_is_moved = True
            self._tapec_read_all()
            self._tapec_captures.stores.may_change_unseen()  # items are compared, by code of their own
        self._tapec_sync(only_length=not moves)
        self._tapec_note_change()
        stores, key = self._tapec_captures.stores, None if moves or at_start else size_of(self)
        stored = [stores.kept(a, self._tapec_real, self._tapec_path, key) for a in args]
        for item, left in zip(args, stored):
            self._tapec_note_filled(0 if at_start else size_of(self), item, left)
        getattr(self._tapec_real, name)(*stored, **kwargs)
        if self._tapec_mirror is self._tapec_real:
            pass
        elif moves:
            self._tapec_mirror = copied(self._tapec_real)
        else:
            getattr(self._tapec_mirror, name)(*stored, **kwargs)
        return getattr(super(MirroredContainer, self), name)(*args, **kwargs)

    return method


def at_an_end(name: str, place: int) -> Any:
    """Make a method that takes an item out at an end of a sequence, without arguments, and reads this one alone. With
    arguments it may take any."""
    taking_any = on_both(name)

    def method(self: Any, *args: Any) -> Any:
        self._tapec_sync(only_length=True)
        if args or not size_of(self):
            return taking_any(self, *args)
        return self._tapec_take(name, place % size_of(self))

    return method


def reading_whole(name: str, items: bool = True) -> Any:
    """Make a method that may read all `items` of the stand-in, or its keys alone."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        self._tapec_sync()
        if items:
            self._tapec_captures.stores.counters.exposes(self._tapec_real)
            for container in (self, *args):
                if isinstance(container, MirroredContainer):
                    container._tapec_read_all()
        else:
            self._tapec_note_keys()
        return getattr(super(MirroredContainer, self), name)(*args, **kwargs)

    return method


def on_a_copy(name: str) -> Any:
    """Make a method that returns another container, as the user's own: a second stand-in would write where this one
    does."""

    def method(self: Any, *args: Any) -> Any:
        for container in args:
            if isinstance(container, MirroredContainer):  # whose items C code takes past its methods
                container._tapec_read_all()
        return getattr(self._tapec_plain_copy(), name)(*args)

    return method


class MirroredContainer:
    """Writes to the real container what is written to its stand-in.

    Code that tapec does not see, as constructors of classes, may change the real one past the stand-in: `_tapec_mirror`
    is what it holds otherwise, and each reading compares the two first. While no such code may run, the mirror is the
    real container, and what the run writes says what was there before.

    Readings are told to `Counters`, which has to know who reads an integer that the run changes.
    """

    _tapec_real: Any
    _tapec_mirror: Any
    _tapec_captures: Any
    _tapec_path: Any
    _tapec_attributes: Any = None  # those that the run has set, where this is the `__dict__` of an object
    _tapec_in_place: frozenset[str] = frozenset()  # items that are attributes, in whose place the class has others
    _tapec_is_read = False  # are all items read?
    _tapec_is_changed = False  # has the run changed it?
    _tapec_is_moved = False  # have items got other numbers, but for those that were put or taken at the start?
    _tapec_first = 0  # how many were taken there more than put
    _tapec_is_lost = False  # is not known what it held before the run?
    _tapec_plain_items = 0  # how many numbers and strings were read one by one

    def _tapec_stand_for(self: Any, captures: Any, real: Any, path: CapturedPath) -> None:
        """Begin to stand for a container, of which nothing is read yet.

        The real one may be a stand-in itself, of a run around this one: then it hears of each reading.
        """
        self._tapec_real = self._tapec_mirror = real
        if not captures.stores.sees_all:
            self._tapec_begin_mirror()
        self._tapec_size_before = size_of(real)
        self._tapec_olds: dict[Any, Any] = {}  # what was before where the run has written, while it sees all changes
        self._tapec_filled: dict[Any, Any] = {}  # what the run has made and put here, and what was stored
        self._tapec_captures, self._tapec_path = captures, path
        fill(self, real, UNREAD)
        captures.containers.append(self)
        captures.identities.stands_for(self, real, path)

    def _tapec_begin_mirror(self) -> None:
        """Keep what the real container holds, since others may change that from now on."""
        if self._tapec_mirror is self._tapec_real and not isinstance(self._tapec_real, MirroredContainer):
            self._tapec_mirror = copied(self._tapec_real)

    # -- reading ----------------------------------------------------------------------------------------------------
    def _tapec_item(self: Any, key: Any, in_turn: bool = False) -> Any:
        """Return an item by its key or number, which is there; one `in_turn` where the run goes through all.

        Of many numbers and strings those that come in turn are facts, all of them one.
        """
        item = super().__getitem__(key)  # type: ignore[misc]
        if item is not UNREAD:
            return item
        captures, value = self._tapec_captures, self._tapec_mirror[key]
        if captures.is_judged:
            return value
        if isinstance(value, PLAIN):
            self._tapec_plain_items += 1
            if self._tapec_plain_items > tuning.CONTAINER_MAX_CAPTURES and self._tapec_are_plain:
                self._tapec_read_all()
                return super().__getitem__(key)  # type: ignore[misc]
        path = self._tapec_path.item(key)
        if in_turn and self._tapec_are_plain:
            captures.facts.add(path, value)
            item = value
        else:
            item = captures.read_item(self._tapec_real, value, path)
        put(self, key, item)
        return item

    @computed_once
    def _tapec_are_plain(self) -> bool:
        """Return whether this holds many numbers and strings, and nothing else: these are one fact."""
        if isinstance(self._tapec_real, MirroredContainer):
            return False
        items = [*values_in(self._tapec_mirror)]
        return len(items) > tuning.CONTAINER_MAX_CAPTURES and are_plain(items)

    def _tapec_read_all(self: Any) -> None:
        """Read what nobody has read yet; when the run is over, as it is."""
        captures = self._tapec_captures
        if self._tapec_is_read:
            return
        self._tapec_is_read = True
        is_fact = not captures.is_judged and self._tapec_are_plain and not self._tapec_is_changed
        if not captures.is_judged:
            self._tapec_note_keys()
        if is_fact:
            as_a_fact(captures, self._tapec_real, self._tapec_path)
        if is_fact or captures.is_judged:
            for key, item in items_in(self._tapec_mirror):
                if item_of(self, key) is UNREAD:
                    put(self, key, item)
        for key, item in items_in(self):
            if item is UNREAD:
                path = self._tapec_path.item(key)
                put(self, key, captures.read_item(self._tapec_real, self._tapec_mirror[key], path))

    def _tapec_as_array(self) -> Any:
        """Return what NumPy makes an array of: the stand-in, or a tensor for rows of numbers that nobody has read."""
        self._tapec_sync()
        if self._tapec_captures.is_judged or self._tapec_is_changed or self._tapec_attributes is not None:
            return self
        found = rows_as_array(self._tapec_captures, self._tapec_real, self._tapec_path)
        return self if found is None else found

    def _tapec_note_keys(self) -> None:
        """Note as a fact how many items there are, or by which keys."""
        self._tapec_captures.facts.add(self._tapec_path.length(), len(self._tapec_real))

    def _tapec_length(self) -> Any:
        """Return how many items there are: a tensor, where that is another number at each call."""
        captures, real = self._tapec_captures, self._tapec_real
        if captures.is_judged or self._tapec_is_changed or self._tapec_attributes is not None:
            return len(self)
        self._tapec_sync(only_length=True)
        return captures.read(length_of(real), self._tapec_path.length(length_of))

    def __len__(self) -> int:
        self._tapec_sync(only_length=True)
        if not self._tapec_captures.is_judged:
            self._tapec_note_keys()
        return size_of(self)

    def __bool__(self: Any) -> bool:
        self._tapec_sync(only_length=True)
        is_filled = size_of(self) > 0
        if not self._tapec_captures.is_judged:
            self._tapec_captures.facts.add(self._tapec_path.is_filled(), is_filled)
        return is_filled

    # -- changes by others ------------------------------------------------------------------------------------------
    def _tapec_set_attributes(self, written: dict[str, bool]) -> None:
        """Note that this is the `__dict__` of an object, and which attributes the run sets."""
        self._tapec_read_all()
        self._tapec_attributes = written

    def _tapec_sync(self: Any, only_length: bool = False) -> None:
        """Take over what others have changed in the real container; or where `only_length` counts, if that is
        another."""
        real, mirror = self._tapec_real, self._tapec_mirror
        if self._tapec_attributes is not None:
            return
        if mirror is real:
            if not isinstance(real, MirroredContainer) and size_of(real) != size_of(self):
                self._tapec_take_over()
            return
        if len(real) == len(mirror) if only_length else is_same(real, mirror):
            return
        self._tapec_captures.trace.require_retrace(
            f"{self._tapec_path.label} is changed by code that cannot be followed"
        )
        self._tapec_read_all()
        known = {id(theirs): ours for theirs, ours in zip(values_in(mirror), values_in(self), strict=True)}
        items = [known.get(id(x), x) for x in values_in(real)]
        refill(self, zip(keys_in(real), items, strict=True))
        self._tapec_mirror = copied(real)
        self._tapec_is_moved = True

    def _tapec_take_over(self: Any) -> None:
        """Take over what another thread has put into the real container, or taken out. Nobody knows what was there."""
        captures = self._tapec_captures
        captures.trace.require_retrace(f"{self._tapec_path.label} is changed by code that cannot be followed")
        self._tapec_note_lost()
        self._tapec_is_moved = True
        originals = captures.identities.originals
        known = {id(originals.get(id(ours), ours)): ours for ours in values_in(self)}
        known.update([(id(stored), ours) for ours, stored in self._tapec_filled.values()])
        captures.stores.may_change_unseen()
        refill(self, [(key, known.get(id(x), UNREAD)) for key, x in items_in(self._tapec_mirror)])

    # -- items ------------------------------------------------------------------------------------------------------
    def __getitem__(self, key: Any) -> Any:
        key = self._tapec_real_key(key)
        if not (self._tapec_names_item(key) and _has_same(self._tapec_real, self._tapec_mirror, key)):
            self._tapec_sync()
        item = self._tapec_item(key)
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
        self._tapec_note_change()
        super().__setitem__(key, item)  # type: ignore[misc]
        if self._tapec_in_place and key in self._tapec_in_place:
            vars(self)[key] = item
        counters = self._tapec_captures.stores.counters
        if type(key) is slice:  # which has no hash before Python 3.12
            counters.exposes(self._tapec_real)
        else:
            counters.writes(self._tapec_real, key, item, sys._getframe(1))
        if self._tapec_attributes is None:
            self._tapec_note_old(key)
            stored = self._tapec_captures.stores.kept(item, self._tapec_real, self._tapec_path, key)
            self._tapec_note_filled(key, item, stored)
            self._tapec_real[key] = stored
            if self._tapec_mirror is not self._tapec_real:
                self._tapec_mirror[key] = stored
        else:
            self._tapec_real[key] = item
            if self._tapec_mirror is not self._tapec_real:
                self._tapec_mirror[key] = item
            self._tapec_attributes[key] = True

    def _tapec_note_change(self) -> None:
        """Note that the run changes this container; one of a run around it does so at each call."""
        self._tapec_captures.stores.refuse_in_body()
        self._tapec_is_changed = True
        if isinstance(self._tapec_real, MirroredContainer):
            self._tapec_captures.trace.require_retrace(f"it changes {self._tapec_path.label}")

    def _tapec_note_old(self, key: Any) -> None:
        """Note what is there before the run writes to a place of which it sees all changes."""
        if not self._tapec_captures.stores.sees_all:
            return
        if type(key) is slice:
            self._tapec_captures.stores.may_change_unseen()
        elif isinstance(self._tapec_real, dict):
            self._tapec_olds.setdefault(key, dict.get(self._tapec_real, key, _ABSENT))
        else:
            self._tapec_olds.setdefault(self._tapec_place(key), self._tapec_real[key])

    def _tapec_note_taken(self) -> None:
        """Note that items are taken out, or get other numbers."""
        kind = STANDS_FOR[type(self)]
        self._tapec_captures.stores.moves(self._tapec_real)
        self._tapec_captures.trace.require_retrace(f"it takes items out of a {kind.__name__}, or moves them")

    def _tapec_note_lost(self) -> None:
        """Note that nobody has kept what the container held before the run."""
        self._tapec_is_lost = self._tapec_is_lost or self._tapec_captures.stores.sees_all

    def _tapec_take(self: Any, name: str, key: Any, *args: Any) -> Any:
        """Take out the item at an end, or by its key, by the method of this name, and return it."""
        self._tapec_note_taken()
        self._tapec_sync()
        item = self._tapec_item(key)
        self._tapec_filled.pop(self._tapec_place(key), None)
        self._tapec_note_lost()
        self._tapec_note_change()
        self._tapec_captures.stores.counters.exposes(self._tapec_real)
        getattr(self._tapec_real, name)(*args)
        if self._tapec_mirror is not self._tapec_real:
            getattr(self._tapec_mirror, name)(*args)
        getattr(super(), name)(*args)
        return item

    def _tapec_is_as_before(self, counted: set[tuple[int, Any]]) -> bool:
        """Return whether the container holds what it held before the run, but for counters."""
        real, size = self._tapec_real, self._tapec_size_before
        if self._tapec_is_lost or not size_of(real) == size == size_of(self):
            return False
        return all([item_of(real, k) is old or (id(real), k) in counted for k, old in self._tapec_olds.items()])

    def _tapec_is_changed_past_methods(self: Any) -> bool:
        """Return whether C code has put something into the stand-in, or taken it out: then the real one lacks that."""
        mirror, is_copy = self._tapec_mirror, self._tapec_mirror is not self._tapec_real
        return is_copy and self._tapec_attributes is None and size_of(self) != size_of(mirror)

    def _tapec_before(self) -> Any:
        """Return what the container held before the run; what it holds now, where that is lost."""
        made = copied(self._tapec_real)
        if self._tapec_is_lost or not self._tapec_is_changed:
            return made
        items = items_in(made)[: self._tapec_size_before]  # what is new is at the end
        return refill(made, [(key, self._tapec_olds.get(key, item)) for key, item in items])

    def _tapec_note_filled(self, key: Any, item: Any, stored: Any) -> None:
        """Note this container if the run puts something into it that may go on changing until the run ends."""
        if type(item) not in _MADE and not isinstance(item, tuple):
            return
        self._tapec_captures.stores.is_filled(self)
        if type(key) is slice:
            self._tapec_is_moved = True
        else:
            self._tapec_filled[self._tapec_place(key)] = item, stored

    def _tapec_place(self, key: Any) -> Any:
        """Return a key, or the number of an item from where the start was before the run."""
        if isinstance(self, dict):
            return key
        return key + self._tapec_first + (size_of(self) if key < 0 else 0)

    def _tapec_write_back(self: Any) -> None:
        """Give the real container plain values in what the run has made and put into it."""
        first = self._tapec_first
        keys: Any = [k - first for k in self._tapec_filled] if first else self._tapec_filled
        if self._tapec_is_moved:
            keys = compress(keys_in(self), map(is_not, values_in(self), repeat(UNREAD)))
        for key in keys:
            item = item_of(self, key)
            is_made = type(item) in _MADE or isinstance(item, tuple)
            if is_made and id(item) not in self._tapec_captures.identities.originals:
                self._tapec_real[key] = self._tapec_captures.stores.plain(item)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # which code calls to make another one
        return STANDS_FOR[type(self)]

    def _tapec_plain_copy(self: Any) -> Any:
        """Return a container of the user's own class that holds the same items. Writes to it stay in the run."""
        self._tapec_sync()
        self._tapec_captures.stores.counters.exposes(self._tapec_real)
        self._tapec_read_all()
        if STANDS_FOR[type(self)] not in OF_THE_LIBRARY:
            self._tapec_captures.trace.require_retrace(
                f"it copies {self._tapec_path.label}, which may have attributes of its own"
            )
        real = self._tapec_real
        return refill(copied(real) if isinstance(real, MirroredContainer) else copy.copy(real), items_in(self))

    def __copy__(self) -> Any:
        return self._tapec_plain_copy()

    def __deepcopy__(self, memo: Any) -> Any:
        memo[id(self)] = made = self._tapec_plain_copy()
        return refill(made, [copy.deepcopy(item, memo) for item in items_in(made)])

    __delitem__, pop, clear = map(on_both, ("__delitem__", "pop", "clear"))
    __reversed__, __repr__ = map(reading_whole, ("__reversed__", "__repr__"))
    __eq__, __ne__ = map(reading_whole, ("__eq__", "__ne__"))
    __reduce_ex__, copy = map(on_a_copy, ("__reduce_ex__", "copy"))


def length_of(x: Any) -> Any:
    """Return how many items a container has, as a tensor where its run has made one of that."""
    return x._tapec_length() if isinstance(x, MirroredContainer) else len(x)


def _has_same(a: Any, b: Any, key: Any) -> bool:
    """Return whether two containers hold the same object by this key, and as many."""
    if a is b:
        return True
    if len(a) != len(b):
        return False
    if isinstance(a, dict):
        return dict.get(a, key, _ABSENT) is dict.get(b, key, _ABSENT)
    return key >= len(a) or a[key] is b[key]
