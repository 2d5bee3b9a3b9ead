"""Find the loops that tracing has unrolled in a recorded program, and put `loop` ops in their place.

    h1 = f(h0, x[0]); h2 = f(h1, x[1]); ...        ->        loop h0, x {carried=1}: h' = f(h, row)

In a recorded program the rounds of a loop repeat exactly: the same ops, types, static parameters and lines of the
user's, at equal distances. So a loop is a stretch of nodes that repeats with a period, in which each operand of a round
is one of these:

    own        a value of the same round
    carried    a value of the round before; what the first round reads in its place is what the loop starts with
    fixed      the same value in all rounds, from before the loop
    row        one row of an array in each round: x[k], x[k + 1], ..., or numbers that differ from round to round,
               or one element of a list argument, or one of the values that a tape has recorded
    written    an array into which each round writes one row: the rows are collected, and written after the loop

A value that is read outside of the loop is carried, if that is the value of the last round, and collected otherwise.
Where something else repeats, it stays as it is. The body may have loops of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, Builder, Graph, Node, OpSet, Type, constant, get_op, input_node, is_literal, ops, prune
from tapec.ir.cost import elements
from tapec.ir.source_location import name_for, operand_name, positions_of
from tapec.ir.static_index import slice_of_rows
from tapec.ops.control.loop import LOOP
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE
from tapec.passes import tuning
from tapec.passes.whole_graph.lazy import becomes_arrays
from tapec.passes.whole_graph.row_places import row_axis_of, row_index_of

__all__ = ["rolled"]

_CAST, _NUMBER = get_op("cast"), get_op("number")
_MAKING_FLOATS = OpSet("add subtract multiply divide maximum minimum")
_ARITHMETIC = OpSet("add subtract multiply divide maximum minimum less less_equal greater greater_equal")
_OF_NUMBERS = OpSet("add subtract multiply negative absolute")  # which Python's floats answer as NumPy's do
_SEEN_WHOLE = OpSet("eigh svd eig")  # the derivatives of which may depend on all that is made of their vectors
_JOINED = OpSet("stack concatenate")
_FLOAT = Type((), np.dtype(float))
_TRIMS = ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1))  # rounds that are left out at the beginning and at the end


def rolled(
    graph: Graph, apart: Collection[Node] = (), lists: Sequence[range] = (), recorded: Collection[Node] = ()
) -> Graph:
    """Find the loops that tracing has unrolled; values `apart` are in none of them.

    `lists` are the places of inputs that are the elements of one list each. Of inputs that are `recorded` any may be
    the elements of one list, in any order.
    """
    if len(graph.nodes) < tuning.ROLLED_MIN_OPS_SPARED or any([n.op in _SEEN_WHOLE for n in graph.nodes]):
        return graph
    made, start = graph, 0
    in_lists = {graph.inputs[k]: number for number, places in enumerate(lists) for k in places}
    in_lists = {x: number for x, number in in_lists.items() if elements(x) <= tuning.ROLLED_MAX_ELEMENTS_STACKED}
    in_lists |= {x: -1 for x in recorded if elements(x) <= tuning.ROLLED_MAX_ELEMENTS_RECORDED}
    wasted = _Wasted()
    while True:
        found = _next_loop(made, start, apart, in_lists, wasted)
        if found is None:
            is_short = len(made.nodes) * tuning.ROLLED_MIN_TIMES_SHORTER <= len(graph.nodes)
            return made if is_short else graph
        made, start = found


def _next_loop(
    graph: Graph, start: int, apart: Collection[Node], lists: Mapping[Node, int], wasted: _Wasted
) -> tuple[Graph, int] | None:
    """Return the program with the first loop from a place on, and the place to go on at; None if there is none, or too
    much work has been wasted on stretches that spare nothing."""
    nodes = [n for n in graph.nodes if n.op is not CONSTANT]
    for stretch in _stretches(_numbered(nodes, lists), start):
        for first, period, length in _ways_to_part(nodes, *stretch):
            for before, after in _TRIMS:
                if wasted.operations > tuning.ROLLED_MAX_WASTED_OPS:
                    return None
                begin, rest = first + before * period, length - (before + after) * period
                made = _rolled_one_way(graph, nodes, begin, period, rest, apart, lists, wasted)
                if made is not None:
                    return made, first
    return None


def _ways_to_part(nodes: Sequence[Node], first: int, period: int, length: int) -> list[tuple[int, int, int]]:
    """Return what may be a loop of a stretch: where each begins, its period, and its length.

    That is the stretch where the rows that its operations read or write are at equal distances. Where they are not, a
    loop inside of another one has begun again: then it is the loop around all of these, and each of them. Loops of ever
    more rounds are no rows of one array, and are not looked for.
    """
    rounds = length // period
    rows = [[row_index_of(nodes[k]) for k in range(first + o, first + length, period)] for o in range(period)]
    ways = [row for row in rows if None not in row and len(set(row)) > 1]
    begins = [0]
    for r in range(2, rounds):
        if r > begins[-1] + 1 and any([row[r] - row[r - 1] != row[r - 1] - row[r - 2] for row in ways]):  # type: ignore[operator]
            begins.append(r)
    inside = {b - a for a, b in zip(begins, [*begins[1:], rounds])}
    if len(begins) == 1 or len(inside) > 1:
        return [(first, period, length)]
    (turns,) = inside
    return [(first, turns * period, length), *[(first + r * period, period, turns * period) for r in begins]]


def _rolled_one_way(
    graph: Graph,
    nodes: Sequence[Node],
    first: int,
    period: int,
    length: int,
    apart: Collection[Node],
    lists: Mapping[Node, int],
    wasted: _Wasted,
) -> Graph | None:
    """Return the program with a stretch as a loop, of which what is more than whole rounds comes after or before it.

    Where a first round differs, it comes before: rounds as they were written carry the least.
    """
    ways: list[tuple[int, int, Graph]] = []
    for start in dict.fromkeys([first, first + length % period]):
        way = _Roller(graph, nodes, start, period, length // period, apart, lists, wasted)
        made = way.run()
        if made is not None:
            ways.append((len(way.carried), len(ways), made))
    return min(ways)[2] if ways else None


def _stretches(kinds: Sequence[int], start: int) -> Iterator[tuple[int, int, int]]:
    """Go through the stretches that repeat: where each begins, its period, and its length."""
    following = [0] * len(kinds)  # where the same kind comes next
    last: dict[int, int] = {}
    for k in range(len(kinds) - 1, -1, -1):
        following[k] = last.get(kinds[k], 0)
        last[kinds[k]] = k
    tried: dict[tuple[int, int], int] = {}  # how often a stretch of one period and one end has been gone through
    ends: dict[int, int] = {}  # the end of the last stretch of a period
    for first in range(start, len(kinds)):
        second = following[first]
        for _ in range(tuning.ROLLED_MAX_PERIODS):
            if not second:
                break
            end = _end_of_stretch(kinds, first, second, ends)
            around = following[end] - end if end < len(kinds) else 0
            periods = [around] * (around > end - first) + [second - first]  # first that of a loop around this one
            for period in periods:
                end = _end_of_stretch(kinds, first, first + period, ends)
                if _pays(period, (end - first) // period):
                    tried[period, end] = tried.get((period, end), 0) + 1
                    if tried[period, end] <= tuning.ROLLED_MAX_PHASES:
                        yield first, period, end - first
            second = following[second]


def _end_of_stretch(kinds: Sequence[int], first: int, second: int, ends: dict[int, int]) -> int:
    """Return where a stretch ends of which two rounds begin at these places; `ends` has those of the last ones."""
    period, same = second - first, max(0, ends.get(second - first, 0) - second)
    while second + same < len(kinds) and kinds[first + same] == kinds[second + same]:
        same += 1
    ends[period] = second + same
    return second + same


def _pays(period: int, rounds: int) -> bool:
    return rounds >= tuning.ROLLED_MIN_ROUNDS and period * (rounds - 1) >= tuning.ROLLED_MIN_OPS_SPARED


def _numbered(nodes: Sequence[Node], lists: Mapping[Node, int]) -> list[int]:
    """Return a number for each node, the same for nodes of one kind, which may be one operation of several rounds."""
    known: dict[Any, int] = {}
    kinds = []
    for n in nodes:
        given: Any = n.given if n.op.bodies else n.params
        if n.op is ops.stack and all([i in lists for i in n.inputs]):
            given = n.inputs  # made for a loop: no round of another one
        if row_index_of(n) is not None:
            axis = row_axis_of(n)
            given = tuple(
                [(key, (*value[:axis], *value[axis + 1 :]) if key == "index" else value) for key, value in given]
            )
        # an instruction has several offsets in Python 3.11, which adapts what often runs, and one place in the source
        origin = None if n.origin is None else (id(n.origin[0]), positions_of(n.origin))
        t = _FLOAT if _is_float_of_python(n.type) else n.type
        kinds.append(known.setdefault((n.op, len(n.inputs), given, t, n.role, origin), len(known)))
    return kinds


def _is_float_of_python(t: Any) -> bool:
    return not isinstance(t, tuple) and t.weak and t.dtype == _FLOAT.dtype


def _is_of_kind(node: Node, like: Node) -> bool:
    """Return whether a first round may compute a value as the second does: of NumPy's numbers, where it was computed of
    Python's, as these are what it starts with. Not by operations that raise an error of some of Python's numbers."""
    if node.type == like.type:
        return True
    return _is_float_of_python(node.type) and like.type == _FLOAT and node.op in _OF_NUMBERS


def _is_small(node: Node) -> bool:
    return node.op.multi or elements(node) <= tuning.UNROLLED_MATRIX_MAX_ELEMENTS


class _NoLoop(Exception):
    """Says that a stretch is no loop."""


class _Wasted:
    """Counts the operations of the programs in which a stretch turned out to spare nothing as a loop."""

    def __init__(self) -> None:
        self.operations = 0


class _Row(NamedTuple):
    """A sequence outside, and the input of the body that is one row of it."""

    inside: Node
    outside: Node


class _Carried(NamedTuple):
    """The input of the body that has a value of the round before, and what the first round reads."""

    inside: Node
    start: Node
    first: Node | None


class _Roller:
    """Turns one stretch into a loop. Values of the stretch are told by round and offset within the round."""

    def __init__(
        self,
        graph: Graph,
        nodes: Sequence[Node],
        start: int,
        period: int,
        rounds: int,
        apart: Collection[Node],
        lists: Mapping[Node, int],
        wasted: _Wasted,
    ):
        self.wasted = wasted
        self.graph, self.period, self.rounds, self.apart = graph, period, rounds, apart
        self.lists = lists  # the elements of list arguments, each with the number of its list
        self.steps = [nodes[start + r * period : start + (r + 1) * period] for r in range(max(rounds, 0))]
        self.place = {n: (r, o) for r, step in enumerate(self.steps) for o, n in enumerate(step)}
        self.body = Builder()
        self.before: list[Node] = []  # what is computed for the loop
        self.fixed: dict[Node, Node] = {}
        self.carried: dict[Any, _Carried] = {}  # by the offset of what is carried on; older: with the rounds between
        self.rows: dict[Any, _Row] = {}
        self.own: dict[Any, Node] = {}
        self.emitted: set[Node] = set()  # operations of the body that are steps of it
        self.writes: dict[int, tuple[int, int]] = {}  # rows written: the first, and the distance
        self.is_of_linalg = False

    def run(self) -> Graph | None:
        """Return the program with the loop; None if the stretch is none."""
        if not _pays(self.period, self.rounds) or not self.place.keys().isdisjoint(self.apart):
            return None
        try:
            for o in range(self.period):
                self.step(o)
            return self.program()
        except _NoLoop:
            return None

    def each(self, o: int) -> list[Node]:
        return [step[o] for step in self.steps]

    # -- the body -----------------------------------------------------------------------------------------------------
    def step(self, o: int) -> None:
        """Take one operation of the rounds into the body."""
        first, node, *others = self.each(o)
        if not _is_of_kind(first, node) or any([n.type != node.type for n in others]):
            raise _NoLoop
        self.body.role = node.role  # what is a derivative stays one, also where the function takes gradients itself
        if node.op.kind == "dynamic":
            raise _NoLoop  # how many elements there are is a fact about values, which a body cannot know
        places = [row_index_of(n) for n in self.each(o)]
        if places[0] is not None and len(set(places)) > 1:
            if node.op is ops.setitem:
                self.write(o, *self.progression(places))
            else:
                self.own[o] = self.row(self.each(o), places)
            return
        if any([n.params is not node.params and repr(n.params) != repr(node.params) for n in self.each(o)]):
            raise _NoLoop  # 0.0 and -0.0 are equal, as is what x[3, :, 2] and x[:, 3, 2] have beside the row
        self.is_of_linalg = self.is_of_linalg or node.op.kind == "linalg"
        inputs = tuple([self.operand(o, k) for k in range(len(node.inputs))])
        made = self.body.emit(node.op, inputs, node.given, node.origin)
        if made.type != node.type:
            raise _NoLoop
        if made in self.emitted:  # what is computed twice stays so: rounds of a loop inside look alike
            made = made.with_inputs(inputs)
            self.body.nodes.append(made)
        self.emitted.add(made)
        made.name = made.name or node.name
        self.own[o] = made

    def operand(self, o: int, k: int) -> Node:
        """Return what the body reads as the k-th operand of an operation."""
        xs = [n.inputs[k] for n in self.each(o)]
        places = [self.place.get(x) for x in xs]
        if places[-1] is None:
            return self.from_outside(xs, self.steps[1][o], k)
        at = places[-1][1]
        if places[0] is not None:
            if at in self.own and all([p == (r, at) for r, p in enumerate(places)]):
                return self.own[at]
        elif at not in self.writes:
            for lag in range(1, min(tuning.ROLLED_MAX_LAG, self.rounds - 1) + 1):
                if all([p == (r - lag, at) for r, p in enumerate(places) if r >= lag]):
                    return self.from_round_before(at, xs[:lag])
        raise _NoLoop

    def from_outside(self, xs: list[Node], reader: Node, k: int) -> Node:
        """Return a value from before the loop, the k-th operand of an operation: the same in all rounds, or numbers."""
        if any([x in self.place for x in xs]):
            raise _NoLoop
        first = xs[0]
        if all([_is_same(x, first) for x in xs]):
            if is_literal(first):
                return self.body.constant(first.value, first.name)
            return self.fixed.setdefault(first, input_node(first.name, first.type, None))
        if all([x.op is ops.getitem for x in xs]) and None not in (places := [row_index_of(x) for x in xs]):
            return self.row(xs, places)
        number = self.lists.get(first)
        if number is not None and all([self.lists.get(x) == number and x.type == first.type for x in xs]):
            if first.type.weak and first.type.dtype.kind == "i" and not _makes_float(reader):
                raise _NoLoop
            return self.element(xs, reader, k)
        if reader.op not in _ARITHMETIC or not all([is_literal(x) and type(x.value) in (int, float) for x in xs]):
            raise _NoLoop
        values = [x.value for x in xs]
        if any([abs(v) > 2**53 for v in values]) or not any([i.type.dtype.kind == "f" for i in reader.inputs]):
            raise _NoLoop  # as floats they would be others, or make another of what they meet
        key = tuple(map(repr, values))  # 0.0 is no -0.0
        if key not in self.rows:
            self.before.append(constant(np.array(values, float)))
            self.rows[key] = _Row(input_node(None, Type((), np.dtype(float))), self.before[-1])
        return self.body.emit(_NUMBER, (self.rows[key].inside,), (("dtype", np.dtype(float)),), None)

    def element(self, xs: list[Node], reader: Node, k: int) -> Node:
        """Let the loop walk along elements of a list, stacked, and return what the body has of one, under its name."""
        t, key = xs[0].type, tuple(xs)
        if key not in self.rows:
            self.before.append(Builder().emit(ops.stack, key, (("axis", 0),)))
            origin = next((x.origin for x in xs if x.origin is not None), None)  # a recorded value has one
            self.rows[key] = _Row(input_node(None, Type(t.shape, t.dtype), origin), self.before[-1])
        x = self.rows[key].inside
        if t.weak:
            x = self.body.emit(_NUMBER, (x,), (("dtype", t.dtype),), None)
        if reader.role is None and reader.origin is not None:
            x.name = x.name or operand_name(reader.origin, k)
        return x

    def from_round_before(self, at: int, first: Sequence[Node]) -> Node:
        """Return a value that a round before has computed; `first` is what the first rounds read in its place.

        What is older than one round is handed on from round to round.
        """
        if any([x in self.place for x in first]):
            raise _NoLoop
        like, inside = self.steps[1][at], None  # the first round may compute it of Python's numbers
        t: Any = like.type
        if isinstance(t, tuple):
            raise _NoLoop
        for lag, x in enumerate(reversed(first)):
            key = (at, lag) if lag else at
            known = self.carried.get(key)
            if known is None:
                origin = like.origin if name_for(like) else None  # an input is called by what its origin says
                state = input_node(like.name, t, None) if like.role else input_node(None, t, origin)
                known = self.carried[key] = _Carried(state, self.started(x, t), x)
                if inside is not None:
                    self.own[key] = inside
            elif known.first is None or not _is_same(known.first, x):
                raise _NoLoop
            inside = known.inside
        assert inside is not None
        return inside

    def started(self, x: Node, t: Type) -> Node:
        """Return a value as one of the type that is carried: numbers of Python's become what they are added to."""
        if x.type == t:
            return self.zeros(t) if _are_zeros(x) else x
        if _is_float_of_python(x.type) and not is_literal(x) and t == _FLOAT:
            self.before.append(Builder().emit(_CAST, (x,), (("dtype", t.dtype),)))
            return self.before[-1]
        if not is_literal(x) or type(x.value) not in (int, float) or t.dtype.kind != "f":
            raise _NoLoop
        if not t.weak and not _is_exact(x.value, t):
            raise _NoLoop  # beside an array of more digits it is another number than one of this type
        if t.weak:
            self.before.append(constant(float(x.value)))
        elif t.shape:
            params = (("shape", t.shape), ("value", float(x.value)), ("dtype", t.dtype))
            self.before.append(Builder().emit(ops.full, (), params))
        else:
            self.before.append(constant(t.dtype.type(x.value)))
        return self.before[-1]

    def zeros(self, t: Type) -> Node:
        """Return an array of zeros, which a loop makes anew where it begins."""
        self.before.append(Builder().emit(ops.full, (), (("shape", t.shape), ("value", 0.0), ("dtype", t.dtype))))
        return self.before[-1]

    def progression(self, places: Sequence[Any]) -> tuple[int, int]:
        """Return the first of these rows, and the distance from each to the next."""
        if None in places:  # a whole row, which another read of the same kind takes for a part of one
            raise _NoLoop
        first, distance = places[0], places[1] - places[0]
        if distance == 0 or any([p != first + r * distance for r, p in enumerate(places)]):
            raise _NoLoop
        return first, distance

    def row(self, reads: list[Node], places: Sequence[Any]) -> Node:
        """Let the loop walk along the rows of an array that these nodes read, and return what the body has of one."""
        node = reads[1]
        first, distance = self.progression(places)
        axis = row_axis_of(node)
        rest = node.param("index")[axis + 1 :]
        (source, *others) = {n.inputs[0] for n in reads}
        if (
            others
            or source in self.place
            or any([row_axis_of(n) != axis or n.param("index")[axis + 1 :] != rest for n in reads])
        ):
            raise _NoLoop
        key = source, first, distance, axis
        if key not in self.rows:
            t = source.type
            inside = input_node(None, Type((*t.shape[:axis], *t.shape[axis + 1 :]), t.dtype), node.origin)
            self.rows[key] = _Row(inside, self.part(self.by_rows(source, axis, node), first, distance, node))
        x = self.rows[key].inside
        if rest:
            x = self.body.emit(ops.getitem, (x,), (("index", (*[FULL_SLICE] * axis, *rest)),), node.origin)
        if x.type != node.type:
            raise _NoLoop
        return x

    def by_rows(self, source: Node, axis: int, like: Node) -> Node:
        """Return an array with an axis as its first."""
        if not axis:
            return source
        axes = (axis, *range(axis), *range(axis + 1, source.type.ndim))
        self.before.append(Builder().emit(ops.transpose, (source,), (("axes", axes),), like.origin))
        return self.before[-1]

    def part(self, source: Node, first: int, distance: int, like: Node) -> Node:
        """Return the rows of an array that the loop walks along."""
        index = slice_of_rows(first, distance, self.rounds, source.type.shape[0])
        if index is None:
            return source
        self.before.append(Builder().emit(ops.getitem, (source,), (("index", (index,)),), like.origin))
        return self.before[-1]

    def write(self, o: int, first: int, distance: int) -> None:
        """Collect the rows that are written into an array; nothing may read it before it is written whole."""
        readers = {n: r for r, n in enumerate(self.each(o))}
        for r, step in enumerate(self.steps):
            for n in step:
                for k, i in enumerate(n.inputs):
                    if i in readers and (n is not self.steps[r][o] or k or readers[i] != r - 1):
                        raise _NoLoop
        if any([n.inputs[0] is not before for n, before in zip(self.each(o)[1:], self.each(o))]):
            raise _NoLoop
        value, axis = self.steps[1][o].inputs[1], row_axis_of(self.steps[1][o])
        shape = self.steps[1][o].type.shape
        if any([len(n.param("index")) != axis + 1 or row_axis_of(n) != axis for n in readers]):
            raise _NoLoop
        if value.type.shape != (*shape[:axis], *shape[axis + 1 :]) or value.type.weak:
            raise _NoLoop
        self.writes[o] = first, distance
        self.operand(o, 1)

    # -- the program --------------------------------------------------------------------------------------------------
    def program(self) -> Graph:
        last = self.rounds - 1
        read: dict[int, dict[int, None]] = {}  # the rounds of which a value is read outside, by offset
        alone: set[Node] = set()  # the values that are read outside one by one
        for n in self.graph.nodes:
            if n not in self.place:
                inside = [i for i in n.inputs if i in self.place]
                for i in inside:
                    r, o = self.place[i]
                    read.setdefault(o, {})[r] = None
                if n.op not in _JOINED:
                    alone.update(inside)
        for i in self.graph.outputs:
            if i in self.place:
                r, o = self.place[i]
                read.setdefault(o, {})[r] = None
        self.check_gain(sum([self.place[i][0] < last for i in alone]))
        for o in self.writes:
            if read.pop(o, {}).keys() - {last}:
                raise _NoLoop
        collected: dict[int, Node] = {}
        for o, rounds in read.items():
            if rounds.keys() != {last} or (o not in self.carried and not self.carry(o)):
                collected[o] = self.own[o]
        written = {o: self.operand(o, 1) for o in self.writes}
        missing = [o for o in self.carried if o not in self.own]
        if missing or not all([_is_collectable(n) for n in (*collected.values(), *written.values())]):
            raise _NoLoop
        results = [*[self.own[o] for o in self.carried], *collected.values(), *written.values()]
        parts = self.carried.values(), self.rows.values()
        inputs = [*self.fixed.values(), *[c.inside for c in parts[0]], *[r.inside for r in parts[1]]]
        body = rolled(prune(Graph(inputs, self.body.nodes, results, "turn")))
        operands = (*self.fixed, *[c.start for c in parts[0]], *[r.outside for r in parts[1]])
        counts = (("count", self.rounds), ("constants", len(self.fixed)), ("carried", len(self.carried)))
        builder = Builder()
        builder.role = self.steps[0][0].role
        loop = builder.emit(LOOP, operands, (*counts, ("bodies", (body,))), self.steps[0][0].origin)
        is_tiny = len(self.place) <= tuning.ROLLED_MIN_OPS_OF_TINY and all(map(_is_small, self.steps[1]))
        if self.is_of_linalg and is_tiny and not becomes_arrays(loop):
            raise _NoLoop  # written out, such programs run on Python floats
        found = builder.items(loop)
        new: dict[Node, Node] = {}
        for o, item in zip(self.carried, found):
            if type(o) is tuple:
                continue
            end = self.steps[last][o]
            item.name, new[end] = end.name or name_for(end), item
        rows = dict(zip([*collected, *self.writes], found[len(self.carried) :], strict=True))
        for o in collected:
            for r in read[o]:
                if r < last or o not in self.carried:
                    node = self.steps[r][o]
                    new[node] = builder.emit(ops.getitem, (rows[o],), (("index", (r,)),), node.origin)
                    if node.type.weak:  # as a number of Python's was collected, so it is read
                        params = (("dtype", node.type.dtype),)
                        new[node] = builder.emit(_NUMBER, (new[node],), params, node.origin)
        for o, (first, distance) in self.writes.items():
            new[self.steps[last][o]] = self.written(builder, o, rows[o], first, distance)
        found_graph = self.replaced(new, builder.nodes, {o: rows[o] for o in collected})
        added = {*builder.nodes, *self.before}.intersection(found_graph.nodes)
        self.check_gain(len(added))
        return found_graph

    def check_gain(self, added: int) -> None:
        """Refuse a loop that spares too little beside the operations that it adds, as one for each row that is read."""
        if len(self.place) - added < tuning.ROLLED_MIN_OPS_SPARED:
            self.wasted.operations += len(self.graph.nodes)
            raise _NoLoop

    def carry(self, o: int) -> bool:
        """Carry what is read after the last round, and by no round; nothing reads what it is before the loop."""
        t = self.own[o].type if o in self.own else ()
        if isinstance(t, tuple) or t.shape or t.weak or t.dtype.kind != "f":
            return False
        self.before.append(constant(t.dtype.type(0)))
        self.carried[o] = _Carried(input_node(None, t, self.steps[1][o].origin), self.before[-1], None)
        return True

    def written(self, builder: Builder, o: int, rows: Node, first: int, distance: int) -> Node:
        """Return the array into which all rows have been written."""
        start, axis = self.steps[0][o].inputs[0], row_axis_of(self.steps[0][o])
        index = slice_of_rows(first, distance, self.rounds, start.type.shape[axis])
        origin = self.steps[0][o].origin
        if axis:
            axes = (*range(1, axis + 1), 0, *range(axis + 1, start.type.ndim))
            rows = builder.emit(ops.transpose, (rows,), (("axes", axes),), origin)
        if index is None and rows.type == start.type:
            return rows
        whole = (*[FULL_SLICE] * axis, index or FULL_SLICE)
        return builder.emit(ops.setitem, (start, rows), (("index", whole),), origin)

    def replaced(self, new: dict[Node, Node], made: Sequence[Node], rows: dict[int, Node]) -> Graph:
        """Return the program in which these nodes take the place of the stretch."""
        first, placed = self.steps[0][0], set(made)
        nodes: list[Node] = [n for n in self.graph.nodes if n.op is CONSTANT]  # some may stand within the stretch
        for n in self.graph.nodes:
            if n is first:
                nodes += [*self.before, *made]
            if n in self.place or n.op is CONSTANT:
                continue
            if not new.keys().isdisjoint(n.inputs):
                whole = self.joined(n, rows, new) or [n.with_inputs(tuple([new.get(i, i) for i in n.inputs]))]
                new[n] = whole[-1]
                nodes += [w for w in whole if w not in placed]
            else:
                nodes.append(n)
        outputs = [new.get(o, o) for o in self.graph.outputs]
        return prune(Graph(self.graph.inputs, nodes, outputs, self.graph.name))

    def joined(self, n: Node, rows: dict[int, Node], new: dict[Node, Node]) -> list[Node]:
        """Return nodes that put together what a node stacks or concatenates, some of which the rows of a loop are; the
        last is the whole."""
        if n.op not in _JOINED or n.param("axis") != 0 or len(n.inputs) < self.rounds:
            return []
        places: list[Any] = [self.place.get(i) for i in n.inputs]
        start = next((k for k, p in enumerate(places) if p is not None and p[0] == 0 and p[1] in rows), None)
        if start is None or places[start : start + self.rounds] != [(r, places[start][1]) for r in range(self.rounds)]:
            return []
        whole = rows[places[start][1]]
        if n.op is ops.stack and len(n.inputs) == self.rounds:
            return [whole] if whole.type == n.type else []
        builder = Builder()
        builder.role = n.role
        ends = n.inputs[:start], n.inputs[start + self.rounds :]
        before, after = [
            [builder.emit(n.op, tuple([new.get(i, i) for i in end]), n.params, n.origin)] if end else [] for end in ends
        ]
        if n.op is not ops.stack:
            shape = (whole.type.shape[0] * whole.type.shape[1], *whole.type.shape[2:])
            whole = builder.emit(ops.reshape, (whole,), (("shape", shape),), n.origin)
        parts = [*before, whole, *after]
        if len(parts) > 1:
            whole = builder.emit(ops.concatenate, tuple(parts), (("axis", 0),), n.origin)
        return builder.nodes if whole.type == n.type else []


def _is_collectable(node: Node) -> bool:
    """Return whether an array can hold a value of each round: numbers of Python's only as the floats that they are."""
    return not node.op.multi and (not node.type.weak or node.type.dtype.kind in "fc")


def _makes_float(reader: Node) -> bool:
    """Return whether an operation makes a float of an operand that is one of Python's whole numbers, however large."""
    return reader.op in _MAKING_FLOATS and any([i.type.dtype.kind == "f" for i in reader.inputs])


def _is_exact(number: float, t: Type) -> bool:
    """Return whether a type has this number itself, not one that is near."""
    with np.errstate(over="ignore"):
        return float(t.dtype.type(number)) == number


def _is_same(a: Node, b: Node) -> bool:
    if a is b:
        return True
    return is_literal(a) and is_literal(b) and type(a.value) is type(b.value) and repr(a.value) == repr(b.value)


def _are_zeros(x: Node) -> bool:
    if x.op is not CONSTANT or not x.type.shape or x.type.dtype.kind != "f":
        return False
    return not np.any(x.value) and not np.any(np.signbit(x.value))
