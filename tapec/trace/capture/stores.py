"""Define `Stores`: what a traced run stores in captured state, and what stays there when the run is over."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from threading import local
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

import numpy as np

from tapec.errors import UnsupportedError, at_user_line
from tapec.trace import tuning
from tapec.trace.capture.captured_paths import PLAIN, CapturedPath, is_own_class, looked_up
from tapec.trace.capture.container_contents import (
    Items,
    copied,
    is_same,
    item_of,
    items_in,
    keys_in,
    put,
    refill,
    size_of,
    values_in,
)
from tapec.trace.capture.counters import Counters, Increment, undo, without_counting
from tapec.trace.capture.facts import is_fact
from tapec.trace.capture.function_clones import Clones
from tapec.trace.capture.held_state import attributes_of
from tapec.trace.capture.identities import Identities
from tapec.trace.capture.module_stand_ins.pandas_tables import without_stand_in
from tapec.trace.capture.proxies.mirrored_container import MirroredContainer
from tapec.trace.recording_stack import CURRENT
from tapec.trace.tensor import Tensor

__all__ = ["STORES", "Stores"]

_ABSENT = object()
_WEAK = (WeakKeyDictionary, WeakValueDictionary, WeakSet)
_FILLED = (list, dict, deque, set, frozenset, np.ndarray, ContextVar, local, *_WEAK)
_QUEUES = ("queue", "asyncio.queues")
STORES = "it stores what it computes in captured state"


class _Place:
    """Holds what was at a place before the run wrote to it: a variable in a dict, or an attribute of an object or
    class."""

    def __init__(self, owner: Any, name: str, is_item: bool = False):
        self._owner = owner
        self._name = name
        self._is_item = is_item
        self.before = self.now()

    def now(self) -> Any:
        if self._is_item:
            return dict.get(self._owner, self._name, _ABSENT)
        if isinstance(self._owner, type):
            return vars(self._owner).get(self._name, _ABSENT)
        if hasattr(type(looked_up(type(self._owner), self._name)), "__set__"):  # of a slot, or what a cell holds
            with suppress(AttributeError, ValueError):
                return object.__getattribute__(self._owner, self._name)
            return _ABSENT
        return getattr(self._owner, "__dict__", {}).get(self._name, _ABSENT)

    def put(self, value: Any) -> None:
        """Put a value there, or nothing."""
        if value is self.now():
            return
        if self._is_item and value is _ABSENT:
            dict.__delitem__(self._owner, self._name)
        elif self._is_item:
            dict.__setitem__(self._owner, self._name, value)
        elif value is _ABSENT:
            (type if isinstance(self._owner, type) else object).__delattr__(self._owner, self._name)
        else:
            (type if isinstance(self._owner, type) else object).__setattr__(self._owner, self._name, value)


def _restore(container: Any, items: Items) -> None:
    """Give a container these items, unless it holds them."""
    now = items_in(container)
    if len(now) != len(items) or not all([k == m and x is y for (k, x), (m, y) in zip(items, now)]):
        refill(container, items)


def _inside(x: Any) -> Items:
    """Return what an object holds, by keys; none for what is no container."""
    if isinstance(x, ContextVar):
        return [(None, x.get(None))]
    if isinstance(x, (set, frozenset, WeakSet)):
        return [(None, item) for item in x]
    if isinstance(x, WeakValueDictionary):
        return list(x.items())
    if isinstance(x, np.ndarray):
        return list(enumerate(x.ravel().tolist())) if x.dtype.kind == "O" else []
    return items_in(x) if isinstance(x, (list, dict, deque)) else []


def _put_inside(x: Any, key: Any, item: Any, left: Any) -> None:
    """Put a value in the place of an item. A frozen set keeps what it holds."""
    if isinstance(x, ContextVar):
        x.set(left)
    elif isinstance(x, (set, WeakSet)):
        x.discard(item)
        x.add(left)
    elif isinstance(x, np.ndarray):
        x.flat[key] = left
    elif isinstance(x, WeakValueDictionary):
        x[key] = left
    elif not isinstance(x, frozenset):
        put(x, key, left)


class Stores:
    """Knows what one run has changed in captured state, writes it back as plain values, and can take it back.

    `what` says what the run has changed, but for counters, once the run is over; `increments` are what calls add to
    counters.
    """

    def __init__(self, trace: Any, identities: Identities, clones: Clones):
        self.counters = Counters()
        self.increments: list[Increment] = []
        self.what: str | None = None
        self._set_what: str | None = None  # the variable or attribute that the run has set, but for counters
        # containers that hold numbers for tensors, with their labels, and by which keys, where these are known
        self.made_plain: dict[int, tuple[Any, str, set[Any] | None]] = {}
        self._trace = trace
        self._identities = identities
        self._clones = clones
        self.sees_all = True  # may nobody change a container but by its stand-in? Then none is copied
        self._stored: dict[int, Any] = {}  # plain numbers and arrays that the run has stored for tensors
        self._held: dict[int, tuple[CapturedPath, Any, Any]] = {}  # containers, with stand-ins or copies from before
        self._is_new = True  # may an object that is found in captured state be one that the run has put there?
        self._leaving: dict[int, Any] = {}  # objects without stand-ins that are to hold plain values
        self._filled: dict[int, Any] = {}  # stand-ins for containers that got others which the run has made
        # objects with the attributes that the run has set by their stand-ins, and with those that were there before
        self._writes: dict[int, tuple[Any, dict[str, bool], dict[str, Any]]] = {}
        self._lost = 0  # how often a plain value was stored for what the run has computed or made
        self._olds: dict[tuple[int, str], _Place] = {}  # attributes of objects that the run sets, as they were before
        self._is_around = False  # has the run set attributes of what a run around this one knows?
        self._places: list[_Place] = []  # what the run has written to when it was over, as it was before
        self._modules: list[tuple[types.ModuleType, dict[str, Any]]] = []  # with what is set on their stand-ins
        self._asked: dict[int, tuple[type, dict[str, Any]]] = {}  # classes that the run may get, and what they held
        self._classes: list[tuple[type, type, set[str]]] = []  # with stand-ins, and what those have from the start

    # -- what is watched --------------------------------------------------------------------------------------------
    def watch_container(self, path: CapturedPath, value: Any, stand_in: Any = None) -> None:
        """Note what a container holds before the run changes it; its stand-in knows, while that sees each change."""
        if id(value) not in self._held:
            knows = self.sees_all and isinstance(stand_in, MirroredContainer)
            self._held[id(value)] = path, value, stand_in if knows else copied(value)

    def is_held(self, container: Any) -> bool:
        """Return whether a container is captured state that is compared with what it held."""
        return id(container) in self._held

    def may_change_unseen(self) -> None:
        """Note that code may run from now on which may change containers past their stand-ins."""
        if self.sees_all:
            self.sees_all = False
            for path, value, before in self._held.values():
                if isinstance(before, MirroredContainer):
                    self._held[id(value)] = path, value, before._tapec_before()
            for stand_in in self._trace.captures.containers:
                stand_in._tapec_begin_mirror()

    def writes_past(self, attributes: Any) -> None:
        """Note that an attribute is set, in a dict that the run may know by another name."""
        if id(attributes) in self._held:
            self.may_change_unseen()

    def watch_module(self, module: types.ModuleType, attributes: dict[str, Any]) -> None:
        """Note a module, with the attributes of its stand-in, which are those that the run sets."""
        self._modules.append((module, attributes))

    def watch_stand_in(self, kind: type, stand_in: type) -> None:
        """Note a class, with the class of stand-ins for its instances, whose attributes the run may set."""
        self._classes.append((kind, stand_in, set(vars(stand_in))))

    def watch_class(self, kind: type) -> None:
        """Note what a class holds that the run may get, before the run changes it."""
        self._asked.setdefault(id(kind), (kind, dict(vars(kind))))

    def is_filled(self, stand_in: Any) -> None:
        """Note a container that the run has put one into which may go on changing until the run ends."""
        self._filled[id(stand_in)] = stand_in

    def writes_to(self, owner: Any) -> dict[str, bool]:
        """Return the attributes of an object that this run has set; False for what is kept there, as by
        cached_property."""
        if id(owner) not in self._writes:
            is_around = hasattr(type(owner), "_tapec_state")
            self._writes[id(owner)] = owner, {}, {} if is_around else dict(getattr(owner, "__dict__", {}))
        return self._writes[id(owner)][1]

    def refuse_in_body(self) -> None:
        """Refuse a change by the body of a loop or branch that runs again: NumPy's program makes it in each turn."""
        rec = CURRENT.get()
        if rec is not None and rec.trace is not None and rec.trace.repeated:
            raise UnsupportedError(
                at_user_line(
                    f"{rec.trace.repeated}: the function stores something around it, and would do so when it is traced "
                    "alone. Fix: hand it over from turn to turn, and store it after; or use a loop of Python's"
                )
            )

    def classes(self) -> list[type]:
        """Return the classes whose instances have stand-ins."""
        return [kind for kind, _, _ in self._classes]

    # -- what stays -------------------------------------------------------------------------------------------------
    def plain(self, x: Any, again: bool = True) -> Any:
        """Return what stays in captured state when the run is over: plain numbers, real objects for stand-ins, and
        functions of the run that read the real state.

        A function that stores what it computes must store it `again` at each call: so it is recorded at each call.
        """
        kind = type(x)
        originals = self._identities.originals
        if id(x) in self._trace.inside:
            self._trace.left = self._trace.inside[id(x)][1]
        if isinstance(x, Tensor) and (self._trace.making or self._trace.watches(x)):
            if again and self._trace.watches(x):
                self._trace.require_retrace(STORES)
                self._stored[id(x._value)] = x._value
            self._lost += id(x) not in originals and self._trace.watches(x)
            return originals.get(id(x), x._value)
        if id(x) in self._held:
            return x  # what is put there is made plain by itself
        if kind is list or kind is tuple:
            parts = [self.plain(v, again) for v in x]
            return x if all(a is b for a, b in zip(parts, x)) else kind(parts)
        if kind is dict:
            changed = {k: self.plain(v, again) for k, v in x.items()}
            return x if all(changed[k] is v for k, v in x.items()) else changed
        if id(x) in originals:
            return originals[id(x)]
        if isinstance(x, tuple):  # of the user's own class
            return self._of_tuple_class(x, [self.plain(v, again) for v in tuple.__iter__(x)])
        if kind is types.FunctionType:
            settled = self._clones.settled(x)
            self._lost += settled is not x
            return settled
        if kind is types.MethodType:
            return types.MethodType(self.plain(x.__func__), self.plain(x.__self__))
        if kind is partial:
            return partial(self.plain(x.func), *map(self.plain, x.args), **self.plain(x.keywords))
        self._trace.captures.followed.note_leaving(x)
        self.holds_plain(x)
        return without_stand_in(x)

    def _of_tuple_class(self, x: Any, parts: list[Any]) -> Any:
        """Return a tuple of the user's own class that holds these parts."""
        self._trace.captures.followed.note_leaving(x)
        if all([a is b for a, b in zip(parts, tuple.__iter__(x))]):
            return x
        made = tuple.__new__(type(x), parts)
        if hasattr(x, "__dict__"):
            made.__dict__.update(self.plain(x.__dict__))
        return made

    def holds_plain(self, x: Any) -> None:
        """Note an object or container that has no stand-in, and is to hold plain values when the run is over."""
        if not self._is_new:
            return
        if is_own_class(type(x)) or isinstance(x, _FILLED) or type(x).__module__ in _QUEUES:
            self._leaving[id(x)] = x

    def _settle(self) -> None:
        """Put plain values in the place of what objects hold that the run has made or got as they are."""
        known: dict[int, Any] = {}
        while self._leaving and len(known) < tuning.RESULT_MAX_PARTS:
            _, x = self._leaving.popitem()
            if id(x) not in known and id(x) not in self._held and id(x) not in self._identities.originals:
                known[id(x)] = x
                self._settle_parts(x)

    def _settle_parts(self, x: Any) -> None:
        """Put plain values in the place of what one object holds, as items and as attributes."""
        for key, item in _inside(x):
            if not isinstance(item, PLAIN):
                left = self.plain(item)
                if left is not item:
                    _put_inside(x, key, item, left)
        held = getattr(x, "__dict__", None)
        for name, item in list((attributes_of(x) or {}).items()):
            left = self.plain(item)
            if left is not item and isinstance(held, dict) and name in held:
                held[name] = left
            elif left is not item:
                object.__setattr__(x, name, left)

    def kept(self, x: Any, container: Any, path: CapturedPath, key: Any = None) -> Any:
        """Return what stays of a value that the run stores in a container by a key, or by one that is not known.

        Code that is not followed finds this one at once.
        """
        lost = self._lost
        stays = self.plain(x)
        if self._lost != lost or (stays is not x and type(x) in (list, dict)):
            while isinstance(container, MirroredContainer):  # of a run around this one
                container = container._tapec_real
            _, _, keys = self.made_plain.get(id(container), (None, None, set()))
            is_known = type(key) is str or (type(key) is int and key >= 0)
            keys = {*keys, key} if keys is not None and is_known else None
            self.made_plain[id(container)] = container, path.label, keys
        return stays

    def moves(self, container: Any) -> None:
        """Note that items of a container get other numbers, or are taken out."""
        if id(container) in self.made_plain:
            self.made_plain[id(container)] = *self.made_plain[id(container)][:2], None

    def note_before(self, owner: Any, name: str) -> None:
        """Note what an attribute of an object is before the run sets it."""
        if hasattr(type(owner), "_tapec_state"):  # a stand-in of a run around this one
            self._is_around = True
        elif (id(owner), name) not in self._olds:
            self._olds[id(owner), name] = _Place(owner, name)

    def write_back(self) -> None:
        """Give containers, functions, classes and objects that the run changed their new values."""
        for stand_in in self._filled.values():
            stand_in._tapec_write_back()
        self._trace.captures.followed.hand_over()
        self._places = [*self._olds.values(), *[_Place(*place) for place in self._clones.written()]]
        self._places += [_Place(x, n) for x, _, names in self._set_on_stand_ins() for n in names]
        self._places += self._places_in_classes()
        for _, value, before in self._held.values():
            if not isinstance(before, MirroredContainer):  # what is stored through a stand-in is plain
                self._make_plain(value, before)
        self._clones.write_back()
        for owner, space, names in self._set_on_stand_ins():
            for name in names:
                setattr(owner, name, self.plain(space[name]))
        for kind, space, names in self._set_on_asked():
            for name in names:
                left = self.plain(space[name])
                if left is not space[name]:
                    type.__setattr__(kind, name, left)
        for owner, written, before in self._writes.values():
            around = hasattr(type(owner), "_tapec_state")  # a stand-in: the run around this one writes back the others
            for name in {**({} if around else getattr(owner, "__dict__", {})), **written}:
                now = getattr(owner, name, None) if name in written else owner.__dict__[name]
                self._is_new = name in written or now is not before.get(name, _ABSENT)
                left = self.plain(now, written.get(name, True))
                self._is_new = True
                if left is not now:
                    (setattr if around else object.__setattr__)(owner, name, left)
        self._settle()

    def _make_plain(self, container: Any, before: Any) -> None:
        """Put plain values in the place of what the run has stored in a container past any stand-in: those of lists of
        the user's own class, and of what a class holds, are handed out as they are.
        """
        size, keys = size_of(before), keys_in(container)
        begins_so = is_same(before, container, of_both=True)
        known = set() if begins_so else {id(x) for x in values_in(before)}
        for key in keys[size:] if begins_so else keys:
            item = item_of(container, key)
            left = item if id(item) in known else self.plain(item)
            if left is not item:
                put(container, key, left)

    def _set_on_others(self) -> Iterator[tuple[Any, Any, list[str]]]:
        """Yield modules and classes, each with the attributes that it or its stand-in has, and those of them that the
        run has set."""
        yield from self._set_on_stand_ins()
        yield from self._set_on_asked()

    def _set_on_stand_ins(self) -> Iterator[tuple[Any, Any, list[str]]]:
        """Yield those of which stand-ins hold what the run has set."""
        for module, attributes in self._modules:
            yield module, attributes, [name for name in attributes if name != "__getattr__"]
        for kind, stand_in, given in self._classes:
            yield kind, vars(stand_in), [name for name in vars(stand_in) if name not in given]

    def _set_on_asked(self) -> Iterator[tuple[Any, Any, list[str]]]:
        """Yield classes of which the run gets the user's own."""
        for kind, before in self._asked.values():
            now = vars(kind)
            yield kind, now, [name for name, value in now.items() if value is not before.get(name, _ABSENT)]

    def _places_in_classes(self) -> list[_Place]:
        """Return where the run has set attributes of classes of which it gets the user's own, as these were before."""
        places = []
        for kind, _, names in self._set_on_asked():
            for name in names:
                places.append(_Place(kind, name))
                places[-1].before = self._asked[id(kind)][1].get(name, _ABSENT)
        return places

    # -- what the run has changed -----------------------------------------------------------------------------------
    def judge(self) -> None:
        """Find out what the run has changed, when it is over and counters are known."""
        self._set_what = self._what_is_set()
        changed = next((f"it changes {path.label}" for path, *_ in self._changed_containers()), None)
        self.what = self._set_what or changed
        if self._trace.retrace_reason == STORES and self.what is not None:
            self._trace.retrace_reason = f"{STORES}: {self.what}"
        self._trace.single_use_reason = self._trace.single_use_reason or self.what

    def change(self) -> str | None:
        """Say what the run has stored in captured state, or None; asked when the run is over."""
        if self.increments:
            return f"it counts {self.increments[0].path.label}"
        return self.what

    def _what_is_set(self) -> str | None:
        """Say which variable or attribute the run has set, but for counters."""
        name = self._clones.changed()
        if name is not None:
            return f"it sets {name}"
        counted = self.counters.counted
        for owner, written, _ in self._writes.values():
            for name in written:
                if (id(owner), name) not in counted:
                    return f"it sets the attribute {name} of a {type(owner).__name__}"
        for owner, _, names in self._set_on_others():
            if names:
                is_module = isinstance(owner, types.ModuleType)
                what = f"{owner.__name__}.{names[0]}" if is_module else f"attributes of the class {owner.__name__}"
                return f"it sets {what}"
        return None

    def _changed_containers(self) -> Iterator[tuple[CapturedPath, Any, Any]]:
        """Yield containers that hold other objects than before, but for counters, each with its copy from before."""
        for path, value, before in self._held.values():
            _, stand_in = self._identities.met(value)
            size = size_of(before)
            if before is stand_in:
                is_same_now = stand_in._tapec_is_as_before(self.counters.counted)
            elif getattr(stand_in, "_tapec_is_lost", False):
                is_same_now = False
            else:
                is_same_now = size_of(value) == size == size_of(stand_in) and self._holds_the_same(value, before)
            if not is_same_now:
                yield path, value, before

    def _holds_the_same(self, container: Any, before: Any) -> bool:
        """Return whether a container holds the objects that it held before, but for counters."""
        if is_same(container, before):
            return True
        counted, number = self.counters.counted, id(container)
        now, then = [[x for x in items_in(c) if (number, x[0]) not in counted] for c in (container, before)]
        return len(now) == len(then) and all([x is y and k == m for (k, x), (m, y) in zip(now, then)])

    def undo(self) -> bool:
        """Take back what the run has stored, before the function runs once more; return whether that could be done.

        It is not for containers that have grown: who looks on may have met what was put there.
        """
        changed = [(value, self._before(value, before)) for _, value, before in self._changed_containers()]
        if self._set_what is not None or any([x is None or size_of(x) != size_of(value) for value, x in changed]):
            return False
        undo(self.increments)
        for value, before in changed:
            refill(value, items_in(before))
        return True

    def _before(self, value: Any, before: Any) -> Any:
        """Return what a container held before the run; None where that is lost."""
        if getattr(self._identities.met(value)[1], "_tapec_is_lost", False):
            return None
        return before._tapec_before() if isinstance(before, MirroredContainer) else before

    def take_back(self) -> bool:
        """Take back what the run has stored, in the place of writing it back; return whether that could be done.

        It could not where code that is not followed has changed what was noted as a fact.
        """
        held = self._held_before()
        others = any([names for *_, names in self._set_on_stand_ins()])
        if others or self._is_around or len(held) < len(self._held):
            return False
        facts = [x for x in self._trace.captures.facts.checks.values() if not is_fact(*x)]
        for value, before in held:
            _restore(value, before)
        for place in [*self._olds.values(), *self._places_in_classes()]:
            place.put(place.before)
        return all([is_fact(*x) for x in facts])

    def _held_before(self) -> list[tuple[Any, Items]]:
        """Return containers with what they held before the run, but for those of which that is lost, or which a run
        around this one knows."""
        mine = [(v, before) for _, v, before in self._held.values() if not isinstance(v, MirroredContainer)]
        found = [(value, self._before(value, before)) for value, before in mine]
        return [(value, items_in(before)) for value, before in found if before is not None]

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Let another run of the function for the same call begin where this one began, and store nothing."""
        held = [(value, items_in(value)) for _, value, _ in self._held.values()]
        after = [(place, place.now()) for place in self._places]
        with without_counting(self.increments):
            try:
                for value, before in self._held_before():
                    _restore(value, before)
                for place in self._places:
                    place.put(place.before)
                yield
            finally:
                for value, items in held:
                    _restore(value, items)
                for place, now in after:
                    place.put(now)

    def refuse_changed(self, facts: Iterable[tuple[CapturedPath, Any]]) -> None:
        """Refuse what a compiled function, which this run calls, reads past the run: state that the run has set.

        It would read what was there before, or a plain number without its gradient.
        """
        changed = self._clones.set_globals()
        for path, value in facts if changed or self._stored else ():
            if id(value) in self._stored or path.source.startswith(changed):
                raise UnsupportedError(
                    at_user_line(
                        f"{path.label} is set in a function that is traced, and read by a compiled function which that "
                        f"one calls. Fix: pass it as an argument"
                    )
                )
