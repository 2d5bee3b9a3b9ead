"""Conditions tell from the ops of a graph, or from a quick look at it, whether a pass could find something to do.

The pipeline asks them before it imports the pass.
"""

from __future__ import annotations

from tapec.ir import CONSTANT, CT, Graph, Node, ops
from tapec.ir.cost import elements
from tapec.passes.engine.lazy_pass import Head
from tapec.passes.engine.node_facts import unscaled

__all__ = ["has_steps", "is_multiple", "is_step", "meets_rows", "multiplied_products"]


def is_multiple(head: Head) -> bool:
    """Return whether an operation is a product or a quotient times a constant, among cotangents."""
    cotangent, (op, *operands) = head
    if not cotangent or op is not ops.multiply or CONSTANT not in operands:
        return False
    return any([o.name in ("multiply", "divide") for o in operands])


def is_step(head: Head) -> bool:
    """Return whether an operation may be a step of an unrolled loop.

    Steps are products with a part of an array, and among cotangents sums of products.
    """
    cotangent, (op, *operands) = head
    names = [o.name for o in operands]
    return "getitem" in names if op is ops.matmul else cotangent and "multiply" in names


def has_steps(graph: Graph) -> bool:
    """Return whether an array is multiplied with a part of one, or a product is larger than both its factors."""
    for node in graph.nodes:
        if node.op is ops.matmul:
            if any([i.op is ops.getitem for i in node.inputs]):
                return True
        elif node.op is ops.multiply and node.role is CT and node.type.ndim == 2:
            if all([elements(i) < elements(node) for i in node.inputs]):
                return True
    return False


def multiplied_products(graph: Graph) -> list[Node]:
    """Return the products of two matrices that are factors of others, among cotangents.

    Such a factor may be transposed, or multiplied by a number, on the way.
    """
    products = {n: None for n in graph.nodes if n.op is ops.matmul and n.role is not None}
    inner = dict.fromkeys([unscaled(i) for n in products for i in n.inputs])
    return [n for n in products if n in inner and all([i.type.ndim == 2 for i in n.inputs])]


def meets_rows(head: Head) -> bool:
    """Return whether an operation is a product of rows that were taken, or adds up products at places."""
    (op, *operands) = head[1]
    return bool(operands) and operands[0].name == ("getitem" if op is ops.matmul else "matmul")
