"""This module finds values that may be inf or nan though what they are computed from is finite: quotients, logarithms.

The answer comes from the ops and from signs that are known (`log(1 + exp(x))` is finite), never from data. Overflow of
sums and products does not count: their operands are taken to be far from the largest float.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from tapec.ir import CONSTANT, Node, OpSet, OpTable, ops
from tapec.passes.engine.node_facts import is_nonnegative, is_positive, uniform_value

__all__ = ["may_be_nonfinite"]

# Elementwise ops whose results are finite for finite operands, but for overflow.
_FINITE_FOR_FINITE = OpSet(
    "add subtract multiply negative positive square conjugate real imag angle absolute fabs sign copysign "
    "heaviside sin cos tanh sinc arctan arctan2 arcsinh hypot cbrt deg2rad radians rad2deg degrees "
    "sigmoid relu relu6 maximum minimum fmax fmin clip where choose nan_to_num logaddexp logaddexp2 floor "
    "ceil rint trunc round modf stop_gradient greater greater_equal less less_equal equal not_equal isnan "
    "isinf isfinite signbit logical_and logical_or logical_xor logical_not invert bitwise_and bitwise_or "
    "bitwise_xor left_shift right_shift bitwise_count gcd lcm"
)


def may_be_nonfinite(node: Node, nonfinite: Collection[Node]) -> bool:
    """Return whether a value may be inf or nan, given the set of those of its operands that may be.

    A result of LAPACK counts as finite: where an operand is not, LAPACK gives nan everywhere or raises, so there is no
    place that a guard could keep.
    """
    op = node.op
    if op.kind == "linalg" or _is_logistic(node, nonfinite):
        return False
    for i in node.inputs:
        if i in nonfinite:
            return True
    if op.kind == "elementwise":
        return op not in _FINITE_FOR_FINITE and _NONFINITE_FOR_FINITE.get(op, _always)(node)
    return op is CONSTANT and not _is_finite(node.value)


def _is_logistic(node: Node, nonfinite: Collection[Node]) -> bool:
    """Return whether the node is `1 / (1 + np.exp(x))`, which is zero, not nan, where the exponential is infinite."""
    if node.op not in (ops.divide, ops.reciprocal):
        return False
    below = node.inputs[-1]
    if below.op is not ops.add or (node.op is ops.divide and not _is_number(node.inputs[0])):
        return False
    for number, power in (below.inputs, below.inputs[::-1]):
        if power.op in (ops.exp, ops.exp2) and power.inputs[0] not in nonfinite and _is_number(number):
            return is_positive(number)
    return False


def _is_number(node: Node) -> bool:
    k = uniform_value(node)
    return type(k) in (int, float) and math.isfinite(k)


def _always(node: Node) -> bool:
    return True


def _is_finite(value: Any) -> bool:
    return np.asarray(value).dtype.kind not in "fc" or bool(np.isfinite(value).all())


def _divides(k: int) -> Callable[[Node], bool]:
    """Return a test: whether a node divides, by its operand k, by what may be zero."""

    def makes(node: Node) -> bool:
        number = uniform_value(node.inputs[k])
        return not is_positive(node.inputs[k]) if number is None else number == 0

    return makes


def _power(node: Node) -> bool:
    """Return whether a power may be infinite or nan: of zero, or of a negative number, by the exponent that it has."""
    base, exponent = node.inputs
    n = uniform_value(exponent)
    if n is None or type(n) is complex:
        return not is_positive(base)
    return not is_positive(base) and (not 0 <= n < math.inf or (n % 1 != 0 and not is_nonnegative(base)))


def _root(node: Node) -> bool:
    return not is_nonnegative(node.inputs[0])


def _logarithm(node: Node) -> bool:
    return not is_positive(node.inputs[0])


def _exponential(node: Node) -> bool:
    """Return whether an exponential may overflow.

    It may not where its operand is clipped to at most zero, or where its operand's maximum was subtracted, as in a
    softmax.
    """
    x = node.inputs[0]
    if x.op is ops.clip and uniform_value(x.inputs[2]) == 0:
        return False
    if x.op is not ops.subtract:
        return True
    top = x.inputs[1]
    while top.op in (ops.reshape, ops.broadcast_to, ops.stop_gradient):
        top = top.inputs[0]
    return top.op is not ops.max or top.inputs[0] is not x.inputs[0]


_NONFINITE_FOR_FINITE: OpTable[Callable[[Node], bool]] = OpTable(
    {
        "divide": _divides(1),
        "reciprocal": _divides(0),
        "remainder": _divides(1),
        "fmod": _divides(1),
        "power": _power,
        "float_power": _power,
        "sqrt": _root,
        "exp": _exponential,
        "exp2": _exponential,
        "log log2 log10": _logarithm,
    }
)
