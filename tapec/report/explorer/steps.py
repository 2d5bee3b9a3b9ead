"""Follow one compilation for the page: the graph after each step, what fired in it and where, and the code at the end.

    forward -> gradient -> passes of the graph -> passes of the target -> code

The steps run once more for the page, on the same graph, with an observer (`tapec.report.explorer.provenance`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from tapec.codegen import Compiled
from tapec.codegen.numpy.pipeline import PIPELINE as NUMPY_PIPELINE
from tapec.codegen.target import target_of
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CT, Graph, Node
from tapec.ir.bare_graph import all_nodes
from tapec.ir.dead_code import with_inputs_read
from tapec.report import tuning
from tapec.report.explorer.provenance import (
    CodeOrigins,
    Lines,
    lines_after,
    lines_in_gradient,
    lines_of_node,
    lines_of_origin,
    with_merged_origins,
)
from tapec.report.pass_stages import Stage, stages
from tapec.runtime.compile import CompiledGraph, code_of

__all__ = ["Fired", "Followed", "Step", "follow", "lines_of_code"]


class Fired(NamedTuple):
    """Counts how often a rewrite rule fired in a step, in all and by the user's line."""

    rule: str
    times: int
    lines: dict[str, int]


@dataclass
class Step:
    """Holds the graph after one step; `lines` has the user's lines that nodes stand for besides their own."""

    name: str
    does: str
    graph: Graph
    lines: Lines = field(default_factory=dict)
    seconds: float = 0.0
    fired: list[Fired] = field(default_factory=list)
    changed: bool = True
    target: str = ""  # whose pass it is, where it is none of the graph
    is_shown: bool = True

    def __post_init__(self) -> None:
        self.is_shown = self.changed

    def lines_of(self, node: Node) -> tuple[str, ...]:
        """Return the user's lines that went into a node, as the page calls them."""
        return lines_of_node(node, self.lines)


class Followed(NamedTuple):
    """Holds all steps of a compilation, and the code; `lines` are the user's lines by the line of the code."""

    label: str
    steps: list[Step]
    code: Compiled
    lines: dict[int, tuple[str, ...]]
    compiled: CompiledGraph


DOES = {
    "forward": "Your function as a graph: each box is one NumPy operation, and arrows carry values downwards.",
    "gradient": "The derivatives are added, in orange: read them upwards, from the result back to the arguments.",
    "transformed": "The graph that the passes begin with: there are no derivatives in it.",
    "floats": "Compute with Python's floats instead of arrays, number by number: there are only a few.",
}


def follow(label: str, forward: Graph, compiled: CompiledGraph, target: str | None = None) -> Followed:
    """Run the steps of a compilation again, and keep what each of them did; another `target` may write the code."""
    steps = list(graph_steps(forward, compiled.graph))
    last = steps[-1]
    lean = with_merged_origins(last.graph, last.lines)
    options = compiled.options
    lean = lean if options.all_inputs else with_inputs_read(lean)
    passes = NUMPY_PIPELINE if target is None else target_of(target).passes or NUMPY_PIPELINE
    watch = CodeSteps({"floats": DOES["floats"], **{p.name: p.does for p in passes}}, target or "numpy")
    code = code_of(lean, options._replace(target=target), watch)
    steps += watch.finished()
    return Followed(label, steps, code, lines_of_code(code, last), compiled)


def graph_steps(forward: Graph, gradient: Graph) -> Iterator[Step]:
    """Yield the recorded graph, its gradient, and the graph after each pass."""
    known: Lines = lines_in_gradient(forward, gradient) if forward is not gradient else {}
    graph = None
    for stage in stages(forward, gradient):
        if stage.name == "forward":
            yield Step("forward", DOES["forward"], stage.graph)
            continue
        if graph is not None and stage.graph is not graph:
            known = {**known, **lines_after(graph, stage.graph, known, stage.rewrites)}
        graph = stage.graph
        is_plain = stage.name == "gradient" and not any([n.role == CT for n in all_nodes(graph.nodes)])
        does = DOES.get("transformed" if is_plain else stage.name, stage.does)
        yield Step(stage.name, does, graph, known, stage.seconds, fired_in(stage, known), stage.changed)


def fired_in(stage: Stage, known: Lines) -> list[Fired]:
    """Return which rules fired in a pass, and at which lines."""
    places: dict[str, Counter[str]] = {}
    for rewrite in stage.rewrites:
        found = places.setdefault(rewrite.rule, Counter())
        found.update(lines_of_origin(rewrite.before.origin)[:1])
    return [Fired(rule, n, dict(places.get(rule, ()))) for rule, n in stage.fired.items()]


class CodeSteps(CodeOrigins):
    """Notes the passes of the target while they run; those that other code asks for later are left out."""

    def __init__(self, does: Mapping[str, str], target: str):
        self.steps: list[Step] = []
        self.does, self.target = does, target
        self.is_over = False

    def step(self, name: str, run: Callable[[Graph], Graph], graph: Graph) -> Graph:
        start = perf_counter()
        after = super().step(name, run, graph)
        if not self.is_over:
            changed = after is not graph and shape_of(after) != shape_of(graph)
            seconds = perf_counter() - start
            step = Step(name, self.does.get(name, ""), after, {}, seconds, changed=changed, target=self.target)
            step.is_shown = changed and not grows_out_of_sight(graph, after)
            self.steps.append(step)
        return after

    def finished(self) -> list[Step]:
        self.is_over = True
        return self.steps


def grows_out_of_sight(before: Graph, after: Graph) -> bool:
    """Return whether a graph was taken apart, element by element, into more than anybody can look at."""
    return len(after.nodes) > max(2 * len(before.nodes), tuning.PAGE_PICTURE_MAX_NODES)


def shape_of(graph: Graph) -> Counter[Any]:
    """Count the operations of a graph: a pass that only orders them has changed nothing that a picture shows."""
    return Counter([(n.op, repr(n.type), len(n.inputs)) for n in graph.nodes])


def lines_of_code(code: Compiled, last: Step) -> dict[int, tuple[str, ...]]:
    """Return the user's lines that went into each generated line."""
    found: dict[int, tuple[str, ...]] = {}
    text = code.source.splitlines()
    unchanged = [line for o in last.graph.outputs if not o.inputs for line in last.lines_of(o)]
    for k, origins in code.all_origins():
        lines = dict.fromkeys([line for origin in origins for line in lines_of_origin(origin)])
        if not lines and text[k - 1].lstrip().startswith("return "):
            lines = dict.fromkeys(unchanged)  # no operation computes it
        found[k] = tuple(lines)
    heirs = heirs_of_lines(last, {line for lines in found.values() for line in lines})
    return {
        k: (*lines, *[line for line, theirs in heirs.items() if not theirs.isdisjoint(lines)])
        for k, lines in found.items()
    }


def heirs_of_lines(last: Step, lit: set[str]) -> dict[str, set[str]]:
    """Return lines that no generated line has, each with the lines of what reads their values.

    Code on floats does not compute `x[i]`, but unpacks x: what reads the element does the work of that line.
    """
    heirs: dict[str, set[str]] = {}
    read_by: dict[Node, set[str]] = {}
    for node in reversed(last.graph.nodes):
        lines = last.lines_of(node)
        passed = {lines[0]} if lines and lines[0] in lit else read_by.get(node, set())
        for line in lines:
            if line not in lit:
                heirs.setdefault(line, set()).update(passed)
        for i in node.inputs:
            read_by.setdefault(i, set()).update(passed)
    return heirs
