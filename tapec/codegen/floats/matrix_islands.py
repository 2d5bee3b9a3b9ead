"""Pack small matrices in programs on floats, compute with NumPy, and take the results apart again, as in:

x0, x1 = np.linalg.solve(np.array([[a, b], [c, d]]), np.array([y0, y1])).tolist()
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.floats.elementwise_expansion import rule_of
from tapec.codegen.floats.packing import FLOAT_OF, ISLAND, packing
from tapec.codegen.floats.scalar_ops import FLOAT, Elements, spelled
from tapec.codegen.numpy.target_ops import UNPACK
from tapec.ir import INPUT, ITEM, Node, Op, OpSet, cost
from tapec.ir.types import Type

__all__ = ["KINDS", "Islands", "least_cost", "multiplies_matrix"]

KINDS = {"linalg", "product"}
TURNED = OpSet("transpose reshape")  # of an array that is there as such


class Islands:
    """The arrays in a program on floats.

    `made` collects the operations, `arrays` maps nodes of the original to arrays that hold their values, and `cost` is
    how many microseconds packing and taking apart take.
    """

    def __init__(self, made: Elements):
        self.made = made
        self.arrays: dict[Node, Node] = {}
        self.cost = 0.0

    def values(self, node: Node, elements: Mapping[Node, list[Any]]) -> list[Any] | None:
        """Return the elements of an operation on matrices that NumPy computes; None where it is no such operation."""
        if node.op is ITEM:
            whole = self.arrays.get(node.inputs[0])
            return None if whole is None else self.parts(node, self.added(ITEM, (whole,), node.params, node.type, node))
        if node.op.kind not in KINDS or any([t.dtype.char != "d" for t in types_of(node)]):
            return None
        self.cost += tuning.ISLAND_CALL_COST
        inputs = tuple([self.array(i, elements) for i in node.inputs])
        made = self.added(node.op, inputs, node.params, node.type, node)
        if node.op.multi:
            self.arrays[node] = made
            return []
        return self.parts(node, made)

    def array(self, node: Node, elements: Mapping[Node, list[Any]]) -> Node:
        """Return a value as an array."""
        found = self.arrays.get(node)
        if found is None and node.op is INPUT:
            return node
        if found is None and node.op in TURNED and node.inputs[0] in self.arrays:
            found = self.added(node.op, (self.arrays[node.inputs[0]],), node.params, node.type, node)
        if found is None:
            self.cost += cost_to_convert(node.type)
            inputs = tuple([x if x.__class__ is Node else self.made.number(spelled(x)) for x in elements[node]])
            found = self.added(ISLAND, inputs, packing(node.type), node.type, node)
        self.arrays[node] = found
        return found

    def parts(self, node: Node, array: Node) -> list[Any]:
        """Return the elements of an array, taken apart."""
        self.arrays[node] = array
        if not node.type.shape:
            return [self.added(FLOAT_OF, (array,), (), FLOAT, node)]
        self.cost += cost_to_convert(node.type)
        whole = self.added(UNPACK, (array,), (), (FLOAT,) * node.type.size, node)
        return [self.added(ITEM, (whole,), (("index", k),), FLOAT, node) for k in range(node.type.size)]

    def added(self, op: Op, inputs: tuple[Node, ...], params: Any, t: Any, node: Node) -> Node:
        self.made.nodes.append(Node(op, inputs, params, t, node.origin, "", node.role))
        return self.made.nodes[-1]


def types_of(node: Node) -> list[Type]:
    """Return the types of all that an operation reads and makes."""
    return [*(node.type if node.op.multi else [node.type]), *[i.type for i in node.inputs]]


def least_cost(node: Node) -> float:
    """Return the least cost of an operation on matrices: to pack its operands and to take its result apart.

    The operation is one of `KINDS`; one that is expanded by elements costs nothing here.
    """
    if rule_of(node.op) is not None and not multiplies_matrix(node):
        return 0.0
    types = [] if node.op.multi else [node.type]
    types += [i.type for i in node.inputs if i.op.kind not in KINDS and i.op is not INPUT and i.op not in TURNED]
    return sum([cost_to_convert(t) for t in types if t.shape], tuning.ISLAND_CALL_COST)


def cost_to_convert(t: Type) -> float:
    """Return how many microseconds it takes to pack an array of this type, or to take it apart."""
    return tuning.ISLAND_CALL_COST + tuning.ISLAND_ELEMENT_COST * cost.elements(t)


def multiplies_matrix(node: Node) -> bool:
    """Return whether a product has a matrix larger than a rotation: element by element, nobody wants to read that."""
    most = tuning.MATRIX_BY_ELEMENT_MAX_ELEMENTS
    return node.op.kind == "product" and any([i.type.ndim > 1 and cost.elements(i) > most for i in node.inputs])
