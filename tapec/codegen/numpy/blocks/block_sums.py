"""Add values to parts of arrays block by block, in the loop that computes them.

So it is in gradients of differences, `d[1:] += g; d[:-1] -= g`: where `g` is needed for nothing else, it never exists
as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tapec.codegen.numpy.scatter_forms import fused_operand, is_scatter
from tapec.codegen.schedule.inlining import is_view
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Graph, Node, ops
from tapec.ir.static_index import Slice

__all__ = ["PlacedValue", "Placing", "Placings"]


class PlacedValue(NamedTuple):
    """A place where a value is added, or subtracted; the scatter tells which."""

    value: Node
    scatter: Node
    op: str


class Placing(NamedTuple):
    """A chain of sums, each with one more place, of which the last is the total.

    They begin with zeros, or with an array that is there before the loop.
    """

    base: Node | None
    places: tuple[PlacedValue, ...]
    sums: tuple[Node, ...]

    @property
    def total(self) -> Node:
        return self.sums[-1]

    def nodes(self) -> list[Node]:
        """Return the nodes that the loop replaces, in order."""
        return [*[place.scatter for place in self.places], *self.sums]


class Placings(NamedTuple):
    """Finds sums of places that a loop can make, of values `inside` it; `there` are the values computed before it."""

    graph: Graph
    inside: Collection[Node]
    rows: int
    there: set[Node]
    uses: dict[Node, int]
    readers: Mapping[Node, Sequence[Node]]

    def found(self) -> list[Placing]:
        found: list[Placing] = []
        taken: set[Node] = set()
        for node in self.graph.nodes:
            placing = None if node in taken else self.first(node)
            while placing is not None and (further := self.further(placing)):
                placing = further
            if placing is not None:
                found.append(placing)
                taken.update(placing.sums)
        return found

    def first(self, node: Node) -> Placing | None:
        """Return a first sum: with an array that is there, and has been read by then, or of two places among zeros."""
        k = fused_operand(node, self.uses)
        if k is None:
            return None
        base = node.inputs[1 - k]
        place = self.added(node, base)
        if place is None or base in self.graph.outputs:
            return None
        if base in self.there:
            others = [r for r in self.readers[base] if r is not node]
            # a view of it might be read in the loop
            read = self.there.issuperset(others) and not any(map(is_view, others))
            return Placing(base, (place,), (node,)) if read else None
        if self.uses[base] > 1 or not self.belongs(base):
            return None
        return Placing(None, (PlacedValue(base.inputs[0], base, "+"), place), (node,))

    def further(self, placing: Placing) -> Placing | None:
        """Return the chain with one more place, if the total is read only by the sum that adds it."""
        total = placing.total
        if self.uses[total] > 1 or total in self.graph.outputs:
            return None
        (reader,) = self.readers[total]
        place = self.added(reader, total)
        return None if place is None else Placing(placing.base, (*placing.places, place), (*placing.sums, reader))

    def added(self, node: Node, base: Node) -> PlacedValue | None:
        """Return the place that a sum adds to its base, if a loop computes that by rows."""
        k = fused_operand(node, self.uses)
        if k is None or node.inputs[1 - k] is not base or not self.belongs(node.inputs[k]):
            return None
        scatter = node.inputs[k]
        return PlacedValue(scatter.inputs[0], scatter, "+" if node.op is ops.add else "-")

    def belongs(self, scatter: Node) -> bool:
        """Return whether a scatter puts rows of the loop, one after the other, among zeros."""
        if not is_scatter(scatter) or len(scatter.inputs) > 1:
            return False
        value, index = scatter.inputs[0], scatter.param("index")
        slices = bool(index) and all([type(p) is Slice for p in index]) and index[0].step in (None, 1)
        same = value.type.ndim == scatter.type.ndim and value.type.dtype == scatter.type.dtype
        return slices and same and value in self.inside and value.type.shape[0] == self.rows
