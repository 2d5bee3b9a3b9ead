"""Take down what an object holds, so that a later call can tell whether it is still the same.

Objects of NumPy, SciPy and the standard library are handed out as they are, and answer past the run: a spline by its
coefficients, a queue by its items, a matrix by its elements. Nobody sees which of these the answer was made of, so all
of them are compared.
"""

from __future__ import annotations

import math
import sys
import types
from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tapec.trace import tuning
from tapec.trace.capture.captured_paths import PLAIN, contents, is_foreign_array, is_generator

__all__ = ["HeldState", "attributes_of", "is_logger", "is_of_a_module", "keeps_state"]

# told by which they are: what they hold is read in other ways, or is nothing that a function computes with
_AS_THEY_ARE = (
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodWrapperType,
    types.MethodDescriptorType,
    types.ModuleType,
    types.CodeType,
    np.dtype,
    np.ufunc,
    Enum,
    slice,
    range,
)
_PACKAGES = {"tapec", "logging", "_thread", "contextvars", "weakref", "re", "typing", "warnings"}
_PACKAGES |= {"pathlib", "fractions", "uuid", "datetime", "zoneinfo"}  # whose objects never change


def keeps_state(x: Any) -> bool:
    """Return whether an object may answer something else when nobody has put another one in its place."""
    return not isinstance(x, _AS_THEY_ARE) and type(x).__module__.partition(".")[0] not in _PACKAGES


def is_logger(x: Any) -> bool:
    """Return whether an object is a logger, which answers by its level."""
    return "logging" in sys.modules and isinstance(x, sys.modules["logging"].Logger)


def is_of_a_module(x: Any) -> bool:
    """Return whether an object is what a module of its own package defines, as the distributions of SciPy are."""
    module = sys.modules.get(type(x).__module__)
    return module is not None and any([found is x for found in list(vars(module).values())])


class _Part:
    """Holds one object as it was: its class, what tells it from others of the class, and the parts inside it.

    `is_same(part, x, may_have_more)` compares an object of the same class.
    """

    __slots__ = ("inside", "is_same", "kind", "value")

    def __init__(self, x: Any, is_same: Callable[[_Part, Any, bool], bool], value: Any = None):
        self.kind = type(x)
        self.is_same = is_same
        self.value = value
        self.inside: list[tuple[Any, _Part]] = []


class HeldState:
    """Holds what an object held. `generators` are the random generators in it, whose states are not compared."""

    def __init__(self, x: Any):
        self.generators: list[Any] = []
        self.is_too_much = False
        self._count = self._elements = 0
        self._known: dict[int, Any] = {}  # by their `id`, objects that were looked into
        self._root = self._taken(x)
        self._known.clear()  # nothing is kept that is not told by which it is

    def is_held_by(self, x: Any, may_have_more: bool = False) -> bool:
        """Return whether an object holds the same; it `may_have_more` attributes, as one that keeps what it has worked
        out."""
        return _is_held(self._root, x, may_have_more)

    def _taken(self, x: Any) -> _Part:
        """Take down an object, and what is in it."""
        self._count += 1
        self._elements += x.size if isinstance(x, np.ndarray) else 0
        if self._count > tuning.STATE_MAX_PARTS or self._elements > tuning.COMPARED_MAX_ELEMENTS:
            self.is_too_much = True
        if isinstance(x, PLAIN):
            return _Part(x, _is_number, x)
        if id(x) in self._known or self.is_too_much:
            return _Part(x, _is_it, x)
        if isinstance(x, np.ndarray) and not x.dtype.hasobject:
            return _Part(x, _is_array, (x.shape, x.dtype, x.tobytes()))
        self._known[id(x)] = x
        if isinstance(x, (list, tuple, deque)):
            return self._with_inside(_Part(x, _has_items), enumerate(x))
        if isinstance(x, np.ndarray):
            return self._with_inside(_Part(x, _has_objects, x.shape), enumerate(x.ravel().tolist()))
        if isinstance(x, (set, frozenset)):
            return _Part(x, _is_set, frozenset(x))
        if isinstance(x, (dict, types.MappingProxyType)):
            return self._with_inside(_Part(x, _has_values), list(x.items()))
        if isinstance(x, types.MethodType):
            return self._with_inside(_Part(x, _is_method, x.__func__), [(0, x.__self__)])
        if isinstance(x, partial):
            return self._with_inside(_Part(x, _is_partial), [(0, (x.func, x.args, x.keywords))])
        if is_foreign_array(x):
            self._elements += math.prod(np.shape(x))
            return _Part(x, _has_contents, None if self.is_too_much else contents(x))
        if is_generator(x):
            self.generators.append(x)
            return _Part(x, _is_it, x)
        held = attributes_of(x) if keeps_state(x) else None
        if held is not None:
            return self._with_inside(_Part(x, _has_attributes), list(held.items()))
        shown = _bytes_of(x) if keeps_state(x) else None
        return _Part(x, _is_it, x) if shown is None else _Part(x, _has_bytes, shown)

    def _with_inside(self, part: _Part, items: Iterable[tuple[Any, Any]]) -> _Part:
        for key, item in items:
            part.inside.append((key, self._taken(item)))
            if self.is_too_much:
                break
        return part


def attributes_of(x: Any) -> dict[str, Any] | None:
    """Return what an object holds in attributes and slots; None for one of C, which has neither."""
    held = getattr(x, "__dict__", None)
    slots = _slots(type(x))
    if not slots:
        return held if isinstance(held, dict) else None
    return {**(held or {}), **{name: getattr(x, name) for name in slots if hasattr(x, name)}}


def _slots(kind: type) -> list[str]:
    """Return the names of the slots of a class of Python."""
    known = _SLOTS.get(kind)
    if known is None:
        slots = [vars(c).get("__slots__", ()) for c in kind.__mro__]
        names = [name for s in slots for name in ((s,) if isinstance(s, str) else s)]
        known = _SLOTS[kind] = [name for name in names if name[:2] != "__"]
    return known


_SLOTS: WeakKeyDictionary[type, list[str]] = WeakKeyDictionary()


def _bytes_of(x: Any) -> bytes | None:
    """Return the memory that an object of C lays open, as a number of `ctypes` does."""
    try:
        return bytes(memoryview(x))
    except (TypeError, ValueError, BufferError):
        return None


# -- comparing --------------------------------------------------------------------------------------------------------
def _is_held(part: _Part, x: Any, may_have_more: bool) -> bool:
    return type(x) is part.kind and part.is_same(part, x, may_have_more)


def _is_it(part: _Part, x: Any, may_have_more: bool) -> bool:
    return x is part.value


def _is_number(part: _Part, x: Any, may_have_more: bool) -> bool:
    return x is part.value or repr(x) == repr(part.value)  # nan is itself, and 0.0 is not -0.0


def _is_array(part: _Part, x: Any, may_have_more: bool) -> bool:
    return (x.shape, x.dtype, x.tobytes()) == part.value


def _is_set(part: _Part, x: Any, may_have_more: bool) -> bool:
    return x == part.value


def _is_method(part: _Part, x: Any, may_have_more: bool) -> bool:
    return x.__func__ is part.value and _is_held(part.inside[0][1], x.__self__, may_have_more)


def _is_partial(part: _Part, x: Any, may_have_more: bool) -> bool:
    return _is_held(part.inside[0][1], (x.func, x.args, x.keywords), may_have_more)


def _has_bytes(part: _Part, x: Any, may_have_more: bool) -> bool:
    return _bytes_of(x) == part.value


def _has_contents(part: _Part, x: Any, may_have_more: bool) -> bool:
    return contents(x) == part.value


def _has_items(part: _Part, x: Any, may_have_more: bool) -> bool:
    return len(x) == len(part.inside) and all(
        [_is_held(inner, item, may_have_more) for (_, inner), item in zip(part.inside, x)]
    )


def _has_objects(part: _Part, x: Any, may_have_more: bool) -> bool:
    return x.shape == part.value and _has_items(part, x.ravel().tolist(), may_have_more)


def _has_values(part: _Part, x: Any, may_have_more: bool) -> bool:
    """Compare dicts, of which code may go through the keys in their order."""
    if may_have_more:
        return _has_those(part, x, may_have_more)
    return list(x) == [key for key, _ in part.inside] and _has_those(part, x, may_have_more)


def _has_attributes(part: _Part, x: Any, may_have_more: bool) -> bool:
    held = attributes_of(x)
    if held is None or not (may_have_more or len(held) == len(part.inside)):
        return False
    return _has_those(part, held, may_have_more)


def _has_those(part: _Part, held: Any, may_have_more: bool) -> bool:
    for key, inner in part.inside:
        item = held.get(key, held)  # a dict is no part of itself by that key
        if item is inner.value and inner.is_same is _is_number:
            continue
        if not _is_held(inner, item, may_have_more):
            return False
    return True
