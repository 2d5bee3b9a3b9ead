"""The pass `cse` makes equal operations on equal values one."""

from __future__ import annotations

from typing import Any

from tapec.ir import Graph, Node
from tapec.ir.op import OWN_KINDS
from tapec.passes.engine.value_numbering import key_of_node, numbering

__all__ = ["cse"]


def cse(graph: Graph) -> Graph:
    """Merge nodes that compute the same, operands of commutative ops in either order."""
    known, duplicates = numbering(graph)
    if not duplicates:
        graph._numbering = known
        return graph
    first: dict[Any, Node] = {}
    new: dict[Node, Node] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        current = node
        if not new.keys().isdisjoint(node.inputs):
            current = node.with_inputs(tuple([new.get(i, i) for i in node.inputs]))
        same = current if node.op.kind in OWN_KINDS else first.setdefault(key_of_node(current), current)
        if same is current:
            nodes.append(current)
        elif node.role is None:
            same.role = None  # what the user wrote keeps its exact values
        if same is not node:
            new[node] = same
    return Graph(graph.inputs, nodes, [new.get(o, o) for o in graph.outputs], graph.name)
