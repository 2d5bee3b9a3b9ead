"""Sums among cotangents that are known without adding up: those of softmax, and of one element picked from each row.

With e = exp(x - max(x)) and s = sum(e), the sum of e * (c / s) is c. So what flows through the maximum of a
cross-entropy, sum(e * (c / s)) - c, cancels, and its whole branch with it. s lies between 1 and the number of summands,
or is nan; then so is e * (c / s), and so stays the gradient that this would have been added to.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tapec.ir import CONSTANT, Node
from tapec.ir.index import Slot
from tapec.ops import Symbol
from tapec.ops.define import reduced_shape
from tapec.passes.facts import uniform_value
from tapec.passes.pattern import variables
from tapec.passes.rule import Rule

__all__ = ["SOFTMAX"]

(x,) = variables("x")
DEEP = 8  # operations to look through
CANCELLED = 4 * np.finfo(float).eps  # what is left of numbers that would cancel but for rounding


class Axis(NamedTuple):
    """The axis along which an array of this shape is added up."""

    shape: tuple[int, ...]
    k: int


def known_terms(node: Node, axis: Axis) -> list[tuple[float, Node]] | None:
    """The sums of the summands of a node, each a multiple of another node; None when one of them is not known."""
    found: list[tuple[float, Node]] = []
    waiting = [(1.0, node)]
    for _ in range(DEEP):
        factor, part = waiting.pop()
        name = part.op.name
        if name in ("add", "subtract") and all([i.type.shape == axis.shape for i in part.inputs]):
            a, b = part.inputs
            waiting += [(factor, a), (factor if name == "add" else -factor, b)]
        elif name == "negative":
            waiting.append((-factor, part.inputs[0]))
        else:
            total = softmax_weight(part, axis) or picked_values(part, axis)
            if total is None:
                return None
            found.append(multiple(factor, total))
        if not waiting:
            return found
    return None


def multiple(factor: float, node: Node) -> tuple[float, Node]:
    """The same with signs and numbers in the factor."""
    while True:
        if node.op.name == "negative":
            factor, node = -factor, node.inputs[0]
        elif node.op.name == "multiply" and uniform_value(node.inputs[1]) is not None:
            factor, node = factor * uniform_value(node.inputs[1]), node.inputs[0]
        else:
            return factor, node


# -- e * (c / s) ------------------------------------------------------------------------------------------------------
def softmax_weight(node: Node, axis: Axis) -> Node | None:
    """The c of e * (c / s)."""
    if node.op.name != "multiply":
        return None
    for e, q in (node.inputs, node.inputs[::-1]):
        quotient = without_axis(q, axis)
        if quotient is not None and quotient.op.name == "divide" and is_shifted_exp(e, axis):
            c, s = quotient.inputs
            if is_sum_of(s, e, axis):
                return c
    return None


def is_shifted_exp(e: Node, axis: Axis) -> bool:
    """Is it exp(x - max(x)), the maximum along the axis?"""
    if e.op.name != "exp" or e.type.shape != axis.shape or e.inputs[0].op.name != "subtract":
        return False
    x, m = e.inputs[0].inputs
    most = without_axis(m, axis)
    return most is not None and most.op.name == "max" and most.inputs[0] is x and most.param("axis") == (axis.k,)


def is_sum_of(s: Node, e: Node, axis: Axis) -> bool:
    s = s.inputs[0] if s.op.name == "reshape" else s
    return s.op.name == "sum" and s.inputs[0] is e and s.param("axis") == (axis.k,)


def without_axis(node: Node, axis: Axis) -> Node | None:
    """What is the same all along the axis, as it was before a reshape gave it an axis of length one there."""
    kept = reduced_shape(axis.shape, (axis.k,), True)
    if node.type.shape != kept:
        return None
    return node.inputs[0] if node.op.name == "reshape" and _lacks(node.inputs[0], axis) else node


def _lacks(node: Node, axis: Axis) -> bool:
    return node.type.shape == reduced_shape(axis.shape, (axis.k,), False)


# -- scatters ---------------------------------------------------------------------------------------------------------
def picked_values(node: Node, axis: Axis) -> Node | None:
    """The values of a scatter that puts one into each row of a matrix."""
    if node.op.name != "scatter" or len(node.inputs) != 3 or node.param("index") != (Slot(0), Slot(1)):
        return None
    values, numbers, _ = node.inputs
    rows = axis.shape[0]
    if axis.k != 1 or len(axis.shape) != 2 or values.type.shape != (rows,) or numbers.op is not CONSTANT:
        return None
    return values if np.array_equal(numbers.value, np.arange(rows)) else None


# -- the rule ---------------------------------------------------------------------------------------------------------
def _axis(y: Node) -> Axis | None:
    x, axis = y.inputs[0], y.param("axis")
    return Axis(x.type.shape, axis[0]) if len(axis) == 1 and x.type.ndim > 1 else None


def _is_known(y: Node, x: Node) -> bool:
    axis = _axis(y)
    terms = known_terms(x, axis) if axis is not None else None
    return bool(terms)


def known_sum(y: Symbol, x: Symbol) -> Any:
    """The summands' sums, added up: multiples of the same are gathered, and may cancel."""
    axis = _axis(y.node)
    assert axis is not None
    factors: dict[Any, float] = {}
    sizes: dict[Any, float] = {}
    for factor, node in known_terms(x.node, axis) or ():
        number = uniform_value(node)
        key = node if number is None else None
        part = factor if number is None else factor * number
        factors[key] = factors.get(key, 0.0) + part
        sizes[key] = sizes.get(key, 0.0) + abs(part)
    total: Any = None
    for key, factor in factors.items():
        if abs(factor) > CANCELLED * sizes[key]:
            part = np.full(y.shape, factor, y.dtype) if key is None else scaled(laid_out(key, y), factor)
            total = part if total is None else total + part
    return np.zeros_like(y) if total is None else total


def laid_out(node: Node, y: Symbol) -> Any:
    value = Symbol(node, y.builder)
    return value if value.shape == y.shape else np.reshape(value, y.shape)


def scaled(value: Any, factor: float) -> Any:
    return value if factor == 1 else -value if factor == -1 else value * factor


SOFTMAX = (Rule("known-sum", np.sum(x), known_sum, _is_known, only="cotangents", kinds="f", changes="zeros"),)
