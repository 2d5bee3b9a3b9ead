"""These rules compute a running sum only at the one place that is read: the last of `np.cumsum(x)` is `np.sum(x)`.

A path that is simulated step by step is often read at its end only. Then nothing before the end is computed, and the
gradient that flows back is the same for all steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Node
from tapec.ir.pattern import Some
from tapec.ir.static_index import Slice
from tapec.ops import Symbol, apply
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE, SCATTER
from tapec.passes.engine.rule import Rule
from tapec.passes.rules.selection.slices import Places, part, places_of, without_rest

__all__ = ["CUMSUM_ENDS", "SCATTERED_LINES"]

REVERSED = Slice(None, None, -1)


def _sum_read(y: Node, uses: Any) -> Places | None:
    """Return the index by which one place of a running sum is read, and no other place; else None."""
    total = y.inputs[0]
    index = places_of(y, total.type.shape)
    return index if index is not None and uses(total) == 1 and type(index[total.param("axis")]) is int else None


def sum_until(y: Symbol, fact: Places) -> Any:
    """Write the running sum at one place as the sum up to that place."""
    total = y.node.inputs[0]
    axis = total.param("axis")
    n = total.type.shape[axis]
    stop = fact[axis] % n + 1
    index: list[Any] = list(fact)
    index[axis] = FULL_SLICE if stop == n else Slice(None, stop, None)
    left = axis - sum([type(p) is int for p in index[:axis]])
    return np.sum(part(Symbol(total.inputs[0], y.builder), tuple(index)), axis=left)


# -- what flows back --------------------------------------------------------------------------------------------------
def _one_place(scatter: Node) -> int | None:
    """Return the axis along which a scatter writes one whole line; None for any other."""
    # the pattern also matches a getitem whose index array is a scatter
    index = places_of(scatter, scatter.type.shape) if scatter.op is SCATTER else None
    if index is None:
        return None
    picked = [k for k, p in enumerate(index) if p != FULL_SLICE]
    return picked[0] if len(picked) == 1 and type(index[picked[0]]) is int else None


def _place_of_line(scatter: Node, axis: int) -> int:
    place: Any = (places_of(scatter, scatter.type.shape) or ())[axis]
    n: int = scatter.type.shape[axis]
    return place % n


def _line_written(y: Symbol, scatter: Node, axis: int, index: Any) -> Any:
    """Return the values of a scatter written elsewhere along an axis: at a place, or at many."""
    v: Any = Symbol(scatter.inputs[0], y.builder)
    if type(index) is not int:
        shape = list(scatter.type.shape)
        shape[axis] = len(range(shape[axis])[slice(*index)])
        v = np.broadcast_to(np.expand_dims(v, axis), shape)
        if index == FULL_SLICE:
            return v
    return apply(SCATTER, (v,), (("shape", y.shape), ("index", (FULL_SLICE,) * axis + (index,))))


def _reversed_line(y: Node) -> bool:
    axis = _one_place(y.inputs[0])
    return axis is not None and without_rest(tuple(y.param("index"))) == (FULL_SLICE,) * axis + (REVERSED,)


def line_mirrored(y: Symbol) -> Any:
    """Write a line at the mirrored place, instead of reversing zeros with a line in them."""
    scatter = y.node.inputs[0]
    axis = _one_place(scatter)
    assert axis is not None
    return _line_written(y, scatter, axis, scatter.type.shape[axis] - 1 - _place_of_line(scatter, axis))


def _summed_line(y: Node) -> bool:
    return _one_place(y.inputs[0]) == y.param("axis")


def line_repeated_from_place(y: Symbol) -> Any:
    """Write a line at all places from its own on, which is the running sum of zeros with a line in them."""
    scatter, axis = y.node.inputs[0], y.node.param("axis")
    place = _place_of_line(scatter, axis)
    return _line_written(y, scatter, axis, Slice(place, None, None) if place else FULL_SLICE)


def _places_of_part(y: Node) -> Places | None:
    """Return the places of a part among zeros of which the sum is taken."""
    scatter = y.inputs[0]
    return places_of(scatter, scatter.type.shape)


def sum_of_part(y: Symbol, fact: Places) -> Any:
    """Sum a part before it is put among zeros, along axes that are left to it."""
    scatter, axes = y.node.inputs[0], y.node.param("axis")
    own = [k for k, p in enumerate(fact) if type(p) is not int]
    summed = tuple([i for i, k in enumerate(own) if k in axes])
    v: Any = Symbol(scatter.inputs[0], y.builder)
    v = np.sum(v, axis=summed) if summed else v
    index = without_rest(tuple([p for k, p in enumerate(fact) if k not in axes]))
    if index:
        shape = tuple([n for k, n in enumerate(scatter.type.shape) if k not in axes])
        v = apply(SCATTER, (v,), (("shape", shape), ("index", index)))
    return np.reshape(v, y.shape)


def _rule(name: str, op: str, of: str, replacement: Any, when: Any) -> Rule:
    return Rule(name, Some(op, of=(of,)), replacement, when, only="cotangents", kinds="fc", changes="zeros")


CUMSUM_ENDS = (
    Rule("end-of-running-sum", Some("getitem", of=("cumsum",)), sum_until, _sum_read, kinds="fc", changes="rounding"),
)

SCATTERED_LINES = (
    _rule("reversed-part", "getitem", "scatter", line_mirrored, _reversed_line),
    _rule("running-sum-of-part", "cumsum", "scatter", line_repeated_from_place, _summed_line),
    _rule("sum-of-part", "sum", "scatter", sum_of_part, _places_of_part),
)
