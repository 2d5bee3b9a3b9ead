"""Write Hessians of sums over pairs, bonds, edges: functions that read their input row by row.

    d = x[i] - x[j]                 d = x[:, None] - x
    energy = np.sum(f(d))           energy = np.sum(f(d))

Row p of `d` depends on two rows of x, and what follows keeps the rows of `d` apart. So its second derivatives are one
small matrix for each row, from as many tangents as a row has elements; each is added where its rows of x meet. Along
the unit vectors of x every tangent would go through all rows of `d`, most of which do not move.

A front is such a `d`: the last value on the way from x that is a sum of readings of x. Where x is read in several ways
there are several, and a block for each pair of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tapec.autodiff import tuning
from tapec.autodiff.compose.inline_graph import copy_into
from tapec.autodiff.forward import jvp_graph
from tapec.autodiff.jacobian.basis import Basis, Rows
from tapec.autodiff.jacobian.basis_pushforward import along_basis
from tapec.autodiff.jacobian.basis_rules import spelled_out
from tapec.autodiff.jacobian.early_gather import picked_early
from tapec.autodiff.jacobian.parameter_blocks import starting_from
from tapec.autodiff.reverse import value_and_grad_graph
from tapec.autodiff.symbolic.symbolic_zeros import Zero, matched
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CT, Builder, Graph, Node, OpSet, OpTable, Type, is_literal, ops, prune
from tapec.ir.static_index import Slot
from tapec.ops import Symbol, apply
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE, SCATTER

__all__ = ["hessian_by_rows"]


class Reading(NamedTuple):
    """Describes a value that is read from `root`, which is x in some shape, times a number.

    `parts` has, for each axis of the root, the place that is read, or the array of the places, or None for all of them;
    `axes`, for each axis of the value, which of these it goes along. Those along which it is the same, or has one
    element, go along none.
    """

    root: Node
    parts: tuple[Any, ...]
    axes: tuple[int | None, ...]
    scale: float = 1.0


Known = dict[Node, tuple[Reading, ...]]


class Front(NamedTuple):
    """Describes a value that is a sum of readings. Its rows are told by `own` axes, an element of a row by the
    `rest`."""

    node: Node
    readings: tuple[Reading, ...]

    @property
    def own(self) -> list[int]:
        """Along which a reading does not change, or takes what an array names."""
        return [
            k for k in self._long if any([(a := r.axes[k]) is None or _is_array(r.parts[a]) for r in self.readings])
        ]

    @property
    def rest(self) -> list[int]:
        own = self.own
        return [k for k in self._long if k not in own]

    @property
    def _long(self) -> list[int]:
        return [k for k, n in enumerate(self.node.type.shape) if n != 1]

    def lengths(self, axes: Sequence[int]) -> tuple[int, ...]:
        return tuple([self.node.type.shape[k] for k in axes])


def _is_array(part: Any) -> bool:
    return type(part) is Node


def hessian_by_rows(graph: Graph, w: int) -> Graph | None:
    """The Hessian of the first output by the input `w`; None where it is not read by rows, or rows mix."""
    x = graph.inputs[w]
    if x.type.dtype.kind != "f" or x.type.size < 2 or any([n.op.kind in ("custom", "call") for n in graph.nodes]):
        return None
    graph = picked_early(prune(Graph(graph.inputs, graph.nodes, graph.outputs[:1], graph.name)))
    if not any([f.own for f in _fronts(graph, x)]):
        return None
    merged = Builder()
    graph = merged.graph(graph.inputs, copy_into(merged, graph, graph.inputs), graph.name)
    fronts = list(_fronts(graph, x))
    width = sum([math.prod(f.lengths(f.rest)) for f in fronts if f.own])
    if len(fronts) > tuning.FRONTS_MAX or width >= x.type.size:
        return None
    return _Assembly(graph, x, fronts).graph()


# -- fronts -----------------------------------------------------------------------------------------------------------
def _fronts(graph: Graph, x: Node) -> Iterator[Front]:
    known: Known = {x: (_root(x),)}
    for node in graph.nodes:
        found = _sum_of_readings(node, known)
        if found is not None and len(found) <= tuning.FRONT_MAX_READINGS:
            known[node] = found
    ends = {_bare(i, known) for n in graph.nodes if n not in known for i in n.inputs if i in known}
    return (Front(node, readings) for node, readings in known.items() if node in ends)


def _bare(node: Node, known: Known) -> Node:
    """A value before its sign, its scale, the order of its axes, and axes of one element: all these are one front."""
    while node.op in _UNARY:
        before = next(i for i in node.inputs if i in known)
        if sorted(n for n in before.type.shape if n != 1) != sorted(n for n in node.type.shape if n != 1):
            return node
        node = before
    return node


def _root(x: Node) -> Reading:
    long = [n != 1 for n in x.type.shape]
    return Reading(x, tuple([None if n else 0 for n in long]), tuple([k if n else None for k, n in enumerate(long)]))


def _sum_of_readings(node: Node, known: Known) -> tuple[Reading, ...] | None:
    """The readings whose sum an operation gives, if that is what it is."""
    of = [known.get(i) for i in node.inputs]
    op = node.op
    if op in _MOVING and of[0] is not None and not any(of[1:]):
        moved = [m for r in of[0] if (m := _MOVING[op](node, r)) is not None]
        return tuple(moved) if len(moved) == len(of[0]) else None
    if op is ops.negative and of[0] is not None:
        return _scaled(of[0], -1.0)
    if op in (ops.multiply, ops.divide) and len(list(filter(None, of))) == 1 and (of[0] or op is ops.multiply):
        k = 0 if of[0] else 1
        number = node.inputs[1 - k]
        if is_literal(number) and type(number.value) in (int, float) and 1e-9 < abs(number.value) < 1e9:
            return _scaled(of[k], number.value if op is ops.multiply else 1 / number.value)
    if op in (ops.add, ops.subtract) and None not in of:
        a, b = [[_broadcast(node, r, i.type.ndim) for r in rs or ()] for rs, i in zip(of, node.inputs)]
        return tuple(a) + (tuple(b) if op is ops.add else _scaled(b, -1.0))
    return None


def _scaled(readings: Any, scale: float) -> tuple[Reading, ...]:
    return tuple([r._replace(scale=r.scale * scale) for r in readings])


def _broadcast(node: Node, of: Reading, ndim: int) -> Reading:
    """Return a reading with ones in front; a long axis goes along none where there was a single element."""
    return of._replace(axes=(*[None] * (node.type.ndim - ndim), *of.axes))


def _broadcast_to(node: Node, of: Reading) -> Reading:
    return _broadcast(node, of, node.inputs[0].type.ndim)


def _transposed(node: Node, of: Reading) -> Reading:
    return of._replace(axes=tuple([of.axes[k] for k in node.param("axes")]))


def _shaped(node: Node, of: Reading) -> Reading | None:
    """Axes of a single element come and go; else it must be the root, in another shape."""
    old, new = node.inputs[0].type.shape, node.type.shape
    if [n for n in old if n != 1] == [n for n in new if n != 1]:
        left = iter([a for a, n in zip(of.axes, old) if n != 1])
        return of._replace(axes=tuple([next(left) if n != 1 else None for n in new]))
    whole = _root(of.root)
    if of.parts != whole.parts or [a for a in of.axes if a is not None] != [a for a in whole.axes if a is not None]:
        return None
    return _root(node)._replace(scale=of.scale) if math.prod(old) == of.root.type.size else None


def _indexed(node: Node, of: Reading) -> Reading | None:
    """Single places, all of an axis, new axes; or one array of places."""
    index = spelled_out(node.param("index"), len(of.axes))
    parts, axes, left = list(of.parts), [], iter(of.axes)
    arrays = node.inputs[1:]
    if not all([p is None or p == FULL_SLICE or type(p) is (Slot if arrays else int) for p in index]):
        return None
    if arrays and (len(arrays) > 1 or arrays[0].type.ndim != 1 or arrays[0].type.size < 2):
        return None
    for p in index:
        along = None if p is None else next(left)
        if along is not None and p != FULL_SLICE:
            if _is_array(parts[along]) or (arrays and arrays[0].type.dtype.kind not in "iu"):
                return None
            parts[along] = arrays[0] if arrays else p
        if type(p) is not int:
            axes.append(along)
    return Reading(of.root, tuple(parts), tuple(axes), of.scale)


_UNARY = OpSet("negative multiply divide reshape transpose")
_MOVING = OpTable({"getitem": _indexed, "reshape": _shaped, "transpose": _transposed, "broadcast_to": _broadcast_to})


# -- blocks -----------------------------------------------------------------------------------------------------------
class _Assembly:
    """Holds the second derivatives by fronts, and what they add up to: `sums`, by how they are laid out."""

    def __init__(self, graph: Graph, x: Node, fronts: Sequence[Front]):
        self.start = graph
        self.x = x
        self.fronts = fronts
        self.builder = Builder()
        self.sums: dict[Any, Any] = {}
        arrays = list({p: None for f in fronts for r in f.readings for p in r.parts if _is_array(p)})
        reading = prune(Graph(graph.inputs, graph.nodes, [*[f.node for f in fronts], *arrays], graph.name))
        made = [Symbol(node, self.builder) for node in copy_into(self.builder, reading, graph.inputs)]
        self.values = made[: len(fronts)]
        self.arrays = dict(zip(arrays, made[len(fronts) :]))

    def graph(self) -> Graph | None:
        start, fronts, builder = self.start, self.fronts, self.builder
        n = len(start.inputs)
        apart = prune(starting_from(start, [f.node for f in fronts]))
        joint = value_and_grad_graph(apart, range(n, n + len(fronts)))
        given = [*[Symbol(i, builder) for i in start.inputs], *self.values]
        for i, a in enumerate(fronts):
            gradients = prune(Graph(joint.inputs, joint.nodes, joint.outputs[1 + i :], start.name))
            moved = jvp_graph(gradients, [n + i])
            push = Graph(moved.inputs, moved.nodes, moved.outputs[len(gradients.outputs) :], start.name)
            basis = Basis(builder, a.node.type.shape)
            for b, found in zip(fronts[i:], along_basis(basis, push, [*given, basis.seed(a.node.type)]), strict=True):
                if isinstance(found, Rows) and not self.add(basis, found, a, b):
                    return None
        return prune(builder.graph(start.inputs, [self.total().node], start.name))

    def add(self, basis: Basis, found: Rows, a: Front, b: Front) -> bool:
        """Take in the derivatives by two fronts, if their rows do not mix."""
        pairs = list(zip(a.own, b.own))
        lengths = a.lengths(a.own)
        if lengths != b.lengths(b.own) or not set(pairs) <= set(found.pairs):
            return False
        self.builder.origin, self.builder.role = a.node.origin, CT
        data = basis.settled(found, pairs).product.data
        rank = basis.rank
        shape = [1 if k in a.own else n for k, n in enumerate(a.node.type.shape)] + list(b.node.type.shape)
        order = [*[rank + k for k in b.own], *a.rest, *[rank + k for k in b.rest]]
        data = np.transpose(np.broadcast_to(data, shape), [*order, *[k for k in range(len(shape)) if k not in order]])
        width, other = a.lengths(a.rest), b.lengths(b.rest)
        whole = Type((*lengths, *width, *other), self.x.type.dtype)
        block = matched(np.reshape(data, whole.shape), whole)
        self.place(block, a, b)
        if a is not b:
            k, middle, n = len(lengths), len(lengths) + len(width), block.ndim
            self.place(np.transpose(block, (*range(k), *range(middle, n), *range(k, middle))), b, a)
        self.builder.origin = self.builder.role = None
        return True

    def place(self, block: Any, a: Front, b: Front) -> None:
        """Add a block where the readings of two fronts meet in x. Its axes: rows, then the rest of either."""
        for one in a.readings:
            for two in b.readings:
                along = [(one.axes[j], two.axes[k]) for j, k in zip(a.own, b.own)]
                alone = tuple([k for k, pair in enumerate(along) if pair == (None, None)])
                part = np.sum(block, axis=alone) if alone else block
                scale = one.scale * two.scale
                rest = [one.axes[k] for k in a.rest], [two.axes[k] for k in b.rest]
                meeting = Meeting.of(one, two, [pair for pair in along if pair != (None, None)], rest)
                self.meet(part * scale if scale != 1 else part, meeting)

    def meet(self, part: Any, at: Meeting) -> None:
        """Add what is known of two readings, at its places."""
        rows, lengths = len(at.along), part.shape
        index, arrays = list(at.parts), []
        if at.is_told_by_arrays:
            for k, pair in enumerate(at.along):
                for axis in [axis for axis in pair if axis is not None]:
                    places = self.arrays[index[axis]] if _is_array(index[axis]) else self.numbers(lengths[k])
                    shape = [-1 if j == k else 1 for j in range(rows)]
                    arrays.append(np.reshape(places, shape) if rows > 1 else places)
                    index[axis] = Slot(len(arrays) - 1)
        else:  # each of its axes is one of a root's, whole
            steps = [axis for pair in at.along for axis in pair if axis is not None]
            order = [steps.index(axis) for axis in at.order if axis in steps]
            part = np.transpose(part, [*order, *range(rows, part.ndim)])
        index = [FULL_SLICE if index[axis] is None else index[axis] for axis in at.order]
        while index and index[-1] == FULL_SLICE:
            index.pop()
        if index:
            distinct = at.is_told_by_arrays and not any(map(_is_array, at.parts))
            params: Any = (("shape", at.shape), ("index", tuple(index)))
            part = apply(SCATTER, (part, *arrays), (*params, ("unique", True)) if distinct else params)
        layout = at.order, at.shape
        self.sums[layout] = self.sums[layout] + part if layout in self.sums else part

    def numbers(self, n: int) -> Any:
        return Symbol(self.builder.constant(np.arange(n)), self.builder)

    def total(self) -> Any:
        """Return the sum of all blocks, in the shape of x twice."""
        self.builder.role = CT
        whole = Type(self.x.type.shape * 2, self.x.type.dtype)
        total: Any = Zero(whole, self.builder)
        for (order, _), part in self.sums.items():
            back = [order.index(k) for k in range(len(order))]
            total = total + np.reshape(np.transpose(part, back), whole.shape)
        return total


class Meeting(NamedTuple):
    """Holds two readings, whose axes are counted as those of both roots in a row.

    `parts` are what they read of these; each axis of rows goes `along` one of the first, one of the second, or both.
    The sum is laid out in another order: the axes of rows before those of elements.
    """

    parts: tuple[Any, ...]
    along: list[tuple[int | None, int | None]]
    order: tuple[int, ...]
    shape: tuple[int, ...]

    @classmethod
    def of(cls, one: Reading, two: Reading, along: Any, rest: Any) -> Meeting:
        n = len(one.parts)
        parts, lengths = one.parts + two.parts, one.root.type.shape + two.root.type.shape
        elements = [*rest[0], *[n + k for k in rest[1]]]
        order = (*[k for k in range(len(parts)) if k not in elements], *elements)
        both = [(j, None if k is None else n + k) for j, k in along]
        return cls(parts, both, order, tuple([lengths[k] for k in order]))

    @property
    def is_told_by_arrays(self) -> bool:
        """Return whether index arrays tell the places, of rows that both go along, or that one names."""
        return any([None not in pair for pair in self.along]) or any(map(_is_array, self.parts))
