"""Find the structural zeros that selections make: `where`, indices, triangles, and zeros that are written."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import CONSTANT, Node, ops
from tapec.ir.static_index import Slice, Slot
from tapec.ops.indexing.getitem_and_scatter import are_apart, completed, fills_all, picks_one
from tapec.passes import tuning
from tapec.passes.engine.node_facts import is_zero
from tapec.passes.zero_safety.zero_places import (
    Given,
    StructuralZeros,
    all_axes,
    laid_out,
    somewhere,
    with_filled,
    zeros_of_product,
)

__all__ = [
    "is_chosen",
    "keeps_axes",
    "zeros_of_getitem",
    "zeros_of_matrix",
    "zeros_of_scatter",
    "zeros_of_setitem",
    "zeros_of_where",
]

WHOLE = Slice(None, None, None)


def zeros_of_where(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of a selection with zeros on one side, along the axes of its condition."""
    condition, a, b = node.inputs
    parts = [laid_out(node, 1, given[1]), laid_out(node, 2, given[2])]
    if is_zero(a) or is_zero(b):
        ndim = node.type.ndim
        axes = _varies(condition, ndim)
        by_user = is_chosen(condition)
        parts.append(
            StructuralZeros(axes, axes, lines=_lines(condition, ndim)) if by_user else StructuralZeros(axes, 0)
        )
    return zeros_of_product(parts)


def _varies(node: Node, ndim: int) -> int:
    """Return the axes, among the last `ndim`, along which a value may differ."""
    shape = _spread(node).type.shape
    return sum([1 << (ndim - len(shape) + k) for k, n in enumerate(shape) if n != 1])


def _spread(node: Node) -> Node:
    """Return the value that a node spreads out over a larger shape; the node itself if it does not."""
    while node.op is ops.broadcast_to:
        node = node.inputs[0]
    return node


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
    if condition.op.multi or condition.type.dtype.kind not in "biu" or condition.op is ops.eye or not depth:
        return False
    return (
        condition.role is None
        or condition.op in (ops.isfinite, ops.isnan)
        or all([is_chosen(i, depth - 1) for i in condition.inputs])
    )


def zeros_of_matrix(node: Node, given: Given) -> StructuralZeros | None:
    axes = all_axes(node)
    return StructuralZeros(axes, axes if node.op is not ops.eye else 0)


def zeros_of_scatter(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of a scatter: places that its index leaves out, and the zeros of its values."""
    found, inner = _scattered(node), given[0]
    if inner is None:
        return found
    axes = all_axes(node)
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
        return StructuralZeros(all_axes(node), all_axes(node))
    axes = sum([1 << k for k in picked])
    if len(picked) != 1:
        together = not are_apart(node.inputs[1:])
        lines = sum([1 << k for k, part in picked.items() if not (together and type(part) is Slot)])
        return StructuralZeros(axes, axes, touched=_touched(node, picked), lines=lines)
    [(k, part)] = picked.items()
    n = node.type.shape[k]
    return with_filled(StructuralZeros(axes, axes, k - node.type.ndim, lines=axes), _places(node, part, n), n)


def zeros_of_setitem(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of a setitem: writing zeros is how the gradient of a setitem drops what was
    overwritten.
    """
    if not is_zero(_spread(node.inputs[1])):
        return somewhere(node, given[0])
    part, picked = given[0] or StructuralZeros(0, 0), _picked(node, node.type.shape)
    if picked is not None and len(picked) == 1:
        [(k, at)] = picked.items()
        n, axis = node.type.shape[k], k - node.type.ndim
        before = (1 << n) - 1 if not part.chosen else part.filled if part.axis == axis else 0
        places = _places(node, at, n)
        if before and places:
            return StructuralZeros(part.axes | 1 << k, 1 << k, axis, before & ~places, lines=1 << k)
    return StructuralZeros(all_axes(node), all_axes(node))


def zeros_of_getitem(node: Node, given: Given) -> StructuralZeros | None:
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
                return with_filled(part, part.filled >> places.start & ((1 << len(places)) - 1), len(places))
            if len(places) <= tuning.EMPTY_PLACES_MAX_LENGTH:
                filled = sum([1 << i for i, place in enumerate(places) if part.filled >> place & 1])
                return with_filled(part, filled, len(places))
    if part.chosen and node.type.shape == (1,):
        return StructuralZeros(1, 1)  # one element as a whole: it may be written beside others again
    return somewhere(node, part)


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
