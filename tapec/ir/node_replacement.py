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
    """Replace nodes of a graph by others.

    Parameters
    ----------
    graph : Graph
        The graph.
    found : container of Node
        The nodes to replace.
    make : callable
        `make(node, moved, nodes)` returns what stands for a node. It gets the node, the same on operands that may be
        others by now, and the list of nodes so far, to which it appends what it makes.

    Returns
    -------
    Graph
        The graph, without what is no longer needed.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> graph = tapec.compile(lambda x: np.sin(np.sin(x))).ir(np.ones(3))
    >>> inner = graph.nodes[0]
    >>> len(tapec.ir.replaced(graph, {inner}, lambda node, moved, nodes: moved.inputs[0]).nodes)
    1

    See Also
    --------
    tapec.ir.rebuilt : finds equal nodes again
    """
    nodes: list[Node] = []
    return _walked(graph, found, nodes, nodes.append, lambda node, moved, new: make(node, moved, nodes))


def rebuilt(graph: Graph, found: Container[Node], make: Rebuild) -> Graph:
    """Replace nodes of a graph by what a builder makes, which finds equal nodes again.

    Parameters
    ----------
    graph : Graph
        The graph.
    found : container of Node
        The nodes to replace.
    make : callable
        `make(builder, node, new)` returns what stands for a node. It gets the builder of all nodes, the node, and a
        mapping from nodes to what stands for them by now.

    Returns
    -------
    Graph
        The graph, without what is no longer needed.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> graph = tapec.compile(lambda x: np.sin(x)).ir(np.ones(3))
    >>> def cos(builder, node, new):
    ...     return builder.emit(tapec.ir.get_op("cos"), node.inputs)
    >>> print(tapec.ir.rebuilt(graph, {graph.nodes[0]}, cos))
    graph function(%x: f64[3]) {
      %0: f64[3] = cos %x
      return %0
    }

    See Also
    --------
    tapec.ir.replaced : without a builder
    """
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
            if result.of is None and result.role is not None:
                result.of = node.of
    return prune(Graph(graph.inputs, nodes, [new.get(o, o) for o in graph.outputs], graph.name))
