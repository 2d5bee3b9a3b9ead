"""The pass `rows_once` multiplies rows that repeat before they are taken, and adds rows up before they are multiplied.

    x[i] @ w                                                (x @ w)[i]
    add_at(zeros, i, d @ w.T)                               add_at(zeros, i, d) @ w.T
    x[i].T @ d                                              x.T @ add_at(zeros, i, d), where that is not zero

It does so where i is longer than x, as the edges of a graph are more than its nodes. Each row is the same product; only
the order in which sums are added up changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Graph, Node, ops
from tapec.ir.cost import elements
from tapec.ir.static_index import Slot
from tapec.ops import apply
from tapec.ops.indexing.getitem_and_scatter import GETITEM, SCATTER
from tapec.ops.layout.reshape_and_transpose import TRANSPOSE
from tapec.passes import tuning
from tapec.passes.engine.recompute import Now, remade
from tapec.passes.engine.use_counts import Uses

__all__ = ["rows_once"]

ROWS = (Slot(0),)  # x[i]


def rows_once(graph: Graph) -> Graph:
    """Multiply rows once, however often they are taken."""
    uses = Uses(graph)
    added = {n: n.inputs[0] for n in graph.nodes if is_added_product(n, uses)}
    there = {(product.inputs[0], n.inputs[1]) for n, product in added.items()}
    found = {*added}
    for node in graph.nodes:
        if is_product_by_rows(node, there):
            found.add(node)
            uses.drop_operands(node)
    found.update([n for n in graph.nodes if is_product_of_rows(n, uses)])
    return remade(graph, found, once) if found else graph


def repeats(rows: Node) -> bool:
    """Return whether a node takes rows of a matrix, at least twice as many as there are."""
    if rows.op is not GETITEM or len(rows.inputs) != 2 or rows.param("index") != ROWS:
        return False
    return rows.inputs[0].type.ndim == rows.type.ndim == 2 and len_of(rows) >= 2 * len_of(rows.inputs[0]) > 0


def len_of(node: Node) -> int:
    return node.type.shape[0]


def is_product_of_rows(node: Node, uses: Uses) -> bool:
    """Return whether a node is x[i] @ w, with an x[i] that nothing else reads."""
    if node.op is not ops.matmul or not repeats(node.inputs[0]) or uses.of(node.inputs[0]) > 1:
        return False
    rows, w = node.inputs
    if w.type.ndim > 2 or rows.type.dtype != node.type.dtype:
        return False
    return saves(len_of(rows.inputs[0]), rows, w, tuning.TAKE_COST * (columns(w) - len_of(w)))


def is_product_by_rows(node: Node, there: set[tuple[Node, Node]]) -> bool:
    """Return whether a node is x[i].T @ d, with a d that is added up at i anyway."""
    if node.op is not ops.matmul or node.inputs[0].op is not TRANSPOSE:
        return False
    rows, d = node.inputs[0].inputs[0], node.inputs[1]
    return repeats(rows) and node.inputs[0].param("axes") == (1, 0) and (d, rows.inputs[1]) in there


def is_added_product(node: Node, uses: Uses) -> bool:
    """Return whether a node adds up rows of a product at places that repeat, and had better multiply last."""
    if node.op is not SCATTER or node.role is None or len(node.inputs) != 2 or node.param("index") != ROWS:
        return False
    product, at = node.inputs
    if product.op is not ops.matmul or uses.of(product) > 1 or product.role is None or product.type.ndim != 2:
        return False
    d, w = product.inputs
    if w.type.ndim != 2 or d.type.ndim != 2 or at.type.ndim != 1 or d.type.dtype != product.type.dtype:
        return False
    return len_of(d) >= 2 * len_of(node) > 0 and saves(
        len_of(node), d, w, tuning.ADD_AT_COST * (len_of(w) - columns(w))
    )


def saves(n: int, x: Node, w: Node, more: int) -> bool:
    """Return whether x @ w for n rows is less work, though each row of x costs `more` multiplications to be moved."""
    return (len_of(x) - n) * elements(w) >= more * len_of(x)


def columns(w: Node) -> int:
    return w.type.shape[1] if w.type.ndim == 2 else 1


def once(now: Now, node: Node) -> Any:
    """Return the value of a node, computed with a product of fewer rows."""
    first, second = node.inputs
    if node.op is SCATTER:
        d, w = first.inputs
        return rows_added(now, d, second, len_of(node)) @ now(w)
    if first.op is TRANSPOSE:
        x, at = first.inputs[0].inputs
        total = rows_added(now, second, at, len_of(x))
        return rows_kept(now, x, total).T @ total
    x, at = first.inputs
    return apply(GETITEM, (now(x) @ now(second), now(at)), first.params)


def rows_added(now: Now, d: Node, at: Node, rows: int) -> Any:
    """Return the rows of d, added up at places."""
    shape = (rows, *d.type.shape[1:])
    return apply(SCATTER, (now(d), now(at)), (("shape", shape), ("index", ROWS)))


def rows_kept(now: Now, x: Node, total: Any) -> Any:
    """Return the rows of x to which something flows, and zeros for the others, in which there may be a nan."""
    return np.where(np.any(total != 0, axis=1, keepdims=True), now(x), 0)
