"""Define stand-ins for captured dicts, of the library's classes and of the user's own."""

from __future__ import annotations

import types
from collections import OrderedDict, defaultdict
from typing import Any

from tapec.pytree import STANDS_FOR
from tapec.trace.capture.captured_paths import CapturedPath, class_path, looked_up
from tapec.trace.capture.container_contents import item_of, keys_in
from tapec.trace.capture.function_clones import CACHE_KEY
from tapec.trace.capture.proxies.container_facts import is_plain, note_keys
from tapec.trace.capture.proxies.mirrored_container import (
    OF_THE_LIBRARY,
    MirroredContainer,
    on_a_copy,
    on_both,
    reading_whole,
)
from tapec.trace.escape.to_plain import to_key
from tapec.trace.tensor import Tensor

__all__ = ["METHODS", "mapping_proxy"]


def _read_keys(name: str) -> Any:
    """Make a method that gives out the keys of the stand-in, with stand-ins for objects."""
    plain = reading_whole(name, items=name == "items")

    def method(self: Any) -> Any:
        found = plain(self)
        if not self._tapec_has_objects:
            return found
        self._tapec_captures.stores.counters.exposes(self._tapec_real)
        items = super(MirroredContainer, self).items()
        return getattr({self._tapec_captures.member(key): item for key, item in items}, name)()

    return method


class _Mapping(MirroredContainer):
    """Stands in for a captured dict of any kind that does as dicts do. A stand-in is no key: the object that it stands
    for is."""

    __iter__, keys, items = map(_read_keys, ("__iter__", "keys", "items"))
    __or__, __ror__, fromkeys = map(on_a_copy, ("__or__", "__ror__", "fromkeys"))
    values = reading_whole("values")
    popitem = on_both("popitem")
    _tapec_has_objects = False  # are there objects among the keys?
    _tapec_has_keys = False  # are the keys noted?

    def _tapec_note_keys(self) -> None:
        if not self._tapec_has_keys and not self._tapec_captures.is_judged:
            self._tapec_has_keys = True
            self._tapec_has_objects = not all(map(is_plain, keys_in(self._tapec_real)))
            note_keys(self._tapec_captures, self._tapec_real, self._tapec_path)

    def _tapec_has(self: Any, key: Any) -> bool:
        """Return whether there is an item by this key, which is a fact."""
        found = dict.__contains__(self, key)
        if not self._tapec_captures.is_judged:
            self._tapec_captures.facts.add(self._tapec_path.has(key), found)
        return found

    def _tapec_item(self: Any, key: Any, in_turn: bool = False) -> Any:
        if dict.__contains__(self, key):
            return super()._tapec_item(key, in_turn)
        self._tapec_has(key)
        return item_of(self, key)  # a default, or an error

    def _tapec_real_key(self, key: Any) -> Any:
        if type(key) is str or type(key) is int:
            return key
        if isinstance(key, Tensor):
            number = self._tapec_captures.inputs.as_a_fact(key)
            return to_key(key) if number is key else number
        if type(key) is tuple:
            return tuple(map(self._tapec_real_key, key))
        return self._tapec_captures.identities.original(key)

    def __delitem__(self, key: Any) -> None:
        self.pop(key)

    def __contains__(self, key: Any) -> bool:
        self._tapec_sync()
        return self._tapec_has(self._tapec_real_key(key))

    def get(self, key: Any, default: Any = None) -> Any:
        self._tapec_sync()
        self._tapec_captures.stores.counters.exposes(self._tapec_real)
        key = self._tapec_real_key(key)
        return self._tapec_item(key) if self._tapec_has(key) else default

    def pop(self: Any, key: Any, *default: Any) -> Any:
        self._tapec_sync()
        key = self._tapec_real_key(key)
        if self._tapec_has(key):
            return self._tapec_take("pop", key, key)
        self._tapec_note_taken()
        return super(MirroredContainer, self).pop(key, *default)  # type: ignore[misc]

    def update(self, *args: Any, **kwargs: Any) -> None:
        for key, item in dict(*args, **kwargs).items():
            self[key] = item

    def __ior__(self, other: Any) -> Any:  # type: ignore[misc]
        self.update(other)
        return self

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def __setattr__(self: Any, name: str, value: Any) -> None:
        """Set an attribute, which instances of a class of the user's may have, of the real one too; or an item, where
        these are the attributes."""
        if name.startswith("_tapec_"):
            object.__setattr__(self, name, value)
            return
        own = STANDS_FOR[type(self)].__setattr__
        if type(own) is types.FunctionType:
            before = dict(vars(self))
            self._tapec_follow(own)(self, name, value)
            for key, now in list(vars(self).items()):
                if now is not before.get(key, self) and not key.startswith("_tapec_"):
                    self._tapec_set(key, now)
        elif own is not object.__setattr__:
            _ours(type(self), own)(self, name, value)
        elif hasattr(type(looked_up(type(self), name)), "__set__"):
            object.__setattr__(self, name, value)
        elif self._tapec_beside() is None:
            self[name] = value
        else:
            self._tapec_set(name, value)

    def __delattr__(self: Any, name: str) -> None:
        own = STANDS_FOR[type(self)].__delattr__
        if type(own) is types.FunctionType:
            self._tapec_follow(own)(self, name)
        elif own is not object.__delattr__:
            _ours(type(self), own)(self, name)
        elif self._tapec_beside() is None:
            del self[name]
        else:
            object.__delattr__(self, name)

    def _tapec_set(self: Any, name: str, value: Any) -> None:
        """Set an attribute beside the items."""
        captures, real = self._tapec_captures, self._tapec_real
        captures.stores.note_before(real, name)
        stays = captures.stores.kept(value, real, self._tapec_path)
        if isinstance(real, _Mapping):  # of a run around this one
            real._tapec_set(name, stays)
        else:
            object.__setattr__(real, name, stays)
        captures.trace.require_retrace(f"it sets the attribute {name} of a {STANDS_FOR[type(self)].__name__}")
        object.__setattr__(self, name, value)

    def _tapec_beside(self: Any) -> Any:
        """Return the attributes of the user's own dict beside its items; None where the items are the attributes."""
        real = self._tapec_real
        while isinstance(real, MirroredContainer):  # of a run around this one
            real = real._tapec_real
        attributes = getattr(real, "__dict__", {})
        return None if attributes is real else attributes

    def _tapec_follow(self: Any, f: Any) -> Any:
        """Return a function of the class that reads its captured state through us."""
        return f if self._tapec_captures.is_judged else self._tapec_captures.function_of(f)


class _Dict(_Mapping, dict):
    pass


# of which a class with one of its own has no stand-in
METHODS = {name for c in (MirroredContainer, _Mapping) for name in vars(c)} | {"__getattribute__", "__new__"}
METHODS -= {"__class__", "__delattr__", "__dict__", "__doc__", "__module__", "__setattr__", "__weakref__"}
METHODS -= {"__annotations__", "__firstlineno__", "__static_attributes__"}  # which Python gives to every class


def _attribute(self: Any, name: str) -> Any:
    """Read an attribute of the user's own dict: one beside its items, or an item, where their class looks there."""
    beside, own = self._tapec_beside(), getattr(STANDS_FOR[type(self)], "__getattr__", None)
    if beside is None and dict.__contains__(self, name):
        return self[name]
    if own is not None and name not in (beside or ()):
        find = self._tapec_follow(own) if type(own) is types.FunctionType else _ours(type(self), own)
        return find(self, name)
    return self._tapec_captures.read(getattr(self._tapec_real, name), self._tapec_path.attribute(name))


_OF_DICTS = (types.MethodDescriptorType, types.WrapperDescriptorType)


def _ours(made: Any, method: Any) -> Any:
    """Return the method of a stand-in for one of the library's, which the user's class has by another name."""
    of_dicts = isinstance(method, _OF_DICTS) and issubclass(dict, method.__objclass__)
    return getattr(_Mapping, method.__name__, method) if of_dicts else method


def _note_attributes(captures: Any, made: Any, real: Any, path: CapturedPath) -> None:
    """Note as facts which attributes a dict of the user's has beside its items, and what its class holds: that one is
    read past us. Attributes in whose place the class has others are read at once.
    """
    kind = type(real)
    captures.untraced.note(kind, class_path(kind))
    attributes = getattr(real, "__dict__", real)
    if attributes is not real:
        note_keys(captures, attributes, path.attribute("__dict__"))
    beside = made._tapec_beside()
    held = [n for n in (real if beside is None else beside) if type(n) is str and hasattr(kind, n)]
    for name in held:
        vars(made)[name] = _attribute(made, name)
    if beside is None:
        made._tapec_in_place = frozenset(held)


_LIBRARY = (object, dict, OrderedDict, defaultdict)
_HOOKS = ("__getattr__", "__setattr__", "__delattr__")
_KINDS: dict[type, Any] = {dict: _Dict}
STANDS_FOR[_Dict] = dict


def mapping_proxy(captures: Any, real: Any, path: CapturedPath) -> Any:
    """Return the stand-in for a dict, of a class that inherits from the dict's own."""
    kind = STANDS_FOR.get(type(real), type(real))
    if kind not in _KINDS:
        space: dict[str, Any] = {"__module__": kind.__module__}
        if kind not in OF_THE_LIBRARY:
            found = {n: v for c in reversed(kind.__mro__) if c not in _LIBRARY for n, v in vars(c).items()}
            space |= {n: _ours(kind, v) for n, v in found.items() if isinstance(v, _OF_DICTS) and n not in _HOOKS}
            space["__getattr__"] = _attribute
        if issubclass(kind, OrderedDict):
            space["move_to_end"] = on_both("move_to_end")
        made = type.__new__(type(kind), kind.__name__, (_Mapping, kind), space)
        _KINDS[kind], STANDS_FOR[made] = made, kind
    made = _KINDS[kind].__new__(_KINDS[kind])
    if kind is defaultdict:
        factory = real.default_factory
        is_function = type(factory) is types.FunctionType
        made.default_factory = captures.read(factory, path.attribute("default_factory")) if is_function else factory
    made._tapec_stand_for(captures, real, path)
    if dict.__contains__(made, CACHE_KEY):  # among the attributes of an object, of which it is none
        dict.__delitem__(made, CACHE_KEY)
    if kind not in OF_THE_LIBRARY:
        made._tapec_read_all()  # methods of one's own may read past ours
        _note_attributes(captures, made, real, path)
    return made
