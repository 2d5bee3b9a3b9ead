"""Other nodes in the place of some."""

from __future__ import annotations

from collections.abc import Callable, Container

from tapec.ir.graph import Graph, Node
from tapec.ir.prune import prune

__all__ = ["Make", "replaced"]

Make = Callable[[Node, Node, list[Node]], Node]


def replaced(graph: Graph, found: Container[Node], make: Make) -> Graph:
    """The graph with what `make(node, moved, nodes)` gives for those that are found. It gets the node, the same on
    operands that may be others by now, and the nodes so far, to which it appends what it makes."""
    new: dict[Node, Node] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        inputs = tuple([new.get(i, i) for i in node.inputs])
        moved = node if inputs == node.inputs else node.with_inputs(inputs)
        if node in found:
            moved = make(node, moved, nodes)
        else:
            nodes.append(moved)
        if moved is not node:
            new[node] = moved
    return prune(Graph(graph.inputs, nodes, [new.get(o, o) for o in graph.outputs], graph.name))
