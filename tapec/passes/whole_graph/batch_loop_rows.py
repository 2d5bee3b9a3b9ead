"""The pass `ahead` computes before a loop, for all turns at once, what products give of rows and constants alone.

    for x in xs:                              z = xs @ w + b
        h = np.tanh(x @ w + h @ u + b)        for z_k in z:
                                                  h = np.tanh(z_k + h @ u)

Elementwise operations come along with a product, and terms that are added to it come first in their sum. It runs
before differentiation, so the gradient of the product is one, too.
"""

from __future__ import annotations

import numpy as np

from tapec.ir import Builder, Graph, Node, input_node, ops, prune
from tapec.ir.cost import bytes_of, elements
from tapec.ir.source_location import variable_for
from tapec.ops.control.loop import LOOP, operands_of
from tapec.passes import tuning
from tapec.passes.whole_graph.lean_bodies import copied, loop_params, rebuilt, with_bodies

__all__ = ["computed_ahead"]


def computed_ahead(graph: Graph) -> Graph:
    """Return the graph with products of rows before its loops."""
    return rebuilt(graph, lambda nodes, node, moved: _split(nodes, moved) if moved.op is LOOP else moved)


def _split(nodes: list[Node], node: Node) -> Node:
    """Return a loop that is handed products as rows; append these to the nodes before it."""
    count, of = node.param("count"), operands_of(node.inputs, **dict(node.given))
    if not count or count < 2 or not of.rows or not of.carried:
        return node
    first, last = len(of.constants), len(of.constants) + len(of.carried)
    body = _with_terms_sorted(node.bodies[0], first, last)
    rows = _Rows(body, first, last)
    late = [n for n in body.nodes if n not in rows.fixed and n not in rows.ahead]
    read = {i for n in late for i in n.inputs} | {*body.outputs}
    ready = [n for n in body.nodes if n in read and rows.ahead.get(n)]
    if not ready or count * sum(map(bytes_of, ready)) > tuning.AHEAD_MAX_BYTES:
        return node
    before = Builder()
    known = dict(zip(body.inputs, (*of.constants, *of.carried, *of.rows), strict=True))
    copied(before, [n for n in body.nodes if n in rows.fixed], known)
    for n in body.nodes:
        if n in rows.ahead:
            known[n] = _at_once(before, n, rows, known)
            name = variable_for(n)
            known[n].name = f"{name}s" if name else None
    nodes += prune(Graph((), before.nodes, [known[n] for n in ready])).nodes
    inner = [input_node(n.name, n.type, n.origin) for n in ready]
    within = Builder()
    new = copied(within, body.nodes, {i: i for i in body.inputs} | dict(zip(ready, inner, strict=True)))
    lean = prune(Graph([*body.inputs, *inner], within.nodes, [new[o] for o in body.outputs], body.name))
    used = {i for n in lean.nodes for i in n.inputs} | {*lean.outputs}
    kept = [k for k, i in enumerate(lean.inputs) if first <= k < last or i in used]
    operands = (*node.inputs, *[known[n] for n in ready])
    params = loop_params(count, sum([k < first for k in kept]), last - first)
    lean = Graph([lean.inputs[k] for k in kept], lean.nodes, lean.outputs, lean.name)
    return with_bodies(node, tuple([operands[k] for k in kept]), params, (lean,))


class _Rows:
    """Tells which values of a body are the same in all turns (`fixed`), and which can be computed `ahead` of them:
    those with True are, or are made of, products large enough."""

    def __init__(self, body: Graph, first: int, last: int):
        self.fixed = set(body.inputs[:first])
        self.ahead = dict.fromkeys(body.inputs[last:], False)
        for n in body.nodes:
            if self.fixed.issuperset(n.inputs):
                self.fixed.add(n)
            elif all([i in self.fixed or i in self.ahead for i in n.inputs]) and self._is_batched(n):
                is_product = n.op is ops.matmul
                large = is_product and max(map(elements, n.inputs)) >= tuning.AHEAD_MIN_ELEMENTS
                self.ahead[n] = large or any([self.ahead.get(i, False) for i in n.inputs])

    def _is_batched(self, n: Node) -> bool:
        """Return whether an operation does for whole sequences what it does for their rows."""
        own = [i for i in n.inputs if i in self.ahead]
        if n.op is ops.matmul:
            return len(own) == 1 and n.type.dtype.char in "fd" and all([1 <= i.type.ndim <= 2 for i in n.inputs])
        if not isinstance(n.op.numpy, np.ufunc) or n.op.multi or not n.type.shape:
            return False
        return all([i.type.ndim == n.type.ndim for i in own])


def _at_once(builder: Builder, n: Node, rows: _Rows, known: dict[Node, Node]) -> Node:
    """Return the values that a node has in all turns."""
    builder.origin, builder.role = n.origin, n.role
    inputs = tuple([known[i] for i in n.inputs])
    if n.op is ops.matmul and n.inputs[1] in rows.ahead and n.inputs[1].type.ndim == 1:
        a, x = inputs  # a @ x for each row x
        if a.type.ndim == 2:
            a = builder.emit(ops.transpose, (a,), (("axes", (1, 0)),))
        inputs = x, a
    return builder.emit(n.op, inputs, n.params)


def _with_terms_sorted(body: Graph, first: int, last: int) -> Graph:
    """Return the body with sums in which what can be computed ahead is added first."""
    rows = _Rows(body, first, last)
    uses: dict[Node, int] = {}
    for i in [i for n in body.nodes for i in n.inputs] + list(body.outputs):
        uses[i] = uses.get(i, 0) + 1
    readers = {i: n for n in body.nodes if n.op is ops.add for i in n.inputs}
    new: dict[Node, Node] = {i: i for i in body.inputs}
    builder = Builder()
    changed = False
    for n in body.nodes:
        terms = [] if n.op is not ops.add or _is_inner(n, uses, readers) else _terms(n, uses)
        early = [t for t in terms if t in rows.ahead or t in rows.fixed]
        if len(early) > 1 and len(early) < len(terms) and any([rows.ahead.get(t) for t in early]):
            changed = True
            early.sort(key=lambda t: t in rows.fixed)
            builder.origin, builder.role = n.origin, n.role
            sorted_terms = [new[t] for t in (*early, *[t for t in terms if t not in early])]
            new[n] = sorted_terms[0]
            for t in sorted_terms[1:]:
                new[n] = builder.emit(ops.add, (new[n], t))
        else:
            copied(builder, [n], new)
    return prune(builder.graph(body.inputs, [new[o] for o in body.outputs], body.name)) if changed else body


def _is_inner(n: Node, uses: dict[Node, int], readers: dict[Node, Node]) -> bool:
    """Return whether a sum is a term of one that alone reads it."""
    return uses.get(n) == 1 and n in readers and readers[n].type == n.type


def _terms(n: Node, uses: dict[Node, int]) -> list[Node]:
    """Return what is added up to a sum."""
    found: list[Node] = []
    for i in n.inputs:
        inner = i.op is ops.add and uses[i] == 1 and i.type == n.type
        found += _terms(i, uses) if inner else [i]
    return found
