"""These rules add to a part of a cotangent where derivatives clear the part, and put it back with something added.

    the program     its derivative                              after these rules
    u[i] += f(u)    d with d[i] = 0, plus d[i] + a at i         d plus a at i               part-put-back
    u[i] *= 3.0     d with d[i] = 0, plus 3.0 * d[i] at i       d with d[i] = 3.0 * d[i]    part-written-at-once
    u[i] = u[j]     d with d[i] = 0, plus d[i] at j             d plus d[i] at j, d[i] = 0  part-cleared-last

Between the two stands what flows back to other places. By the last rule, no copy is needed of what is cleared.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node, ops
from tapec.ir.pattern import Some
from tapec.ir.static_index import Slice, Slot
from tapec.ops import Symbol, apply
from tapec.ops.indexing.getitem_and_scatter import are_distinct, completed, is_diagonal_index
from tapec.ops.indexing.setitem import SETITEM
from tapec.passes import tuning
from tapec.passes.engine.node_facts import is_zero
from tapec.passes.engine.rule import Rule

__all__ = ["CLEARED_PARTS", "PART_UPDATES"]

PART_ADDED = Some("add", of=("scatter", "diag"))
Uses = Callable[[Node], int]
Summands = list[tuple[bool, Node]]  # each with whether it is added or subtracted


class Cleared(NamedTuple):
    """A sum of an array with a part cleared, of values for that part among zeros, and of others."""

    cleared: Node
    part: Node
    others: Summands

    @property
    def whole(self) -> Node:
        return self.cleared.inputs[0]


class PutBack(NamedTuple):
    """The same, where the values are what stood in the part and `more`."""

    found: Cleared
    more: Summands


def _cleared(y: Node, uses: Uses) -> Cleared | None:
    """Return the parts of a sum in which a part of an array is cleared, and filled again; None for other sums."""
    for part, total in (y.inputs[::-1], y.inputs):
        if part.op not in (ops.scatter, ops.diag) or part.type != y.type or uses(part) > 1:
            continue
        total, others = _without_summands(total, uses)
        if total.op is ops.setitem and uses(total) == 1 and total.inputs[0].type == y.type:
            if is_zero(total.inputs[1]) and _fills(part, total):
                return Cleared(total, part, others)
    return None


def _without_summands(total: Node, uses: Uses) -> tuple[Node, Summands]:
    """Return what a sum begins with, or the write among its summands, and the others."""
    others: Summands = []
    while _is_sum(total, uses) and len(others) < tuning.UPDATED_MAX_SUMMANDS:
        k = int(total.op is ops.add and total.inputs[1].op is ops.setitem)
        others.append((total.op is ops.add, total.inputs[1 - k]))
        total = total.inputs[k]
    return total, others[::-1]


def _is_sum(node: Node, uses: Uses) -> bool:
    """Return whether a cotangent is a sum of two values of its type, which one place reads."""
    return (
        node.op in (ops.add, ops.subtract)
        and node.role is not None
        and uses(node) == 1
        and all([i.type == node.type for i in node.inputs])
    )


def _fills(part: Node, cleared: Node) -> bool:
    """Return whether values among zeros stand in the places that were cleared, each of which is named once."""
    index, arrays = cleared.param("index"), cleared.inputs[2:]
    if part.op is ops.diag:
        return not part.param("k") and is_diagonal_index(index, arrays, cleared.type.shape)
    if part.param("index") != index or part.inputs[1:] != arrays:
        return False
    return not arrays or bool(dict(cleared.params).get("unique")) or are_distinct(arrays)


def _put_back(y: Node, uses: Uses) -> PutBack | None:
    """Return what a sum puts into a part that it clears, where that is what stood there and more."""
    found = _cleared(y, uses)
    if found is None:
        return None
    more = _besides(found, found.part.inputs[0], uses, tuning.UPDATED_MAX_DEPTH)
    return None if more is None else PutBack(found, more)


def _besides(found: Cleared, value: Node, uses: Uses, depth: int) -> Summands | None:
    """Return the summands of a value besides what stood in the part; None where that is no summand."""
    if _reads(found, value):
        return []
    if not depth or not _is_sum(value, uses):
        return None
    for k in (0, 1) if value.op is ops.add else (0,):
        more = _besides(found, value.inputs[k], uses, depth - 1)
        if more is not None:
            return [*more, (value.op is ops.add, value.inputs[1 - k])]
    return None


def _reads(found: Cleared, value: Node) -> bool:
    """Return whether a value is what stood in the part before it was cleared."""
    if not value.inputs or value.inputs[0] is not found.whole:
        return False
    if found.part.op is ops.diag:
        return value.op is ops.diagonal and not value.param("offset")
    same = value.op is ops.getitem and value.param("index") == found.cleared.param("index")
    return same and value.inputs[1:] == found.cleared.inputs[2:]


def more_added(y: Symbol, fact: PutBack) -> Any:
    """Leave what stands in the part, and add the rest: to subtract one value is to add none first."""
    found, builder = fact.found, y.builder
    total = _summed(Symbol(found.whole, builder), found.others)
    added = sorted(fact.more, key=lambda summand: not summand[0])
    if not added:
        return total
    (sign, first), *rest = added
    values = _summed(Symbol(first, builder), rest if sign else [(not s, n) for s, n in rest])
    part = _placed(values, found.part)
    return total + part if sign else total - part


def _summed(total: Any, summands: Summands) -> Any:
    for is_added, node in summands:
        other = Symbol(node, total.builder)
        total = total + other if is_added else total - other
    return total


def _placed(values: Symbol, part: Node) -> Any:
    """Return values among zeros, where a part is."""
    return apply(part.op, (values, *[Symbol(i, values.builder) for i in part.inputs[1:]]), part.params)


def written_at_once(y: Symbol, fact: Cleared) -> Any:
    """Write the values over the part, instead of clearing it for them."""
    _, _, *arrays = [Symbol(i, y.builder) for i in fact.cleared.inputs]
    values, whole = Symbol(fact.part.inputs[0], y.builder), Symbol(fact.whole, y.builder)
    return _summed(apply(SETITEM, (whole, values, *arrays), fact.cleared.params), fact.others)


# -- what is read of a part that is cleared ----------------------------------------------------------------------------
def _cleared_too_early(y: Node, uses: Uses) -> Cleared | None:
    """Return the parts of a sum in which an array is read, for a part of the sum, of which another part is cleared."""
    total, part = y.inputs
    if part.op is not ops.scatter or part.type != y.type or uses(part) > 1:
        return None
    total, others = _without_summands(total, uses)
    if total.op is not ops.setitem or uses(total) > 1 or total.inputs[0].type != y.type or not is_zero(total.inputs[1]):
        return None
    cleared, filled = _ranges(total, y.type.shape), _ranges(part, y.type.shape)
    if cleared is None or filled is None or not any(map(_are_apart, cleared, filled)):
        return None
    return Cleared(total, part, others) if _leads_to(part.inputs[0], total.inputs[0]) else None


def _ranges(node: Node, shape: tuple[int, ...]) -> list[range] | None:
    """Return the places along each axis that a basic index names; None for other indices."""
    index = completed(len(shape), node.param("index"))
    if not all([type(p) is int or (type(p) is Slice and all([type(q) is not Slot for q in p])) for p in index]):
        return None
    return [range(p % n, p % n + 1) if type(p) is int else range(n)[slice(*p)] for p, n in zip(index, shape)]


def _are_apart(a: range, b: range) -> bool:
    """Return whether it is plain that two ranges have no number in common."""
    if not a or not b or max(min(a[0], a[-1]), min(b[0], b[-1])) > min(max(a[0], a[-1]), max(b[0], b[-1])):
        return True
    return (a.start - b.start) % gcd(a.step, b.step) != 0


def _leads_to(value: Node, whole: Node) -> bool:
    """Return whether a value is computed from parts of an array in few operations."""
    left, seen = [value], 0
    while left and seen < tuning.UPDATED_MAX_SUMMANDS:
        node, seen = left.pop(), seen + 1
        if node.op is ops.getitem and node.inputs[0] is whole:
            return True
        left += node.inputs
    return False


def cleared_last(y: Symbol, fact: Cleared) -> Any:
    """Clear a part of an array when the other part has read it."""
    whole, zero = [Symbol(i, y.builder) for i in fact.cleared.inputs]
    total = _summed(whole, [(y.node.op is ops.add, fact.part)])
    return _summed(apply(SETITEM, (total, zero), fact.cleared.params), fact.others)


PART_UPDATES = (
    Rule("part-put-back", PART_ADDED, more_added, _put_back, only="cotangents", kinds="fc", changes="zeros"),
    Rule("part-written-at-once", PART_ADDED, written_at_once, _cleared, only="cotangents", kinds="fc", changes="zeros"),
)

CLEARED_PARTS = (
    Rule(
        "part-cleared-last",
        Some("add", "subtract", of=("scatter",)),
        cleared_last,
        _cleared_too_early,
        only="cotangents",
        kinds="fc",
        changes="zeros",
    ),
)
