"""Add up after a loop what its turns would add to derivatives of matrices: as one product of collected rows.

d_w += h.T @ d                d_w = np.tensordot(hs, ds, axes=((0, 1), (0, 1)))
d_w += d[:, None] * h         d_w = ds.T @ hs, and likewise where each turn adds several such products
d_b += d.sum(axis=0)          d_b = ds.sum(axis=(0, 1)), where ds is there
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import reduce
from typing import Any

import numpy as np

from tapec.autodiff import tuning
from tapec.ir import CONSTANT, Node, ops
from tapec.ir.cost import bytes_of, elements

__all__ = ["SumsAfter"]

Side = tuple[Node, tuple[int, ...], tuple[int, ...]]  # a value, its axes that are those of the sum, and its others


class SumsAfter:
    """Finds sums that can wait until a loop has ended.

    `rows` are the inputs of its body that are rows, each with the whole, `fixed` those that are the same in all turns;
    `collected` is what the loop collects, at first for others, then for these sums, too.
    """

    def __init__(self, rows: dict[Node, Any], fixed: Collection[Node], count: int, collected: Iterable[Node]):
        self.rows = rows
        self.fixed = fixed
        self.count = count
        self.collected = dict.fromkeys(collected)
        self.products: dict[int, list[tuple[Side, Side]]] = {}
        self.plain: dict[int, tuple[Node, tuple[int, ...]]] = {}

    def take(self, place: int, part: Node) -> bool:
        """Return whether the sum of what each turn gives is made here."""
        terms = _terms(part)
        if terms is not None and elements(part) >= tuning.SUM_AFTER_MIN_ELEMENTS:
            sides = [v for term in terms for v, _, _ in term]
            new = [v for v in dict.fromkeys(sides) if v not in self.rows and v not in self.collected]
            if (
                not any([v in self.fixed for v in new])
                and self.count * sum(map(bytes_of, new)) <= tuning.SUM_AFTER_MAX_BYTES
            ):
                self.collected |= dict.fromkeys(new)
                self.products[place] = terms
                return True
        value, axes = (part.inputs[0], part.param("axis")) if part.op is ops.sum else (part, ())
        if value in self.collected and (part.op is not ops.sum or not part.param("keepdims")):
            self.plain[place] = value, axes
            return True
        return False

    def sums(self, collected: dict[Node, Any]) -> dict[int, Any]:
        """Return the sums by their places, of what the loop has collected."""
        whole = self.rows | collected
        found = {}
        for place, terms in self.products.items():
            products = [_summed(whole[a[0]], a, whole[b[0]], b) for a, b in terms]
            found[place] = reduce(lambda x, y: x + y, products)
        for place, (value, axes) in self.plain.items():
            found[place] = np.sum(whole[value], axis=(0, *[k + 1 for k in axes]))
        return found


def _summed(x: Any, a: Side, y: Any, b: Side) -> Any:
    """Return the sum over turns of products of matrices, or of outer products of vectors."""
    if x.ndim == y.ndim == 2:
        return np.transpose(x) @ y
    return np.tensordot(x, y, axes=((0, *[k + 1 for k in a[1]]), (0, *[k + 1 for k in b[1]])))


def _terms(part: Node) -> list[tuple[Side, Side]] | None:
    """Return the factors of each product of which a value is the sum; None for anything else."""
    if part.op is ops.add and part.inputs[0].type == part.inputs[1].type == part.type:
        first, second = map(_terms, part.inputs)
        return None if first is None or second is None else [*first, *second]
    turned = part.op is ops.transpose and part.type.ndim == 2 and part.param("axes") == (1, 0)
    sides = _sides(part.inputs[0] if turned else part)
    return None if sides is None else [sides[::-1] if turned else sides]


def _sides(part: Node) -> tuple[Side, Side] | None:
    """Return the factors of a product of matrices, or of an outer product; None for anything else."""
    if part.type.ndim != 2 or part.op not in (ops.matmul, ops.multiply) or part.type.dtype.char not in "fd":
        return None
    a, b = part.inputs
    if any([i.op is CONSTANT or i.type.dtype != part.type.dtype for i in (a, b)]):
        return None
    if part.op is ops.multiply:
        column, row = _vector(a, 0), _vector(b, 1)
        return None if column is None or row is None else ((column, (), (0,)), (row, (), (0,)))
    if a.type.ndim != 2 or b.type.ndim != 2:
        return None
    return _matrix(a, 1), _matrix(b, 0)


def _matrix(node: Node, axis: int) -> Side:
    """Return a factor whose `axis` the sum is over, without the transpose around it."""
    if node.op is ops.transpose:
        return node.inputs[0], (1 - axis,), (axis,)
    return node, (axis,), (1 - axis,)


def _vector(node: Node, axis: int) -> Node | None:
    """Return the vector that lies along an axis of a matrix with one column or one row."""
    if node.op is ops.reshape:
        node, shape = node.inputs[0], node.type.shape
    else:
        shape = (1, *node.type.shape)
    return node if node.type.ndim == 1 and shape[1 - axis] == 1 == len(shape) - 1 else None
