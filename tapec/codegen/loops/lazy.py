"""Import the search for loops that tracing unrolled; short programs do without it."""

from __future__ import annotations

from typing import Any

from tapec.ir import Graph

__all__ = ["in_loops"]


def in_loops(graph: Graph, least: int) -> Any:
    from tapec.codegen.loops import array_loop, index_operands

    return array_loop.in_loops(index_operands.lifted(graph), least)
