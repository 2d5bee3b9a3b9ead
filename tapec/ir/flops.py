"""This module estimates from types alone how many floating point operations a node takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tapec.ir.node import Node
from tapec.ir.op import ops

__all__ = ["flops"]


def flops(node: Node) -> int:
    """Multiplications and additions; every elementwise operation counts as one, however hard it is."""
    known = _FLOPS.get(node.op.name)
    if known is not None:
        return int(known(node))
    if node.op.kind == "elementwise":
        return _size(node.type)
    return sum(_size(i.type) for i in node.inputs) if node.op.kind in ("reduction", "cumulative") else 0


def _size(t: Any) -> int:
    return sum(part.size for part in (t if isinstance(t, tuple) else (t,)))


def _sum(node: Node) -> int:
    """Return the flops of a sum: a term that stands in some places only is added there alone."""
    placed = [i.inputs[0] for i in node.inputs if i.op is ops.scatter]
    return _size(placed[0].type if placed else node.type)


def _product(node: Node) -> float:
    """Two operations for each pair of numbers that meet."""
    first = node.inputs[0].type
    return 2 * _size(node.type) * (first.shape[-1] if first.shape else 1)


def _contraction(node: Node) -> float:
    """An einsum or tensordot, by the sizes it sums over."""
    return 2 * math.sqrt(math.prod(max(_size(i.type), 1) for i in node.inputs) * max(_size(node.type), 1))


def _cubic(factor: float) -> Callable[[Node], float]:
    def count(node: Node) -> float:
        shape = node.inputs[0].type.shape
        return factor * math.prod(shape) * (shape[-1] if shape else 1)

    return count


def _fft(node: Node) -> float:
    n = max(_size(node.inputs[0].type), _size(node.type), 2)
    return 5 * n * math.log2(n)


_FLOPS: dict[str, Callable[[Node], float]] = {
    **dict.fromkeys(("add", "subtract"), _sum),
    **dict.fromkeys(("matmul", "vecdot", "matvec", "vecmat"), _product),
    **dict.fromkeys(("einsum", "tensordot"), _contraction),
    "cholesky": _cubic(1 / 3),
    **dict.fromkeys(("solve", "det", "slogdet"), _cubic(2 / 3)),
    "cofactors": _cubic(8 / 3),
    "inv_lower": _cubic(1 / 3),
    "segment_sums": lambda node: _size(node.inputs[0].type),
    "maximum_at": lambda node: _size(node.inputs[1].type),
    "minimum_at": lambda node: _size(node.inputs[1].type),
    "solve_lower": lambda node: _size(node.inputs[0].type) * (_size(node.type) // node.type.shape[0]),
    **dict.fromkeys(("inv", "qr"), _cubic(2.0)),
    **dict.fromkeys(("eigh", "eigvalsh", "eig", "eigvals"), _cubic(9.0)),
    **dict.fromkeys(("svd", "svdvals", "pinv", "lstsq"), _cubic(14.0)),
    **dict.fromkeys(("fftn", "ifftn", "rfftn", "irfftn"), _fft),
}
