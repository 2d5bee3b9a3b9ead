"""These rules square one exponential instead of computing another: exp(x) beside exp(x / 2), half of the work.

The square overflows where the exponential does: numbers near the logarithm of the largest float lie so far apart that
no exponential of one comes within a few last digits of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node, Op, get_op, ops
from tapec.ops import Symbol, apply
from tapec.passes.engine.node_facts import number_and_rest
from tapec.passes.engine.pattern import variables
from tapec.passes.engine.rule import Rule

__all__ = ["EXPONENTIALS"]

(x,) = variables("x")


class Half(NamedTuple):
    """How the program makes the half of something: of which value, by which operation, with which number."""

    whole: Node
    op: Op | None
    number: float


def halvings(k: float) -> list[tuple[Op | None, float]]:
    """The ways to half of k times a value. Dividing is one if it rounds nothing: an exponential would magnify that."""
    if k == 2:
        return [(None, 1.0)]
    exact = abs(math.frexp(k)[0]) == 0.5
    return [(MULTIPLY, k / 2), (DIVIDE, 2 / k)] if exact else [(MULTIPLY, k / 2)]


def half_of(x: Node, walk: Any) -> Half | None:
    """The half of x, if the program has its exponential. Whole numbers may not be what they are the half of: they wrap
    around."""
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
        half = whole if op is None else walk.there(op, whole, number)
        if half is not None and half.type == x.type and walk.is_needed(EXP, (half,)):
            return Half(whole, op, number)
    return None


EXP, MULTIPLY, DIVIDE = get_op("exp"), get_op("multiply"), get_op("divide")


def squared(y: Symbol, fact: Half) -> Any:
    """The half may come later in the program: it is made here, and found there."""
    half: Any = Symbol(fact.whole, y.builder)
    root = np.exp(half if fact.op is None else apply(fact.op, (half, fact.number)))
    return root * root


EXPONENTIALS = (
    Rule(
        "square-of-known-exponential",
        np.exp(x),
        squared,
        lambda x, walk: half_of(x, walk),
        changes="rounding",
    ),
)
