"""These rules compute only the diagonal of a matrix of which nothing else is read: n elements, not n * n.

`np.trace(a @ b)` is `np.sum(a * b.T)`, and `np.trace(v[:, None] * a)`, a divergence, is `v @ np.diagonal(a)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node, ops
from tapec.ir.pattern import Some
from tapec.ops import Symbol, apply
from tapec.passes.engine.elementwise_chain import elementwise_chain, is_elementwise, recomputed
from tapec.passes.engine.rule import Rule

__all__ = ["DIAGONALS_AND_TRACES"]


class Axes(NamedTuple):
    """The two axes of squares in which the main diagonal lies, the lower one first."""

    first: int
    second: int


def _axes(y: Node) -> Axes | None:
    """Return the axes of main diagonals of squares, or of their traces; None for other diagonals."""
    shape = y.inputs[0].type.shape
    axes = Axes(*sorted((y.param("axis1"), y.param("axis2"))))
    return axes if y.param("offset") == 0 and shape[axes.first] == shape[axes.second] else None


# -- elementwise ------------------------------------------------------------------------------------------------------
def _elementwise(y: Node, uses: Any) -> list[Node] | None:
    whole = y.inputs[0]
    return elementwise_chain(whole, uses) if _axes(y) and is_elementwise(whole) and uses(whole) == 1 else None


def on_diagonal(y: Symbol, fact: list[Node]) -> Any:
    """Compute an elementwise chain on the diagonals of its operands."""
    axes = _axes(y.node)
    assert axes is not None
    return recomputed(fact, lambda i, node: _operand(Symbol(i, y.builder), node.type.ndim, axes))


def _operand(x: Symbol, ndim: int, axes: Axes) -> Any:
    """Return the part of an operand that goes with a diagonal: its own diagonal, or a row or column that is spread
    out.
    """
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
    """Write the diagonal of a sum as the sum of diagonals, with the axes counted anew."""
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
    """Multiply rows with columns, each of one number with the other."""
    a, b = [Symbol(i, y.builder) for i in y.node.inputs[0].inputs]
    return np.sum(a * np.swapaxes(b, -2, -1), axis=-1)


# -- exchanged axes ---------------------------------------------------------------------------------------------------
def of_exchanged(y: Symbol) -> Any:
    """Return the diagonal, or the trace, of the value before its axes were exchanged; then exchange the other axes."""
    node = y.node
    order = node.inputs[0].param("axes")
    pair = [order[node.param(name)] for name in ("axis1", "axis2")]
    params = (("offset", node.param("offset")), ("axis1", pair[0]), ("axis2", pair[1]))
    found: Any = apply(node.op, (Symbol(node.inputs[0].inputs[0], y.builder),), params)
    left = [k for k in order if k not in pair]
    axes = [sorted(left).index(k) for k in left]
    return np.transpose(found, (*axes, *range(len(axes), node.type.ndim)))


def _of_identity(y: Node) -> bool:
    """Return whether a diagonal is that of an identity matrix, to which axes of length one may have been added."""
    x = y.inputs[0]
    axes = _axes(y)
    if axes is None or x.type.size != x.type.shape[axes.first] ** 2:
        return False
    matrix = x.inputs[0] if x.op is ops.reshape else x
    return matrix.op is ops.eye and matrix.type.shape[0] == x.type.shape[axes.first] and matrix.param("k") == 0


def _is_computed(y: Node, uses: Any) -> bool:
    """Return whether another rule computes only the diagonal that a trace needs."""
    whole = y.inputs[0]
    if _axes(y) is None or uses(whole) != 1:
        return False
    if whole.op is ops.matmul:
        return _matmul(y, uses)
    return is_elementwise(whole) or (whole.op is ops.sum and _of_sum(y, uses))


def trace(y: Symbol) -> Any:
    axes = _axes(y.node)
    assert axes is not None
    return np.sum(np.diagonal(Symbol(y.node.inputs[0], y.builder), 0, *axes), axis=-1)


def _rule(name: str, op: str, of: str, replacement: Any, when: Any = None) -> Rule:
    return Rule(name, Some(op, of=(of,) if of else ()), replacement, when, kinds="fc", changes="rounding")


DIAGONALS_AND_TRACES = (
    _rule("diagonal-of-elementwise", "diagonal", "", on_diagonal, _elementwise),
    _rule("diagonal-of-sum", "diagonal", "sum", sum_of_diagonals, _of_sum),
    _rule("diagonal-of-product", "diagonal", "matmul", of_product, _matmul),
    _rule("diagonal-of-exchanged", "diagonal", "transpose", of_exchanged),
    Rule("diagonal-of-identity", Some("diagonal"), lambda y: np.ones_like(y), _of_identity, kinds="fcb"),
    _rule("trace-of-exchanged", "trace", "transpose", of_exchanged),
    _rule("trace-of-computed", "trace", "", trace, _is_computed),
)
