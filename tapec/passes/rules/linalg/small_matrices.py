"""These rules build a small matrix at once that was put together element by element, as small Hessians are.

A sum of arrays of zeros with one element each is one array, `np.array([[a, b], [b, c]])`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Node, cost, ops
from tapec.ir.pattern import Some
from tapec.ir.static_index import Slice
from tapec.ops import Symbol
from tapec.passes import tuning
from tapec.passes.engine.node_facts import is_zero
from tapec.passes.engine.rule import Rule
from tapec.passes.rules.selection.slices import places_of

__all__ = ["SMALL_MATRICES"]


Elements = dict[int, list[tuple[bool, Node]]]  # flat place -> the elements there, each added or subtracted


def elements(y: Node, uses: Any) -> Elements | None:
    """Return the elements of a matrix by their places, if it is put together of single elements; else None."""
    if y.type.ndim != 2 or not 0 < cost.elements(y) <= tuning.SMALL_MATRIX_MAX_ELEMENTS:
        return None
    found: Elements = {}
    stack = [(y, True)]
    # each sum within a long sum looks at all terms: without a limit that is quadratic
    looks = 4 * tuning.SMALL_MATRIX_MAX_ELEMENTS
    while stack:
        node, added = stack.pop()
        looks -= 1
        if not looks:
            return None
        if node.op in (ops.add, ops.subtract) and node.role is not None and (node is y or uses(node) == 1):
            left, right = node.inputs
            stack += [(left, added), (right, added == (node.op is ops.add))]
            continue
        parts = _parts(node, y)
        if parts is None:
            return None
        for place, value in parts:
            found.setdefault(place, []).append((added, value))
    return found if tuning.SMALL_MATRIX_MAX_ELEMENTS_A_TERM * len(found) >= cost.elements(y) else None


def _parts(node: Node, y: Node) -> list[tuple[int, Node]] | None:
    """Return the elements, and their places, of zeros with one element, or of an array of elements; None for others."""
    if node.type != y.type:
        return None
    if node.op is ops.scatter:
        places = places_of(node, node.type.shape) if node.inputs[0].type.size == 1 else None
        if places is None:
            return None
        row, column = [_first(p, n) for p, n in zip(places, y.type.shape, strict=True)]
        return [(row * y.type.shape[1] + column, node.inputs[0])]
    (inner,) = node.inputs if node.op is ops.reshape else (node,)
    if inner.op is not ops.stack or inner.inputs[0].type.shape:
        return None
    return [(k, i) for k, i in enumerate(inner.inputs) if not is_zero(i)]


def _first(place: Slice | int, n: int) -> int:
    return range(n)[slice(*place)][0] if isinstance(place, Slice) else range(n)[place]


def put_together(y: Symbol, fact: Elements) -> Any:
    return np.reshape(np.stack([_total(y, fact.get(k, [])) for k in range(y.node.type.size)]), y.shape)


def _total(y: Symbol, parts: list[tuple[bool, Node]]) -> Any:
    """Return the sum of the elements at one place; zero without any."""
    total: Any = None
    for added, node in parts:
        value = np.reshape(Symbol(node, y.builder), ())
        if total is None:
            total = value if added else -value
        else:
            total = total + value if added else total - value
    return Symbol(y.builder.constant(0.0), y.builder) if total is None else total


SMALL_MATRICES = (
    Rule(
        "matrix-of-single-elements",
        Some("add", "subtract", of=("scatter",)),
        put_together,
        elements,
        only="cotangents",
        changes="zeros",
    ),
)
