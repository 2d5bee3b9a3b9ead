"""Run functions that are recorded at each call, because they draw random numbers or take too many paths.

What such runs have in common is compiled: a structure, with its values left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.api.compiled.programs.path_set import Program, is_number_like
from tapec.ir import Builder, Node
from tapec.ir.types import NUMBERS, type_of
from tapec.trace.function.trace_function import Recorded
from tapec.trace.tensor import Tensor

__all__ = ["RecordedProgram"]


class RecordedProgram(Program):
    """Compiles one recorded structure, in which arrays, numbers that change and plain results are all inputs.

    `slots` are the log's slots that the compiled function reads, `plain` the places of the results that it reads.
    """

    is_retraced = True
    moving: frozenset[int] = frozenset()

    def leaf_maker(self, recorded: Recorded, builder: Builder) -> Callable[[int, Any], Node]:
        position = {id(t): i for i, t in enumerate(recorded.arguments)}
        log = recorded.trace.log
        self.slots: list[int] = [log.index[id(t)] for t in recorded.arguments]
        self.plain: list[int] = []

        def leaf(slot: int, x: Any) -> Node:
            if type(x) in NUMBERS:
                if slot not in self.moving:
                    return builder.constant(x)
            elif id(x) in position:
                return self.source("argument", position[id(x)], x._value, "")
            self.slots.append(slot)
            return self.source("slot", slot, log.held[slot], "drawn")

        return leaf

    def result(self, builder: Builder, place: int, x: Any, leaf: Callable[[int, Any], Node]) -> Node:
        self.plain.append(place)
        return self.source("result", place, x._value if isinstance(x, Tensor) else _as_array(x), "result")

    @staticmethod
    def key(recorded: Recorded) -> Any:
        """Return the key that is equal for two runs of one structure."""
        log = recorded.trace.log
        log.scan()
        return log.key, tuple([_kind(log, x) for x in recorded.results]), recorded.tree

    def objects(self, recorded: Recorded, arguments: list[Any]) -> list[Any]:
        """The objects to compute with: the caller's own where they are arguments, Variables or captured.

        Of an array that the run made the log holds what was in it when it was read: the run may have changed it since.
        """
        log = recorded.trace.log
        outer = {id(t): x for t, x in zip(recorded.arguments, arguments)}
        for variable, tensor in recorded.trace.variables.values():
            outer[id(tensor)] = variable._tapec_read()
        for k in recorded.captures.inputs.arrays:
            outer[k] = recorded.captures.identities.originals[k]
        read = []
        for k in self.slots:
            x = log.objects[k]
            read.append(outer.get(id(x), log.held[k] if isinstance(x, np.ndarray) else x))
        results = [recorded.results[k] for k in self.plain]
        return read + [outer.get(id(x), x) if isinstance(x, Tensor) else _as_array(x) for x in results]


def _kind(log: Any, x: Any) -> Any:
    """Return, for a result, the slot where it was computed, the type of a plain number, or the object itself."""
    if isinstance(x, Tensor):
        slot = log.slot_of(x)
        return type_of(x._value) if slot is None else slot
    if is_number_like(x):
        return type_of(_as_array(x))
    return (type(x), x) if type(x) in _ATOMS else id(x)  # which is nobody else's: the program holds it


_ATOMS = frozenset({int, bool, str, bytes, type(None)})


def _as_array(x: Any) -> Any:
    return x if isinstance(x, (np.ndarray, np.generic)) else np.asarray(x)[()]
