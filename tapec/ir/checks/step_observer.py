"""`StepObserver` runs the steps of a compilation for those who look at each: they dump graphs, or compare values."""

from __future__ import annotations

from collections.abc import Callable

from tapec.ir.graph import Graph

__all__ = ["LastGraph", "StepObserver"]


class StepObserver:
    """Runs each pass, of the graph and of a target, and the step `floats`, which ends the passes of a target.

    Compilations have one where somebody looks. What it returns in place of a step's result is what goes on; a step
    whose graph it returns is left out.
    """

    def step(self, name: str, run: Callable[[Graph], Graph], graph: Graph) -> Graph:
        """Return the graph after a step."""
        return run(graph)


class LastGraph(StepObserver):
    """Keeps the graph after the last step that ran: `graph` is what code is written from."""

    def __init__(self, graph: Graph):
        self.graph = graph

    def step(self, name: str, run: Callable[[Graph], Graph], graph: Graph) -> Graph:
        self.graph = run(graph)
        return self.graph
