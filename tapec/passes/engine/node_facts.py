"""This module tells facts about a node, its sign, value and size, without computing the node.

The answers are True only where the fact is known from the ops above the node; False means "not known". Each function
looks at a few operations at most, since rules ask these questions at every node.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.ir import CONSTANT, Node, OpSet, ops
from tapec.ir.static_index import Slice
from tapec.ir.uniform_value import uniform_value
from tapec.passes import tuning

__all__ = [
    "are_few",
    "far_from_overflow",
    "is_identity",
    "is_nonnegative",
    "is_positive",
    "is_power_of_two",
    "is_zero",
    "maximum_below",
    "number_and_rest",
    "takes_everything",
    "uniform_value",
    "unscaled",
    "unshaped",
]


def are_few(elements: int, others: int) -> bool:
    """Return whether an operation on so many elements costs little beside one on the others."""
    return tuning.MUCH_SMALLER_MIN_RATIO * elements <= others


def number_and_rest(product: Node) -> tuple[Any, Node]:
    """Return the number among the two factors of a product, and the other factor; (None, a factor) without a number."""
    a, b = product.inputs
    if a.inputs and b.inputs:  # the most frequent case first: a number has no operands
        return None, a
    k = uniform_value(b)
    return (uniform_value(a), b) if k is None else (k, a)


def is_zero(node: Node) -> bool:
    """Return whether a node is zero everywhere, of whichever sign."""
    value = uniform_value(node)
    return value is not None and value == 0


def is_identity(node: Node) -> bool:
    """Return whether a node is known to be an identity matrix."""
    t = node.type
    if t.ndim != 2 or t.shape[0] != t.shape[1]:
        return False
    if node.op is ops.eye:
        return node.param("k") == 0
    if node.op is not CONSTANT:
        return False
    value: Any = node.value
    return bool(np.count_nonzero(value) == len(value) and np.all(np.diagonal(value) == 1))


def is_power_of_two(k: Any) -> bool:
    """Return whether multiplying by k, and by its inverse, is exact."""
    return math.isfinite(k) and abs(math.frexp(k)[0]) == 0.5 and 2.0**-1000 < abs(k) < 2.0**1000


def far_from_overflow(y: Node, *factors: Any) -> bool:
    """Return whether the numbers are so far from the limits of y's dtype that a product with them is safe.

    They lie within 2**±170 for float64, and 2**±21 for float32, so that six of them multiply to a finite normal number.
    """
    if y.type.dtype.char not in "fd":
        return False
    limit = 170 if y.type.dtype.char == "d" else 21
    return all(math.isfinite(f) and f != 0 and abs(math.frexp(f)[1]) <= limit for f in factors)


# Ops whose result has no sign bit: always, or when all their operands have none.
_NEVER_NEGATIVE = OpSet("absolute fabs exp exp2 cosh hypot norm std var")
_KEEP = OpSet("add multiply divide power sqrt sum mean max min maximum minimum reshape broadcast_to transpose getitem")


def is_nonnegative(node: Node, depth: int | None = None) -> bool:
    """Return whether it is known that no element of a node is negative or -0.0. An element may be nan."""
    depth = tuning.NONNEGATIVE_MAX_OPS if depth is None else depth
    op = node.op
    if node.op.multi or node.type.dtype.kind != "f":
        return False
    if op in _NEVER_NEGATIVE or (op in (ops.multiply, ops.square) and node.inputs[0] is node.inputs[-1]):
        return True
    if op is ops.power and uniform_value(node.inputs[1]) in (2, 4, 6):
        return True
    value = uniform_value(node)
    if value is not None:
        return type(value) is not complex and math.copysign(1.0, value) > 0
    return bool(depth) and op in _KEEP and all([is_nonnegative(i, depth - 1) for i in node.inputs[:2]])


_STAY_POSITIVE = OpSet("multiply sqrt sum mean max min reshape broadcast_to transpose getitem")


def is_positive(node: Node, depth: int | None = None) -> bool:
    """Return whether it is known that no element of a node is zero or less. An element may be nan.

    Exponentials count as positive, though they may underflow to zero.
    """
    depth = tuning.POSITIVE_MAX_OPS if depth is None else depth
    op = node.op
    if node.op.multi or node.type.dtype.kind not in "fiu":
        return False
    value = uniform_value(node)
    if value is not None:
        return type(value) is not complex and value > 0
    if op in (ops.exp, ops.exp2, ops.cosh):
        return True
    if not depth:
        return False
    if op is ops.add:
        a, b = node.inputs
        return _exceeds_zero(a, b, depth - 1) or _exceeds_zero(b, a, depth - 1)
    if op is ops.maximum:
        return any([is_positive(i, depth - 1) for i in node.inputs])
    return op in _STAY_POSITIVE and all([is_positive(i, depth - 1) for i in node.inputs[:2]])


def _exceeds_zero(a: Node, b: Node, depth: int) -> bool:
    return is_positive(a, depth) and (is_nonnegative(b) or is_positive(b, depth))


def maximum_below(total: Node) -> Node | None:
    """Return the maximum that is subtracted in a sum of exponentials, so that the largest exponential is 1; else None.

    As in `np.exp(x - x.max(axis=1, keepdims=True)).sum(axis=1)`.
    """
    (e,) = total.inputs
    if e.op is not ops.exp or e.inputs[0].op is not ops.subtract:
        return None
    x, shift = e.inputs[0].inputs
    top = unshaped(shift)
    if top.op is not ops.max or top.inputs[0] is not x or top.param("axis") != total.param("axis"):
        return None
    kept = tuple([1 if k in top.param("axis") else n for k, n in enumerate(x.type.shape)])
    return top if shift.type.shape == kept else None


def unscaled(node: Node) -> Node:
    """Return the node of which another is a transpose or a multiple by a constant, through any number of both."""
    while node.op is ops.transpose or (node.op is ops.multiply and CONSTANT in [i.op for i in node.inputs]):
        node = next((i for i in node.inputs if i.op is not CONSTANT), node.inputs[0])
    return node


def unshaped(node: Node) -> Node:
    """Return the node of which another is a reshape, as with axes of length one."""
    while node.op is ops.reshape:
        node = node.inputs[0]
    return node


def takes_everything(y: Node) -> bool:
    """Return whether an index of a getitem or scatter only drops axes of length one, and keeps the order."""
    same = len(y.inputs) == 1 and y.type.size == y.inputs[0].type.size
    return same and all([part.step is None or part.step > 0 for part in y.param("index") if type(part) is Slice])
