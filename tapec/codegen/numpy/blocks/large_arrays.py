"""Decide which arrays and programs are large: some code pays only on these."""

from __future__ import annotations

from collections.abc import Iterable

from tapec.ir import Node, ops

__all__ = [
    "HUGE",
    "LARGE",
    "NARROW",
    "SOME",
    "WORTH",
    "are_worth_a_loop",
    "has_short_axis",
    "is_large",
    "reads_huge",
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
    """Return whether nodes compute so much on large arrays, or on arrays of half the size, that blocks are faster."""
    sizes = [min(n.type.nbytes, LARGE) for n in nodes if is_large(n)]
    return sizes.count(LARGE) >= FEWEST or sum(sizes) >= MUCH


def is_of_narrow(node: Node) -> bool:
    """Return whether a node is a product of matrices whose elements are sums of few numbers."""
    return node.op is ops.matmul and node.type.ndim > 1 and node.inputs[0].type.shape[-1] <= NARROW


def reads_huge(node: Node) -> bool:
    """Return whether a node is the product of a matrix that no cache holds with a vector or a narrow matrix."""
    if node.op is not ops.matmul:
        return False
    x, w = (i.type for i in node.inputs)
    return x.ndim == 2 and x.nbytes >= HUGE and w.ndim < 3 and w.size <= NARROW * w.shape[0]


def has_short_axis(node: Node) -> bool:
    """Return whether the last axis is so short that NumPy's inner loop along it costs more than what it does."""
    t = node.type
    if node.op.multi or t.ndim != 3 or t.size < MANY:
        return False
    return 1 < t.shape[2] <= SHORT and t.shape[1] >= LONG and t.shape[0] > 1
