"""The pass `guards` keeps factors that may be inf or nan away from structural zeros of cotangents.

A structural zero is a place of a cotangent that is zero because nothing was read or selected there
(`structural_zeros.py`). Sums, changes of layout and products keep such places in ways that no pattern can follow, so
one walk over the program does. Where such a cotangent is about to meet a factor that may be infinite or nan
(`engine/may_be_nonfinite.py`), the factor is kept to the places where the cotangent is not zero: `ct * b` becomes
`ct * where(ct != 0, b, 0)`, and `ct / b` becomes `ct / where(ct != 0, b, 1)`.

The rules of `rules/selection/masks.py` and `scatter_products.py` have done the common cases before, without a guard.

All derivatives have been taken when this pass runs, so it is enough that the values are right.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CT, Builder, Graph, Node, OpSet, is_literal, ops, prune
from tapec.ir.static_index import Slice, Slot
from tapec.ops import Symbol
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE, GETITEM, are_apart, is_added_up
from tapec.ops.indexing.setitem import setitem
from tapec.ops.linalg.named_axes import axis_names
from tapec.passes.engine.may_be_nonfinite import may_be_nonfinite
from tapec.passes.engine.node_facts import is_zero
from tapec.passes.zero_safety.placed_cotangents import PRODUCTS, SOURCES
from tapec.passes.zero_safety.structural_zeros import structural_zeros
from tapec.passes.zero_safety.zero_places import StructuralZeros
from tapec.passes.zero_safety.zeros_of_selections import is_chosen, keeps_axes

__all__ = ["guards", "multiplies_structural_zeros"]

ELEMENTWISE = OpSet("multiply divide negative where cast broadcast_to")


def guards(graph: Graph) -> Graph:
    """Keep infinities and nan out of products with structural zeros."""
    if not multiplies_structural_zeros(graph):
        return graph
    walk = GuardingWalk(graph)
    for node in graph.nodes:
        walk.visit(node)
    if not walk.new:
        return graph
    return Graph(graph.inputs, walk.nodes, [walk.new.get(o, o) for o in graph.outputs], graph.name)


def multiplies_structural_zeros(graph: Graph) -> bool:
    """Return whether a cotangent that may have structural zeros is multiplied or divided by more than a number."""
    zeros: dict[Node, StructuralZeros] = {}
    are_full = zeros.keys().isdisjoint
    for node in graph.nodes:
        if node.role is not CT:
            continue
        op = node.op
        if are_full(node.inputs):
            if op not in SOURCES:
                continue
        elif op in PRODUCTS and not any([is_literal(i) for i in node.inputs]):
            return True
        found = structural_zeros(node, [zeros.get(i) for i in node.inputs])
        if found is not None:
            zeros[node] = found
    return False


class Written(NamedTuple):
    """The lines of a scattered array that were written, and their places: a slice, or a slot and the array for it."""

    lines: Node
    places: tuple[Any, ...]


class GuardingWalk(Builder):
    """One walk over a graph: the facts known of the nodes so far, and the new graph."""

    __slots__ = ("data", "made", "mask_source", "new", "nonfinite", "zeros")

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.role = CT
        self.new: dict[Node, Node] = {}
        self.zeros: dict[Node, StructuralZeros] = {}
        self.mask_source: dict[Node, Node] = {}  # the operand that gives a product its structural zeros
        self.nonfinite: set[Node] = set()  # values that may be inf or nan though the user's arrays are not
        self.data = {i for i in graph.inputs if i.type.dtype.kind in "fc"}  # and finite values computed from these
        self.made: dict[Node, Node] = {}  # inputs that another program computed, and the nodes that did
        if graph.past is not None:
            self.recall(graph.inputs, graph.past)

    def recall(self, inputs: Sequence[Node], past: Graph) -> None:
        """Learn the facts about inputs from the program that computed their values.

        A gradient may be taken of values of an earlier program, as on a tape; the selections are in that program then.
        """
        for node in prune(past).nodes:
            self.learn(node)
        for i, value in zip(inputs, past.outputs, strict=True):
            self.made[i] = value
            if value in self.nonfinite:
                self.nonfinite.add(i)
            if value in self.zeros:
                self.zeros[i] = self.zeros[value]

    def visit(self, node: Node) -> None:
        """Copy a node into the new graph, guarded if needed, and learn the facts about it."""
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
        """Note whether a node may be nonfinite, whether it comes from the user's arrays, and its structural zeros."""
        if may_be_nonfinite(node, self.nonfinite):
            self.nonfinite.add(node)
        elif not node.op.multi and node.type.dtype.kind in "fc" and not self.data.isdisjoint(node.inputs):
            self.data.add(node)
        if node.role is CT:
            found = structural_zeros(self.spelled(node), [self.zeros.get(i) for i in node.inputs])
            if found is not None:
                self.zeros[node] = found
                before = self.before(node)
                if before is not None:
                    self.mask_source[node] = self.mask_source.get(before, before)

    def spelled(self, node: Node) -> Node:
        """Return the same selection with the condition's own computation in place of a condition that is an input."""
        if node.op is not ops.where or node.inputs[0] not in self.made:
            return node
        return node.with_inputs((self.made[node.inputs[0]], *node.inputs[1:]))

    # -- which products -----------------------------------------------------------------------------------------------
    def guarded(self, node: Node) -> Node | None:
        """Return a product or quotient with a guarded operand; None where no guard is needed."""
        op = node.op
        if op is ops.multiply:
            return self.product(node)
        elif op is ops.divide:
            part, other = node.inputs
            if self.must_not_meet(part, other) or (part in self.zeros and may_be_nonfinite(node, ())):
                return node.with_inputs((part, self.kept(part, other, 1)))
        elif op in PRODUCTS:
            return self.contraction(node)
        return None

    def product(self, node: Node) -> Node | None:
        """Return a product with guarded factors, each of which may have to be kept from the zeros of the other; else
        None.
        """
        a, b = node.inputs
        left = self.kept(b, a, 0) if self.must_not_meet(b, a) else a
        right = self.kept(a, b, 0) if self.must_not_meet(a, b) else b
        return None if left is a and right is b else node.with_inputs((left, right))

    def must_not_meet(self, part: Node, other: Node) -> bool:
        """Return whether `part` may have structural zeros where `other` is infinite or nan.

        The user's arrays, which are mostly finite, count only where the user chose the places.
        """
        found = self.zeros.get(part)
        if found is None:
            return False
        return other in self.nonfinite or (found.chosen > 0 and other in self.data and not other.type.weak)

    def contraction(self, node: Node) -> Node | None:
        """Guard a sum of products (`matmul`, `einsum`, `tensordot`) of which one factor has zeros along axes that both
        have.

        The user's arrays count only where the shared axes are all axes with zeros, or where whole lines were chosen:
        then the mask is a vector, and costs nothing. For lines that were written among zeros no mask is needed: the
        product takes those lines alone, with the lines of the other factor that they meet, which is less work; the
        lines of a slice likewise. The product that is left may need guards of its own.
        """
        found = axis_names(node)
        if found is None:
            return None
        for k in (0, 1):
            part, other = node.inputs[k], node.inputs[1 - k]
            own, others = found[0][k], found[0][1 - k]
            zeros = self.zeros.get(part)
            if zeros is None or not zeros.chosen:
                continue
            shared = [i for i, name in enumerate(own) if zeros.axes >> i & 1 and name in others]
            whole = other in self.nonfinite or len(shared) == zeros.axes.bit_count()
            met = [(i, others.index(own[i])) for i in shared if self.has_chosen_lines(part, i)]
            met = [(i, j) for i, j in met if part.type.shape[i] == other.type.shape[j]]
            if not shared or not (other in self.nonfinite or (other in self.data and (whole or met))):
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
        """Return whether the user chose among whole lines along this axis."""
        zeros = self.zeros.get(part)
        return zeros is not None and bool(zeros.lines & zeros.chosen & 1 << axis)

    def lines(self, of: Node, axis: int, place: Any, *arrays: Node) -> Node:
        """Return the lines of a slice or of an array of places; a transposed array is read before it is transposed."""
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
        """Return the mask of the places that are not structural zeros: a selection's condition, or else `part != 0`.

        For a product the mask is that of the operand from which it has its zeros, so that a chain of products has one
        mask.
        """
        part = self.mask_source.get(part, part)
        if part.op is ops.where and is_zero(part.inputs[2]):
            return Symbol(part.inputs[0], self)
        return Symbol(part, self) != 0

    def before(self, part: Node) -> Node | None:
        """Return the one operand from which a product has its structural zeros, if it has the product's shape; else
        None.
        """
        if part.op not in (ops.multiply, ops.divide, ops.negative):
            return None
        found = [i for i in part.inputs if i in self.zeros]
        return found[0] if len(found) == 1 and found[0].type.shape == part.type.shape else None

    def kept(self, part: Node, other: Node, nothing: int) -> Node:
        """Return an operand as it is outside structural zeros, and `nothing` in them.

        Outside them it may still be infinite, and the result then is, as it should be.
        """
        if other.type.weak:  # `np.where` would make a double of a Python number
            kind = 1j if other.type.dtype.kind == "c" else 1.0
            other = Symbol(other, self).astype(np.result_type(part.type.dtype, kind)).node
        return self.chosen(self.flows(part), other, nothing)

    def chosen(self, flows: Any, other: Node, nothing: int) -> Node:
        """Return an operand where the mask holds, `nothing` elsewhere; its own structural zeros stay known."""
        safe: Any = np.where(flows, Symbol(other, self), nothing)
        if other in self.zeros:
            self.zeros[safe.node] = self.zeros[other]
        return safe.node

    def kept_along(self, part: Node, other: Node, own: Sequence[str], others: Sequence[str]) -> Node:
        """Return `other` with 0 where it meets nothing but structural zeros; `own` and `others` name the axes of both
        factors.
        """
        flows = self.flows(part)
        flows = np.reshape(flows, (1,) * (len(own) - flows.ndim) + flows.shape)
        unshared = tuple([k for k, name in enumerate(own) if name not in others])
        if unshared:
            flows = np.any(flows, axis=unshared)
        left = [name for name in own if name in others]
        order = [name for name in others if name in left]
        flows = np.transpose(flows, [left.index(name) for name in order])
        sizes = dict(zip(order, flows.shape, strict=True))
        return self.chosen(np.reshape(flows, [sizes.get(name, 1) for name in others]), other, 0)

    def kept_lines(self, part: Node, other: Node, met: Sequence[tuple[int, int]]) -> Node:
        """Return `other` with 0 in the lines that meet lines of structural zeros; `met` pairs the axes of both
        factors.
        """
        for own, axis in met:
            flows = np.reshape(self.flowing_lines(part, own), (-1,) + (1,) * (other.type.ndim - 1 - axis))
            other = self.chosen(flows, other, 0)
        return other

    def flowing_lines(self, part: Node, axis: int) -> Any:
        """Return the mask of lines along an axis that are not all zero.

        It is made of the user's conditions, and of the places that were written, so that it costs a vector; only where
        neither is known are the elements looked at.
        """
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
        """Return the lines that were written, if the user chose nothing else along the axis; None otherwise.

        The lines themselves may be taken, as they were before they were written, even if their array of places names a
        place twice; lines that are read back must each have one place.
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
        """Return the written lines, read back from the array; along the axis they have no structural zeros."""
        found, zeros = self.lines(part, axis, *places), self.zeros[part]
        left = ~(1 << axis)
        axes, chosen = zeros.axes & left, zeros.chosen & left
        if axes:
            self.zeros[found] = StructuralZeros(axes, chosen, lines=zeros.lines & left)
        else:
            self.zeros.pop(found, None)
        return Written(found, places)

    def line_chain(self, part: Node, axis: int) -> list[tuple[Node, int]]:
        """Return a value and the operands, one of the other, that give it its lines of structural zeros, with their
        axes.
        """
        chain = [(part, axis)]
        while (before := self.line_before(*chain[-1])) is not None:
            chain.append(before)
        return chain

    def line_before(self, part: Node, axis: int) -> tuple[Node, int] | None:
        """Return the operand that gives a value its lines of structural zeros along an axis, and the operand's own
        axis.
        """
        op, inputs = part.op, part.inputs
        places: list[tuple[Node, int]] = []
        if op in ELEMENTWISE:
            places = [(i, axis - part.type.ndim + i.type.ndim) for i in inputs]
        elif op is ops.transpose:
            places = [(inputs[0], part.param("axes")[axis])]
        elif op in (ops.getitem, ops.scatter) and places_along(part, axis) == FULL_SLICE and keeps_axes(part):
            places = [(inputs[0], axis)]
        elif op in PRODUCTS:
            names = axis_names(part)
            if names is not None:
                operands, out = names
                places = [(i, own.index(out[axis])) for i, own in zip(inputs, operands) if out[axis] in own]
        for i, k in places:
            if k >= 0 and i.type.shape[k] == part.type.shape[axis] and self.has_chosen_lines(i, k):
                return i, k
        return None


def is_of_lines(scatter: Node, axis: int) -> bool:
    """Return whether a scatter writes lines of an array along an axis among zeros, and no more lines than there are."""
    index, (lines, *places) = scatter.param("index"), scatter.inputs
    if index != (FULL_SLICE,) * axis + (Slot(0),) or places[0].type.ndim != 1:
        return False
    return bool(lines.type.shape[axis] <= scatter.type.shape[axis])


def places_along(node: Node, axis: int) -> Any:
    """Return the part of an index for one axis, if the index is of slices and arrays of whole lines; None otherwise."""
    index = node.param("index")
    if not are_apart(node.inputs[1:]) or not all([type(p) in (Slice, Slot) for p in index]):
        return None
    return index[axis] if axis < len(index) else FULL_SLICE


def line_condition(part: Node, axis: int) -> Node | None:
    """Return the user's condition by which this node chose lines along an axis; None without one."""
    if part.op is not ops.where or not is_zero(part.inputs[2]):
        return None
    condition = part.inputs[0]
    k = axis - part.type.ndim + condition.type.ndim
    only_this_axis = k >= 0 and condition.type.size == condition.type.shape[k] == part.type.shape[axis]
    return condition if only_this_axis and condition.type.dtype == bool and is_chosen(condition) else None
