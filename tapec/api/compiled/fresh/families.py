"""Find what was compiled for functions of the same code: `Family` holds the stubs that they share."""

from __future__ import annotations

import types
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from threading import RLock
from typing import Any

from tapec.api import tuning
from tapec.api.compiled.fresh.roots import are_options, is_compiled
from tapec.api.compiled.programs.numbers_met import NumbersMet
from tapec.config import settings
from tapec.trace.capture.captured_paths import is_own_class, looked_up
from tapec.trace.function.call_adapter import Adapter

__all__ = ["Family", "family_of", "forget_families"]

_FAMILIES: OrderedDict[Any, Family] = OrderedDict()
_LOCK = RLock()


class Family:
    """Holds the shared stubs of one code under one transform, by the types of calls, and counts how they do.

    Nothing is shared before a second function of the code comes, or one captures something else than before: most
    functions are made once.
    """

    def __init__(self) -> None:
        self.members = 0
        self.changes = False  # has a function of the family met other captured state?
        self.stubs: dict[Any, tuple[Callable[..., Any], ...]] = {}
        self.numbers = NumbersMet()
        self.hits = 0
        self.written = 0

    @property
    def shares(self) -> bool:
        """Return whether stubs are worth writing: there are several functions, and those written answer calls."""
        return (self.members > 1 or self.changes) and self.written <= self.hits + tuning.SHARED_STUBS_UNASKED_MAX

    def put(self, types: Any, stub: Callable[..., Any]) -> None:
        """Take a stub; the newest are asked first."""
        with _LOCK:
            self.written += 1
            known = self.stubs.pop(types, ())
            self.stubs[types] = (stub, *known[: tuning.SHARED_STUBS_MAX - 1])
            while len(self.stubs) > tuning.SHARED_CALL_TYPES_MAX:
                del self.stubs[next(iter(self.stubs))]


def family_of(function: Any, options: tuple[Any, ...]) -> Family | None:
    """Return the family of a function under a transform with these options; None where it can have none."""
    code = _code_of(function)
    if code is None or not are_options(options):
        return None
    key = (code, options)
    with _LOCK:
        family = _FAMILIES.get(key)
        if family is None:
            family = _FAMILIES[key] = Family()
            while len(_FAMILIES) > settings.cache_size:
                _FAMILIES.popitem(last=False)
        else:
            _FAMILIES.move_to_end(key)
        family.members += 1
        return family


def forget_families() -> None:
    """Forget what functions of the same code share."""
    with _LOCK:
        _FAMILIES.clear()


def _code_of(function: Any) -> Any:
    """Return what functions have in common that may share stubs: code, and how it is held."""
    kind = type(function)
    if kind is types.FunctionType:
        return function.__code__
    if is_compiled(function):
        options, code = function._options, _code_of(function._function)
        return None if code is None or not are_options(options) else (kind, options, code)
    inner = _inside(function)
    if inner:
        codes = tuple(map(_code_of, inner))
        return None if None in codes else (kind, codes)
    call = looked_up(kind, "__call__") if is_own_class(kind) else None
    return ("__call__", call.__code__) if type(call) is types.FunctionType else None


def _inside(function: Any) -> tuple[Any, ...]:
    """Return the functions that a method, partial function or adapter holds."""
    kind = type(function)
    if kind is types.MethodType:
        return (function.__func__,)
    if kind is partial:
        return (function.func,)
    return (function.call, *function.functions) if kind is Adapter else ()
