"""Find which elements of the results depend on which elements of the inputs: the pattern of a Jacobian.

For each value the walk keeps a boolean CSR matrix with a row for each of its elements and a column for each element of
the inputs in question; None where there is no dependence. The rules of operations only gather and unite rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.autodiff import tuning
from tapec.autodiff.bodies.recomputation import inline_checkpoints
from tapec.autodiff.sparse.sparsity_rules import rule_of
from tapec.autodiff.sparse.sparsity_walk import SparsityWalk
from tapec.ir import CONSTANT, ITEM, Graph, Node
from tapec.ir.types import is_differentiable

__all__ = ["jacobian_pattern"]


def jacobian_pattern(
    graph: Graph, wrt: Sequence[int], known: dict[Node, Any] | None = None
) -> tuple[list[Any], list[Node]]:
    """Return the pattern of each output, with the columns of all inputs `wrt` side by side; and what made rows dense.

    `known` has values of inputs that the pattern may rely on: index arrays, masks.
    """
    graph = inline_checkpoints(graph)
    walk = SparsityWalk(known or {}, sum(graph.inputs[k].type.size for k in wrt))
    start = 0
    for k in wrt:
        node = graph.inputs[k]
        walk.patterns[node] = walk.columns(np.arange(start, start + node.type.size))
        start += node.type.size
    for node in graph.nodes:
        _step(walk, node)
    return [walk.whole(o) for o in graph.outputs], walk.dense


def _step(walk: SparsityWalk, node: Node) -> None:
    """Find the pattern of one value, or the value itself where all that it is made of is known."""
    if node.op is CONSTANT:
        walk.values[node] = node.value
    elif node.op is ITEM:
        for table in (walk.patterns, walk.values):
            whole = table.get(node.inputs[0])
            if whole is not None:
                table[node] = whole[node.param("index")]
    elif any(walk.patterns.get(i) is not None for i in node.inputs):
        if node.op.gradient == "yes":
            walk.patterns[node] = _checked(node, rule_of(node)(walk, node))
    elif all(i in walk.values for i in node.inputs):
        types = node.type if isinstance(node.type, tuple) else (node.type,)
        if sum(t.size for t in types) <= tuning.COMPUTED_BEFOREHAND_MAX_ELEMENTS:
            walk.values[node] = node.op.run(*[walk.values[i] for i in node.inputs], **dict(node.params))


def _checked(node: Node, found: Any) -> Any:
    """Return the pattern of each result that has a derivative; None for others."""
    if isinstance(node.type, tuple):
        return tuple([p if is_differentiable(t) else None for p, t in zip(found, node.type, strict=True)])
    return found if is_differentiable(node.type) else None
