"""Differentiate several operations as one that end in a root, a power, or a product with one.

A power of a power is one power, and x * sqrt(k * x) is one of x. The square of a length has 2 * x, without a root.
Where what is under a root is zero, and comes down to it fast, the whole is flat.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.autodiff.composite.composite_rule import OF_ROOTS, POWERS, Shortcut
from tapec.autodiff.composite.singular_powers.common_root_factors import product_with_root, root_of_power
from tapec.autodiff.composite.singular_powers.order_of_zero import NEVER, order
from tapec.autodiff.composite.singular_powers.power_of_power import monomial_of, one_power, root_of
from tapec.autodiff.composite.singular_powers.sums_of_squares import square
from tapec.ir import CT, Node, OpTable, is_literal, ops

__all__ = ["SLOPES", "end_of_roots", "is_flat", "is_whole_power"]

SLOPES: OpTable[Callable[..., Any]] = OpTable(
    {
        "sqrt": lambda y, x: y * 0.5,
        "cbrt": lambda y, x: y * (1 / 3),
        "power float_power": lambda y, x, n: y * n,
    }
)


def end_of_roots(node: Node) -> Shortcut | None:
    """The shortcut that ends in this root, power or product, if there is one."""
    op = node.op
    if op in POWERS:
        return _product(node) if is_whole_power(node) else _root(node)
    return _product(node) if op in OF_ROOTS else _root(node)


def _root(node: Node) -> Shortcut | None:
    return one_power(monomial_of(node)) or _flat_root(node) or root_of_power(node)


def is_whole_power(node: Node) -> bool:
    """Return whether the exponent of this power is a whole number, and not negative."""
    exponent = node.inputs[1]
    k: Any = exponent.value if is_literal(exponent) else None
    return type(k) in (int, float) and k >= 0 and k % 1 == 0


def _product(node: Node) -> Shortcut | None:
    power = monomial_of(node)
    squared = square(node) if power is None or power.exponent == 1 else None
    return squared or one_power(power) or (product_with_root(node) if node.op is ops.multiply else None)


# -- sqrt(sum(x ** 4)), sqrt(1 - tanh(x)) -----------------------------------------------------------------------------
def _flat_root(node: Node) -> Shortcut | None:
    u, n = node.inputs[0], root_of(node)
    if u.type != node.type or not is_flat(node):
        return None

    def scaled(t: Any, y: Any, u: Any) -> Any:
        if n == 0.5:
            return t * (0.5 / np.where(y == 0, np.inf, y))
        return t * (y * n / np.where(u == 0, np.inf, u))

    return Shortcut(
        inputs=(u,),
        inner=(),
        vjp=lambda ct, y, u: (scaled(ct, y, u),),
        jvp=lambda ts, y, u: scaled(ts[0], y, u),
    )


def is_flat(node: Node) -> bool:
    """Return whether a root has no slope where it is zero, though it is infinitely steep in its operand.

    A root in a derivative stands beside the slope of its operand: there the product of both has no slope.
    """
    n = root_of(node)
    times = 0.0 if n is None else order(node.inputs[0])
    return n is not None and times != NEVER and (n * times > 1 or (node.role is CT and (n + 1) * times > 2))
