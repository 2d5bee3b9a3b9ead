"""Tell what a run has read, without keeping it: `Reads` are of a program, for functions that may share its code."""

from __future__ import annotations

import sys
import types
from collections import deque
from functools import partial
from typing import Any

import numpy as np

from tapec.fast_namedtuple import NamedTuple
from tapec.trace.capture.captured_paths import (
    PLAIN,
    CapturedPath,
    class_file,
    is_own_class,
    is_own_code,
    module_file,
)
from tapec.trace.capture.function_clones import CACHE_KEY

__all__ = ["Kind", "Reads", "is_of_library", "kind_of"]

_CONTAINERS = (list, tuple, dict, deque, set, frozenset)


class Kind(NamedTuple):
    """Says what another value must have in common with one that was read.

    `how` is "array" (shape and dtype), "class", "method" (its function), "partial" (how many arguments, which
    keywords), "known" (the object itself, which stays), "module", "function" (of which facts tell), or "other".
    """

    how: str
    what: Any


class Reads:
    """Holds where the runs of a program have read something, and which functions have."""

    def __init__(self) -> None:
        self.kinds: dict[str, tuple[CapturedPath, Kind]] = {}
        self.functions: list[types.FunctionType] = []
        self.words: set[str] = set()
        self.asks_identity = False

    def copy(self) -> Reads:
        other = Reads()
        other.add(self)
        return other

    def add(self, other: Reads) -> None:
        """Add those of another program, which a run has called."""
        self.kinds |= other.kinds
        self.functions = [*self.functions, *other.functions]
        self.words |= other.words
        self.asks_identity = self.asks_identity or other.asks_identity

    def take(self, captures: Any) -> None:
        """Add those of a run."""
        self.kinds |= {path.source: (path, kind_of(value)) for path, value in captures.reads()}
        self.functions = [*self.functions, *captures.clones.functions]
        self.words |= captures.clones.words
        self.asks_identity = self.asks_identity or captures.clones.ask_identity
        for other in captures.called:
            self.add(other)


def kind_of(value: Any) -> Kind:
    """Return what another value must have in common with this one. What it holds, facts tell."""
    kind = type(value)
    if kind is np.ndarray:
        return Kind("array", (value.shape, value.dtype))
    if kind is types.ModuleType:
        return Kind("module", value)
    if kind is types.MethodType:
        return Kind("method", value.__func__)
    if kind is partial:
        return Kind("partial", (len(value.args), tuple(value.keywords), bool(value.__dict__.keys() - {CACHE_KEY})))
    of_a_class = isinstance(value, PLAIN) or kind in _CONTAINERS or is_own_class(kind)
    if of_a_class or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return Kind("class", kind)
    if is_of_library(value):
        return Kind("known", value)
    return Kind("function", None) if kind is types.FunctionType else Kind("other", kind)


def is_of_library(x: Any) -> bool:
    """Return whether an object is found by its name in a module of NumPy or another library, where it stays."""
    if isinstance(x, (types.BuiltinFunctionType, np.ufunc)) and not isinstance(getattr(x, "__self__", None), _STAYS):
        return False
    if is_own_code(class_file(type(x))):
        return False
    name = str(getattr(x, "__name__", ""))
    modules = ("numpy", "scipy.special") if isinstance(x, np.ufunc) else (str(getattr(x, "__module__", "")),)
    found = [sys.modules[m] for m in modules if m in sys.modules]
    return any([vars(m).get(name) is x and not is_own_code(module_file(m)) for m in found])


_STAYS = (types.ModuleType, type(None))
