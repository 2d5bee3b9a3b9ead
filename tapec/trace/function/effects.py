"""Decide whether it does nothing to run a recorded function once more: only what is known to have no effects passes.

The recording has seen what the function and its helpers looked up and stored. Classes and functions that ran past it
are judged by the names that their code spells out.
"""

from __future__ import annotations

import builtins
import types
from collections import deque
from collections.abc import Iterable
from enum import Enum
from functools import partial
from typing import Any

import numpy as np

from tapec.ir.types import type_of
from tapec.trace import tuning
from tapec.trace.capture.captured_paths import (
    ATOMS,
    cell_contents,
    class_file,
    is_own_class,
    is_own_code,
    module_file,
    words_of,
)
from tapec.trace.classes import raw_value
from tapec.trace.escape.bytecode_site import variables_of
from tapec.trace.function.function_trace import LOOKED
from tapec.trace.function.trace_function import Recorded
from tapec.trace.log import NotHeld
from tapec.trace.tensor import LAID_OUT

__all__ = ["why_not_again"]

_HARMLESS_MODULES = """
abc builtins cmath collections contextlib copy dataclasses enum fractions functools itertools math numbers numpy
operator optree re reprlib scipy statistics string tapec types typing warnings
"""
_HARMLESS_BUILTINS = """
abs all any ascii bin bool bytearray bytes callable chr classmethod compile complex dict dir divmod enumerate filter
float format frozenset getattr hasattr hash hex id int isinstance issubclass iter len list map max memoryview min next
object oct ord pow property range repr reversed round set slice sorted staticmethod str sum super tuple type zip
Ellipsis False None NotImplemented True __build_class__ __debug__ __doc__ __name__
"""
_WORDS_OF_NUMPY = """
dump get_state memmap random save savetxt savez savez_compressed set_printoptions set_state setbufsize seterr
seterrcall tofile
"""
_MODULES = frozenset(_HARMLESS_MODULES.split())
_BUILTINS = frozenset(_HARMLESS_BUILTINS.split())
_OF_NUMPY = frozenset(_WORDS_OF_NUMPY.split())
_OTHER_BUILTINS = frozenset(
    name
    for name, value in vars(builtins).items()
    if name not in _BUILTINS and not (isinstance(value, type) and issubclass(value, BaseException))
)
_CONSTANTS = (int, float, complex, str, bytes, types.NoneType, types.EllipsisType, slice, range, np.generic)
_DATA = (*_CONSTANTS, np.ndarray, tuple, list, dict, set, frozenset, deque)  # what they hold is read by itself
_CHANGING = (np.ndarray, list, dict, set, deque, bytearray)


def why_not_again(recorded: Recorded) -> str | None:
    """Return why another run of the function might do something, or take long; None where it does nothing."""
    trace, captures = recorded.trace, recorded.captures
    if trace.retrace_reason not in (None, LOOKED, LAID_OUT):
        return trace.retrace_reason
    found = trace.single_use_reason or trace.effects or captures.stores.change() or _word(captures.clones.words)
    if found is not None:
        return found
    looked_up = [value for value, _ in captures.seen()] + captures.clones.imports
    looked_up += [v for p, v in captures.facts.checks.values() if type(v) in ATOMS and not p.source.startswith("type(")]
    return _of_values(looked_up) or _size(trace.log)


def _size(log: Any) -> str | None:
    """Return a reason where the recorded operations move much."""
    moved = 0
    for entry in log.records:
        out = entry[3]
        for x in out if type(out) is tuple else (out,):
            value = raw_value(x)
            moved += 2 * (value.type if type(value) is NotHeld else type_of(value)).nbytes
    return None if moved < tuning.RUN_AGAIN_MAX_BYTES else f"its operations move {moved / 1e9:.1f} GB"


def _word(words: Any) -> str | None:
    """Return a reason if a name that code spells out may be that of something with effects."""
    for name in sorted(words & _OTHER_BUILTINS):
        return f"it may call {name}"
    for name in sorted(words & _OF_NUMPY):
        return f"it may use np.{name}"
    return None


def _of_values(looked_up: list[Any]) -> str | None:
    """Return why what a function has looked up may have effects, and what is reached from there past the recording."""
    todo = [(value, True) for value in looked_up]
    known: dict[tuple[int, bool], Any] = {}
    while todo:
        value, seen = todo.pop()
        if (id(value), seen) in known:
            continue
        known[id(value), seen] = value
        reason, reached = _judged(value, seen)
        if reason is not None:
            return reason
        todo += [(x, False) for x in reached]
    return None


_Verdict = tuple[str | None, Iterable[Any]]  # why a value may have effects, or else what its code reaches
_HARMLESS: _Verdict = None, ()


def _judged(value: Any, seen: bool) -> _Verdict:
    """Judge one value. Has the recording `seen` what was done with it?"""
    kind = type(value)
    if isinstance(value, _DATA):
        return _HARMLESS if seen else (f"it reads a {kind.__name__} in code that is not recorded", ())
    if kind is types.ModuleType:
        known = _is_known(value.__name__) or (seen and is_own_code(module_file(value)))
        return _HARMLESS if known else (f"it looks up the module {value.__name__}", ())
    if kind is types.MethodType:
        return None, ([] if seen else [value.__func__])
    if kind is types.FunctionType:
        return _of_function(value, seen)
    if kind is types.BuiltinFunctionType:
        owner = value.__self__
        if isinstance(owner, type):
            return None, [owner]
        known = owner is None or isinstance(owner, (types.ModuleType, np.ufunc))
        if known and value.__module__ == "builtins":
            known = value.__name__ in _BUILTINS
        return _HARMLESS if known and _is_known(value.__module__ or "numpy") else (f"it looks up {_name(value)}", ())
    if isinstance(value, type):
        return _of_class(value)
    if kind is partial or kind is np.ufunc or isinstance(value, Enum):
        return _HARMLESS
    if seen and is_own_class(kind):
        return _spread(kind) or _shared(kind), ()
    if not _is_known(kind.__module__) or kind.__module__.startswith("numpy.random") or hasattr(kind, "cache_info"):
        return f"it uses a {kind.__name__}", ()
    held = () if kind.__module__.startswith("tapec") else getattr(value, "__dict__", {}).values()
    return None, [x for x in held if type(x) is types.FunctionType]


def _is_known(module: str | None) -> bool:
    return (module or "").split(".")[0].lstrip("_") in _MODULES


def _name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}" if value.__module__ else value.__qualname__


def _of_class(kind: type) -> _Verdict:
    """Judge making an object of a class, and calling its methods."""
    reason = _spread(kind) or _shared(kind)
    if reason is not None:
        return reason, ()
    reached: list[Any] = []
    for c in kind.__mro__:
        if _is_known(c.__module__):
            if c.__module__ == "builtins" and c.__name__ not in _BUILTINS and not issubclass(c, BaseException):
                return f"it looks up the class {c.__name__}", ()
        elif not is_own_code(class_file(c)):
            return f"it looks up the class {c.__name__}", ()
        else:
            wrapped = [
                getattr(x, name, None) for x in vars(c).values() for name in ("__func__", "fget", "fset", "func")
            ]
            reached += [f for f in (*vars(c).values(), *wrapped) if type(f) is types.FunctionType]
    return None, reached


def _shared(kind: type) -> str | None:
    """Return a reason if a class holds something that any code may change, past the recording."""
    for c in kind.__mro__:
        if is_own_code(class_file(c)) and not issubclass(c, Enum):
            for name, value in vars(c).items():
                if isinstance(value, _CHANGING) and not name.startswith("__") and name != "_field_defaults":
                    return f"the class {c.__name__} holds a {type(value).__name__}"
    return None


def _spread(kind: type) -> str | None:
    """Return a reason if an array beside such an object computes with each element, where a tensor lets the object
    answer: that may need any amount of memory."""
    names = (
        [] if hasattr(kind, "__array_ufunc__") else ["__radd__", "__rsub__", "__rmul__", "__rtruediv__", "__rmatmul__"]
    )
    operators = any(name in vars(c) for c in kind.__mro__ if is_own_code(class_file(c)) for name in names)
    return f"a {kind.__name__} has operators of its own, which NumPy calls for each element" if operators else None


def _of_function(f: types.FunctionType, seen: bool) -> _Verdict:
    """Judge a function that the recording does not see by the names in its code, and what they lead to."""
    cells = [cell_contents(cell) for cell in f.__closure__ or ()]
    if not is_own_code(f.__code__.co_filename):  # a wrapper of a user's function has that in its closure
        known = _is_known(f.__globals__.get("__name__"))
        return (None if known else f"it looks up {_name(f)}"), [x for x in cells if type(x) is types.FunctionType]
    if seen or f.__code__.co_filename == "<string>":  # as `dataclass` makes its methods
        return _HARMLESS
    words = words_of(f.__code__)
    reached = [f.__globals__[name] for name in sorted(variables_of(f.__code__)) if name in f.__globals__]
    defaults = [x for x in f.__defaults__ or () if not isinstance(x, _CONSTANTS)]
    return _word(words), [*reached, *cells, *defaults]
