"""Selections among cotangents that are less than they look: two by one condition, and what only bounds a value.

The slope of Huber's loss, x where abs(x) <= k and k * sign(x) elsewhere, is x clipped to [-k, k]: no mask, no signs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapec.ir import Node
from tapec.ops import Symbol, apply
from tapec.passes.facts import is_zero, uniform_value
from tapec.passes.pattern import Some, variables
from tapec.passes.rule import Rule
from tapec.passes.rules.masks import EITHER, SUMS, both
from tapec.passes.rules.masks import SELECTIONS as SIDES
from tapec.passes.rules.scales import is_mild
from tapec.tuples import NamedTuple

__all__ = ["SELECTIONS"]

a, b, c, d, w, x, z = variables("a b c d w x z")
EXACT = 4 * np.finfo(float).eps  # by which products of the same numbers may differ


# -- x * s where abs(x) <= k, k * s * sign(x) elsewhere ---------------------------------------------------------------
class Bounded(NamedTuple):
    x: Node
    k: float
    scale: float


def bounded(y: Node) -> Bounded | None:
    """What is bounded by a selection, if it is one that does that."""
    condition, near, far = y.inputs
    size, limit = condition.inputs
    k = uniform_value(limit)
    if size.op.name != "absolute" or size.type.dtype.kind != "f" or type(k) not in (int, float) or not k > 0:
        return None
    (x,), (s, inner), (t, sign) = size.inputs, _scaled(near), _scaled(far)
    if inner is not x or sign.op.name != "sign" or sign.inputs[0] is not x or x.type != y.type:
        return None
    if not is_mild(y, s, t, k) or not math.isclose(t, s * k, rel_tol=EXACT):
        return None
    return Bounded(x, float(k), s)


def _scaled(node: Node) -> tuple[float, Node]:
    """A number and what it multiplies."""
    if node.op.name == "multiply":
        for factor, rest in (node.inputs, node.inputs[::-1]):
            number = uniform_value(factor)
            if type(number) in (int, float):
                return float(number), rest
    return 1.0, node


def clipped(y: Symbol, fact: Bounded) -> Any:
    value = np.minimum(np.maximum(Symbol(fact.x, y.builder), -fact.k), fact.k)
    return value if fact.scale == 1 else value * fact.scale


def negative_sum(y: Symbol) -> Any:
    """The negative of the sum of what is selected."""
    c, *parts = [Symbol(i, y.builder) for i in y.node.inputs[0].inputs]
    bare = [Symbol(p.node.inputs[0], y.builder) if p.node.op.name == "negative" else p for p in parts]
    return -apply(y.node.op, (np.where(c, *bare),), y.node.params)


# -- what is selected from a selection --------------------------------------------------------------------------------
def _nested() -> Iterator[Rule]:
    """One selection, by both conditions."""
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
    """Are they masks of one shape, and is the rest zero, without another shape or dtype?"""
    whole = np.broadcast_shapes(a.type.shape, c.type.shape) == y.type.shape and a.type.dtype == y.type.dtype
    return whole and c.type == d.type and c.type.dtype == bool and is_zero(w) and is_zero(z)


# -- the rules --------------------------------------------------------------------------------------------------------
def _sum(name: str, pattern: Any, replacement: Any) -> Rule:
    """Of two selections by one condition, the second has zeros on one side."""
    guard = lambda y, a, b, x, z: is_zero(z) and not is_zero(a) and not is_zero(b) and x.type == y.type
    return Rule(name, pattern, replacement, guard, only="cotangents", once=True, changes="zeros", kinds="fcb")


def _negatives(name: str, selection: Any) -> Rule:
    guard = lambda z: is_zero(z)
    return Rule(name, np.sum(selection), negative_sum, guard, only="cotangents", changes="zeros", kinds="fb")


SELECTIONS = (
    *_nested(),
    Rule("mask-again", np.bitwise_and(c, np.bitwise_and(c, d)), np.bitwise_and(c, d), kinds="b"),
    # as in `masks`, where they keep infinities out; here they save work, when the selections are needed for this alone
    EITHER,
    *[rule.alone() for rule in SUMS],
    both("select-either-subtract", np.where(c, a, z) - np.where(c, w, b), np.where(c, a, -b)).alone(),
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
)
