"""These rules gather constant factors among cotangents into one, so that `2 * r / n` costs one multiplication.

Multiplying by one number instead of two changes last digits, and may save an intermediate result from overflow, but
brings no new infinity: the product lies in size between or beyond the factors, on the side where the two steps would
have ended. Where operands change their order an intermediate result may overflow that did not: `k / b` in `a * (k / b)`
where b is as near to the smallest float as k is to 1, `a * b` in `x * (a * b)` where x is tiny. Factors that are not
`far_from_overflow` are left as they are, and so are operands of several dtypes: two of float32 that met before the
float64 would cost half of its digits. What the user wrote is touched only where it is divided by what is well above
zero.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.ir import Node, OpSet, broadcast_shapes, get_op, ops
from tapec.ir.cost import elements
from tapec.ir.pattern import Some, number, params, variables
from tapec.ops import Symbol, apply
from tapec.passes import tuning
from tapec.passes.engine.node_facts import (
    far_from_overflow,
    is_power_of_two,
    number_and_rest,
    uniform_value,
)
from tapec.passes.engine.rule import Rule

__all__ = ["CONSTANT_SCALES"]

a, b, x = variables("a b x")
j, k = number("j"), number("k")
QUOTIENTS = OpSet("multiply divide")
SUMS = ("add", "subtract")


def _costs_nothing(y: Node, x: Node, k: Any) -> bool:
    """Return whether x is as large as the result, so that it makes no difference which of the two is multiplied."""
    return far_from_overflow(y, k) and x.type.shape == y.type.shape


def numbers(node: Node, uses: Any) -> list[Any]:
    """Return the numbers by which a value that nothing else reads is multiplied: as a whole, or in small factors."""
    if node.op is not ops.multiply or node.role is None or uses(node) != 1:
        return []
    k, _ = number_and_rest(node)
    return [k] if k is not None else [k for i in node.inputs if _is_small(i, node) for k in numbers(i, uses)]


def _is_small(factor: Node, node: Node) -> bool:
    return elements(factor) < elements(node)


def common_numbers(y: Node, uses: Any) -> tuple[Any, Any] | None:
    """Return the numbers of both parts of a sum, if they are equal or opposite, and the sum is no larger than one of
    the parts that are multiplied as a whole.
    """
    (left, js), (right, ks) = [(i, numbers(i, uses)) for i in y.inputs]
    if not js or not ks or left is right or abs(js[0]) != abs(ks[0]) or not far_from_overflow(y, js[0]):
        return None
    whole = [rest for k, rest in map(number_and_rest, y.inputs) if k is not None]
    return (js[0], ks[0]) if whole and max(map(elements, whole)) >= elements(y) else None


def multiplied_once(y: Symbol, fact: tuple[Any, Any]) -> Any:
    left, right = [unmultiplied(i, y.builder) for i in y.node.inputs]
    j, k = fact
    return (left + right if (j == k) == (y.node.op is ops.add) else left - right) * j


def unmultiplied(node: Node, builder: Any) -> Any:
    """Return a value without the first of its numbers; None for one without any."""
    if node.op is not ops.multiply or node.role is None:
        return None
    k, rest = number_and_rest(node)
    if k is not None:
        return Symbol(rest, builder)
    a, b = [Symbol(i, builder) for i in node.inputs]
    left = unmultiplied(a.node, builder) if _is_small(a.node, node) else None
    return left * b if left is not None else a * unmultiplied(b.node, builder)


def _as_large(a: Node, b: Node) -> bool:
    """Return whether dividing by b is no more work than making the reciprocal of b first."""
    return elements(b) >= elements(a)


def _undone_sign(y: Node, j: Any, k: Any) -> int:
    """Return 1 or -1 if a cotangent takes back a number that the user's program multiplied by, but for that sign; else
    0.
    """
    return int(j * k) if y.role is not None and is_power_of_two(j) and j * k in (1, -1) else 0


def signed(x: Any, sign: int) -> Any:
    return x if sign > 0 else -x


def _undoes_number_of_quotient(y: Node, j: Any, k: Any, uses: Any) -> bool:
    """Return whether j takes back the k of a quotient k / x, in a product with it that nothing else reads.

    The quotient may be in other products, too; they mostly take back its number as well.
    """
    product = y.inputs[0] if y.inputs[0].op is ops.multiply else y.inputs[1]
    return j * k == 1 and far_from_overflow(y, j) and uses(product) == 1


def _is_only_scaled(y: Node, j: Any, k: Any) -> bool:
    """Return whether a product of the user's program is needed for a multiple of it only."""
    return y.role is not None and y.inputs[0].role is None and far_from_overflow(y, j, k)


def _scale(name: str, pattern: Any, replacement: Any, when: Any, changes: str = "rounding", **more: Any) -> Rule:
    return Rule(name, pattern, replacement, when, only="cotangents", changes=changes, alike=True, **more)


def _is_small_product(x: Node, a: Node, b: Node) -> bool:
    """Return whether the product of a and b is at most half as large as that of x and a, and had better come first."""
    large, small = (math.prod(broadcast_shapes(i.type.shape, j.type.shape)) for i, j in ((x, a), (a, b)))
    return 2 * small <= large


# -- sums of quotients ------------------------------------------------------------------------------------------------
def divisors(node: Node, uses: Any) -> list[Node]:
    """Return what a value that nothing else reads is divided by: as a whole, or in small factors of it."""
    if node.role is None or uses(node) != 1:
        return []
    if node.op is ops.divide:
        return [] if uniform_value(node.inputs[0]) is not None else [node.inputs[1], *divisors(node.inputs[0], uses)]
    if node.op is not ops.multiply:
        return []
    return [x for i in node.inputs if elements(i) < elements(node) or i.type == node.type for x in divisors(i, uses)]


def common_divisor(y: Node, uses: Any) -> Node | None:
    """Return what both parts of a sum are divided by, of which one is divided as a whole; None without such a value."""
    left, right = y.inputs
    for one, other in ((left, right), (right, left)) if left is not right else ():
        if one.op is ops.divide and one.role is not None and uses(one) == 1 and one.type == y.type:
            x = one.inputs[1]
            if uniform_value(x) is None and x in divisors(one, uses) and x in divisors(other, uses):
                return x
    return None


def divided_once(y: Symbol, fact: Symbol) -> Any:
    left, right = [undivided(i, fact.node, y.builder) for i in y.node.inputs]
    return apply(y.node.op, (left, right)) / fact


def undivided(node: Node, x: Node, builder: Any) -> Any:
    """Return a value that is not divided by x for once; None for one that is not divided by x."""
    if node.op not in QUOTIENTS or node.role is None:
        return None
    a, b = [Symbol(i, builder) for i in node.inputs]
    if node.op is ops.divide and node.inputs[1] is x:
        return a
    left = undivided(node.inputs[0], x, builder)
    if left is not None:
        return apply(node.op, (left, b))
    right = undivided(node.inputs[1], x, builder) if node.op is ops.multiply else None
    return None if right is None else a * right


# -- quotients that the program has ------------------------------------------------------------------------------------
def by_known_quotient(y: Symbol, x: Symbol, a: Symbol, b: Symbol) -> Any:
    """Write x / a * b with a quotient b / a that is there, and used: in the gradient of a softmax, the softmax."""
    builder: Any = y.builder  # the walk, which knows what is there
    known = builder.used_value(get_op("divide"), (b.node, a.node))
    return None if known is None else x * Symbol(known, builder)


# -- products that the program has -------------------------------------------------------------------------------------
def _in_known_order(y: Node, a: Node, b: Node, k: Any, walk: Any) -> int:
    """Return 1 or 2 if the same product, with the number at the other or the one factor, is there and used; else 0.

    The derivative of k * x * x has both.
    """
    for order, x, other in ((1, a, b), (2, b, a)) if far_from_overflow(y, k) else ():
        multiple = walk.value_with_number(y.op, other, k)
        if multiple is not None and walk.is_used_anywhere(y.op, (x, multiple)):
            return order
    return 0


def in_known_order(a: Any, b: Any, k: Any, fact: int) -> Any:
    return a * (b * k) if fact == 1 else b * (a * k)


# -- numbers ----------------------------------------------------------------------------------------------------------
def times_both(y: Symbol, x: Any, j: Any, k: Any) -> Any:
    """Return x * (j * k).

    A Python number x becomes an array scalar here, as it did when it met j or k, which a seed of one had made an array
    scalar.
    """
    return np.astype(x, y.dtype) * (j * k) if x.node.type.weak and not y.node.type.weak else x * (j * k)


def _small(name: str, pattern: Any, replacement: Any) -> Rule:
    given: dict[str, Any] = {"only": "cotangents", "changes": "rounding", "once": True, "alike": True}
    return Rule(name, pattern, replacement, _is_small_product, least=tuning.SCALE_MIN_ELEMENTS, **given)


def _into(name: str, pattern: Any, replacement: Any) -> Rule:
    return _scale(name, pattern, replacement, lambda y, a, k: _costs_nothing(y, a, k), once=True, smaller=("b", "a"))


CONSTANT_SCALES = (
    _small("small-factors-first", x * a * b, lambda x, a, b: x * (a * b)),
    _small("small-quotient-first", x * a / b, lambda x, a, b: x * (a / b)),
    _small("small-divisor-first", x / a * b, lambda x, a, b: x * (b / a)),
    _scale("in-known-order", a * b * k, in_known_order, _in_known_order, least=tuning.SCALE_MIN_ELEMENTS),
    _scale("factors-gathered", x * j * k, times_both, lambda y, j, k: far_from_overflow(y, j, k)),
    Rule("number-undone", x * j * k, lambda x, fact: signed(x, fact), _undone_sign, changes="rounding"),
    Rule(
        "number-undone-within",
        x * (a * j) * k,
        lambda x, a, fact: signed(x * a, fact),
        _undone_sign,
        changes="rounding",
    ),
    _scale(
        "number-of-quotient-undone",
        a * (k / x) * j,
        lambda a, x: a * (1.0 / x),
        _undoes_number_of_quotient,
    ),
    _scale(
        "factors-gathered-around-reshape",
        np.reshape(x * j, params) * k,
        lambda y, x, j, k: np.reshape(x, y.shape) * (j * k),
        lambda y, j, k: far_from_overflow(y, j, k),
        once=True,
    ),
    _scale(
        "number-over-reshaped-times",
        np.reshape(k / x, params) * j,
        lambda y, x, j, k: np.reshape(j * k / x, y.shape),
        lambda y, j, k: far_from_overflow(y, j, k),
        once=True,
    ),
    Rule(
        "factors-gathered-last",
        x * j * k,
        lambda x, j, k: x * (j * k),
        _is_only_scaled,
        once=True,
        changes="rounding",
    ),
    _scale("over-number", x / k, lambda x, k: x * (1.0 / k), lambda y, k: far_from_overflow(y, k)),
    _scale("number-over-times", k / x * j, lambda x, j, k: j * k / x, lambda y, j, k: far_from_overflow(y, j, k)),
    _scale(
        "number-over-product",
        k / (x * j),
        lambda x, j, k: k / j / x,
        lambda y, j, k: far_from_overflow(y, j, k),
        once=True,
    ),
    _scale("times-reciprocal", a * (1 / b), a / b, lambda y, a, b: far_from_overflow(y) and _as_large(a, b), once=True),
    _scale(
        "times-number-over",
        a * (k / b),
        a / b * k,
        lambda y, a, b, k: far_from_overflow(y, k) and _as_large(a, b),
        once=True,
    ),
    _scale("common-divisor", Some(*SUMS, of=("divide",)), divided_once, common_divisor, changes="zeros"),
    _scale(
        "common-number", Some("add", "subtract", of=("multiply",)), multiplied_once, common_numbers, changes="zeros"
    ),
    _scale("divisor-undone", a / x * (x * b), lambda a, b: a * b, None, changes="zeros"),
    _scale(
        "times-known-quotient",
        x / a * b,
        by_known_quotient,
        lambda a, b, walk: walk.has_seen(get_op("divide"), (b, a)),
        once=True,
    ),
    _scale(
        "times-known-quotient-and-number",
        x / a * k * b,
        lambda y, x, a, b, k: by_known_quotient(y, x * k, a, b),
        lambda y, a, b, k, walk: far_from_overflow(y, k) and walk.has_seen(get_op("divide"), (b, a)),
        once=True,
    ),
    # a number moves outwards where that costs no larger multiplication, and into the smaller operand where it saves one
    _scale("factor-outwards", x * k * b, x * b * k, _costs_nothing, once=True),
    _scale("factor-outwards-of-quotient", x * k / b, x / b * k, _costs_nothing, once=True),
    _into("factor-into-smaller", a * b * k, a * (b * k)),
    _into("factor-into-smaller-divisor", a / b * k, a * (k / b)),
)
