"""`remade` makes a graph in which some values are computed another way, by symbols."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any

from tapec.ir import Builder, Graph, Node, rebuilt
from tapec.ops import Symbol

__all__ = ["Now", "remade"]

Now = Callable[[Node], Any]  # the symbol of what stands for a node by now


def remade(graph: Graph, found: Container[Node], make: Callable[[Now, Node], Any]) -> Graph:
    """The graph with what `make(now, node)` gives in the place of the nodes that are found."""

    def made(builder: Builder, node: Node, new: Mapping[Node, Node]) -> Node:
        builder.origin, builder.role = node.origin, node.role
        result: Node = make(lambda i: Symbol(new.get(i, i), builder), node).node
        result.name = result.name or node.name
        return result

    return rebuilt(graph, found, made)
