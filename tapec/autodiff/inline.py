"""Calls of whole graphs, replaced by what they call."""

from __future__ import annotations

from tapec.ir import CONSTANT, ITEM, Builder, Graph, Node
from tapec.ops.control import CALL

__all__ = ["copy_into", "inline_calls"]


def copy_into(builder: Builder, graph: Graph, inputs: tuple[Node, ...], merge: bool = True) -> list[Node]:
    """Add a graph's nodes to a builder with these nodes in place of its inputs; gives its outputs.

    With `merge`, nodes that the builder has already are found again; without, every one is new.
    """
    take = builder.add if merge else builder.append
    known: dict[Node, Node] = dict(zip(graph.inputs, inputs, strict=True))
    results: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        if node.op is CONSTANT:
            known[node] = builder.constant(node.value, node.name)
            continue
        if node.op is ITEM and node.inputs[0] in results:
            known[node] = results[node.inputs[0]][node.param("index")]
            continue
        new = tuple([known[i] for i in node.inputs])
        if node.op is CALL:
            results[node] = copy_into(builder, node.param("graph"), new, merge)
        elif new == node.inputs:
            known[node] = take(node)
        else:
            known[node] = take(node.with_inputs(new))
    return [known[o] for o in graph.outputs]


def inline_calls(graph: Graph) -> Graph:
    """The same graph without `call` nodes."""
    if not any(n.op is CALL for n in graph.nodes):
        return graph
    builder = Builder()
    outputs = copy_into(builder, graph, graph.inputs)
    return builder.graph(graph.inputs, outputs, graph.name)
