"""A placed cotangent has its values in some places only; a product with one may need a guard against infinities.

This quick look at a graph tells whether the pass `guards` has to be imported.
"""

from __future__ import annotations

from tapec.ir import CT, Graph, Node, OpSet, is_literal

__all__ = ["PRODUCTS", "SOURCES", "multiplies_placed_cotangents"]

SOURCES = OpSet("where scatter tril triu diag eye setitem")  # without these there are no structural zeros
PRODUCTS = OpSet("multiply divide matmul einsum tensordot")


def multiplies_placed_cotangents(graph: Graph) -> bool:
    """Return whether a cotangent that has its values in some places, or a value computed from one, is multiplied by
    more than a number.
    """
    placed: set[Node] = set()
    are_whole = placed.isdisjoint
    for node in graph.nodes:
        if node.role is CT:
            op = node.op
            if are_whole(node.inputs):
                if op in SOURCES:
                    placed.add(node)
            elif op in PRODUCTS and not any([is_literal(i) for i in node.inputs]):
                return True
            else:
                placed.add(node)
    return False
