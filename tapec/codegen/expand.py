"""Large operations for which NumPy has no fast loop, as the same in several that have one.

`np.logaddexp` calls the C library for each element. With a number for one operand it is
max(k, x) + log1p(exp(-|x - k|)), which is what the C loop computes, too; all of these run in vector registers, ten
times as fast.
"""

from __future__ import annotations

import math

from tapec.ir import Graph, Node, get_op, is_literal

__all__ = ["expanded"]

MANY = 512  # elements from which more calls cost less than the slow loop


def expanded(graph: Graph) -> Graph:
    """The program with such operations taken apart; the same graph when there are none."""
    slow = {n for n in graph.nodes if n.op.name == "logaddexp" and _number(n) is not None}
    if not slow:
        return graph
    new: dict[Node, Node] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        inputs = tuple([new.get(i, i) for i in node.inputs])
        if inputs != node.inputs:
            new[node] = moved = node.with_inputs(inputs)
        else:
            moved = node
        if node in slow:
            new[node] = _softened_maximum(moved, nodes)
        else:
            nodes.append(moved)
    return Graph(graph.inputs, nodes, [new.get(o, o) for o in graph.outputs], graph.name)


def _number(node: Node) -> int | None:
    """Which operand of a large operation is a finite number written out."""
    if node.type.size < MANY or node.type.dtype.char not in "fd":
        return None
    for k, i in enumerate(node.inputs):
        if is_literal(i) and math.isfinite(i.value) and node.inputs[1 - k].type == node.type:
            return k
    return None


def _softened_maximum(node: Node, nodes: list[Node]) -> Node:
    """The nodes of max(k, x) + log1p(exp(-|x - k|)); the last of them is called like the operation."""
    at = _number(node)
    assert at is not None
    k, x = node.inputs[at], node.inputs[1 - at]

    def made(name: str, *inputs: Node) -> Node:
        nodes.append(Node(get_op(name), inputs, (), node.type, node.origin, None, node.role))
        return nodes[-1]

    away = made("absolute", made("subtract", x, k) if k.value else x)
    found = made("add", made("log1p", made("exp", made("negative", away))), made("maximum", x, k))
    found.name = node.name
    return found
