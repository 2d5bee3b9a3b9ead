"""Estimate the cost of a graph from its types: operations, bytes moved, peak memory."""

from __future__ import annotations

from typing import Any

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, ITEM, Graph, Node, Type
from tapec.ir.flops import flops

__all__ = ["Cost", "cost_of", "flops"]


class Cost(NamedTuple):
    """Holds the cost of a graph: operations (without constants), flops, bytes read and written, most bytes alive at
    once."""

    nodes: int
    flops: int
    bytes: int
    peak: int


def cost_of(graph: Graph) -> Cost:
    """The sum over all nodes, each run once in its order and freed after its last use."""
    nodes = [n for n in graph.nodes if n.op not in (CONSTANT, ITEM)]
    all_nodes = (*graph.inputs, *graph.nodes)
    by_type = {id(t): _nbytes(t) for t in {id(n.type): n.type for n in all_nodes}.values()}
    size = {n: by_type[id(n.type)] for n in all_nodes}
    moved = sum([size[n] + sum([size[i] for i in n.inputs]) for n in nodes if not _is_view(n)])
    # `flops` leaves operations on Python's numbers out: code generation counts before it makes them
    return Cost(len(nodes), sum([n.op.kind == "float" or flops(n) for n in nodes]), moved, _peak(graph, size))


def _peak(graph: Graph, size: dict[Node, int]) -> int:
    """Return the most bytes of results that are alive at once, inputs left out."""
    last: dict[Node, int] = {}
    for k, node in enumerate(graph.nodes):
        for i in node.inputs:
            last[i] = k
    for node in graph.outputs:
        last[node] = len(graph.nodes)
    own = {n: 0 if n.op is CONSTANT or _is_view(n) else size[n] for n in graph.nodes}
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


def _nbytes(t: Any) -> int:
    return sum(part.nbytes for part in _parts(t) if not part.weak)
