"""`transparent` puts operands, or NumPy's ops, in the place of nodes that only say something about derivatives."""

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
    """What a node is the same as."""
    if node.op is STOP_GRADIENT:
        return node.inputs[0]
    if node.op is ITEM and node.inputs[0].op is CUSTOM_GRAPH:
        call = node.inputs[0]
        return call.inputs[call.param("args") + node.param("index")]
    return None
