"""Forward the rows that a program writes into an array to what reads them from it.

    y[2] = v; ... = y[2]        ->        y[2] = v; ... = v
    y[2, 0] = a; y[2, 1] = b    ->        row = [a, b, ...]; y[2] = row

So rounds that write rows of an array, and read rows of the rounds before, carry values and no array.
"""

from __future__ import annotations

from typing import Any

from tapec.ir import Builder, Graph, Node, Type, ops, prune
from tapec.passes.whole_graph.row_places import row_axis_of, row_index_of

__all__ = ["with_values_read"]


def with_values_read(graph: Graph) -> tuple[Graph, dict[Node, Node]]:
    """Read a row that was written as the value that it is, and write parts of rows as whole rows.

    The second result has what now stands in the place of nodes.
    """
    rows = _RowsWritten(graph)
    return rows.run(), rows.new


class _RowsWritten:
    """Follows which rows of arrays have been written, along chains of writes.

    `rows` has, for the last array of each chain, what the chain began with, and the rows that are known since then;
    None for a row whose value is not known.
    """

    def __init__(self, graph: Graph):
        self.graph = graph
        self.nodes: list[Node] = []
        self.new: dict[Node, Node] = {}
        self.rows: dict[Node, tuple[Node, dict[int, Node | None]]] = {}
        self.uniform: dict[Node, Node] = {}  # one row of each uniform array

    def run(self) -> Graph:
        for node in self.graph.nodes:
            inputs = tuple([self.new.get(i, i) for i in node.inputs])
            moved = node if inputs == node.inputs else node.with_inputs(inputs)
            place, made = row_index_of(node), moved
            if place is not None and not row_axis_of(node):
                made = self.read(moved, place) if node.op is ops.getitem else self.written(moved, place)
            if made is moved:
                self.nodes.append(moved)
            if made is not node:
                self.new[node] = made
        outputs = [self.new.get(o, o) for o in self.graph.outputs]
        return prune(Graph(self.graph.inputs, self.nodes, outputs, self.graph.name))

    def emit(self, op: Any, inputs: tuple[Node, ...], index: tuple[Any, ...], like: Node) -> Node:
        builder = Builder()
        builder.role = like.role
        self.nodes.append(builder.emit(op, inputs, (("index", index),), like.origin))
        return self.nodes[-1]

    def read(self, node: Node, place: int) -> Node:
        base, known = self.rows.get(node.inputs[0], (None, {}))
        if base is None or known.get(place, node) is None:
            return node
        rest, row = node.param("index")[1:], known.get(place)
        if row is None:
            return self.emit(ops.getitem, (base,), (place, *rest), node)
        return self.emit(ops.getitem, (row,), rest, node) if rest else row

    def unwritten(self, base: Node, place: int, like: Node) -> Node:
        """Return a row of what a chain began with. Uniform rows are one, made before all rounds."""
        if base.op is not ops.full:
            return self.emit(ops.getitem, (base,), (place,), like)
        if base not in self.uniform:
            params = ("shape", base.type.shape[1:]), ("value", base.param("value")), ("dtype", base.type.dtype)
            self.uniform[base] = Builder().emit(ops.full, (), params, like.origin)
            self.nodes.insert(0, self.uniform[base])
        return self.uniform[base]

    def written(self, node: Node, place: int) -> Node:
        before, value = node.inputs
        base, known = self.rows.pop(before, (before, {}))
        t, rest = Type(before.type.shape[1:], before.type.dtype), node.param("index")[1:]
        if rest and known.get(place, node) is not None:
            row = known.get(place) or self.unwritten(base, place, node)
            value = self.emit(ops.setitem, (row, value), rest, node)
            if before.op is ops.setitem and before.param("index") == (place,):
                before = before.inputs[0]  # the row is written once
            node = self.emit(ops.setitem, (before, value), (place,), node)
            rest = ()
        known[place] = None if rest or value.type != t else value
        self.rows[node] = base, known
        return node
