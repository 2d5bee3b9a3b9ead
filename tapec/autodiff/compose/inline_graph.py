"""Write a graph out inside of another one."""

from __future__ import annotations

from tapec.ir import CONSTANT, Builder, Graph, Node

__all__ = ["copy_into"]


def copy_into(builder: Builder, graph: Graph, inputs: tuple[Node, ...], merge: bool = True) -> list[Node]:
    """Add a graph's nodes to a builder with these nodes in place of its inputs; gives its outputs.

    With `merge`, nodes that the builder has already are found again; without, every one is new.
    """
    take = builder.add if merge else builder.append
    known: dict[Node, Node] = dict(zip(graph.inputs, inputs, strict=True))
    for node in graph.nodes:
        if node.op is CONSTANT:
            known[node] = builder.constant(node.value, node.name)
            continue
        new = tuple([known[i] for i in node.inputs])
        known[node] = take(node if merge and new == node.inputs else node.with_inputs(new))
    return [known[o] for o in graph.outputs]
