"""Find the loops of a gradient whose recording has equal rounds; the recorded values that these read become arrays.

    d_h2 = (d_h3 * s3) @ w; d_h1 = (d_h2 * s2) @ w; ...       ->       for s in ss: d_h = (d_h * s) @ w

`ss` is an input of the program: the array of the values ..., s3, s2, s1, which the tape has recorded. What rounds add
to derivatives of matrices is added up after the loop, as one product.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tapec.ir import Builder, Graph, Node, Type
from tapec.log_gradients.lazy import on_arrays
from tapec.log_gradients.rows_joined import with_rows_joined
from tapec.passes import tuning
from tapec.passes.pipeline import run_passes, with_loops
from tapec.passes.zero_safety.lazy import multiplies_structural_zeros

__all__ = ["rolled_gradient"]


def rolled_gradient(graph: Graph, reads: Sequence[int], apart: Collection[int]) -> tuple[Graph, list[Any]]:
    """Return the gradient with its loops, and where the values of its inputs come from; as it is if it has none.

    `reads` has the slots of the inputs, and `~k` for the k-th given cotangent; in the result a tuple has the slots
    whose values an array is made of. The values of slots `apart` stay inputs of their own.
    """
    recorded = [i for i, k in zip(graph.inputs, reads) if k >= 0 and k not in apart and _is_stackable(i.type)]
    joined = with_rows_joined(_with_equal_views(graph))
    made = _with_loops(joined, recorded)
    if made is not None and multiplies_structural_zeros(joined):
        joined.past = graph.past
        guarded = run_passes(joined, ["transparent", "dce", "cse", "masks", "guards"])  # bodies know of no other round
        made = _with_loops(guarded, recorded)
    if made is None:
        return graph, [*reads]
    return on_arrays(made, graph.past, dict(zip(graph.inputs, reads)), recorded)


def _with_loops(graph: Graph, recorded: Collection[Node]) -> Graph | None:
    """Return the gradient with its loops; None where none were found that make it much shorter."""
    made = with_loops(graph, recorded=recorded)
    return made if 2 * len(made.nodes) < len(graph.nodes) else None


def _is_stackable(t: Type) -> bool:
    """Return whether an array can hold such values: of Python's numbers only floats, since others may be too large."""
    return not t.weak or t.dtype.kind == "f"


def _with_equal_views(graph: Graph) -> Graph:
    """Return the gradient with one input for what the rounds have recorded as the same view of one array, as `A.T`."""
    known: dict[Any, Node] = {}
    new: dict[Node, Node] = {}
    for i, value in zip(graph.inputs, graph.past.outputs if graph.past is not None else (), strict=False):
        new[i] = known.setdefault((value.op, value.inputs, value.params), i) if value.op.view else i
    if len(set(new.values())) > len(new) - tuning.ROLLED_MIN_ROUNDS:
        return graph
    builder = Builder()
    for n in graph.nodes:
        builder.role = n.role
        new[n] = builder.add(n.with_inputs(tuple([new[i] for i in n.inputs])))
    return Graph(graph.inputs, builder.nodes, [new[o] for o in graph.outputs], graph.name)
