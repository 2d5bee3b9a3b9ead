"""`StructuralZeros` says along which axes, and at which places, a cotangent has structural zeros."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node

__all__ = [
    "Given",
    "Merged",
    "StructuralZeros",
    "all_axes",
    "laid_out",
    "zeros_of_product",
    "permuted",
    "somewhere",
    "with_filled",
]


class Merged(NamedTuple):
    """The axis that several axes became, their sizes, and along which of them there were lines.

    If one of them was such an axis itself, that is `within`, counted from the first of them.
    """

    axis: int
    sizes: tuple[int, ...]
    lines: int
    within: Any = None  # Merged | None


class StructuralZeros(NamedTuple):
    """The axes along which zero and other places differ, and the axes along which they do because the user chose
    places.

    Axes are bits, the first axis the lowest. Zeros that the user did not choose are made by derivative rules and by the
    unit vectors of Jacobians. Where constant indices chose along one axis (counted from the last), `filled` are the
    places that are not zero, as bits. Where they chose along several axes together, `touched` are the axes at each
    place of which something was chosen: of `x[rows, labels]`, with all rows, the first. Along `lines`, places were
    chosen whatever is chosen along others: both axes of `x[1:, 1:]`.
    """

    axes: int
    chosen: int
    axis: int = 0
    filled: int = 0
    touched: tuple[int, ...] = ()
    lines: int = 0
    merged: Merged | None = None


Given = Sequence[StructuralZeros | None]


def all_axes(node: Node) -> int:
    return sum([1 << k for k, n in enumerate(node.type.shape) if n != 1])


def zeros_of_product(parts: Given) -> StructuralZeros | None:
    """Return the structural zeros of a product, which is zero where any factor is."""
    known = [p for p in parts if p is not None]
    if len(known) < 2:
        return known[0] if known else None
    axes = chosen = lines = 0
    for p in known:
        axes |= p.axes
        chosen |= p.chosen
        lines |= p.lines
    by_user = [p for p in known if p.chosen]
    if len(by_user) == 1:
        return by_user[0]._replace(axes=axes, touched=())
    return StructuralZeros(axes, chosen, lines=lines)


def laid_out(node: Node, k: int, part: StructuralZeros | None) -> StructuralZeros | None:
    """Return the structural zeros of an operand by the axes of the result to which it broadcasts."""
    shift = node.type.ndim - node.inputs[k].type.ndim
    if part is None or not shift:
        return part
    touched = tuple([axes << shift for axes in part.touched])
    return part._replace(
        axes=part.axes << shift, chosen=part.chosen << shift, touched=touched, lines=part.lines << shift, merged=None
    )


def with_filled(part: StructuralZeros, filled: int, n: int) -> StructuralZeros | None:
    """Return the structural zeros with other filled places among n; where all are filled, those not chosen by the
    user.
    """
    if filled.bit_count() < n:
        return part._replace(filled=filled)
    return StructuralZeros(part.axes, 0) if part.axes != part.chosen else None


def permuted(part: StructuralZeros, places: dict[int, int], old: int, new: int) -> StructuralZeros:
    """Return the structural zeros where axes have other places, or none."""

    def bits(axes: int) -> int:
        return sum([1 << k for i, k in places.items() if axes >> i & 1])

    axis = places.get(part.axis + old) if part.filled else None
    placed = (0, 0) if axis is None else (axis - new, part.filled)
    merged = part.merged
    if merged is not None:
        merged = merged._replace(axis=places[merged.axis]) if merged.axis in places else None
    return StructuralZeros(bits(part.axes), bits(part.chosen), *placed, lines=bits(part.lines), merged=merged)


def somewhere(node: Node, part: StructuralZeros | None) -> StructuralZeros | None:
    """Return structural zeros along all axes, in places that are not known."""
    if part is None or isinstance(node.type, tuple):
        return None
    axes = all_axes(node)
    return StructuralZeros(axes, axes if part.chosen else 0)
