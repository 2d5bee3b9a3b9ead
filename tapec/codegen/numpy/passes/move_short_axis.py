"""Move a short last axis before the one in front of it: `x[:, None] - y` for points of few coordinates.

NumPy's inner loop runs over the last axis. Where that has a few elements, and one operand is spread out along the axis
before it, the loop costs more than what it does. So differences of all pairs, of shape (n, m, 3), become arrays of
shape (n, 3, m), together with all that is computed of them until their axes are added up; of the operands only y is
turned. A group of operations of which one is needed as it is stays as it is.
"""

from __future__ import annotations

from typing import Any

from tapec.codegen.numpy.blocks.large_arrays import has_short_axis
from tapec.codegen.numpy.target_ops import TRANSPOSED_COPY
from tapec.ir import Graph, Node, Op, OpSet, get_op, is_literal, ops
from tapec.ir.types import Type

__all__ = ["short_axes_moved"]

REDUCTIONS = OpSet("sum mean max min norm any all")


def short_axes_moved(graph: Graph) -> Graph:
    """Return the program with such groups turned; the same graph when there are none."""
    short = {n for n in graph.nodes if has_short_axis(n) and _is_elementwise(n)}
    group = _group(graph, short) if short else short
    return _Turning(graph, group, _one_for_all(graph, group)).run() if group else graph


def _is_elementwise(node: Node) -> bool:
    return node.op is ops.cast or (node.op.kind == "elementwise" and not node.op.multi and not node.params)


# -- what is turned ---------------------------------------------------------------------------------------------------
def _group(graph: Graph, short: set[Node]) -> set[Node]:
    """Return the operations connected with one that broadcasts an operand, where only reductions read the group."""
    parent = {n: n for n in short}

    def root(n: Node) -> Node:
        while parent[n] is not n:
            parent[n] = n = parent[parent[n]]
        return n

    spoilt = short.intersection(graph.outputs)
    gained: set[Node] = set()
    for node in graph.nodes:
        inside = node in short
        for i in node.inputs:
            if i in short and inside:
                parent[root(i)] = root(node)
            elif i in short and node.op not in REDUCTIONS:
                spoilt.add(i)
            elif inside and not (is_literal(i) or _lacks_an_axis(i)):
                spoilt.add(node)
        if inside and any([i.type.shape[-2:-1] in ((), (1,)) and i.type.shape for i in node.inputs]):
            gained.add(node)
    bad, good = {root(n) for n in spoilt}, {root(n) for n in gained}
    return {n for n in short if root(n) in good and root(n) not in bad}


def _lacks_an_axis(operand: Node) -> bool:
    """Return whether an operand is broadcast, so that turning it costs little."""
    t = operand.type
    return not isinstance(t, tuple) and not (t.weak and t.shape) and (t.ndim < 3 or 1 in t.shape)


def _one_for_all(graph: Graph, group: set[Node]) -> set[Node]:
    """Return operations of shape (n, m, 1) that only the group reads: they need no last axis."""
    needed = set(graph.outputs)
    read: set[Node] = set()
    found: set[Node] = set()
    for node in reversed(graph.nodes):
        if node in read and node not in needed and _is_elementwise(node):
            if node.type.ndim == 3 and node.type.shape[2] == 1:
                found.add(node)
        (read if node in group or node in found else needed).update(node.inputs)
    return found


# -- turning ----------------------------------------------------------------------------------------------------------
class _Turning:
    """Walks the graph once: `turned` has values with the last two axes swapped, `flat` operations without the last."""

    def __init__(self, graph: Graph, group: set[Node], flat: set[Node]):
        self.graph = graph
        self.group = group
        self.flat = flat
        self.nodes: list[Node] = []
        self.new: dict[Node, Node] = {}
        self.turned: dict[Node, Node] = {}
        self.copies: dict[Node, Node] = {}

    def run(self) -> Graph:
        for node in self.graph.nodes:
            if node in self.group:
                inputs = tuple([self.operand(i) for i in node.inputs])
                self.turned[node] = self.named(self.made(node.op, inputs, node.params, swapped(node.type), node), node)
            elif node in self.flat:
                inputs = tuple([self.without_last(i) for i in node.inputs])
                self.new[node] = self.named(self.made(node.op, inputs, node.params, node.type.shape[:2], node), node)
            elif node.inputs and node.inputs[0] in self.group:
                self.new[node] = self.added_up(node)
            else:
                inputs = tuple([self.new.get(i, i) for i in node.inputs])
                if inputs != node.inputs:
                    self.new[node] = node = node.with_inputs(inputs)
                self.nodes.append(node)
        graph = self.graph
        return Graph(graph.inputs, self.nodes, [self.new.get(o, o) for o in graph.outputs], graph.name)

    def made(self, op: Op, inputs: tuple[Node, ...], params: Any, shape: tuple[int, ...], of: Node) -> Node:
        self.nodes.append(Node(op, inputs, params, Type(shape, of.type.dtype), of.origin, None, of.role))
        return self.nodes[-1]

    def named(self, made: Node, node: Node) -> Node:
        made.name, made.of = node.name, node.of
        return made

    def reshaped(self, x: Node, shape: tuple[int, ...]) -> Node:
        return x if x.type.shape == shape else self.made(get_op("reshape"), (x,), (("shape", shape),), shape, x)

    def turned_copy(self, x: Node) -> Node:
        found = self.copies.get(x)
        if found is None:
            found = self.copies[x] = self.made(TRANSPOSED_COPY, (x,), (), x.type.shape[::-1], x)
        return found

    # -- operands -----------------------------------------------------------------------------------------------------
    def operand(self, node: Node) -> Node:
        """Return an operand as the group reads it: a number, another result, or a broadcast array, turned."""
        if not node.type.shape:
            return self.new.get(node, node)
        found = self.turned.get(node)
        if found is None:
            found = self.turned[node] = self.spread(node)
        return found

    def spread(self, node: Node) -> Node:
        """Turn an operand of shape (m, d), (n, 1, d) or (n, m, 1); only two long axes need a new layout."""
        shape = node.type.shape
        if 1 in shape[-2:] or len(shape) == 1:
            return self.reshaped(self.source(node), swapped(node.type))
        return self.turned_copy(self.reshaped(self.source(node), shape[-2:]))

    def without_last(self, node: Node) -> Node:
        """Return an operand of shape (n, m, 1) or (m, 1) without its last axis."""
        if not node.type.shape or node in self.flat:
            return self.new.get(node, node)
        return self.reshaped(self.source(node), node.type.shape[:-1])

    def source(self, node: Node) -> Node:
        """Return the value that an operand was reshaped from, or the operand."""
        source = node.inputs[0] if node.op is ops.reshape else node
        return self.new.get(source, source)

    # -- sums ---------------------------------------------------------------------------------------------------------
    def added_up(self, node: Node) -> Node:
        """Reduce along the axes where they stand now; a matrix of coordinates is turned back."""
        axes = tuple(sorted([(0, 2, 1)[k] for k in node.param("axis")]))
        x = self.turned[node.inputs[0]]
        shape = tuple([n for k, n in enumerate(x.type.shape) if k not in axes])
        total = self.made(node.op, (x,), (*node.params[:-2], ("axis", axes), ("keepdims", False)), shape, node)
        self.named(total, node)
        if axes == (0,):
            total = self.turned_copy(total)
        return self.reshaped(total, node.type.shape)


def swapped(t: Type) -> tuple[int, ...]:
    """Return the shape with the last two axes swapped; a vector becomes a column."""
    *front, m, d = (1, *t.shape) if t.ndim == 1 else t.shape
    return (*front, d, m)
