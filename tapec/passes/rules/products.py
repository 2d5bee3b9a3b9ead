"""Matrix products among cotangents: of what is a number times a matrix, and of what is an outer product.

`(2 * e) @ v` and `(2 * e).T @ u` with a large e become `2 * (e @ v)` and `2 * (e.T @ u)`: e is never scaled, and needs
no second array. `(u[:, None] * v) @ b` becomes `u[:, None] * (v @ b)`: a vector times a matrix, not two matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Node
from tapec.ops import apply
from tapec.passes.pattern import number, params, variables
from tapec.passes.rule import Rule
from tapec.passes.rules.scales import is_mild

__all__ = ["PRODUCTS"]

a, b, u, v = variables("a b u v")
k = number("k")
LARGE = 1 << 15  # elements from which a multiplication costs more than a call


def _is_smaller(y: Node, a: Node, k: Any) -> bool:
    return a.type.size >= max(LARGE, 2 * y.type.size) and is_mild(y, k)


def _transposed(of: Any, a: Any) -> Any:
    """a with the axes that the transpose `of` has."""
    return apply(of.op, (a,), of.params)


def _rule(name: str, pattern: Any, replacement: Any, guard: Any = _is_smaller, changes: str = "rounding") -> Rule:
    return Rule(name, pattern, replacement, guard, only="cotangents", changes=changes)


# -- outer products ---------------------------------------------------------------------------------------------------
def _is_outer(u: Node, v: Node) -> bool:
    """Are they a column and a row, whose product is a matrix?"""
    return u.type.ndim == v.type.ndim == 1


def _meets_outer(u: Node, v: Node, b: Node) -> bool:
    return _is_outer(u, v) and b.type.ndim < 3


def _is_outer_transposed(y: Node, u: Node, v: Node) -> bool:
    return _is_outer(u, v) and y.param("axes") == (1, 0)


def any_offset(y: Node) -> bool:
    return y.param("offset") != 0


def column_times(u: Any, v: Any, b: Any) -> Any:
    """(u vᵀ) b"""
    return u[:, None] * (v @ b) if b.ndim == 2 else u * (v @ b)


def times_row(u: Any, v: Any, b: Any) -> Any:
    """b (u vᵀ)"""
    return (b @ u)[:, None] * v if b.ndim == 2 else (b @ u) * v


def _is_outer_product(a: Node, b: Node) -> bool:
    """Is each matrix a column, and its partner a row?"""
    return a.type.ndim > 1 and b.type.ndim > 1 and a.type.shape[-1] == 1


def negative_trace(y: Any, a: Any) -> Any:
    return -apply(y.node.op, (a,), y.node.params)


def _are_outer_products(y: Node, a: Node, b: Node) -> bool:
    """Are both outer products, for which a transpose is nothing?"""
    return y.param("axes") == (1, 0) and all(map(is_outer, (a, b)))


def is_outer(node: Node) -> bool:
    """Is it a column times a row?"""
    return node.op.name == "multiply" and {i.type.ndim for i in node.inputs} == {1, 2} and node.type.ndim == 2


def transposed_sum(y: Any, a: Any, b: Any) -> Any:
    return apply(y.node.inputs[0].op, (_transposed(y.node, a), _transposed(y.node, b)))


OUTER = np.reshape(u, params) * v


# -- signs ------------------------------------------------------------------------------------------------------------
def _is_no_larger(y: Node, a: Node, uses: Any) -> bool:
    """Is a negative of the product no more work than one of the factor, or is that not needed any more?"""
    if is_outer(a):
        return True  # it need not be made
    factor = next(i for i in y.inputs if i.op.name == "negative" and i.inputs[0] is a)
    return y.type.size <= a.type.size or uses(factor) == 1


PRODUCTS = (
    _rule("negative-times-matrix", np.negative(a) @ b, lambda a, b: -(a @ b), _is_no_larger, changes="zeros"),
    _rule("matrix-times-negative", np.matmul(b, -a), lambda a, b: -(b @ a), _is_no_larger, changes="zeros"),
    _rule("trace-of-negative", np.trace(-a), negative_trace, None, changes="zeros"),
    _rule("transpose-of-negative", np.transpose(-a), lambda y, a: -_transposed(y.node, a), None, changes=""),
    _rule("columns-times-rows", a @ b, lambda a, b: a * b, _is_outer_product, changes="zeros"),
    # an infinity of u or v may come out where terms of both signs added up to nan
    _rule("product-with-column", OUTER @ b, column_times, _meets_outer, changes="zeros"),
    _rule("product-with-row", np.matmul(b, OUTER), times_row, _meets_outer, changes="zeros"),
    _rule("transpose-of-outer", np.transpose(OUTER), lambda u, v: v[:, None] * u, _is_outer_transposed),
    _rule("transpose-of-sum-of-outer", np.transpose(a + b), transposed_sum, _are_outer_products),
    _rule("transpose-of-difference-of-outer", np.transpose(a - b), transposed_sum, _are_outer_products),
    _rule("trace-of-outer", np.trace(OUTER), lambda u, v: u @ v, lambda y, u, v: _is_outer(u, v) and not any_offset(y)),
    _rule("factor-out-of-product", (a * k) @ b, lambda a, b, k: (a @ b) * k),
    _rule("factor-out-of-product-right", np.matmul(b, a * k), lambda a, b, k: (b @ a) * k),
    _rule(
        "factor-out-of-transposed-product",
        np.transpose(a * k) @ b,
        lambda y, a, b, k: (_transposed(y.node.inputs[0], a) @ b) * k,
    ),
    _rule(
        "factor-out-of-transposed-product-right",
        np.matmul(b, np.transpose(a * k)),
        lambda y, a, b, k: (b @ _transposed(y.node.inputs[1], a)) * k,
    ),
)
