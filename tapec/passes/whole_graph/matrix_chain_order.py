"""The pass `shortest_chains` multiplies chains of matrices among cotangents in the order that is least work.

`(a @ b) @ c` becomes `a @ (b @ c)`, and `c @ (a @ b)` becomes `(c @ a) @ b`, in all products with `a @ b` or in none:
so the gradient of a matrix that is a product of two narrow ones is never made. Transposes of `a @ b`, and numbers by
which it is multiplied, are taken along.
"""

from __future__ import annotations

from typing import Any

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, Graph, Node, ops
from tapec.ops.layout.reshape_and_transpose import TRANSPOSE
from tapec.passes import tuning
from tapec.passes.engine.node_facts import far_from_overflow, uniform_value
from tapec.passes.engine.recompute import Now, remade
from tapec.passes.engine.use_counts import Uses
from tapec.passes.whole_graph.conditions import multiplied_products

__all__ = ["shortest_chains"]


def shortest_chains(graph: Graph) -> Graph:
    """Multiply chains of matrices in the order that is least work."""
    uses = Uses(graph)
    readers: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        for i in {*node.inputs}:
            readers.setdefault(i, []).append(node)
    found: dict[Node, Link] = {}
    for product in multiplied_products(graph):
        links = links_of(product, readers, uses)
        if links and found.keys().isdisjoint([product, *[link.whole for link in links]]) and pays(product, links):
            found.update([(link.whole, link) for link in links])
    return remade(graph, found, lambda now, node: chained(now, found[node])) if found else graph


class Link(NamedTuple):
    """A node `whole`, the product of `number * product` and `other`.

    The inner product may be flipped (transposed), and stands on the left or on the right.
    """

    whole: Node
    product: Node
    other: Node
    number: float
    flipped: bool
    left: bool


def links_of(product: Node, readers: dict[Node, list[Node]], uses: Uses) -> list[Link] | None:
    """Return all readers of a product as links; None if one of them is no product with something else."""
    found: list[Link] = []
    stack: list[tuple[Node, float, bool]] = [(product, 1.0, False)]
    while stack:
        node, number, flipped = stack.pop()
        reading = readers.get(node, ())
        if uses.of(node) > len(reading):
            return None  # the node is an output of the graph, or a reader reads it twice
        for reader in reading:
            factor = number_beside(reader, node)
            if reader.role is None or reader.type.dtype != product.type.dtype:
                return None
            if reader.op is TRANSPOSE and reader.param("axes") == (1, 0):
                stack.append((reader, number, not flipped))
            elif factor is not None:
                stack.append((reader, number * factor, flipped))
            elif reader.op is ops.matmul:
                left = reader.inputs[0] is node
                other = reader.inputs[left]
                if other.type.ndim > 2 or other.type.dtype != node.type.dtype:
                    return None
                found.append(Link(reader, product, other, number, flipped, left))
            else:
                return None
    return found


def number_beside(node: Node, x: Node) -> Any:
    """Return the number of number * x; None for any other node."""
    if node.op is not ops.multiply or node.type != x.type:
        return None
    k = node.inputs[node.inputs[0] is x]  # the operand that is not x
    value = uniform_value(k) if k.op is CONSTANT and k.type.weak else None
    return value if value is not None and far_from_overflow(node, value) else None


def pays(product: Node, links: list[Link]) -> bool:
    """Return whether the links take less work without the product."""
    a, b = product.inputs
    m, k = a.type.shape
    n = b.type.shape[1]
    before, after = m * k * n, 0
    for link in links:
        width = link.other.type.shape[link.left] if link.other.type.ndim == 2 else 1
        before += m * n * width
        after += k * (m + n) * width
    return before > 0 and after <= tuning.CHAIN_MAX_SHARE_OF_WORK * before


def chained(now: Now, link: Link) -> Any:
    """Return the value of a link, multiplied in the other order."""
    first, second, other = [now(n) for n in (*link.product.inputs, link.other)]
    if link.flipped:
        first, second = second.T, first.T
    result = first @ (second @ other) if link.left else (other @ first) @ second
    return result if link.number == 1.0 else result * link.number
