"""Let transforms decorate methods, also above and below `@staticmethod`, `@classmethod` and `@property`."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any
from weakref import ref

from tapec.api import tuning
from tapec.trace.capture.captured_paths import is_own_class
from tapec.trace.capture.function_clones import CACHE_KEY
from tapec.tracebacks import shortens

__all__ = ["Wrapper", "bound", "cached", "decorator", "dress", "hashable", "is_class_method"]


def decorator(function: Any, make: Callable[[Any], Any], *what: Any) -> Any:
    """Serve `@transform`, `@transform(...)` and `transform(f, ...)` alike.

    Where it is told what is made, who makes it of one function again and again gets what was made before: `grad(f)(x)`
    may stand in a loop. The first few have nothing in common.
    """
    key = tuple(map(hashable, what))

    def known(f: Any) -> Any:
        return cached(f, key, make, tuning.KEPT_FROM_REQUEST) if key else make(f)

    return shortens(lambda f: _made(f, known)) if function is None else _made(function, known)


def _made(function: Any, make: Callable[[Any], Any]) -> Any:
    """Return what `make` gives for a function; a static method, class method or property stays one."""
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


def cached(function: Any, key: Any, make: Callable[[Any], Any], times: int = 1) -> Any:
    """Return what `make` gives for this function, made once for each key and kept.

    The object is kept from the request number `times` on. It is made anew where it cannot be kept, and where the key
    has no hash.
    """
    method = isinstance(function, MethodType)  # others have a `__self__`, too: adapters of methods, what is built in
    keeper = function.__func__ if method else _keeper(function)
    table = _table_of(keeper)
    owner = function.__self__ if method else function
    place = (key, id(owner))
    try:
        hash(place)
    except TypeError:
        table = None
    if table is None:
        return make(function)
    found = table.get(place)
    if found is not None and type(found) is not _Requests:
        return found
    if found is None or found.owner() is not owner:  # another object may have got the place of one that is gone
        found = _Requests(owner)
    made = make(function)
    found.times += 1
    if place not in table and len(table) >= tuning.KEPT_MAX:
        table.pop(next(iter(table)), None)  # the oldest
    table[place] = made if found.times >= times else found
    return made


class _Requests:
    """Counts how often something was made for an object, and does not keep that alive if it can be held weakly."""

    __slots__ = ("owner", "times")

    def __init__(self, owner: Any):
        self.times = 0
        try:
            self.owner: Callable[[], Any] = ref(owner)
        except TypeError:
            self.owner = lambda: owner


def _keeper(function: Any) -> Any:
    """Return the object that keeps what is made of a function.

    The attributes of the user's callable objects are state, which other code looks through; so what is made of these
    objects is kept with the code that they share, for a few of them.
    """
    return type(function).__call__ if is_own_class(type(function)) else function


def _table_of(owner: Any) -> dict[Any, Any] | None:
    """Return the table of what was made of a function or for an object; None where it cannot have one.

    The table stands in the owner's `__dict__`: a table elsewhere would keep the owner alive. Another object may hold
    the same table, because `functools.wraps` and copies hand it on; hence the comparison of `owner`.
    """
    space = getattr(owner, "__dict__", None)
    if not isinstance(space, dict):  # an object with slots alone, or a class
        return None
    table = space.get(CACHE_KEY)
    if table is None or table.owner is not owner:
        table = space[CACHE_KEY] = _Table(owner)
    return table


class _Table(dict[Any, Any]):
    """Pickles and deep copies of what it belongs to begin with an empty one, that belongs to nobody."""

    def __init__(self, owner: Any = None):
        self.owner = owner

    def __reduce__(self) -> Any:
        return _Table, ()


def hashable(option: Any) -> Any:
    """A list of arguments says what a tuple of them does."""
    return tuple(option) if isinstance(option, list) else option


class Docstring:
    """Gives a class its docstring, and each of its objects that of the user's function, with what the class adds.

    So `help(f)` names the methods. The text is put together when somebody asks.
    """

    __slots__ = ("of_class",)

    def __init__(self, of_class: str | None):
        self.of_class = of_class

    def __get__(self, wrapper: Any, kind: type) -> str | None:
        if wrapper is None:
            return self.of_class
        function = wrapper
        while isinstance(function, (Wrapper, functools.partial)):
            function = function.func if isinstance(function, functools.partial) else function._function
        found = {name: x for c in reversed(kind.__mro__) for name, x in vars(c).items() if not name.startswith("_")}
        methods = [f"- {name}: {_first_sentence(x)}" for name, x in found.items() if inspect.isroutine(x)]
        own = inspect.getdoc(function) or ""
        return "\n".join([own, "", "tapec runs it as generated code. It has the methods:", "", *methods]).strip()


def _first_sentence(method: Any) -> str:
    return " ".join((inspect.getdoc(method) or "").split("\n\n")[0].split())


class Wrapper:
    """Stands for a user's function.

    Its objects copy as Python's functions do, which are their own copies. Only copies of an object that a function
    belongs to have a function of their own.
    """

    __slots__ = ()
    _function: Any

    def __init_subclass__(cls) -> None:
        cls.__doc__ = Docstring(cls.__doc__)  # type: ignore[assignment]

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
    if isinstance(wrapper, Wrapper):
        wrapper.__dict__.pop("__doc__", None)  # `Docstring` makes it
    if isinstance(inner, FunctionType):  # what other objects have in their dict is their state
        wrapper.__dict__.update({name: x for name, x in vars(inner).items() if not name.startswith(CACHE_KEY)})
    wrapper.__wrapped__ = function


class _ClassMethod:
    """Holds a compiled function that is bound to classes."""

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
    """Return whether a compiled function stands below a `@classmethod` of this class.

    From Python 3.13 on a class method calls the function that it holds unbound.
    """
    found = inspect.getattr_static(kind, getattr(compiled._function, "__name__", ""), None)
    return isinstance(found, classmethod) and found.__func__ is compiled


def bound(transform: Any, owner: Any, kept: dict[Any, Any], make: Callable[[], Any]) -> Any:
    """Return the transform bound to an instance as a method; the instance is captured state and no argument.

    The method goes when the instance goes; for an object that cannot keep its methods, they are kept for good.
    """
    table = _table_of(owner)
    table, place = (kept, id(owner)) if table is None else (table, transform)  # itself: another may get its id
    made = table.get(place)
    if made is None:
        made = table[place] = make()
    return made
