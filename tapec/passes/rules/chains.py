"""Chains of matrix products among cotangents, in the order that is least work.

`(a @ b) @ c` becomes `a @ (b @ c)` where that is less; a sum of rows or columns of a product is a product with a sum.
The products of `a @ b` with itself, `(a @ b) @ (a @ b).T`, come from those of b, `a @ (b @ b.T) @ a.T`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Node
from tapec.passes.facts import are_few
from tapec.passes.pattern import variables
from tapec.passes.rule import Rule

__all__ = ["CHAINS", "LINES_ADDED"]

a, b, c = variables("a b c")


def _extents(a: Node, b: Node, c: Node) -> tuple[int, int, int, int]:
    """Rows and columns along a chain; a vector at an end is one row, or one column."""
    (k, n), p = b.type.shape, c.type.shape[1] if c.type.ndim == 2 else 1
    return a.type.shape[0] if a.type.ndim == 2 else 1, k, n, p


def _are_matrices(a: Node, b: Node, c: Node) -> bool:
    """Is it a matrix with matrices or vectors on either side?"""
    return b.type.ndim == 2 and 0 < a.type.ndim < 3 and 0 < c.type.ndim < 3


def _is_less_from_right(a: Node, b: Node, c: Node) -> bool:
    return _are_matrices(a, b, c) and _from_right(a, b, c) <= 0.75 * _from_left(a, b, c)


def _is_less_from_left(a: Node, b: Node, c: Node) -> bool:
    return _are_matrices(a, b, c) and _from_left(a, b, c) <= 0.75 * _from_right(a, b, c)


def _from_left(a: Node, b: Node, c: Node) -> int:
    """The multiplications of (a @ b) @ c."""
    m, k, n, p = _extents(a, b, c)
    return m * k * n + m * n * p


def _from_right(a: Node, b: Node, c: Node) -> int:
    """And those of a @ (b @ c)."""
    m, k, n, p = _extents(a, b, c)
    return k * n * p + m * k * p


def _is_small_times_wide(y: Node, a: Node, b: Node, uses: Any) -> bool:
    """Is b so wide that its products with itself are few, and a @ b not needed but for this?"""
    product, transposed = y.inputs
    if a.type.ndim != 2 or b.type.ndim != 2 or transposed.param("axes") != (1, 0) or uses(product) > 2:
        return False
    return are_few(max(a.type.size, b.type.shape[0] ** 2), b.type.size)


def gram(a: Any, b: Any) -> Any:
    return a @ (b @ b.T) @ a.T


def _adds_lines(y: Node, a: Node, b: Node, uses: Any) -> bool:
    """Are rows or columns of a product of matrices added up, and is that little work for who else reads the product?"""
    axis = y.param("axis")
    if not a.type.ndim == b.type.ndim == 2 or axis not in ((0,), (1,)) or not y.inputs[0].type.size:
        return False
    small, large = (a, b) if axis == (1,) else (b, a)
    return uses(y.inputs[0]) == 1 or (
        large.type.size <= y.inputs[0].type.size and are_few(small.type.size, large.type.size)
    )


def product_of_sum(y: Any, a: Any, b: Any) -> Any:
    total = np.sum(a, axis=0) @ b if y.node.param("axis") == (0,) else a @ np.sum(b, axis=1)
    return np.reshape(total, y.shape)


def _rule(name: str, pattern: Any, replacement: Any, guard: Any, once: bool = True) -> Rule:
    # infinities that met may meet others, or none
    return Rule(name, pattern, replacement, guard, only="cotangents", changes="zeros", once=once, alike=True)


LINES_ADDED = (_rule("sum-of-lines", np.sum(a @ b), product_of_sum, _adds_lines, once=False),)

CHAINS = (
    _rule("product-from-right", (a @ b) @ c, lambda a, b, c: a @ (b @ c), _is_less_from_right),
    _rule("product-from-left", np.matmul(a, b @ c), lambda a, b, c: (a @ b) @ c, _is_less_from_left),
    _rule("product-with-itself", np.matmul(a @ b, np.transpose(a @ b)), gram, _is_small_times_wide, once=False),
)
