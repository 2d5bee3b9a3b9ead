"""Functions that must be recorded anew at each call, because they draw random numbers or take too many paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapec.ir import Builder, Node
from tapec.ir.types import NUMBERS
from tapec.trace.program import Program
from tapec.trace.run import Recorded
from tapec.trace.tensor import Tensor

__all__ = ["RecordedProgram"]


class RecordedProgram(Program):
    """One recorded structure, for functions that must be recorded anew at each call: every array is an input.

    `slots` are the log's slots that the compiled function reads.
    """

    def leaf_maker(self, recorded: Recorded, builder: Builder) -> Callable[[int, Any], Node]:
        position = {id(t): i for i, t in enumerate(recorded.arguments)}
        log = recorded.trace.log
        self.slots: list[int] = [log.index[id(t)] for t in recorded.arguments]

        def leaf(slot: int, x: Any) -> Node:
            if type(x) in NUMBERS:
                return builder.constant(x)
            if id(x) in position:
                return self.source("argument", position[id(x)], x._value, "")
            self.slots.append(slot)
            return self.source("slot", slot, log.values[slot], "drawn")

        return leaf

    @staticmethod
    def key(recorded: Recorded) -> Any:
        """What must be equal for two runs to share compiled code."""
        log = recorded.trace.log
        log.scan()
        results = tuple([log.slot_of(x) if isinstance(x, Tensor) else None for x in recorded.results])
        statics = tuple([None if isinstance(x, Tensor) else repr(x) for x in recorded.results])
        return (tuple(log.key), tuple([(k, repr(v)) for k, v in log.scalars]), results, statics, recorded.tree)

    def objects(self, recorded: Recorded, arguments: list[Any]) -> list[Any]:
        """The objects to compute with: the caller's own where they are arguments or captured."""
        log = recorded.trace.log
        outer = {id(t): x for t, x in zip(recorded.arguments, arguments)}
        for k in recorded.captures.arrays:
            outer[k] = recorded.captures.originals[k]
        return [outer.get(id(log.objects[k]), log.objects[k]) for k in self.slots]
