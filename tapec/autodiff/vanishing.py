"""How fast values that are never negative come down to zero.

Where a value u of order n is zero, or next to it, its slope is at most a multiple of u ** (1 - 1 / n): squares have the
order 2, and a sum has the least of its terms. So the slope of u ** p is zero where u is, if p * n is more than 1,
though that of the power alone is infinite. What is made of exponentials, shares of them, and what such a share leaves
of one, is zero by rounding alone, and comes down to it faster than every power.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tapec.autodiff.logarithms import one_plus_exp
from tapec.autodiff.saturated import LAYOUT
from tapec.autodiff.squares import same
from tapec.ir import Node, is_literal

__all__ = ["FAST", "NEVER", "UNKNOWN", "order"]

FAR, NEAR = 8, 4  # operations between a value, or one that is squared, and what it is known by
TERMS = 32  # of a sum that is written out
UNKNOWN, FAST, NEVER = 0.0, 1e9, math.inf  # it may be negative; faster than every power; never zero

Order = Callable[[Node, int], float]


def order(node: Node, far: int = FAR) -> float:
    """The order of a value."""
    if is_literal(node):
        return UNKNOWN if type(node.value) is complex or node.value < 0 else NEVER if node.value else FAST
    find = _ORDERS.get(node.op.name)
    return UNKNOWN if find is None or far == 0 or node.type.dtype.kind != "f" else find(node, far - 1)


def _size(node: Node, far: int) -> float:
    """The order of a value's size."""
    far = min(far, NEAR)
    known = order(node, far)
    if known or far == 0:
        return known or 1.0
    if node.op.name == "cbrt":
        return _size(node.inputs[0], far - 1) / 3
    if node.op.name in ("power", "float_power"):
        return (_exponent(node) or 1) * _size(node.inputs[0], far - 1)
    return 1.0


def _least(node: Node, far: int) -> float:
    return min([order(i, far) for i in node.inputs])


def _first(node: Node, far: int) -> float:
    return order(node.inputs[0], far)


def _greatest(orders: Sequence[float]) -> float:
    """Of a sum of these, none of which is negative."""
    return NEVER if NEVER in orders and all(orders) else min(orders)


def _sum(node: Node, far: int) -> float:
    return _greatest([order(term, far) for term in _terms(node)])


def _product(node: Node, far: int) -> float:
    a, b = node.inputs
    return 2 * _size(a, far) if same(a, b) else _least(node, far)


def _matmul(node: Node, far: int) -> float:
    return _least(node, far) if node.type.shape else _product(node, far)


def _quotient(node: Node, far: int) -> float:
    a, b = node.inputs
    if is_literal(a):
        return FAST if one_plus_exp(b) is not None else UNKNOWN
    return order(a, far) if order(b, far) else UNKNOWN


def _exponent(node: Node) -> float:
    """Zero where it is no number, or not above that."""
    n = node.inputs[1]
    return n.value if is_literal(n) and type(n.value) in (int, float) and n.value > 0 else 0


def _power(node: Node, far: int) -> float:
    n = _exponent(node)
    return n * (order if n % 2 == 1 else _size)(node.inputs[0], far)


def _logaddexp(node: Node, far: int) -> float:
    """Above the larger of both: above zero if one of them is that."""
    return FAST if any([is_literal(i) and order(i) for i in node.inputs]) else UNKNOWN


def _maximum(node: Node, far: int) -> float:
    """One that is never negative will do."""
    orders = [order(i, far) for i in node.inputs]
    return _greatest([n or 1.0 for n in orders]) if any(orders) else UNKNOWN


def _difference(node: Node, far: int) -> float:
    one, share = node.inputs
    return _rest(share, far) if is_literal(one) and one.value == 1 else UNKNOWN


_ORDERS: dict[str, Order] = {
    **dict.fromkeys(["exp", "exp2", "sigmoid"], lambda node, far: FAST),
    **dict.fromkeys([f"scipy.special.{name}" for name in ("expit", "ndtr", "erfc")], lambda node, far: FAST),
    "logaddexp": _logaddexp,
    "cosh": lambda node, far: NEVER,
    **dict.fromkeys(["absolute", "fabs"], lambda node, far: _size(node.inputs[0], far)),
    **dict.fromkeys(["hypot", "std"], lambda node, far: 1.0),
    "norm": lambda node, far: _size(node.inputs[0], far),
    "var": lambda node, far: 2.0,
    "square": lambda node, far: 2 * _size(node.inputs[0], far),
    "sqrt": lambda node, far: _size(node.inputs[0], far) / 2,
    "cbrt": lambda node, far: order(node.inputs[0], far) / 3,
    **dict.fromkeys(["power", "float_power"], _power),
    "add": _sum,
    "subtract": _difference,
    "multiply": _product,
    "divide": _quotient,
    "vecdot": _product,
    "matmul": _matmul,
    "maximum": _maximum,
    **dict.fromkeys(["minimum", "stack", "concatenate"], _least),
    "where": lambda node, far: min([order(i, far) for i in node.inputs[1:]]),
    **dict.fromkeys(["sum", "mean", "prod", "cumsum", "max", "min", "log1p", "cast", *LAYOUT], _first),
}


def _terms(node: Node) -> list[Node]:
    """Of a sum that is written out."""
    terms, k = [node], 0
    while k < len(terms) and len(terms) < TERMS:
        if terms[k].op.name == "add":
            terms[k : k + 1] = terms[k].inputs
        else:
            k += 1
    return terms


# -- what is left of one ----------------------------------------------------------------------------------------------
_BOUNDED = frozenset(["tanh", "sigmoid", *[f"scipy.special.{name}" for name in ("expit", "ndtr", "erf")]])
_READ = LAYOUT | {"max", "min"}


def _rest(node: Node, far: int) -> float:
    """The order of one minus a value: unknown if that may be more than one."""
    name, inputs = node.op.name, node.inputs
    if far == 0 or name in _BOUNDED:
        return FAST if far else UNKNOWN
    if name == "divide":
        return _rest_of_part(inputs[0], inputs[1], far)
    if name == "multiply":
        return min([_rest(i, far - 1) for i in inputs])
    below = name in _READ or name in ("square", "sqrt", "negative") or (name == "power" and _exponent(node) > 0)
    return _rest(inputs[0], far - 1) if below else UNKNOWN


def _rest_of_part(part: Node, whole: Node, far: int) -> float:
    """Of a term, or elements, of a sum in which nothing is negative."""
    whole = _laid_out(whole)
    if whole.op.name == "sum":
        summed = whole.inputs[0]
        while part.op.name in _READ and not same(part, summed):
            part = part.inputs[0]
        return order(part, far) if same(part, summed) else UNKNOWN
    terms = _terms(whole)
    return min([order(term, far) for term in terms]) if any([same(part, term) for term in terms]) else UNKNOWN


def _laid_out(node: Node) -> Node:
    """What has the same elements."""
    while node.op.name in ("getitem", "reshape", "broadcast_to") and node.inputs[0].type.size in (1, node.type.size):
        node = node.inputs[0]
    return node
