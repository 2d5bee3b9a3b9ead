"""The order of the passes: one tuple, read from top to bottom."""

from __future__ import annotations

from collections.abc import Callable

from tapec.ir import Graph
from tapec.passes.dce import dce

__all__ = ["PIPELINE", "optimize"]

PIPELINE: tuple[tuple[str, Callable[[Graph], Graph]], ...] = (("dce", dce),)


def optimize(graph: Graph) -> Graph:
    for _name, run in PIPELINE:
        graph = run(graph)
    return graph
