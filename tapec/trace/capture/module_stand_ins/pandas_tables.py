"""Define stand-ins for tables of pandas, which takes a tensor for a list of labels (`df[mask]`).

What a table gets from the user's code is made plain first, as far as no gradient is lost by that. The stand-in is of a
subclass, made as pandas asks of those who inherit (`_constructor`), and shares the `__dict__` of the user's table, so
that each sees what is changed in the other.

Of a captured DataFrame what is read counts: a column that the user's code asks for by its name is compared by itself,
and all of the table as soon as anything else of it is asked for, by whomever.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable
from functools import update_wrapper
from typing import Any

from tapec.errors import is_user_file
from tapec.pytree import STANDS_FOR
from tapec.trace.capture.module_stand_ins.plain_arguments import as_plain, function_behind, with_plain_arguments

__all__ = ["forget_tables", "is_frame", "is_table", "table", "watched_table", "without_stand_in"]

_INDEXERS = {"loc", "iloc", "at", "iat"}
_OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor"
_BOTH = [f"__{side}{name}__" for name in _OPERATORS.split() for side in ("", "r")]
_ONE = [f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge", "getitem", "setitem", "delitem", "contains")]
_TABLES: dict[type, Any] = {}
_WATCHED: dict[int, tuple[Any, Any, Callable[[Any, str | None], None]]] = {}  # by the `id` of stand-ins


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


def is_frame(x: Any) -> bool:
    """Return whether x is a DataFrame of pandas itself, and no stand-in."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and type(x) is pandas.DataFrame


def watched_table(value: Any, note: Callable[[Any, str | None], None]) -> Any:
    """Return the stand-in of a DataFrame that tells by `note` which column is read, or that all of it may be (None)."""
    made = table(value)
    _WATCHED[id(made)] = made, value, note
    return made


def forget_tables(stand_ins: Iterable[Any]) -> None:
    """Watch these no more."""
    for stand_in in stand_ins:
        _WATCHED.pop(id(stand_in), None)


def _column(self: Any, name: Any) -> Any:
    """Return a column of a table that is watched, by its name; None where that is no column, or all is read."""
    _, value, note = _WATCHED[id(self)]
    if type(name) is str and list(value.columns).count(name) == 1:
        column = value[name]
        note(column, name)
        return table(column)
    return None


def _of_class(kind: type, table: Any) -> Any:
    """Return an object of this class that has the state of a table."""
    other: Any = object.__new__(kind)
    object.__setattr__(other, "__dict__", table.__dict__)
    return other


def without_stand_in(x: Any) -> Any:
    """Return what stands for the user's own as that, and a table that was made of a stand-in as one of their class."""
    return _of_class(STANDS_FOR[type(x)], x) if type(x) in _TABLES.values() else function_behind(x)


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
    if id(self) in _WATCHED and name != "__class__":
        by_user = is_user_file(sys._getframe(1).f_code.co_filename)
        column = _column(self, name) if by_user and not hasattr(STANDS_FOR[type(self)], name) else None
        if column is not None:
            return column
        _, value, note = _WATCHED.pop(id(self))
        note(value, None)
    found = object.__getattribute__(self, name)
    if name[:1] == "_" or not is_user_file(sys._getframe(1).f_code.co_filename):
        return found
    if type(found) is types.MethodType:
        return update_wrapper(with_plain_arguments(found), found)
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
        if id(self) in _WATCHED and method.__name__ == "__getitem__":
            column = _column(self, *args)
            if column is not None:
                return column
        return method(self, *map(as_plain, args))

    return call
