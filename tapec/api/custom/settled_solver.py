"""Take down a solver with what it has around it: generated code calls it at each of its calls.

A solver of a traced function may be anything that function has made: a lambda over what was computed, a partial
function, an object. What of it is the user's own (captured functions, objects and lists) it reads as it is when it
runs. What the function has made is made once more at each call, as it was when the solver was handed over, with the
values of that call: recorded tensors around a solver are operands of its op.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from tapec.fast_namedtuple import NamedTuple
from tapec.pytree import class_behind, leaves_of
from tapec.trace.capture.captured_paths import PLAIN, is_own_class, is_plain_class
from tapec.trace.capture.function_clones import CACHE_KEY, is_of_a_run, real_globals
from tapec.trace.capture.held_state import attributes_of
from tapec.trace.capture.module_stand_ins.cached_functions import is_cached_function
from tapec.trace.capture.module_stand_ins.plain_arguments import function_behind
from tapec.trace.capture.proxies.object_proxies import filled
from tapec.trace.recording_stack import CURRENT, read_around, recordings, recordings_around
from tapec.trace.tensor import Tensor

__all__ = ["Settled", "SettledSolver", "settled"]

_CONTAINERS: tuple[type, ...] = (list, tuple, set, frozenset, deque)
_UNBOUND = object()


class SettledSolver:
    """Holds a solver as it was when it was handed over. `key` is equal for solvers that do the same."""

    def __init__(self, root: _Part):
        self.key = root.key
        self._root = root

    def __call__(self, function: Callable[..., Any], start: Any, values: Sequence[Any]) -> Any:
        """Solve with these values around the solver."""
        return _Making(values, {}).of(self._root)(function, start)


class Settled(NamedTuple):
    """Holds what was made of a solver: that which lasts, the recorded tensors around it, and what to call `now`.

    The one for now shares lists and objects with the function that is being recorded.
    """

    solver: SettledSolver
    values: list[Tensor]
    now: Callable[..., Any]


def settled(solve: Any) -> Settled:
    """Return a solver as it can be called at any time, with the values of that time."""
    taken = _Taken(_runs())
    root = taken.part(solve, is_first=True)
    for captures in taken.runs:
        captures.stores.may_change_unseen()
    shared = {part: x for _, x, part in taken.known.values() if not isinstance(x, types.FunctionType)}
    now = _Making([x._value for x in taken.values], shared).of(root)
    return Settled(SettledSolver(root), taken.values, now)


class _Taken:
    """Takes down a solver. `values` are recorded tensors, in the order of the values that it will be called with.

    `known` are objects that a run has made, by the `id` of each: a number, the object and its part.
    """

    def __init__(self, runs: list[Any]):
        self.values: list[Tensor] = []
        self.runs = runs
        self.known: dict[int, tuple[int, Any, _Part]] = {}

    # -- what there is --------------------------------------------------------------------------------------------
    def part(self, x: Any, is_first: bool = False) -> _Part:
        """Return a part for an object, and parts for those in it, if the run has made it."""
        kind = type(x)
        if kind is Tensor:
            return self._number(x)
        if isinstance(x, PLAIN) and is_plain_class(kind):
            return _Part((kind, repr(x)), lambda making: x)
        x = self._real(x)
        kind = type(x)
        if id(x) in self.known:
            number, _, known = self.known[id(x)]
            return _Part(("again", number), lambda making: making.of(known))
        if self._is_held(x):
            return _same(x)
        if isinstance(x, types.FunctionType):
            is_made = is_of_a_run(x) or (bool(self.runs) and x.__closure__ is not None)
            return self._function(x) if is_made or is_first else _same(x)
        if kind is types.MethodType:
            return self._method(x)
        if not (is_first or self.runs):
            return _same(x)
        if kind is partial:
            return self._partial(x)
        if is_cached_function(x):
            return self._cached(x)
        return self._data(x) if self.runs else _same(x)

    def _real(self, x: Any) -> Any:
        """Return the user's own object for what stands for it in the runs; which one it is is a fact."""
        for captures in self.runs:
            original = captures.identities.originals.get(id(x), x)
            if original is not x:
                path = captures.identities.path_of(x)
                if path is not None and type(original) is tuple and all([isinstance(v, PLAIN) for v in original]):
                    captures.facts.add(path, original)
                else:
                    captures.identities.original(x)
                x = original
            elif isinstance(x, types.FunctionType):
                x = captures.clones.own(x)
        return function_behind(x)

    def _is_held(self, x: Any) -> bool:
        """Return whether an object is captured state, found by code that is not followed."""
        return any([captures.is_known(x) for captures in self.runs])

    def _enter(self, x: Any) -> _Part:
        """Return the part of an object that the run has made, before those in it, which may lead back to it."""
        part = _Part(None, None)
        self.known[id(x)] = len(self.known), x, part
        return part

    def _parts(self, values: Iterable[Any]) -> list[_Part]:
        return [self.part(x) for x in values]

    def _number(self, tensor: Tensor) -> _Part:
        """Return the part of a tensor: an operand, if somebody records it, or a number or array."""
        if recordings(tensor):
            place = next((k for k, x in enumerate(self.values) if x is tensor), len(self.values))
            self.values[place:] = self.values[place:] or [tensor]
            return _Part(("value", place), lambda making: _own(making.values[place]))
        read_around(tensor)
        return _array(tensor._value)

    def _function(self, f: types.FunctionType) -> _Part:
        part, space = self._enter(f), real_globals(f)
        code, name, qualified = f.__code__, f.__name__, f.__qualname__
        cells = self._parts(map(_contents, f.__closure__ or ()))
        defaults = self._parts(f.__defaults__ or ())
        named = {k: self.part(v) for k, v in (f.__kwdefaults__ or {}).items()}
        attributes = {k: self.part(v) for k, v in f.__dict__.items() if k != CACHE_KEY}

        def make(making: _Making) -> Any:
            made = [types.CellType() for _ in cells]
            new = making.made[part] = types.FunctionType(code, space, name, None, tuple(made) or None)
            for cell, held in zip(made, cells, strict=True):
                value = making.of(held)
                if value is not _UNBOUND:
                    cell.cell_contents = value
            new.__defaults__ = tuple(map(making.of, defaults)) or None
            new.__kwdefaults__ = {k: making.of(v) for k, v in named.items()} or None
            new.__qualname__ = qualified
            new.__dict__.update({k: making.of(v) for k, v in attributes.items()})
            return new

        held = (cells, defaults, named.values(), attributes.values())
        keys = tuple([tuple([x.key for x in parts]) for parts in held])
        part.key = ("function", code, _Same(space), tuple(named), tuple(attributes), keys)
        part.make = make
        return part

    def _method(self, method: Any) -> _Part:
        function, owner = self.part(method.__func__), self.part(method.__self__)
        return _Part(
            ("method", function.key, owner.key),
            lambda making: types.MethodType(making.of(function), making.of(owner)),
        )

    def _partial(self, x: Any) -> _Part:
        function, args = self.part(x.func), self._parts(x.args)
        named = {k: self.part(v) for k, v in x.keywords.items()}
        key = ("partial", function.key, tuple([a.key for a in args]), tuple([(k, v.key) for k, v in named.items()]))
        return _Part(
            key,
            lambda making: partial(
                making.of(function), *map(making.of, args), **{k: making.of(v) for k, v in named.items()}
            ),
        )

    def _cached(self, x: Any) -> _Part:
        """Return the part of a function that `functools.lru_cache` has made."""
        inner, how = self.part(x.__wrapped__), x.cache_parameters()
        return _Part(("cached", inner.key, *how.values()), lambda making: lru_cache(**how)(making.of(inner)))

    def _data(self, x: Any) -> _Part:
        """Return the part of a container, an array or an object that the run has made."""
        kind = type(x)
        if kind is np.ndarray and not x.dtype.hasobject:
            part, held = self._enter(x), _array(x)
            part.key, part.make = held.key, held.make
            return part
        if kind is slice:
            ends = self._parts((x.start, x.stop, x.step))
            return _Part((slice, *[e.key for e in ends]), lambda making: slice(*map(making.of, ends)))
        if kind in _CONTAINERS or (isinstance(x, tuple) and hasattr(kind, "_fields")):
            return self._items(x)
        if kind is dict:
            return self._attributes(x, x, lambda new, held: new.update(held), dict)
        if is_own_class(kind) and isinstance(getattr(x, "__dict__", {}), dict):
            behind = class_behind(kind)
            return self._attributes(x, attributes_of(x) or {}, _set_attributes, lambda: filled(behind, {}))
        self._check_foreign(x)
        return _same(x) if not getattr(kind, "_tapec_is_value", False) else _Part(x, lambda making: x)

    def _items(self, x: Any) -> _Part:
        part, kind = self._enter(x), type(x)
        items, most = self._parts(x), getattr(x, "maxlen", None)

        def make(making: _Making) -> Any:
            if kind is list:
                new = making.made[part] = []
                new.extend(map(making.of, items))
                return new
            made = map(making.of, items)
            if kind is deque:
                return deque(made, most)
            return tuple.__new__(kind, made) if issubclass(kind, tuple) else kind(made)

        keys = [item.key for item in items]
        part.key, part.make = (kind, frozenset(keys) if isinstance(x, (set, frozenset)) else tuple(keys)), make
        return part

    def _attributes(
        self, x: Any, held: dict[Any, Any], fill: Callable[[Any, Any], None], empty: Callable[[], Any]
    ) -> _Part:
        """Return the part of a dict, or of an object of the user's class."""
        part = self._enter(x)
        items = [(self.part(name), self.part(value)) for name, value in held.items() if name != CACHE_KEY]

        def make(making: _Making) -> Any:
            new = making.made[part] = empty()
            fill(new, {making.of(name): making.of(value) for name, value in items})
            return new

        part.key = (class_behind(type(x)), tuple([(name.key, value.key) for name, value in items]))
        part.make = make
        return part

    def _check_foreign(self, x: Any) -> None:
        """Require that the function is recorded anew, where an object of another package holds recorded values."""
        items = list(x.values()) if isinstance(x, dict) else list(x) if isinstance(x, (list, tuple, deque)) else None
        held = leaves_of([getattr(x, "__dict__", None), items])
        watched = [v for v in held if type(v) is Tensor and recordings(v)]
        rec = CURRENT.get()
        if watched and rec is not None and rec.trace is not None:
            for tensor in watched:
                rec.trace.observe(tensor)
            rec.trace.require_retrace(f"a solver holds an object of class {type(x).__name__} with recorded values")


class _Part:
    """Holds one object around a solver: `make(making)` makes it again. Equal keys make the same."""

    __slots__ = ("key", "make")

    def __init__(self, key: Any, make: Any):
        self.key = key
        self.make = make


class _Making:
    """Makes a solver once, with these values; of the `shared` parts there is an object already."""

    def __init__(self, values: Sequence[Any], shared: dict[_Part, Any]):
        self.values = values
        self.made = dict(shared)

    def of(self, part: _Part) -> Any:
        """Return the object of a part, made once."""
        if part not in self.made:
            self.made[part] = part.make(self)
        return self.made[part]


class _Same:
    """Is equal to what stands for the same object, and lives as long: so no other object gets its number."""

    __slots__ = ("_object",)

    def __init__(self, x: Any):
        self._object = x

    def __eq__(self, other: object) -> bool:
        return type(other) is _Same and self._object is other._object

    def __hash__(self) -> int:
        return id(self._object)

    def __repr__(self) -> str:
        return f"object {id(self._object)}"


def _same(x: Any) -> _Part:
    """Return the part of an object that the solver reads as it is when it runs."""
    return _Part(_Same(x), lambda making: x)


def _array(value: Any) -> _Part:
    """Return the part of an array or number that nobody records."""
    if not isinstance(value, np.ndarray):
        return _Part((type(value), repr(value)), lambda making: value)
    held = value.copy()
    return _Part((np.ndarray, held.dtype.str, held.shape, held.tobytes()), lambda making: held.copy())


def _own(value: Any) -> Any:
    """Return an array of its own: solvers may write into it."""
    return value.copy() if isinstance(value, np.ndarray) else value


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return _UNBOUND


def _set_attributes(x: Any, held: dict[str, Any]) -> None:
    for name, value in held.items():
        object.__setattr__(x, name, value)


def _runs() -> list[Any]:
    """Return what the traced functions capture that run now, the innermost first."""
    rec = CURRENT.get()
    if rec is None or rec.trace is None:
        return []
    found: list[Any] = []
    for trace in [*reversed(rec.tapes), *recordings_around(rec.trace)]:
        captures = getattr(trace, "captures", None)
        if captures is not None and not any([captures is one for one in found]):
            found.append(captures)
    return found
