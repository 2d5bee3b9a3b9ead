"""Differentiate several operations as one: quotients, logarithms and other functions of exponentials.

1 / (1 + exp(-x)) has y * (1 - y), and so has the derivative of logaddexp, and what is put together from both sides of
zero with exp(-abs(x)), which is smooth there though its parts are not. Logarithms and roots of exp(x) / s, even of
some of its elements, and of sigmoids and what these leave of one, need no quotient and cannot divide by one that is
zero; nor does what is over an exponential multiply by one that is infinite, and what is flat far out holds it to a
number. log(abs(x)) has 1 / x, and log(cosh(x)) tanh(x), which does not overflow. Densities have the powers of which
they are products. Values between that have other uses get their cotangents from those.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

from tapec.autodiff.composite.composite_rule import Shortcut
from tapec.autodiff.composite.formulas import formula_of
from tapec.autodiff.composite.log_of_product import SHARES, SUMS, logarithm_of, sigmoid_of
from tapec.autodiff.composite.overflow_safe_exp import FLAT, flat_function, held
from tapec.autodiff.composite.rewritten_value import back_through, pushed_through
from tapec.autodiff.composite.sigmoid import logistic, over_expm1, share
from tapec.autodiff.composite.softplus import softplus
from tapec.autodiff.composite.xlogy_densities import density
from tapec.autodiff.modes import MODES
from tapec.autodiff.rule_application import scaled, signed_cotangents, summed
from tapec.autodiff.symbolic.signed_cotangents import settled
from tapec.ir import Node, OpTable, is_literal, ops

__all__ = ["Slope", "along_logarithm", "end_of_exponentials"]


# -- quotients --------------------------------------------------------------------------------------------------------
def _quotient(node: Node) -> Shortcut | None:
    return logistic(node) or (over_expm1(node) if node.op is ops.divide else None) or _over_product(node)


# -- functions of exp(u) / s, and of other products with exponentials -------------------------------------------------
Slope = Callable[..., Any]  # from y and the operands: the derivative along the logarithm of one of these
_LOGARITHMS: OpTable[Slope] = OpTable(
    {
        "log": lambda y, x: 1,
        "log2": lambda y, x: 1 / math.log(2.0),
        "log10": lambda y, x: 1 / math.log(10.0),
        "scipy.special.xlogy": lambda y, a, x: a,
        "scipy.special.rel_entr": lambda y, a, x: -a,
    }
)
_QUOTIENTS: OpTable[Slope] = OpTable({"divide": lambda y, a, x: -y, "reciprocal": lambda y, x: -y})


def _logarithm(node: Node) -> Shortcut | None:
    weighted = len(node.inputs) == 2  # by a number that may be zero
    return along_logarithm(node, len(node.inputs) - 1, _LOGARITHMS[node.op], (SHARES,), split=weighted)


def _log1p(node: Node) -> Shortcut | None:
    """log1p(-p) of a sigmoid p has p times the slope of its operand; 1 - p, which may be zero, is no divisor."""
    below = node.inputs[0]
    found = sigmoid_of(below.inputs[0]) if below.op is ops.negative else None
    if found is None or found.u.type != node.type:
        return None
    p, side = below.inputs[0], found.side
    return Shortcut(
        inputs=(found.u, p),
        inner=(below, *found.inner),
        vjp=lambda ct, y, u, p: (ct * p * -side, None),
        jvp=lambda ts, y, u, p: ts[0] * p * -side,
    )


def _over_product(node: Node) -> Shortcut | None:
    return along_logarithm(node, len(node.inputs) - 1, _QUOTIENTS[node.op], (SUMS,))


def along_logarithm(
    node: Node,
    operand: int,
    slope: Slope,
    also: Collection[str] = (),
    split: bool = False,
    is_flat: Callable[[Node], bool] | None = None,
) -> Shortcut | None:
    """A function of a product, by the logarithm of that, and by itself where the latter leaves factors out.

    `is_flat` tells where there is no slope by itself.
    """
    found = logarithm_of(node.inputs[operand], node, also, split)
    if found is None:
        return None
    log, direct, sums = found
    if direct is not None and is_flat is not None and is_flat(node):
        direct = None
    n = len(node.inputs)
    m = n + len(log.inputs)
    asked = [direct is not None if k == operand else not is_literal(i) for k, i in enumerate(node.inputs)]

    def vjp(ct: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        parts = signed_cotangents(node, ct, y, xs[:n], asked) if any(asked) else (None,) * n
        others = [part if a and k != operand else None for k, (part, a) in enumerate(zip(parts, asked, strict=True))]
        along = back_through(log, settled(scaled(ct, slope(y, *xs[:n]))), xs[n:m])
        return (*others, *along, *(() if direct is None else back_through(direct, parts[operand], xs[m:])))

    def jvp(ts: Any, y: Any, *xs: Any) -> Any:
        moving = [t if a else None for t, a in zip(ts, asked)]
        moving[operand] = None if direct is None else pushed_through(direct, ts[m:], xs[m:])
        along = pushed_through(log, ts[n:m], xs[n:m])
        return summed([_tangent(node, moving, y, xs), None if along is None else along * slope(y, *xs[:n])])

    inputs = (*node.inputs, *log.inputs, *(() if direct is None else direct.inputs))
    if sums:
        return Shortcut(inputs, log.inner, vjp, None, node.inputs[operand])
    return Shortcut(inputs, log.inner, vjp, jvp)


def _tangent(node: Node, ts: list[Any], y: Any, xs: Sequence[Any]) -> Any:
    known = {node: y.node, **{i: x.node for i, x in zip(node.inputs, xs)}}
    return MODES.tangent(y.builder, node, ts, known.__getitem__) if any([t is not None for t in ts]) else None


_ENDS: OpTable[Callable[[Node], Shortcut | None]] = OpTable(
    {
        "add subtract": softplus,
        "divide": _quotient,
        "reciprocal": _quotient,
        **dict.fromkeys(_LOGARITHMS.entries, _logarithm),
        "log": lambda node: formula_of(node) or _logarithm(node),
        "log1p": _log1p,
        "minimum": lambda node: held(node) or share(node),
        **dict.fromkeys(FLAT, flat_function),
        "exp": lambda node: density(node) or flat_function(node),
    }
)


def end_of_exponentials(node: Node) -> Shortcut | None:
    """The shortcut that ends in this node, if there is one."""
    find = _ENDS.get(node.op)
    return None if find is None else find(node)
