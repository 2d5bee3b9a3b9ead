"""The gate to the passes that few programs need: each function imports the module of one pass."""

from __future__ import annotations

from collections.abc import Callable

from tapec.config import settings
from tapec.ir import Graph, Node

__all__ = [
    "batched",
    "becomes_arrays",
    "computed_ahead",
    "lean_bodies",
    "rows_once",
    "shared_inverses",
    "shared_multiples",
    "shortest_chains",
    "vectorized",
]


def batched(graph: Graph) -> Graph:
    from tapec.passes.whole_graph.batch_unrolled_loops import batched

    return batched(graph)


def becomes_arrays(loop: Node) -> bool:
    from tapec.passes.whole_graph.vectorize_loops import at_once

    return at_once(loop) is not None


def computed_ahead(graph: Graph) -> Graph:
    from tapec.passes.whole_graph.batch_loop_rows import computed_ahead

    return computed_ahead(graph)


def lean_bodies(graph: Graph, optimize: Callable[[Graph], Graph]) -> Graph:
    from tapec.passes.whole_graph.lean_bodies import lean_bodies

    return lean_bodies(graph, optimize, settings.optimize)


def rows_once(graph: Graph) -> Graph:
    from tapec.passes.whole_graph.hoist_rows import rows_once

    return rows_once(graph)


def shared_inverses(graph: Graph) -> Graph:
    from tapec.passes.whole_graph.reuse_inverse import shared_inverses

    return shared_inverses(graph)


def shared_multiples(graph: Graph) -> Graph:
    from tapec.passes.whole_graph.hoist_constants import shared_multiples

    return shared_multiples(graph)


def shortest_chains(graph: Graph) -> Graph:
    from tapec.passes.whole_graph.matrix_chain_order import shortest_chains

    return shortest_chains(graph)


def vectorized(graph: Graph, keeps_zero: bool = False) -> Graph:
    from tapec.passes.whole_graph.vectorize_loops import vectorized

    return vectorized(graph, keeps_zero)
