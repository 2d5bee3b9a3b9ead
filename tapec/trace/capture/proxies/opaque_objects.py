"""Find the parts of objects that user code gets without a stand-in, and of functions that run as they are."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tapec.errors import is_installed
from tapec.trace import tuning
from tapec.trace.capture.captured_paths import (
    CapturedPath,
    cell_path,
    class_file,
    class_path,
    function_path,
    global_path,
    is_own_class,
    is_own_code,
    looked_up,
    module_file,
)
from tapec.trace.escape.bytecode_site import variables_of

__all__ = ["depth_in_packages", "is_code", "parts_of"]

_FUNCTIONS = (types.FunctionType, types.MethodType, partial)
_OF_C = (types.BuiltinMethodType, types.MethodWrapperType)
_CODE = (*_FUNCTIONS, type, types.BuiltinFunctionType, np.ufunc, type(np.sum))


def is_code(x: Any) -> bool:
    """Return whether x is a function or a class: which one it is is a fact."""
    return isinstance(x, _CODE)


def depth_in_packages(part: Any, depth: int) -> int:
    """Return how far inside the code of installed packages a part is of something that is so far in it: 0 outside.

    What the user's own code reads and holds is looked into however deep it is; packages lead to all of themselves.
    """
    if depth:
        return depth + 1
    code = part.__code__.co_filename if isinstance(part, types.FunctionType) else ""
    if isinstance(part, (type, types.ModuleType)):
        code = class_file(part) if isinstance(part, type) else module_file(part)
    return int(bool(code) and is_installed(code))


def parts_of(x: Any, path: CapturedPath, words: set[str]) -> Iterator[tuple[Any, CapturedPath]]:
    """Yield what an object holds, with the path of each part."""
    if isinstance(x, (list, tuple, dict, deque)) and is_own_code(class_file(type(x))):
        yield type(x), path.kind()
    if isinstance(x, dict):
        yield from ((v, path.item(k)) for k, v in list(x.items())[: tuning.OPAQUE_CONTAINER_MAX_PARTS])
    elif isinstance(x, (list, tuple, deque)):
        yield from ((v, path.item(k)) for k, v in enumerate(list(x)[: tuning.OPAQUE_CONTAINER_MAX_PARTS]))
    elif isinstance(x, types.FunctionType):
        yield from _read_by(x)
    elif isinstance(x, types.MethodType):
        yield x.__self__, path.attribute("__self__")
        yield x.__func__, path.attribute("__func__")
    elif isinstance(x, partial):
        yield from ((getattr(x, name), path.attribute(name)) for name in ("func", "args", "keywords"))
    elif isinstance(x, _OF_C):
        if not isinstance(x.__self__, (types.ModuleType, type)):
            yield x.__self__, path.attribute("__self__")
    elif isinstance(x, type):
        if is_own_code(class_file(x)):
            yield from _of_class(x, path)
    elif isinstance(x, types.ModuleType):
        if is_own_code(module_file(x)):
            yield from _attributes(x, path, words)
    elif not type(x).__module__.startswith("tapec"):
        own = is_own_code(class_file(type(x))) or is_own_class(type(x))
        yield from _attributes(x, path, None if own else words)
        if isinstance(getattr(x, "__wrapped__", None), types.FunctionType):  # functools.lru_cache and its kin
            yield from _read_by(x.__wrapped__)
        elif own:
            yield type(x), path.kind()


def _attributes(x: Any, path: CapturedPath, words: set[str] | None) -> Iterator[tuple[Any, CapturedPath]]:
    """Yield the attributes of an object: all, or those that are spelled out somewhere and functions."""
    slots = [n for c in type(x).__mro__ for n in _as_names(c.__dict__.get("__slots__", ()))]
    held = getattr(x, "__dict__", {})
    for name in [*held, *slots]:
        asked = words is None or name in words or isinstance(held.get(name), _FUNCTIONS)
        if asked and not name.startswith("__") and hasattr(x, name):
            yield getattr(x, name), path.attribute(name)
    if words is not None:
        yield from _properties(x, path, words)


def _properties(x: Any, path: CapturedPath, words: set[str]) -> Iterator[tuple[Any, CapturedPath]]:
    """Yield arrays behind properties that are spelled out somewhere: the function will ask for them too."""
    for name in sorted(words):
        if isinstance(getattr(type(x), name, None), property) and not name.startswith("_"):
            try:
                found = getattr(x, name)
            except Exception:  # that is for the function to meet
                continue
            if isinstance(found, np.ndarray):
                yield found, path.attribute(name)


def _as_names(slots: Any) -> Any:
    return (slots,) if isinstance(slots, str) else slots


def _of_class(kind: type, path: CapturedPath) -> Iterator[tuple[Any, CapturedPath]]:
    """Yield the attributes of a class and its methods, which may be replaced."""
    for c in kind.__mro__[:-1]:
        if not is_own_code(class_file(c)):
            continue
        for name, value in list(c.__dict__.items()):
            where, raw = class_path(c).attribute(name), class_path(c).attribute("__dict__").item(name)
            if name in _OF_NAMED_TUPLES and "_fields" in vars(c) and not is_own_code(_file_of(value)):
                continue
            if isinstance(value, property):
                setters = [(w, getattr(value, w)) for w in ("fset", "fdel")]
                yield from ((f, raw.attribute(w)) for w, f in setters if isinstance(f, types.FunctionType))
            is_bound = isinstance(value, (partial, types.MethodType))  # to an object or arguments, which it reads
            wrapped = None if is_bound else next((w for w in ("__func__", "fget", "func") if hasattr(value, w)), None)
            f = value if wrapped is None else getattr(value, wrapped)
            if isinstance(f, types.FunctionType) and _is_written(f):
                if f is value or isinstance(value, staticmethod):
                    yield f, where
                else:  # a partialmethod gives out another object at each reading
                    yield f, (raw if wrapped == "func" else where).attribute(str(wrapped))
            elif isinstance(f, types.FunctionType):
                yield from _read_by(f)
            elif not name.startswith("__"):
                # what a class gives out by a call may be new each time, and its metaclass may answer in its place
                is_told = not hasattr(type(value), "__get__") and not hasattr(type(c), name)
                is_found = looked_up(kind, name) is value  # not where a class below has it, too
                yield value, raw if not is_told else path.attribute(name) if is_found else where


_OF_NAMED_TUPLES = {"_fields", "_field_defaults", "_make", "_replace", "_asdict"}  # which nobody replaces


def _file_of(x: Any) -> str:
    """Return the file of a function or classmethod; no name for anything else."""
    code = getattr(getattr(x, "__func__", x), "__code__", None)
    return "" if code is None else str(code.co_filename)


def _is_written(f: types.FunctionType) -> bool:
    """Return whether the user wrote a function, which is not made of a text, as `dataclass` and `namedtuple` make
    theirs."""
    code = f.__code__
    return is_own_code(code.co_filename) and (code.co_filename != "<string>" or code.co_qualname == f.__qualname__)


def _read_by(f: types.FunctionType) -> Iterator[tuple[Any, CapturedPath]]:
    """Yield what a function reads: globals and defaults, if it is the user's, and its closure, where others' wrappers
    keep the user's."""
    own = is_own_code(f.__code__.co_filename)
    if own:
        for name in sorted(variables_of(f.__code__)):
            if name in f.__globals__:
                yield f.__globals__[name], global_path(f.__globals__, name)
        here = function_path(f)
        by_position, by_keyword = here.attribute("__defaults__"), here.attribute("__kwdefaults__")
        yield from ((x, by_position.item(k)) for k, x in enumerate(f.__defaults__ or ()))
        yield from ((x, by_keyword.item(k)) for k, x in (f.__kwdefaults__ or {}).items())
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
        try:
            if own or isinstance(cell.cell_contents, (*_CODE, dict)):
                yield cell.cell_contents, cell_path(cell, name)
        except ValueError:  # not bound yet
            continue
