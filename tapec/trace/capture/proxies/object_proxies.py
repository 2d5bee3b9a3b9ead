"""Define stand-ins for captured objects and modules: reads of their attributes go through `Captures`.

An instance of a user's class is stood in for by one of a subclass that shares its state. Its attributes answer as
captured values do, and its methods, properties and operators are clones that read globals and closures in the same way.
What a run writes goes to the real object too, as plain numbers once the run is over.
"""

from __future__ import annotations

import copy
import sys
import types
from collections.abc import Callable
from functools import cached_property, partial, partialmethod
from typing import Any

import numpy as np

from tapec.errors import PACKAGE_FOLDER
from tapec.trace.capture.captured_paths import CapturedPath, class_path, is_own_class, looked_up, strings_of, words_of
from tapec.trace.capture.function_clones import CACHE_KEY
from tapec.trace.capture.module_stand_ins.cached_functions import CachedFunction, is_cached_function
from tapec.trace.capture.module_stand_ins.class_questions import BUILTINS
from tapec.trace.capture.proxies.container_facts import note_keys
from tapec.trace.tensor import Tensor

__all__ = ["filled", "module_proxy", "object_proxy"]

_DATA = (float, complex, int, str, np.number, np.ndarray, Tensor)
_LIFE = {"__new__", "__init__", "__del__", "__getattribute__", "__setattr__", "__delattr__"}
_LIFE |= {"__init_subclass__", "__class_getitem__", "__set_name__", "__reduce__", "__reduce_ex__", "__getstate__"}

_OF_OBJECTS = ("__setattr__", "__delattr__", "__eq__", "__hash__")
_GETATTR = BUILTINS["getattr"].__code__


# ---------------------------------------------------------------------------------------------------------------
# objects
# ---------------------------------------------------------------------------------------------------------------
def _raw_path(kind: type, name: str) -> CapturedPath:
    """Return the path of a descriptor as the class holds it, which `getattr` would ask for its answer."""
    owner = next(c for c in kind.__mro__ if name in c.__dict__)
    return class_path(owner).attribute("__dict__").item(name)


def _names_class(code: types.CodeType) -> bool:
    """Return whether code of anybody but tapec may read `__class__` by its name."""
    by_name = {"__class__", "getattr"} & (words_of(code) | strings_of(code))
    return bool(by_name) and not code.co_filename.startswith(PACKAGE_FOLDER)


def object_proxy(captures: Any, value: Any, path: CapturedPath) -> Any:
    """Return an instance of a subclass that shares the object's state and answers reads of it through us."""
    kind: Any = type(value)
    state = getattr(kind, "_tapec_state", None)
    state = getattr(value, "__dict__", {}) if state is None else state
    written = captures.stores.writes_to(value)
    of_class = path.kind()
    original: Any = kind.__getattribute__
    around = getattr(kind, "_tapec_follow", None)  # then the value is a stand-in itself, of a run around this one
    simple = around is not None or original in (object.__getattribute__, types.SimpleNamespace.__getattribute__)
    if not simple:
        captures.untraced.note_root(original, class_path(kind).attribute("__getattribute__"))

    def follow(f: Any) -> Any:
        """Return a function of the class that reads its captured state through us, and through the run around us."""
        return captures.function_of(f if around is None else around(f))

    def __getattribute__(self: Any, name: str) -> Any:
        if name == "__class__":
            code = sys._getframe(1).f_code
            if code is _GETATTR or _names_class(code):  # else it is isinstance that asks
                captures.untraced.note(kind, of_class)
            return captures.class_now(kind)
        if self is not proxy:  # another one of this class, that the run has made
            return original(self, name)
        if not simple and name not in written and not name.startswith("__"):
            try:
                answer = original(self, name)
            except AttributeError:
                captures.facts.add_absent(path, name, kind)
                raise
            if type(answer) is not types.MethodType:
                return captures.read(answer, path.attribute(name))
        found = looked_up(kind, name)
        if isinstance(found, property) and type(found).__get__ is property.__get__ and found.fget is not None:
            captures.facts.add_of_class(kind, name, found)
            if type(found.fget) is types.FunctionType:
                return follow(found.fget)(self)
            return captures.read(found.fget, _raw_path(kind, name).attribute("fget"))(self)
        held = name in state or type(found) in _OF_SLOTS
        if name in written and held:
            answer = getattr(value, name)  # by this run
            if type(answer) is int:
                captures.stores.counters.reads(value, name, path.attribute(name), answer, sys._getframe(1))
            return answer
        if name == "__dict__" and kind.__dictoffset__:
            captures.stores.counters.exposes(value)
            attributes = captures.read(state, path.attribute(name))
            if attributes is not state:
                attributes._tapec_set_attributes(written)
            return attributes
        if held:
            try:
                answer = getattr(value, name)
            except AttributeError:  # of a slot that is not filled
                captures.facts.add_absent(path, name, kind)
                raise
            if type(answer) is types.MethodType:
                captures.facts.add_method(path, name, answer)
            at = path.attribute(name)
            if type(answer) is int:
                captures.stores.counters.reads(value, name, at, answer, sys._getframe(1))
            return captures.read(answer, at, sys._getframe(1).f_code, "attribute")
        if type(found) is cached_property and type(found.func) is types.FunctionType:
            captures.stores.writes_past(state)
            captures.stores.note_before(value, name)
            state[name] = follow(found.func)(self)
            written[name] = False
            return state[name]
        getter = looked_up(type(found), "__get__") if is_own_class(type(found)) else None
        if type(getter) is types.FunctionType:
            captures.facts.add_of_class(type(found), "__get__", getter)
            captures.untraced.note(kind, of_class)
            return follow(getter)(captures.read(found, _raw_path(kind, name)), self, captures.class_now(kind))
        if type(found) is partialmethod and type(found.func) is types.FunctionType:
            captures.facts.add_function(_raw_path(kind, name), found, found.func)
            method = types.MethodType(follow(found.func), self)
            return partial(method, *found.args, **found.keywords)
        if type(found).__module__.startswith("tapec.") and hasattr(found, "__get__"):
            again = getattr(type(found), "_tapec_wrap_again", None)
            if again is None:
                captures.facts.add(path, value)
                return found.__get__(value, kind)  # a compiled function: it captures for itself, of this very object
            return again(found, follow).__get__(self, kind)
        try:
            answer = object.__getattribute__(self, name) if around is None else getattr(value, name)
        except AttributeError:
            captures.facts.add_absent(path, name, kind)
            raise
        if type(answer) is types.MethodType and is_cached_function(answer.__func__):
            captures.facts.add(path.attribute(name).attribute("__func__"), answer.__func__)
            return CachedFunction(captures, getattr(value, name), path.attribute(name))
        if type(answer) is types.MethodType:
            captures.facts.add_method(path, name, answer)
            owner: Any = answer.__self__
            if issubclass(type(owner), type):  # a classmethod reads attributes of the class past us
                captures.untraced.note(owner, class_path(owner))
                owner = captures.class_now(owner)
            owner = self if owner is value else owner
            return types.MethodType(captures.function_of(answer.__func__), owner)
        if type(answer) is types.FunctionType:
            captures.facts.add_method(path, name, answer)
            return captures.function_of(answer)
        if name.startswith("__") and not (answer is found and isinstance(answer, _DATA)):
            return answer
        at = path.attribute(name)  # of the class, or what a descriptor that is not followed gives at each call
        if type(answer) is int:
            captures.stores.counters.reads(value, name, at, answer, sys._getframe(1))
        return captures.read(answer, at, sys._getframe(1).f_code, "attribute")

    def __setattr__(self: Any, name: str, new: Any) -> None:
        found = looked_up(kind, name)
        if self is not proxy:
            return object.__setattr__(self, name, new)
        if type(found) is property and type(found.fset) is types.FunctionType:
            captures.facts.add_function(_raw_path(kind, name).attribute("fset"), found.fset, found.fset)
            return follow(found.fset)(self, new)
        setter = looked_up(type(found), "__set__") if is_own_class(type(found)) else None
        if type(setter) is types.FunctionType:
            captures.facts.add_of_class(type(found), "__set__", setter)
            return follow(setter)(captures.read(found, _raw_path(kind, name)), self, new)
        if type(found) not in _OF_SLOTS and hasattr(type(found), "__set__"):
            return object.__setattr__(self, name, new)  # a descriptor
        captures.stores.refuse_in_body()
        captures.stores.writes_past(state)
        captures.stores.note_before(value, name)
        setattr(value, name, new)
        written[name] = True
        captures.stores.counters.writes(value, name, new, sys._getframe(1))

    def get_slot(self: Any, slot: Any) -> Any:
        """Return what is in a slot, where code asks past the methods of the stand-in, as `object.__getattribute__`
        does."""
        if self is not proxy:
            return slot.__get__(self, kind)
        return __getattribute__(self, slot.__name__) if simple else object.__getattribute__(value, slot.__name__)

    def set_slot(self: Any, slot: Any, new: Any) -> None:
        """Fill a slot, where code does that past the methods of the stand-in, as `object.__setattr__` does."""
        if self is not proxy:
            return slot.__set__(self, new)
        name = slot.__name__
        captures.stores.refuse_in_body()
        captures.stores.writes_past(state)
        captures.stores.note_before(value, name)
        object.__setattr__(value, name, new)
        written[name] = True
        captures.stores.counters.writes(value, name, new, sys._getframe(2))

    def empty_slot(self: Any, slot: Any) -> None:
        if self is not proxy:
            return slot.__delete__(self)
        captures.stores.refuse_in_body()
        captures.stores.note_before(value, slot.__name__)
        object.__delattr__(value, slot.__name__)
        written.pop(slot.__name__, None)
        captures.stores.counters.exposes(value)

    def __delattr__(self: Any, name: str) -> None:
        found = looked_up(kind, name)
        deleter = looked_up(type(found), "__delete__") if is_own_class(type(found)) else None
        if self is proxy and type(deleter) is types.FunctionType:
            captures.facts.add_of_class(type(found), "__delete__", deleter)
            return follow(deleter)(captures.read(found, _raw_path(kind, name)), self)
        if self is not proxy or (type(found) not in _OF_SLOTS and hasattr(type(found), "__delete__")):
            return object.__delattr__(self, name)
        captures.stores.refuse_in_body()
        captures.stores.writes_past(state)
        captures.stores.note_before(value, name)
        delattr(value, name)
        written.pop(name, None)
        captures.stores.counters.exposes(value)

    def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
        captures.untraced.note(kind, of_class)
        return captures.class_now(kind)(*args, **kwargs)  # type(self)(...)

    def __eq__(self: Any, other: Any) -> Any:
        one, another = (captures.identities.originals.get(id(x), x) for x in (self, other))
        captures.identities.tell_apart(self)
        captures.identities.tell_apart(other)
        return one is another or (around is not None and one == another) or NotImplemented

    def __hash__(self: Any) -> int:
        captures.identities.tell_apart(self)
        if around is not None and self is proxy:
            return hash(value)
        return object.__hash__(value if self is proxy else self)

    def __copy__(self: Any) -> Any:
        captures.untraced.note(kind, of_class)
        return filled(captures.class_now(kind), {name: getattr(self, name) for name in _names(value)})

    def __deepcopy__(self: Any, memo: Any) -> Any:
        captures.untraced.note(kind, of_class)
        held = {name: copy.deepcopy(getattr(self, name), memo) for name in _names(value)}
        return filled(captures.class_now(kind), held)

    space = {"__new__": __new__, "__copy__": __copy__, "__deepcopy__": __deepcopy__, "__module__": kind.__module__}
    space = {name: f for name, f in space.items() if name in ("__new__", "__module__") or not hasattr(kind, name)}
    space |= {"__getattribute__": __getattribute__, "_tapec_stands_for": kind}
    space |= {"_tapec_follow": follow, "_tapec_state": state}
    for slot in _slots(kind):
        space[slot.__name__] = _Slot(slot, get_slot, set_slot, empty_slot)
    space |= _operators(captures, kind)
    own_setattr, own_delattr, own_eq, own_hash = users = [
        getattr(kind, f"_tapec_{name}", getattr(kind, name)) for name in _OF_OBJECTS
    ]
    space |= {f"_tapec_{name}": method for name, method in zip(_OF_OBJECTS, users)}
    if own_setattr in (object.__setattr__, types.SimpleNamespace.__setattr__):
        space["__setattr__"] = __setattr__
    elif type(own_setattr) is types.FunctionType and around is None:
        space["__setattr__"] = _operator(captures, kind, "__setattr__", own_setattr)
    if own_eq is object.__eq__ and own_hash is object.__hash__:  # a key, in whatever dict, is the object itself
        space["__eq__"], space["__hash__"] = __eq__, __hash__
    if own_delattr in (object.__delattr__, types.SimpleNamespace.__delattr__):
        space["__delattr__"] = __delattr__
    proxy_class = _subclass(kind, space)
    captures.stores.watch_stand_in(kind, proxy_class)
    captures.note_classes()
    proxy: Any
    if issubclass(kind, types.SimpleNamespace):
        proxy = types.SimpleNamespace.__new__(proxy_class)
        return proxy
    proxy = object.__new__(proxy_class)
    if kind.__dictoffset__:
        object.__setattr__(proxy, "__dict__", state)
    return proxy


class _Slot:
    """Stands in for a slot in the class of stand-ins: of an object, what is there is in the user's own."""

    def __init__(self, slot: Any, get: Callable[..., Any], put: Callable[..., None], empty: Callable[..., None]):
        self.__name__ = slot.__name__
        self._slot, self._get, self._put, self._empty = slot, get, put, empty

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self._slot if owner is None else self._get(owner, self._slot)

    def __set__(self, owner: Any, new: Any) -> None:
        self._put(owner, self._slot, new)

    def __delete__(self, owner: Any) -> None:
        self._empty(owner, self._slot)


_OF_SLOTS = (types.MemberDescriptorType, _Slot)


def _slots(kind: type) -> list[Any]:
    """Return the slots of a class, each of which is in its instances."""
    found = [(n, d) for c in reversed(kind.__mro__) for n, d in c.__dict__.items()]
    return [d for n, d in dict(found).items() if type(d) in _OF_SLOTS and n == d.__name__]


def _names(x: Any) -> list[str]:
    """Return the names of the attributes that an object holds."""
    slots = [n for c in type(x).__mro__ for n, d in c.__dict__.items() if type(d) is types.MemberDescriptorType]
    return [
        *[n for n in getattr(x, "__dict__", ()) if n != CACHE_KEY],
        *[n for n in slots if n != "__dict__" and hasattr(x, n)],
    ]


def filled(kind: Any, attributes: dict[str, Any]) -> Any:
    """Return a new object of a class with these attributes."""
    base = types.SimpleNamespace if issubclass(kind, types.SimpleNamespace) else object
    new = base.__new__(kind)
    for name, value in attributes.items():
        object.__setattr__(new, name, value)
    return new


_GIVES: dict[str, type] = {"__float__": float, "__complex__": complex, "__bool__": bool, "__int__": int}
_GIVES |= {"__index__": int, "__len__": int, "__hash__": int, "__length_hint__": int}


class _Nothing:
    """Stands in as the base of a new subclass whose real base must not hear of it through `__init_subclass__`."""


def _subclass(kind: type, space: dict[str, Any]) -> Any:
    """Make a subclass of a user's class, with these methods."""
    # Python calls `__init_subclass__` of the bases when it makes a class. A user's one may register each subclass, and
    # must not register ours: so the class is made of another base, which is exchanged afterwards.
    silent = any("__init_subclass__" in c.__dict__ and c.__module__ != "typing" for c in kind.__mro__[:-1])
    base = _Nothing if silent and kind.__dictoffset__ else kind
    made: Any = type.__new__(type(kind), kind.__name__, (base,), space)
    if base is not kind:
        made.__bases__ = (kind,)
    return made


def _operators(captures: Any, kind: type) -> dict[str, Any]:
    """Return the methods that Python looks up on the class, as clones."""
    found: dict[str, Any] = {"__del__": lambda self: None} if hasattr(kind, "__del__") else {}
    for c in reversed(kind.__mro__[:-1]):
        for name, f in c.__dict__.items():
            if name.startswith("__") and name not in _LIFE and type(f) is types.FunctionType:
                found[name] = _operator(captures, kind, name, f)
    return found


def _operator(captures: Any, kind: type, name: str, f: types.FunctionType) -> Callable[..., Any]:
    def operator(*args: Any, **kwargs: Any) -> Any:
        captures.facts.add_of_class(kind, name, f)
        answer = captures.function_of(f)(*args, **kwargs)
        given = _GIVES.get(name)
        if given is not None and isinstance(answer, Tensor) and isinstance(answer._value, given):
            return given(answer)  # a guard, or an error: Python takes no tensor here
        return answer

    return operator


def module_proxy(captures: Any, module: types.ModuleType, path: CapturedPath) -> types.ModuleType:
    """Return a module whose attributes answer as captured values do.

    What is set on it is what functions of the module find as global variables, and the other way round.
    """
    attributes = path.attribute("__dict__")
    is_plain = module.__class__ is types.ModuleType  # else its class may answer for names
    space = captures.clones.space_of(vars(module))

    class StandIn(types.ModuleType):
        __class__ = property(lambda self: type(module))

        @property
        def __dict__(self) -> Any:  # type: ignore[override]
            if is_plain:
                return space
            found = captures.read(vars(module), attributes)
            return {**found, **own} if own else found  # with what this run has set

        def __dir__(self) -> list[str]:
            note_keys(captures, vars(module), attributes)
            return sorted({*dir(module), *own, *space.changes()})

        def __getattr__(self, name: str) -> Any:
            code = sys._getframe(1).f_code
            if name in space.changes():
                return space[name]
            try:
                found = getattr(module, name)
            except AttributeError:
                captures.facts.add_absent(path, name, types.ModuleType)
                raise
            return captures.read(found, path.attribute(name), code, "attribute")

        def __setattr__(self, name: str, value: Any) -> None:
            if is_plain and name[:2] != "__":
                space[name] = value
                space.labels[name] = f"{module.__name__}.{name}"
            else:
                super().__setattr__(name, value)

        def __delattr__(self, name: str) -> None:
            if name in space.changes():
                del space[name]
            else:
                super().__delattr__(name)

    proxy = StandIn(module.__name__)
    own = _ATTRIBUTES.__get__(proxy)
    own.clear()
    captures.stores.watch_module(module, own)
    return proxy


_ATTRIBUTES: Any = vars(types.ModuleType)["__dict__"]  # of a module, whatever its class says
