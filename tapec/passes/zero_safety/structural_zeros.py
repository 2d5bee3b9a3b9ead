"""Structural zeros are places of a cotangent that are zero because nothing of the value was read or selected there.

They are followed from node to node, as far as shapes, constant indices and the ops tell. The values of masks and of
index arrays are never looked at. So it is often known along which axes there may be such zeros, but not at which
places. A node of which no such zeros are known has None.

    np.where(c, g, 0)   c: bool[8, 1], the user's   StructuralZeros(axes=0b01, chosen=0b01, lines=0b01)
    scatter at x[2:4]   of 8 places                 StructuralZeros(axes=1, chosen=1, axis=-1, filled=0b1100, lines=1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, Node, OpTable, ops
from tapec.ir.static_index import Slice, Slot
from tapec.ops.control.map_loop import repeated
from tapec.ops.indexing.getitem_and_scatter import are_apart, completed, fills_all, picks_one
from tapec.ops.linalg.named_axes import axis_names
from tapec.passes import tuning
from tapec.passes.engine.node_facts import is_zero

__all__ = ["StructuralZeros", "is_chosen", "keeps_axes", "structural_zeros"]

WHOLE = Slice(None, None, None)


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


def structural_zeros(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of a node from those of its operands; None for a node without any."""
    found = _RULES.get(node.op, _linear)(node, given)
    return found if found is not None and found.axes else None


def _all_axes(node: Node) -> int:
    return sum([1 << k for k, n in enumerate(node.type.shape) if n != 1])


def _varies(node: Node, ndim: int) -> int:
    """Return the axes, among the last `ndim`, along which a value may differ."""
    shape = _spread(node).type.shape
    return sum([1 << (ndim - len(shape) + k) for k, n in enumerate(shape) if n != 1])


def _spread(node: Node) -> Node:
    """Return the value that a node spreads out over a larger shape; the node itself if it does not."""
    while node.op is ops.broadcast_to:
        node = node.inputs[0]
    return node


def _joined(parts: Given) -> StructuralZeros | None:
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


def _laid(node: Node, k: int, part: StructuralZeros | None) -> StructuralZeros | None:
    """Return the structural zeros of an operand by the axes of the result to which it broadcasts."""
    shift = node.type.ndim - node.inputs[k].type.ndim
    if part is None or not shift:
        return part
    touched = tuple([axes << shift for axes in part.touched])
    return part._replace(
        axes=part.axes << shift, chosen=part.chosen << shift, touched=touched, lines=part.lines << shift, merged=None
    )


def _moved(part: StructuralZeros, axes: int) -> StructuralZeros:
    """Return structural zeros of which only the axes are still known, not the places."""
    return StructuralZeros(axes, axes if part.chosen else 0)


# -- where it begins --------------------------------------------------------------------------------------------------
def _where(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of a selection with zeros on one side, along the axes of its condition."""
    condition, a, b = node.inputs
    parts = [_laid(node, 1, given[1]), _laid(node, 2, given[2])]
    if is_zero(a) or is_zero(b):
        ndim = node.type.ndim
        axes = _varies(condition, ndim)
        by_user = is_chosen(condition)
        parts.append(
            StructuralZeros(axes, axes, lines=_lines(condition, ndim)) if by_user else StructuralZeros(axes, 0)
        )
    return _joined(parts)


def _lines(condition: Node, ndim: int, depth: int | None = None) -> int:
    """Return the axes along which a condition chooses whole lines: both axes of `rows[:, None] & columns`."""
    depth = tuning.CONDITION_MAX_OPS if depth is None else depth
    if condition.op in (ops.logical_and, ops.bitwise_and) and depth:
        a, b = condition.inputs
        return _lines(a, ndim, depth - 1) | _lines(b, ndim, depth - 1)
    axes = _varies(condition, ndim)
    return axes if axes.bit_count() == 1 else 0


def is_chosen(condition: Node, depth: int | None = None) -> bool:
    """Return whether the user made a condition, as it is, in another layout, or out of integers.

    Derivative rules compare floats; their comparisons do not count, except `isfinite` and `isnan`, by which the user
    left out values that are no numbers. Nor did the user choose the unit vectors along which Jacobians are taken.
    """
    depth = tuning.CONDITION_MAX_OPS if depth is None else depth
    if condition.type.dtype.kind not in "biu" or condition.op is ops.eye or not depth:
        return False
    return (
        condition.role is None
        or condition.op in (ops.isfinite, ops.isnan)
        or all([is_chosen(i, depth - 1) for i in condition.inputs])
    )


def _scatter(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of a scatter: places that its index leaves out, and the zeros of its values."""
    found, inner = _scattered(node), given[0]
    if inner is None:
        return found
    axes = _all_axes(node)
    if inner.chosen:
        lines = inner.lines if found is None else found.lines | inner.lines
        return StructuralZeros(axes, axes, lines=lines if keeps_axes(node) else 0)
    arrays = node.inputs[1:]
    in_pairs = len(set(arrays)) > 1 and not are_apart(arrays)  # as for pairwise distances, where each line has some
    return StructuralZeros(axes, 0) if in_pairs or found is None else found._replace(axes=axes)


def keeps_axes(node: Node) -> bool:
    """Return whether a scatter or getitem takes every axis to an axis of its own."""
    slots = [array.type.ndim for array in node.inputs[1:]]
    return slots in ([], [1]) and all([type(part) in (Slice, Slot) for part in node.param("index")])


def _scattered(node: Node) -> StructuralZeros | None:
    """Return the structural zeros that an index leaves among the places that it does not name; None if it names all."""
    if fills_all(node):
        return None
    picked = _picked(node, node.type.shape)
    if picked is None:
        return StructuralZeros(_all_axes(node), _all_axes(node))
    axes = sum([1 << k for k in picked])
    if len(picked) != 1:
        together = not are_apart(node.inputs[1:])
        lines = sum([1 << k for k, part in picked.items() if not (together and type(part) is Slot)])
        return StructuralZeros(axes, axes, touched=_touched(node, picked), lines=lines)
    [(k, part)] = picked.items()
    n = node.type.shape[k]
    return _among(StructuralZeros(axes, axes, k - node.type.ndim, lines=axes), _places(node, part, n), n)


def _picked(node: Node, shape: tuple[int, ...]) -> dict[int, Any] | None:
    """Return the axes along which an index picks some places, each with its part of the index; None with new axes."""
    index = node.param("index")
    if None in index:
        return None
    parts = [part for part in completed(len(shape), index) if part is not Ellipsis]
    return {k: part for k, part in enumerate(parts) if part != WHOLE and (type(part) is not int or shape[k] != 1)}


def _touched(node: Node, picked: dict[int, Any]) -> tuple[int, ...]:
    """Return the sets of axes, at each place of which together an index names something; see
    `StructuralZeros.touched`.
    """
    shape = node.type.shape
    if picks_one(node.param("index"), node.inputs[1:], shape):
        return ((1 << len(shape) - 1) - 1,)
    return tuple([1 << k for k, part in picked.items() if _names_all(node, part, k)])


def _names_all(node: Node, part: Any, axis: int) -> bool:
    """Return whether a part of an index is a constant array that names every place of an axis."""
    if type(part) is not Slot:
        return False
    array, n = node.inputs[1 + part.k], node.type.shape[axis]
    return array.op is CONSTANT and array.type.size >= n and bool(np.all(_counts(array, n)))


def _counts(array: Node, n: int) -> Any:
    """Return how often a constant array names each of n places."""
    return np.bincount(np.ravel(array.value % n).astype(int), minlength=n)


def _places(node: Node, part: Any, n: int) -> int:
    """Return the places along an axis that an index names, as bits; 0 when the axis is too long to tell."""
    if n > tuning.EMPTY_RUNS_MAX_LENGTH:
        return 0
    if type(part) is int:
        return 1 << part % n
    if n > tuning.EMPTY_PLACES_MAX_LENGTH:
        return _run(part, n) if type(part) is Slice else 0
    if type(part) is Slice:
        return sum([1 << i for i in range(*slice(*part).indices(n))])
    array = node.inputs[-1]
    return sum([1 << i for i in np.flatnonzero(_counts(array, n)).tolist()]) if array.op is CONSTANT else 0


def _run(part: Slice, n: int) -> int:
    start, stop, step = slice(*part).indices(n)
    return (1 << stop) - (1 << start) if step == 1 and stop > start else 0


def _matrix(node: Node, given: Given) -> StructuralZeros | None:
    axes = _all_axes(node)
    return StructuralZeros(axes, axes if node.op is not ops.eye else 0)


def _setitem(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of a setitem: writing zeros is how the gradient of a setitem drops what was
    overwritten.
    """
    if not is_zero(_spread(node.inputs[1])):
        return _first(node, given)
    part, picked = given[0] or StructuralZeros(0, 0), _picked(node, node.type.shape)
    if picked is not None and len(picked) == 1:
        [(k, at)] = picked.items()
        n, axis = node.type.shape[k], k - node.type.ndim
        before = (1 << n) - 1 if not part.chosen else part.filled if part.axis == axis else 0
        places = _places(node, at, n)
        if before and places:
            return StructuralZeros(part.axes | 1 << k, 1 << k, axis, before & ~places, lines=1 << k)
    return StructuralZeros(_all_axes(node), _all_axes(node))


# -- where it goes ----------------------------------------------------------------------------------------------------
def _product(node: Node, given: Given) -> StructuralZeros | None:
    return _joined([_laid(node, k, part) for k, part in enumerate(given)])


def _quotient(node: Node, given: Given) -> StructuralZeros | None:
    return _laid(node, 0, given[0])


def _sum(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of a sum, which is zero where all terms are."""
    a, b = [_laid(node, k, part) for k, part in enumerate(given)]
    if a is None or b is None:
        return None
    chosen = a.chosen | b.chosen if a.chosen and b.chosen else 0
    both = StructuralZeros(a.axes | b.axes, chosen, lines=a.lines & b.lines)
    if not (a.filled and b.filled and a.axis == b.axis):
        return both
    return _among(both._replace(axis=a.axis), a.filled | b.filled, node.type.shape[a.axis])


def _reduction(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of a sum over axes, which is zero where a whole line is.

    Where the user chose elements of lines, each line is taken to have some.
    """
    part = given[0]
    if part is None:
        return None
    axes, ndim = node.param("axis"), node.inputs[0].type.ndim
    kept = [k for k in range(ndim) if node.param("keepdims") or k not in axes]
    left = [k for k in kept if part.axes >> k & 1 and k not in axes]
    bits = sum([1 << k for k in left])
    if any([bits | t == t for t in part.touched]):
        return None
    return _added_up(part, {k: kept.index(k) for k in left}, ndim, len(kept))


def _added_up(part: StructuralZeros, places: dict[int, int], old: int, new: int) -> StructuralZeros:
    """Return what is left when axes without a new place are summed over.

    Where the user chose places along one of those, each line is taken to have some, so only chosen lines are left.
    """
    left = _permuted(part, places, old, new)
    if any([part.chosen >> k & 1 for k in range(old) if k not in places]):
        return left._replace(chosen=left.lines)
    return left


def _reshape(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of a reshape: of axes that stay, and of axes that are split or merged."""
    part = given[0]
    if part is None:
        return None
    old, new = node.inputs[0].type.shape, node.type.shape
    here, there = _by_step(old), _by_step(new)
    parted, made = (sorted([k for at, k in a.items() if at not in b]) for a, b in ((here, there), (there, here)))
    left = _permuted(part, {k: there[at] for at, k in here.items() if at in there}, len(old), len(new))
    if any([part.chosen >> k & 1 for k in parted]):
        return _split(part, old, new) or _unmerged(part, old, new) or _merged(part, left, parted, made, node)
    if any([part.axes >> k & 1 for k in parted]):
        return left._replace(axes=left.axes | sum([1 << k for k in made]))
    return left


def _merged(
    part: StructuralZeros, left: StructuralZeros, parted: Sequence[int], made: Sequence[int], node: Node
) -> StructuralZeros:
    """Return what is left of structural zeros where several axes become one: a line along one of them is a part of
    that.
    """
    axes = _all_axes(node)
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


def _by_step(shape: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """Return the axes by their sizes and by the number of elements that they step over; equal keys are one axis."""
    found, step = {}, 1
    for k in range(len(shape) - 1, -1, -1):
        if shape[k] != 1:
            found[shape[k], step] = k
            step *= shape[k]
    return found


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
        return _among(inside, filled >> first * m, m)
    if last - first + 1 < new[k]:
        blocks = StructuralZeros(everywhere, everywhere, k - len(new), lines=1 << k)
        return _among(blocks, (2 << last) - (1 << first), new[k])
    anywhere, shift = filled, m
    while shift < m * new[k]:  # doubling: `anywhere` covers shift / m blocks by now
        anywhere |= anywhere >> shift
        shift *= 2
    return _among(inside, anywhere & ((1 << m) - 1), m)


def _permuted(part: StructuralZeros, places: dict[int, int], old: int, new: int) -> StructuralZeros:
    """Return the structural zeros where axes have other places, or none."""

    def bits(axes: int) -> int:
        return sum([1 << k for i, k in places.items() if axes >> i & 1])

    axis = places.get(part.axis + old) if part.filled else None
    placed = (0, 0) if axis is None else (axis - new, part.filled)
    merged = part.merged
    if merged is not None:
        merged = merged._replace(axis=places[merged.axis]) if merged.axis in places else None
    return StructuralZeros(bits(part.axes), bits(part.chosen), *placed, lines=bits(part.lines), merged=merged)


def _getitem(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of a part of an array: exactly for slices and single places of the axis that is
    known.
    """
    part, shape = given[0], node.inputs[0].type.shape
    if part is None:
        return None
    picked = _picked(node, shape) if part.filled else None
    if picked is not None and list(picked) == [part.axis + len(shape)]:
        [(k, at)] = picked.items()
        if type(at) is int and part.axes == 1 << k and part.filled >> at % shape[k] & 1:
            return None
        if type(at) is Slice:
            places = range(*slice(*at).indices(shape[k]))
            if places.step == 1:
                return _among(part, part.filled >> places.start & ((1 << len(places)) - 1), len(places))
            if len(places) <= tuning.EMPTY_PLACES_MAX_LENGTH:
                filled = sum([1 << i for i, place in enumerate(places) if part.filled >> place & 1])
                return _among(part, filled, len(places))
    if part.chosen and node.type.shape == (1,):
        return StructuralZeros(1, 1)  # one element as a whole: it may be written beside others again
    return _somewhere(node, part)


def _among(part: StructuralZeros, filled: int, n: int) -> StructuralZeros | None:
    """Return the structural zeros with other filled places among n; where all are filled, those not chosen by the
    user.
    """
    if filled.bit_count() < n:
        return part._replace(filled=filled)
    return StructuralZeros(part.axes, 0) if part.axes != part.chosen else None


def _transpose(node: Node, given: Given) -> StructuralZeros | None:
    part = given[0]
    if part is None:
        return None
    ndim = node.type.ndim
    return _permuted(part, {k: i for i, k in enumerate(node.param("axes"))}, ndim, ndim)


def _contraction(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of a sum of products, along the axes of the result.

    Lines of which the user chose single elements may be zero as a whole.
    """
    names = axis_names(node)
    if names is None:
        return _linear(node, given)
    operands, out = names
    found: list[StructuralZeros | None] = []
    for part, own in zip(given, operands, strict=True):
        if part is None:
            continue
        places = {k: out.index(name) for k, name in enumerate(own) if name in out}
        lines = any([part.axes >> k & 1 for k in range(len(own)) if k not in places])
        if part.chosen or not lines:
            left = _added_up(part, places, len(own), len(out))
            found.append(left if left.axes else None)
    return _joined(found)


def _recurrence(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of s[i] = b[i] + a[i] * s[i - 1], which is zero up to the first place where b is
    not.
    """
    return _somewhere(node, given[1])


def _map(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of an op in a loop over examples, or in several loops."""
    op = repeated(node)
    if op is ops.recurrence:
        return _recurrence(node, given)
    return _somewhere(node, _joined([given[k] for k in op.linear]))


def _somewhere(node: Node, part: StructuralZeros | None) -> StructuralZeros | None:
    """Return structural zeros along all axes, in places that are not known."""
    return None if part is None or isinstance(node.type, tuple) else _moved(part, _all_axes(node))


def _first(node: Node, given: Given) -> StructuralZeros | None:
    return _somewhere(node, given[0])


def _linear(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of any other linear op: somewhere, if a linear operand has some."""
    op = node.op
    return _somewhere(node, _joined(given if op.kind == "layout" else [given[k] for k in op.linear if k < len(given)]))


_RULES: OpTable[Callable[[Node, Given], StructuralZeros | None]] = OpTable(
    {
        "where": _where,
        "scatter": _scatter,
        "tril triu diag eye": _matrix,
        "multiply": _product,
        "divide": _quotient,
        "add subtract": _sum,
        "negative positive conjugate real imag cast copy": _quotient,
        "broadcast_to": _quotient,
        "sum mean": _reduction,
        "cumsum": _quotient,
        "reshape": _reshape,
        "transpose": _transpose,
        "matmul einsum tensordot": _contraction,
        "recurrence": _recurrence,
        "map": _map,
        "setitem": _setitem,
        "getitem": _getitem,
        "pad": _first,
    }
)
