"""Watch a function with a gradient of its own: which Variables it reads, and what its gradient function does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.errors import DetachError, at_user_line
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Builder, Graph, Node, input_node
from tapec.ir.types import NUMBERS, type_of
from tapec.trace.classes import wrap
from tapec.trace.log import Log
from tapec.trace.recording_stack import CURRENT, Recorder, Token, pop, push
from tapec.trace.tensor import Tensor
from tapec.values.variable import Variable

__all__ = ["BackwardTrace", "Found", "UnknownsTrace", "VariableWatcher", "parts_of_result"]


def parts_of_result(entry: Any) -> tuple[Any, ...]:
    """Return what a recorded operation has made: one tensor, or several."""
    return entry[3] if type(entry[3]) is tuple else (entry[3],)


class VariableWatcher:
    """Lists the trainable Variables that are read in its block. No operation is recorded by it."""

    is_trace = False

    def __init__(self) -> None:
        self.token = Token()
        self.log = Log()
        self.variables: list[Variable] = []

    def __enter__(self) -> VariableWatcher:
        push(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        pop(self)

    def accessed(self, variable: Variable, tensor: Tensor) -> None:
        if variable.trainable and not any(v is variable for v in self.variables):
            self.variables.append(variable)


class Found(NamedTuple):
    """Holds the parameters of the node that has this gradient, and what it captured."""

    params: tuple[tuple[str, Any], ...]
    captured: tuple[Any, ...]


class BackwardTrace:
    """Records a gradient function inside a traced one: from cotangents whose values nobody knows yet.

    What it does with other tensors is recorded by the outer trace, as always.
    """

    is_trace = True
    refusal = (
        "a gradient function looks at the value of a gradient, which is not known while a function is traced. "
        "Fix: np.where instead of `if`; on a GradientTape outside compiled functions it is known"
    )

    def __init__(self, outer: Any):
        self.outer = outer
        self.token = Token()
        self.log = Log()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.outer, name)

    def watches(self, x: Any) -> bool:
        return type(x) is Tensor and x._mark is not None and self.token in x._mark.tokens

    def guard(self, kind: type, tensor: Tensor, value: Any, origin: Any = None) -> Any:
        if self.watches(tensor):
            self.observe(tensor)
        return self.outer.guard(kind, tensor, value, origin)

    def observe(self, tensor: Tensor) -> None:
        """Refuse to show a value that depends on what the function is given, which a trace does not know."""
        if self.watches(tensor):
            raise DetachError(at_user_line(self.refusal))
        self.outer.observe(tensor)

    def run(self, rule: Any) -> Found:
        """Record the gradient function of one call."""
        cts = [self._cotangent(x) for x in rule.results]
        rec = CURRENT.get()
        assert rec is not None
        CURRENT.set(Recorder((*rec.tapes, self)))
        try:
            grads = rule.cotangents(cts)
        finally:
            CURRENT.set(rec)
            self.token.end()
        return self._found(rule.name, cts, grads)

    def hiding(self, sink: Callable[[Any], None]) -> Callable[[Any], None]:
        """A sink of an outer recording, without what is done with a cotangent: that has no value there."""

        def append(entry: Any) -> None:
            if not any(map(self.watches, entry[1])):
                sink(entry)

        return append

    def made(self) -> list[Any]:
        """Return what the recorded operations have made."""
        return [x for entry in self.log.records for x in parts_of_result(entry)]

    def _cotangent(self, x: Tensor) -> Tensor:
        ct = wrap(np.ones(x.shape, x.dtype))
        ct._mark = self.token
        return ct

    def _found(self, name: str, cts: list[Tensor], grads: list[Any]) -> Found:
        self.log.scan()
        inside = getattr(self.outer, "inside", None)  # a tape, where Python runs what it records, has none
        builder = Builder()
        captured: list[Any] = []
        inputs = {id(ct): input_node(f"ct{k}", type_of(ct._value)) for k, ct in enumerate(cts)}

        def given(x: Any) -> Node:
            if inside is not None:
                self.outer.refuse_from_bodies([x])
            node = inputs.get(id(x))
            if node is None:
                node = inputs[id(x)] = input_node(f"c{len(captured)}", type_of(x._value if type(x) is Tensor else x))
                captured.append(x)
            return node

        def leaf(slot: int, x: Any) -> Node:
            return builder.constant(x) if type(x) in NUMBERS else given(x)

        nodes = self.log.graph(builder, leaf)
        outputs = []
        for g in grads:
            if g is not None:
                slot = self.log.slot_of(g)
                outputs.append(given(g) if slot is None else nodes[slot])
        places = iter(range(len(outputs)))
        gives = tuple([None if g is None else next(places) for g in grads])
        graph = Graph(inputs.values(), builder.nodes, outputs, f"{name}_gradient")
        if inside is not None:
            inside.update((id(x), (x, name)) for x in (*cts, *self.made()))
            for x, _ in inside.values():
                x._mark = self.outer.token  # who uses it outside, is recorded with it, not with a plain value
        return Found((("gives", gives), ("bodies", (graph,))), tuple(captured))


class UnknownsTrace(BackwardTrace):
    """Records what a function does with unknowns, from values that they have once."""

    def _cotangent(self, x: Tensor) -> Tensor:
        unknown = wrap(x._value)
        unknown._mark = self.token
        return unknown
