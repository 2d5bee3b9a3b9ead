"""Define loops that are ready to be written, and what goes from one to the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from typing import Any

from tapec.codegen.common.block_items import no_run
from tapec.codegen.floats.scalar_ops import float_op
from tapec.codegen.loops.found_loop import Carried, Loop, Walk
from tapec.codegen.schedule.inlining import is_big, is_view
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import INPUT, Node, Op, OpSet, input_node, is_literal, ops
from tapec.ir.static_index import Slice
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE, GETITEM

__all__ = ["CHEAP", "Block", "Feed", "Pick", "aligned", "computed_again", "slice_text", "text_op"]

SIMPLE = OpSet("add subtract multiply negative")
CHEAP = {float_op(op) for op in SIMPLE}  # on floats; of arrays, views are


class Pick(NamedTuple):
    """Several values of one element of a list: `a, _, b = steps[-1]`."""

    values: Node
    place: int
    targets: list[Node | None]

    @property
    def leaves(self) -> tuple[Node, ...]:
        return (self.values,)


class Feed(NamedTuple):
    """A feed is what a loop goes along: a list, or a range of numbers.

    It has a length, the part that is read and in which direction, and a target for an element, or for each of its parts
    that is read.
    """

    values: Node | range
    length: int
    start: int
    stride: int
    targets: list[Node | None]
    elements: list[Node]  # the same values in the loop that computed them


class Block:
    """A block is a loop ready to be written: `body` is one step, `before` has nodes for values of the steps before."""

    def __init__(self, loop: Loop):
        self.loop = loop
        self.count = len(loop.steps)
        self.before: dict[Carried, Node] = {}
        self.body: list[Node] = []
        self.recomputed: list[Node] = []  # values of other loops that are computed again here
        self.first: dict[Carried, Node] = {}
        self.feeds: list[Feed] = []
        self.numbers: dict[tuple[float, float], Node] = {}  # variables that count, by start and stride
        self.views: dict[Any, Node] = {}  # views that other loops made too, by loop, place and walk
        self.kept: dict[tuple[Node, ...], Node] = {}  # values that are kept of each step, and their list
        self.final_values: dict[Node, int] = {}  # values of the last step that are read later, and their place

    @property
    def read(self) -> list[Node]:
        """Return all values that come from outside."""
        own = {*self.recomputed, *self.body, *self.before.values(), *[t for f in self.feeds for t in f.targets if t]}
        own.update(self.kept.values())
        inner = [i for n in (*self.recomputed, *self.body) for i in n.inputs if i not in own]
        lists = [f.values for f in self.feeds if type(f.values) is Node]
        return list(dict.fromkeys([i for i in (*self.first.values(), *lists, *inner) if not is_literal(i)]))

    def element(self, p: int, early: bool) -> Node:
        """Return the node for a value in the body: that of the step, or, if `early`, the one that the step finds."""
        return self.before[p, 1] if early else self.body[p]


def text_op(name: str, source: str, kind: str = "float", view: bool = False) -> Op:
    """Make an operation that is nothing but its text."""
    return Op(name=name, run=no_run, rule=no_run, kind=kind, source=source, view=view)


def computed_again(elements: list[Node], producer: Block, block: Block) -> dict[Node, Node]:
    """Return nodes for values of another loop, which are read from lists or computed again.

    A value that is one step from what is kept anyway is computed again, and not kept. One that was joined with others
    into an array that is kept is looked up there.
    """
    targets = [t for f in producer.feeds for t in f.targets]
    own = {*producer.recomputed, *producer.body, *producer.before.values(), *targets}
    made: dict[Node, Node] = {}
    for e in elements:
        if e.op is ops.concatenate:
            made[e] = input_node("", e.type)
            for part, view in parts_of(e, made[e]):
                if part in elements and part not in made:
                    made[part] = view
                    block.recomputed.append(view)
    for e in elements:
        there = all([i in made and made[i].op is INPUT if i in own else True for i in e.inputs])
        if e in made:
            continue
        if there and (e.op in CHEAP or is_view(e) or is_one_pass(e)):
            made[e] = e.with_inputs(tuple([made.get(i, i) for i in e.inputs]))
            block.recomputed.append(made[e])
        else:
            made[e] = input_node("", e.type)
    return made


def parts_of(joined: Node, array: Node) -> list[tuple[Node, Node]]:
    """Return the large operands of a join, and the views of an array that have the same elements."""
    axis, begin, found = joined.param("axis"), 0, []
    for part in joined.inputs:
        end = begin + part.type.shape[axis]
        if is_big(part.type) and part.type.dtype == joined.type.dtype:
            index = (*[FULL_SLICE] * axis, Slice(begin or None, end, None))
            found.append((part, Node(GETITEM, (array,), (("index", index),), part.type)))
        begin = end
    return found


def is_one_pass(node: Node) -> bool:
    """Return whether a value is made of one large array, and of numbers, as fast as the array is read."""
    plain = node.op in SIMPLE and is_big(node.type)
    return plain and [i.type.shape for i in node.inputs if i.type.shape] == [node.type.shape]


def aligned(other: Loop, walks: list[tuple[int, Walk]], count: int, joined: Container[tuple[Loop, int]]) -> list[Any]:
    """Return walks along another loop in groups that read the same of its steps at once.

    A group has the step it reads first and the distance; and of each walk its number, its place, and whether it reads
    what that step finds. Of places that are `joined` there is a list of what steps make. No walk reads both what the
    first step finds and what the last one makes.
    """
    steps = len(other.steps)
    rest: dict[int, dict[tuple[int, int], tuple[int, int, bool]]] = {}
    for w, walk in walks:
        p, ways = walk.base[1], {}
        least, most = sorted((walk.start, walk.at(count - 1)))
        if (p, 1) not in other.first or most < steps:
            ways[walk.start, walk.stride] = (w, p, (p, 1) in other.first)
        if (p, 1) in other.first and least >= 1:
            made = {(walk.start - 1, walk.stride): (w, p, False)}
            ways = {**made, **ways} if (other, p) in joined else {**ways, **made}
        rest[w] = ways
    groups = []
    while rest:
        votes = Counter(way for ways in rest.values() for way in ways)
        best = max(votes, key=votes.__getitem__)
        groups.append((best, [rest.pop(w)[best] for w in [w for w, ways in rest.items() if best in ways]]))
    return groups


def slice_text(text: str, length: int, start: int, stride: int, count: int) -> str:
    """Return the source of these elements of a list."""
    last = start + stride * (count - 1)
    whole = start == (0 if stride > 0 else length - 1)
    begin = "" if whole else str(start if start < length / 2 else start - length)
    beyond = last + (1 if stride > 0 else -1)
    end = "" if beyond < 0 or beyond >= length else str(beyond if beyond < length / 2 else beyond - length)
    if stride == 1 and not begin and not end:
        return text
    return f"{text}[{begin}:{end}{'' if stride == 1 else f':{stride}'}]"
