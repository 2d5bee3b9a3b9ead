"""Transforms in classes: as methods, and above `@staticmethod`, `@classmethod`, `@property` as well as below them."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from tapec.trace.capture import CACHE_KEY

__all__ = ["Copied", "bound", "decorator", "dress", "is_class_method"]


def decorator(function: Any, make: Callable[[Any], Any]) -> Any:
    """Serve `@transform`, `@transform(...)` and `transform(f, ...)` alike."""
    return (lambda f: _made(f, make)) if function is None else _made(function, make)


def _made(function: Any, make: Callable[[Any], Any]) -> Any:
    """What `make` gives of a function; around a method of some kind stays what kind it is."""
    if isinstance(function, staticmethod):
        return staticmethod(make(function.__func__))
    if isinstance(function, classmethod):
        made = make(function.__func__)
        return classmethod(made) if isinstance(made, FunctionType) else _ClassMethod(made)
    if isinstance(function, property):
        return property(_Getter(make(function.fget)), function.fset, function.fdel, function.__doc__)
    if isinstance(function, functools.cached_property):
        return functools.cached_property(_Getter(make(function.func)))
    return make(function)


class Copied:
    """Copied as Python's functions are, which are their own copies. Only copies of an object that a function belongs to
    have a function of their own."""

    __slots__ = ()

    def __copy__(self: Any) -> Any:
        return self

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        function = copy.deepcopy(self._function, memo)
        return self if function is self._function else self._like(function)


def dress(wrapper: Any, function: Any) -> None:
    """Name, docstring, signature and attributes of what it wraps: of the function itself below partials."""
    inner = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    functools.update_wrapper(wrapper, inner, updated=())
    if isinstance(inner, FunctionType):  # what other objects have in their dict is their state
        wrapper.__dict__.update({name: x for name, x in vars(inner).items() if not name.startswith(CACHE_KEY)})
    wrapper.__wrapped__ = function


class _ClassMethod:
    """A compiled function that is bound to classes."""

    def __init__(self, compiled: Any):
        self.__func__ = self.__wrapped__ = compiled

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self.__func__.__get__(type(owner) if kind is None else kind)


class _Getter:
    """Reads a property: the compiled function, bound to the object."""

    def __init__(self, compiled: Any):
        self._compiled = compiled
        functools.update_wrapper(self, compiled, updated=())

    def __call__(self, owner: Any) -> Any:
        return self._compiled.__get__(owner)()


def is_class_method(compiled: Any, kind: type) -> bool:
    """Is it below a `@classmethod` of this class? From Python 3.13 on such a method calls what it holds unbound."""
    found = inspect.getattr_static(kind, getattr(compiled._function, "__name__", ""), None)
    return isinstance(found, classmethod) and found.__func__ is compiled


def bound(transform: Any, owner: Any, table: dict[str, Any], make: Callable[[], Any]) -> Any:
    """As a method: made for each instance, which is captured state and no argument.

    What was made is kept in the instance's own `__dict__`, and goes when it goes.
    """
    space = getattr(owner, "__dict__", None)
    if not isinstance(space, dict):  # an object with slots alone, or a class: kept for good
        space = table
    key = f"{CACHE_KEY}_{id(transform)}_{id(owner)}"
    known = space.get(key)
    if known is None or known.owner is not owner:
        known = space[key] = _Kept(owner, make())
    return known.made


class _Kept:
    """What was made for an object. Copies and pickles of the object go without it."""

    __slots__ = ("made", "owner")

    def __init__(self, owner: Any = None, made: Any = None):
        self.owner = owner
        self.made = made

    def __reduce__(self) -> Any:
        return _Kept, ()
