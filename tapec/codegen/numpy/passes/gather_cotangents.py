"""Add up what one call gives to a cotangent, before it is added to what others gave.

    total + a - b + c        total + (a - b + c), where a, b and c are of one call, and total is not

Only so do the derivatives of several calls of a helper compute the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapec.codegen.schedule.inlining import readers_of
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CT, Graph, Node, Op, OpSet, ops, prune

__all__ = ["gathered"]

SUMS = OpSet("add subtract")


class Summand(NamedTuple):
    """Says what a sum adds, or takes away, and to what."""

    total: Node
    is_taken: bool
    value: Node
    sum: Node


def gathered(graph: Graph, calls: Sequence[Sequence[Node]]) -> Graph:
    """Return the graph with sums of cotangents by calls; the same graph where they are so already."""
    chains = _chains(graph, calls)
    if not chains:
        return graph
    new: dict[Node, Node] = {}
    nodes: list[Node] = []

    def keep(op: Op, inputs: tuple[Node, ...], origin: Any, name: str | None = None) -> Node:
        nodes.append(Node(op, tuple([new.get(i, i) for i in inputs]), (), inputs[0].type, origin, name, CT))
        return nodes[-1]

    for node in graph.nodes:
        if node not in chains:
            new[node] = node.with_inputs(tuple([new.get(i, i) for i in node.inputs])) if node.inputs else node
            nodes.append(new[node])
            continue
        first, *others = chains[node]
        gain = first.value
        for s in others:
            op = ops.subtract if s.is_taken is not first.is_taken else ops.add
            gain = keep(op, (gain, s.value), s.sum.origin)
        op = ops.subtract if first.is_taken else ops.add
        new[node] = keep(op, (first.total, gain), None, node.name)
    return prune(Graph(graph.inputs, nodes, [new.get(o, o) for o in graph.outputs], graph.name))


def _chains(graph: Graph, calls: Sequence[Sequence[Node]]) -> dict[Node, list[Summand]]:
    """Return sums of several summands of one call, by the last sum. None begins with what is taken away, unless all
    are."""
    readers = readers_of(graph.nodes)
    outputs = set(graph.outputs)
    chains: dict[Node, list[Summand]] = {}
    taken: set[Node] = set()
    for call in calls:
        own = {n for n in call if n.role is CT}
        for node in call:
            found = _summand(node, own)
            if found is None or node not in own or node in taken:
                continue
            summands = [found]
            while (last := summands[-1].sum) not in outputs and len(readers.get(last, ())) == 1:
                (reader,) = readers[last]
                more = _summand(reader, own, last) if reader in own and reader not in taken else None
                if more is None:
                    break
                summands.append(more)
            if len(summands) > 1:
                taken.update([s.sum for s in summands])
                front = next((k for k, s in enumerate(summands) if not s.is_taken), 0)
                if front:
                    head = summands.pop(front)
                    summands[0] = found._replace(sum=head.sum)
                    summands.insert(0, head._replace(total=found.total))
                chains[last] = summands
    return chains


def _summand(node: Node, own: set[Node], total: Node | None = None) -> Summand | None:
    """Return what a sum adds to the total, where that is a value of the call; the total is none, unless it is given."""
    if node.op not in SUMS or not node.type.shape:
        return None
    for k in (0, 1) if node.op is ops.add else (0,):
        before, value = node.inputs[k], node.inputs[1 - k]
        if value in own and value is not before and before.type == value.type == node.type:
            if before is total or (total is None and before not in own and before.role is CT):
                return Summand(before, node.op is ops.subtract, value, node)
    return None
