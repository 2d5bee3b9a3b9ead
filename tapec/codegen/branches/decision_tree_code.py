"""Write decision trees as plain `if` statements, flat however long a chain of guards is.

A tree is cut into segments, stretches of code without a choice. Nothing is computed above a test that only some of
what may come after it needs: it might warn, or raise, where the user's own code does not get there. So each segment
has its own copy of what several paths compute after a test, unless all that can follow is known and needs it.

Of the cases at the end of a segment all but the largest become an `if` that returns, and the largest goes on below:
nesting is never deeper than the logarithm of the number of paths.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tapec.codegen.common.block_items import UNKNOWN, Fork, Results
from tapec.codegen.schedule.inlining import Plan, is_view
from tapec.ir import CONSTANT, INPUT, ITEM, Graph, Node, is_literal, prune
from tapec.ir.decision_tree import Branch, Leaf, Tree

__all__ = [
    "Segment",
    "given_first",
    "items_of",
    "leaves_of",
    "parted",
    "places_of",
    "results_of",
    "segments_of",
    "tests_of",
]

Guard = tuple[Node, Any]


class Segment:
    """A segment is a stretch of code that ends in a leaf, or in a test with a segment for each value that is known.

    `read` is what the end reads: the values that the leaf gives, or the test. `number` is the segment's place among
    all, `last` that of the last segment that comes after it on some path.
    """

    __slots__ = ("cases", "last", "nodes", "number", "parent", "read", "test")

    def __init__(self, parent: Segment | None, number: int):
        self.parent = parent
        self.number = self.last = number
        self.nodes: list[Node] = []
        self.read: tuple[Node, ...] = ()
        self.test: Node | None = None
        self.cases: list[tuple[Any, Segment]] = []

    @property
    def complete(self) -> bool:
        """Return whether the cases cover all values."""
        return {v for v, _ in self.cases if type(v) is bool} == {True, False}


def segments_of(tree: Tree, outputs: Sequence[Node], tests: Sequence[Node] | None = None) -> list[Segment]:
    """Return the segments, each before those that follow it on some path; of a test's cases the largest comes last.

    No path asks for what is known on it already. `outputs` are the values that leaves give; `tests` those that branches
    look at, where they are others.
    """
    tests = outputs if tests is None else tests
    size = _sizes(tree)
    made: list[Segment] = []
    stack: list[tuple[Any, Segment | None, Any, dict[Any, Any]]] = [(tree, None, None, {})]
    while stack:
        t, parent, value, asked = stack.pop()  # `asked`: the tests passed so far, by node and by bool or int
        segment = Segment(parent, len(made))
        made.append(segment)
        if parent is not None:
            parent.cases.append((value, segment))
        while type(t) is Branch:
            test = tests[t.output]
            known = asked.get((test, type(t.cases[0][0])))
            again = [c for v, c in t.cases if type(v) is type(known) and v == known]
            if not again:
                break
            t = again[0]
        if type(t) is Leaf:
            segment.read = tuple([outputs[k] for k in t.outputs])
            continue
        segment.test, segment.read = test, (test,)
        for value, case in sorted(t.cases, key=lambda c: -size[id(c[1])]):  # the stack takes the largest last
            now = asked if len(t.cases) == 1 else dict(asked)
            now[test, type(value)] = value
            stack.append((case, segment, value, now))
    for s in reversed(made):
        if s.parent is not None:
            s.parent.last = max(s.parent.last, s.last)
    return made


def given_first(graph: Graph, tree: Tree) -> tuple[list[Guard], Graph, Tree | None]:
    """Take the guards of inputs that hold on all paths out of a tree; return them, and the rest of program and tree.

    Other guards that all paths share are left out where those of inputs imply them: `range(n)` implies what `np.zeros(n
    + 1)` asks. If one path is left, it needs no tree, and so may have loops: how often they run is mostly such an
    input.
    """
    first: dict[Any, Guard] = {}
    others: list[tuple[int, Any]] = []
    while type(tree) is Branch and len(tree.cases) == 1:
        value, case = tree.cases[0]
        test = graph.outputs[tree.output]
        if test.op is INPUT and test.type.dtype.kind in "biu":
            first[test, type(value)] = test, value
        else:
            others.append((tree.output, value))
        tree = case
    if others and first:
        tests = [graph.outputs[k] for k, _ in others]
        known = implied(Graph(graph.inputs, graph.nodes, tests), list(first.values()))
        others = [(k, value) for k, value in others if known.get(graph.outputs[k]) != value]
    if type(tree) is Leaf and not others:
        outputs = [graph.outputs[k] for k in tree.outputs]
        return list(first.values()), Graph(graph.inputs, graph.nodes, outputs, graph.name), None
    for output, value in reversed(others):
        tree = Branch(output, ((value, tree),))
    return list(first.values()), graph, tree


def implied(graph: Graph, guards: Sequence[Guard]) -> dict[Node, Any]:
    """Return the values that follow from these guards: those computed only from Python's whole numbers."""
    known = {i: value for i, value in guards if i.type.weak and type(value) is int}
    with np.errstate(all="ignore"):
        for node in prune(graph).nodes:
            if is_literal(node):
                known[node] = node.value
            elif node.op.kind == "elementwise" and all([i in known for i in node.inputs]):
                known[node] = node.op.run(*[known[i] for i in node.inputs], **dict(node.params))
    return known


def parted(graph: Graph, tree: Tree, tests: Sequence[Node] | None = None) -> tuple[Graph, Tree]:
    """Return the program and its tree with nodes of its own for each segment, one segment after the other.

    Values that all paths after a test need are computed before the test.
    """
    segments = segments_of(tree, graph.outputs, tests)
    needed: dict[Node, list[int]] = {}
    for s in segments:
        for node in s.read:
            needed.setdefault(node, []).append(s.number)
    for node in reversed(graph.nodes):
        if node in needed:
            together = not is_view(node)  # a view costs nothing, and is best read where it is made
            needed[node] = places = [0] if node.op is CONSTANT else _places(needed[node], segments, together)
            for i in node.inputs:
                needed.setdefault(i, []).extend(places)
    for node in graph.nodes:
        if node.op is ITEM and node in needed:
            needed[node] = needed[node.inputs[0]]  # results are there where their operation is computed
    made: dict[Node, list[Node]] = {}

    def seen(node: Node, place: int) -> Node:
        return made[node][bisect_right(needed[node], place) - 1] if node in made else node

    own: list[list[Node]] = [[] for _ in segments]
    for node in graph.nodes:
        for place in needed.get(node, ()):
            inputs = tuple([seen(i, place) for i in node.inputs])
            copy = node if node not in made and inputs == node.inputs else node.with_inputs(inputs)
            made.setdefault(node, []).append(copy)
            own[place].append(copy)
    outputs: list[Node] = []
    trees: dict[Segment, Tree] = {}
    for s in reversed(segments):
        first = len(outputs)
        outputs += [seen(node, s.number) for node in s.read]
        if s.test is None:
            trees[s] = Leaf(tuple(range(first, len(outputs))))
        else:
            trees[s] = Branch(first, tuple([(v, trees[case]) for v, case in s.cases]))
    return Graph(graph.inputs, [n for nodes in own for n in nodes], outputs, graph.name), trees[segments[0]]


def _places(needed: Iterable[int], segments: list[Segment], together: bool) -> list[int]:
    """Return the numbers of the segments that compute a value for the `needed` ones; none of them comes after another.

    `together` says that a value which all paths after a test need is computed before the test.
    """
    found: list[Segment] = []
    for k in sorted(set(needed)):
        if found and k <= found[-1].last:
            continue  # computed already on the way there
        found.append(s := segments[k])
        while together and len(found) > 1 and (p := s.parent) is not None and found[-2].parent is p and p.complete:
            found[-2:] = [s := p]
    return [s.number for s in found]


def _sizes(tree: Tree) -> dict[int, int]:
    """Count the leaves of each subtree."""
    size: dict[int, int] = {}
    for t in reversed(_parts(tree)):
        size[id(t)] = sum(size[id(case)] for _, case in t.cases) if type(t) is Branch else 1
    return size


def leaves_of(tree: Tree) -> tuple[int, ...]:
    """Return the outputs that leaves give, each once."""
    return tuple(sorted({k for t in _parts(tree) if type(t) is Leaf for k in t.outputs}))


def tests_of(tree: Tree) -> set[int]:
    """Return the outputs that branches look at."""
    return {t.output for t in _parts(tree) if type(t) is Branch}


def _parts(tree: Tree) -> list[Any]:
    """Return all leaves and branches."""
    found: list[Any] = [tree]
    for t in found:
        if type(t) is Branch:
            found.extend(case for _, case in t.cases)
    return found


def results_of(segments: list[Segment]) -> list[Node]:
    """Return all values that leaves and tests read, each as often as the code will read it."""
    read: list[Node] = []
    for s in segments:
        read.extend(s.read * (1 if s.test is None else len(s.cases) - s.complete))
    return read


def items_of(graph: Graph, plan: Plan, segments: list[Segment]) -> list[Any]:
    """Return the items of the whole function for `Lowering.block`."""
    place = placement(graph, segments)
    for s in segments:
        if s.test is not None:
            plan.nest_test(s.test)
    results = {s: Results(s.read, plan.nest_results(s.read)) for s in segments if s.test is None}
    for node in plan.nodes:
        place[node].nodes.append(node)
    return _items(segments[0], plan, results)


def places_of(graph: Graph, tree: Tree) -> dict[Node, int]:
    """Return the number of the segment in which each value is computed."""
    found = placement(graph, segments_of(tree, graph.outputs))
    return {**dict.fromkeys(graph.nodes, 0), **{n: s.number for n, s in found.items()}}


def placement(graph: Graph, segments: list[Segment]) -> dict[Node, Segment]:
    """Return the segment in which each value is computed, for a program that `parted` has made."""
    place: dict[Node, Segment] = {}

    def need(node: Node, segment: Segment) -> None:
        known = place.get(node)
        place[node] = segment if known is None else _common(known, segment)

    for s in segments:
        for node in s.read:
            need(node, s)
    for node in reversed(graph.nodes):
        segment = place.get(node)
        if segment is not None:
            for i in node.inputs:
                need(i, segment)
    return place


def _common(a: Segment, b: Segment) -> Segment:
    """Return the last segment before both, or one of them."""
    if a.number > b.number:
        a, b = b, a
    while a.last < b.number:
        assert a.parent is not None
        a = a.parent
    return a


def _items(segment: Segment, plan: Plan, results: dict[Segment, Results]) -> list[Any]:
    """Return the items of a segment and of all that follow: each case but the last, the largest, becomes a fork."""
    items: list[Any] = []
    while True:
        items += [n for n in segment.nodes if n not in plan.nested and n.op is not CONSTANT and n.op is not ITEM]
        test = segment.test
        if test is None:
            items.append(results[segment])
            return items
        for value, child in segment.cases[:-1]:
            items.append(_fork(test, value, False, _items(child, plan, results), plan))
        value, rest = segment.cases[-1]
        if not segment.complete:
            items.append(_fork(test, value, True, [UNKNOWN], plan))
        segment = rest


def _fork(test: Node, value: Any, negated: bool, inner: list[Any], plan: Plan) -> Fork:
    """Make a fork with all values that it reads from outside of itself."""
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
