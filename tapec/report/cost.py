"""What a graph costs: operations on numbers, bytes moved, memory alive at the same time. Estimates from types alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from tapec.ir import CONSTANT, ITEM, Graph, Node, Type

__all__ = ["Cost", "cost_of", "flops"]


class Cost(NamedTuple):
    """Operations (without constants), floating point operations, bytes read and written, most bytes alive at once."""

    nodes: int
    flops: int
    bytes: int
    peak: int


def cost_of(graph: Graph) -> Cost:
    """The sum over all nodes, each run once in its order and freed after its last use."""
    nodes = [n for n in graph.nodes if n.op not in (CONSTANT, ITEM)]
    moved = sum(_nbytes(n.type) + sum(_nbytes(i.type) for i in n.inputs) for n in nodes if not _is_view(n))
    return Cost(len(nodes), sum(map(flops, nodes)), moved, _peak(graph))


def flops(node: Node) -> int:
    """Multiplications and additions; every elementwise operation counts as one, however hard it is."""
    if node.op.kind == "elementwise":
        return _size(node.type)
    known = _FLOPS.get(node.op.name)
    if known is not None:
        return int(known(node))
    return sum(_size(i.type) for i in node.inputs) if node.op.kind in ("reduction", "scan") else 0


def _peak(graph: Graph) -> int:
    """Bytes of results alive at once, inputs left out."""
    last: dict[Node, int] = {}
    for k, node in enumerate(graph.nodes):
        for i in node.inputs:
            last[i] = k
    for node in graph.outputs:
        last[node] = len(graph.nodes)
    own = {n: 0 if n.op is CONSTANT or _is_view(n) else _nbytes(n.type) for n in graph.nodes}
    alive = most = 0
    for k, node in enumerate(graph.nodes):
        alive += own[node]
        most = max(most, alive)
        for i in {i for i in node.inputs if last.get(i) == k}:
            alive -= own.get(i, 0)
        if node not in last:
            alive -= own[node]
    return most


def _is_view(node: Node) -> bool:
    return node.op.view or node.op in (CONSTANT, ITEM)


def _parts(t: Any) -> tuple[Type, ...]:
    return t if isinstance(t, tuple) else (t,)


def _size(t: Any) -> int:
    return sum(part.size for part in _parts(t))


def _nbytes(t: Any) -> int:
    return sum(part.nbytes for part in _parts(t) if not part.weak)


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
    **dict.fromkeys(("matmul", "dot", "vdot", "inner", "vecdot", "matvec", "vecmat"), _product),
    **dict.fromkeys(("einsum", "tensordot"), _contraction),
    "outer": lambda node: _size(node.type),
    "cholesky": _cubic(1 / 3),
    **dict.fromkeys(("solve", "det", "slogdet"), _cubic(2 / 3)),
    **dict.fromkeys(("inv", "qr"), _cubic(2.0)),
    **dict.fromkeys(("eigh", "eigvalsh", "eig", "eigvals"), _cubic(9.0)),
    **dict.fromkeys(("svd", "svdvals", "pinv", "lstsq"), _cubic(14.0)),
    **dict.fromkeys(("fft", "ifft", "rfft", "irfft", "fftn", "ifftn", "rfftn", "irfftn"), _fft),
}
