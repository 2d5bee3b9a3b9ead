"""Define `CapturedInputs`: the captured arrays and numbers that become inputs of the graph."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from tapec.trace import tuning
from tapec.trace.capture.captured_paths import SCALARS, CapturedPath, strings_of
from tapec.trace.capture.facts import Facts
from tapec.trace.capture.identities import Identities
from tapec.trace.tensor import Tensor

__all__ = ["CapturedInputs"]


class CapturedInputs:
    """Holds the captured inputs of one run: `arrays` are a path and a tensor, by the `id` of the tensor."""

    def __init__(self, trace: Any, facts: Facts, identities: Identities):
        self.arrays: dict[int, tuple[CapturedPath, Tensor]] = {}
        self.early: set[str] = set()  # paths of whole numbers that are inputs since code only computes with them
        self._trace = trace
        self._facts = facts
        self._originals = identities.originals
        self._given = identities.given
        self._items: set[int] = set()  # those of `arrays` that are items of a container
        self.asked_for_classes = False  # of numbers that are arguments, or were computed

    def add(self, value: Any, path: CapturedPath, is_item: bool) -> Tensor:
        """Make a captured array, number or Variable an input, and return its tensor."""
        inner = value._value if isinstance(value, Tensor) else value
        if isinstance(inner, np.ndarray) and type(inner) is not np.ndarray:  # it may compute by rules of its own
            self._facts.add(path.kind(), type(inner))
        moving = type(value) is Tensor and not self._trace.is_fixed_around(value)
        tensor = self._trace.input(inner, path.label, moving=moving)
        if type(value) is Tensor and self._trace.captured_differs(value):
            self._trace.varying.add(id(tensor))
        self.arrays[id(tensor)] = (path, tensor)
        if is_item:
            self._items.add(id(tensor))
        return tensor

    def has_name(self, stand_in: Any) -> None:
        """Note that an item of a container has a name of its own, which leads to no other."""
        self._items.discard(id(stand_in))

    def decide(self, sources: Iterable[Tensor] | None) -> bool:
        """Return whether a run goes by whole numbers alone that are inputs without having changed: then these are
        facts, as those of code that does more than to compute with them."""
        found = [(*self.arrays[id(x)], self._originals[id(x)]) for x in sources or ()]
        if not found or any([path.source not in self.early for path, _, _ in found]):
            return False
        for path, _, value in found:
            self._facts.add(path, value)
        return True

    def as_a_fact(self, tensor: Tensor) -> Any:
        """Return the number of a captured tensor that decides what is read, as keys do: the number is a fact."""
        path, _ = self.arrays.get(id(tensor), (None, None))
        value = self._originals.get(id(tensor))
        if path is None or not isinstance(value, (*SCALARS, int)):
            return tensor
        self._facts.add(path, value)
        return value

    def asked_for_class(self, tensor: Tensor) -> Any:
        """Return the array or number whose class a tensor answers with, and note a captured one's class as a fact."""
        captured = self.arrays.get(id(tensor))
        if captured is None and not tensor.shape:
            self.asked_for_classes = True
        if captured is not None and not tensor.shape:
            self._facts.add(captured[0].kind(), type(self._originals[id(tensor)]))
        given = self._given.get(id(tensor), (0, None))[1] if captured is None else self._originals[id(tensor)]
        return given if type(given) is np.ndarray else tensor._value

    def found(self) -> list[tuple[CapturedPath, Any]]:
        """Return the captured values with their paths."""
        return [(path, self._originals[id(tensor)]) for path, tensor in self.arrays.values()]

    def add_types(self, used: set[int], codes: Iterable[types.CodeType]) -> None:
        """Note as facts how arrays lie that something is computed with, and the types of others: their length or class
        may have been asked for.

        For items of containers that is done where functions spell out the key, or where there are few. For arrays by
        another key the fact is their class alone, as their layout may be another one at each call.
        """
        for path, tensor in self.arrays.values():
            if id(tensor) in used and isinstance(self._originals[id(tensor)], np.ndarray):
                self._facts.add_present(path.memory_order())
        idle = [(path, tensor) for path, tensor in self.arrays.values() if id(tensor) not in used]
        strings = frozenset().union(*map(strings_of, codes)) if idle else ()
        for path, tensor in idle:
            key = path.label.rpartition("[")[2][:-1]
            is_place = key[:1] not in "'\""
            is_named = id(tensor) not in self._items or key[1:-1] in strings
            if is_named or len(idle) <= tuning.IDLE_ITEMS_MAX:
                value = self._originals[id(tensor)]
                has_layout = not isinstance(value, (*SCALARS, int)) and (is_named or is_place)
                self._facts.add_present(path.layout() if has_layout else path.kind())

    def miss_tensors_around(self) -> bool:
        """Return whether the run computed with a tensor of a recording around it that it has found on no path."""
        known = {*self.arrays, *map(id, [t for _, t in self._trace.variables.values()])}
        for entry in self._trace.log.records:
            for x in entry[1]:
                if isinstance(x, Tensor) and x._mark is not None and id(x) not in known:
                    if any([k.alive and k is not self._trace.token for k in x._mark.tokens]):
                        return True
        return False
