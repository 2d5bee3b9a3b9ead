"""Take powers of powers as one power of a number that is made in steps, of which some are roots.

cbrt(x) ** 3 is x, sqrt(x ** 4) is x ** 2, and x * x * sqrt(x) is x ** 2.5. Their slopes at zero are those of the one
power, though a root has an infinite one there, and the rest none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.autodiff import tuning
from tapec.autodiff.composite.composite_rule import Shortcut
from tapec.autodiff.composite.matchers import exponent_of, same
from tapec.autodiff.composite.singular_powers.order_of_zero import order
from tapec.autodiff.rule_application import scaled
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node, OpSet, is_literal, ops

__all__ = ["Monomial", "monomial_of", "one_power", "root_of", "rounded"]

STEPS = OpSet("sqrt cbrt square power float_power absolute fabs negative multiply divide")
EVEN, ODD, ABOVE = 0, 1, 2  # abs(x) ** n, sign(x) * abs(x) ** n, and x ** n that has no value below zero


class Monomial(NamedTuple):
    """Describes a multiple of a power."""

    base: Node
    exponent: float = 1
    parity: int = ODD
    factor: float = 1
    rooted: bool = False
    inner: tuple[tuple[Node, float, int, float], ...] = ()  # what lies between, and its exponent, parity and factor

    @property
    def less(self) -> tuple[float, int]:
        """The exponent and the parity of the slope."""
        return rounded(self.exponent - 1), self.parity if self.parity == ABOVE else 1 - self.parity

    def between(self) -> Node | None:
        """The power of the slope, if it is among what lies between; a root of squares has no slope of its own."""
        if order(self.base) >= 2:
            return None
        return next((node for node, *power in self.inner if power == [*self.less, 1]), None)

    def slope(self, x: Any, power: Any = None) -> Any:
        """Return the slope along x; `power` is what lies between."""
        if power is None:
            power = _power(x, *self.less, np.sqrt if self._has_half else lambda x: x**0.5)
        return power * rounded(self.factor * self.exponent)

    @property
    def _has_half(self) -> bool:
        """Return whether there is an x ** 0.5 of the user's. A root of squares is flat in a derivative alone: it does
        not count."""
        return any([node.op is ops.power for node, exponent, *_ in self.inner if exponent == 0.5])

    def times(self, other: Monomial) -> Monomial:
        """The product with another power of the same number, which may have been computed twice."""
        parity = ABOVE if ABOVE in (self.parity, other.parity) else (self.parity + other.parity) % 2
        twin = () if self.base is other.base else ((other.base, 1, ODD, 1),)
        return Monomial(
            self.base,
            rounded(self.exponent + other.exponent),
            parity,
            self.factor * other.factor,
            self.rooted or other.rooted,
            (*self.inner, *other.inner, *twin),
        )

    def of(self, base: Node, k: float) -> Monomial:
        """The same power, as one of `base`, of which its own base is k times as much."""
        inner = ((self.base, 1, ODD, k), *[(node, n, parity, f * k**n) for node, n, parity, f in self.inner])
        return self._replace(base=base, factor=self.factor * k**self.exponent, inner=inner)

    def to_the(self, n: float) -> Monomial | None:
        whole = n % 1 == 0
        if n <= 0 or (self.factor < 0 and not whole):
            return None
        parity = self.parity if self.parity != ODD else int(n) % 2 if whole else ABOVE
        try:
            return self._raised(n, parity, float(self.factor) ** n, not whole)
        except OverflowError:
            return None

    def cube_root(self) -> Monomial:
        return self._raised(1 / 3, self.parity, float(np.cbrt(self.factor)), True)

    def _raised(self, n: float, parity: int, factor: float, root: bool) -> Monomial:
        return Monomial(self.base, rounded(self.exponent * n), parity, factor, self.rooted or root, self.inner)


def monomial_of(node: Node) -> Monomial | None:
    """The power that a node is of some number, if there are roots among its steps and its slope is finite at zero."""
    if node.op is ops.multiply:
        if not any(map(_is_root, node.inputs)):
            return None
    elif node.inputs[0].op not in STEPS:
        return None
    found = _step(node, tuning.POWER_OF_POWER_MAX_OPS)
    if found is None or not found.inner or not found.rooted or found.exponent < 1:
        return None
    return found._replace(parity=ABOVE) if order(found.base) else found


def root_of(node: Node) -> float | None:
    """The exponent of a root: between zero and one."""
    n = 1 / 3 if node.op is ops.cbrt else _exponent(node)
    return n if n is not None and 0 < n < 1 else None


def _is_root(node: Node) -> bool:
    """Return whether a value is a root, or a power, a multiple, or the size of one."""
    for _ in range(tuning.POWER_OF_POWER_MAX_OPS):
        op, exponent = node.op, _exponent(node)
        if op is ops.cbrt or (exponent is not None and exponent % 1 != 0):
            return True
        scaled = op in (ops.multiply, ops.divide) and any(map(is_literal, node.inputs))
        if exponent is None and not scaled and op not in (ops.negative, ops.absolute, ops.fabs):
            return False
        node = node.inputs[-1 if is_literal(node.inputs[0]) else 0]
    return False


def _exponent(node: Node) -> float | None:
    op = node.op
    if op not in (ops.power, ops.float_power):
        return 0.5 if op is ops.sqrt else 2 if op is ops.square else None
    return exponent_of(node)


def _followed(node: Node, far: int) -> Monomial:
    """Return a value as a power of another one: at least of itself."""
    found = _step(node, far) if far else None
    if found is None:
        return Monomial(node)
    base, exponent, parity, factor, rooted, inner = found
    return Monomial(base, exponent, parity, factor, rooted, (*inner, (node, exponent, parity, factor)))


def _step(node: Node, far: int) -> Monomial | None:
    """Return a value as a power made by its last operation; None if that is none that makes a power."""
    op, inputs = node.op, node.inputs
    if op not in STEPS or any([i.type.dtype != node.type.dtype for i in inputs if not is_literal(i)]):
        return None
    exponent = _exponent(node)
    if exponent is not None:
        return _followed(inputs[0], far - 1).to_the(exponent)
    if op is ops.cbrt:
        return _followed(inputs[0], far - 1).cube_root()
    if op in (ops.absolute, ops.fabs):
        below = _followed(inputs[0], far - 1)
        return below._replace(parity=EVEN if below.parity == ODD else below.parity, factor=abs(below.factor))
    if op is ops.multiply and not any(map(is_literal, inputs)):
        return _product(*[_followed(i, far - 1) for i in inputs])
    return _multiple(node, far)


def _product(a: Monomial, b: Monomial) -> Monomial | None:
    """Return the product of powers of one number, or of positive multiples of it.

    sqrt(2 * x) * sqrt(3 * x) is a multiple of x.
    """
    if same(a.base, b.base):
        return a.times(b)
    (x, k), (y, n) = (_multiple_of(m.base) or (m.base, 1) for m in (a, b))
    if k * n <= 0 or not same(x, y):
        return None
    return a.of(b.base, k / n).times(b) if y is b.base else a.times(b.of(a.base, n / k))


def _multiple(node: Node, far: int) -> Monomial | None:
    """A number times a power; not times what is no power itself."""
    found = _multiple_of(node)
    below = _followed(found[0], far - 1) if found else None
    return below._replace(factor=below.factor * found[1]) if found and below and below.inner else None


def _multiple_of(node: Node) -> tuple[Node, float] | None:
    """Return the node that a node is a multiple of, and the number it is multiplied by, which is not zero; or None."""
    op, inputs = node.op, node.inputs
    if op is ops.negative:
        return inputs[0], -1.0
    if op not in (ops.multiply, ops.divide) or not any(map(is_literal, inputs)):
        return None
    k = 0 if is_literal(inputs[1]) else 1
    factor = inputs[1 - k].value
    if type(factor) not in (int, float) or factor == 0 or (op is ops.divide and k == 1):
        return None
    return inputs[k], 1 / factor if op is ops.divide else factor


def rounded(n: float) -> float:
    """Round an exponent or factor to the number meant.

    Sums and products of decimals, and of the sixths that roots of roots have, miss it by a rounding.
    """
    for near in (round(n * 12) / 12 if abs(n) < 1e6 else n, float(f"{n:.12g}")):
        n = near if abs(near - n) < 1e-14 * abs(n) else n
    return int(n) if n % 1 == 0 else n


def _power(x: Any, n: float, parity: int, root: Callable[[Any], Any]) -> Any:
    """Write a power in as few operations as one would by hand."""
    whole = n % 1 == 0
    if parity == ABOVE and n % 1 == 0.5 and n > 1:
        return _power(x, n - 0.5, ABOVE, root) * root(x)
    if parity == ABOVE or (whole and n % 2 == parity):
        return x if n == 1 else root(x) if n == 0.5 else x**n  # to the 0, too: its slope is zero and not missing
    if parity == EVEN:
        return np.abs(x) if n == 1 else x ** (n - 1) * np.abs(x) if whole else np.abs(x) ** n
    if n == 1 / 3:
        return np.cbrt(x)
    if n == 0:
        return np.sign(x)
    return _power(x, n - 1, ODD, root) * np.abs(x) if whole else np.sign(x) * np.abs(x) ** n


def one_power(found: Monomial | None) -> Shortcut | None:
    if found is None:
        return None
    power = found.between()
    given = () if power is None else (power,)

    def vjp(ct: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        return scaled(ct, found.slope(*xs)), *[None] * len(given)

    return Shortcut(
        inputs=(found.base, *given),
        inner=tuple([i for i, *_ in found.inner]),
        vjp=vjp,
        jvp=lambda ts, y, *xs: ts[0] * found.slope(*xs),
    )
