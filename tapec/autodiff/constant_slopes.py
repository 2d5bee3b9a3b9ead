"""Skip the rules of ops of which each slope is a number or an operand, as sums and products: most of a long program.

Their rules are asked once, and not at each node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from tapec.autodiff.symbolic.signed_cotangents import Minus, Uniform, taken_apart, times
from tapec.ir import Node, Op, ops
from tapec.ops import Symbol

__all__ = ["plain_parts", "plain_slopes"]


class Operand:
    """Stands for an operand while a rule is asked. A rule that computes with it fails."""

    __slots__ = ("place",)

    def __init__(self, place: int):
        self.place = place


@cache
def plain_slopes(op: Op, count: int) -> tuple[int | Operand, ...] | None:
    """Return 1, -1, or an operand for each of so many operands; None for ops with other slopes."""
    if op.partials is None or op.vjp is not None or op.multi:
        return None
    try:
        slopes = tuple(op.partials(Operand(-1), *map(Operand, range(count))))
    except (TypeError, AttributeError):
        return None
    known = [(type(s) is Operand and s.place >= 0) or (type(s) is int and s in (1, -1)) for s in slopes]
    return slopes if all(known) else None


def plain_parts(node: Node, moving: Sequence[Any], lift: Callable[[Node], Node]) -> list[Any] | None:
    """Return, for each operand of an operation with constant slopes, its part of the derivative, still broadcast.

    Backwards that is the cotangent of the result times the operand's slope, forwards its own tangent times it. An
    operand that does not move has None. The result is None for operations on anything but floats of one precision.
    """
    inputs = node.inputs
    slopes = plain_slopes(node.op, len(inputs))
    if slopes is None or node.params:
        return None
    dtype = node.type.dtype
    if dtype.kind != "f":
        return None
    parts: list[Any] = []
    xs = [lift(i) for i in inputs]
    for t, slope in zip(moving, slopes, strict=True):
        if t is None:
            parts.append(None)
            continue
        minus, part = (False, t) if type(t) is Symbol else _bare(t)
        if isinstance(slope, int):
            minus ^= slope == -1
        else:
            own, factor = inputs[slope.place].type, xs[slope.place]
            if own.dtype is not dtype and own.dtype != dtype and not (own.weak and own.dtype.kind in "fi"):
                return None
            negative = factor.op is ops.negative
            minus ^= negative
            part = times(part, factor.inputs[0] if negative else factor)
        parts.append(Minus(part) if minus else part)
    return parts


def _bare(t: Any) -> tuple[bool, Any]:
    """Return whether a value is a negative, also of a negative number, and the value without its sign."""
    minus, t = taken_apart(t)
    return (not minus, -t) if type(t) is Uniform and t.value < 0 else (minus, t)
