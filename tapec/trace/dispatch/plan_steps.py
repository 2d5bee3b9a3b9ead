"""Run the steps of a plan: compute on plain values, and record as if each op had been performed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import methodcaller
from typing import Any

import numpy as np

from tapec.errors import UnsupportedError, note_user_line
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, ITEM, Builder, Node, Op, Type, constant
from tapec.ir.node import Params
from tapec.ir.types import NUMBERS
from tapec.ops.core.stand_in import lies_in_rows
from tapec.ops.layout.reshape_and_transpose import BROADCAST_TO, ravel
from tapec.trace import classes
from tapec.trace.classes import wrap
from tapec.trace.float_warnings import told
from tapec.trace.inplace.shared_memory import share
from tapec.trace.perform import record
from tapec.trace.recording_stack import current

__all__ = ["Answer", "Notes", "Plan", "plan_of"]

_ndarray = np.ndarray


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
    """Holds the nodes that symbols went through, and where they end.

    Several results come as a `kind` of list or tuple.
    """

    inputs: list[Node]
    constants: list[Node]
    ops: list[Node]
    results: list[Node]
    kind: type | None

    @property
    def is_one(self) -> bool:
        """Return whether the answer is one op of all operands, in order, with one result."""
        return self.kind is None and self.results == self.ops and self.ops[0].inputs == tuple(self.inputs)


class Step(NamedTuple):
    """Describes one op of a plan: what computes values alone, the places of its inputs, the operands it depends on."""

    compute: Callable[..., Any]
    op: Op
    params: Params
    inputs: tuple[int, ...]
    depends: tuple[int, ...]


class Plan:
    """Computes and records what a call means. A place stands for each operand, constant and result of an op, in order.

    `results` are places. `views` lists (place, operand, ops) of results that may be views of an operand by these ops.
    `arrange` makes a list or a tuple of several results; it is None where there is one.
    """

    __slots__ = ("arrange", "constants", "results", "steps", "views")

    def __init__(
        self,
        steps: list[Step],
        constants: list[Any],
        results: list[int],
        views: list[tuple[int, int, Any]],
        arrange: Any,
    ):
        self.steps = steps
        self.constants = constants
        self.results = results
        self.views = views
        self.arrange = arrange

    def __call__(self, objects: list[Any], known: list[Any]) -> Any:
        """Return the results of these operands, and of what is known of them: their values.

        Both lists grow by what stands at the following places.
        """
        may_change = _ndarray in map(type, objects)
        if self.constants:
            objects += map(_own_constant, self.constants)
            known += self.constants
        rec = current()
        for compute, op, params, inputs, depends in self.steps:
            try:
                value = compute(*[known[k] for k in inputs])
            except RuntimeWarning as warning:
                value = told(warning, compute, *[known[k] for k in inputs])
            except Exception as error:
                note_user_line(error)
                raise
            if may_change and all([type(objects[k]) is _ndarray for k in depends]):
                value = _unshared(value)
            if op.multi:
                out: Any = tuple(map(wrap, value))
                known += value
                objects += out
            else:
                out = wrap(value)
                known.append(value)
                objects.append(out)
            if rec is not None:
                record(rec, op, tuple([objects[k] for k in inputs]), params, out)
        for place, viewed, ops in self.views:
            if type(objects[viewed]) is classes.Tensor:
                _share(objects[place], known[place], objects[viewed], ops)
        if self.arrange is None:
            return objects[self.results[0]]
        return self.arrange([objects[k] for k in self.results])


def _share(out: Any, value: Any, operand: Any, ops: Any) -> None:
    """Note that a result is a view, if it is, also one without axes, which is held as a number."""
    if type(value) is _ndarray and value.base is not None:
        out._value = value
        share(out, operand, ops)
        if not value.ndim:
            out._value = value[()]


def _own_constant(x: Any) -> Any:
    """A constant of one call, since recordings tell constants apart by identity; a number of Python's as it is."""
    return x if type(x) in NUMBERS else wrap(x.copy() if type(x) is _ndarray else type(x)(x))


def _unshared(value: Any) -> Any:
    """Return copies of views, whose memory may change; anything else as it is."""
    if type(value) is tuple:
        return tuple(map(_unshared, value))
    return value.copy() if type(value) is _ndarray and value.base is not None else value


# -- making a plan ----------------------------------------------------------------------------------------------------
def plan_of(answer: Answer, ours: Any, views: bool) -> Plan:
    """Return the plan by which such calls are answered from now on.

    `views`: NumPy's results may share memory with the operands.
    """
    places = {node: k for k, node in enumerate([*answer.inputs, *answer.constants])}
    end = len(places)
    depends = {k: {k} if k < len(answer.inputs) else set() for k in range(end)}
    last = next((node for node in reversed(answer.ops) if node.op is not ITEM), None)
    steps = []
    for node in answer.ops:
        if node.op is ITEM:
            places[node] = places[node.inputs[0]] + node.param("index")
            continue
        compute = _ravel if ours is ravel and node is last else _computation(node)
        if not views and node in answer.results and _is_view(answer, node):
            compute = _copied(compute)
        if lies_in_rows(ours) and node in answer.results:
            compute = _in_rows(compute)
        inputs = tuple([places[i] for i in node.inputs])
        operands = set().union(*[depends[k] for k in inputs])
        steps.append(Step(compute, node.op, node.params, inputs, tuple(operands)))
        places[node] = end
        for _ in node.type if node.op.multi else (node.type,):
            depends[end] = operands
            end += 1
    chains = [(places[node], *_chain(answer, node, places)) for node in answer.results] if views else []
    kind = answer.kind
    return Plan(
        steps,
        [node.value for node in answer.constants],
        [places[node] for node in answer.results],
        [(place, viewed, ops) for place, viewed, ops in chains if viewed is not None],
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


def _in_rows(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Return a computation whose result lies row by row in memory."""

    def computed(*values: Any) -> Any:
        found = compute(*values)
        return np.asarray(found, order="C") if type(found) is _ndarray else found

    return computed


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
