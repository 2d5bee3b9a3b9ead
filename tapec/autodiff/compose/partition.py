"""Cut a program in two: what can be computed before some of its inputs are known, and what waits for them."""

from __future__ import annotations

from collections.abc import Sequence

from tapec.autodiff.compose.inline_graph import copy_into
from tapec.ir import CONSTANT, Builder, Graph, Node, input_node, prune

__all__ = ["split"]


def split(graph: Graph, late: Sequence[int], outputs: Sequence[int]) -> tuple[Graph, Graph]:
    """`early`: the outputs not listed, then what `late` needs; `late`: from those and the late inputs to the rest.

    Everything `early` does is done once; a tangent map or a pullback is called many times.
    """
    builder = Builder()
    results = copy_into(builder, graph, graph.inputs)
    waiting = {graph.inputs[k] for k in late}
    first = tuple(k for k in graph.inputs if k not in waiting)
    for node in builder.nodes:
        if any(i in waiting for i in node.inputs):
            waiting.add(node)
    ends = [results[k] for k in outputs]
    crossing = _crossing(builder.nodes, waiting, ends)

    later = Builder()
    inputs = {}
    for k, n in enumerate(crossing):  # called as the user called the value, where that is one of the program itself
        inputs[n] = input_node(n.name or f"r{k}", n.type, n.origin if n.role is None else None)
    known: dict[Node, Node] = {**inputs, **{i: i for i in graph.inputs if i in waiting}}
    for node in builder.nodes:
        if node in waiting or not node.inputs:
            known[node] = _copied(later, node, known)
    kept = [r for k, r in enumerate(results) if k not in outputs]
    before = Graph(first, builder.nodes, [*kept, *crossing], graph.name)
    given = [graph.inputs[k] for k in late]
    after = prune(later.graph([*inputs.values(), *given], [known[e] for e in ends], graph.name))
    after.past = Graph(graph.inputs, builder.nodes, [*crossing, *given], graph.name)
    return prune(before), after


def _crossing(nodes: Sequence[Node], waiting: set[Node], ends: Sequence[Node]) -> list[Node]:
    """Return the values known early that are needed late; what is made of nothing is made again instead."""
    found: dict[Node, None] = {}
    for node in nodes:
        if node in waiting:
            found.update((i, None) for i in node.inputs if i not in waiting)
    found.update((e, None) for e in ends if e not in waiting)
    return [n for n in found if n.inputs or n.op.kind == "input"]


def _copied(builder: Builder, node: Node, known: dict[Node, Node]) -> Node:
    if node.op is CONSTANT:
        return builder.constant(node.value, node.name)
    inputs = tuple([known[i] for i in node.inputs])
    return builder.add(node.with_inputs(inputs))
