"""What a plan does: compute on plain values, and record that as if each op had been performed.

Values between the ops are seen by nobody, so no tensors are made for them: records hold the values themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import methodcaller
from typing import Any, NamedTuple

from tapec.ir import CONSTANT, ITEM, Builder, Node, Op, constant
from tapec.ir.graph import Params
from tapec.ops.layout import ravel
from tapec.trace.computing import computation, direct
from tapec.trace.plan_text import Line, Text, written
from tapec.trace.recorder import Recorder
from tapec.trace.tensor import NUMBERS, record, wrap

__all__ = ["Answer", "Notes", "Plan", "plan_of"]

Plan = Callable[[tuple[Any, ...], list[Any]], Any]  # of the operands and their values


class Notes(Builder):
    """Takes down each op as one of its own, as a recording does."""

    __slots__ = ()

    def emit(self, op: Op, inputs: tuple[Node, ...], params: Params = (), origin: Any = None) -> Node:
        return self.append(Node(op, inputs, params, op.rule(*[i.type for i in inputs], **dict(params)), origin))

    def constant(self, value: Any, name: str | None = None) -> Node:
        if type(value) in NUMBERS:  # are told apart by where they stand, arrays by identity
            return self.append(constant(value, name))
        known = next((n for n in self.nodes if n.op is CONSTANT and n.value is value), None)
        return self.append(constant(value, name)) if known is None else known


class Answer(NamedTuple):
    """The nodes that symbols went through, and where they end. Several results come as a `kind` of list or tuple."""

    inputs: list[Node]
    constants: list[Node]
    ops: list[Node]
    results: list[Node]
    kind: type | None

    @property
    def is_one(self) -> bool:
        """Is it one op of all operands, in order, with one result?"""
        return self.kind is None and self.results == self.ops and self.ops[0].inputs == tuple(self.inputs)


def plan_of(answer: Answer, ours: Any, views: bool) -> Plan:
    """How to answer from now on. `views`: NumPy's results may share memory with the operands.

    A place stands for each operand, constant and result.
    """
    places = {node: k for k, node in enumerate([*answer.inputs, *answer.constants])}
    count, first = len(answer.inputs), len(places)
    nodes = [node for node in answer.ops if node.op is not ITEM]
    lines = _lines(answer, places)
    ends = tuple([places[node] for node in answer.results])
    given = [node.value for node in answer.constants]
    own = tuple([k + count for k, x in enumerate(given) if type(x) not in NUMBERS])
    chains = [_chain(answer, node, places) if views else (None, None) for node in answer.results]
    kind = answer.kind
    text = Text(count, first - count, own, lines, ends, tuple([operand for operand, _ in chains]), kind is not None)
    made = tuple([k for k in ends if k >= count])
    general = General([(n.op, n.params, line) for n, line in zip(nodes, lines)], made, count, first)
    return written(text)(
        [_RAVEL] if ours is ravel else [computation(n) for n in nodes],  # it copies what has gaps
        [n.op for n in nodes],
        [n.params for n in nodes],
        given,
        general.add,
        [steps for _, steps in chains],
        kind if kind in (None, list, tuple) else partial(tuple.__new__, kind),  # a namedtuple
    )


_RAVEL = methodcaller("ravel")


def plan_of_any(op: Op, count: int) -> Plan:
    """A plan for so many operands of any types."""
    line = Line(tuple(range(count)), (count,), (count,), (), False, True)
    general = General([(op, (), line)], (count,), count, count)
    text = Text(count, 0, (), (line,), (count,), (None,), False)
    return written(text)([direct(op.run)], [op], [()], [], general.add, [None], None)


def _lines(answer: Answer, places: dict[Node, int]) -> tuple[Line, ...]:
    """Each op in order; `places` takes in their results."""
    n = len(places)
    lines = []
    moving = set(range(len(answer.inputs)))
    for node in answer.ops:
        if node.op is ITEM:
            places[node] = places[node.inputs[0]] + node.param("index")
            continue
        types: Any = node.type if node.op.multi else (node.type,)
        picks, to = tuple([places[i] for i in node.inputs]), tuple(range(n, n + len(types)))
        scalars = tuple([k for k, t in zip(to, types) if not t.shape])
        flags = tuple([k for k, t in zip(to, types) if not t.shape and t.dtype == bool])
        moves = not moving.isdisjoint(picks)
        if moves:
            moving.update(to)
        lines.append(Line(picks, to, scalars, flags, node.op.multi, moves))
        places[node] = n
        n += len(types)
    return tuple(lines)


class General:
    """Several recordings, or operands of which some are watched: records each op on what is watched."""

    __slots__ = ("count", "first", "made", "steps")

    def __init__(self, steps: list[tuple[Op, Any, Line]], made: tuple[int, ...], count: int, first: int):
        self.steps = steps
        self.made = made
        self.count = count
        self.first = first

    def add(self, rec: Recorder, operands: tuple[Any, ...], known: list[Any], results: list[Any]) -> None:
        objects = [*operands, *map(_own_constant, known[self.count : self.first]), *map(wrap, known[self.first :])]
        for k, result in zip(self.made, results):
            objects[k] = result
        for op, params, line in self.steps:
            out: Any = tuple([objects[k] for k in line.to]) if line.several else objects[line.to[0]]
            record(rec, op, tuple([objects[k] for k in line.picks]), params, out, 3)


def _own_constant(x: Any) -> Any:
    """A number of Python's, or for each call an array of its own: recordings tell arrays apart by identity."""
    return x if type(x) in NUMBERS else wrap(x.copy())


# -- views ------------------------------------------------------------------------------------------------------------
def _chain(answer: Answer, node: Node, places: dict[Node, int]) -> tuple[int | None, Any]:
    """From which operand a result comes by ops of it alone, and by which."""
    steps: list[Any] = []
    made = set(answer.ops)
    while node in made:
        if node.op is ITEM or len(node.inputs) != 1:
            return None, None
        steps.insert(0, (node.op, node.params, ()))
        node = node.inputs[0]
    return (places[node], tuple(steps)) if steps and node in answer.inputs else (None, None)
