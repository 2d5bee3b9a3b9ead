"""Tests as operations: one path through a decision tree is a program that asks on its way, and so may have loops across
its tests.

Where a question has the other answer, either nobody knows the path, and it leaves; or another course begins there. What
comes after a question is not computed before it: it might warn, or raise, where the user's own code does not get there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tapec.codegen.branches import Segment, placement, tests_of
from tapec.codegen.items import ASK
from tapec.codegen.plan import is_view
from tapec.codegen.schedule import as_needed, put_off
from tapec.ir import CONSTANT, ITEM, Graph, Node
from tapec.ir.tree import Tree
from tapec.ir.types import weak_type
from tapec.tuples import NamedTuple

__all__ = ["FEWEST", "Course", "Questions", "alone", "course_of", "may_repeat", "question", "questions_in", "waits"]

FEWEST = 4  # steps of a loop
Ordered = Callable[[Sequence[Node]], Sequence[Node]]


class Course(NamedTuple):
    """One path through a decision tree as a program that asks, and the courses that are known to begin where a question
    has the other answer. `reads` is what it needs of the course that it branches off from."""

    graph: Graph
    ends: dict[Node, Course]
    reads: tuple[Node, ...]


def alone(graph: Graph) -> Course:
    """A program without tests."""
    return Course(graph, {}, ())


def may_repeat(tree: Tree) -> bool:
    """Are there as many tests as a loop has that asks in each of its steps?"""
    return len(tests_of(tree)) >= FEWEST


def course_of(graph: Graph, segments: Sequence[Segment], ordered: Ordered = list) -> Course | None:
    """The longest path of a program that is parted already; None where a test has more answers than two. Within a
    segment operations are `ordered`."""
    if any([s.test is not None and len(s.cases) > 1 and not s.complete for s in segments]):
        return None
    place = placement(graph, list(segments))
    own: dict[Segment, list[Node]] = {s: [] for s in segments}
    for node in graph.nodes:
        if node in place:
            own[place[node.inputs[0] if node.op is ITEM else node]].append(node)
    if sum([s.test is None for s in segments]) > 1:
        own.update({s: as_needed(own[s], s.read) for s in segments if s.test is None})
    return _course(graph, segments[0], {s: ordered(nodes) for s, nodes in own.items()})


def _course(graph: Graph, segment: Segment, own: Mapping[Segment, Sequence[Node]]) -> Course:
    """The course that begins there, and goes on where most of the program is."""
    nodes: list[Node] = []
    ends: dict[Node, Course] = {}
    while True:
        nodes += own[segment]
        if segment.test is None:
            break
        *others, (value, ahead) = sorted(segment.cases, key=lambda case: case[1].last - case[1].number)
        nodes.append(question(segment.test, value))
        for _, other in others:
            ends[nodes[-1]] = _course(graph, other, own)
        segment = ahead
    inside = set(nodes)
    again: list[Node] = []  # views of what came before, and constants: each course has its own
    reads: dict[Node, None] = {}
    waiting = [*segment.read, *[r for end in ends.values() for r in end.reads], *[i for n in nodes for i in n.inputs]]
    while waiting:
        i = waiting.pop()
        if i in inside:
            continue
        if i.op is CONSTANT or is_view(i):
            inside.add(i)
            again.append(i)
            waiting += i.inputs
        else:
            reads[i] = None
    found = set(again)
    nodes = put_off([*[n for n in graph.nodes if n in found], *nodes], {n for n in again if n.op is not CONSTANT})
    inputs = dict.fromkeys([*graph.inputs, *reads])
    return Course(Graph(list(inputs), nodes, segment.read, graph.name), ends, tuple(reads))


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
