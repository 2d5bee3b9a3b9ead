"""These rules write sums of broadcast products as matrix products: `(x * w).sum(axis=1)` becomes `x @ w`.

Along each axis the product has the extent of both operands, or of one of them. A sum along axes of both is a
contraction; each other axis belongs to one operand, and the product itself is never made. Axes of both operands that
are kept would make a stack of small products: those sums stay. A `tensordot` is a matrix product, too, without the
microseconds in which NumPy finds that out; where that takes a copy, the copy serves the gradient as well.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node, ops
from tapec.ir.cost import elements
from tapec.ir.pattern import Some, variables
from tapec.ops import Symbol
from tapec.passes import tuning
from tapec.passes.engine.node_facts import uniform_value
from tapec.passes.engine.rule import Rule

__all__ = ["SUMS_AS_MATMUL"]

a, b, x = variables("a b x")

Axes = tuple[int, ...]


class Contraction(NamedTuple):
    """The shape of a product, the axes of both operands, those of the left one and the right one only, and those summed
    over.

    All axes of both operands are summed over.
    """

    shape: Axes
    both: Axes
    left: Axes
    right: Axes
    summed: Axes


def contraction(y: Node, a: Node, b: Node, uses: Any) -> Contraction | None:
    """Return the sum of a product as a contraction, if a matrix product computes that; else None."""
    return _contraction(y, y.inputs[0], a, b, uses)


def _beside(y: Node, a: Node, b: Node, x: Node, uses: Any) -> Contraction | None:
    """Return the contraction of a product that is added up together with another array; None if there is none."""
    total = y.inputs[0]
    product = total.inputs[1] if total.inputs[0] is x else total.inputs[0]
    return _contraction(y, product, a, b, uses) if product.type == total.type and uses(total) == 1 else None


def contracted_beside(y: Symbol, a: Symbol, b: Symbol, x: Symbol, fact: Contraction) -> Any:
    rest = np.sum(np.broadcast_to(x, fact.shape), axis=y.node.param("axis"), keepdims=y.node.param("keepdims"))
    return contracted(y, a, b, fact) + rest


def _contraction(y: Node, product: Node, a: Node, b: Node, uses: Any) -> Contraction | None:
    """Return the sum over `y`'s axes of a product as a contraction; None where a matrix product would not pay.

    It must not have axes of both operands that are kept. The axes of both must lie together in each operand, so that a
    reshape makes a matrix, or the operands must be small enough to be copied. An operand that a block loop computes as
    it is read stays as it is.
    """
    shape, axis = product.type.shape, y.param("axis")
    if product.type.dtype.char not in "fd" or a.type.dtype != b.type.dtype or not y.type.size or uses(product) > 1:
        return None
    if a.type.shape == b.type.shape or uniform_value(a) is not None or uniform_value(b) is not None:
        return None
    of_a, of_b = _own_axes(a, len(shape)), _own_axes(b, len(shape))
    both = tuple([k for k in of_a if k in of_b])
    if not both or not set(both) <= set(axis) or _comes_late(a) or _comes_late(b):
        return None
    left, right = (tuple([k for k in own if k not in both]) for own in (of_a, of_b))
    if not (_in_blocks(of_a, both) and _in_blocks(of_b, both)) and not (_is_copied(a) and _is_copied(b)):
        return None
    if left and right and not (left[-1] < right[0] or right[-1] < left[0]):
        return None
    return Contraction(shape, both, left, right, axis)


def _own_axes(node: Node, ndim: int) -> Axes:
    """Return the axes along which an operand is longer than one, counted in the product."""
    first = ndim - node.type.ndim
    return tuple([first + k for k, n in enumerate(node.type.shape) if n != 1])


def _in_blocks(own: Axes, both: Axes) -> bool:
    """Return whether the axes of both operands are together in one of them, at the beginning or at the end."""
    n = len(both)
    return own[:n] == both or own[len(own) - n :] == both


def _comes_late(node: Node) -> bool:
    """Return whether a block loop would compute this operand just before the product, so that it never exists as a
    whole.
    """
    return node.op.kind == "elementwise" and elements(node) >= tuning.BLOCKED_OPERAND_MIN_ELEMENTS


def _is_copied(node: Node) -> bool:
    """Return whether a copy of this operand, with its axes in another order, is less work than the product.

    The copy takes the place of the product.
    """
    return node.op.kind != "elementwise" and elements(node) < tuning.BLOCKED_OPERAND_MIN_ELEMENTS


def contracted(y: Symbol, a: Symbol, b: Symbol, fact: Contraction) -> Any:
    """Write a contraction as one matrix product, and sums over axes of one operand; return it in the shape of y."""
    shape, both, left, right, summed = fact
    if left and right and right[0] < left[0]:
        a, b, left, right = b, a, right, left
    total = _facing(a, left, both, shape, last=True) @ _facing(b, right, both, shape, last=False)
    free = left + right
    total = np.reshape(total, [shape[k] for k in free])
    summed_later = tuple([i for i, k in enumerate(free) if k in summed])
    total = np.sum(total, axis=summed_later) if summed_later else total
    if y.node.op is ops.mean:
        total = total / math.prod([shape[k] for k in summed])
    return np.reshape(total, y.shape)


def _facing(x: Any, free: Axes, both: Axes, shape: Axes, last: bool) -> Any:
    """Return an operand as a matrix with the axes of both as its last axis, or its first; as a vector if it has no
    others.
    """
    k, n = math.prod([shape[i] for i in both]), math.prod([shape[i] for i in free])
    own = tuple(sorted(free + both))
    if own == free + both and free:
        matrix = np.reshape(x, (n, k))
        return matrix if last else np.transpose(matrix)
    if own == both + free and free:
        matrix = np.reshape(x, (k, n))
        return np.transpose(matrix) if last else matrix
    order = [own.index(i) for i in (free + both if last else both + free)]
    if order != sorted(order):
        x = np.transpose(np.reshape(x, [shape[i] for i in own]), order)
    return np.reshape(x, ((n, k) if last else (k, n)) if free else (k,))


# -- weights among large factors --------------------------------------------------------------------------------------
def _weighted(y: Node, a: Node, b: Node, x: Node, uses: Any) -> Contraction | None:
    """Return the contraction of a weighted product: one of two large factors is weighted along all axes that are summed
    over.

    In a gradient, where nothing else reads the weighted factor, the product of the two large factors meets the weights
    x in a matrix product: one pass less over large arrays.
    """
    product = y.inputs[0]
    inner = product.inputs[product.inputs[0] is b]
    if inner.role is None or uses(inner) > 1 or not a.type == b.type == product.type:
        return None
    fact = _contraction(y, product, product, x, uses)
    return fact if fact is not None and fact.both == fact.summed and fact.left and not fact.right else None


# -- tensordot --------------------------------------------------------------------------------------------------------
def _is_product(y: Node) -> bool:
    a, b = y.inputs
    return bool(y.type.size and y.type.dtype.char in "fdFD" and a.type.dtype == b.type.dtype)


def as_product(y: Symbol) -> Any:
    """Write a tensordot as a matrix product.

    Pairs of axes are taken in the order in which the larger operand has them, so that it need not be copied.
    """
    (a, b), (left, right) = (Symbol(i, y.builder) for i in y.node.inputs), y.node.param("axes")
    pairs = sorted(zip(left, right, strict=True), key=lambda pair: pair[elements(a.node) < elements(b.node)])
    left, right = [tuple([pair[k] for pair in pairs]) for k in (0, 1)]
    return np.reshape(_as_matrix(a, left, last=True) @ _as_matrix(b, right, last=False), y.shape)


def _as_matrix(x: Symbol, axes: Axes, last: bool) -> Any:
    return _facing(x, tuple([k for k in range(x.ndim) if k not in axes]), axes, x.shape, last)


def _rule(name: str, pattern: Any) -> Rule:
    return Rule(name, pattern, contracted, contraction, kinds="f", changes="rounding")


SUMS_AS_MATMUL = (
    Rule("tensordot-as-product", Some("tensordot"), as_product, _is_product, kinds="fc", changes="rounding"),
    _rule("sum-of-product", np.sum(a * b)),
    _rule("mean-of-product", np.mean(a * b)),
    Rule(
        "weight-out-of-product",
        np.sum(a * x * b),
        lambda y, a, b, x, fact: contracted(y, a * b, x, fact),
        _weighted,
        changes="rounding",
    ),
    Rule(
        "sum-of-product-beside",
        np.sum(a * b + x),
        contracted_beside,
        _beside,
        only="cotangents",
        changes="zeros",
    ),
)
