"""A `Pass` is an entry of a pipeline; `run_all` runs one after the other, those of the graph and those of a target."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any

from tapec.config import settings
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Graph, verify
from tapec.ir.checks.step_observer import StepObserver
from tapec.passes.engine.rewrite import Rewrite, RuleSet
from tapec.passes.pass_report import PassReport, Report
from tapec.progress import at

__all__ = ["Pass", "in_force", "named", "run_all", "run_pass"]


class Pass(NamedTuple):
    """A pass stands in a pipeline by its name; `run` takes a graph, and gives the same one or another.

    `is_needed` says that results are wrong, or not finite, without it: it runs with `settings.optimize=False`, too.
    """

    name: str
    run: Callable[..., Graph]
    is_needed: bool = False

    @property
    def does(self) -> str:
        """The first line of what the pass says of itself."""
        return (self.run.__doc__ or "").strip().split("\n")[0]


UNCHECKED = "kernel"  # the kind of an op of one function alone, in no table


def in_force(passes: Iterable[Pass]) -> list[Pass]:
    """Return those of the passes that run as `settings.optimize` is."""
    return [p for p in passes if settings.optimize or p.is_needed]


def named(passes: Iterable[Pass], names: Iterable[str]) -> list[Pass]:
    """Return the passes of these names, in this order; raise KeyError for a name that is no pass."""
    known = {p.name: p for p in passes}
    return [known[name] for name in names]


def run_all(
    passes: Iterable[Pass],
    graph: Graph,
    report: Report | None = None,
    observer: StepObserver | None = None,
    about: tuple[Any, ...] = (),
    changing: list[Pass] | None = None,
) -> Graph:
    """Run passes one after the other on a copy of the graph that nobody else holds.

    The numbering of its values goes along from pass to pass, and is dropped in the end. `report` is told what the
    passes did, `observer` runs each of them, and `about` is what they are told besides the graph. Those that change the
    graph are added to `changing`.
    """
    start = lean = Graph(graph.inputs, graph.nodes, graph.outputs, graph.name)  # passes put their numbering on it
    start.past = graph.past
    passes = list(passes)
    for k, one in enumerate(passes):
        at("pass", len(lean.nodes), one.name, k, len(passes))
        made = run_pass(one, lean, report, observer, about)
        if made is not lean and changing is not None:
            changing.append(one)
        lean = made
        lean.past = graph.past
    lean._numbering = lean._heads = lean._uses = lean.past = None
    return graph if lean is start else lean


def run_pass(
    one: Pass,
    graph: Graph,
    report: Report | None = None,
    observer: StepObserver | None = None,
    about: tuple[Any, ...] = (),
) -> Graph:
    """Run a pass, report it, and verify the graph if `settings.verify` asks for that."""
    if observer is not None:
        return observer.step(one.name, lambda before: run_pass(one, before, report, None, about), graph)
    new = one.run(graph, *about) if report is None else reported(one, graph, report, about)
    if settings.verify and new is not graph and not any([n.op.kind == UNCHECKED for n in new.nodes]):
        verify(new)
    return new


def reported(one: Pass, graph: Graph, report: Report, about: tuple[Any, ...]) -> Graph:
    """Run a pass, and enter what it did in the report."""
    entry = PassReport(one.name, len(graph.nodes))

    def note(rewrite: Rewrite) -> None:
        entry.hits[rewrite.rule] += 1
        if report.keep:
            entry.rewrites.append(rewrite)

    start = perf_counter()
    new = one.run(graph, note) if isinstance(one.run, RuleSet) else one.run(graph, *about)
    entry.seconds = perf_counter() - start
    entry.after = len(new.nodes)
    report.passes.append(entry)
    return new
