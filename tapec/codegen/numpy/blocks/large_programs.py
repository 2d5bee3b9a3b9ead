"""Programs on large arrays, which are computed in blocks, or along other axes: what is for these is imported for
programs that have some.
"""

from __future__ import annotations

from collections.abc import Iterable

from tapec.ir import Graph, Node
from tapec.ir.decision_tree import Tree

__all__ = [
    "HUGE",
    "LARGE",
    "NARROW",
    "SOME",
    "WORTH",
    "are_worth_a_loop",
    "has_short_axis",
    "in_blocks",
    "is_large",
    "reads_huge",
    "with_short_axes_moved",
    "with_small_parts",
]

LARGE = 1 << 20  # bytes of an array that does not stay in the cache between two operations
HUGE = 1 << 22  # bytes of a matrix that does not stay there between two products
WORTH = 1 << 16  # bytes of an array that is worth a copy of a part,
SOME = 1 << 12  # and of one that would be copied else
FEWEST = 3  # operations on large arrays that make a loop worth it,
MUCH = 6 << 20  # or bytes that are computed, where arrays have at least half the size
SHORT = 16  # elements of a last axis at most that had better stand before another one,
LONG = 32  # elements of that one at least,
MANY = 1 << 13  # and in all
NARROW = 96  # columns of a matrix, a product with which takes no longer than reading and writing another one


def is_large(node: Node) -> bool:
    t = node.type
    if node.op.kind != "elementwise" and not is_of_narrow(node):
        return False
    return not node.op.multi and t.ndim > 0 and t.shape[0] > 1 and t.nbytes >= LARGE // 2


def are_worth_a_loop(nodes: Iterable[Node]) -> bool:
    """Do they compute so much on large arrays, or on arrays of half the size, that it is faster block by block?"""
    sizes = [min(n.type.nbytes, LARGE) for n in nodes if is_large(n)]
    return sizes.count(LARGE) >= FEWEST or sum(sizes) >= MUCH


def is_of_narrow(node: Node) -> bool:
    """Is it a product of matrices with few numbers in the sum that each element is?"""
    return node.op.name == "matmul" and node.type.ndim > 1 and node.inputs[0].type.shape[-1] <= NARROW


def reads_huge(node: Node) -> bool:
    """Is it the product of a matrix that no cache holds with a vector, or a narrow matrix?"""
    if node.op.name != "matmul":
        return False
    x, w = (i.type for i in node.inputs)
    return x.ndim == 2 and x.nbytes >= HUGE and w.ndim < 3 and w.size <= NARROW * w.shape[0]


def in_blocks(graph: Graph, tree: Tree | None = None) -> Graph:
    """The program with parts of it as loops over blocks; the same graph when there are none."""
    if not are_worth_a_loop(graph.nodes) and not any(map(reads_huge, graph.nodes)):
        return graph
    from tapec.codegen.numpy.blocks.block_loops import with_block_loops

    return with_block_loops(graph, tree)


def has_short_axis(node: Node) -> bool:
    """Does NumPy's inner loop, which runs along the last axis, do so little that it costs more than what it does?"""
    t = node.type
    if node.op.multi or t.ndim != 3 or t.size < MANY:
        return False
    return 1 < t.shape[2] <= SHORT and t.shape[1] >= LONG and t.shape[0] > 1


def with_short_axes_moved(graph: Graph) -> Graph:
    """The program with short last axes before longer ones; the same graph when there are none."""
    if not any(map(has_short_axis, graph.nodes)):
        return graph
    from tapec.codegen.numpy.passes.move_short_axis import short_axes_moved

    return short_axes_moved(graph)


def with_small_parts(graph: Graph) -> Graph:
    """The program with copies of small parts of what is large; the same graph when there are none."""
    if not any([n.op.view and n.inputs and n.inputs[0].type.nbytes >= SOME for n in graph.nodes]):
        return graph
    from tapec.codegen.numpy.passes.copy_small_slices import small_parts_copied

    return small_parts_copied(graph)
