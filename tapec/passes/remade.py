"""A graph made anew, where some of its values are computed another way."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from tapec.ir import Builder, Graph, Node, prune
from tapec.ops import Symbol

__all__ = ["Remaking", "remade"]


class Remaking(Builder):
    """The walk that makes it: `symbol` stands for what a value of the old graph is in the new one."""

    def __init__(self) -> None:
        super().__init__()
        self.new: dict[Node, Node] = {}

    def symbol(self, node: Node) -> Any:
        return Symbol(self.new.get(node, node), self)


def remade(graph: Graph, found: Container[Node], make: Callable[[Remaking, Node], Any]) -> Graph:
    """The graph with what `make` gives in the place of the nodes that were found."""
    walk = Remaking()
    new = walk.new
    for node in graph.nodes:
        if node in found:
            walk.origin, walk.role = node.origin, node.role
            new[node] = made = make(walk, node).node
            made.name = made.name or node.name
        else:
            inputs = tuple([new.get(i, i) for i in node.inputs])
            new[node] = walk.add(node if inputs == node.inputs else node.with_inputs(inputs))
    return prune(Graph(graph.inputs, walk.nodes, [new.get(o, o) for o in graph.outputs], graph.name))
