"""Define stand-ins for functions that do not know tensors: compiled ones, and those of `statistics` and `json`.

Functions that numba or Cython have compiled refuse a tensor, and `statistics.mean` makes its result of the class that
it finds. What they get from the user's code is made plain first, as far as no gradient is lost by that.
"""

from __future__ import annotations

import sys
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, ItemsView, KeysView, ValuesView
from functools import cache
from typing import Any

from tapec.pytree import STANDS_FOR
from tapec.trace.capture.captured_paths import is_own_code, module_file
from tapec.trace.capture.module_stand_ins.numpy_view import original_of
from tapec.trace.escape.to_plain import handed_out, to_array, to_bool, to_int
from tapec.trace.tensor import Tensor

__all__ = [
    "as_plain",
    "compiled_function",
    "function_behind",
    "is_compiled_function",
    "plain_library",
    "with_plain_arguments",
]

_ITERATORS = (types.GeneratorType, map, filter, zip)
_LIBRARIES = ("json", "statistics")


def as_plain(x: Any) -> Any:
    """Return an argument with plain values for its tensors, as far as no gradient is lost by that."""
    if isinstance(x, Tensor):
        t = x._tapec_read()
        if handed_out(t):
            return t._value
        if t.dtype.kind in "biu":
            return to_array(t) if t.shape else to_bool(t) if t.dtype.kind == "b" else to_int(t)
        return x
    kind = STANDS_FOR.get(type(x), type(x))
    if kind is list or kind is tuple:
        return kind(map(as_plain, x))
    if kind is deque:
        return deque(map(as_plain, x), x.maxlen)
    if kind is dict or kind is OrderedDict or kind is defaultdict:
        items = {as_plain(k): as_plain(v) for k, v in x.items()}
        if kind is defaultdict:
            return defaultdict(x.default_factory, items)
        return OrderedDict(items) if kind is OrderedDict else items
    if isinstance(x, tuple) and hasattr(kind, "_fields"):
        return tuple.__new__(kind, map(as_plain, x))
    if kind is slice:
        return slice(as_plain(x.start), as_plain(x.stop), as_plain(x.step))
    if isinstance(x, _ITERATORS):
        return map(as_plain, x)
    if isinstance(x, (KeysView, ValuesView, ItemsView)):
        return [as_plain(item) for item in x]
    return function_behind(x)


def with_plain_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls another one with plain values, as far as no gradient is lost by that."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(as_plain, args), **{k: as_plain(v) for k, v in kwargs.items()})

    return call


def function_behind(x: Any) -> Any:
    """Return the module or the function for what stands for it; any other value as it is."""
    return x.__wrapped__ if type(x) is _Compiled else original_of(x)


# -- compiled functions ----------------------------------------------------------------------------------------------
def is_compiled_function(x: Any) -> bool:
    """Return whether numba, Cython or their like have compiled a function, which takes plain arrays alone."""
    kind = type(x)
    if kind is types.BuiltinFunctionType:
        return isinstance(x.__self__, types.ModuleType) and is_own_code(module_file(x.__self__))
    return kind.__module__.startswith("_cython") or (callable(x) and hasattr(x, "__wrapped__") and _is_of_numba(kind))


def _is_of_numba(kind: type) -> bool:
    return any([c.__module__.partition(".")[0] == "numba" for c in kind.__mro__])


def compiled_function(function: Any) -> Any:
    return _Compiled(function)


class _Compiled:
    """Stands in for a compiled function."""

    def __init__(self, function: Any):
        self.__wrapped__ = function
        self.__module__ = getattr(function, "__module__", "")  # errors say whose it is

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self.__wrapped__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return with_plain_arguments(self.__wrapped__)(*args, **kwargs)


# -- the standard library --------------------------------------------------------------------------------------------
def plain_library(value: Any) -> Any:
    """Return what stands for a module whose functions get plain values, or for one of these; another value as it is."""
    kind = type(value)
    name = value.__name__ if kind is types.ModuleType else value.__module__ if kind is types.FunctionType else None
    if name not in _LIBRARIES or is_own_code(module_file(sys.modules[name])):
        return value
    return _library(name) if kind is types.ModuleType else _plain_function(value)


@cache
def _library(name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    for key, value in vars(sys.modules[name]).items():
        module.__dict__[key] = _plain_function(value) if type(value) is types.FunctionType else value
    return module


_plain_function = cache(_Compiled)
