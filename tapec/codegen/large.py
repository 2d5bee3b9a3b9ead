"""Programs on large arrays, which are computed in blocks: what makes these is imported for programs that have some."""

from __future__ import annotations

from tapec.ir import Graph, Node
from tapec.ir.tree import Tree

__all__ = ["FEWEST", "LARGE", "in_blocks", "is_large", "is_of_rows", "reads_huge"]

LARGE = 1 << 20  # bytes of an array that does not stay in the cache between two operations
HUGE = 1 << 22  # bytes of a matrix that does not stay there between two products
FEWEST = 3  # operations on large arrays that make a loop worth it


def is_large(node: Node) -> bool:
    t = node.type
    return node.op.kind == "elementwise" and not node.op.multi and t.ndim > 0 and t.shape[0] > 1 and t.nbytes >= LARGE


def is_of_rows(node: Node) -> bool:
    """Is each element the product of a row of a large matrix with a vector?"""
    if node.op.name != "matmul":
        return False
    x, w = node.inputs
    return x.type.ndim == 2 and w.type.ndim == 1 and x.type.nbytes >= LARGE


def reads_huge(node: Node) -> bool:
    """And of a matrix that no cache holds?"""
    return is_of_rows(node) and node.inputs[0].type.nbytes >= HUGE


def in_blocks(graph: Graph, tree: Tree | None = None) -> Graph:
    """The program with parts of it as loops over blocks; the same graph when there are none."""
    if sum(map(is_large, graph.nodes)) < FEWEST and not any(map(reads_huge, graph.nodes)):
        return graph
    from tapec.codegen.blocks import with_block_loops

    return with_block_loops(graph, tree)
