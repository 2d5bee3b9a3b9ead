"""Define `Transform`: it says what is computed from a traced program. The decorators differ in their transform alone.

`compile` and `grad` have theirs in `tapec.api.transforms.compile_and_grad`, the others beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapec.api.compiled.method_decorators import hashable
from tapec.api.compiled.packing import MISS, Out
from tapec.api.compiled.signature import Arguments, Binder
from tapec.ir import Graph
from tapec.ops.core.symbol import is_batch_example
from tapec.passes.pipeline import with_loops
from tapec.pytree import LEAF
from tapec.trace.function.trace_function import Recorded
from tapec.trace.recording_stack import in_batch

__all__ = ["Template", "Transform", "result_template", "rolled_up"]

Template = tuple[Any, list[Any]]  # the structure of what a caller gets, and its leaves: `Out(k)`, or a static value


class Transform:
    """Says what a decorator computes from the function that it is given.

    `name` goes into the generated function's name. `prepare` checks a signature before anything is traced, and may
    return a plan. `build` turns the forward program (outputs: the leaves of the result that are no statics) into the
    graph to compute, and gives the template of what the caller gets: a structure and its leaves, `Out(k)` for outputs.
    """

    name = ""
    results_at: int | None = None  # the output that is the function's first result, if the results are outputs
    maps = False  # over examples, so that a function may look at no values
    merges = False  # one array for two parameters is one input: nobody differentiates by one of them alone

    def prepare(self, binder: Binder, info: Arguments, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return None

    def build(self, forward: Graph, info: Arguments, plan: Any) -> tuple[Graph, Template]:
        return forward, result_template(info, 0)

    def examples(self, values: list[Any], plan: Any) -> list[Any]:
        """The values to trace with, from those of the call."""
        return values

    def batched(self, values: Sequence[Any], plan: Any) -> Sequence[bool]:
        """Return, for each value, whether it is one example of a batch. Empty when nothing maps over examples."""
        return [is_batch_example(v) for v in values] if in_batch() else ()

    @property
    def key(self) -> Any:
        """A key that is equal for transforms that compute the same; it may have no hash."""
        return (type(self), *[hashable(option) for option in vars(self).values()])

    def at_first_sight(self, recorded: Recorded, info: Arguments, plan: Any) -> tuple[Any, bool]:
        """Compute the caller's result for one run op by op, without compiling the run as a whole; MISS where that
        cannot be.

        The second result says whether the operations were too new to be run so.
        """
        return MISS, False

    def goes_forwards(self, forward: Graph, info: Arguments, plan: Any) -> bool:
        """Return whether derivatives are carried forwards, beside the values. `explain` tells."""
        return False

    def gradients_by(self, plan: Any) -> Sequence[int]:
        """Return the inputs by which the outputs behind the results are gradients of the first one."""
        return ()

    def refuse(self, reason: str) -> None:
        """Raise if the transform cannot do with a function that is recorded anew at each call, for this reason."""


def result_template(info: Arguments, start: int) -> tuple[Any, list[Any]]:
    """The function's own result: its structure, and Out or a static value for each leaf."""
    leaves = []
    k = start
    for s in info.statics:
        leaves.append(Out(k) if s is LEAF else s)
        k += s is LEAF
    return info.result, leaves


def rolled_up(forward: Graph, info: Arguments) -> Graph:
    """Return the recorded program with its loops. What guards ask stays outside of them."""
    return with_loops(forward, {g.node for g in info.guards}, info.lists)
