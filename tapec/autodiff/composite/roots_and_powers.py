"""Derivatives of several operations taken as one that end in a root, a power, or a product with one.

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
from tapec.ir import CT, Node, is_literal

__all__ = ["end_of_roots"]

SLOPES: dict[str, Callable[..., Any]] = {
    "sqrt": lambda y, x: y * 0.5,
    "cbrt": lambda y, x: y * (1 / 3),
    **dict.fromkeys(["power", "float_power"], lambda y, x, n: y * n),
}


def end_of_roots(node: Node, exponentials: bool) -> Shortcut | None:
    """The shortcut that ends in this root, power or product, if there is one; with `exponentials` in it, perhaps."""
    name = node.op.name
    if name in POWERS:
        return _power(node, exponentials)
    return _product(node) if name in OF_ROOTS else _root(node, exponentials)


def _root(node: Node, exponentials: bool) -> Shortcut | None:
    by_logarithm = _root_of_exponentials(node) if exponentials else None
    return by_logarithm or one_power(monomial_of(node)) or _flat_root(node) or root_of_power(node)


def _root_of_exponentials(node: Node) -> Shortcut | None:
    from tapec.autodiff.composite.exp_and_log import along_logarithm
    from tapec.autodiff.composite.log_of_product import SHARES, SUMS

    exponent = node.inputs[-1]
    below = len(node.inputs) == 2 and is_literal(exponent) and exponent.value < 0
    also = (SHARES, SUMS) if below else (SHARES,)
    return along_logarithm(node, 0, SLOPES[node.op.name], also, split=True, is_flat=_is_flat)


def _power(node: Node, exponentials: bool) -> Shortcut | None:
    exponent = node.inputs[1]
    k = exponent.value if is_literal(exponent) else None
    if k == -1 and exponentials:
        from tapec.autodiff.composite.sigmoid import logistic

        return logistic(node) or _root(node, exponentials)
    return _product(node) if _is_whole(k) else _root(node, exponentials)


def _is_whole(k: Any) -> bool:
    return type(k) in (int, float) and k >= 0 and k % 1 == 0


def _product(node: Node) -> Shortcut | None:
    power = monomial_of(node)
    squared = square(node) if power is None or power.exponent == 1 else None
    return squared or one_power(power) or (product_with_root(node) if node.op.name == "multiply" else None)


# -- sqrt(sum(x ** 4)), sqrt(1 - tanh(x)) -----------------------------------------------------------------------------
def _flat_root(node: Node) -> Shortcut | None:
    u, n = node.inputs[0], root_of(node)
    if u.type != node.type or not _is_flat(node):
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


def _is_flat(node: Node) -> bool:
    """Has a root no slope where it is zero, though it is infinitely steep in its operand? One in a derivative stands
    beside the slope of its operand: there the product of both has none.
    """
    n = root_of(node)
    times = 0.0 if n is None else order(node.inputs[0])
    return n is not None and times != NEVER and (n * times > 1 or (node.role is CT and (n + 1) * times > 2))
