"""These rules compose slices, and compute only what a slice reads.

In the total variation of an image the differences along one axis, `u[1:] - u[:-1]`, are read but for their last column:
`(u[1:] - u[:-1])[:, :-1]` is `u[1:, :-1] - u[:-1, :-1]`, and what flows back belongs at these two places at once. Parts
are added to an array that is there, if there is one, and not to zeros first.
"""

from __future__ import annotations

from typing import Any

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node, ops
from tapec.ir.cost import elements
from tapec.ir.pattern import Some, variables
from tapec.ir.static_index import Slice
from tapec.ops import Symbol, apply
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE, GETITEM, SCATTER, completed
from tapec.ops.signal.differences import HEAD, TAIL
from tapec.passes import tuning
from tapec.passes.engine.elementwise_chain import elementwise_chain, is_elementwise, recomputed
from tapec.passes.engine.node_facts import uniform_value
from tapec.passes.engine.rule import Rule
from tapec.passes.rules.arithmetic.algebra import negated_at, small_factor

__all__ = ["SUMS_OF_PARTS", "SLICES"]

(x,) = variables("x")
Slices = tuple[Slice, ...]


Places = tuple[Slice | int, ...]


def places_of(node: Node, shape: tuple[int, ...]) -> Places | None:
    """Return the slices and numbers of a basic index into an array of this shape, one for each axis; None for any
    other.
    """
    if len(node.inputs) > 1:
        return None
    index = completed(len(shape), node.param("index"))
    plain = all([type(part) is int or (type(part) is Slice and part.step in (None, 1)) for part in index])
    return tuple(index) if plain else None


def slices_of(node: Node, shape: tuple[int, ...]) -> Slices | None:
    """Return the slices of a basic index into an array of this shape, one for each axis; None for any other."""
    index: Any = places_of(node, shape)
    return index if index is not None and all([type(part) is Slice for part in index]) else None


def composed(outer: Places, inner: Places, shape: tuple[int, ...]) -> Places:
    """Return the index of `x[outer][inner]` into x of this shape: a number leaves no axis for the second index."""
    rest = iter(inner)
    return tuple([a if type(a) is int else _within(a, next(rest), n) for a, n in zip(outer, shape, strict=True)])


def _within(a: Any, b: Any, n: int) -> Slice | int:
    """Return the part `b` of the part `a` of an axis of length n, as one slice or number."""
    taken = range(n)[slice(*a)]
    if type(b) is int:
        return taken[b] - n * (b < 0)
    part = taken[slice(*b)]
    return _between(part.start, part.stop, n)


def _between(start: int, stop: int, n: int) -> Slice:
    """Return a slice of n elements; an end in the second half is counted from the end, as people write it."""
    end = stop - n if stop > n // 2 else stop
    return Slice(start or None, end or None if stop == n else end, None)


def without_rest(index: Places) -> Places:
    """Return an index without full slices at its end."""
    n = len(index)
    while n and index[n - 1] == FULL_SLICE:
        n -= 1
    return index[:n]


def part(x: Symbol, index: Places) -> Any:
    index = without_rest(index)
    return apply(GETITEM, (x,), (("index", index),)) if index else x


def difference(y: Symbol) -> Any:
    """Write `np.diff` in operations that other rules can combine."""
    x: Any = Symbol(y.node.inputs[0], y.builder)
    full = (FULL_SLICE,) * y.node.param("axis")
    for _ in range(y.node.param("n")):
        x = part(x, (*full, TAIL)) - part(x, (*full, HEAD))
    return x


# -- reading ----------------------------------------------------------------------------------------------------------
def _both_read(y: Node, x: Node) -> Places | None:
    outer = places_of(y.inputs[0], x.type.shape)
    inner = places_of(y, y.inputs[0].type.shape)
    return None if outer is None or inner is None else composed(outer, inner, x.type.shape)


class ReadChain(NamedTuple):
    """The places that are read of an elementwise chain, and the nodes of the chain."""

    places: Places
    nodes: list[Node]


def _read_chain(y: Node, uses: Any) -> ReadChain | None:
    """Return the chain of which a slice is read, if nothing else reads it; None for others.

    A long chain, computed on slightly fewer elements, is not worth the copies of its operations.
    """
    whole = y.inputs[0]
    if uses(whole) > 1 or not is_elementwise(whole) or elements(y) >= elements(whole):
        return None
    index = places_of(y, whole.type.shape)
    if index is None:
        return None
    nodes = elementwise_chain(whole, uses)
    return (
        ReadChain(index, nodes) if len(nodes) <= tuning.SLICED_MAX_OPS or 2 * elements(y) <= elements(whole) else None
    )


def chain_on_parts(y: Symbol, fact: ReadChain) -> Any:
    """Compute a chain on parts of its operands."""
    return recomputed(fact.nodes, lambda i, node: _operand(Symbol(i, y.builder), node, fact.places))


def _read_of_product(y: Node, uses: Any) -> Places | None:
    """Return the places that are read of a product of matrices, if nothing else reads the product; else None."""
    whole = y.inputs[0]
    if uses(whole) > 1 or elements(y) >= elements(whole) or any([i.type.ndim != 2 for i in whole.inputs]):
        return None
    return places_of(y, whole.type.shape)


def product_of_parts(y: Symbol, fact: Places) -> Any:
    """Multiply the rows of one matrix that are needed with the columns of the other."""
    a, b = [Symbol(i, y.builder) for i in y.node.inputs[0].inputs]
    return part(a, fact[:1]) @ part(b, (FULL_SLICE, fact[1]))


def _operand(x: Symbol, whole: Node, index: Places) -> Any:
    """Return the part of an operand for the part `index` of the whole to which it broadcasts."""
    own = x.node.type.shape
    first = whole.type.ndim - len(own)
    sizes = whole.type.shape[first:]
    return part(x, tuple([s if n == size else _index_of_one(s) for s, n, size in zip(index[first:], own, sizes)]))


def _index_of_one(s: Slice | int) -> Slice | int:
    """Return the index along an axis of length one for an index along the axis that it was spread out to."""
    return 0 if type(s) is int else FULL_SLICE


# -- reading what was written -----------------------------------------------------------------------------------------
class Overlap(NamedTuple):
    """The part of a scatter's values that a slice reads: the slices of the values, and their place in the result."""

    values: Slices
    place: Slices


def _overlap(y: Node, uses: Any) -> Overlap | None:
    """Return what a slice reads of a scatter that nothing else reads; None where the two do not overlap."""
    written = y.inputs[0]
    if written.op is not ops.scatter or uses(written) > 1:
        return None
    shape = written.type.shape
    outside, inside = slices_of(written, shape), slices_of(y, shape)
    if outside is None or inside is None:
        return None
    values, place = [], []
    for a, b, n in zip(outside, inside, shape, strict=True):
        put, read = range(n)[slice(*a)], range(n)[slice(*b)]
        start, stop = max(put.start, read.start), min(put.stop, read.stop)
        if start >= stop:
            return None
        values.append(_between(start - put.start, stop - put.start, len(put)))
        place.append(_between(start - read.start, stop - read.start, len(read)))
    return Overlap(tuple(values), tuple(place))


def read_in_place(y: Symbol, fact: Overlap) -> Any:
    values = part(Symbol(y.node.inputs[0].inputs[0], y.builder), fact.values)
    place = without_rest(fact.place)
    return apply(SCATTER, (values,), (("shape", y.shape), ("index", place))) if place else values


# -- writing ----------------------------------------------------------------------------------------------------------
def _both_written(y: Node) -> Places | None:
    """Return the place of a part of a part among zeros."""
    inner, outside = y.inputs[0], places_of(y, y.type.shape)
    inside = None if outside is None else places_of(inner, inner.type.shape)
    return None if outside is None or inside is None else composed(outside, inside, y.type.shape)


def written_once(y: Symbol, fact: Places) -> Any:
    value = Symbol(y.node.inputs[0].inputs[0], y.builder)
    return apply(SCATTER, (value,), (("shape", y.shape), ("index", without_rest(fact))))


def _negative_part(y: Node, uses: Any) -> int | None:
    """Return the operand of a sum, counted from one, that is a negated part, if only one of both is; else None.

    The count begins at one because a condition's 0 would mean "no".
    """
    signs = [i.op is ops.scatter and i.inputs[0].op is ops.negative and uses(i) == 1 for i in y.inputs]
    return signs.index(True) + 1 if sum(signs) == 1 else None  # counted from one: zero would be no


def part_subtracted(y: Symbol, fact: int) -> Any:
    """Subtract the part with its bare values, instead of adding it with a negative of them."""
    rest, scatter = y.node.inputs[2 - fact], y.node.inputs[fact - 1]
    values, *arrays = [Symbol(i, y.builder) for i in scatter.inputs]
    bare = Symbol(values.node.inputs[0], y.builder)
    return Symbol(rest, y.builder) - apply(SCATTER, (bare, *arrays), scatter.params)


def _small_in_part(y: Node, uses: Any) -> tuple[int, ...] | None:
    """Return the path to a small factor of a product that is subtracted at a place, and that nothing else reads; else
    None.
    """
    part = y.inputs[1]
    if part.op is not ops.scatter or len(part.inputs) > 1 or uses(part) > 1 or uses(part.inputs[0]) > 1:
        return None
    return small_factor(part.inputs[0], part.inputs[0], uses)


def added_negative(y: Symbol, fact: tuple[int, ...]) -> Any:
    rest, part = y.node.inputs
    values = negated_at(Symbol(part.inputs[0], y.builder), fact)
    return Symbol(rest, y.builder) + apply(SCATTER, (values,), part.params)


# -- sums of parts ----------------------------------------------------------------------------------------------------
Parts = list[tuple[bool, Node]]  # each part, and whether it is added or subtracted


def _parts(node: Node, uses: Any) -> Parts:
    """Return the scatters that a sum consists of, after a number to begin with; nothing when it has other summands."""
    parts: Parts = []
    while node.op in (ops.add, ops.subtract) and node.inputs[1].op is ops.scatter:
        if node.role is None or uses(node) != 1:
            return []
        parts.append((node.op is ops.add, node.inputs[1]))
        node = node.inputs[0]
    parts.append((True, node))
    return parts[::-1] if node.op is ops.scatter or uniform_value(node) is not None else []


def _ends_in_part(node: Node) -> bool:
    """Return whether a node is a scatter, or a sum whose last summand is one."""
    return node.op is ops.scatter or (len(node.inputs) > 1 and node.inputs[1].op is ops.scatter)


class WholeAndParts(NamedTuple):
    """A sum of an array that is not scattered, with its sign, and of parts."""

    whole: Node
    negative: bool
    parts: Parts


def _before_parts(y: Node, uses: Any) -> WholeAndParts | None:
    """Return the array and the parts of a sum, if the array should come first, and take up the parts; else None.

    It is so where an array is added after parts, or parts are put together before they are added to an array. Then no
    array of zeros has to be made.
    """
    a, b = y.inputs
    if b.op is ops.scatter or not (_ends_in_part(a) or _ends_in_part(b)):
        return None
    sign = y.op is ops.add
    parts = [(added == sign, part) for added, part in _parts(b, uses)]
    whole, negative = (a, False) if parts else (b, not sign)
    parts = parts or _parts(a, uses)
    if len(parts) < 2:  # a single part is added in place, or subtracted, as it is
        return None
    return WholeAndParts(whole, negative, parts) if a.type == b.type == y.type else None


def parts_added(y: Symbol, fact: WholeAndParts) -> Any:
    """Add the parts, one by one, to the array that is no part."""
    total: Any = Symbol(fact.whole, y.builder)
    if fact.negative:
        total = -total
    for added, part in fact.parts:
        total = total + Symbol(part, y.builder) if added else total - Symbol(part, y.builder)
    return total


SLICES = (
    Rule("difference", Some("diff"), difference, lambda y: bool(y.type.size), kinds="fc"),
    Rule("slice-of-slice", x[...][...], lambda x, fact: part(x, fact), _both_read, kinds="fciub"),
    Rule(
        "slice-of-elementwise",
        Some("getitem"),
        chain_on_parts,
        _read_chain,
        kinds="fciub",
        changes="rounding",
    ),
    Rule(
        "slice-of-product",
        Some("getitem", of=("matmul",)),
        product_of_parts,
        _read_of_product,
        changes="rounding",
    ),
    Rule("slice-of-part", Some("getitem", of=("scatter",)), read_in_place, _overlap, kinds="fc"),
    Rule("part-of-part", Some("scatter", of=("scatter",)), written_once, _both_written, kinds="fc"),
)

SUMS_OF_PARTS = (
    Rule(
        "whole-before-parts",
        Some("add", "subtract", of=("add", "subtract", "scatter")),
        parts_added,
        _before_parts,
        only="cotangents",
        kinds="fc",
        changes="zeros",
    ),
    Rule(
        "part-taken-away",
        Some("add", of=("scatter",)),
        part_subtracted,
        _negative_part,
        only="cotangents",
        kinds="fc",
        changes="zeros",
    ),
    Rule(
        "product-taken-away",
        Some("subtract", of=("scatter",)),
        added_negative,
        _small_in_part,
        only="cotangents",
        changes="zeros",
    ),
)
