"""The pass `batched` does in one matrix product what an unrolled loop does step by step with one matrix.

    np.outer(u1, v1) + np.outer(u2, v2) + ...         np.array([u1, u2, ...]).T @ np.array([v1, v2, ...])
    w @ x[0], w @ x[1], ...                            the rows of x[0:n] @ w.T

The first is the gradient of a recurrent net's weights, summed over the steps; the second is the product of the weights
with the input of each step. Only the order in which sums are added up changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, Builder, Graph, Node, ops, prune
from tapec.ir.cost import elements
from tapec.ops import Symbol
from tapec.passes import tuning
from tapec.passes.engine.use_counts import Uses

__all__ = ["batched"]


def batched(graph: Graph) -> Graph:
    """Put one product in the place of the many products of an unrolled loop with one matrix."""
    sums, rows = outer_sums(graph), row_products(graph)
    if not sums and not rows:
        return graph
    return prune(Batching(graph, sums, rows).run())


# -- sums of outer products -------------------------------------------------------------------------------------------
def outer_sums(graph: Graph) -> dict[Node, tuple[list[Node], list[Node]]]:
    """Return the sums of many outer products: for each sum its outer products, and its other terms."""
    adds = [n for n in graph.nodes if n.op is ops.add and n.role is not None and is_matrix(n)]
    if len(adds) < tuning.UNROLLED_MIN_TERMS_OF_LARGE - 1:
        return {}
    uses = Uses(graph)
    inner = {i for n in adds for i in n.inputs if i.op is ops.add and uses.of(i) == 1 and i.type == n.type}
    found = {}
    for root in adds:
        if root not in inner:
            leaves = leaves_of(root, inner)
            outers = [n for n in leaves if uses.of(n) == 1 and n.type == root.type and is_outer(n)]
            if len(outers) >= (
                tuning.UNROLLED_MIN_TERMS_OF_LARGE
                if elements(root) >= tuning.UNROLLED_LARGE_MIN_ELEMENTS
                else tuning.UNROLLED_MIN_TERMS
            ):
                found[root] = outers, [n for n in leaves if n not in outers]
    return found


def is_matrix(node: Node) -> bool:
    return node.type.ndim == 2 and elements(node) > tuning.UNROLLED_MATRIX_MAX_ELEMENTS and node.type.dtype.char in "fd"


def leaves_of(root: Node, inner: set[Node]) -> list[Node]:
    """Return the terms of a sum in order, where `inner` are the additions within it."""
    leaves, stack = [], [root]
    while stack:
        node = stack.pop()
        if node is root or node in inner:
            stack.extend(reversed(node.inputs))
        else:
            leaves.append(node)
    return leaves


def is_outer(node: Node) -> bool:
    """Return whether a node is a column times a row."""
    return node.op is ops.multiply and column_and_row(node) is not None


def column_and_row(node: Node) -> tuple[Node, Node] | None:
    """Return the factors of an outer product, the column first; None for another product."""
    n, m = node.type.shape
    for u, v in (node.inputs, node.inputs[::-1]):
        if u.type.shape == (n, 1) and v.type.shape in ((m,), (1, m)) and u.type.dtype == v.type.dtype:
            return u, v
    return None


# -- products with the rows of one array ------------------------------------------------------------------------------
class Factor(NamedTuple):
    """A matrix with which the rows of an array are multiplied, from the left or from the right."""

    matrix: Node
    source: Node
    left: bool


def row_products(graph: Graph) -> dict[Node, tuple[Factor, list[Node]]]:
    """Return groups of products of one matrix with many neighbouring rows of an array, each by its first product.

    Rows may be matrices where there are gradients, for which all of these products are kept anyway.
    """
    groups: dict[Factor, list[Node]] = {}
    most = 3 if any([n.role is not None for n in graph.nodes]) else 2
    for node in graph.nodes:
        if node.op is ops.matmul and node.type.dtype.char in "fd":
            factor = factor_of(node)
            if factor is not None and factor.source.type.ndim <= most:
                groups.setdefault(factor, []).append(node)
    found = {}
    for factor, group in groups.items():
        numbers = sorted({row_of(n, factor) for n in group})
        if len(numbers) == len(group) >= tuning.UNROLLED_MIN_TERMS and numbers[-1] - numbers[0] == len(group) - 1:
            found[group[0]] = factor, group
    return found


def factor_of(product: Node) -> Factor | None:
    """Return the matrix of a product with a row x[k], and the array of the row; None for another product."""
    a, b = product.inputs
    if a.type.dtype != b.type.dtype:
        return None
    if is_row(b) and b.type.ndim == 1 and is_matrix(a) and a.op is not ops.getitem:
        return Factor(a, b.inputs[0], True)
    if is_row(a) and is_matrix(b) and b.op is not ops.getitem:
        return Factor(b, a.inputs[0], False)
    return None


def row_of(product: Node, factor: Factor) -> int:
    return number_of(product.inputs[factor.left])


def is_row(node: Node) -> bool:
    """Return whether a node is x[k]: a row of a matrix, or a matrix of a stack."""
    if node.op is not ops.getitem or len(node.inputs) > 1 or not 0 < node.type.ndim < 3:
        return False
    index = node.param("index")
    return len(index) == 1 and type(index[0]) is int


def number_of(row: Node) -> int:
    n: int = row.inputs[0].type.shape[0]
    k: int = row.param("index")[0]
    return k % n


def rows_of_one(vectors: list[Node]) -> bool:
    """Return whether all vectors are rows of one matrix."""
    return is_row(vectors[0]) and all([is_row(v) and v.inputs[0] is vectors[0].inputs[0] for v in vectors])


def bare(node: Node) -> Node:
    """Return the vector of which a node is a reshape; else the node."""
    return node.inputs[0] if node.op is ops.reshape and node.inputs[0].type.ndim == 1 else node


# -- making them ------------------------------------------------------------------------------------------------------
class Batching(Builder):
    """One walk over the graph, which makes the graph anew with the products."""

    def __init__(self, graph: Graph, sums: dict[Node, Any], rows: dict[Node, tuple[Factor, list[Node]]]):
        super().__init__()
        self.start = graph
        self.sums = sums
        self.rows = rows
        self.new: dict[Node, Node] = {}
        self.place = {n: k for k, n in enumerate(graph.nodes)}

    def run(self) -> Graph:
        """Copy the graph, with one product in the place of many."""
        new = self.new
        for node in self.start.nodes:
            if node in new:
                continue
            self.origin, self.role = node.origin, node.role
            if node in self.sums:
                new[node] = self.total(*self.sums[node])
            elif node in self.rows:
                self.split(*self.rows[node])
            elif node.op is CONSTANT:
                new[node] = self.add(node)
            else:
                inputs = tuple([new.get(i, i) for i in node.inputs])
                if inputs != node.inputs:
                    new[node] = node = node.with_inputs(inputs)
                self.append(node)
        for o in self.start.outputs:
            if o in new and new[o].name is None:
                new[o].name = o.name
        graph = self.start
        return Graph(graph.inputs, self.nodes, [new.get(o, o) for o in graph.outputs], graph.name)

    def total(self, outers: list[Node], rest: list[Node]) -> Node:
        """Return the sum of outer products as one matrix product, plus the other terms."""
        pairs = [(bare(u), bare(v)) for pair in map(column_and_row, outers) if pair is not None for u, v in [pair]]
        self.sort(pairs)
        total: Any = np.transpose(self.stacked([u for u, _ in pairs])) @ self.stacked([v for _, v in pairs])
        for node in rest:
            total = total + Symbol(self.new.get(node, node), self)
        return total.node

    def sort(self, pairs: list[tuple[Node, Node]]) -> None:
        """Sort pairs of factors so that those of one step have one place in all sums over the same steps.

        The order is that of the rows of one matrix, where one side is such rows; else that in which the program
        computes the earlier factor of each pair.
        """
        for side in (1, 0):
            if rows_of_one([pair[side] for pair in pairs]):
                pairs.sort(key=lambda pair: number_of(pair[side]))
                return
        pairs.sort(key=lambda pair: min([self.place[v] if v.inputs else -1 for v in pair]))

    def stacked(self, vectors: list[Node]) -> Any:
        """Return vectors as the rows of a matrix; rows of one matrix that follow one another are a slice of that."""
        if rows_of_one(vectors):
            numbers = [number_of(v) for v in vectors]
            if numbers == list(range(numbers[0], numbers[0] + len(numbers))):
                return self.slice(vectors[0].inputs[0], numbers[0], len(numbers))
        return np.stack(list(map(self.vector, vectors)))

    def vector(self, v: Node) -> Any:
        """Return a factor of an outer product as a vector."""
        if v.op is CONSTANT and v.type.ndim > 1:
            return Symbol(self.constant(v.value.ravel()), self)
        found: Any = Symbol(self.new.get(v, v), self)
        return found if found.ndim == 1 else np.reshape(found, (-1,))

    def slice(self, x: Node, first: int, count: int) -> Any:
        whole: Any = Symbol(self.new.get(x, x), self)
        return whole if count == len(whole) else whole[first : first + count]

    def split(self, factor: Factor, group: list[Node]) -> None:
        """Compute one product, and let its rows stand for the many products."""
        first = min([row_of(n, factor) for n in group])
        w: Any = Symbol(self.new.get(factor.matrix, factor.matrix), self)
        rows = self.slice(factor.source, first, len(group))
        flat = np.reshape(rows, (-1, rows.shape[-1])) if rows.ndim > 2 else rows
        product = flat @ (np.transpose(w) if factor.left else w)
        product = np.reshape(product, (*rows.shape[:-1], product.shape[-1]))
        for node in group:
            self.origin, self.role = node.origin, node.role
            self.new[node] = product[row_of(node, factor) - first].node
