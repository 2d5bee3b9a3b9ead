"""`prune` drops the nodes that no output needs."""

from __future__ import annotations

from tapec.ir.graph import Graph
from tapec.ir.node import Node

__all__ = ["prune"]


def prune(graph: Graph) -> Graph:
    """Drop what no output needs."""
    live: set[Node] = set(graph.outputs)
    kept = []
    for node in reversed(graph.nodes):
        if node in live:
            kept.append(node)
            live.update(node.inputs)
    return graph if len(kept) == len(graph.nodes) else Graph(graph.inputs, kept[::-1], graph.outputs, graph.name)
