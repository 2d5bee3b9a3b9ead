"""These rules solve systems with one matrix and many right-hand sides, among cotangents, by the inverse.

NumPy's solve takes columns one by one: from twice as many of them as there are rows on, the inverse and a product are
up to eight times as fast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Node, ops
from tapec.ir.pattern import variables
from tapec.ops import Symbol
from tapec.passes import tuning
from tapec.passes.engine.rule import Rule
from tapec.passes.rules.linalg.triangular_inverses import is_lower

__all__ = ["MANY_RIGHT_HAND_SIDES"]

a, b = variables("a b")


def _are_many(a: Node, b: Node) -> bool:
    """Return whether b has at least twice as many columns as rows, and the one matrix a is not triangular.

    A triangular matrix solves by blocks, by a rule of `triangular_inverses.py`.
    """
    wide = a.type.ndim == b.type.ndim == 2 and b.type.shape[1] >= 2 * b.type.shape[0] > 0
    return wide and not any([is_lower(l, tuning.TRIANGULAR_BLOCKS_MIN_ROWS_OF_MANY) for l in (a, *a.inputs[:1])])


def by_inverse(a: Any, b: Any) -> Any:
    """Solve by the inverse of a, or by the transposed inverse where a is a transpose."""
    if a.node.op is not ops.transpose:
        return np.linalg.inv(a) @ b
    (l,) = a.node.inputs
    # the inverse of l, not of its transpose: other systems may share it
    return np.linalg.inv(Symbol(l, a.builder)).T @ b


MANY_RIGHT_HAND_SIDES = (
    Rule(
        "many-solutions",
        np.linalg.solve(a, b),
        by_inverse,
        _are_many,
        only="cotangents",
        changes="rounding",
        alike=True,
    ),
)
