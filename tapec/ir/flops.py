"""This module estimates from types alone how many floating point operations a node takes.

An op of which the general rule knows too little brings its own in `Op.flops`, mostly one of those here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tapec.ir.node import Node
from tapec.ir.op import ops

__all__ = [
    "cubic_flops",
    "flops",
    "flops_of_contraction",
    "flops_of_fft",
    "flops_of_first",
    "flops_of_product",
    "flops_of_sum",
]


def flops(node: Node) -> int:
    """Count multiplications and additions; every elementwise operation counts as one, however hard it is."""
    if node.op.flops is not None:
        return int(node.op.flops(node))
    if node.op.kind == "elementwise":
        return _size(node.type)
    return sum(_size(i.type) for i in node.inputs) if node.op.kind in ("reduction", "cumulative") else 0


def _size(t: Any) -> int:
    return sum(part.size for part in (t if isinstance(t, tuple) else (t,)))


def flops_of_sum(node: Node) -> int:
    """Count one addition an element; an operand that is zero but in some places is added in these alone."""
    placed = [i.inputs[0] for i in node.inputs if i.op is ops.scatter]
    return _size(placed[0].type if placed else node.type)


def flops_of_product(node: Node) -> float:
    """Count a multiplication and an addition for each pair of numbers that meet in a matrix product."""
    first = node.inputs[0].type
    return 2 * _size(node.type) * (first.shape[-1] if first.shape else 1)


def flops_of_contraction(node: Node) -> float:
    """Estimate the operations of an einsum or tensordot from the sizes of operands and result."""
    return 2 * math.sqrt(math.prod(max(_size(i.type), 1) for i in node.inputs) * max(_size(node.type), 1))


def cubic_flops(factor: float) -> Callable[[Node], float]:
    """Return a count of `factor * n**3` operations, as factorising an n by n matrix takes."""

    def count(node: Node) -> float:
        shape = node.inputs[0].type.shape
        return factor * math.prod(shape) * (shape[-1] if shape else 1)

    return count


def flops_of_fft(node: Node) -> float:
    """Count `5 * n * log2(n)` operations for n elements."""
    n = max(_size(node.inputs[0].type), _size(node.type), 2)
    return 5 * n * math.log2(n)


def flops_of_first(node: Node) -> float:
    """Count one operation for each element of the first operand."""
    return _size(node.inputs[0].type)
