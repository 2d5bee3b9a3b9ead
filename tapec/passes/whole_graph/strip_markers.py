"""The pass `transparent` removes nodes that only say something about derivatives.

Derivatives are taken before the passes run; then `stop_gradient` is its operand, and a function with a gradient of its
own is its results.
"""

from __future__ import annotations

from tapec.ir import ITEM, Graph, Node
from tapec.ops.control.custom_gradients import CUSTOM_GRAPH, STOP_GRADIENT
from tapec.ops.elementwise.minmax import CLIP
from tapec.ops.reductions.logsumexp import CAPPED

__all__ = ["transparent"]

SILENT = frozenset({STOP_GRADIENT, CUSTOM_GRAPH, CAPPED})


def transparent(graph: Graph) -> Graph:
    """Read through `stop_gradient`, and through calls of functions with a gradient of their own."""
    if not any([node.op in SILENT for node in graph.nodes]):
        return graph
    new: dict[Node, Node] = {}
    kept = []
    for node in graph.nodes:
        if any([i in new for i in node.inputs]):
            changed = node.with_inputs(tuple([new.get(i, i) for i in node.inputs]))
            new[node] = changed
        else:
            changed = node
        if changed.op is CAPPED:
            changed = new[node] = Node(CLIP, changed.inputs, (), node.type, node.origin, node.name, node.role)
        behind = _behind(changed)
        if behind is not None:
            new[node] = behind
        else:
            kept.append(changed)
    return Graph(graph.inputs, kept, [new.get(o, o) for o in graph.outputs], graph.name)


def _behind(node: Node) -> Node | None:
    """Return the node that has the same value as a marker; None for a node that is no marker."""
    if node.op is STOP_GRADIENT:
        return node.inputs[0]
    if node.op is ITEM and node.inputs[0].op is CUSTOM_GRAPH:
        call = node.inputs[0]
        return call.inputs[call.param("args") + node.param("index")]
    return None
