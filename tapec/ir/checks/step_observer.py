"""`StepObserver` runs the steps of a compilation for those who look at each: they dump graphs, or compare values."""

from __future__ import annotations

from collections.abc import Callable

from tapec.ir.graph import Graph

__all__ = ["StepObserver"]


class StepObserver:
    """Runs each pass, and each step by which code generation changes a graph.

    Compilations have one where somebody looks. What it returns in place of a step's result is what goes on.
    """

    def step(self, name: str, run: Callable[[Graph], Graph], graph: Graph) -> Graph:
        """Return the graph after a step."""
        return run(graph)

    def allows(self, name: str) -> bool:
        """Return whether a step is tried that ends in code, not in a graph: `floats` and `loops`."""
        return True
