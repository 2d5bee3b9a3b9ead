"""Answer what a traced function asks about classes, by `isinstance`, `type`, `hasattr`, `getattr`; `id`, `len`, `pow`.

A tensor answers as the array or number that it stands for, and a stand-in of a captured object or container as that
object. The functions of a trace find these answers where they look up the names: other code asks Python itself, and so
do tapes, whose tensors are tensors.
"""

from __future__ import annotations

import builtins
import sys
import types
from typing import Any

from tapec.pytree import STANDS_FOR
from tapec.trace.escape.to_plain import modular_power
from tapec.trace.recording_stack import captures_now
from tapec.trace.tensor import Tensor

__all__ = ["BUILTINS", "original"]


def original(x: Any) -> Any:
    """Return what the tensor or the stand-in answers for; anything else as it is."""
    captures = captures_now() if builtins.isinstance(x, Tensor) else None
    return x if captures is None else captures.inputs.asked_for_class(x)


def _isinstance(x: Any, classes: Any) -> bool:
    own = original(x)
    if builtins.isinstance(own, classes):
        return True
    return own is not x and _names_tensors(classes) and builtins.isinstance(x, classes)


def _names_tensors(classes: Any) -> bool:
    """Return whether tapec's own class of tensors, or one above it, is among the classes."""
    if builtins.isinstance(classes, tuple):
        return any(map(_names_tensors, classes))
    if builtins.isinstance(classes, types.UnionType):
        return _names_tensors(classes.__args__)
    return classes is Tensor or (classes in Tensor.__mro__ and classes is not object)


def _hasattr(x: Any, name: str) -> bool:
    return builtins.hasattr(original(x), name)


def _getattr(x: Any, name: str, *default: Any) -> Any:
    if default and not _hasattr(x, name):
        return default[0]
    return builtins.getattr(x, name, *default)


def _class_of(x: Any) -> Any:
    """Return the class that `type(x)` is for the user."""
    own = original(x)
    if own is not x:
        return captures_now().made(builtins.type(own))
    kind = builtins.type(x)
    if kind is builtins.type:
        return _Type
    captures = captures_now()
    return kind if captures is None else captures.class_of(x, STANDS_FOR.get(kind, kind))


class _Types(type):
    """Lets a class be `type` for a traced function: it can be called, inherited from, and asked for instances."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is not _Type:
            return super().__call__(*args, **kwargs)
        if len(args) == 1 and not kwargs:
            return _class_of(args[0])
        made = builtins.type(*args, **kwargs)
        if len(args) == 3 and "__module__" not in args[2]:
            made.__module__ = sys._getframe(1).f_globals.get("__name__", "builtins")  # not ours
        return made

    def __instancecheck__(cls, x: Any) -> bool:
        return builtins.isinstance(x, builtins.type) if cls is _Type else super().__instancecheck__(x)

    def __subclasscheck__(cls, kind: Any) -> bool:
        return issubclass(kind, builtins.type) if cls is _Type else super().__subclasscheck__(kind)

    def __getitem__(cls, item: Any) -> Any:
        return builtins.type[item]

    def __eq__(cls, other: object) -> bool:
        return other is cls or (cls is _Type and other is builtins.type)

    def __hash__(cls) -> int:
        return hash(builtins.type) if cls is _Type else super().__hash__()


_Type: Any = _Types("type", (type,), {"__module__": "builtins"})


def _id(x: Any) -> int:
    captures = captures_now()
    return builtins.id(x) if captures is None else captures.identities.identity_of(x)


def _len(x: Any) -> Any:
    """Return the length of a captured container, which may be an input; that of anything else as Python does."""
    length = builtins.getattr(builtins.type(x), "_tapec_length", None)
    return builtins.len(x) if length is None else length(x)


def _pow(base: Any, exp: Any, mod: Any = None) -> Any:
    """Return a power; with a modulus, Python asks the first number alone for it, before Python 3.14."""
    return builtins.pow(base, exp) if mod is None else modular_power(base, exp, mod)


BUILTINS = {
    "len": _len,
    "isinstance": _isinstance,
    "type": _Type,
    "hasattr": _hasattr,
    "getattr": _getattr,
    "id": _id,
    "pow": _pow,
}
