"""Define `Identities`: which objects a traced run has met, by which names, and what stands in for them.

An object has one stand-in. That two names lead to one object is a fact, and that two lead to several is one where the
run asks.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from tapec.trace.capture.captured_paths import SCALARS, CapturedPath
from tapec.trace.capture.facts import Facts
from tapec.trace.tensor import Tensor

__all__ = ["Identities"]

_FUNCTIONS = (types.FunctionType, types.MethodType)


class Identities:
    """Knows the objects of one run: `originals` are those behind stand-ins, by the `id` of each stand-in.

    `given` says of which argument a tensor is, and what was given: by the tensor, its place and the array.
    """

    def __init__(self, trace: Any, facts: Facts):
        self.originals: dict[int, Any] = {}
        self.given: dict[int, tuple[int, Any]] = {}
        self.with_arguments: list[tuple[CapturedPath, int, bool]] = []  # is the array there the argument at this place?
        self._trace = trace
        self._facts = facts
        self._paths: dict[int, CapturedPath] = {}  # where the originals were found
        self._held: list[Any] = []  # all stand-ins: as long as they live, their `id`s are of no other object
        self._known: dict[int, tuple[CapturedPath, Any, Any]] = {}  # by original: its first path, it, its stand-in
        self._again: list[tuple[CapturedPath, CapturedPath]] = []  # other paths of objects that are handed out
        self._told_apart: set[int] = set()  # originals whose identity the run asks for
        self._members: set[type] = set()  # classes of objects in sets and of keys, which are handed out as they are

    # -- what a run meets -------------------------------------------------------------------------------------------
    def met(self, value: Any) -> tuple[CapturedPath | None, Any]:
        """Return where an object was met first and what stands in for it; None and itself for one that is new."""
        path, _, stand_in = self._known.get(id(value), (None, None, value))
        return path, stand_in

    def stands_for(self, stand_in: Any, value: Any, path: CapturedPath) -> None:
        """Note what stands in for an object."""
        self.is_behind(value, stand_in)
        self._paths[id(stand_in)] = path
        if not isinstance(value, (*SCALARS, int)):
            self._known[id(value)] = path, value, stand_in

    def is_behind(self, value: Any, stand_in: Any) -> None:
        """Note the object behind a stand-in that is found on no path."""
        self.originals[id(stand_in)] = value
        self._held.append(stand_in)

    def stands_for_itself(self, value: Any, path: CapturedPath) -> None:
        """Note an object that is handed out as it is."""
        self._known.setdefault(id(value), (path, value, value))

    def met_again(self, path: CapturedPath, first: CapturedPath) -> None:
        """Note another path of an object that is handed out as it is."""
        self._again.append((path, first))

    def is_member(self, kind: type) -> None:
        """Note that a set, or the keys of a dict, hold objects of this class."""
        self._members.add(kind)

    def path_of(self, stand_in: Any) -> CapturedPath | None:
        """Return where the object behind a stand-in was found."""
        return self._paths.get(id(stand_in))

    # -- what a run asks --------------------------------------------------------------------------------------------
    def original(self, stand_in: Any) -> Any:
        """Return the object for its stand-in where it goes as a key or a result: which object it is is a fact."""
        value = self.originals.get(id(stand_in), stand_in)
        path = self._paths.get(id(stand_in))
        if path is not None:
            self._add_which(value, path)
        return value

    def identity_of(self, x: Any) -> int:
        """Return the `id` of an object that a run asks for, which is a fact: it may be a key."""
        if id(x) in self.originals:
            return id(self.original(x))
        if self._trace.watches(x):
            self._trace.require_retrace("it asks for the id of an array")
            return id(self.given.get(id(x), (0, x))[1])
        path, value, _ = self._known.get(id(x), (None, None, None))
        if path is not None and value is x:
            self._add_which(x, path)
        return id(x)

    def tell_apart(self, x: Any) -> None:
        """Note that the run asks whether an object is another one."""
        original = self.originals.get(id(x))
        if original is not None:
            self._told_apart.add(id(original))

    # -- facts ------------------------------------------------------------------------------------------------------
    def add_same(self, path: CapturedPath, first: CapturedPath) -> None:
        """Note as a fact that two paths lead to one object."""
        same = CapturedPath(
            f"{path.label} is {first.label}",
            f"({path.source} is {first.source})",
            {**first.names, **path.names},
            lambda: path.get() is first.get(),
        )
        self._facts.add(same, True)

    def add_facts(self, asks: bool) -> None:
        """Note as facts which objects are one, and which of a class are several, where the run asks for that."""
        by_class: dict[type, list[CapturedPath]] = {}
        for path, first in self._again if asks else ():
            self.add_same(path, first)
        for path, value, _ in self._known.values():
            if asks and isinstance(value, (np.ndarray, Tensor)):
                given = [(k, x) for k, x in self.given.values() if x.shape == value.shape]
                self.with_arguments += [(path, k, x is value) for k, x in given]
            if asks or id(value) in self._told_apart:
                by_class.setdefault(type(value), []).append(path)
                if type(value) in self._members:
                    self._add_which(value, path)
        for kind, paths in by_class.items():
            if len(paths) > 1 and kind not in _FUNCTIONS:  # which function is at a path is a fact
                self._add_several(kind, paths)

    def _add_which(self, value: Any, path: CapturedPath) -> None:
        """Note as a fact that an object is this one, not one that equals it."""
        name, get = f"_which_{id(value)}", path.get
        text = f"({path.source} is {name})"
        names = {**path.names, name: value}
        self._facts.add(CapturedPath(f"which object {path.label} is", text, names, lambda: get() is value), True)

    def _add_several(self, kind: type, paths: list[CapturedPath]) -> None:
        """Note as a fact how many objects of a class are at these paths: as many as there are paths."""
        label = f"number of objects of {kind.__name__} at {', '.join([path.label for path in paths])}"
        names = {name: x for path in paths for name, x in path.names.items()}
        text = f"len({{id(x) for x in [{', '.join([path.source for path in paths])}]}})"
        number = CapturedPath(label, text, names, lambda: len({id(x) for x in [path.get() for path in paths]}))
        self._facts.add(number, len(paths))
