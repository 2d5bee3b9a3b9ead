"""Compute those elements of a table alone that are read of it.

    d = x[:, None] - x
    r = np.sqrt(np.sum(d * d, axis=-1))[i, j]          d = x[i] - x[j]
                                                       r = np.sqrt(np.sum(d * d, axis=-1))

Each element is computed as before, and each row of `d` is seen to depend on two rows of x.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any

import numpy as np

from tapec.ir import CONSTANT, Builder, Graph, Node, OpSet, prune
from tapec.ir.static_index import Slot
from tapec.ops import Symbol, apply
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE, GETITEM
from tapec.ops.layout.reshape_and_transpose import RESHAPE

__all__ = ["picked_early"]

REDUCTIONS = OpSet("sum mean prod max min norm var std")


def picked_early(graph: Graph) -> Graph:
    """The graph in which tables, of which single elements are read, are not made."""
    tables = [n for n in graph.nodes if _is_pick(n)]
    return prune(_Picking(graph).run()) if tables else graph


def _is_pick(node: Node) -> bool:
    """Return whether a node is x[i, j], of two index arrays of one length."""
    if node.op is not GETITEM or len(node.inputs) != 3:
        return False
    i, j = [a.type for a in node.inputs[1:]]
    index = node.param("index")
    if index[:2] != (Slot(0), Slot(1)) or any([p != FULL_SLICE for p in index[2:]]):
        return False
    return i.shape == j.shape and i.ndim == 1 and min(node.inputs[0].type.shape[:2]) > 1


class _Picking(Builder):
    """Walks once over a graph and makes it anew."""

    def __init__(self, graph: Graph):
        super().__init__()
        self.start = graph
        self.uses = Counter(chain(chain.from_iterable([n.inputs for n in graph.nodes]), graph.outputs))
        self.new: dict[Node, Node] = {i: i for i in graph.inputs}

    def run(self) -> Graph:
        for node in self.start.nodes:
            self.origin, self.role = node.origin, node.role
            if node.op is CONSTANT:
                self.new[node] = self.constant(node.value, node.name)
            elif _is_pick(node):
                i, j = map(self.symbol, node.inputs[1:])
                self.new[node] = self.elements(node.inputs[0], i, j).node
            else:
                self.new[node] = self.add(node.with_inputs(tuple([self.new[i] for i in node.inputs])))
        graph = self.start
        return Graph(graph.inputs, self.nodes, [self.new[o] for o in graph.outputs], graph.name)

    def symbol(self, node: Node) -> Any:
        return Symbol(self.new[node], self)

    def elements(self, table: Node, i: Any, j: Any) -> Any:
        """Return `table[i, j]`, of what the table is computed from where nobody else reads it."""
        op, inputs = table.op, table.inputs
        lead, ndim = table.type.shape[:2], table.type.ndim
        if self.uses[table] == 1 and inputs:
            if op.kind == "elementwise" and not op.multi:
                return apply(op, tuple([self.operand(x, lead, ndim, i, j) for x in inputs]), table.params)
            if op in REDUCTIONS and min(table.param("axis"), default=0) > 1:
                axes = tuple([k - 1 for k in table.param("axis")])
                params = tuple([(key, axes if key == "axis" else value) for key, value in table.params])
                return apply(op, (self.elements(inputs[0], i, j),), params)
        return apply(GETITEM, (self.symbol(table), i, j), (("index", (Slot(0), Slot(1))),))

    def operand(self, x: Node, lead: tuple[int, ...], ndim: int, i: Any, j: Any) -> Any:
        """Return the elements at (i, j) of an operand of a table, which may be broadcast."""
        shape = (1,) * (ndim - x.type.ndim) + x.type.shape
        if shape[:2] == lead:
            return self.elements(x, i, j)
        if shape[:2] == (1, 1):
            return self.symbol(x) if x.type.ndim <= ndim - 2 else np.reshape(self.symbol(x), shape[2:])
        n, places = (shape[0], i) if shape[1] == 1 else (shape[1], j)
        rows = (n, *shape[2:])
        if x.op is RESHAPE and x.inputs[0].type.shape == rows:
            x = x.inputs[0]
        row = self.symbol(x) if x.type.shape == rows else np.reshape(self.symbol(x), rows)
        return apply(GETITEM, (row, places), (("index", (Slot(0),)),))
