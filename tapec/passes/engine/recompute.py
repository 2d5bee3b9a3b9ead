"""This module makes a graph in which some values are computed another way.

A transform says which nodes, and computes each with NumPy's functions on symbols; the copying is here.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any

from tapec.ir import Builder, Graph, Node, rebuilt
from tapec.ops import Symbol

__all__ = ["Now", "remade"]

Now = Callable[[Node], Any]  # node of the old graph -> symbol of its value in the new one


def remade(graph: Graph, found: Container[Node], make: Callable[[Now, Node], Any]) -> Graph:
    """Return the graph in which `make(now, node)` stands in the place of each node that is in `found`."""

    def made(builder: Builder, node: Node, new: Mapping[Node, Node]) -> Node:
        builder.origin, builder.role = node.origin, node.role
        result: Node = make(lambda i: Symbol(new.get(i, i), builder), node).node
        result.name = result.name or node.name
        return result

    return rebuilt(graph, found, made)
