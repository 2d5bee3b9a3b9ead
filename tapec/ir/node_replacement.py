"""`replaced` and `rebuilt` make a graph with other nodes in the place of some."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any

from tapec.ir.builder import Builder
from tapec.ir.dead_code import prune
from tapec.ir.graph import Graph
from tapec.ir.node import Node

__all__ = ["Make", "Rebuild", "rebuilt", "replaced"]

Make = Callable[[Node, Node, list[Node]], Node]
Rebuild = Callable[[Builder, Node, Mapping[Node, Node]], Node]


def replaced(graph: Graph, found: Container[Node], make: Make) -> Graph:
    """The graph with what `make(node, moved, nodes)` gives for those that are found. It gets the node, the same on
    operands that may be others by now, and the nodes so far, to which it appends what it makes."""
    nodes: list[Node] = []
    return _walked(graph, found, nodes, nodes.append, lambda node, moved, new: make(node, moved, nodes))


def rebuilt(graph: Graph, found: Container[Node], make: Rebuild) -> Graph:
    """The graph with what `make(builder, node, new)` gives for those that are found. It gets the builder of all nodes,
    which finds again what is there, the node, and what stands for others by now."""
    builder = Builder()
    return _walked(graph, found, builder.nodes, builder.add, lambda node, moved, new: make(builder, node, new))


def _walked(
    graph: Graph,
    found: Container[Node],
    nodes: list[Node],
    keep: Callable[[Node], Any],
    make: Callable[[Node, Node, Mapping[Node, Node]], Node],
) -> Graph:
    """The walk of both: `keep` may give an equal node that is there already."""
    new: dict[Node, Node] = {}
    for node in graph.nodes:
        inputs = tuple([new.get(i, i) for i in node.inputs])
        moved = node if inputs == node.inputs else node.with_inputs(inputs)
        result = make(node, moved, new) if node in found else keep(moved) or moved
        if result is not node:
            new[node] = result
    return prune(Graph(graph.inputs, nodes, [new.get(o, o) for o in graph.outputs], graph.name))
