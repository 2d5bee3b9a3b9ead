"""These rules compute of a matrix only the diagonal that is read: n elements, not n * n.

`np.trace(a @ b)` is `np.sum(a * b.T)`, and `np.trace(v[:, None] * a)`, a divergence, is `v @ np.diagonal(a)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node, ops
from tapec.ops import Symbol, apply
from tapec.passes.engine.pattern import Some
from tapec.passes.engine.rule import Rule
from tapec.passes.rules.selection.slices import by_elements, computed_again, for_one_reader

__all__ = ["DIAGONALS"]


class Axes(NamedTuple):
    """The two axes of squares in which the main diagonal lies, the first one first."""

    first: int
    second: int


def _axes(y: Node) -> Axes | None:
    """The axes of main diagonals of squares, or of their traces; None for others."""
    shape = y.inputs[0].type.shape
    axes = Axes(*sorted((y.param("axis1"), y.param("axis2"))))
    return axes if y.param("offset") == 0 and shape[axes.first] == shape[axes.second] else None


# -- elementwise ------------------------------------------------------------------------------------------------------
def _elementwise(y: Node, uses: Any) -> list[Node] | None:
    whole = y.inputs[0]
    return for_one_reader(whole, uses) if _axes(y) and by_elements(whole) and uses(whole) == 1 else None


def on_diagonal(y: Symbol, fact: list[Node]) -> Any:
    """The operations on the diagonals of their operands."""
    axes = _axes(y.node)
    assert axes is not None
    return computed_again(fact, lambda i, node: _operand(Symbol(i, y.builder), node.type.ndim, axes))


def _operand(x: Symbol, ndim: int, axes: Axes) -> Any:
    """What of an operand stands beside a diagonal: its own, or a row or a column that is spread out."""
    shape = [1] * (ndim - len(x.shape)) + list(x.shape)
    if shape[axes.first] == shape[axes.second] != 1:
        return np.diagonal(np.reshape(x, shape), 0, *axes)
    if not x.shape:
        return x
    axis = axes.first if shape[axes.first] != 1 else axes.second
    del shape[axes.second if axis == axes.first else axes.first]
    return np.moveaxis(np.reshape(x, shape), axis - (axis == axes.second), -1)


# -- sums and products ------------------------------------------------------------------------------------------------
def _of_sum(y: Node, uses: Any) -> bool:
    total = y.inputs[0]
    return _axes(y) is not None and uses(total) == 1 and not total.param("keepdims")


def sum_of_diagonals(y: Symbol) -> Any:
    total = y.node.inputs[0]
    (x,), axes = total.inputs, _axes(y.node)
    summed = total.param("axis")
    kept = [k for k in range(x.type.ndim) if k not in summed]
    first, second = [kept[k] for k in axes or ()]
    left = tuple([k - (k > first) - (k > second) for k in summed])
    return np.sum(np.diagonal(Symbol(x, y.builder), 0, first, second), axis=left)


def _matmul(y: Node, uses: Any) -> bool:
    product = y.inputs[0]
    last = (product.type.ndim - 2, product.type.ndim - 1)
    return _axes(y) == last and uses(product) == 1 and all([i.type.ndim >= 2 for i in product.inputs])


def of_product(y: Symbol) -> Any:
    """Rows times columns, each of one number with the other."""
    a, b = [Symbol(i, y.builder) for i in y.node.inputs[0].inputs]
    return np.sum(a * np.swapaxes(b, -2, -1), axis=-1)


# -- exchanged axes ---------------------------------------------------------------------------------------------------
def of_exchanged(y: Symbol) -> Any:
    """The diagonal, or the trace, of what axes were exchanged of; then the others are exchanged."""
    node = y.node
    order = node.inputs[0].param("axes")
    pair = [order[node.param(name)] for name in ("axis1", "axis2")]
    params = (("offset", node.param("offset")), ("axis1", pair[0]), ("axis2", pair[1]))
    found: Any = apply(node.op, (Symbol(node.inputs[0].inputs[0], y.builder),), params)
    left = [k for k in order if k not in pair]
    axes = [sorted(left).index(k) for k in left]
    return np.transpose(found, (*axes, *range(len(axes), node.type.ndim)))


def _of_identity(y: Node) -> bool:
    """Of an identity matrix, which other axes may have been added to?"""
    x = y.inputs[0]
    axes = _axes(y)
    if axes is None or x.type.size != x.type.shape[axes.first] ** 2:
        return False
    matrix = x.inputs[0] if x.op is ops.reshape else x
    return matrix.op is ops.eye and matrix.type.shape[0] == x.type.shape[axes.first] and matrix.param("k") == 0


def _is_computed(y: Node, uses: Any) -> bool:
    """Is a rule there for the diagonal?"""
    whole = y.inputs[0]
    if _axes(y) is None or uses(whole) != 1:
        return False
    if whole.op is ops.matmul:
        return _matmul(y, uses)
    return by_elements(whole) or (whole.op is ops.sum and _of_sum(y, uses))


def trace(y: Symbol) -> Any:
    axes = _axes(y.node)
    assert axes is not None
    return np.sum(np.diagonal(Symbol(y.node.inputs[0], y.builder), 0, *axes), axis=-1)


def _rule(name: str, op: str, of: str, replacement: Any, guard: Any = None) -> Rule:
    return Rule(name, Some(op, of=(of,) if of else ()), replacement, guard, kinds="fc", changes="rounding")


DIAGONALS = (
    _rule("diagonal-of-elementwise", "diagonal", "", on_diagonal, _elementwise),
    _rule("diagonal-of-sum", "diagonal", "sum", sum_of_diagonals, _of_sum),
    _rule("diagonal-of-product", "diagonal", "matmul", of_product, _matmul),
    _rule("diagonal-of-exchanged", "diagonal", "transpose", of_exchanged),
    Rule("diagonal-of-identity", Some("diagonal"), lambda y: np.ones_like(y), _of_identity, kinds="fcb"),
    _rule("trace-of-exchanged", "trace", "transpose", of_exchanged),
    _rule("trace-of-computed", "trace", "", trace, _is_computed),
)
