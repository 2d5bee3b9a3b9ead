"""Decision trees as code: plain `if`s, flat however long a chain of guards is.

A tree is cut into segments, stretches of code without a choice. A value is computed in the last segment from which
all that need it can be reached, so no path computes what only another one needs. Of the cases at the end of a segment
all but the largest become an `if` that returns, and the largest goes on below: nesting is never deeper than the
logarithm of the number of paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapec.codegen.items import UNKNOWN, Fork, Results
from tapec.codegen.plan import Plan
from tapec.ir import CONSTANT, ITEM, Graph, Node
from tapec.ir.tree import Branch, Leaf, Tree

__all__ = ["Segment", "items_of", "leaves_of", "places_of", "results_of", "segments_of", "tests_of"]


class Segment:
    """A stretch of code: guards that must hold, and at its end a leaf, or a test with a segment for each value."""

    __slots__ = ("asked", "cases", "depth", "guards", "leaf", "nodes", "parent", "test")

    def __init__(self, parent: Segment | None):
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.guards: list[tuple[Node, Any]] = []
        self.asked: dict[tuple[Node, type], Any] = {}  # what is known here: of truth and of whole numbers
        self.nodes: list[Node] = []
        self.leaf: tuple[Node, ...] | None = None
        self.test: Node | None = None
        self.cases: list[tuple[Any, Segment]] = []

    def answer(self, test: Node, kind: type) -> Any:
        """What a test is known to be here; None when it has not been asked."""
        segment: Segment | None = self
        while segment is not None:
            if (test, kind) in segment.asked:
                return segment.asked[test, kind]
            segment = segment.parent
        return None


def segments_of(tree: Tree, outputs: Sequence[Node], tests: Sequence[Node]) -> list[Segment]:
    """The segments, every parent before its children; of the cases of a test the largest comes last.

    No path asks for what is known on it already. `outputs` are what leaves give, `tests` what branches look at.
    """
    size = _sizes(tree)
    made = [Segment(None)]
    stack: list[tuple[Any, Segment]] = [(tree, made[0])]
    while stack:
        t, segment = stack.pop()
        while type(t) is Branch:
            test, (value, case) = tests[t.output], t.cases[0]
            known = segment.answer(test, type(value))
            again = [c for v, c in t.cases if type(v) is type(known) and v == known]
            if again:
                t = again[0]
            elif len(t.cases) == 1:
                segment.guards.append((test, value))
                segment.asked[test, type(value)] = value
                t = case
            else:
                break
        if type(t) is Leaf:
            segment.leaf = tuple([outputs[k] for k in t.outputs])
            continue
        segment.test = tests[t.output]
        for value, case in sorted(t.cases, key=lambda c: size[id(c[1])]):
            child = Segment(segment)
            child.asked[segment.test, type(value)] = value
            segment.cases.append((value, child))
            made.append(child)
            stack.append((case, child))
    return made


def _sizes(tree: Tree) -> dict[int, int]:
    """How many leaves each subtree has."""
    size: dict[int, int] = {}
    for t in reversed(_parts(tree)):
        size[id(t)] = sum(size[id(case)] for _, case in t.cases) if type(t) is Branch else 1
    return size


def leaves_of(tree: Tree) -> tuple[int, ...]:
    """The outputs that leaves give, each once."""
    return tuple(sorted({k for t in _parts(tree) if type(t) is Leaf for k in t.outputs}))


def tests_of(tree: Tree) -> set[int]:
    """The outputs that branches look at."""
    return {t.output for t in _parts(tree) if type(t) is Branch}


def _parts(tree: Tree) -> list[Any]:
    """All leaves and branches."""
    found: list[Any] = [tree]
    for t in found:
        if type(t) is Branch:
            found.extend(case for _, case in t.cases)
    return found


def results_of(segments: list[Segment]) -> list[Node]:
    """Everything that leaves and tests read, as often as the code will read it."""
    read: list[Node] = []
    for s in segments:
        read.extend(test for test, _ in s.guards)
        read.extend(s.leaf or ())
        if s.test is not None:
            read.extend([s.test] * _times_read(s))
    return read


def _times_read(s: Segment) -> int:
    return len(s.cases) - 1 + (not _complete(s))


def _complete(s: Segment) -> bool:
    """Do the cases cover all values?"""
    return {v for v, _ in s.cases if type(v) is bool} == {True, False}


def items_of(graph: Graph, plan: Plan, segments: list[Segment]) -> list[Any]:
    """The items of the whole function for `Lowering.block`."""
    place = _placement(graph, segments)
    for s in segments:
        for test in [t for t, _ in s.guards] + ([s.test] if s.test is not None else []):
            plan.nest_test(test)
    results = {s: Results(s.leaf, plan.nest_results(s.leaf)) for s in segments if s.leaf is not None}
    for node in plan.nodes:
        place[node].nodes.append(node)
    return _items(segments[0], plan, results)


def places_of(graph: Graph, tree: Tree | None) -> dict[Node, int]:
    """The number of the segment in which each value is computed; 0 for all where there is no tree."""
    place = dict.fromkeys(graph.nodes, 0)
    if tree is not None:
        segments = segments_of(tree, graph.outputs, graph.outputs)
        number = {s: k for k, s in enumerate(segments)}
        place.update((n, number[s]) for n, s in _placement(graph, segments).items())
    return place


def _placement(graph: Graph, segments: list[Segment]) -> dict[Node, Segment]:
    """The segment in which each value is computed."""
    place: dict[Node, Segment] = {}

    def need(node: Node, segment: Segment) -> None:
        known = place.get(node)
        place[node] = segment if known is None else _common(known, segment)

    for s in segments:
        for test, _ in s.guards:
            need(test, s)
        for node in s.leaf or ():
            need(node, s)
        if s.test is not None:
            need(s.test, s)
    for node in reversed(graph.nodes):
        segment = place.get(node)
        if segment is not None:
            for i in node.inputs:
                need(i, segment)
    return place


def _common(a: Segment, b: Segment) -> Segment:
    """The last segment before both."""
    while a is not b:
        if a.depth < b.depth:
            a, b = b, a
        assert a.parent is not None
        a = a.parent
    return a


def _items(segment: Segment, plan: Plan, results: dict[Segment, Results]) -> list[Any]:
    items: list[Any] = []
    while True:
        items.extend(_own_items(segment, plan))
        if segment.leaf is not None:
            items.append(results[segment])
            return items
        test = segment.test
        assert test is not None
        for value, child in segment.cases[:-1]:
            items.append(_fork(test, value, False, _items(child, plan, results), plan))
        value, rest = segment.cases[-1]
        if not _complete(segment):
            items.append(_fork(test, value, True, [UNKNOWN], plan))
        segment = rest


def _own_items(segment: Segment, plan: Plan) -> list[Any]:
    """The values of a segment in order, each guard as soon as what it tests is known."""
    asked: dict[Node | None, list[Fork]] = {}  # by the value that is waited for
    own = set(segment.nodes)
    for test, value in segment.guards:
        asked.setdefault(test if test in own else None, []).append(_fork(test, value, True, [UNKNOWN], plan))
    items: list[Any] = asked.get(None, [])
    for node in segment.nodes:
        if node not in plan.nested and node.op is not CONSTANT and node.op is not ITEM:
            items.append(node)
        items += asked.get(node, ())
    return items


def _fork(test: Node, value: Any, negated: bool, inner: list[Any], plan: Plan) -> Fork:
    """A fork with all that it reads from outside of itself."""
    read = dict.fromkeys(plan.leaves[test] if test in plan.nested else (test,))
    made: set[Node] = set()
    for item in inner:
        if type(item) is Node:
            read.update(dict.fromkeys(plan.leaves[item]))
            made.add(item)
            made.update(plan.parts.get(item, {}).values())
        else:
            read.update(dict.fromkeys(item.leaves))
    return Fork(test, value, negated, inner, tuple(n for n in read if n not in made))
