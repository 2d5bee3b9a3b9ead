"""Tests as operations: where one answer is known to each test of a path, the path is a program that asks on its way.

It leaves where an answer is another, and may have loops across its questions. What comes after a question is not
computed before it: it might warn, or raise, where the user's own code does not get there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tapec.codegen.branches import Segment, placement
from tapec.codegen.items import ASK
from tapec.codegen.plan import is_view
from tapec.ir import CONSTANT, Graph, Node
from tapec.ir.types import weak_type

__all__ = ["Questions", "asked", "question", "questions_in", "waits"]

Ordered = Callable[[Sequence[Node]], Sequence[Node]]


def asked(graph: Graph, segments: Sequence[Segment], ordered: Ordered = list) -> Graph | None:
    """The program of the only path, which is parted already, with a question at the end of each segment but the last;
    None where there are several paths. Within a segment operations are `ordered`."""
    *before, end = segments
    if not before or any([len(s.cases) > 1 for s in before]):
        return None
    place = placement(graph, list(segments))
    own: dict[Segment, list[Node]] = {s: [] for s in segments}
    for node in graph.nodes:
        if node in place:
            own[place[node]].append(node)
    nodes: list[Node] = []
    for s in segments:
        nodes += ordered(own[s])
        nodes += [question(s.test, value) for value, _ in s.cases if s.test is not None]
    return Graph(graph.inputs, nodes, end.read, graph.name)


def question(test: Node, value: Any) -> Node:
    """Leave where the test is not this value."""
    return Node(ASK, (test,), (("value", value), ("kind", type(value))), weak_type(bool), test.origin)


def questions_in(nodes: Iterable[Node]) -> list[Node]:
    return [n for n in nodes if n.op is ASK]


class Questions:
    """Where in a program something is asked."""

    def __init__(self, places: Iterable[int]):
        self.places = sorted(places)

    def __bool__(self) -> bool:
        return bool(self.places)

    def before(self, place: int) -> int:
        """How many questions come before this place."""
        return bisect_left(self.places, place)


def waits(node: Node) -> bool:
    """Must it stay behind a question that comes before it?"""
    return node.op is not CONSTANT and not is_view(node)
