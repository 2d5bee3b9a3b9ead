"""`prune` drops the nodes that no output needs, `with_inputs_read` the inputs that nothing reads."""

from __future__ import annotations

from tapec.ir.graph import Graph
from tapec.ir.node import Node

__all__ = ["prune", "with_inputs_read"]


def prune(graph: Graph) -> Graph:
    """Drop the nodes that no output needs.

    Parameters
    ----------
    graph : Graph
        The graph.

    Returns
    -------
    Graph
        The graph without them; itself where all are needed.

    Examples
    --------
    >>> import tapec
    >>> builder = tapec.ir.Builder()
    >>> x = tapec.ir.input_node("x", tapec.ir.Type((3,), float))
    >>> y = builder.emit(tapec.ir.get_op("sin"), (x,))
    >>> len(tapec.ir.prune(builder.graph([x], [x])).nodes)
    0

    See Also
    --------
    tapec.ir.replaced : puts others in their place
    """
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
