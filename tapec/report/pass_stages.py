"""Follow a graph through the passes, one stage a pass: what it was, what it became, what changed."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter

from tapec.codegen.numpy import pipeline as of_numpy
from tapec.ir import Graph
from tapec.ir.checks.step_observer import StepObserver
from tapec.ir.text.stable_numbers import StableNumbers
from tapec.passes.engine.rewrite import Rewrite
from tapec.passes.listed_pass import Pass, in_force, run_pass
from tapec.passes.pass_report import Report
from tapec.passes.pipeline import PIPELINE, spelled
from tapec.passes.whole_graph.written_order import in_written_order
from tapec.report.graph_cost import Cost, cost_of
from tapec.runtime.compile import CompiledGraph

__all__ = ["Stage", "graph_diff", "stages", "target_stages"]


@dataclass
class Stage:
    """Holds the graph after one step, how long the step took, and which rules fired, how often and where."""

    name: str
    graph: Graph
    seconds: float = 0.0
    fired: dict[str, int] = field(default_factory=dict)
    changed: bool = True
    rewrites: list[Rewrite] = field(default_factory=list)
    does: str = ""

    @property
    def cost(self) -> Cost:
        return cost_of(self.graph)


def stages(forward: Graph, gradient: Graph) -> Iterator[Stage]:
    """The program, its gradient as differentiation left it, and then the gradient after each pass."""
    if forward is not gradient:
        yield Stage("forward", forward)
    yield Stage("gradient", gradient)
    graph = Graph(gradient.inputs, gradient.nodes, gradient.outputs, gradient.name)  # passes put their numbering on it
    graph.past = gradient.past
    changing: list[Pass] = []
    for one in in_force(PIPELINE):
        report = Report(keep=True)
        before = spelled(graph, gradient, changing) if one.run is in_written_order else graph
        after = run_pass(one, before, report)
        if after is not graph:
            changing.append(one)
        after.past = gradient.past
        done = report.passes[-1]
        changed = after is not graph and after != graph
        yield Stage(one.name, after, done.seconds, dict(done.hits), changed, done.rewrites, one.does)
        graph = after


def target_stages(compiled: CompiledGraph) -> list[Stage]:
    """Return the optimised graph after each pass of the target."""
    watch = _Stages()
    compiled.emitted(watch)
    return watch.found


class _Stages(StepObserver):
    """Notes the graph after each pass of the target."""

    def __init__(self) -> None:
        self.found: list[Stage] = []

    def step(self, name: str, run: Callable[[Graph], Graph], graph: Graph) -> Graph:
        start = perf_counter()
        after = run(graph)
        seconds = perf_counter() - start
        changed, does = after is not graph and after != graph, DOES.get(name, "")
        self.found.append(Stage(name, after, seconds, changed=changed, does=does))
        return after


DOES = {p.name: p.does for p in of_numpy.PIPELINE} | {"floats": "Compute with Python's numbers, element by element."}


def graph_diff(before: Graph, after: Graph, context: int = 1) -> str:
    """Show what a pass did, as a diff of the two texts, in which a value that both compute has one number."""
    numbers = StableNumbers()
    old, new = numbers.text(before).splitlines(), numbers.text(after).splitlines()
    return "\n".join(list(difflib.unified_diff(old, new, n=context, lineterm=""))[2:])
