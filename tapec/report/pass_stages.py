"""Follow a graph through the passes, one stage a pass: what it was, what it became, what changed."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tapec.ir import CONSTANT, Graph, Node, is_literal
from tapec.passes.pass_report import Report
from tapec.passes.pipeline import PIPELINE, run_pass
from tapec.report.graph_cost import Cost, cost_of

__all__ = ["Stage", "graph_diff", "stages"]


@dataclass
class Stage:
    """Holds the graph after one step, how long the step took, and which rules fired how often."""

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
    if forward is not gradient:
        yield Stage("forward", forward)
    yield Stage("gradient", gradient)
    graph = gradient
    for name, run in PIPELINE:
        report = Report()
        after = run_pass(name, run, graph, report)
        seconds, fired = report.passes[-1].seconds, dict(report.passes[-1].hits)
        yield Stage(name, after, seconds, fired, after is not graph and after != graph)
        graph = after


def graph_diff(before: Graph, after: Graph, context: int = 1) -> str:
    """Show what a pass did, as a diff of the two texts, in which a value that both compute has one number."""
    old, new = str(before).splitlines(), _renumbered(before, after).splitlines()
    return "\n".join(list(difflib.unified_diff(old, new, n=context, lineterm=""))[2:])


def _renumbered(before: Graph, after: Graph) -> str:
    """The text of a graph; nodes without a name that the other graph has too are numbered as they are there."""
    known: dict[Any, int] = {}
    numbers = {key: k for k, key in _unnamed(before, known)}
    fresh = itertools.count(len(numbers))
    table = {k: numbers[key] if key in numbers else next(fresh) for k, key in _unnamed(after, known)}
    text = str(after)
    start = text.rfind("\ngraph") + 1  # graphs that are called stand before it, with numbers of their own
    return text[:start] + re.sub(r"%(\d+)\b", lambda m: f"%{table[int(m.group(1))]}", text[start:])


def _unnamed(graph: Graph, known: dict[Any, int]) -> Iterator[tuple[int, int]]:
    """Yield (number in the text, number of the value) of nodes without a name. Equal values have equal numbers by
    `known`."""
    value: dict[Node, int] = {}
    for position, node in enumerate(graph.inputs):
        value[node] = known.setdefault(("input", position), len(known))
    in_text = 0
    for node in graph.nodes:
        what = repr(node.value) if node.op is CONSTANT else repr(node.params)
        key = (node.op.name, what, str(node.type), *[value[i] for i in node.inputs])
        value[node] = known.setdefault(key, len(known))
        if not is_literal(node) and node.name is None:
            yield in_text, value[node]
            in_text += 1
