"""Tell how fast values that are never negative come down to zero.

Where a value u of order n is zero, or next to it, its slope is at most a multiple of u ** (1 - 1 / n): squares have the
order 2, and a sum has the least of its terms. So the slope of u ** p is zero where u is, if p * n is more than 1,
though that of the power alone is infinite. What is made of exponentials, shares of them, and what such a share leaves
of one, is zero by rounding alone, and comes down to it faster than every power.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tapec.autodiff import tuning
from tapec.autodiff.composite.matchers import LAYOUT, SUMS, exponent_of, one_plus_exp, same, signed_terms
from tapec.ir import Node, OpSet, OpTable, is_literal, ops
from tapec.locks import computed_once

__all__ = ["FAST", "NEVER", "UNKNOWN", "order"]

UNKNOWN, FAST, NEVER = 0.0, 1e9, math.inf  # it may be negative; faster than every power; never zero


def order(node: Node) -> float:
    """The order of a value."""
    return _Orders(tuning.ORDER_OF_ZERO_MAX_OPS)(node)


class _Orders:
    """Finds orders of values, by what is known of them within so many operations; each is found once."""

    def __init__(self, far: int):
        self.far = far
        self.known: dict[Node, float] = {}

    @computed_once
    def below(self) -> _Orders:
        """The orders of operands, which are looked for one step less far."""
        return _Orders(self.far - 1)

    def __call__(self, node: Node) -> float:
        if is_literal(node):
            return UNKNOWN if type(node.value) is complex or node.value < 0 else NEVER if node.value else FAST
        find = _ORDERS.get(node.op)
        if find is None or self.far == 0 or node.type.dtype.kind != "f":
            return UNKNOWN
        if node not in self.known:
            self.known[node] = find(node, self.below)
        return self.known[node]


Order = Callable[[Node, _Orders], float]  # from a node and the orders of its operands


def _size(node: Node, orders: _Orders) -> float:
    """The order of a value's size."""
    known = orders(node)
    if known or orders.far == 0:
        return known or 1.0
    if node.op is ops.cbrt:
        return _size(node.inputs[0], orders.below) / 3
    if node.op in (ops.power, ops.float_power):
        return (_exponent(node) or 1) * _size(node.inputs[0], orders.below)
    return 1.0


def _each(nodes: Sequence[Node], orders: _Orders) -> list[float]:
    """Return the orders of these nodes, up to the first unknown one: then the result is unknown."""
    found: list[float] = []
    for node in nodes:
        found.append(orders(node))
        if not found[-1]:
            break
    return found


def _least(node: Node, orders: _Orders) -> float:
    return min(_each(node.inputs, orders))


def _first(node: Node, orders: _Orders) -> float:
    return orders(node.inputs[0])


def _greatest(orders: Sequence[float]) -> float:
    """Return the order of a sum of terms of these orders, none of which is negative."""
    return NEVER if NEVER in orders and all(orders) else min(orders)


def _sum(node: Node, orders: _Orders) -> float:
    return _greatest(_each(_terms(node), orders))


def _product(node: Node, orders: _Orders) -> float:
    a, b = node.inputs
    return 2 * _size(a, orders) if same(a, b) else _least(node, orders)


def _matmul(node: Node, orders: _Orders) -> float:
    return _least(node, orders) if node.type.shape else _product(node, orders)


def _quotient(node: Node, orders: _Orders) -> float:
    a, b = node.inputs
    if is_literal(a):
        return FAST if one_plus_exp(b) is not None else UNKNOWN
    return orders(a) if orders(b) else UNKNOWN


def _exponent(node: Node) -> float:
    """Return an exponent; zero where it is no number, or not above zero."""
    n = exponent_of(node)
    return n if n is not None and n > 0 else 0


def _power(node: Node, orders: _Orders) -> float:
    n, base = _exponent(node), node.inputs[0]
    return n * (orders(base) if n % 2 == 1 else _size(base, orders)) if n else UNKNOWN


def _logaddexp(node: Node, orders: _Orders) -> float:
    """Return the order of logaddexp, which is above the larger operand: above zero if one operand is."""
    return FAST if any([is_literal(i) and orders(i) for i in node.inputs]) else UNKNOWN


def _maximum(node: Node, orders: _Orders) -> float:
    """Return the order of a maximum; one operand that is never negative will do."""
    found = [orders(i) for i in node.inputs]
    return _greatest([n or 1.0 for n in found]) if any(found) else UNKNOWN


def _difference(node: Node, orders: _Orders) -> float:
    one, share = node.inputs
    return _rest(share, orders) if is_literal(one) and one.value == 1 else UNKNOWN


_ORDERS: OpTable[Order] = OpTable(
    {
        "exp exp2 sigmoid": lambda node, orders: FAST,
        **dict.fromkeys([f"scipy.special.{name}" for name in ("expit", "ndtr", "erfc")], lambda node, orders: FAST),
        "logaddexp": _logaddexp,
        "cosh": lambda node, orders: NEVER,
        "absolute fabs": lambda node, orders: _size(node.inputs[0], orders),
        "hypot std": lambda node, orders: 1.0,
        "norm": lambda node, orders: _size(node.inputs[0], orders),
        "var": lambda node, orders: 2.0,
        "square": lambda node, orders: 2 * _size(node.inputs[0], orders),
        "sqrt": lambda node, orders: _size(node.inputs[0], orders) / 2,
        "cbrt": lambda node, orders: orders(node.inputs[0]) / 3,
        "power float_power": _power,
        "add": _sum,
        "subtract": _difference,
        "multiply": _product,
        "divide": _quotient,
        "vecdot": _product,
        "matmul": _matmul,
        "maximum": _maximum,
        "minimum stack concatenate": _least,
        "where": lambda node, orders: min(_each(node.inputs[1:], orders)),
        **dict.fromkeys(["sum", "mean", "prod", "cumsum", "max", "min", "log1p", "cast", *LAYOUT.names], _first),
    }
)


def _terms(node: Node) -> list[Node]:
    """Return the terms of a sum that is written out."""
    return [term for _, term in signed_terms(node, SUMS)[1]]


# -- what is left of one ----------------------------------------------------------------------------------------------
_BOUNDED = OpSet("tanh sigmoid scipy.special.expit scipy.special.ndtr scipy.special.erf")
_READ = LAYOUT | OpSet("max min")


def _rest(node: Node, orders: _Orders) -> float:
    """The order of one minus a value: unknown if that may be more than one."""
    op, inputs = node.op, node.inputs
    if orders.far == 0 or op in _BOUNDED:
        return FAST if orders.far else UNKNOWN
    if op is ops.divide:
        return _rest_of_part(inputs[0], inputs[1], orders)
    if op is ops.multiply:
        return min([_rest(i, orders.below) for i in inputs])
    below = op in _READ or op in (ops.square, ops.sqrt, ops.negative) or (op is ops.power and _exponent(node) > 0)
    return _rest(inputs[0], orders.below) if below else UNKNOWN


def _rest_of_part(part: Node, whole: Node, orders: _Orders) -> float:
    """Return the order of a term, or of elements, of a sum in which nothing is negative."""
    whole = _laid_out(whole)
    if whole.op is ops.sum:
        summed = whole.inputs[0]
        while part.op in _READ and not same(part, summed):
            part = part.inputs[0]
        return orders(part) if same(part, summed) else UNKNOWN
    terms = _terms(whole)
    return min(_each(terms, orders)) if any([same(part, term) for term in terms]) else UNKNOWN


def _laid_out(node: Node) -> Node:
    """Return the node that has the same elements before layout operations."""
    while node.op in (ops.getitem, ops.reshape, ops.broadcast_to) and node.inputs[0].type.size in (1, node.type.size):
        node = node.inputs[0]
    return node
