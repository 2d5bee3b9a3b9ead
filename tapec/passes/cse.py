"""Common subexpressions: equal operations on equal values become one."""

from __future__ import annotations

from typing import Any

from tapec.ir import CONSTANT, Graph, Node
from tapec.ir.build import constant_key
from tapec.ir.op import OWN_KINDS

__all__ = ["cse"]


def cse(graph: Graph) -> Graph:
    """Merge nodes that compute the same, operands of commutative ops in either order."""
    first: dict[Any, Node] = {}
    new: dict[Node, Node] = {}
    order: dict[Node, int] = {node: k - len(graph.inputs) for k, node in enumerate(graph.inputs)}
    nodes: list[Node] = []
    for node in graph.nodes:
        current = node
        op, inputs = node.op, node.inputs
        if new:
            for i in inputs:
                if i in new:
                    inputs = tuple([new.get(i, i) for i in inputs])
                    current = node.with_inputs(inputs)
                    break
        if op.kind in OWN_KINDS:
            known = current
        else:
            if op is CONSTANT:
                key: Any = constant_key(node.value)
            else:
                if op.commutative and order[inputs[0]] > order[inputs[1]]:
                    inputs = inputs[::-1]
                key = (op, inputs, node.params)
            known = first.setdefault(key, current)
        if known is current:
            order[current] = len(nodes)
            nodes.append(current)
        elif node.role is None:
            known.role = None  # what the user wrote keeps its exact values
        if known is not node:
            new[node] = known
    if not new:
        return graph
    return Graph(graph.inputs, nodes, [new.get(o, o) for o in graph.outputs], graph.name)
