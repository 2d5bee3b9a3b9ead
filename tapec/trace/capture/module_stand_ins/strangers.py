"""Define stand-ins for what does not know tensors and gets some all the same: tables of pandas, compiled functions,
and modules of the standard library that ask for the class of a number.

pandas takes a tensor for a list of labels (`df[mask]`), functions that numba or Cython have compiled refuse one, and
`statistics.mean` makes its result of the class that it finds.
What they get from the user's code is made plain first, as far as no gradient is lost by that.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, ItemsView, KeysView, ValuesView
from functools import cache, update_wrapper
from typing import Any

from tapec.errors import is_user_file
from tapec.pytree import STANDS_FOR
from tapec.trace.capture.captured_paths import is_own_code, module_file
from tapec.trace.capture.module_stand_ins.numpy_view import original_of
from tapec.trace.escape.to_plain import handed_out, to_array, to_bool, to_int
from tapec.trace.tensor import Tensor

__all__ = ["compiled_function", "is_compiled_function", "is_table", "plain_library", "table", "without_stand_in"]

_INDEXERS = {"loc", "iloc", "at", "iat"}
_OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor"
_BOTH = [f"__{side}{name}__" for name in _OPERATORS.split() for side in ("", "r")]
_ONE = [f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge", "getitem", "setitem", "delitem", "contains")]
_TABLES: dict[type, Any] = {}
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
    if kind is dict:
        return {as_plain(k): as_plain(v) for k, v in x.items()}
    if kind is slice:
        return slice(as_plain(x.start), as_plain(x.stop), as_plain(x.step))
    if isinstance(x, _ITERATORS):
        return map(as_plain, x)
    if isinstance(x, (KeysView, ValuesView, ItemsView)):
        return [as_plain(item) for item in x]
    return x.__wrapped__ if type(x) is _Compiled else original_of(x)


# -- pandas ----------------------------------------------------------------------------------------------------------
def is_table(x: Any) -> bool:
    """Return whether x is a DataFrame or a Series of pandas, or of a class that inherits from these."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(x, (pandas.DataFrame, pandas.Series))


def table(value: Any) -> Any:
    """Return the stand-in of a table, which has the same state."""
    kind = type(value)
    if kind in _TABLES.values():
        return value
    return _of_class(_class_for(kind), value)


def _of_class(kind: type, table: Any) -> Any:
    """Return an object of this class that has the state of a table."""
    other: Any = object.__new__(kind)
    object.__setattr__(other, "__dict__", table.__dict__)
    return other


def without_stand_in(x: Any) -> Any:
    """Return what stands for the user's own as that, and a table that was made of a stand-in as one of their class."""
    if type(x) in _TABLES.values():
        return _of_class(STANDS_FOR[type(x)], x)
    return x.__wrapped__ if type(x) is _Compiled else original_of(x)


def _class_for(kind: type) -> Any:
    """Return the subclass of a class of tables; results of its methods are of such classes, too."""
    made = _TABLES.get(kind)
    if made is None:
        space: dict[str, Any] = {
            name: _plain_method(getattr(kind, name)) for name in _BOTH + _ONE if hasattr(kind, name)
        }
        space |= {"__getattribute__": _getattribute, "__module__": kind.__module__}
        for name in ("_constructor", "_constructor_sliced", "_constructor_expanddim"):
            if hasattr(kind, name):
                space[name] = property(lambda self, name=name: _constructor(getattr(super(made, self), name)))  # type: ignore[misc]
        made = _TABLES[kind] = type.__new__(type(kind), kind.__name__, (kind,), space)
        STANDS_FOR[made] = kind
    return made


def _constructor(found: Any) -> Any:
    return _class_for(found) if isinstance(found, type) and found not in _TABLES.values() else found


def _getattribute(self: Any, name: str) -> Any:
    found = object.__getattribute__(self, name)
    if name[:1] == "_" or not is_user_file(sys._getframe(1).f_code.co_filename):
        return found
    if type(found) is types.MethodType:
        return update_wrapper(_plainly(found), found)
    return _Indexer(found) if name in _INDEXERS else found


class _Indexer:
    """Stands in for `df.loc` and its kin."""

    def __init__(self, indexer: Any):
        self._indexer = indexer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._indexer, name)

    def __call__(self, *args: Any, **kwargs: Any) -> _Indexer:
        return _Indexer(self._indexer(*args, **kwargs))

    def __getitem__(self, key: Any) -> Any:
        return self._indexer[as_plain(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._indexer[as_plain(key)] = as_plain(value)


def _plain_method(method: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *args: Any) -> Any:
        return method(self, *map(as_plain, args))

    return call


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
        return _plainly(self.__wrapped__)(*args, **kwargs)


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


def _plainly(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls another one with plain values, as far as no gradient is lost by that."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(as_plain, args), **{k: as_plain(v) for k, v in kwargs.items()})

    return call
