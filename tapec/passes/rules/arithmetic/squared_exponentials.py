"""These rules square an exponential that is there instead of computing another: exp(x) beside exp(x / 2).

A square is half of the work. It overflows where the exponential does: numbers near the logarithm of the largest float
lie so far apart that no exponential of one comes within a few last digits of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node, Op, get_op, ops
from tapec.ir.pattern import variables
from tapec.ops import Symbol, apply
from tapec.passes.engine.node_facts import number_and_rest
from tapec.passes.engine.rule import Rule

__all__ = ["SQUARED_EXPONENTIALS"]

(x,) = variables("x")


class Half(NamedTuple):
    """The operation by which a program makes the half of a value: the op, its operand and its number."""

    whole: Node
    op: Op | None
    number: float


def halvings(k: float) -> list[tuple[Op | None, float]]:
    """Return the operations that make the half of k times a value.

    Dividing counts only if it rounds nothing: an exponential would magnify the rounding.
    """
    if k == 2:
        return [(None, 1.0)]
    exact = abs(math.frexp(k)[0]) == 0.5
    return [(MULTIPLY, k / 2), (DIVIDE, 2 / k)] if exact else [(MULTIPLY, k / 2)]


def half_of(x: Node, walk: Any) -> Half | None:
    """Return the half of x, if the program computes its exponential.

    An integer may not be twice its half, since integers wrap around.
    """
    if x.type.dtype.kind != "f":
        return None
    k, whole = 1.0, x
    if x.op is ops.negative:
        k, whole = -1.0, x.inputs[0]
    elif x.op is ops.multiply:
        factor, rest = number_and_rest(x)
        if type(factor) in (int, float) and factor and rest.type == x.type:
            k, whole = factor, rest
    for op, number in halvings(k):
        half = whole if op is None else walk.value_with_number(op, whole, number)
        if half is not None and half.type == x.type and walk.is_used_anywhere(EXP, (half,)):
            return Half(whole, op, number)
    return None


EXP, MULTIPLY, DIVIDE = get_op("exp"), get_op("multiply"), get_op("divide")


def squared(y: Symbol, fact: Half) -> Any:
    """Return the square of the exponential of the half.

    That may come later in the program: it is made here, and the walk finds it again there.
    """
    half: Any = Symbol(fact.whole, y.builder)
    root = np.exp(half if fact.op is None else apply(fact.op, (half, fact.number)))
    return root * root


SQUARED_EXPONENTIALS = (
    Rule(
        "square-of-known-exponential",
        np.exp(x),
        squared,
        lambda x, walk: half_of(x, walk),
        changes="rounding",
    ),
)
