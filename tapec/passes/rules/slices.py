"""Slices of slices, and of what is computed for them alone: only what is read is computed, and put together once.

In the total variation of an image the differences along one axis, `u[1:] - u[:-1]`, are read but for their last column:
`(u[1:] - u[:-1])[:, :-1]` is `u[1:, :-1] - u[:-1, :-1]`, and what flows back belongs at these two places at once.
"""

from __future__ import annotations

from typing import Any

from tapec.ir import Node
from tapec.ir.index import Slice
from tapec.ops import Symbol, apply
from tapec.ops.indexing import FULL_SLICE, GETITEM, SCATTER, completed
from tapec.passes.pattern import Some, variables
from tapec.passes.rule import Rule

__all__ = ["PARTS", "SLICES"]

(x,) = variables("x")
Slices = tuple[Slice, ...]


def slices_of(node: Node, shape: tuple[int, ...]) -> Slices | None:
    """The slices of a basic index into an array of this shape, one for each axis; None when it is anything else."""
    if len(node.inputs) > 1:
        return None
    index = completed(len(shape), node.param("index"))
    plain = all([type(part) is Slice and part.step in (None, 1) for part in index])
    return tuple(index) if plain else None


def composed(outer: Slices, inner: Slices, shape: tuple[int, ...]) -> Slices:
    """What `x[outer][inner]` takes of an array of this shape."""
    return tuple([_within(a, b, n) for a, b, n in zip(outer, inner, shape, strict=True)])


def _within(a: Slice, b: Slice, n: int) -> Slice:
    taken = range(n)[slice(*a)][slice(*b)]
    start, stop = taken.start, taken.stop
    if stop > n // 2:
        stop -= n  # counted from the end, as people do
    return Slice(start or None, stop or None if taken.stop == n else stop, None)


def without_rest(index: Slices) -> Slices:
    """An index without full slices at its end."""
    n = len(index)
    while n and index[n - 1] == FULL_SLICE:
        n -= 1
    return index[:n]


def part(x: Symbol, index: Slices) -> Any:
    index = without_rest(index)
    return apply(GETITEM, (x,), (("index", index),)) if index else x


# -- reading ----------------------------------------------------------------------------------------------------------
def _both_read(y: Node, x: Node) -> Slices | None:
    outer = slices_of(y.inputs[0], x.type.shape)
    inner = slices_of(y, y.inputs[0].type.shape)
    return None if outer is None or inner is None else composed(outer, inner, x.type.shape)


def _less(y: Node, uses: Any) -> Slices | None:
    """The slices of an elementwise result that is needed for them alone."""
    whole = y.inputs[0]
    if whole.op.kind != "elementwise" or whole.op.multi or whole.params or whole.op.name == "power":
        return None
    if uses(whole) > 1 or y.type.size >= whole.type.size:
        return None
    return slices_of(y, whole.type.shape)


def computed_less(y: Symbol, fact: Slices) -> Any:
    """The operation on parts of its operands."""
    whole = y.node.inputs[0]
    return apply(whole.op, tuple([_operand(Symbol(i, y.builder), whole, fact) for i in whole.inputs]))


def _operand(x: Symbol, whole: Node, index: Slices) -> Any:
    own = x.node.type.shape
    first = whole.type.ndim - len(own)
    sizes = whole.type.shape[first:]
    return part(x, tuple([s if n == size else FULL_SLICE for s, n, size in zip(index[first:], own, sizes)]))


# -- writing ----------------------------------------------------------------------------------------------------------
def _both_written(y: Node) -> Slices | None:
    """The place of a part of a part among zeros."""
    inner = y.inputs[0]
    outside, inside = slices_of(y, y.type.shape), slices_of(inner, inner.type.shape)
    return None if outside is None or inside is None else composed(outside, inside, y.type.shape)


def written_once(y: Symbol, fact: Slices) -> Any:
    value = Symbol(y.node.inputs[0].inputs[0], y.builder)
    return apply(SCATTER, (value,), (("shape", y.shape), ("index", without_rest(fact))))


def _negative_part(y: Node, uses: Any) -> int | None:
    """Which operand of a sum is a part with a sign among zeros, and not the only one of both that has one?"""
    signs = [i.op.name == "scatter" and i.inputs[0].op.name == "negative" and uses(i) == 1 for i in y.inputs]
    return signs.index(True) + 1 if sum(signs) == 1 else None  # counted from one: zero would be no


def taken_away(y: Symbol, fact: int) -> Any:
    rest, scatter = y.node.inputs[2 - fact], y.node.inputs[fact - 1]
    values, *arrays = [Symbol(i, y.builder) for i in scatter.inputs]
    bare = Symbol(values.node.inputs[0], y.builder)
    return Symbol(rest, y.builder) - apply(SCATTER, (bare, *arrays), scatter.params)


SLICES = (
    Rule("slice-of-slice", x[...][...], lambda x, fact: part(x, fact), _both_read, kinds="fciub"),
    Rule(
        "slice-of-elementwise",
        Some("getitem"),
        computed_less,
        _less,
        kinds="fciub",
        changes="rounding",
    ),
    Rule("part-of-part", Some("scatter", of=("scatter",)), written_once, _both_written, kinds="fc"),
)

PARTS = (
    Rule(
        "part-taken-away",
        Some("add", of=("scatter",)),
        taken_away,
        _negative_part,
        only="cotangents",
        kinds="fc",
        changes="zeros",
    ),
)
