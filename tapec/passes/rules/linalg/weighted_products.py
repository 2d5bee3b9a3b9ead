"""These rules move weights of rows or columns, among cotangents, out of a large factor of a matrix product.

`(a * row) @ b` becomes `a @ (row[:, None] * b)`, and `(a * column) @ b` becomes `column * (a @ b)`, where what is
weighted then is much smaller: one pass less over what is large, and no second array of its size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Node, ops
from tapec.ir.cost import elements
from tapec.ir.pattern import variables
from tapec.passes import tuning
from tapec.passes.engine.node_facts import are_few, uniform_value
from tapec.passes.engine.rule import Rule
from tapec.passes.rules.linalg.scaled_matmul import flat

__all__ = ["WEIGHTED_PRODUCTS"]

a, b, w = variables("a b w")


def _weighs(y: Node, a: Node, b: Node, w: Node) -> str | None:
    """Return what is weighted instead of a, with much less work: "factor" for the other factor, or "product"; else
    None.
    """
    if (
        elements(a) < tuning.WEIGHTED_FACTOR_MIN_ELEMENTS
        or a.type.ndim != 2
        or not 0 < b.type.ndim < 3
        or uniform_value(w) is not None
    ):
        return None
    m, n = a.type.shape
    of_rows = w.type.shape == (m, 1)
    if not of_rows and w.type.shape not in ((n,), (1, n)):
        return None
    free = _is_free(y, b, of_rows)
    return ("product" if free else "factor") if are_few(elements(y if free else b), elements(a)) else None


def _is_free(y: Node, b: Node, of_rows: bool) -> bool:
    """Return whether the weights are along an axis of the product, which is not summed over."""
    is_left = y.inputs[1] is b
    matrix = y.inputs[not is_left]
    return is_left == (of_rows != (matrix.op is ops.transpose))


def _weighs_transposed(y: Node, a: Node, b: Node, w: Node) -> str | None:
    matrix = y.inputs[y.inputs[0] is b]
    return _weighs(y, a, b, w) if matrix.param("axes") == (1, 0) else None


def from_left(a: Any, b: Any, w: Any, fact: str) -> Any:
    """Return (a * w) @ b."""
    return _rows_weighted(a @ b, w) if fact == "product" else a @ _rows_weighted(b, w)


def from_right(a: Any, b: Any, w: Any, fact: str) -> Any:
    """Return b @ (a * w)."""
    return b @ a * flat(w) if fact == "product" else (b * flat(w)) @ a


def _rows_weighted(x: Any, w: Any) -> Any:
    if x.ndim == 1:
        return flat(w) * x
    return (w if w.ndim == 2 and w.shape[1] == 1 else flat(w)[:, None]) * x


def _rule(name: str, pattern: Any, replacement: Any, when: Any = _weighs, **more: Any) -> Rule:
    return Rule(name, pattern, replacement, when, only="cotangents", changes="rounding", once=True, alike=True, **more)


WEIGHTED = a * w

WEIGHTED_PRODUCTS = (
    _rule("weighted-times", WEIGHTED @ b, from_left, smaller=("w", "a")),
    _rule("times-weighted", np.matmul(b, WEIGHTED), from_right, smaller=("w", "a")),
    _rule(
        "weighted-transposed-times",
        np.transpose(WEIGHTED) @ b,
        lambda a, b, w, fact: from_left(a.T, b, w, fact),
        _weighs_transposed,
    ),
    _rule(
        "times-weighted-transposed",
        np.matmul(b, np.transpose(WEIGHTED)),
        lambda a, b, w, fact: from_right(a.T, b, w, fact),
        _weighs_transposed,
    ),
)
