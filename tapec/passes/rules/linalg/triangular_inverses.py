"""These rules invert large triangular matrices, and solve systems with them, by blocks.

Substitution is at least as accurate as the factorisation that it replaces, so this holds for what the user wrote too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Node
from tapec.ir.cost import length
from tapec.ir.pattern import variables
from tapec.ops import Symbol, apply
from tapec.ops.layout.diagonals import TRIL
from tapec.ops.linalg.cholesky_qr import CHOLESKY
from tapec.ops.linalg.triangular_blocks import INV_LOWER, SOLVE_LOWER
from tapec.passes import tuning
from tapec.passes.engine.rule import Rule

__all__ = ["TRIANGULAR_INVERSES"]

b, l = variables("b l")


def is_lower(l: Node, n: int) -> bool:
    """Return whether a node is a matrix of n rows or more that is known to be lower triangular."""
    if l.type.ndim != 2 or l.type.shape[0] < n or l.type.shape[0] != l.type.shape[1]:
        return False
    return (l.op is CHOLESKY and not l.params) or (l.op is TRIL and l.param("k") <= 0)


def _system(y: Node, l: Node, b: Node) -> bool:
    """Return whether a system is triangular, and so large that blocks pay; fewer rows are enough for many right-hand
    sides.
    """
    matrix = y.inputs[0]
    if matrix is not l and matrix.param("axes") != (1, 0):
        return False
    if b.type.ndim > 2 or not b.type.dtype == l.type.dtype == y.type.dtype:
        return False
    many = b.type.ndim == 2 and length(b, 1) >= tuning.MANY_RIGHT_HAND_SIDES_MIN
    return is_lower(l, tuning.TRIANGULAR_BLOCKS_MIN_ROWS_OF_MANY if many else tuning.TRIANGULAR_BLOCKS_MIN_ROWS)


def by_blocks(y: Symbol, l: Symbol, b: Symbol) -> Any:
    return apply(SOLVE_LOWER, (l, b), (("transposed", y.node.inputs[0] is not l.node),))


def _rule(name: str, pattern: Any, replacement: Any, when: Any) -> Rule:
    return Rule(name, pattern, replacement, when, changes="rounding")


TRIANGULAR_INVERSES = (
    _rule(
        "inverse-by-blocks",
        np.linalg.inv(l),
        lambda l: apply(INV_LOWER, (l,)),
        lambda l: is_lower(l, tuning.TRIANGULAR_BLOCKS_MIN_ROWS),
    ),
    _rule("solve-by-blocks", np.linalg.solve(l, b), by_blocks, _system),
    _rule("solve-by-blocks-transposed", np.linalg.solve(np.transpose(l), b), by_blocks, _system),
)
