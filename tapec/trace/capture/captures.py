"""Define `Captures`: the state that a function reads from its closure, its globals and known objects.

A function is traced as a clone whose globals and closure cells answer with stand-ins: arrays, floats and tensors become
tensors of the trace, with the `CapturedPath` at which they were found; helper functions become clones of this kind;
objects and containers get stand-ins that answer reads in the same way. What else was read (ints, strings, functions)
is noted, to be compared at the next call.
"""

from __future__ import annotations

import math
import types
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, MappingView, MutableMapping, MutableSequence, MutableSet
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np

from tapec.errors import UnsupportedError, at_user_line, warn_user
from tapec.ops.core.define import as_data
from tapec.pytree import STANDS_FOR
from tapec.trace import tuning
from tapec.trace.capture.array_makers import making
from tapec.trace.capture.captured_paths import (
    ATOMS,
    CHECKED,
    LOST,
    SCALARS,
    CapturedPath,
    class_file,
    class_path,
    contents,
    generator_state,
    holds,
    is_foreign_array,
    is_generator,
    is_own_class,
    is_own_code,
    module_file,
    strings_of,
)
from tapec.trace.capture.container_proxies import container, is_container
from tapec.trace.capture.counters import Counters, Increment, undo, without_counting
from tapec.trace.capture.function_clones import Clones
from tapec.trace.capture.loaded_modules import sys_for
from tapec.trace.capture.numpy_view import view_of
from tapec.trace.capture.object_proxies import module_proxy, object_proxy
from tapec.trace.capture.opaque_objects import note_parts
from tapec.trace.capture.random_state import DRAWS
from tapec.trace.capture.strangers import compiled_function, is_compiled_function, is_table, table, without_stand_in
from tapec.trace.tensor import Tensor

__all__ = ["CapturedPath", "Captures"]

_ABSENT = object()
# what has no stand-in, and may hold something else at each call
_CHANGING = (MutableMapping, MutableSequence, MutableSet, MappingView, memoryview, types.MappingProxyType, ContextVar)
Items = list[tuple[Any, Any]]  # what a container holds, by key or number
STORES = "it stores what it computes in captured state"
_FUNCTIONS = (types.FunctionType, types.MethodType)
_ENVIRONMENT = {"environ", "getenv"}


def _viewed(value: Any) -> Any:
    """Return an argument with NumPy's functions as the run finds them."""
    if type(value) is not tuple:
        return view_of(value)
    found = tuple(map(_viewed, value))
    return value if all([x is y for x, y in zip(found, value)]) else found


def is_fixed(value: Any) -> bool:
    """Return whether a value can never be anything else than the signature tells of it."""
    kind = type(value)
    return kind in ATOMS or kind is float or kind is complex or (kind is tuple and all(map(is_fixed, value)))


class Captures:
    """Collects what one traced run captures: `arrays` (tensor id -> path and tensor) and `checks` (path, value).

    `parts` are arrays inside objects that were handed out as they are, `originals` the objects behind our stand-ins.
    """

    def __init__(self, trace: Any):
        self.trace = trace
        trace.captures = self
        self.arrays: dict[int, tuple[CapturedPath, Tensor]] = {}
        self.parts: dict[int, tuple[CapturedPath, np.ndarray]] = {}
        self.read_past_us: set[int] = set()  # those of `parts` that functions read which run as they are
        self.checks: dict[str, tuple[CapturedPath, Any]] = {}
        self.originals: dict[int, Any] = {}
        self.clones = Clones(self)
        self.counters = Counters()
        self.set_what: str | None = None  # the variable or attribute that the run has set, but for counters
        self.stored_what: str | None = None  # that, or a container that it has changed
        self.increments: list[Increment] = []  # what calls add to counters
        self._stored: dict[int, Any] = {}  # plain numbers and arrays that the run has stored for tensors
        self._given: list[tuple[Tensor, bytes]] = []  # tensors whose values code got, with what was in them
        self.handed: set[str] = set()  # checks of arrays that code got which does not know tensors
        self.compared = False  # are there arrays of other packages among the checks?
        self.open: set[int] = set()  # containers that are being read
        self.noted: dict[int, Any] = {}
        self._paths: dict[int, CapturedPath] = {}  # where the originals were found
        self._seen: dict[str, tuple[Any, Any]] = {}
        self._known: dict[int, tuple[CapturedPath, Any, Any]] = {}  # by original: its first path, it, its stand-in
        self._again: list[tuple[CapturedPath, CapturedPath]] = []  # other paths of objects that are handed out
        self._told_apart: set[int] = set()  # originals whose identity the run asks for
        self._members: set[type] = set()  # classes of objects in sets and of keys, which are handed out as they are
        self._held: list[
            tuple[CapturedPath, Any, list[tuple[Any, Any]]]
        ] = []  # containers, with what they held before the run
        self.filled: list[Any] = []  # stand-ins for containers that got others which the run has made
        self._writes: dict[int, tuple[Any, dict[str, bool]]] = {}
        self._items: set[int] = set()  # those of `arrays` that are items of a container
        self._methods: set[tuple[Any, str]] = set()  # whose and which: those that are among the checks
        self.generators: list[tuple[Any, Any]] = []
        self.sys: Any = None  # the stand-in for it
        self.modules: list[tuple[types.ModuleType, dict[str, Any], CapturedPath]] = []  # with what is set on stand-ins
        self.given: dict[int, tuple[int, Any]] = {}  # by the tensor of each argument: its place, and what was given
        self.with_arguments: list[tuple[CapturedPath, int, bool]] = []  # is the array there the argument at this place?
        self._asked: dict[int, tuple[type, dict[str, Any]]] = {}  # classes that type(x) has told, and what they held
        self.classes: list[tuple[type, type, set[str]]] = []  # with their stand-ins, and what those have from the start

    # -- what a read answers ----------------------------------------------------------------------------------------
    def read(self, value: Any, path: CapturedPath) -> Any:
        """The stand-in for a captured value."""
        kind = type(value)
        if self.made(value) is not value:
            return self.made(value)
        if kind in ATOMS:
            self.checks.setdefault(path.source, (path, value))
            if kind is type and is_own_code(class_file(value)):
                self.note(value, path)
            answering = view_of(value)
            if answering is not value or kind is not types.BuiltinFunctionType or not is_compiled_function(value):
                return answering
        if isinstance(value, Tensor) and self.trace.watches(value):
            return value  # made by this run
        known, stand_in = self._seen.get(path.source, (_ABSENT, None))
        if known is not value:
            stand_in = self._one_stand_in(value, kind, path)
            self._seen[path.source] = value, stand_in
        return stand_in

    def _one_stand_in(self, value: Any, kind: type, path: CapturedPath) -> Any:
        """Return the one stand-in of an object, by whatever names it is known. That two names lead to one object is a
        fact. Numbers have no identity: one number for two names may be an accident.
        """
        first, _, stand_in = self._known.get(id(value), (None, None, value))
        if first is not None and stand_in is not value:
            self._items.discard(id(stand_in))  # it has a name that leads to no other
            self._note_one(path, first)
            return stand_in
        stand_in = self._stand_in(value, kind, path)
        if first is not None:
            self._again.append((path, first))
        if stand_in is not value:
            self.stands_for(stand_in, value, path)
        elif not isinstance(value, (*CHECKED, types.FunctionType, types.ModuleType)):
            self._known.setdefault(id(value), (path, value, value))
        return stand_in

    def stands_for(self, stand_in: Any, value: Any, path: CapturedPath) -> None:
        """Note what stands in for an object."""
        self.originals[id(stand_in)] = value
        self._paths[id(stand_in)] = path
        if not isinstance(value, SCALARS):
            self._known[id(value)] = path, value, stand_in

    def note_member(self, x: Any, label: str) -> None:
        """Note a member of a set, or a key: it is handed out as it is, since it is found by what it is."""
        name = f"_key_{id(x)}"
        self.note(x, CapturedPath(label, name, {name: x}, lambda: x))
        self._members.add(type(x))

    def member(self, x: Any) -> Any:
        """Return what code gets for a key that it goes through: for objects that are found by their identity, the
        stand-in."""
        if not is_own_class(type(x)) or type(x).__hash__ is not object.__hash__:
            return x
        name = f"_key_{id(x)}"
        return self.read(x, CapturedPath(f"a key of class {type(x).__name__}", name, {name: x}, lambda: x))

    def _note_one(self, path: CapturedPath, first: CapturedPath) -> None:
        """Note as a fact that two paths lead to one object."""
        same = CapturedPath(
            f"{path.label} is {first.label}",
            f"({path.source} is {first.source})",
            {**first.names, **path.names},
            lambda: path.get() is first.get(),
        )
        self.checks.setdefault(same.source, (same, True))

    def _note_which(self, value: Any, path: CapturedPath) -> None:
        """Note as a fact that an object is this one, not one that equals it."""
        name, get = f"_which_{id(value)}", path.get
        text = f"({path.source} is {name})"
        is_this = CapturedPath(
            f"which object {path.label} is", text, {**path.names, name: value}, lambda: get() is value
        )
        self.checks.setdefault(text, (is_this, True))

    def original(self, stand_in: Any) -> Any:
        """Return the object for its stand-in where it goes as a key or a result: which object it is is a fact."""
        value = self.originals.get(id(stand_in), stand_in)
        path = self._paths.get(id(stand_in))
        if path is not None:
            self._note_which(value, path)
        return value

    def identity_of(self, x: Any) -> int:
        """Return the `id` of an object that a run asks for, which is a fact: it may be a key."""
        if id(x) in self.originals:
            return id(self.original(x))
        if self.trace.watches(x):
            self.trace.require_retrace("it asks for the id of an array")
            return id(self.given.get(id(x), (0, x))[1])
        path, value, _ = self._known.get(id(x), (None, None, None))
        if path is not None and value is x:
            self._note_which(x, path)
        return id(x)

    def tell_apart(self, x: Any) -> None:
        """Note that the run asks whether an object is another one."""
        original = self.originals.get(id(x))
        if original is not None:
            self._told_apart.add(id(original))

    def _note_identities(self) -> None:
        """Note as facts which objects are one, and which of a class are several, where the run asks for that."""
        by_class: dict[type, list[CapturedPath]] = {}
        asks = self.clones.ask_identity
        for path, first in self._again if asks else ():
            self._note_one(path, first)
        for path, value, _ in self._known.values():
            if asks and isinstance(value, (np.ndarray, Tensor)):
                given = [(k, x) for k, x in self.given.values() if x.shape == value.shape]
                self.with_arguments += [(path, k, x is value) for k, x in given]
            if asks or id(value) in self._told_apart:
                by_class.setdefault(type(value), []).append(path)
                if type(value) in self._members:
                    self._note_which(value, path)
        for kind, paths in by_class.items():
            if len(paths) > 1 and kind not in _FUNCTIONS:  # which function is at a path is a fact
                self._note_apart(kind, paths)

    def _note_apart(self, kind: type, paths: list[CapturedPath]) -> None:
        label = f"number of objects of {kind.__name__} at {', '.join([path.label for path in paths])}"
        names = {name: x for path in paths for name, x in path.names.items()}
        text = f"len({{id(x) for x in [{', '.join([path.source for path in paths])}]}})"
        number = CapturedPath(label, text, names, lambda: len({id(x) for x in [path.get() for path in paths]}))
        self.checks.setdefault(text, (number, len(paths)))

    def made(self, value: Any) -> Any:
        """Return the stand-in for NumPy in a run whose arrays are tensors; in other runs the value as it is."""
        return making(value) if self.trace.making else value

    def _stand_in(self, value: Any, kind: type, path: CapturedPath) -> Any:
        answering = sys_for(self, view_of(value))
        if answering is not value:
            if kind is not types.ModuleType:
                self.checks.setdefault(path.source, (path, value))
            return answering
        if isinstance(value, np.ndarray):
            return self._capture(as_data(value), path) if value.dtype.kind in "fciub" else self._texts(value, path)
        if isinstance(value, (*SCALARS, Tensor)):
            return self._capture(value, path)
        if isinstance(value, CHECKED):
            self.checks.setdefault(path.source, (path, value))
            return value
        if isinstance(value, Iterator):
            self.trace.require_retrace(f"it takes from {path.label}, which gives something else each time")
        if is_generator(value):
            self.watch_generator(value)
            return value
        if kind is set or kind is frozenset:
            text, get = f"(type({path.source}), frozenset({path.source}))", path.get
            whole = CapturedPath(path.label, text, path.names, lambda: (type(get()), frozenset(get())))
            self.checks.setdefault(whole.source, (whole, whole.get()))
            for member in value:
                if not isinstance(member, (*SCALARS, *CHECKED)):
                    self.note_member(member, f"a member of {path.label}")
            return value
        if isinstance(value, types.FunctionType):
            self.checks.setdefault(path.source, (path, value))
            found = self.function_of(value)
            if found is value:
                self.note(value, path)
            return found
        if kind is types.MethodType:
            owner = self.read(value.__self__, path.attribute("__self__"))
            return types.MethodType(self.function_of(value.__func__), owner)
        if kind is partial:
            return self._partial(value, path)
        if kind is weakref.ref or kind is weakref.WeakMethod:
            held = CapturedPath(f"{path.label}()", f"{path.source}()", path.names, lambda: path.get()())
            return lambda: self.read(value(), held)
        if isinstance(value, (tuple, list, dict, deque)):
            if is_container(value):
                if kind is not tuple and id(value) not in self._known:
                    self._held.append((path, value, _items(value)))
                return container(self, value, path)
        if kind is types.ModuleType and not is_own_code(module_file(value)):
            return value
        if kind is types.ModuleType or is_own_class(kind):
            return self._object(value, kind, path)
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            of_class = path.kind()
            self.checks.setdefault(of_class.source, (of_class, kind))
            return tuple.__new__(kind, [self.read(v, path.item(i)) for i, v in enumerate(value)])
        if (isinstance(value, _CHANGING) and kind not in STANDS_FOR) or type(kind).__module__ == "_ctypes":
            self.trace.require_retrace(f"{path.label} is a {kind.__name__}, which may hold something else each time")
        self.checks.setdefault(path.source, (path, value))  # another object in its place is seen
        again = getattr(kind, "_tapec_wrap_again", None)
        if again is not None:
            return again(value, self.function_of)
        self.note(value, path)
        if getattr(value, "format", None) in ("csr", "csc"):
            self._note_sparse(value, path)
        elif is_foreign_array(value):
            self._foreign(value, path)
            return table(value) if is_table(value) else value
        return compiled_function(value) if is_compiled_function(value) else value

    def _object(self, value: Any, kind: type, path: CapturedPath) -> Any:
        """A module of the user's own, or an instance of a class of theirs."""
        if kind is types.ModuleType:
            return module_proxy(self, value, path)
        type_path = path.kind()
        self.checks.setdefault(type_path.source, (type_path, kind))
        return object_proxy(self, value, path)

    def _texts(self, value: np.ndarray, path: CapturedPath) -> np.ndarray:
        """An array of strings or objects: what it holds is a fact, and which array it is when it holds much."""
        if value.size > tuning.TEXTS_MAX_ELEMENTS:
            self.checks.setdefault(path.source, (path, value))
        else:
            text = f"tuple({path.source}.ravel().tolist())"
            whole = CapturedPath(path.label, text, path.names, lambda: tuple(path.get().ravel().tolist()))
            self.checks.setdefault(text, (whole, whole.get()))
        return value

    def _foreign(self, value: Any, path: CapturedPath) -> None:
        """Note as a fact the contents of an array of another package, which NumPy reads past us, unless it is large."""
        if math.prod(np.shape(value)) > tuning.COMPARED_MAX_ELEMENTS:
            self.trace.require_retrace(
                f"{path.label} is a {type(value).__name__}, too large to be compared at each call"
            )
            return
        text, names = f"_contents({path.source})", {**path.names, "_contents": contents}
        whole = CapturedPath(f"contents of {path.label}", text, names, lambda: contents(path.get()))
        try:
            self.checks.setdefault(text, (whole, whole.get()))
        except (TypeError, ValueError):  # on a GPU, say: NumPy will not read it either
            return
        self.compared = True

    def _partial(self, value: Any, path: CapturedPath) -> Any:
        args = [self.read(a, path.attribute("args").item(i)) for i, a in enumerate(value.args)]
        keywords = {k: self.read(v, path.attribute("keywords").item(k)) for k, v in value.keywords.items()}
        return partial(self.read(value.func, path.attribute("func")), *args, **keywords)

    def note(self, value: Any, path: CapturedPath) -> None:
        """Note the arrays inside an object that is handed out as it is: reads of them do not come here."""
        note_parts(self, value, path)

    def _note_sparse(self, matrix: Any, path: CapturedPath) -> None:
        """The arrays of a matrix of scipy.sparse, for when they turn up in a product."""
        for name in ("data", "indices", "indptr"):
            array = getattr(matrix, name)
            self.parts[id(array)] = (path.attribute(name), array)
        shape = path.attribute("shape")
        self.checks.setdefault(shape.source, (shape, matrix.shape))

    def _capture(self, value: Any, path: CapturedPath) -> Tensor:
        inner = value._value if isinstance(value, Tensor) else value
        tensor = self.trace.input(inner, path.label, moving=type(value) is Tensor)
        if type(value) is Tensor and self.trace.captured_differs(value):
            self.trace.varying.add(id(tensor))
        self.arrays[id(tensor)] = (path, tensor)
        if self.open:
            self._items.add(id(tensor))
        return tensor

    def as_a_fact(self, tensor: Tensor) -> Any:
        """Return the number of a captured tensor that decides what is read, as keys do: the number is a fact."""
        path, _ = self.arrays.get(id(tensor), (None, None))
        value = self.originals.get(id(tensor))
        if path is None or not isinstance(value, SCALARS):
            return tensor
        self.checks.setdefault(path.source, (path, value))
        return value

    def argument(self, value: Any, name: str) -> Any:
        """The stand-in for a static argument: numbers are what they are, what is in objects is read as captured
        state is."""
        if is_fixed(value):
            return _viewed(value)
        if is_foreign_array(value):
            self.trace.require_retrace(
                f"an argument is a {type(value).__name__}, which NumPy reads as it is at each call"
            )
            if is_table(value):
                stand_in = table(value)
                self.originals[id(stand_in)] = value
                return stand_in
            return value
        key = f"_{name}_{id(value)}"
        path = CapturedPath(name, key, {key: value}, lambda: value)
        found = self.read(value, path)
        self.checks.pop(key, None)  # which object it is belongs to the signature
        return found

    def absent(self, path: CapturedPath, name: str, kind: type) -> None:
        """An object of this class was asked for an attribute that it does not have, though its `__getattr__` may."""
        asks_on = hasattr(kind, "__getattr__")
        if asks_on and not kind.__dictoffset__:
            return
        how = "{1!r} in {0}.__dict__" if asks_on else "hasattr({0}, {1!r})"
        text = how.format(path.source, name)

        def has() -> bool:
            owner = path.get()
            return name in owner.__dict__ if asks_on else hasattr(owner, name)

        self.checks.setdefault(text, (CapturedPath(how.format(path.label, name), text, path.names, has), False))

    def check_method(self, owner: CapturedPath, name: str, method: Any) -> None:
        """Note as a fact which function a method is: the object or its class may be given another one."""
        if self._is_new(owner.source, name):
            path = owner.attribute(name)
            if isinstance(method, types.MethodType):
                path, method = path.attribute("__func__"), method.__func__
            self.check_function(path, method, method)

    def check_of_class(self, kind: type, name: str, found: Any) -> None:
        """Note as a fact which operator or property a class has by this name: Python looks for these in classes
        alone."""
        if self._is_new(id(kind), name) and getattr(kind, name, None) is found:  # a metaclass may answer otherwise
            self.check_function(class_path(kind).attribute(name), found, getattr(found, "fget", found))

    def _is_new(self, owner: Any, name: str) -> bool:
        """Return whether a name of an owner is asked for the first time. A run calls operators over and over."""
        if (owner, name) in self._methods:
            return False
        self._methods.add((owner, name))
        return True

    def check_function(self, path: CapturedPath, value: Any, function: Any) -> None:
        """Note as a fact the value at a path, if it is a function of the user's, or made of one."""
        if isinstance(function, types.FunctionType) and is_own_code(function.__code__.co_filename):
            self.checks.setdefault(path.source, (path, value))

    def note_classes(self) -> None:
        """Note what the classes of objects hold before code runs that spells `type`: `type(x).rate` reads past us."""
        if "type" in self.clones.words:
            for kind, _, _ in self.classes:
                note_parts(self, kind, class_path(kind))

    def watch_generator(self, generator: Any) -> None:
        self.generators.append((generator, generator_state(generator)))

    @property
    def is_over(self) -> bool:
        return not self.trace.token.alive

    # -- what a run leaves behind -----------------------------------------------------------------------------------
    def writes_to(self, owner: Any) -> dict[str, bool]:
        """The attributes of an object that this run has set; False for what is kept there, as by cached_property."""
        return self._writes.setdefault(id(owner), (owner, {}))[1]

    def stored(self, x: Any, again: bool = True) -> Any:
        """Return what stays in captured state when the run is over: plain numbers, real objects for stand-ins, and
        functions of the run that read the real state.

        A function that stores what it computes must store it `again` at each call: so it is recorded at each call.
        """
        kind = type(x)
        if isinstance(x, Tensor) and (self.trace.making or self.trace.watches(x)):
            if again and self.trace.watches(x):
                self.trace.require_retrace(STORES)
                self._stored[id(x._value)] = x._value
            return self.originals.get(id(x), x._value)
        if kind is list or kind is tuple:
            parts = [self.stored(v, again) for v in x]
            return x if all(a is b for a, b in zip(parts, x)) else kind(parts)
        if kind is dict:
            changed = {k: self.stored(v, again) for k, v in x.items()}
            return x if all(changed[k] is v for k, v in x.items()) else changed
        if id(x) in self.originals:
            return self.originals[id(x)]
        if kind is types.FunctionType:
            return self.clones.settled(x)
        if kind is types.MethodType:
            return types.MethodType(self.stored(x.__func__), self.stored(x.__self__))
        if kind is partial:
            return partial(self.stored(x.func), *map(self.stored, x.args), **self.stored(x.keywords))
        return without_stand_in(x)

    def write_back(self) -> None:
        """Give containers, functions, classes and objects that the run changed their new values."""
        for stand_in in self.filled:
            stand_in._write_back()
        self.clones.write_back()
        for module, attributes, _ in self.modules:
            for name in attributes.keys() - {"__getattr__"}:
                setattr(module, name, self.stored(attributes[name]))
        for kind, stand_in, given in self.classes:
            for name in vars(stand_in).keys() - given:
                setattr(kind, name, self.stored(vars(stand_in)[name]))
        for kind, _ in self._asked.values():
            for name in self._set_on(kind):
                setattr(kind, name, self.stored(vars(kind)[name]))
        for owner, names in self._writes.values():
            for name in {**getattr(owner, "__dict__", {}), **names}:
                now = getattr(owner, name, None) if name in names else owner.__dict__[name]
                left = self.stored(now, names.get(name, True))
                if left is not now:
                    object.__setattr__(owner, name, left)

    def _set_on(self, kind: type) -> list[str]:
        """Return the attributes of a class that have been set since the run asked for it."""
        before = self._asked[id(kind)][1]
        return [name for name, value in vars(kind).items() if value is not before.get(name, _ABSENT)]

    def seen(self) -> Iterable[tuple[Any, Any]]:
        """Return what was read, but for what is of `ATOMS`, and what it was answered with."""
        return self._seen.values()

    def change(self) -> str | None:
        """Say what the run has stored in captured state, or None; asked when the run is over."""
        if self.increments:
            return f"it counts {self.increments[0].path.label}"
        return self.stored_what

    def _set(self) -> str | None:
        """Say which variable or attribute the run has set, but for counters."""
        name = self.clones.changed()
        if name is not None:
            return f"it sets {name}"
        counted = self.counters.counted
        for owner, names in self._writes.values():
            for name in names:
                if (id(owner), name) not in counted:
                    return f"it sets the attribute {name} of a {type(owner).__name__}"
        for module, attributes, _ in self.modules:
            if len(attributes) > 1:
                return f"it sets {module.__name__}.{next(name for name in attributes if name != '__getattr__')}"
        for kind, stand_in, given in self.classes:
            if vars(stand_in).keys() - given:
                return f"it sets attributes of the class {kind.__name__}"
        for kind, _ in self._asked.values():
            if self._set_on(kind):
                return f"it sets attributes of the class {kind.__name__}"
        return None

    def _changed_containers(self) -> Iterator[tuple[CapturedPath, Any, Items]]:
        """Yield containers that hold other objects than before, but for counters, each with what it held."""
        counted = self.counters.counted
        for path, value, before in self._held:
            now, then = [[x for x in items if (id(value), x[0]) not in counted] for items in (_items(value), before)]
            stand_in = self._known.get(id(value), (path, value, before))[2]
            same = len(now) == len(then) and all([x is y and k == m for (k, x), (m, y) in zip(now, then)])
            if not same or len(stand_in) != len(before):
                yield path, value, before

    def undo(self) -> bool:
        """Take back what the run has stored, before the function runs once more; return whether that could be done."""
        if self.set_what is not None:
            return False
        undo(self.increments)
        for _, value, before in list(self._changed_containers()):
            _refill(value, before)
        return True

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Let another run of the function for the same call store nothing in containers, and count nothing."""
        held = [(value, _items(value)) for _, value, _ in self._held]
        with without_counting(self.increments):
            try:
                yield
            finally:
                for value, items in held:
                    _refill(value, items)

    def judge(self) -> None:
        """Judge the run when it is over: whether the function must be retraced at each call.

        Draws of random numbers are a reason. A fact that the function itself has changed is no fact, and a run that
        has read it is for single use.
        """
        if any(generator_state(g) != before for g, before in self.generators):
            self.trace.require_retrace(DRAWS)
        if not _ENVIRONMENT.isdisjoint(self.clones.words):
            self.trace.require_retrace("it reads the environment")
        for path, tensor in self.arrays.values():
            if self.trace.retrace_reason is None and not _is_there(path, self.originals[id(tensor)]):
                self.trace.require_retrace(f"it changes {path.label}, which it reads")
        used: set[int] = set()
        if self.arrays or self.parts:
            used.update([id(x) for entry in self.trace.log.records for x in entry[1]])
        if self.trace.retrace_reason is None:
            self._check_types(used)
        self._check_contents(used)
        self._note_identities()
        for key, (path, value) in list(self.checks.items()):
            if self.clones.begins(path):  # noted by a function inside; what the variable stands for is noted as well
                del self.checks[key]
            elif not _is_fact(path, value):
                del self.checks[key]
                increment = self.counters.increment(path, value)
                if increment is None:
                    self.trace.single_use_reason = f"it changes {path.label}, which it reads"
                else:
                    self.increments.append(increment)
                    self.checks[path.kind().source] = (path.kind(), int)
        if self.trace.outer is not None and self._reads_around():
            self.trace.require_retrace("code that cannot be followed reads tensors of a recording around it")
        self.set_what = self._set()
        changed = next((f"it changes {path.label}" for path, *_ in self._changed_containers()), None)
        self.stored_what = self.set_what or changed
        if self.trace.retrace_reason == STORES and self.stored_what is not None:
            self.trace.retrace_reason = f"{STORES}: {self.stored_what}"
        self.trace.single_use_reason = self.trace.single_use_reason or self.stored_what
        self.clones.release()

    def _reads_around(self) -> bool:
        """Return whether the run computed with a tensor of a recording around it that it has found on no path."""
        known = {*self.arrays, *map(id, [t for _, t in self.trace.variables.values()])}
        for entry in self.trace.log.records:
            for x in entry[1]:
                if isinstance(x, Tensor) and x._mark is not None and id(x) not in known:
                    if any([k.alive and k is not self.trace.token for k in x._mark.tokens]):
                        return True
        return False

    def _check_types(self, used: set[int]) -> None:
        """Note as facts how arrays lie that something is computed with, and the types of others: their length or class
        may have been asked for.

        For items of containers that is done where functions spell out the key, or where there are few. For arrays by
        another key the fact is their class alone, as their layout may be another one at each call.
        """
        for path, tensor in self.arrays.values():
            value = self.originals[id(tensor)]
            if id(tensor) in used and isinstance(value, np.ndarray):
                fact = path.memory_order()
                self.checks.setdefault(fact.source, (fact, fact.get()))
        idle = [(path, tensor) for path, tensor in self.arrays.values() if id(tensor) not in used]
        strings = frozenset().union(*map(strings_of, self.clones.codes)) if idle else ()
        for path, tensor in idle:
            key = path.label.rpartition("[")[2][:-1]
            is_place = key[:1] not in "'\""
            is_named = id(tensor) not in self._items or key[1:-1] in strings
            if is_named or len(idle) <= tuning.IDLE_ITEMS_MAX:
                value = self.originals[id(tensor)]
                has_layout = not isinstance(value, SCALARS) and (is_named or is_place)
                fact = path.layout() if has_layout else path.kind()
                self.checks.setdefault(fact.source, (fact, fact.get()))

    def _check_contents(self, used: set[int]) -> None:
        """Note as facts the contents of arrays that functions spell out and that NumPy computed with past us."""
        for path, array in self.parts.values():
            if id(array) in self.read_past_us and array.dtype.kind in "fciub":
                self._compare(path, array)
                continue
            named = path.label.rpartition(".")[2].partition("[")[0] in self.clones.words
            if not named or id(array) in used or array.dtype.kind not in "fciub":
                continue
            if array.size <= tuning.COMPARED_MAX_ELEMENTS:
                whole = path.contents()
                self.checks.setdefault(whole.source, (whole, whole.get()))
                continue
            self.checks.setdefault(path.source, (path, array))
            warn_user(
                f"NumPy computed with {path.label}, an array of shape {array.shape}, before tapec saw it: another one "
                f"in its place is seen, changes in place are not. Fix: pass it as an argument"
            )

    def refuse_changed(self, facts: Iterable[tuple[CapturedPath, Any]]) -> None:
        """Refuse what a compiled function, which this run calls, reads past the run: state that the run has set.

        It would read what was there before, or a plain number without its gradient.
        """
        changed = self.clones.set_globals()
        for path, value in facts if changed or self._stored else ():
            if id(value) in self._stored or path.source.startswith(changed):
                raise UnsupportedError(
                    at_user_line(
                        f"{path.label} is set in a function that is traced, and read by a compiled function which that "
                        f"one calls. Fix: pass it as an argument"
                    )
                )

    def hand_out(self, tensor: Tensor, sources: list[Tensor]) -> None:
        """Note as facts what captured numbers and arrays are, of which code gets a value that does not know tensors."""
        if tensor.shape:
            self._given.append((tensor, tensor._value.tobytes()))
        for tensor in sources:
            path, value = self.arrays[id(tensor)][0], self.originals[id(tensor)]
            if not isinstance(value, np.ndarray):
                kind = complex if isinstance(value, (complex, np.complexfloating)) else float
                self.trace.guard(kind, tensor, kind(value))
            else:
                self.parts.setdefault(id(value), (path, value))  # it may come back, and meet a tensor
                self._compare(path, value)

    def changed_past_us(self, results: list[Any]) -> Tensor | None:
        """Return a tensor that something was computed with, or that is a result, and whose array was changed by code
        that does not know tensors."""
        if not self._given:
            return None
        used = {id(x) for entry in self.trace.log.records for x in entry[1]}.union(map(id, results))
        for tensor, before in self._given:
            if not used.isdisjoint((id(tensor), id(self.trace.log.known_as(tensor)))):
                if tensor._value.tobytes() != before:
                    return tensor
        return None

    def _compare(self, path: CapturedPath, array: np.ndarray) -> None:
        """Note as a fact what an array holds that code computes with which does not know tensors."""
        if array.size > tuning.COMPARED_MAX_ELEMENTS:
            self.trace.require_retrace(
                f"code that does not know tensors reads {path.label}, too large to be compared at each call"
            )
            return
        whole = path.contents()
        self.checks.setdefault(whole.source, (whole, whole.get()))
        self.handed.add(whole.source)

    # -- classes ----------------------------------------------------------------------------------------------------
    def asked_for_class(self, tensor: Tensor) -> Any:
        """Return the array or number whose class a tensor answers with, and note a captured one's class as a fact."""
        captured = self.arrays.get(id(tensor))
        if captured is not None and not tensor.shape:
            path = captured[0].kind()
            self.checks.setdefault(path.source, (path, type(self.originals[id(tensor)])))
        given = self.given.get(id(tensor), (0, None))[1] if captured is None else self.originals[id(tensor)]
        return given if type(given) is np.ndarray else tensor._value

    def class_of(self, x: Any, kind: Any) -> Any:
        """Return the user's class of an object or its stand-in, and note what that class holds."""
        if id(x) not in self.originals or kind in STANDS_FOR.values():
            return kind
        real: Any = x.__class__  # the stand-in notes what its class holds
        self._asked.setdefault(id(real), (real, dict(vars(real))))
        return real

    # -- functions --------------------------------------------------------------------------------------------------
    def function_of(self, f: Any) -> Any:
        """A function that reads its captured state through us; ours that wrap a user's are wrapped anew."""
        if type(f) is not types.FunctionType:
            return f
        wrapped_again = f.__dict__.get("_tapec_wrap_again")
        if wrapped_again is not None:
            return wrapped_again(self.function_of)
        return self.clones.of(f) if is_own_code(f.__code__.co_filename) else f


def _items(container: Any) -> Items:
    return [*container.items()] if isinstance(container, dict) else [*enumerate(container)]


def _refill(container: Any, items: Items) -> None:
    container.clear()
    if isinstance(container, dict):
        container.update(items)
    else:
        container.extend([x for _, x in items])


def _is_there(path: CapturedPath, value: Any) -> bool:
    """Return whether a path still leads to this number or array."""
    try:
        now = path.get()
    except LOST:
        return False
    return now is value or (type(now) is type(value) and bool(np.array_equal(now, value)))


def _is_fact(path: CapturedPath, value: Any) -> bool:
    try:
        now = path.get()
    except LOST:
        return False
    return now is value or holds(now, value)
