"""These rules compute sums of matrix products among cotangents without the whole product.

The sum of rows, or of columns, of `a @ b` is the product of a sum of those of a, or of b, with the other one. And
`(a @ b) @ (a @ b).T` comes from the products of b with itself, `a @ (b @ b.T) @ a.T`, which are fewer where b is wide.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Node, ops
from tapec.ir.cost import elements
from tapec.ir.pattern import variables
from tapec.ops import apply
from tapec.passes.engine.node_facts import are_few
from tapec.passes.engine.rule import Rule

__all__ = ["GRAM_PRODUCTS", "SUMS_OF_MATMUL"]

a, b, x = variables("a b x")


def _is_small_times_wide(y: Node, a: Node, b: Node, uses: Any) -> bool:
    """Return whether b is so wide that its products with itself are few, and a @ b is not needed otherwise."""
    product, transposed = y.inputs
    if a.type.ndim != 2 or b.type.ndim != 2 or transposed.param("axes") != (1, 0) or uses(product) > 2:
        return False
    return are_few(max(elements(a), b.type.shape[0] ** 2), elements(b))


def gram(a: Any, b: Any) -> Any:
    return a @ (b @ b.T) @ a.T


def _adds_lines(y: Node, a: Node, b: Node, uses: Any) -> bool:
    """Return whether rows or columns of a product of matrices are added up, and the product of a sum is less work."""
    return y.inputs[0].type.size > 0 and _costs_little(y.inputs[0], a, b, y.param("axis"), uses)


def _costs_little(product: Node, a: Node, b: Node, axis: Any, uses: Any) -> bool:
    """Return whether a product with the sum of lines along an axis is no more work than the sum of lines of the
    product.

    If something else reads the product, the product remains, so the sum must be little work beside it.
    """
    if not a.type.ndim == b.type.ndim == 2 or axis not in ((0,), (1,)):
        return False
    small, large = (a, b) if axis == (1,) else (b, a)
    return uses(product) == 1 or (elements(large) <= elements(product) and are_few(elements(small), elements(large)))


def _adds_lines_beside(y: Node, a: Node, b: Node, x: Node, uses: Any) -> bool:
    """Return whether lines of a product are added up together with an array as large, in a sum that nothing else
    reads.
    """
    total, axis = y.inputs[0], y.param("axis")
    part = total.inputs[total.inputs[0] is x]
    if not part.type == x.type == total.type or uses(total) > 1 or not total.type.size or len(axis) != 1:
        return False
    if part.op is not ops.transpose:
        return _costs_little(part, a, b, axis, uses)
    return part.param("axes") == (1, 0) and _costs_little(part.inputs[0], a, b, (1 - axis[0],), uses)


def sum_beside(y: Any, a: Any, b: Any, x: Any) -> Any:
    """Add the sum of lines of a product to the sum of the array beside it."""
    total, (axis,) = y.node.inputs[0], y.node.param("axis")
    rest = np.sum(x, axis=axis, keepdims=y.node.param("keepdims"))
    transposed = total.inputs[total.inputs[0] is x.node].op is ops.transpose
    return apply(total.op, (rest, np.reshape(_sum_of_lines(a, b, 1 - axis if transposed else axis), y.shape)))


def product_of_sum(y: Any, a: Any, b: Any) -> Any:
    return np.reshape(_sum_of_lines(a, b, *y.node.param("axis")), y.shape)


def _sum_of_lines(a: Any, b: Any, axis: int) -> Any:
    """Return the sum of a @ b along an axis."""
    return a @ np.sum(b, axis=1) if axis else np.sum(a, axis=0) @ b


def _rule(name: str, pattern: Any, replacement: Any, when: Any, once: bool = True) -> Rule:
    # changes "zeros": the sums meet in another order, and with them infinities
    return Rule(name, pattern, replacement, when, only="cotangents", changes="zeros", once=once, alike=True)


SUMS_OF_MATMUL = (
    _rule("sum-of-lines", np.sum(a @ b), product_of_sum, _adds_lines, once=False),
    _rule("sum-of-lines-beside", np.sum(x + a @ b), sum_beside, _adds_lines_beside, once=False),
    _rule("sum-without-lines", np.sum(x - a @ b), sum_beside, _adds_lines_beside, once=False),
    _rule("sum-of-lines-across", np.sum(x + np.transpose(a @ b)), sum_beside, _adds_lines_beside, once=False),
    _rule("sum-without-lines-across", np.sum(x - np.transpose(a @ b)), sum_beside, _adds_lines_beside, once=False),
)

GRAM_PRODUCTS = (
    _rule("product-with-itself", np.matmul(a @ b, np.transpose(a @ b)), gram, _is_small_times_wide, once=False),
)
