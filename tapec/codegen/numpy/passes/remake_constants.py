"""Make identity matrices and ranges where they are needed, as large as an argument is, in place of constants.

    K += s2 * eye                           K += s2 * np.eye(len(x))

So the text can be read by itself, and holds for other sizes. Not where that would take a good part of the time.
"""

from __future__ import annotations

import numpy as np

from tapec.codegen import tuning
from tapec.codegen.common.module_constants import is_range
from tapec.codegen.numpy.shape_texts import Shapes
from tapec.codegen.numpy.target_ops import EYE, INTP, ROWS
from tapec.codegen.numpy.what_pays import microseconds
from tapec.codegen.schedule.inlining import readers_of
from tapec.ir import CONSTANT, Graph, Node, Op, replaced
from tapec.ir.cost import elements
from tapec.ir.node import Params

__all__ = ["remade"]


def remade(graph: Graph) -> Graph:
    """Return the program in which such constants are made; the same graph when there are none."""
    makers = {n: _maker(n) for n in graph.nodes if n.op is CONSTANT and n.type.shape}
    if not any(makers.values()):
        return graph
    shapes = Shapes(graph, {i: i.name for i in graph.inputs if i.name is not None and i.type.shape})
    most = tuning.REMADE_MAX_SHARE_OF_TIME * sum(map(microseconds, graph.nodes))
    readers = readers_of(graph.nodes)
    found: dict[Node, Node] = {}
    for node, maker in makers.items():
        beside = {i for reader in readers.get(node, ()) for i in reader.inputs}
        like = None if maker is None else shapes.as_long(node, beside)  # as labels in `scores[np.arange(n), labels]`
        cost = tuning.CALL_COST + tuning.ELEMENT_COST * elements(node)
        if maker is not None and like is not None and cost <= most and node not in graph.outputs:
            found[node] = Node(maker[0], (like,), maker[1], node.type, node.origin, node.name, node.role)
            most -= cost
    return replaced(graph, found, lambda node, moved, nodes: _added(found[node], nodes)) if found else graph


def _maker(node: Node) -> tuple[Op, Params] | None:
    """Return the op that makes a constant anew, bit for bit, and its parameters; None for other arrays."""
    x, t = node.value, node.type
    if t.dtype == INTP and is_range(x):
        return ROWS, ()
    if t.dtype != float or t.ndim != 2 or t.shape[0] != t.shape[1] or not 1 < len(x) <= tuning.IDENTITY_MAX_ROWS:
        return None
    factor = x[0, 0].item()
    is_diagonal = np.isfinite(factor) and np.count_nonzero(x) == len(x)
    is_scaled = is_diagonal and (factor * np.eye(len(x))).tobytes() == x.tobytes()
    return (EYE, (("factor", factor),)) if is_scaled else None


def _added(node: Node, nodes: list[Node]) -> Node:
    nodes.append(node)
    return node
