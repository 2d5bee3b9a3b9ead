"""Operations of which each slope is a number or an operand, as those of sums and products: most of a long program.

Their rules are asked once, and not at each node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from tapec.autodiff.cotangents import Minus, times
from tapec.ir import Node, Op
from tapec.ops import Symbol

__all__ = ["plain_cotangents"]


class Operand:
    """Stands for an operand while a rule is asked. A rule that computes with it fails."""

    __slots__ = ("place",)

    def __init__(self, place: int):
        self.place = place


@cache
def plain_slopes(op: Op, count: int) -> tuple[int | Operand, ...] | None:
    """1, -1, or an operand for each of so many operands; None for ops with other slopes."""
    if op.partials is None or op.vjp is not None or op.multi:
        return None
    try:
        slopes = tuple(op.partials(Operand(-1), *map(Operand, range(count))))
    except (TypeError, AttributeError):
        return None
    known = [(type(s) is Operand and s.place >= 0) or (type(s) is int and s in (1, -1)) for s in slopes]
    return slopes if all(known) else None


def plain_cotangents(node: Node, ct: Symbol, wanted: Sequence[bool], lift: Callable[[Node], Node]) -> list[Any] | None:
    """The cotangents of operands, still broadcast, of such an operation on floats of one precision; None for others."""
    inputs = node.inputs
    slopes = plain_slopes(node.op, len(inputs))
    if slopes is None or node.params:
        return None
    dtype = node.type.dtype
    if dtype.kind != "f":
        return None
    parts: list[Any] = []
    xs = [lift(i) for i in inputs]
    for want, slope in zip(wanted, slopes, strict=True):
        if not want:
            parts.append(None)
        elif isinstance(slope, int):
            parts.append(ct if slope == 1 else Minus(ct))
        else:
            t, factor = inputs[slope.place].type, xs[slope.place]
            if t.dtype is not dtype and t.dtype != dtype and not (t.weak and t.dtype.kind in "fi"):
                return None
            if factor.op.name == "negative":
                parts.append(Minus(times(ct, factor.inputs[0])))
            else:
                parts.append(times(ct, factor))
    return parts
