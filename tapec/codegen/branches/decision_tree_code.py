"""Write decision trees as plain `if` statements, flat however long a chain of guards is.

A tree is cut into basic blocks, stretches of code without a choice. Nothing is computed above a test that only some of
what may come after it needs: it might warn, or raise, where the user's own code does not get there. So each block
has its own copy of what several paths compute after a test, unless all that can follow is known and needs it.

Of the cases at the end of a block all but the largest become an `if` that returns, and the largest goes on below:
nesting is never deeper than the logarithm of the number of paths.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tapec.codegen.common.block_items import UNKNOWN, Fork, Results
from tapec.codegen.schedule.inlining import Plan, is_view
from tapec.ir import CONSTANT, INPUT, ITEM, Graph, Node, compute, is_literal, prune
from tapec.ir.decision_tree import Branch, Leaf, Tree

__all__ = [
    "BasicBlock",
    "basic_blocks_of",
    "given_first",
    "items_of",
    "leaves_of",
    "parted",
    "places_of",
    "results_of",
    "tests_of",
]

InputValue = tuple[Node, Any]  # an input of integers or bools, and the value that all known paths have there


class BasicBlock:
    """A basic block is a stretch of code that ends in a leaf, or in a test with a block for each value that is known.

    `read` is what the end reads: the values that the leaf gives, or the test. `number` is the block's place among
    all, `last` that of the last block that comes after it on some path.
    """

    __slots__ = ("cases", "last", "nodes", "number", "parent", "read", "test")

    def __init__(self, parent: BasicBlock | None, number: int):
        self.parent = parent
        self.number = self.last = number
        self.nodes: list[Node] = []
        self.read: tuple[Node, ...] = ()
        self.test: Node | None = None
        self.cases: list[tuple[Any, BasicBlock]] = []

    @property
    def complete(self) -> bool:
        """Return whether the cases cover all values."""
        return {v for v, _ in self.cases if type(v) is bool} == {True, False}


def basic_blocks_of(tree: Tree, outputs: Sequence[Node], tests: Sequence[Node] | None = None) -> list[BasicBlock]:
    """Return the blocks, each before those that follow it on some path; of a test's cases the largest comes last.

    No path asks for what is known on it already. `outputs` are the values that leaves give; `tests` those that branches
    look at, where they are others.
    """
    tests = outputs if tests is None else tests
    size = _sizes(tree)
    made: list[BasicBlock] = []
    stack: list[tuple[Any, BasicBlock | None, Any, dict[Any, Any]]] = [(tree, None, None, {})]
    while stack:
        t, parent, value, asked = stack.pop()  # `asked`: the tests passed so far, by node and by bool or int
        block = BasicBlock(parent, len(made))
        made.append(block)
        if parent is not None:
            parent.cases.append((value, block))
        while type(t) is Branch:
            test = tests[t.output]
            known = asked.get((test, type(t.cases[0][0])))
            again = [c for v, c in t.cases if type(v) is type(known) and v == known]
            if not again:
                break
            t = again[0]
        if type(t) is Leaf:
            block.read = tuple([outputs[k] for k in t.outputs])
            continue
        block.test, block.read = test, (test,)
        for value, case in sorted(t.cases, key=lambda c: -size[id(c[1])]):  # the stack takes the largest last
            now = asked if len(t.cases) == 1 else dict(asked)
            now[test, type(value)] = value
            stack.append((case, block, value, now))
    for b in reversed(made):
        if b.parent is not None:
            b.parent.last = max(b.parent.last, b.last)
    return made


def given_first(graph: Graph, tree: Tree) -> tuple[list[InputValue], Graph, Tree | None]:
    """Take the guards of inputs that hold on all paths out of a tree; return them, and the rest of program and tree.

    Other guards that all paths share are left out where those of inputs imply them: `range(n)` implies what `np.zeros(n
    + 1)` asks. If one path is left, it needs no tree, and so may have loops: how often they run is mostly such an
    input.
    """
    first: dict[Any, InputValue] = {}
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


def implied(graph: Graph, guards: Sequence[InputValue]) -> dict[Node, Any]:
    """Return the values that follow from these guards: those computed only from Python's whole numbers."""
    known = {i: value for i, value in guards if i.type.weak and type(value) is int}
    with np.errstate(all="ignore"):
        for node in prune(graph).nodes:
            if is_literal(node):
                known[node] = node.value
            elif node.op.kind == "elementwise" and all([i in known for i in node.inputs]):
                known[node] = compute(node, [known[i] for i in node.inputs])
    return known


def parted(graph: Graph, tree: Tree, tests: Sequence[Node] | None = None) -> tuple[Graph, Tree]:
    """Return the program and its tree with nodes of its own for each block, one block after the other.

    Values that all paths after a test need are computed before the test.
    """
    blocks = basic_blocks_of(tree, graph.outputs, tests)
    needed: dict[Node, list[int]] = {}
    for b in blocks:
        for node in b.read:
            needed.setdefault(node, []).append(b.number)
    for node in reversed(graph.nodes):
        if node in needed:
            together = not is_view(node)  # a view costs nothing, and is best read where it is made
            needed[node] = places = [0] if node.op is CONSTANT else _places(needed[node], blocks, together)
            for i in node.inputs:
                needed.setdefault(i, []).extend(places)
    for node in graph.nodes:
        if node.op is ITEM and node in needed:
            needed[node] = needed[node.inputs[0]]  # results are there where their operation is computed
    made: dict[Node, list[Node]] = {}

    def seen(node: Node, place: int) -> Node:
        return made[node][bisect_right(needed[node], place) - 1] if node in made else node

    own: list[list[Node]] = [[] for _ in blocks]
    for node in graph.nodes:
        for place in needed.get(node, ()):
            inputs = tuple([seen(i, place) for i in node.inputs])
            copy = node if node not in made and inputs == node.inputs else node.with_inputs(inputs)
            made.setdefault(node, []).append(copy)
            own[place].append(copy)
    outputs: list[Node] = []
    trees: dict[BasicBlock, Tree] = {}
    for b in reversed(blocks):
        first = len(outputs)
        outputs += [seen(node, b.number) for node in b.read]
        if b.test is None:
            trees[b] = Leaf(tuple(range(first, len(outputs))))
        else:
            trees[b] = Branch(first, tuple([(v, trees[case]) for v, case in b.cases]))
    return Graph(graph.inputs, [n for nodes in own for n in nodes], outputs, graph.name), trees[blocks[0]]


def _places(needed: Iterable[int], blocks: list[BasicBlock], together: bool) -> list[int]:
    """Return the numbers of the blocks that compute a value for the `needed` ones; none of them comes after another.

    `together` says that a value which all paths after a test need is computed before the test.
    """
    found: list[BasicBlock] = []
    for k in sorted(set(needed)):
        if found and k <= found[-1].last:
            continue  # computed already on the way there
        found.append(b := blocks[k])
        while together and len(found) > 1 and (p := b.parent) is not None and found[-2].parent is p and p.complete:
            found[-2:] = [b := p]
    return [b.number for b in found]


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


def results_of(blocks: list[BasicBlock]) -> list[Node]:
    """Return all values that leaves and tests read, each as often as the code will read it."""
    read: list[Node] = []
    for b in blocks:
        read.extend(b.read * (1 if b.test is None else len(b.cases) - b.complete))
    return read


def items_of(graph: Graph, plan: Plan, blocks: list[BasicBlock]) -> list[Any]:
    """Return the items of the whole function for `Lowering.block`."""
    place = placement(graph, blocks)
    for b in blocks:
        if b.test is not None:
            plan.nest_test(b.test)
    results = {b: Results(b.read, plan.nest_results(b.read)) for b in blocks if b.test is None}
    for node in plan.nodes:
        place[node].nodes.append(node)
    return _items(blocks[0], plan, results)


def places_of(graph: Graph, tree: Tree) -> dict[Node, int]:
    """Return the number of the block in which each value is computed."""
    found = placement(graph, basic_blocks_of(tree, graph.outputs))
    return {**dict.fromkeys(graph.nodes, 0), **{n: b.number for n, b in found.items()}}


def placement(graph: Graph, blocks: list[BasicBlock]) -> dict[Node, BasicBlock]:
    """Return the block in which each value is computed, for a program that `parted` has made."""
    place: dict[Node, BasicBlock] = {}

    def need(node: Node, block: BasicBlock) -> None:
        known = place.get(node)
        place[node] = block if known is None else _common(known, block)

    for b in blocks:
        for node in b.read:
            need(node, b)
    for node in reversed(graph.nodes):
        block = place.get(node)
        if block is not None:
            for i in node.inputs:
                need(i, block)
    return place


def _common(a: BasicBlock, b: BasicBlock) -> BasicBlock:
    """Return the last block before both, or one of them."""
    if a.number > b.number:
        a, b = b, a
    while a.last < b.number:
        assert a.parent is not None
        a = a.parent
    return a


def _items(block: BasicBlock, plan: Plan, results: dict[BasicBlock, Results]) -> list[Any]:
    """Return the items of a block and of all that follow: each case but the last, the largest, becomes a fork."""
    items: list[Any] = []
    while True:
        items += [n for n in block.nodes if n not in plan.nested and n.op is not CONSTANT and n.op is not ITEM]
        test = block.test
        if test is None:
            items.append(results[block])
            return items
        for value, child in block.cases[:-1]:
            items.append(_fork(test, value, False, _items(child, plan, results), plan))
        value, rest = block.cases[-1]
        if not block.complete:
            items.append(_fork(test, value, True, [UNKNOWN], plan))
        block = rest


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
