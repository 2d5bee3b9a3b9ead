"""Tell whether code of the user's may run past a traced run, by what the run gets of captured state.

While none may, a container changes by what the run writes to its stand-in alone: then nobody keeps a copy of it to
compare it with, however long it is. Here stands what is known to be harmless; all else may run anything.
"""

from __future__ import annotations

import types
from collections import OrderedDict, deque
from functools import cached_property, partial
from typing import Any
from weakref import WeakMethod, ref

import numpy as np

from tapec.pytree import STANDS_FOR
from tapec.trace.capture.captured_paths import class_file, is_own_class, is_own_code, module_file
from tapec.trace.tensor import Tensor

__all__ = ["are_plain_data", "lets_code_run", "spells_unseen"]

_DATA = frozenset({int, bool, str, bytes, type(None), float, complex, range, slice})
_FOLLOWED = (types.MethodType, partial, ref, WeakMethod, list, tuple, dict, deque, OrderedDict)  # their parts are read
_MODULES = frozenset({"numpy", "scipy", "math", "cmath", "time", "datetime", "heapq"})
_OF_CLASSES = (staticmethod, classmethod, types.MemberDescriptorType, types.GetSetDescriptorType)
_HOOKS = frozenset({"__getattribute__", "__setattr__", "__delattr__", "__del__"})
# what leads from a function or an object to code, frames and dicts that nobody follows
_FRAMES = frozenset({"f_back", "f_globals", "f_locals", "gi_frame"})
_BUILTINS = frozenset({"breakpoint", "compile", "eval", "exec", "getattr", "globals", "input", "locals"})
_WORDS = _FRAMES | _BUILTINS | {"open", "print", "vars"}
_PLAIN_NAMES = frozenset({"__name__", "__qualname__", "__doc__"})


def lets_code_run(value: Any) -> bool:
    """Return whether code of the user's may run, or write to captured containers, that is not followed where a run gets
    this value, or its stand-in."""
    kind = type(value)
    if kind in _DATA or kind in _FOLLOWED or issubclass(kind, np.generic):
        return False
    if isinstance(value, Tensor):
        return not kind.__module__.startswith("tapec.")
    if kind in STANDS_FOR:  # stand-ins of a run around this one
        return STANDS_FOR[kind] not in _FOLLOWED
    if isinstance(value, np.ndarray):
        return kind is not np.ndarray or value.dtype.kind not in "fciubSUmM"
    if kind is types.ModuleType:
        return not (_root(value.__name__) in _MODULES or is_own_code(module_file(value)))
    if kind is types.FunctionType:
        is_own = is_own_code(value.__code__.co_filename)
        return "_tapec_wrap_again" in value.__dict__ or not (is_own or _root(value.__module__) in _MODULES)
    if kind is types.BuiltinFunctionType:
        return not isinstance(value.__self__, types.ModuleType) or _root(value.__self__.__name__) not in _MODULES
    if kind is np.ufunc:
        return getattr(np, value.__name__, None) is not value
    if kind is type:
        return is_own_code(class_file(value))
    if kind is type(np.sum) or kind.__module__ == "_thread":  # locks
        return False
    return not is_own_class(kind) or not _is_followed(kind)


def _root(name: str | None) -> str:
    return (name or "").partition(".")[0].lstrip("_")


def _is_followed(kind: type) -> bool:
    """Return whether all that reading an instance of the user's class runs are functions of which there are clones."""
    return type(kind) is type and not any(
        (name in _HOOKS and isinstance(found, types.FunctionType)) or not _is_of_followed(found)
        for c in kind.__mro__[:-1]
        if c is not types.SimpleNamespace
        for name, found in vars(c).items()
    )


def _is_of_followed(found: Any) -> bool:
    """Return whether what a class holds is a function, or made of one that is followed, or no descriptor."""
    kind = type(found)
    if kind is types.FunctionType or kind in _OF_CLASSES:
        return True
    if kind is property:
        return type(found.fget) is types.FunctionType and found.fset is None and found.fdel is None
    if kind is cached_property:
        return type(found.func) is types.FunctionType
    return not (hasattr(kind, "__get__") or hasattr(kind, "__set__") or hasattr(kind, "__delete__"))


def spells_unseen(words: frozenset[str]) -> bool:
    """Return whether names that code spells out may lead past a run: `f.__wrapped__`, `exec`, `vars(x)`."""
    return not _WORDS.isdisjoint(words) or any([w[:2] == w[-2:] == "__" and w not in _PLAIN_NAMES for w in words])


def are_plain_data(x: Any) -> bool:
    """Return whether arguments are numbers, arrays and tensors in containers of the library's, and nothing else."""
    kind = type(x)
    if kind is list or kind is tuple:
        return all(map(are_plain_data, x))
    if kind is dict:
        return all([type(k) in _DATA and are_plain_data(v) for k, v in x.items()])
    return kind in _DATA or kind is Tensor or (kind is np.ndarray and not lets_code_run(x))
