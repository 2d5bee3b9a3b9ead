"""`prune` drops the nodes that no output needs, `with_inputs_read` the inputs that nothing reads."""

from __future__ import annotations

from tapec.ir.graph import Graph
from tapec.ir.node import Node

__all__ = ["prune", "with_inputs_read"]


def prune(graph: Graph) -> Graph:
    """Drop what no output needs."""
    live: set[Node] = set(graph.outputs)
    kept = []
    for node in reversed(graph.nodes):
        if node in live:
            kept.append(node)
            live.update(node.inputs)
    return graph if len(kept) == len(graph.nodes) else Graph(graph.inputs, kept[::-1], graph.outputs, graph.name)


def with_inputs_read(graph: Graph) -> Graph:
    """The same graph without inputs that nothing reads."""
    read = {i for n in graph.nodes for i in n.inputs} | set(graph.outputs)
    return Graph([i for i in graph.inputs if i in read], graph.nodes, graph.outputs, graph.name)
