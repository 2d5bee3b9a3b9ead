"""Value numbering gives each operation a key, equal for operations that compute the same, and a head, its ops.

    y = np.exp(x)         key (exp, (x,), ())        head (False, (exp, input))

A numbering is made once for a graph and goes on from one set of rules to the next, on the graph itself; a pass that
changes a graph takes the numbering along. `optimize` drops it in the end.
"""

from __future__ import annotations

from typing import Any

from tapec.ir import CONSTANT, Graph, Node, Op
from tapec.ir.builder import constant_key
from tapec.ir.op import OWN_KINDS

__all__ = ["heads", "key_of", "key_of_node", "numbering"]


def key_of(op: Op, inputs: tuple[Node, ...], params: Any) -> Any:
    """Return a key that is equal for operations that compute the same; operands of commutative ops may stand in either
    order.
    """
    if op.commutative and id(inputs[0]) > id(inputs[1]):
        inputs = inputs[::-1]
    return op, inputs, params


def key_of_node(node: Node) -> Any:
    if node.op is CONSTANT:
        return constant_key(node.value)
    return key_of(node.op, node.inputs, node.given if node.op.bodies else node.params)


def numbering(graph: Graph) -> tuple[dict[Any, Node], set[Node]]:
    """Return the first node of each key, and the set of the other nodes, which are duplicates.

    The numbering is taken off the graph: the caller changes it, and puts it on the graph that comes out.
    """
    known = graph._numbering
    if known is not None:
        graph._numbering = None
        return known, set()
    known = {}
    duplicates = set()
    for node in graph.nodes:
        op = node.op
        if op.kind not in OWN_KINDS:
            if op is CONSTANT:
                key: Any = constant_key(node.value)
            else:
                inputs = node.inputs
                if op.commutative and id(inputs[0]) > id(inputs[1]):
                    inputs = inputs[::-1]
                key = (op, inputs, node.given if node.op.bodies else node.params)
            if known.setdefault(key, node) is not node:
                duplicates.add(node)
    return known, duplicates


def heads(graph: Graph) -> dict[tuple[bool, tuple[Op, ...]], list[int]]:
    """Return the places of the nodes by head: whether it is a cotangent, its op, and the ops of its first three
    operands.

    Rules and lazy passes are tried once for a head, not once for a node: large graphs have few heads.
    """
    found = graph._heads
    if found is None:
        found = graph._heads = {}
        for k, node in enumerate(graph.nodes):
            inputs = node.inputs
            if len(inputs) == 2:
                ops: tuple[Op, ...] = (node.op, inputs[0].op, inputs[1].op)
            else:
                ops = (node.op, *[i.op for i in inputs[:3]])
            places = found.get(head := (node.role is not None, ops))
            if places is None:
                found[head] = [k]
            else:
                places.append(k)
    return found
