"""Define `Facts`: what a traced run found in captured state and relies on, to be compared at the next call."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from tapec.trace.capture.captured_paths import LOST, CapturedPath, class_path, holds, is_own_code

__all__ = ["Facts", "is_fact", "is_there"]


_GONE = object()


class Facts:
    """Holds the facts of one run: `checks` are a path and what was there, by the text of the path."""

    def __init__(self) -> None:
        self.checks: dict[str, tuple[CapturedPath, Any]] = {}
        self._methods: set[tuple[Any, str]] = set()  # whose and which: those that are among the checks

    def add(self, path: CapturedPath, value: Any) -> None:
        """Note as a fact that this value is at a path."""
        self.checks.setdefault(path.source, (path, value))

    def add_present(self, path: CapturedPath) -> None:
        """Note as a fact what is at a path now. Where that is gone, the run has changed it, and this holds no more."""
        if path.source not in self.checks:
            try:
                self.checks[path.source] = path, path.get()
            except LOST:
                self.checks[path.source] = path, _GONE

    def add_method(self, owner: CapturedPath, name: str, method: Any) -> None:
        """Note as a fact which function a method is: the object or its class may be given another one."""
        if self._is_new(owner.source, name):
            path = owner.attribute(name)
            if isinstance(method, types.MethodType):
                path, method = path.attribute("__func__"), method.__func__
            self.add_function(path, method, method)

    def add_of_class(self, kind: type, name: str, found: Any) -> None:
        """Note as a fact which operator or property a class has by this name: Python looks for these in classes
        alone."""
        if self._is_new(id(kind), name) and getattr(kind, name, None) is found:  # a metaclass may answer otherwise
            self.add_function(class_path(kind).attribute(name), found, getattr(found, "fget", found))

    def add_function(self, path: CapturedPath, value: Any, function: Any) -> None:
        """Note as a fact the value at a path, if it is a function of the user's, or made of one."""
        if isinstance(function, types.FunctionType) and is_own_code(function.__code__.co_filename):
            self.add(path, value)

    def add_absent(self, path: CapturedPath, name: str, kind: type) -> None:
        """Note as a fact that an object of this class lacks an attribute, which its `__getattr__` may answer."""
        asks_on = hasattr(kind, "__getattr__")
        if asks_on and not kind.__dictoffset__:
            return
        how = "{1!r} in {0}.__dict__" if asks_on else "hasattr({0}, {1!r})"

        def has() -> bool:
            owner = path.get()
            return name in owner.__dict__ if asks_on else hasattr(owner, name)

        self.add(CapturedPath(how.format(path.label, name), how.format(path.source, name), path.names, has), False)

    def add_missing(self, holder: CapturedPath, names: Iterable[str]) -> None:
        """Note as a fact that a dict has none of these keys: variables and attributes that the run has looked for."""
        lacking, get = tuple(sorted(names)), holder.get
        if lacking:
            label, text = f"{', '.join(lacking)} in {holder.label}", f"{holder.source}.keys().isdisjoint({lacking!r})"
            self.add(CapturedPath(label, text, holder.names, lambda: get().keys().isdisjoint(lacking)), True)

    def _is_new(self, owner: Any, name: str) -> bool:
        """Return whether a name of an owner is asked for the first time. A run calls operators over and over."""
        if (owner, name) in self._methods:
            return False
        self._methods.add((owner, name))
        return True


def is_there(path: CapturedPath, value: Any) -> bool:
    """Return whether a path still leads to this number or array."""
    try:
        now = path.get()
    except LOST:
        return False
    if now is value or type(now) is not type(value):
        return now is value
    return bool(np.array_equal(now, value, equal_nan=type(value) is np.ndarray and value.dtype.kind in "fc"))


def is_fact(path: CapturedPath, value: Any) -> bool:
    """Return whether what was noted at a path is still so."""
    try:
        now = path.get()
    except LOST:
        return False
    return now is value or holds(now, value)
