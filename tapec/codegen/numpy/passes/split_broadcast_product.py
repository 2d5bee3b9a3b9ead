"""Multiply large products by a broadcast product factor by factor, without an array for the latter.

`(d[:, None] * w) * slope` becomes `slope *= w`, `slope *= d[:, None]`, as much work in one array instead of two.
"""

from __future__ import annotations

from collections.abc import Collection

from tapec.codegen import tuning
from tapec.codegen.schedule.inlining import count_uses, is_view
from tapec.ir import INPUT, Graph, Node, Type, get_op
from tapec.ir.cost import bytes_of

__all__ = ["factored"]


def factored(graph: Graph, donated: Collection[Node] = ()) -> Graph:
    """Return the program with such products of gradients taken apart; the same graph when there are none."""
    uses = count_uses(graph.nodes, graph.outputs)
    there = {i.type for i in donated}
    found = {n: at for n in graph.nodes if n in uses and (at := _spread_operand(n, uses, there)) is not None}
    if not found:
        return graph
    absorbed = {n.inputs[at] for n, at in found.items()}
    new: dict[Node, Node] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        if node in absorbed:
            continue
        at = found.get(node)
        if at is None:
            inputs = tuple([new.get(i, i) for i in node.inputs])
        else:
            one, other = [new.get(i, i) for i in node.inputs[at].inputs]
            whole = node.inputs[1 - at]
            first = Node(node.op, (new.get(whole, whole), other), (), node.type, node.origin, None, node.role)
            nodes.append(first)
            inputs = (first, one)
        if inputs != node.inputs:
            new[node] = node = node.with_inputs(inputs)
        nodes.append(node)
    return Graph(graph.inputs, nodes, [new.get(o, o) for o in graph.outputs], graph.name)


def _spread_operand(node: Node, uses: dict[Node, int], there: Collection[Type]) -> int | None:
    """Return which operand of a big product is a product of two smaller arrays; the other one must die there."""
    t = node.type
    if node.op is not MULTIPLY or node.role is None:
        return None
    if bytes_of(t) < (tuning.DONATED_PRODUCT_MIN_BYTES if t in there else tuning.BROADCAST_PRODUCT_MIN_BYTES):
        return None
    for at, product in enumerate(node.inputs):
        whole = node.inputs[1 - at]
        if product.op is not MULTIPLY or product.role is None or product.type != t or whole.type != t:
            continue
        if uses.get(product) != 1 or uses.get(whole) != 1 or whole.op is INPUT or is_view(whole):
            continue
        if all([i.type.dtype == t.dtype and i.type.shape not in ((), t.shape) for i in product.inputs]):
            return at
    return None


MULTIPLY = get_op("multiply")
