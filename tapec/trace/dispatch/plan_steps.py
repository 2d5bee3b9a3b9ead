"""Run the steps of a plan: compute on plain values, and record as if each op had been performed.

Values between the ops are seen by nobody, so no tensors are made for them: records hold the values themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import methodcaller
from typing import Any

import numpy as np

from tapec.errors import UnsupportedError
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, ITEM, Builder, Node, Op, Type, constant
from tapec.ir.node import Params
from tapec.ir.types import NUMBERS
from tapec.ops.layout.reshape_and_transpose import BROADCAST_TO, ravel
from tapec.trace import classes
from tapec.trace.classes import wrap
from tapec.trace.dispatch.plan_code import Line, Text, made_in, noting, own, written
from tapec.trace.perform import record
from tapec.trace.recording_stack import Recorder

__all__ = ["Answer", "Notes", "Plan", "plan_of"]

_ndarray = np.ndarray
Plan = Callable[[tuple[Any, ...], list[Any]], Any]  # of the operands and their values


class Notes(Builder):
    """Takes down each op as one of its own, as a recording does."""

    __slots__ = ()

    def emit(self, op: Op, inputs: tuple[Node, ...], params: Params = (), origin: Any = None) -> Node:
        try:
            types = op.rule(*[i.type for i in inputs], **dict(params))
        except UnsupportedError:
            if op.kind != "dynamic":
                raise
            types = _without_shape(op, inputs, params)
        return self.append(Node(op, inputs, params, types, origin))

    def constant(self, value: Any, name: str | None = None) -> Node:
        if type(value) in NUMBERS:  # are told apart by where they stand, arrays by identity
            return self.append(constant(value, name))
        known = next((n for n in self.nodes if n.op is CONSTANT and n.value is value), None)
        return self.append(constant(value, name)) if known is None else known


def _without_shape(op: Op, inputs: tuple[Node, ...], params: Params) -> Any:
    """The types of results whose shapes depend on values: None stands for the shape, and whoever asks for it fails."""
    found = op.run(*[np.zeros(i.type.shape, i.type.dtype) for i in inputs], **dict(params))
    types = tuple([Type(None, v.dtype) for v in (found if op.multi else (found,))])  # type: ignore[arg-type]
    return types if op.multi else types[0]


class Answer(NamedTuple):
    """Holds the nodes that symbols went through, and where they end. Several results come as a `kind` of list or tuple.

    `plain` are those of the inputs that were no tensors, or not watched as others were: plans look for nothing to
    record of what is done with these.
    """

    inputs: list[Node]
    plain: list[Node]
    constants: list[Node]
    ops: list[Node]
    results: list[Node]
    kind: type | None

    @property
    def is_one(self) -> bool:
        """Whether the answer is one op of all operands, in order, with one result."""
        return self.kind is None and self.results == self.ops and self.ops[0].inputs == tuple(self.inputs)


def plan_of(answer: Answer, ours: Any, views: bool) -> Plan:
    """Return the plan by which such calls are answered from now on. A place stands for each operand, constant and
    result.

    `views`: NumPy's results may share memory with the operands.
    """
    places = {node: k for k, node in enumerate([*answer.inputs, *answer.constants])}
    count, first = len(answer.inputs), len(places)
    nodes = [node for node in answer.ops if node.op is not ITEM]
    calls = [_ravel if ours is ravel and n is nodes[-1] else _computation(n) for n in nodes]
    if not views:
        calls = [_copied(c) if n in answer.results and _is_view(answer, n) else c for c, n in zip(calls, nodes)]
    lines = _lines(answer, places)
    ends = tuple([places[node] for node in answer.results])
    given = [node.value for node in answer.constants]
    owned = tuple([k + count for k, x in enumerate(given) if type(x) not in NUMBERS])
    chains = [_chain(answer, node, places) if views else (None, None) for node in answer.results]
    kind = answer.kind
    origins = tuple([operand for operand, _ in chains])
    text = Text(count, first - count, owned, lines, ends, origins, kind is not None)
    general = General([(n.op, n.params) for n in nodes], text)
    return written(text)(
        calls,
        [n.op for n in nodes],
        [n.params for n in nodes],
        given,
        general.add,
        [steps for _, steps in chains],
        kind if kind in (None, list, tuple) else partial(tuple.__new__, kind),  # a namedtuple
    )


_ravel = methodcaller("ravel")  # it copies what has gaps


def _computation(node: Node) -> Callable[..., Any]:
    """The function of values alone that computes an op."""
    return partial(node.op.run, **dict(node.params)) if node.params else node.op.run


def _is_view(answer: Answer, node: Node) -> bool:
    """Return whether a result may share memory with an input or a constant, or be a read-only view of another value."""
    if node.op is BROADCAST_TO:
        return True
    while node in answer.ops and node.op.view:
        node = node.inputs[0]
    return node not in answer.ops


def _copied(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Return a computation whose result has memory of its own, as NumPy's has where it gives no views."""
    return lambda *values: compute(*values).copy()


def _lines(answer: Answer, places: dict[Node, int]) -> tuple[Line, ...]:
    """Return each op in order as a line; `places` takes in their results."""
    n = len(places)
    lines = []
    moving = {places[node] for node in answer.inputs if node not in answer.plain}
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
    """Records each op on the recordings that watch its operands: there are several, or some operands are not
    watched."""

    __slots__ = ("notes", "ops", "text")

    def __init__(self, ops: list[tuple[Op, Any]], text: Text):
        self.ops = ops
        self.text = text
        self.notes: dict[tuple[tuple[int, ...], bool], Any] = {}  # for the operands watched, by one tape or several

    def add(self, rec: Recorder, operands: tuple[Any, ...], known: list[Any], results: list[Any]) -> None:
        found = _watching(rec, operands) if rec.trace is None else None
        if found is None:
            self._record(rec, operands, known, results)
            return
        watched, tokens = found
        if watched and self.ops:
            several = rec.append is None
            note = self.notes.get((watched, several))
            if note is None:
                note = self.notes[watched, several] = noting(self.text, watched, several)(*zip(*self.ops))
            note(rec.part(tokens) if several else rec, operands, known, results)

    def _record(self, rec: Recorder, operands: tuple[Any, ...], known: list[Any], results: list[Any]) -> None:
        text = self.text
        first = text.operands + text.constants
        may_change = _ndarray in map(type, operands)
        objects = [*operands, *map(_own_constant, known[text.operands : first])]
        objects += [wrap(_unshared(x) if may_change else x) for x in known[first:]]
        for k, result in zip(made_in(text), results):
            objects[k] = result
        for (op, params), line in zip(self.ops, text.lines):
            out: Any = tuple([objects[k] for k in line.to]) if line.several else objects[line.to[0]]
            record(rec, op, tuple([objects[k] for k in line.picks]), params, out)


def _watching(rec: Recorder, operands: tuple[Any, ...]) -> tuple[tuple[int, ...], frozenset[Any]] | None:
    """Return which operands are watched, and by which recordings; None where these are not the same for all."""
    watched: tuple[int, ...] = ()
    tokens: frozenset[Any] = frozenset()
    for k, a in enumerate(operands):
        mark = a._mark if type(a) is classes.Tensor else None
        if mark is not None:
            these = rec.tokens if mark is rec.mark else mark.tokens & rec.tokens
            if these and tokens and these != tokens:
                return None
            if these:
                watched += (k,)
                tokens = these
    return watched, tokens


def _own_constant(x: Any) -> Any:
    """A number of Python's as it is."""
    return x if type(x) in NUMBERS else wrap(own(x))


def _unshared(x: Any) -> Any:
    """Return a copy of an array that is a view, of memory that may change; anything else as it is."""
    return x.copy() if type(x) is _ndarray and x.base is not None else x


# -- views ------------------------------------------------------------------------------------------------------------
def _chain(answer: Answer, node: Node, places: dict[Node, int]) -> tuple[int | None, Any]:
    """Return the operand from which a result comes by ops of it alone, and these ops."""
    steps: list[Any] = []
    made = set(answer.ops)
    while node in made:
        if node.op is ITEM or len(node.inputs) != 1:
            return None, None
        steps.insert(0, (node.op, node.params, ()))
        node = node.inputs[0]
    return (places[node], tuple(steps)) if steps and node in answer.inputs else (None, None)
