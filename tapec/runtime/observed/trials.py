"""Do one step of a compilation to any graph, and tell what is wrong with the result.

`tapec bisect` makes a graph smaller for as long as something is wrong.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tapec.codegen.numpy import pipeline as target
from tapec.config import settings
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Graph
from tapec.ir.checks.step_observer import StepObserver
from tapec.passes.pass_report import Report
from tapec.passes.pipeline import run_passes
from tapec.runtime.observed.value_checks import changed_by_code, changed_by_pass

if TYPE_CHECKING:
    from tapec.runtime.compile import CompiledGraph

__all__ = ["CodeTrial", "OnlySteps", "PassTrial", "Step", "failure", "is_targets"]


class Step(NamedTuple):
    """Says which step is wrong: a pass or a part of code generation, a graph and values that show it, and how."""

    what: str
    graph: Graph
    values: Sequence[Any]
    wrong: str
    trial: PassTrial | CodeTrial


def failure(error: Exception) -> str:
    """Say what a step raised, and where."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    file = "" if trace is None else os.path.basename(trace.tb_frame.f_code.co_filename)
    return f"fails: {type(error).__name__}: {error}" + (f" ({file}:{trace.tb_lineno})" if trace is not None else "")


def is_targets(name: str) -> bool:
    """Return whether this is the name of a pass of the target."""
    return any([p.name == name for p in target.PIPELINE])


class PassTrial:
    """Does one pass to a graph, one of the graph's or of the target's."""

    def __init__(self, name: str):
        self.name = name

    def run(self, graph: Graph, report: Report | None = None) -> Graph:
        with settings(verify=True):
            if is_targets(self.name):
                return target.run_passes(graph, [self.name])
            return run_passes(graph, [self.name], report)

    def wrong(self, graph: Graph, values: Sequence[Any]) -> str | None:
        """Return what is wrong with the graph after the pass; None if nothing."""
        try:
            after = self.run(graph)
        except Exception as error:  # whatever a pass that is broken raises
            return failure(error)
        return changed_by_pass(graph, after, values)

    def result(self, graph: Graph) -> str:
        """Return the text of the graph after the pass."""
        return str(self.run(graph))

    def rules(self, graph: Graph) -> list[str]:
        """Return the names of the rules that fire on a graph."""
        report = Report()
        with suppress(Exception):  # what bisect looks for may be a rule that fails
            self.run(graph, report)
        return [*report.hits]


class CodeTrial:
    """Generates code by some of the steps alone."""

    def __init__(self, steps: Collection[str], wanted: CompiledGraph):
        self.steps, self.wanted = steps, wanted

    def wrong(self, graph: Graph, values: Sequence[Any]) -> str | None:
        """Return what is wrong with the code; None if nothing."""
        try:
            code = self.wanted.emitted(OnlySteps(self.steps), graph)
        except Exception as error:  # whatever a step that is broken raises
            return failure(error)
        tree = self.wanted.options.tree if graph is self.wanted.optimized else None
        return changed_by_code(graph, tree, code, values)

    def result(self, graph: Graph) -> str:
        """Return the source."""
        return self.wanted.emitted(OnlySteps(self.steps), graph).source


class OnlySteps(StepObserver):
    """Runs some steps of code generation alone."""

    def __init__(self, steps: Collection[str]):
        self.steps = steps

    def step(self, name: str, run: Callable[[Graph], Graph], graph: Graph) -> Graph:
        return run(graph) if name in self.steps else graph
