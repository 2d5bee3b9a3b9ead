"""These rules move numbers and outer products out of matrix products among cotangents.

`(2 * e) @ v` and `(2 * e).T @ u` with a large e become `2 * (e @ v)` and `2 * (e.T @ u)`: e is never scaled, and needs
no second array. `(u[:, None] * v) @ b` becomes `u[:, None] * (v @ b)`: a vector times a matrix, not two matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Node, ops
from tapec.ir.cost import elements
from tapec.ir.pattern import number, params, variables
from tapec.ops import Symbol, apply
from tapec.passes import tuning
from tapec.passes.engine.node_facts import far_from_overflow, is_identity
from tapec.passes.engine.rule import Rule

__all__ = ["SCALED_MATMUL"]

a, b, u, v, x = variables("a b u v x")
k = number("k")


def _is_smaller(y: Node, a: Node, k: Any) -> bool:
    return elements(a) >= max(tuning.SCALED_FACTOR_MIN_ELEMENTS, 2 * elements(y)) and far_from_overflow(y, k)


def _transposed(of: Any, a: Any) -> Any:
    """Return a, transposed as the node `of` transposes."""
    return apply(of.op, (a,), of.params)


def _rule(
    name: str,
    pattern: Any,
    replacement: Any,
    when: Any = _is_smaller,
    changes: str = "rounding",
    once: bool = False,
) -> Rule:
    return Rule(name, pattern, replacement, when, only="cotangents", changes=changes, once=once)


# -- products that are there ------------------------------------------------------------------------------------------
def by_known_product(y: Any, left: Any, right: Any, k: Any) -> Any:
    """Return k times left @ right, where that product is there and used: the value of a quadratic form has it."""
    known = y.builder.used_value(y.node.op, (left.node, right.node), y.node.params)  # the walk knows what is there
    return None if known is None else Symbol(known, y.builder) * k


# -- outer products ---------------------------------------------------------------------------------------------------
def _is_outer(u: Node, v: Node) -> bool:
    """Return whether u is a column and v a row, whose product is a matrix."""
    m = v.type.shape[-1] if v.type.shape else 0
    return u.type.ndim == 2 and u.type.shape[1] == 1 and v.type.shape in ((m,), (1, m))


def _meets_outer(u: Node, v: Node, b: Node) -> bool:
    return _is_outer(u, v) and b.type.ndim < 3


def _is_outer_transposed(y: Node, u: Node, v: Node) -> bool:
    return _is_outer(u, v) and y.param("axes") == (1, 0)


def has_offset(y: Node) -> bool:
    return y.param("offset") != 0


def flat(x: Any) -> Any:
    """Return a column, or a row, as a vector."""
    inner = x.node.inputs[0] if x.node.op is ops.reshape else x.node
    return Symbol(inner, x.builder) if inner.type.ndim == 1 else np.reshape(x, (-1,))


def column_times(u: Any, v: Any, b: Any) -> Any:
    """Return (u vᵀ) b."""
    product = flat(v) @ b
    return u * product if b.ndim == 2 else flat(u) * product


def times_row(u: Any, v: Any, b: Any) -> Any:
    """Return b (u vᵀ)."""
    product = b @ flat(u)
    return product[:, None] * v if b.ndim == 2 else product * flat(v)


def _beside_outer(y: Node, u: Node, v: Node, a: Node, b: Node) -> bool:
    """Return whether an outer product meets b, and is added to a matrix as large, which is no more work to multiply
    alone.
    """
    whole = y.inputs[0].type
    if not _meets_outer(u, v, b) or a.type.shape != whole.shape or elements(y) > elements(whole):
        return False
    return whole.shape == (u.type.shape[0], v.type.shape[-1])


def matrix_plus_outer_times(u: Any, v: Any, a: Any, b: Any) -> Any:
    return a @ b + column_times(u, v, b)


def matrix_minus_outer_times(u: Any, v: Any, a: Any, b: Any) -> Any:
    return a @ b - column_times(u, v, b)


def _is_outer_product(a: Node, b: Node) -> bool:
    """Return whether a product is of columns and rows."""
    return a.type.ndim > 1 and b.type.ndim > 1 and a.type.shape[-1] == 1


def negative_trace(y: Any, a: Any) -> Any:
    return -apply(y.node.op, (a,), y.node.params)


def _are_outer_products(y: Node, a: Node, b: Node) -> bool:
    """Return whether a and b are outer products, of which a transpose costs nothing."""
    return y.param("axes") == (1, 0) and all(map(is_outer, (a, b)))


def is_outer(node: Node) -> bool:
    """Return whether a node is a column times a row."""
    return node.op is ops.multiply and any([_is_outer(u, v) for u, v in (node.inputs, node.inputs[::-1])])


def transposed_sum(y: Any, a: Any, b: Any) -> Any:
    return apply(y.node.inputs[0].op, (_transposed(y.node, a), _transposed(y.node, b)))


# -- diagonals and what is only spread out ----------------------------------------------------------------------------
def _plain_diagonal(y: Node, b: Node) -> bool:
    """Return whether the matrix is a main diagonal, and b a matrix or a vector."""
    return b.type.ndim < 3 and all([d.param("k") == 0 for d in _diagonals(y)])


def _beside_diagonal(y: Node, a: Node, b: Node) -> bool:
    """Return whether a main diagonal meets b, and is added to a matrix as large."""
    return a.type.shape == y.inputs[0].type.shape and _plain_diagonal(y, b)


def _scales_diagonal(y: Node, b: Node) -> bool:
    """Return whether b multiplies the rows, or the columns, of a matrix with a diagonal by a number each."""
    n = y.type.shape[-1]
    return b.type.shape in ((), (n,), (n, 1), (1, n)) and y.type.shape == (n, n) and _plain_diagonal(y, b)


def _diagonals(y: Node) -> list[Node]:
    found = [i for i in y.inputs if i.op is ops.diag]
    return found or [j for i in y.inputs if i.op is ops.add for j in i.inputs if j.op is ops.diag]


def rows_scaled(v: Any, b: Any) -> Any:
    return v[:, None] * b if b.ndim == 2 else v * b


def columns_scaled(v: Any, b: Any) -> Any:
    return b * v


def diagonal_scaled(v: Any, b: Any) -> Any:
    return np.diag(v * np.reshape(b, (-1,)) if b.ndim else v * b)


def matrix_plus_diagonal_scaled(v: Any, a: Any, b: Any) -> Any:
    return diagonal_scaled(v, b) + a * b


def matrix_plus_diagonal_times(v: Any, a: Any, b: Any) -> Any:
    return rows_scaled(v, b) + a @ b


def _has_equal_columns(y: Node, a: Node, b: Node) -> bool:
    """Return whether all columns of the second matrix are equal."""
    return a.type.ndim == y.inputs[1].type.ndim == 2 and a.type.shape[1] == 1 and a.type.shape[0] > 1 < b.type.ndim


def _has_equal_rows(y: Node, a: Node, b: Node) -> bool:
    """Return whether all rows of the first matrix are equal."""
    return y.inputs[0].type.ndim == 2 and a.type.shape in _rows(y.inputs[0]) and b.type.ndim < 3


def _rows(matrix: Node) -> tuple[tuple[int, ...], ...]:
    n = matrix.type.shape[1]
    return ((n,), (1, n)) if n > 1 else ()


def product_with_equal_columns(y: Any, a: Any, b: Any) -> Any:
    return np.broadcast_to(b @ a, y.shape)


def product_with_equal_rows(y: Any, a: Any, b: Any) -> Any:
    return np.broadcast_to(a @ b, y.shape)


OUTER = u * v


# -- signs ------------------------------------------------------------------------------------------------------------
def _is_no_larger(y: Node, a: Node, uses: Any) -> bool:
    """Return whether a negative of the product is no more work than the negative of the factor a.

    It is also none more if nothing else reads that negative, or if the factor is an outer product, which need not be
    made.
    """
    if is_outer(a):
        return True  # an outer product need not be made for its negative
    factor = next(i for i in y.inputs if i.op is ops.negative and i.inputs[0] is a)
    return elements(y) <= elements(a) or uses(factor) == 1


SCALED_MATMUL = (
    _rule("negative-times-matrix", np.negative(a) @ b, lambda a, b: -(a @ b), _is_no_larger, changes="zeros"),
    _rule("matrix-times-negative", np.matmul(b, -a), lambda a, b: -(b @ a), _is_no_larger, changes="zeros"),
    _rule("trace-of-negative", np.trace(-a), negative_trace, None, changes="zeros"),
    _rule("transpose-of-negative", np.transpose(-a), lambda y, a: -_transposed(y.node, a), None, changes=""),
    _rule("columns-times-rows", a @ b, lambda a, b: a * b, _is_outer_product, changes="zeros"),
    _rule("identity-times-matrix", x @ b, lambda b: b, lambda x: is_identity(x), changes="zeros"),
    _rule("matrix-times-identity", np.matmul(b, x), lambda b: b, lambda x: is_identity(x), changes="zeros"),
    _rule("diagonal-times-matrix", np.diag(v) @ b, rows_scaled, _plain_diagonal, changes="zeros"),
    _rule("matrix-times-diagonal", np.matmul(b, np.diag(v)), columns_scaled, _plain_diagonal, changes="zeros"),
    _rule("diagonal-scaled", np.diag(v) * b, diagonal_scaled, _scales_diagonal, changes="zeros"),
    _rule(
        "diagonal-apart-scaled",
        (np.diag(v) + a) * b,
        matrix_plus_diagonal_scaled,
        _scales_diagonal,
        changes="zeros",
        once=True,
    ),
    _rule(
        "diagonal-apart", (np.diag(v) + a) @ b, matrix_plus_diagonal_times, _beside_diagonal, changes="zeros", once=True
    ),
    _rule(
        "matrix-times-spread", np.matmul(b, np.broadcast_to(a, params)), product_with_equal_columns, _has_equal_columns
    ),
    _rule("spread-times-matrix", np.broadcast_to(a, params) @ b, product_with_equal_rows, _has_equal_rows),
    # an infinity of u or v may come out where terms of both signs added up to nan
    _rule("product-with-column", OUTER @ b, column_times, _meets_outer, changes="zeros"),
    _rule("outer-apart", (a + OUTER) @ b, matrix_plus_outer_times, _beside_outer, changes="zeros", once=True),
    _rule("outer-taken-apart", (a - OUTER) @ b, matrix_minus_outer_times, _beside_outer, changes="zeros", once=True),
    _rule("product-with-row", np.matmul(b, OUTER), times_row, _meets_outer, changes="zeros"),
    _rule("transpose-of-outer", np.transpose(OUTER), lambda u, v: flat(v)[:, None] * flat(u), _is_outer_transposed),
    _rule("transpose-of-sum-of-outer", np.transpose(a + b), transposed_sum, _are_outer_products),
    _rule("transpose-of-difference-of-outer", np.transpose(a - b), transposed_sum, _are_outer_products),
    _rule(
        "trace-of-outer",
        np.trace(OUTER),
        lambda u, v: flat(u) @ flat(v),
        lambda y, u, v: _is_outer(u, v) and u.type.size == v.type.size and not has_offset(y),
    ),
    _rule(
        "known-product-of-multiple",
        (a * k) @ b,
        lambda y, a, b, k: by_known_product(y, a, b, k),
        lambda y, a, b, k, walk: far_from_overflow(y, k) and walk.has_seen(y.op, (a, b), y.params),
    ),
    _rule(
        "known-product-by-multiple",
        np.matmul(b, a * k),
        lambda y, a, b, k: by_known_product(y, b, a, k),
        lambda y, a, b, k, walk: far_from_overflow(y, k) and walk.has_seen(y.op, (b, a), y.params),
    ),
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
