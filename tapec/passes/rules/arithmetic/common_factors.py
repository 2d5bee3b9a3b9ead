"""These rules take out common factors among cotangents: `x * a + x * b` becomes `x * (a + b)`.

Where a and b have one sign the two forms are nan, or infinite, at the same places, since nothing can cancel. Numbers
beside them are taken along, as in `x * a * 0.5 + x * 3.0`, and a bare x counts as `x * 1`. A matrix x that is
multiplied by vectors is multiplied once, whatever their signs, and so is an array x where that is one operation less on
arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node, broadcast_shapes, ops
from tapec.ir.cost import elements
from tapec.ir.pattern import Some
from tapec.ops import Symbol
from tapec.passes import tuning
from tapec.passes.engine.node_facts import are_few, far_from_overflow, is_nonnegative, number_and_rest, uniform_value
from tapec.passes.engine.rule import Rule

__all__ = ["COMMON_FACTORS"]


Count = Callable[[Node], int]


class Term(NamedTuple):
    """A summand: number * product of the factors; a value that other nodes use too is one factor."""

    number: float
    factors: tuple[Node, ...]


def term(node: Node, uses: Count) -> Term:
    """Return a node as a term. A value that other nodes use too is taken apart no further than its number."""
    number, shared = 1.0, False
    while not shared and node.op is ops.multiply and node.role is not None and node.type.dtype.kind == "f":
        shared = uses(node) > 1
        k, rest = number_and_rest(node)
        if k is None:
            return Term(number, (node,)) if shared else without_signs(number, node.inputs)
        number, node = number * k, rest
    return Term(number, (node,))


def without_signs(number: float, factors: tuple[Node, ...]) -> Term:
    """Return the term of these factors in which the number has the signs of those that are negatives."""
    signs = [f.op is ops.negative and f.role is not None for f in factors]
    if True not in signs:
        return Term(number, factors)
    bare = tuple([f.inputs[0] if sign else f for f, sign in zip(factors, signs, strict=True)])
    return Term(-number if sum(signs) % 2 else number, bare)


class Common(NamedTuple):
    """A sum x * a * j + x * b * k, where a or b may be missing."""

    x: Node
    a: Node | None
    j: float
    b: Node | None
    k: float


def common(y: Node, uses: Count) -> Common | None:
    """Return the common factor of a sum with what it is multiplied by; None if there is none that can be taken out."""
    left, right = [term(i, uses) for i in y.inputs]
    if y.op is ops.subtract:
        right = right._replace(number=-right.number)
    found = _shared_factor(left, right)
    if found is not None:
        return found
    a, b = _unscaled(left), _unscaled(right)
    return None if a is left and b is right else _shared_factor(a, b)


def _shared_factor(left: Term, right: Term) -> Common | None:
    for x in left.factors:
        if x in right.factors:
            return Common(x, _rest(left, x), left.number, _rest(right, x), right.number)
    return None


def _unscaled(t: Term) -> Term:
    """Return the term with the numbers that the user put into its factors taken out, as of `(0.5 * r) * r`."""
    for node in t.factors:
        if node.op is ops.multiply and node.role is None:
            break
    else:
        return t
    number, factors = t.number, []
    for node in t.factors:
        if node.op is ops.multiply and node.role is None:
            k, rest = number_and_rest(node)
            if type(k) in (int, float) and far_from_overflow(node, k) and rest.type == node.type:
                number, node = number * k, rest
        factors.append(node)
    return Term(number, tuple(factors))


def _rest(t: Term, x: Node) -> Node | None:
    """Return the factor of a term that is not x, if there is one."""
    if len(t.factors) == 1:
        return None
    return t.factors[1] if t.factors[0] is x else t.factors[0]


def common_of_one_sign(y: Node, uses: Count) -> Common | None:
    """Return the common factor, where nothing that it is multiplied with can cancel."""
    found = common(y, uses)
    if found is None or not far_from_overflow(y, found.j, found.k) or (found.j > 0) != (found.k > 0):
        return None
    return found if all([part is None or is_nonnegative(part) for part in (found.a, found.b)]) else None


def factored(y: Symbol, fact: Common) -> Any:
    """x * (a * j + b * k)"""
    parts: list[Any] = []
    for node, number in ((fact.a, fact.j), (fact.b, fact.k)):
        if node is None:
            parts.append(number)
        else:
            part: Any = Symbol(node, y.builder)
            parts.append(part if number == 1 else part * number)
    return Symbol(fact.x, y.builder) * (parts[0] + parts[1])


def common_with_small_rest(y: Node, uses: Count) -> Common | None:
    """Return the common factor, where it is multiplied with small arrays: one large product is saved.

    Such sums are tangents of one input; an infinity in a small array may come out where it would have met another of
    the other sign.
    """
    found = common(y, uses)
    if found is None or not far_from_overflow(y, found.j, found.k):
        return None
    if found.x.type.shape != y.type.shape and not are_few(elements(found.x), elements(y)):
        return None
    if found.a is None and found.b is None:
        return None
    small = math.prod(broadcast_shapes(*[p.type.shape for p in (found.a, found.b) if p is not None]))
    return found if are_few(small, elements(y)) else None


# -- one of several large factors -------------------------------------------------------------------------------------
class Product(NamedTuple):
    """A summand taken apart: its number, its small factors and its large ones, and how many large products it took."""

    number: float
    small: list[Node]
    large: list[Node]
    work: int


class Shared(NamedTuple):
    """A sum of left and right, or their difference, of which each is multiplied by x."""

    x: Node
    left: Product
    right: Product


def product(node: Node, uses: Count) -> Product | None:
    """Return a summand taken apart as far as nothing else reads its parts; None where a number in it is too large."""
    number, work = 1.0, 0
    small: list[Node] = []
    large: list[Node] = []
    stack, size = [node], node.type.size
    while stack:
        part = stack.pop()
        if part.op is ops.multiply and part.role is not None and uses(part) == 1:
            work += part.type.size == size
            stack += part.inputs[::-1]
            continue
        k = uniform_value(part)
        if k is not None:
            number *= k if type(k) is not complex and far_from_overflow(node, k) else math.inf
        elif part.type.dtype != node.type.dtype and not part.type.weak:
            return None
        else:
            (large if part.type.shape == node.type.shape else small).append(part)
    return Product(number, small, large, work) if far_from_overflow(node, number) else None


def common_large_factor(y: Node, uses: Count) -> Shared | None:
    """Return the large factor that both summands have, where one multiplication less is left of them."""
    if y.inputs[0].type != y.type or y.inputs[1].type != y.type or y.inputs[0] is y.inputs[1]:
        return None
    left, right = product(y.inputs[0], uses), product(y.inputs[1], uses)
    if left is None or right is None:
        return None
    x = next((n for n in left.large if n in right.large), None)
    if x is None or not all([are_few(elements(n), elements(y)) for n in (*left.small, *right.small)]):
        return None
    left.large.remove(x)
    right.large.remove(x)
    return Shared(x, left, right) if 1 + _work(left) + _work(right) < left.work + right.work else None


def _work(part: Product) -> int:
    """Return how many multiplications of large arrays are left of a summand."""
    return max(len(part.large) - 1 + bool(part.small or part.number != 1), 0) if part.large else 0


def shared_factor_out(y: Symbol, fact: Shared) -> Any:
    left, right = _rest_of(y, fact.left), _rest_of(y, fact.right)
    return Symbol(fact.x, y.builder) * (left + right if y.node.op is ops.add else left - right)


def _rest_of(y: Symbol, part: Product) -> Any:
    """Return the product of the parts of a summand, with its number and its small factors first."""
    total: Any = part.number
    for node in (*part.small, *part.large):
        factor = Symbol(node, y.builder)
        total = factor if type(total) is float and total == 1 else total * factor
    return total


COMMON_FACTORS = (
    Rule(
        "common-factor",
        Some("add", of=("multiply",)),
        factored,
        common_of_one_sign,
        only="cotangents",
        changes="rounding",
    ),
    Rule(
        "common-matrix",
        Some("add", "subtract", of=("multiply",)),
        factored,
        common_with_small_rest,
        only="cotangents",
        changes="zeros",
        least=tuning.SCALE_MIN_ELEMENTS,
    ),
    Rule(
        "common-array",
        Some("add", "subtract", of=("multiply",)),
        shared_factor_out,
        common_large_factor,
        only="cotangents",
        changes="zeros",
        least=tuning.SCALE_MIN_ELEMENTS,
    ),
)
