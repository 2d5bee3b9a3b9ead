"""The pass `vectorized` computes at once what a loop computes turn by turn, where no turn needs another's result.

    for x, y in zip(xs, ys):                 r = xs @ w - ys
        r = x @ w - y
        rs.append(r)                         rs = r
        total += r * r                       total += np.sum(r * r)

A turn may add to what it carries: all turns together add the sum, and only the order in which terms are added changes.
It runs before differentiation, so gradients have no loop either. Loops whose turns have long rows stay: the time of a
turn is that of its arithmetic then, and its values stay in the cache.
"""

from __future__ import annotations

from math import copysign
from typing import Any

import numpy as np

from tapec.ir import CONSTANT, ITEM, Builder, Graph, Node, OpSet, Type, ops, prune
from tapec.ir.cost import bytes_of, elements
from tapec.ir.static_index import Slice
from tapec.ops import Symbol
from tapec.ops.control.loop import LOOP, Operands, operands_of
from tapec.ops.core.batch_rules import batched_by_rule
from tapec.passes import tuning
from tapec.passes.engine.node_facts import uniform_value
from tapec.passes.whole_graph.lean_bodies import with_bodies

__all__ = ["at_once", "vectorized"]


def vectorized(graph: Graph, keeps_zero: bool = False) -> Graph:
    """Return the graph with arrays for its loops whose turns do not need each other.

    Sums that begin at zero are not added to it, unless the graph `keeps_zero`, so that all inner loops look the same.
    """
    nodes: list[Node] = []
    new: dict[Node, Node] = {}
    results: dict[Node, list[Node]] = {}  # of loops of which there are arrays instead
    for node in graph.nodes:
        if node.op is ITEM and node.inputs[0] in results:
            new[node] = results[node.inputs[0]][node.param("index")]
            continue
        moved = node
        if not new.keys().isdisjoint(node.inputs):
            moved = node.with_inputs(tuple([new.get(i, i) for i in node.inputs]))
        bodies = tuple([vectorized(body, keeps_zero) for body in moved.bodies])
        if any([a is not b for a, b in zip(bodies, moved.bodies, strict=True)]):
            moved = with_bodies(moved, moved.inputs, moved.params, bodies)
        found = at_once(moved, keeps_zero) if moved.op is LOOP else None
        if found is not None:
            nodes += found[0]
            results[node] = found[1]
            continue
        if moved is not node:
            new[node] = moved
        nodes.append(moved)
    if not new and not results:
        return graph
    return prune(Graph(graph.inputs, nodes, [new.get(o, o) for o in graph.outputs], graph.name))


def at_once(node: Node, keeps_zero: bool = False) -> tuple[list[Node], list[Node]] | None:
    """Return the nodes that compute all turns of a loop, and its results among them; None where turns have to come one
    after the other."""
    count, of = node.param("count"), operands_of(node.inputs, **dict(node.given))
    if not count or count < 2 or not of.rows or len(node.bodies) > 1:
        return None
    if any([t.weak and t.dtype.kind != "f" for i in node.bodies[0].inputs for t in _types(i)]):
        return None  # Python's whole numbers have any number of digits
    try:
        turns = _Turns(node, count, of, keeps_zero)
        results = [y.node for y in turns.results()]
    except _OneByOne:
        return None
    if tuple([y.type for y in results]) != node.type or any([n.op is LOOP for n in turns.builder.nodes]):
        return None
    return turns.builder.nodes, results


class _OneByOne(Exception):
    """Says that the turns of a loop have to come one after the other, or had better."""


class _Turns:
    """Computes all turns of a loop. `known` has the values of nodes of the body, and whether these are the rows of all
    turns or the same in each."""

    def __init__(self, node: Node, count: int, of: Operands, keeps_zero: bool):
        self.count, self.keeps_zero = count, keeps_zero
        self.body = node.bodies[0]
        self.taken = 0  # by values of all turns, in bytes
        self.builder = Builder()
        self.origin = node.origin, node.role
        first, last = len(of.constants), len(of.constants) + len(of.carried)
        states = self.body.inputs[first:last]
        self.starts = {i: Symbol(x, self.builder) for i, x in zip(states, of.carried, strict=True)}
        self.ends = dict(zip(states, self.body.outputs))  # what is carried on
        self.known: dict[Node, tuple[Any, bool]] = {}
        for inputs, values, are_rows in (
            (self.body.inputs[:first], of.constants, False),
            (self.body.inputs[last:], of.rows, True),
        ):
            self.known |= {i: (Symbol(x, self.builder), are_rows) for i, x in zip(inputs, values, strict=True)}
        self.known |= {i: (start, False) for i, start in self.starts.items() if self.ends[i] is i}  # none changes it

    def results(self) -> list[Any]:
        """Return what the loop carries after its last turn, and the rows that it collects."""
        collected = [self.rows_of(o) for o in self.body.outputs[len(self.ends) :]]
        return [*map(self._after_all, self.ends), *collected]

    def _after_all(self, state: Node) -> Any:
        """Return what is carried after all turns: a sum, what the last turn gives, or what no turn changes."""
        if self.ends[state] is state:
            return self.starts[state]
        terms = _terms(self.ends[state], state, self.body)
        if terms is None:
            rows = self.rows_of(self.ends[state])
            self.builder.origin, self.builder.role = self.origin
            return rows[-1]
        total = self.starts[state]
        for ufunc, term in terms:
            rows = self.rows_of(term)
            self.builder.origin, self.builder.role = self.origin
            sums = np.sum(rows, axis=0)
            is_first = ufunc is np.add and sums.node.type == total.node.type and _is_zero(total.node)
            total = sums if is_first and not self.keeps_zero else ufunc(total, sums)
        return total

    def rows_of(self, node: Node) -> Any:
        """Return the values that a node has in all turns, one a row."""
        self._find(node)
        rows, is_batched = self.known[node]
        if not is_batched:
            raise _OneByOne
        return rows

    def _find(self, node: Node) -> None:
        """Compute a node, and before it what it reads. What waits for itself is a recurrence."""
        waiting: dict[Node, None] = {}
        todo = [node]
        while todo:
            n = todo[-1]
            if n in self.known:
                todo.pop()
                continue
            reads = (self.ends[n],) if n in self.ends else n.inputs
            missing = [i for i in reads if i not in self.known]
            if not missing:
                self.known[n] = self._before_each(n) if n in self.ends else self._computed(n)
                continue
            if n in waiting:
                raise _OneByOne
            waiting[n] = None
            todo += missing

    def _before_each(self, state: Node) -> tuple[Any, bool]:
        """Return what is carried into each turn, where that is known of the turn before."""
        rows, is_batched = self.known[self.ends[state]]
        if not is_batched:
            raise _OneByOne
        self.builder.origin, self.builder.role = self.origin
        start = self.starts[state]
        whole = _one_more(start.node, rows.node, self.count)
        if whole is not None:
            x, index = whole
            return Symbol(self.builder.emit(ops.getitem, (x,), (("index", index),)), self.builder), True
        if start.dtype != rows.dtype or start.shape != rows.shape[1:]:
            raise _OneByOne
        return np.concatenate([start[None], rows[:-1]]), True

    def _computed(self, n: Node) -> tuple[Any, bool]:
        """Compute one operation, for all turns where it reads rows."""
        self.builder.origin, self.builder.role = n.origin, n.role
        if n.op is CONSTANT:
            return Symbol(self.builder.constant(n.value, n.name), self.builder), False
        xs, flags = [self.known[i][0] for i in n.inputs], tuple([self.known[i][1] for i in n.inputs])
        if n.op is ITEM and isinstance(xs[0], tuple):
            return xs[0][n.param("index")], flags[0]
        if not any(flags):
            return Symbol(self.builder.add(n.with_inputs(tuple([x.node for x in xs]))), self.builder), False
        types = _types(n)
        self.taken += self.count * sum(map(bytes_of, types))
        longest = max(map(elements, types))
        if n.bodies or longest > tuning.VECTORIZED_MAX_ROW_ELEMENTS or self.taken > tuning.AHEAD_MAX_BYTES:
            raise _OneByOne
        if n.op not in _WITHOUT_ERRORS and any([t.weak for t in types]):
            raise _OneByOne
        y = batched_by_rule(n, xs, flags)
        if y is NotImplemented:
            raise _OneByOne
        for part, t in zip(y if n.op.multi else (y,), types, strict=True):
            if part.shape != (self.count, *t.shape) or part.dtype != t.dtype:
                raise _OneByOne
        return y, True


# operations of Python's floats that raise no errors: others do, where NumPy's give inf or nan
_WITHOUT_ERRORS = OpSet("add subtract multiply negative number positive")


def _types(node: Node) -> tuple[Type, ...]:
    return node.type if node.op.multi else (node.type,)


def _terms(output: Node, state: Node, body: Graph) -> list[tuple[Any, Node]] | None:
    """Return what a turn adds to what it carries, and takes from it, with the ufuncs; None where it does more, or less.

    That the terms do not read what is carried shows when they are computed.
    """
    within = {state}  # what is computed of it
    for n in body.nodes:
        if not within.isdisjoint(n.inputs):
            within.add(n)
    found: list[tuple[Any, Node]] = []
    while output is not state:
        if output.op not in (ops.add, ops.subtract) or output.type != state.type:
            return None
        total, term = output.inputs
        if output.op is ops.add and total not in within:
            total, term = term, total
        found.append((output.op.numpy, term))
        output = total
    return found[::-1] or None


def _is_zero(node: Node) -> bool:
    """Return whether a value is 0.0, to which sums can be added or not: they are never -0.0."""
    value = uniform_value(node)
    return isinstance(value, (int, float)) and value == 0 and copysign(1.0, value) > 0


def _one_more(start: Node, rows: Node, count: int) -> tuple[Node, tuple[Any, ...]] | None:
    """Return an array and the index of `count` rows of it of which the first is `start` and the others come first in
    `rows`; None where there is none: x[2:7] of x[2] and x[3:8]."""
    if start.op is not ops.getitem or len(start.inputs) > 1:
        return None
    x, (k, *others) = start.inputs[0], start.param("index")
    first, rest = 0, []
    if rows is not x:
        if rows.op is not ops.getitem or rows.inputs != (x,):
            return None
        part, *rest = rows.param("index")
        if not isinstance(part, Slice):
            return None
        first, _, step = slice(*part).indices(x.type.shape[0])
        if step != 1:
            return None
    if type(k) is not int or others != rest or k % x.type.shape[0] != first - 1:
        return None
    return x, (Slice(first - 1, first - 1 + count, None), *rest)
