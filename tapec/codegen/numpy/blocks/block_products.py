"""Prepare products of matrices for loops over blocks.

    z = u @ v.T                         for i in range(0, n, b): ...
    np.exp(z, out=z)                        np.matmul(u_, v.T, out=z_); np.exp(z_, out=z_)
    d_u = z @ v                             np.matmul(z_, v, out=d_u_)
    d_v = z.T @ u                           d_v += z_.T @ u_

A product with a narrow matrix takes no longer than it takes to read and write the wide one, so it belongs in a loop
where that is never there as a whole, or is read once instead of twice. While loops are looked for, products like the
last are `OVER_ROWS`: sums over rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence

from tapec.codegen import tuning
from tapec.codegen.numpy.target_ops import OVER_ROWS
from tapec.codegen.schedule.inlining import is_view, readers_of
from tapec.config import settings
from tapec.ir import Graph, Node, get_op, ops, replaced
from tapec.ir.cost import bytes_of, length
from tapec.ir.types import Type

__all__ = [
    "factor_rows",
    "factors_of",
    "in_factors",
    "products_apart",
    "rows_at_once",
    "with_sums",
    "without_sums",
]

ByRows = Callable[[Node, Node], bool]  # does a node read a value by rows, or add up its rows?


def factor_rows(node: Node, rows: int) -> set[int] | None:
    """Return the factors that a product reads row by row; None where a row of it needs more than that."""
    a, b = (i.type for i in node.inputs)
    if a.ndim < 2 or b.ndim < 2:
        return {0} if a.ndim == 2 and bytes_of(a) >= tuning.LARGE_MIN_BYTES else None
    if a.ndim > 2 and b.ndim > 2:
        return {0, 1} if a.ndim == b.ndim and b.shape[0] == rows else None
    return {0} if a.ndim >= b.ndim else None


def is_product(node: Node) -> bool:
    return node.op is ops.matmul and min([i.type.ndim for i in node.inputs]) > 1


def products_apart(graph: Graph, by_rows: ByRows) -> set[Node]:
    """Return the products of matrices that had better be computed at once."""
    products = [n for n in graph.nodes if is_product(n)]
    readers = readers_of(graph.nodes) if products else {}
    return {n for n in products if not any([_gains(x, readers, graph.outputs, by_rows) for x in _wide(n)])}


def _wide(node: Node) -> list[Node]:
    """Return the wide arrays that a product makes or reads by rows, beside which the product itself costs little."""
    a, b = node.inputs
    most = tuning.NARROW_MAX_COLUMNS
    if node.op is OVER_ROWS:
        return [x for x, other in ((a, b), (b, a)) if other.type.shape[1] <= most]
    if min(a.type.ndim, b.type.ndim) == 1:
        return [a]
    if max(a.type.ndim, b.type.ndim) > 2:  # a stack: one product after the other in any case
        return [node, a, b]
    return [node] * (a.type.shape[1] <= most) + [a] * (b.type.shape[1] <= most)


def _gains(x: Node, readers: Mapping[Node, Sequence[Node]], outputs: Container[Node], by_rows: ByRows) -> bool:
    """Return whether a loop gains by a value: it is large, computed, and read only by rows, or huge and read twice.

    With threads it does not matter: BLAS has its own.
    """
    if settings.threads > 1:
        return False
    while is_view(x):
        x = x.inputs[0]
    if bytes_of(x) < tuning.LARGE_MIN_BYTES:
        return False
    if x.type.ndim == 2 and bytes_of(x) > tuning.PRODUCT_BLOCK_MAX_ROW_BYTES * length(x, 0):
        return False
    found = list(_reading(x, readers, by_rows))
    if x.inputs and x not in outputs and None not in found:
        return True
    quick = [r for r in found if r is not None and rows_at_once(r) is not None]
    return bytes_of(x) >= tuning.HUGE_MIN_BYTES and len(quick) > 1


def _reading(x: Node, readers: Mapping[Node, Sequence[Node]], by_rows: ByRows) -> Iterator[Node | None]:
    """Give the nodes that read a value by rows, or add its rows up; None for one that does not, or would take long."""
    for r in readers.get(x, ()):
        if by_rows(r, x) and is_view(r):
            yield from _reading(r, readers, by_rows)
        else:
            yield r if by_rows(r, x) and (not factors_of(r) or x in _wide(r)) else None


def factors_of(node: Node) -> tuple[Node, ...]:
    """Return the matrices that a node multiplies; none for a node that is no product."""
    return node.inputs if is_product(node) or node.op is OVER_ROWS else ()


def multiplications(node: Node) -> int:
    """Return how many multiplications a product does for each row that it reads."""
    return math.prod([i.type.shape[-1] for i in factors_of(node)])


def rows_at_once(node: Node) -> int | None:
    """Return how many rows at a time BLAS multiplies without making copies; None where too few to be worth it."""
    most = tuning.UNCOPIED_PRODUCT_MAX_MULTIPLICATIONS // max(1, multiplications(node))
    return most if most >= tuning.PRODUCT_BLOCK_MIN_ROWS else None


# ---------------------------------------------------------------------------------------------------------------
# sums over rows
# ---------------------------------------------------------------------------------------------------------------
def with_sums(graph: Graph, by_rows: ByRows) -> Graph:
    """Return the program with products that loops may add up as `OVER_ROWS`; the same graph when there are none."""
    candidates = {n for n in graph.nodes if _is_of_columns(n)}
    if not candidates:
        return graph
    made = replaced(graph, candidates, _as_sum)
    readers = readers_of(made.nodes)
    originals = iter([n for n in graph.nodes if n in candidates])
    sums = [(n, next(originals)) for n in made.nodes if n.op is OVER_ROWS]
    fit = [old for n, old in sums if any([_gains(x, readers, made.outputs, by_rows) for x in _wide(n)])]
    return made if len(fit) == len(sums) else replaced(graph, set(fit), _as_sum) if fit else graph


def without_sums(graph: Graph) -> Graph:
    """Return the program with all `OVER_ROWS` as the products that they stand for."""
    left = {n for n in graph.nodes if n.op is OVER_ROWS}
    return replaced(graph, left, in_factors) if left else graph


def _is_of_columns(node: Node) -> bool:
    """Return whether a node is the product of a transposed matrix with another one, of which either is large."""
    if node.op is not ops.matmul or node.inputs[0].op is not ops.transpose:
        return False
    x, y = node.inputs[0].inputs[0].type, node.inputs[1].type
    return (
        x.ndim == y.ndim == 2
        and max(bytes_of(x), bytes_of(y)) >= tuning.LARGE_MIN_BYTES
        and x.dtype == y.dtype == node.type.dtype
    )


def _as_sum(_: Node, node: Node, nodes: list[Node]) -> Node:
    transposed, y = node.inputs
    nodes.append(Node(OVER_ROWS, (transposed.inputs[0], y), (), node.type, node.origin, node.name, node.role))
    return nodes[-1]


def in_factors(_: Node, node: Node, nodes: list[Node]) -> Node:
    """Make the transpose, and the product with it."""
    x, y = node.inputs
    turned = Type(x.type.shape[::-1], x.type.dtype)
    left = Node(get_op("transpose"), (x,), (("axes", (1, 0)),), turned, node.origin, None, node.role)
    nodes += [left, Node(get_op("matmul"), (left, y), (), node.type, node.origin, node.name, node.role)]
    return nodes[-1]
