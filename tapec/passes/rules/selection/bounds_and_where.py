"""These rules make one selection of two by one condition, and min and max of selections that only bound a value.

The slope of Huber's loss, x where abs(x) <= k and k * sign(x) elsewhere, is x clipped to [-k, k]: no mask, no signs.
The loss itself, a parabola that goes on as straight lines, is c * x - c * c / 2 with the clipped x as c.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node, ops
from tapec.ir.pattern import Some, variables
from tapec.ops import Symbol, apply
from tapec.passes import tuning
from tapec.passes.engine.node_facts import far_from_overflow, is_zero, number_and_rest, uniform_value
from tapec.passes.engine.rule import Rule
from tapec.passes.rules.selection.masks import EITHER, SUMS, rule_for_two_selections
from tapec.passes.rules.selection.masks import SELECTIONS as SIDES

__all__ = ["BOUNDS_AND_WHERE"]

a, b, c, d, w, x, z = variables("a b c d w x z")
EXACT = 4 * np.finfo(float).eps  # relative difference of products of the same numbers in another order


# -- x * s where abs(x) <= k, k * s * sign(x) elsewhere ---------------------------------------------------------------
class Bounded(NamedTuple):
    """A selection that is scale * clip(x, -k, k), or Huber's loss of it."""

    x: Node
    k: float
    scale: float


def bounded(y: Node) -> Bounded | None:
    """Return the value that a selection bounds, with its bound and scale; None for any other selection."""
    condition, near, far = y.inputs
    size, limit = condition.inputs
    k = uniform_value(limit)
    if size.op is not ops.absolute or size.type.dtype.kind != "f" or type(k) not in (int, float) or not k > 0:
        return None
    (x,), (s, inner), (t, sign) = size.inputs, _multiple(near), _multiple(far)
    if inner is not x or sign.op is not ops.sign or sign.inputs[0] is not x or x.type != y.type:
        return None
    if not far_from_overflow(y, s, t, k) or not math.isclose(t, s * k, rel_tol=EXACT):
        return None
    return Bounded(x, float(k), s)


def clipped(y: Symbol, fact: Bounded) -> Any:
    value = np.clip(Symbol(fact.x, y.builder), -fact.k, fact.k)
    return value if fact.scale == 1 else value * fact.scale


def negative_sum(y: Symbol) -> Any:
    """Return the negative of the sum of a selection of negatives."""
    c, *parts = [Symbol(i, y.builder) for i in y.node.inputs[0].inputs]
    bare = [Symbol(p.node.inputs[0], y.builder) if p.node.op is ops.negative else p for p in parts]
    return -apply(y.node.op, (np.where(c, *bare),), y.node.params)


# -- s * x * x where abs(x) <= k, 2 * s * k * abs(x) - s * k * k elsewhere ---------------------------------------------
def straightened(y: Node) -> Bounded | None:
    """Return the value of which a selection is a parabola that goes on as its tangents; None for any other
    selection.
    """
    condition, near, far = y.inputs
    if condition.op in (ops.greater, ops.greater_equal):
        near, far = far, near
    size, limit = condition.inputs
    k = uniform_value(limit)
    if size.op is not ops.absolute or size.type != y.type or type(k) not in (int, float) or not k > 0:
        return None
    (s, factors), (slope, offset) = _factors(near), _line(far, size)
    if set(factors) != {size.inputs[0]} or len(factors) != 2 or not far_from_overflow(y, s, k, slope):
        return None
    if not (s > 0 and _are_close(slope, 2 * s * k) and _are_close(offset, -s * k * k)):
        return None
    return Bounded(size.inputs[0], float(k), 2 * s)


def _are_close(j: float, k: float) -> bool:
    return math.isclose(j, k, rel_tol=EXACT)


def _factors(node: Node) -> tuple[float, list[Node]]:
    """Return a product as a number and other factors, of which three are enough to tell that it is no square."""
    number, found, stack = 1.0, list[Node](), [node]
    while stack and len(found) < 3:
        factor = stack.pop()
        scale, rest = _multiple(factor)
        if rest is not factor:
            number *= scale
            stack.append(rest)
        elif factor.op is ops.multiply:
            stack.extend(factor.inputs)
        else:
            found.append(factor)
    return number, found


def _multiple(node: Node) -> tuple[float, Node]:
    """Return the number by which a value is multiplied, or divided, and that value; 1.0 and the node itself without
    one.
    """
    if node.op in (ops.multiply, ops.divide):
        k, rest = number_and_rest(node)
        if type(k) in (int, float):
            if node.op is ops.multiply:
                return float(k), rest
            if k and rest is node.inputs[0]:
                return 1.0 / k, rest
    return 1.0, node


def _line(node: Node, x: Node) -> tuple[float, float]:
    """Return the slope and the offset of a line over x; nan for anything else."""
    if node is x:
        return 1.0, 0.0
    scale, inner = _multiple(node)
    if inner is not node:
        slope, offset = _line(inner, x)
        return slope * scale, offset * scale
    if node.op in (ops.add, ops.subtract):
        k, rest = number_and_rest(node)
        if type(k) in (int, float) and rest is node.inputs[0]:
            slope, offset = _line(rest, x)
            return slope, offset + k if node.op is ops.add else offset - k
    return math.nan, math.nan


def as_bounded_product(y: Symbol, fact: Bounded) -> Any:
    """Write the parabola with its tangents as c * x - c * c / 2, where c is x clipped to the bound.

    It is nowhere negative, as the selection is, and infinite where that is. A sum of it is two products with the slope
    c.
    """
    x: Any = Symbol(fact.x, y.builder)
    near = np.clip(x, -fact.k, fact.k)
    value = near * x - 0.5 * (near * near)
    return value if fact.scale == 1 else fact.scale * value


# -- what is selected from a selection --------------------------------------------------------------------------------
def _nested() -> Iterator[Rule]:
    """Yield rules that make one selection, by both conditions, of a selection from a selection."""
    for outer, select in SIDES.items():
        for inner, select_inner in SIDES.items():
            name, pattern = f"selected-{outer}-{inner}", select(c, select_inner(d, a, z), w)
            replacement = _by_both(outer == "then", inner == "then")
            yield Rule(name, pattern, replacement, _are_alike, "cotangents", once=True, changes="zeros", kinds="fcb")


def _by_both(outer: bool, inner: bool) -> Any:
    if not (outer or inner):
        return lambda c, d, a: np.where(c | d, 0, a)
    return lambda c, d, a: np.where((c if outer else ~c) & (d if inner else ~d), a, 0)


def _are_alike(y: Node, a: Node, c: Node, d: Node, w: Node, z: Node) -> bool:
    """Return whether two conditions are masks of one shape, and all that is not selected is zero.

    The result has to keep its shape and dtype.
    """
    whole = np.broadcast_shapes(a.type.shape, c.type.shape) == y.type.shape and a.type.dtype == y.type.dtype
    return whole and c.type == d.type and c.type.dtype == bool and is_zero(w) and is_zero(z)


# -- the rules --------------------------------------------------------------------------------------------------------
def _sum(name: str, pattern: Any, replacement: Any) -> Rule:
    """Return a rule about the sum of two selections by one condition, of which the second has zeros on one side."""
    when = lambda y, a, b, x, z: is_zero(z) and not is_zero(a) and not is_zero(b) and x.type == y.type
    return Rule(name, pattern, replacement, when, only="cotangents", once=True, changes="zeros", kinds="fcb")


def _negatives(name: str, selection: Any) -> Rule:
    when = lambda z: is_zero(z)
    return Rule(name, np.sum(selection), negative_sum, when, only="cotangents", changes="zeros", kinds="fb")


BOUNDS_AND_WHERE = (
    *_nested(),
    Rule("mask-again", np.bitwise_and(c, np.bitwise_and(c, d)), np.bitwise_and(c, d), kinds="b"),
    # `masks` has these rules to keep infinities out; here they save work, where nothing else needs the selections
    EITHER,
    *[rule.with_single_use() for rule in SUMS],
    rule_for_two_selections(
        "select-either-subtract", np.where(c, a, z) - np.where(c, w, b), np.where(c, a, -b)
    ).with_single_use(),
    _sum("added-where", np.where(c, a, b) + np.where(c, x, z), lambda a, b, c, x: np.where(c, a + x, b)),
    _sum("added-elsewhere", np.where(c, a, b) + np.where(c, z, x), lambda a, b, c, x: np.where(c, a, b + x)),
    _negatives("sum-of-negatives-selected", np.where(c, -x, z)),
    _negatives("sum-of-negatives-elsewhere", np.where(c, z, -x)),
    Rule(
        "bounded",
        Some("where", of=("less", "less_equal")),
        clipped,
        bounded,
        only="cotangents",
        changes="rounding",
    ),
    Rule(
        "straightened-parabola",
        Some("where", of=("less", "less_equal", "greater", "greater_equal")),
        as_bounded_product,
        straightened,
        changes="rounding",
        least=tuning.SELECTION_MIN_ELEMENTS,
    ),
)
