"""Decide which arrays and programs are large: some code pays only on these."""

from __future__ import annotations

from collections.abc import Iterable

from tapec.codegen import tuning
from tapec.codegen.numpy.target_ops import OVER_ROWS
from tapec.codegen.schedule.inlining import is_view
from tapec.ir import Node, ops
from tapec.ir.cost import bytes_of, elements, length

__all__ = [
    "are_worth_a_loop",
    "has_short_axis",
    "is_large",
    "reads_huge",
]


def is_large(node: Node) -> bool:
    t = node.type
    if node.op.kind != "elementwise" and not is_of_narrow(node):
        return False
    return not node.op.multi and t.ndim > 0 and t.shape[0] > 1 and bytes_of(t) >= tuning.LARGE_MIN_BYTES // 2


def are_worth_a_loop(nodes: Iterable[Node], readers: Iterable[Node]) -> bool:
    """Return whether nodes compute so much on large arrays, or on arrays of half the size, that blocks are faster.

    Each product among the `readers` that multiplies such an array counts as one more operation on it.
    """
    large = tuning.LARGE_MIN_BYTES
    sizes = {n: min(bytes_of(n), large) for n in nodes if is_large(n)}
    factors = [i for r in readers if r.op is OVER_ROWS or r.op is ops.matmul for i in r.inputs] if sizes else []
    for k, i in enumerate(factors):
        while is_view(i):
            i = i.inputs[0]
        factors[k] = i
    all_sizes = [*sizes.values(), *[sizes[i] for i in factors if i in sizes]]
    return all_sizes.count(large) >= tuning.BLOCK_LOOP_MIN_OPS or sum(all_sizes) >= tuning.BLOCK_LOOP_MIN_BYTES


def is_of_narrow(node: Node) -> bool:
    """Return whether a node is a product of matrices whose elements are sums of few numbers."""
    return node.op is ops.matmul and node.type.ndim > 1 and length(node.inputs[0], -1) <= tuning.NARROW_MAX_COLUMNS


def reads_huge(node: Node) -> bool:
    """Return whether a node is the product of a matrix that no cache holds with a vector or a narrow matrix."""
    if node.op is not ops.matmul:
        return False
    x, w = (i.type for i in node.inputs)
    huge = x.ndim == 2 and bytes_of(x) >= tuning.HUGE_MIN_BYTES
    return huge and w.ndim < 3 and elements(w) <= tuning.NARROW_MAX_COLUMNS * length(w, 0)


def has_short_axis(node: Node) -> bool:
    """Return whether the last axis is so short that NumPy's inner loop along it costs more than what it does."""
    t = node.type
    if node.op.multi or t.ndim != 3 or elements(t) < tuning.SHORT_AXIS_MIN_ELEMENTS:
        return False
    short = 1 < length(t, 2) <= tuning.SHORT_AXIS_MAX_LENGTH
    return short and length(t, 1) >= tuning.SHORT_AXIS_MIN_OTHER_LENGTH and t.shape[0] > 1
