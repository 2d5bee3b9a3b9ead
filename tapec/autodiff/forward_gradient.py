"""Carry gradients with respect to few numbers forwards beside the values: one loop, which keeps nothing.

Backwards, a loop keeps what its steps computed, and a second one goes through all that once more. An expert who
differentiates a simulation by its step, or a likelihood by one variance, writes one loop in which each state has its
derivative next to it. That is less work by one number, and by two or three where most operations depend on one of them.

Only operations of which the tangent and the cotangent come from one definition are taken this way, so that kinks have
the same derivatives both ways.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cache
from typing import Any

import numpy as np

from tapec.autodiff import tuning
from tapec.autodiff.composite.composites import Composites
from tapec.autodiff.constant_slopes import plain_slopes
from tapec.autodiff.forward import push
from tapec.autodiff.linearity import linear_inputs
from tapec.autodiff.rule_application import carries, fit, plain
from tapec.autodiff.symbolic.signed_cotangents import Uniform, settled
from tapec.autodiff.symbolic.symbolic_zeros import Zero
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, CT, Builder, Graph, Node, Op, Type, ops, prune
from tapec.ir.flops import flops
from tapec.ir.source_location import variable_for
from tapec.ops import Symbol
from tapec.ops.indexing.getitem_and_scatter import GETITEM

__all__ = ["Number", "less_work", "values_and_tangents"]

FLOATS = "fd"
KINDS = frozenset(["elementwise", "layout", "rearrangement", "indexing", "reduction", "product", "cumulative"])


class Number(NamedTuple):
    """Describes one number to differentiate with respect to: an input of one element, or the nodes that read one
    element of an input."""

    name: str
    nodes: tuple[Node, ...]


# -- is it less work? -------------------------------------------------------------------------------------------------
def less_work(graph: Graph, wrt: Sequence[int]) -> list[Number] | None:
    """The numbers that the inputs hold, if it is less work to carry their derivatives forwards."""
    numbers = _numbers(graph, wrt)
    if numbers is None:
        return None
    work = Work(numbers)
    for node in graph.nodes:
        if work.has_derivative(node):
            if not _has_tangent(node, work.along):
                return None
            work.take(node)
    has_blocks = work.largest >= tuning.FORWARD_BLOCKS_MIN_ELEMENTS
    if work.operations < (tuning.FORWARD_LISTS_MIN_OPS if has_blocks else tuning.FORWARD_MIN_OPS):
        return None
    is_less = len(numbers) == 1 or work.forwards <= tuning.FORWARD_MAX_SHARE_OF_WORK * work.all_backwards()
    return numbers if is_less else None


def _numbers(graph: Graph, wrt: Sequence[int]) -> list[Number] | None:
    """The elements of inputs, one by one; None where an input is not read that way."""
    numbers: list[Number] = []
    for x in [graph.inputs[w] for w in wrt]:
        if x.type.dtype.char not in FLOATS:
            return None
        if x.type.size == 1:
            numbers.append(Number(x.name or "x", (x,)))
            continue
        reads: dict[tuple[int, ...], list[Node]] = {at: [] for at in np.ndindex(x.type.shape)}
        for node in graph.nodes:
            if x in node.inputs:
                at = _place(node, x.type.shape)
                if at is None:
                    return None
                reads[at].append(node)
        numbers += [Number(f"{x.name or 'x'}{k}", tuple(r)) for k, r in enumerate(reads.values())]
    return numbers


def _place(node: Node, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the element of its operand that a node reads; None if it does not read one element."""
    index = node.param("index") if node.op is GETITEM and len(node.inputs) == 1 else ()
    if len(index) != len(shape) or not all([type(i) is int for i in index]):
        return None
    return tuple([i % n for i, n in zip(index, shape, strict=True)])


class Work:
    """Estimates from types how many operations derivatives take.

    Forwards they are a product for each operand that moves, and their sum, along each number; backwards a product for
    each operand, and a sum where a value has several uses. `along` has the numbers that each value depends on, as bits,
    `kept` what the way back reads.
    """

    def __init__(self, numbers: Sequence[Number]):
        self.along = {node: 1 << k for k, number in enumerate(numbers) for node in number.nodes}
        self.ones = frozenset(self.along)
        self.kept: set[Node] = set()
        self.used: set[Node | int] = set()
        self.forwards = self.backwards = self.largest = 0

    def has_derivative(self, node: Node) -> bool:
        """Return whether a node depends on one of the numbers, and is none of them."""
        reaches = any([i in self.along for i in node.inputs])
        return reaches and node not in self.ones and node.op.gradient == "yes" and carries(node)

    def take(self, node: Node) -> None:
        size = flops(node) if node.op.kind == "product" else node.type.size
        self.largest = max(self.largest, node.type.size)
        is_added = _added(node.op, len(node.inputs))
        along = terms = 0
        for k, i in enumerate(node.inputs):
            if i in self.along and i not in node.inputs[:k]:  # of a square there is one
                along |= self.along[i]
                terms += self.along[i].bit_count()
                used = self.along[i] if i in self.ones else i
                self.backwards += i.type.size * (used in self.used)
                self.used.add(used)
                if not is_added[k]:
                    self.backwards += size
                    self.forwards += size * self.along[i].bit_count() * (i not in self.ones)
                    self.kept.update([x for x in node.inputs if x is not i] or [i])
        self.forwards += size * (terms - along.bit_count())
        self.along[node] = along

    @property
    def operations(self) -> int:
        return len(self.along) - len(self.ones)

    def all_backwards(self) -> int:
        """Return the work of the whole way back, and of keeping values for it."""
        kept = sum([node.type.size for node in self.kept if node.inputs and node not in self.ones])
        has_lists = self.operations >= tuning.FORWARD_LISTS_MIN_OPS
        return self.backwards + (tuning.LISTED_VALUE_COST * kept if has_lists else 0)


def _has_tangent(node: Node, moving: Container[Node]) -> bool:
    op = node.op
    if op.kind not in KINDS or op.multi or node.type.dtype.char not in FLOATS:
        return False
    if op.partials is not None or op.jvp is not None:
        return True
    linear = linear_inputs(op, len(node.inputs))
    return all([k in linear for k, i in enumerate(node.inputs) if i in moving])


@cache
def _added(op: Op, count: int) -> tuple[bool, ...]:
    """Return for each operand whether its tangent is only added, or moved; a product is made of the others."""
    slopes = plain_slopes(op, count) if op.kind == "elementwise" else None
    moved = op.kind not in ("elementwise", "product") or op is ops.where
    return tuple([isinstance(s, int) for s in slopes]) if slopes is not None else (moved,) * count


# -- the program ------------------------------------------------------------------------------------------------------
def values_and_tangents(graph: Graph, wrt: Sequence[int], numbers: Sequence[Number]) -> Graph:
    """Return a graph of all outputs, and then the gradients of the first: its tangents along the numbers of these
    inputs."""
    builder = Builder()
    known: dict[Node, Node] = {i: i for i in graph.inputs}
    moving = [{node: Uniform(plain(node.type), 1.0, builder) for node in number.nodes} for number in numbers]
    apart = frozenset([node for number in numbers for node in number.nodes])
    composites = Composites(apart, graph.nodes)
    for node in graph.nodes:
        if node.op is CONSTANT:
            known[node] = builder.constant(node.value, node.name)
            continue
        known[node] = builder.add(node.with_inputs(tuple([known[i] for i in node.inputs])))
        if node.op.gradient == "yes" and node not in apart:
            builder.origin, builder.role = node.origin, CT
            for number, tangents in zip(numbers, moving, strict=True):
                if any([i in tangents for i in node.inputs]):
                    push(builder, node, tangents, composites, known.__getitem__, signed=True)
                    _name_tangents(tangents, node, number)
            builder.origin = builder.role = None
    outputs = [known[o] for o in graph.outputs]
    builder.role = CT
    found = iter([_as_number(builder, tangents.get(graph.outputs[0])) for tangents in moving])
    grads = [_gradient(builder, found, plain(graph.inputs[w].type)) for w in wrt]
    return prune(builder.graph(graph.inputs, [*outputs, *grads], graph.name))


def _as_number(builder: Builder, tangent: Any) -> Any:
    """The tangent of the loss, which may be an array of one element, or missing."""
    if tangent is None:
        return Zero(Type((), np.dtype(float)), builder)
    found = settled(tangent)
    return np.reshape(found, ()) if found.shape else found


def _name_tangents(tangents: dict[Node, Any], node: Node, number: Number) -> None:
    """Call a tangent after what it is, `dh_dk` for the derivative of `h` by `k`; so it has its own sign."""
    name = (node.name or variable_for(node)) if node in tangents else None
    if name is not None:
        tangents[node] = tangent = settled(tangents[node], may_be_uniform=True)
        if type(tangent) is Symbol and tangent.node.name is None and tangent.node.role is CT:
            tangent.node.name = f"d{name}_d{number.name}"


def _gradient(builder: Builder, found: Any, t: Type) -> Node:
    """Return the gradient with respect to an input: the next tangents, one for each of its elements."""
    parts = [fit(builder, next(found), Type((), t.dtype)) for _ in range(t.size)]
    if not t.shape:
        return parts[0].node
    x: Any = np.stack([Symbol(p.node, builder) for p in parts])
    x = np.reshape(x, t.shape)
    return x.node
