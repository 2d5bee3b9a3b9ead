"""A graph's way through the passes, one stage a pass: what it was, what it became, what changed."""

from __future__ import annotations

import difflib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from tapec.ir import Graph
from tapec.report.cost import Cost, cost_of

__all__ = ["Stage", "graph_diff", "stages"]


@dataclass
class Stage:
    """The graph after one step, how long the step took, and which rules fired how often."""

    name: str
    graph: Graph
    seconds: float = 0.0
    fired: dict[str, int] = field(default_factory=dict)
    changed: bool = True

    @property
    def cost(self) -> Cost:
        return cost_of(self.graph)


def stages(forward: Graph, gradient: Graph) -> Iterator[Stage]:
    """The program, its gradient as differentiation left it, and then the gradient after each pass."""
    from tapec.passes.pipeline import PIPELINE

    if forward is not gradient:
        yield Stage("forward", forward)
    yield Stage("gradient", gradient)
    graph = gradient
    for name, run in PIPELINE:
        start = time.perf_counter()
        after = run(graph)
        yield Stage(name, after, time.perf_counter() - start, {}, after is not graph and after != graph)
        graph = after


def graph_diff(before: Graph, after: Graph, context: int = 1) -> str:
    """What a pass did, as a diff of the two texts."""
    lines = difflib.unified_diff(
        str(before).splitlines(), str(after).splitlines(), "before", "after", n=context, lineterm=""
    )
    return "\n".join(list(lines)[2:])
