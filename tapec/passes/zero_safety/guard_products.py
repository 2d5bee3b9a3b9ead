"""`guards` keeps factors that may be inf or nan away from places of cotangents where nothing flows.

A cotangent is empty in places: zero, because nothing was read or selected there (`zero_regions.py`). Sums, changes of
layout and products keep such places in ways that no pattern can follow, so one walk over the program does. Where such
a cotangent is about to meet a factor that may be infinite or nan (`may_be_nonfinite.py`), the factor is kept to the
places where something flows: `ct * b` becomes `ct * where(ct != 0, b, 0)`, and `ct / b` becomes
`ct / where(ct != 0, b, 1)`.

The rules of `rules/selection/masks.py` and `scatter_products.py` did the common cases before, without a guard.

Derivatives are all taken by then, so it is enough that the values are right.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CT, Builder, Graph, Node, is_literal, ops, prune
from tapec.ir.static_index import Slice, Slot
from tapec.ops import Symbol
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE, GETITEM, are_apart, is_added_up
from tapec.ops.indexing.setitem import setitem
from tapec.ops.linalg.named_axes import axis_names
from tapec.passes.engine.node_facts import is_zero
from tapec.passes.zero_safety.may_be_nonfinite import may_be_wild
from tapec.passes.zero_safety.placed_cotangents import PRODUCTS, SOURCES
from tapec.passes.zero_safety.zero_regions import Empty, is_chosen, keeps_axes, may_be_empty

__all__ = ["guards", "multiplies_with_nothing"]

ELEMENTWISE = frozenset({"multiply", "divide", "negative", "where", "cast", "broadcast_to"})


def guards(graph: Graph) -> Graph:
    """Keep infinities out of products with nothing."""
    if not multiplies_with_nothing(graph):
        return graph
    walk = Walk(graph)
    for node in graph.nodes:
        walk.visit(node)
    if not walk.new:
        return graph
    return Graph(graph.inputs, walk.nodes, [walk.new.get(o, o) for o in graph.outputs], graph.name)


def multiplies_with_nothing(graph: Graph) -> bool:
    """Is there a product or a quotient of a cotangent that may be empty, and of more than a number?"""
    empty: dict[Node, Empty] = {}
    are_full = empty.keys().isdisjoint
    for node in graph.nodes:
        if node.role is not CT:
            continue
        name = node.op.name
        if are_full(node.inputs):
            if name not in SOURCES:
                continue
        elif name in PRODUCTS and not any([is_literal(i) for i in node.inputs]):
            return True
        found = may_be_empty(node, [empty.get(i) for i in node.inputs])
        if found is not None:
            empty[node] = found
    return False


class Written(NamedTuple):
    """Lines in which something flows, and which they are: a slice, or a slot and the array for it."""

    lines: Node
    places: tuple[Any, ...]


class Walk(Builder):
    """What is known of the nodes so far, and the new graph."""

    __slots__ = ("began", "data", "empty", "made", "new", "wild")

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.role = CT
        self.new: dict[Node, Node] = {}
        self.empty: dict[Node, Empty] = {}
        self.began: dict[Node, Node] = {}  # what products of it are empty with
        self.wild: set[Node] = set()  # what may be infinite though the user's arrays are not
        self.data = {i for i in graph.inputs if i.type.dtype.kind in "fc"}  # and what these have a part in
        self.made: dict[Node, Node] = {}  # what computed the inputs that are values of another program
        if graph.past is not None:
            self.recall(graph.inputs, graph.past)

    def recall(self, inputs: Sequence[Node], past: Graph) -> None:
        """What is known of inputs from what computed them."""
        for node in prune(past).nodes:
            self.learn(node)
        for i, value in zip(inputs, past.outputs, strict=True):
            self.made[i] = value
            if value in self.wild:
                self.wild.add(i)
            if value in self.empty:
                self.empty[i] = self.empty[value]

    def visit(self, node: Node) -> None:
        new, known = self.new, node
        if new and any([i in new for i in node.inputs]):
            node = node.with_inputs(tuple([new.get(i, i) for i in node.inputs]))
        if node.role is CT:
            self.origin = node.origin
            node = self.guarded(node) or node
        if node is not known:
            new[known] = node
        self.learn(node)
        self.append(node)

    def learn(self, node: Node) -> None:
        if may_be_wild(node, self.wild):
            self.wild.add(node)
        elif not node.op.multi and node.type.dtype.kind in "fc" and not self.data.isdisjoint(node.inputs):
            self.data.add(node)
        if node.role is CT:
            found = may_be_empty(self.spelled(node), [self.empty.get(i) for i in node.inputs])
            if found is not None:
                self.empty[node] = found
                before = self.before(node)
                if before is not None:
                    self.began[node] = self.began.get(before, before)

    def spelled(self, node: Node) -> Node:
        """The same selection by a condition that tells what it was put together from."""
        if node.op is not ops.where or node.inputs[0] not in self.made:
            return node
        return node.with_inputs((self.made[node.inputs[0]], *node.inputs[1:]))

    # -- which products -----------------------------------------------------------------------------------------------
    def guarded(self, node: Node) -> Node | None:
        """A product or quotient with its other operand kept to where something flows; None where that may stay."""
        name = node.op.name
        if name == "multiply":
            return self.product(node)
        elif name == "divide":
            part, other = node.inputs
            if self.must_not_meet(part, other) or (part in self.empty and may_be_wild(node, ())):
                return node.with_inputs((part, self.kept(part, other, 1)))
        elif name in PRODUCTS:
            return self.contraction(node)
        return None

    def product(self, node: Node) -> Node | None:
        """Both factors may have to be kept from one another."""
        a, b = node.inputs
        left = self.kept(b, a, 0) if self.must_not_meet(b, a) else a
        right = self.kept(a, b, 0) if self.must_not_meet(a, b) else b
        return None if left is a and right is b else node.with_inputs((left, right))

    def must_not_meet(self, part: Node, other: Node) -> bool:
        """May the one be empty where the other is infinite or nan? The user's arrays count where the user chose."""
        found = self.empty.get(part)
        if found is None:
            return False
        return other in self.wild or (found.chosen > 0 and other in self.data and not other.type.weak)

    def contraction(self, node: Node) -> Node | None:
        """A sum of products of which one factor may be empty along axes that both have.

        The user's arrays count only where that is all there is to it, or where lines were chosen: then the mask is a
        vector, and costs nothing. Of lines among zeros no mask is needed: they are multiplied with the lines that they
        meet, which is less work; so are the lines of a slice. Some of these may be empty, too.
        """
        found = axis_names(node)
        if found is None:
            return None
        for k in (0, 1):
            part, other = node.inputs[k], node.inputs[1 - k]
            own, others = found[0][k], found[0][1 - k]
            empty = self.empty.get(part)
            if empty is None or not empty.chosen:
                continue
            shared = [i for i, name in enumerate(own) if empty.axes >> i & 1 and name in others]
            whole = other in self.wild or len(shared) == empty.axes.bit_count()
            met = [(i, others.index(own[i])) for i in shared if self.has_chosen_lines(part, i)]
            met = [(i, j) for i, j in met if part.type.shape[i] == other.type.shape[j]]
            if not shared or not (other in self.wild or (other in self.data and (whole or met))):
                continue
            for i, j in met:
                written = self.written(part, i) if own[i] not in found[1] else None
                if written is not None:
                    part, other = written.lines, self.lines(other, j, *written.places)
                    less = node.with_inputs((part, other) if k == 0 else (other, part))
                    return self.contraction(less) or less
            kept = self.kept_along(part, other, own, others) if whole else self.kept_lines(part, other, met)
            return node.with_inputs((part, kept) if k == 0 else (kept, part))
        return None

    def has_chosen_lines(self, part: Node, axis: int) -> bool:
        """Did the user choose among whole lines along this axis?"""
        empty = self.empty.get(part)
        return empty is not None and bool(empty.lines & empty.chosen & 1 << axis)

    def lines(self, of: Node, axis: int, place: Any, *arrays: Node) -> Node:
        """Lines of a slice, or of an array of places; of a transposed array before that is transposed."""
        if of.op is ops.transpose:
            axes = of.param("axes")
            turned: Any = np.transpose(Symbol(self.lines(of.inputs[0], axes[axis], place, *arrays), self), axes)
            found: Node = turned.node
        else:
            found = self.emit(GETITEM, (of, *arrays), (("index", (*(FULL_SLICE,) * axis, place)),))
        self.learn(found)
        return found

    # -- how ----------------------------------------------------------------------------------------------------------
    def flows(self, part: Node) -> Any:
        """Where something flows: where that is selected, or simply where it is not zero.

        What products with others made of it is asked where it began, so that a chain of them has one mask.
        """
        part = self.began.get(part, part)
        if part.op is ops.where and is_zero(part.inputs[2]):
            return Symbol(part.inputs[0], self)
        return Symbol(part, self) != 0

    def before(self, part: Node) -> Node | None:
        """The one operand for which a product may be empty, if it has the product's shape."""
        if part.op not in (ops.multiply, ops.divide, ops.negative):
            return None
        found = [i for i in part.inputs if i in self.empty]
        return found[0] if len(found) == 1 and found[0].type.shape == part.type.shape else None

    def kept(self, part: Node, other: Node, nothing: int) -> Node:
        """An operand where something flows, a number elsewhere. It may still be infinite, and the result then is."""
        if other.type.weak:  # one among an array's elements has their dtype
            kind = 1j if other.type.dtype.kind == "c" else 1.0
            other = Symbol(other, self).astype(np.result_type(part.type.dtype, kind)).node
        return self.chosen(self.flows(part), other, nothing)

    def chosen(self, flows: Any, other: Node, nothing: int) -> Node:
        safe: Any = np.where(flows, Symbol(other, self), nothing)
        if other in self.empty:
            self.empty[safe.node] = self.empty[other]
        return safe.node

    def kept_along(self, part: Node, other: Node, own: Sequence[str], others: Sequence[str]) -> Node:
        """The same where axes have names: what meets only zeros is not needed."""
        flows = self.flows(part)
        flows = np.reshape(flows, (1,) * (len(own) - flows.ndim) + flows.shape)
        alone = tuple([k for k, name in enumerate(own) if name not in others])
        if alone:
            flows = np.any(flows, axis=alone)
        left = [name for name in own if name in others]
        order = [name for name in others if name in left]
        flows = np.transpose(flows, [left.index(name) for name in order])
        sizes = dict(zip(order, flows.shape, strict=True))
        return self.chosen(np.reshape(flows, [sizes.get(name, 1) for name in others]), other, 0)

    def kept_lines(self, part: Node, other: Node, met: Sequence[tuple[int, int]]) -> Node:
        """The same where whole lines were chosen along axes: of the one, and of the other."""
        for own, axis in met:
            flows = np.reshape(self.flowing_lines(part, own), (-1,) + (1,) * (other.type.ndim - 1 - axis))
            other = self.chosen(flows, other, 0)
        return other

    def flowing_lines(self, part: Node, axis: int) -> Any:
        """Along an axis, where anything flows: where the user's conditions hold, or at the places that were written."""
        *_, (start, k) = chain = self.line_chain(part, axis)
        conditions = [found for node, axis in chain if (found := line_condition(node, axis)) is not None]
        masks: list[Any] = [np.reshape(Symbol(c, self), (-1,)) for c in conditions]
        place = places_along(start, k) if start.op is ops.scatter else None
        if type(place) is Slot:
            blank = np.zeros_like(Symbol(start, self), dtype=bool, shape=start.type.shape[k])
            masks.append(setitem(blank, True, (Slot(0),), (np.ravel(Symbol(start.inputs[1 + place.k], self)),)))
        elif line_condition(start, k) is None:
            masks.append(np.any(Symbol(start, self) != 0, axis=tuple([i for i in range(start.type.ndim) if i != k])))
        return functools.reduce(np.logical_and, masks)

    def written(self, part: Node, axis: int) -> Written | None:
        """The lines in which something flows, if nothing else is chosen: of a slice, or of an array of places.

        As they were before they were written, an array may name a place twice; as they are there, each once.
        """
        *chain, (start, k) = self.line_chain(part, axis)
        if start.op is not ops.scatter or any([line_condition(node, axis) is not None for node, axis in chain]):
            return None
        place = places_along(start, k)
        if start is part and is_of_lines(part, axis):
            return Written(part.inputs[0], (place, part.inputs[1]))
        if type(place) is Slot and not is_added_up(start):
            array: Any = np.ravel(Symbol(start.inputs[1 + place.k], self))
            return self.read_again(part, axis, Slot(0), array.node)
        return self.read_again(part, axis, place) if type(place) is Slice and place != FULL_SLICE else None

    def read_again(self, part: Node, axis: int, *places: Any) -> Written:
        """Lines of what was written, none of which is empty because the user left it out."""
        found, empty = self.lines(part, axis, *places), self.empty[part]
        left = ~(1 << axis)
        axes, chosen = empty.axes & left, empty.chosen & left
        if axes:
            self.empty[found] = Empty(axes, chosen, lines=empty.lines & left)
        else:
            self.empty.pop(found, None)
        return Written(found, places)

    def line_chain(self, part: Node, axis: int) -> list[tuple[Node, int]]:
        """A value and what it is made of, as far as lines of it are empty because those of an operand are."""
        chain = [(part, axis)]
        while (before := self.line_before(*chain[-1])) is not None:
            chain.append(before)
        return chain

    def line_before(self, part: Node, axis: int) -> tuple[Node, int] | None:
        """The operand because of which lines of a value are empty, and along which axis of its own."""
        name, inputs = part.op.name, part.inputs
        places: list[tuple[Node, int]] = []
        if name in ELEMENTWISE:
            places = [(i, axis - part.type.ndim + i.type.ndim) for i in inputs]
        elif name == "transpose":
            places = [(inputs[0], part.param("axes")[axis])]
        elif name in ("getitem", "scatter") and places_along(part, axis) == FULL_SLICE and keeps_axes(part):
            places = [(inputs[0], axis)]
        elif name in PRODUCTS:
            names = axis_names(part)
            if names is not None:
                operands, out = names
                places = [(i, own.index(out[axis])) for i, own in zip(inputs, operands) if out[axis] in own]
        for i, k in places:
            if k >= 0 and i.type.shape[k] == part.type.shape[axis] and self.has_chosen_lines(i, k):
                return i, k
        return None


def is_of_lines(scatter: Node, axis: int) -> bool:
    """Are these the lines of an array along an axis, no more than it has, among zeros?"""
    index, (lines, *places) = scatter.param("index"), scatter.inputs
    if index != (FULL_SLICE,) * axis + (Slot(0),) or places[0].type.ndim != 1:
        return False
    return bool(lines.type.shape[axis] <= scatter.type.shape[axis])


def places_along(node: Node, axis: int) -> Any:
    """What an index of slices and arrays of whole lines says of an axis; None where another one does."""
    index = node.param("index")
    if not are_apart(node.inputs[1:]) or not all([type(p) in (Slice, Slot) for p in index]):
        return None
    return index[axis] if axis < len(index) else FULL_SLICE


def line_condition(part: Node, axis: int) -> Node | None:
    """The user's condition by which lines along an axis were chosen here."""
    if part.op is not ops.where or not is_zero(part.inputs[2]):
        return None
    condition = part.inputs[0]
    k = axis - part.type.ndim + condition.type.ndim
    alone = k >= 0 and condition.type.size == condition.type.shape[k] == part.type.shape[axis]
    return condition if alone and condition.type.dtype == bool and is_chosen(condition) else None
