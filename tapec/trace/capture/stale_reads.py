"""Find where code that is not followed may have read what the run has set: it gets what was there before.

What a run sets in variables stays in the run until it is over, and in containers are plain numbers meanwhile. Both are
seen by the functions of which there are clones. Others (constructors, methods of members of an Enum, of lists and
numbers of the user's own classes, functions that are cached) find the user's own state. What these can reach is gone
through when the run is over, if it has set anything; functions by names that nobody spells are left out.
"""

from __future__ import annotations

import gc
import re
import sys
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapec.errors import PACKAGE_FOLDER
from tapec.trace import tuning
from tapec.trace.capture.captured_paths import (
    BY_ANY_NAME,
    CapturedPath,
    function_path,
    global_path,
    strings_of,
    words_of,
)
from tapec.trace.capture.proxies.opaque_objects import depth_in_packages, parts_of
from tapec.trace.escape.bytecode_site import keys_read, variables_of

__all__ = ["stale_read"]

_NAME = re.compile(r"\w+")
_BY_TEXT = frozenset(
    {"__dict__", "__globals__", "__import__", "eval", "exec", "getattr", "globals", "import_module", "modules", "vars"}
)
_BY_ANY_NAME = BY_ANY_NAME | _BY_TEXT - {"modules", "globals"}
_Part = tuple[Any, CapturedPath, int]  # an object, where it is, and how far inside installed packages


def stale_read(captures: Any) -> str | None:
    """Return the label of a place that the run has set and that code reads which is not followed, if there is one."""
    if not captures.untraced.roots:
        return None
    variables = captures.clones.set_variables()
    attributes = captures.clones.set_attributes()
    objects = captures.stores.made_plain
    if not (variables or attributes or objects):
        return None
    return _Search(captures, variables, attributes, objects).found()


class _Search:
    """Goes through what code reaches that is not followed.

    `variables` are labels by the texts of paths, `attributes` those by the `id` of the dict of a module or function,
    and by their names there, `objects` those by the `id` of a container.
    """

    def __init__(
        self,
        captures: Any,
        variables: dict[str, str],
        attributes: dict[int, dict[str, str]],
        objects: dict[int, tuple[Any, str, set[Any] | None]],
    ):
        self._captures = captures
        self._variables = variables
        self._attributes = attributes
        self._objects = objects
        # names that code spells which is not followed, or may get as a text; and these with what other code spells
        self._asked: set[str] = set().union(*map(strings_of, captures.clones.codes))
        self._words = captures.clones.words | self._asked
        self._modules: dict[str, dict[str, str]] = {}  # attributes by the last names of modules
        for name, module in list(sys.modules.items()) if attributes else ():
            if type(module) is types.ModuleType and id(vars(module)) in attributes:
                self._modules.setdefault(name.rpartition(".")[2], {}).update(attributes[id(vars(module))])
        self._known: dict[int, Any] = {}
        self._todo: deque[_Part] = deque()
        self._named: list[_Part] = []  # what is reached of these depends on which names somebody spells

    def found(self) -> str | None:
        begun = [x for root in self._captures.untraced.roots.values() for x in self._begun(*root)]
        while True:
            for name, part, at in begun:
                inside = depth_in_packages(part, 0)
                label = self._reach(part, at, inside) if _is_called(name, self._words) else None
                if label is not None:
                    return label
            while self._todo:
                label = self._go_on(*self._todo.popleft())
                if label is not None:
                    return label
            before = len(self._words), len(self._asked), len(self._known)
            for whole, path, depth in list(self._named):
                label = self._by_name(whole, path, depth)
                if label is not None:
                    return label
            if before == (len(self._words), len(self._asked), len(self._known)):
                return None

    def _begun(self, value: Any, path: CapturedPath) -> Iterator[tuple[str, Any, CapturedPath]]:
        """Yield where the search begins for what the run has got: of a class that is copied, what is not followed, with
        its name."""
        if isinstance(value, type) and self._captures.trace.making:
            yield from self._captures.followed.left_of(value)
        else:
            yield "__call__", value, path

    def _reach(self, part: Any, path: CapturedPath, depth: int, by: Any = None) -> str | None:
        """Note an object that is reached, `by` a function perhaps; return the label of what is stale there."""
        if id(part) in self._objects:
            _, of_object, stored = self._objects[id(part)]
            is_by_function = stored is not None and isinstance(by, types.FunctionType)
            read = keys_read(by.__code__, path.label) if is_by_function else None
            if read is None or stored is None or not stored.isdisjoint(read):
                return of_object
        is_far = depth > tuning.OPAQUE_MAX_DEPTH or len(path.source) > tuning.OPAQUE_PATH_MAX_CHARACTERS
        if id(part) not in self._known and not is_far:
            self._known[id(part)] = part
            self._todo.append((part, path, depth))
        return None

    def _go_on(self, whole: Any, path: CapturedPath, depth: int) -> str | None:
        """Reach what an object holds, or a function reads. Functions of tapec hear by themselves of what they read."""
        if type(whole).__module__.startswith("tapec.") or _is_ours(whole):
            return None
        if isinstance(whole, (type, types.ModuleType, types.FunctionType)):
            self._named.append((whole, path, depth))
        if isinstance(whole, (type, types.ModuleType)):
            return None
        if isinstance(whole, types.FunctionType):
            words, strings = words_of(whole.__code__), strings_of(whole.__code__)
            self._asked |= words | strings
            self._words |= words | strings
            for name in variables_of(whole.__code__):
                label = self._variables.get(global_path(whole.__globals__, name).source)
                if label is not None:
                    return label
            label = self._looked_up(words, strings)
            if label is not None:
                return label
        wrapped = [getattr(whole, "__wrapped__", None)]
        if isinstance(whole, np.ufunc):
            wrapped = gc.get_referents(whole)
        for f in wrapped:
            inside = depth_in_packages(f, depth)
            label = self._reach(f, function_path(f), inside) if isinstance(f, types.FunctionType) else None
            if label is not None:
                return label
        return self._reach_all(parts_of(whole, path, self._words), depth, whole)

    def _looked_up(self, words: frozenset[str], strings: frozenset[str]) -> str | None:
        """Return the label of what a function may look up in a module that it imports, or by a text."""
        for word in words:
            for name, label in self._modules.get(word.rpartition(".")[2], {}).items():
                if name in words:
                    return label
        if not _BY_TEXT.isdisjoint(words):
            spelled = words.union(*[_NAME.findall(text) for text in strings])
            for label in self._variables.values():
                if label.rpartition(".")[2] in spelled:
                    return label
        return None

    def _by_name(self, whole: Any, path: CapturedPath, depth: int) -> str | None:
        """Reach what a module, a class or a function holds by names that somebody spells."""
        if not isinstance(whole, type):
            for name, label in self._attributes.get(id(vars(whole)), {}).items():
                if name in self._asked:
                    return label
        if isinstance(whole, types.FunctionType):
            return None
        left_out = _unspelled(whole, self._words) if isinstance(whole, type) else ()
        parts = parts_of(whole, path, self._words)
        return self._reach_all(((x, at) for x, at in parts if id(x) not in left_out), depth)

    def _reach_all(self, parts: Iterator[tuple[Any, CapturedPath]], depth: int, by: Any = None) -> str | None:
        for part, at in parts:
            label = self._variables.get(at.source) or self._reach(part, at, depth_in_packages(part, depth), by)
            if label is not None:
                return label
        return None


def _is_ours(x: Any) -> bool:
    return isinstance(x, types.FunctionType) and x.__code__.co_filename.startswith(PACKAGE_FOLDER)


def _is_called(name: str, words: set[str]) -> bool:
    """Return whether somebody may ask for an attribute: one that is spelled, or whose name Python knows."""
    return name in words or name[:1] == "_" == name[-1:] or not _BY_ANY_NAME.isdisjoint(words)


def _unspelled(kind: type, words: set[str]) -> set[int]:
    """Return the `id` of each function of a class whose name nobody spells, so that none calls it."""
    spelled: set[int] = set()
    others: set[int] = set()
    for c in kind.__mro__[:-1]:
        for name, value in vars(c).items():
            is_called = _is_called(name, words)
            wrapped = [getattr(value, w, None) for w in ("__func__", "fget", "fset", "fdel", "func")]
            functions = [id(f) for f in (value, *wrapped) if isinstance(f, types.FunctionType)]
            (spelled if is_called else others).update(functions)
    return others - spelled
