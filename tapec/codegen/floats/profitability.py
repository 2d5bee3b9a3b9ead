"""Estimate whether a program pays on floats: its microseconds on arrays and on floats."""

from __future__ import annotations

import math
from collections.abc import Collection

from tapec.codegen.schedule.inlining import is_view
from tapec.ir import CONSTANT, Graph, Node, ops

__all__ = ["FLOAT_COST", "GAIN", "LEAN", "cost_of_step", "numpy_costs_more", "packing_cost"]

TINY = 9  # elements that one operation computes without a second thought: a matrix of 3 by 3
NUMPY_COST = {"elementwise": 0.3, "reduction": 0.8, "product": 0.5, "creation": 0.2, "indexing": 0.3, "layout": 0.4}
SCALAR_COST, FLOAT_COST = 0.04, 0.02  # arithmetic on NumPy scalars, on floats
WORTH = 0.036  # what a step on floats may cost at most where an operation is longer to read than on arrays
GAIN = 1.25  # times as fast a program must be on floats that packs matrices now and then, which is longer to read
LEAN = 0.7 * FLOAT_COST  # for an operation, as some turn out to be needless
ARITHMETIC = {"add", "subtract", "multiply", "divide", "negative", "greater", "less", "greater_equal", "less_equal"}


def cost_of_step(graph: Graph, shapes: set[tuple[int, ...]]) -> float | None:
    """Return what each step costs in a program on floats; None where there are clearly too many steps."""
    many = sum(map(_computed, graph.nodes)) if any(math.prod(shape) > TINY for shape in shapes) else 0
    if not many:
        return FLOAT_COST
    return WORTH if numpy_costs_more(graph, WORTH * many) else None


def _computed(node: Node) -> int:
    """Return how many elements an operation computes or adds up, if they are many, else 0.

    An operation that only puts one more element into a sum does not count.
    """
    if node.op.kind == "elementwise":
        size = 0 if any(i.op in (ops.scatter, ops.setitem) for i in node.inputs) else node.type.size
    else:
        size = node.inputs[0].type.size if node.op.kind == "reduction" else 0
    return size if size > TINY else 0


def numpy_costs_more(graph: Graph, than: float) -> bool:
    """Return whether the program takes longer on arrays than so many microseconds; the sum stops when it does."""
    total = 0.0
    for node in graph.nodes:
        if is_view(node):
            total += 0.08
        elif node.op is not CONSTANT:
            scalar = node.op.name in ARITHMETIC and not node.type.shape
            total += SCALAR_COST if scalar else NUMPY_COST.get(node.op.kind, 0.5)
        if total > than:
            return True
    return False


def packing_cost(graph: Graph, given: Collection[int]) -> float:
    """Return the cost of taking the inputs apart, and of making arrays of the results that are returned."""
    unpacking = sum([0.1 + i.type.size // 64 * 0.7 if i.type.shape else 0.02 for i in graph.inputs if not i.type.weak])
    outputs = [graph.outputs[k].type for k in given]
    return unpacking + sum([0.25 + t.size // 64 * 1.2 if t.shape else 0.06 for t in outputs])
