"""Follow structural zeros through axes that are moved, split into several, or merged into one."""

from __future__ import annotations

from collections.abc import Sequence

from tapec.ir import Node
from tapec.passes.zero_safety.zero_places import Given, Merged, StructuralZeros, all_axes, permuted, with_filled

__all__ = ["zeros_of_reshape", "zeros_of_transpose"]


def zeros_of_reshape(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of a reshape: of axes that stay, and of axes that are split or merged."""
    part = given[0]
    if part is None:
        return None
    old, new = node.inputs[0].type.shape, node.type.shape
    here, there = _by_step(old), _by_step(new)
    parted, made = (sorted([k for at, k in a.items() if at not in b]) for a, b in ((here, there), (there, here)))
    left = permuted(part, {k: there[at] for at, k in here.items() if at in there}, len(old), len(new))
    if any([part.chosen >> k & 1 for k in parted]):
        return _split(part, old, new) or _unmerged(part, old, new) or _merged(part, left, parted, made, node)
    if any([part.axes >> k & 1 for k in parted]):
        return left._replace(axes=left.axes | sum([1 << k for k in made]))
    return left


def _by_step(shape: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """Return the axes by their sizes and by the number of elements that they step over; equal keys are one axis."""
    found, step = {}, 1
    for k in range(len(shape) - 1, -1, -1):
        if shape[k] != 1:
            found[shape[k], step] = k
            step *= shape[k]
    return found


def _merged(
    part: StructuralZeros, left: StructuralZeros, parted: Sequence[int], made: Sequence[int], node: Node
) -> StructuralZeros:
    """Return what is left of structural zeros where several axes become one: a line along one of them is a part of
    that.
    """
    axes = all_axes(node)
    lines = sum([1 << k - parted[0] for k in parted if part.lines >> k & 1])
    if len(made) != 1 or not lines:
        return StructuralZeros(axes, axes, lines=left.lines)
    sizes, within = node.inputs[0].type.shape[parted[0] : parted[-1] + 1], part.merged
    if within is not None:
        within = within._replace(axis=within.axis - parted[0]) if within.axis in parted else None
    return StructuralZeros(axes, axes, lines=left.lines | 1 << made[0], merged=Merged(made[0], sizes, lines, within))


def _unmerged(part: StructuralZeros, old: tuple[int, ...], new: tuple[int, ...]) -> StructuralZeros | None:
    """Return the structural zeros when a merged axis becomes several again; None if these are other axes.

    In between, the value may have been summed over other axes, or multiplied.
    """
    if part.merged is None:
        return None
    k, sizes, lines, within = part.merged
    if new != (*old[:k], *sizes, *old[k + 1 :]):
        return None

    def bits(axes: int, among: int) -> int:
        return axes & (1 << k) - 1 | among << k | axes >> k + 1 << k + len(sizes)

    wide = sum([1 << i for i, n in enumerate(sizes) if n != 1])
    axes, chosen = bits(part.axes, wide), bits(part.chosen, lines)
    within = within and within._replace(axis=within.axis + k)
    return StructuralZeros(axes, chosen, lines=bits(part.lines, lines), merged=within)


def _split(part: StructuralZeros, old: tuple[int, ...], new: tuple[int, ...]) -> StructuralZeros | None:
    """Return the structural zeros when an axis of which the places are known becomes two; None for another reshape.

    That is how elements that were repeated are added up. If all filled places are in one block, they are told along the
    second axis. Else the filled blocks are told along the first, from the first to the last. If these are all blocks,
    the places that no block has are told along the second axis.
    """
    k, filled = part.axis + len(old), part.filled
    if not filled or len(new) != len(old) + 1 or old != (*new[:k], new[k] * new[k + 1], *new[k + 2 :]):
        return None
    m = new[k + 1]
    first, last = ((filled & -filled).bit_length() - 1) // m, (filled.bit_length() - 1) // m
    everywhere = (1 << len(new)) - 1
    inside = StructuralZeros(everywhere, everywhere, k + 1 - len(new), lines=2 << k)
    if first == last:
        return with_filled(inside, filled >> first * m, m)
    if last - first + 1 < new[k]:
        blocks = StructuralZeros(everywhere, everywhere, k - len(new), lines=1 << k)
        return with_filled(blocks, (2 << last) - (1 << first), new[k])
    anywhere, shift = filled, m
    while shift < m * new[k]:  # doubling: `anywhere` covers shift / m blocks by now
        anywhere |= anywhere >> shift
        shift *= 2
    return with_filled(inside, anywhere & ((1 << m) - 1), m)


def zeros_of_transpose(node: Node, given: Given) -> StructuralZeros | None:
    part = given[0]
    if part is None:
        return None
    ndim = node.type.ndim
    return permuted(part, {k: i for i, k in enumerate(node.param("axes"))}, ndim, ndim)
