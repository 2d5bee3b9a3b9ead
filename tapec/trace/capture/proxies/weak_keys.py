"""Define the stand-in for a captured `weakref.WeakKeyDictionary`: a key of it is the object, never its stand-in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["weak_keys"]

_BY_KEY = ("__getitem__", "__setitem__", "__delitem__", "__contains__", "get", "pop", "setdefault")


def weak_keys(real: Any, original: Callable[[Any], Any]) -> Any:
    """Return a stand-in that shares the state of a dict, and takes the `original` of each key."""
    space: dict[str, Any] = {name: _by_key(name, original) for name in _BY_KEY}
    space |= {"update": _update, "__class__": property(lambda self: WeakKeyDictionary)}
    made: Any = object.__new__(type("WeakKeyDictionary", (WeakKeyDictionary,), space))
    made.__dict__ = real.__dict__
    return made


def _by_key(name: str, original: Callable[[Any], Any]) -> Any:
    method = getattr(WeakKeyDictionary, name)
    return lambda self, key, *args: method(self, original(key), *args)


def _update(self: Any, other: Any = (), /, **kwargs: Any) -> None:
    for key, value in dict(other, **kwargs).items():
        self[key] = value
