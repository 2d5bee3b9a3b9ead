"""Estimate whether a program pays on floats: its microseconds on arrays and on floats."""

from __future__ import annotations

import math
from collections.abc import Collection

from tapec.codegen import tuning
from tapec.codegen.schedule.inlining import is_view
from tapec.ir import CONSTANT, Graph, Node, OpSet, ops
from tapec.ir.cost import elements
from tapec.ir.types import Type

__all__ = ["cost_of_step", "numpy_costs_more", "packing_cost"]

ARITHMETIC = OpSet("add subtract multiply divide negative greater less greater_equal less_equal")


def cost_of_step(graph: Graph, shapes: set[tuple[int, ...]]) -> float | None:
    """Return what each step costs in a program on floats; None where there are clearly too many steps."""
    tiny = all(math.prod(shape) <= tuning.FLOATS_TINY_MAX_ELEMENTS for shape in shapes)
    many = 0 if tiny else sum(map(_computed, graph.nodes))
    if not many:
        return tuning.FLOAT_COST
    return tuning.LONG_FLOAT_COST if numpy_costs_more(graph, tuning.LONG_FLOAT_COST * many) else None


def _computed(node: Node) -> int:
    """Return how many elements an operation computes or adds up, if they are many, else 0.

    An operation that only puts one more element into a sum does not count.
    """
    if node.op.kind == "elementwise":
        size = 0 if any(i.op in (ops.scatter, ops.setitem) for i in node.inputs) else node.type.size
    else:
        size = node.inputs[0].type.size if node.op.kind == "reduction" else 0
    return size if size > tuning.FLOATS_TINY_MAX_ELEMENTS else 0


def numpy_costs_more(graph: Graph, than: float) -> bool:
    """Return whether the program takes longer on arrays than so many microseconds; the sum stops when it does."""
    total = 0.0
    for node in graph.nodes:
        if is_view(node):
            total += tuning.VIEW_COST
        elif node.op is not CONSTANT:
            scalar = node.op in ARITHMETIC and not node.type.shape
            total += tuning.SCALAR_COST if scalar else tuning.NUMPY_COST.get(node.op.kind, tuning.OTHER_NUMPY_COST)
        if total > than:
            return True
    return False


def packing_cost(graph: Graph, given: Collection[int]) -> float:
    """Return the cost of taking the inputs apart, and of making arrays of the results that are returned."""
    unpacking = sum([_unpacking_cost(i.type) for i in graph.inputs if not i.type.weak])
    return unpacking + sum([_packing_cost(graph.outputs[k].type) for k in given])


def _unpacking_cost(t: Type) -> float:
    if not t.shape:
        return tuning.UNPACK_NUMBER_COST
    return tuning.UNPACK_ARRAY_COST + elements(t) // 64 * tuning.UNPACK_64_ELEMENTS_COST


def _packing_cost(t: Type) -> float:
    if not t.shape:
        return tuning.PACK_NUMBER_COST
    return tuning.PACK_ARRAY_COST + elements(t) // 64 * tuning.PACK_64_ELEMENTS_COST
