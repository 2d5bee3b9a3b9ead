"""Differentiate products with roots of a common factor: x * sqrt(k * x), area * (area / perimeter) ** (2 / 3).

Where that factor is zero, a root of it is infinitely steep, but the product is flat: it is a power of the factor, and a
higher one than the first. So it has the slope of that power, and none along what else is under the root. The root of a
product with such a power, as sqrt(k * x ** 3), has none where that is zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tapec.autodiff import tuning
from tapec.autodiff.composite.composite_rule import Shortcut
from tapec.autodiff.composite.matchers import exponent_of, same
from tapec.autodiff.composite.rewritten_value import Writer, WrittenOut, back_through, pushed_through
from tapec.autodiff.composite.singular_powers.power_of_power import root_of, rounded
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node, OpSet, OpTable, is_literal, ops
from tapec.ops import apply

__all__ = ["product_with_root", "root_of_power"]

FACTORS = OpTable({"multiply": (1, 1), "divide": (1, -1), "negative": (1,), "square": (2,)})  # exponents of operands
ROOTS = OpSet("sqrt cbrt power float_power")
SIZES = OpSet("absolute fabs")  # under a root as good as what they are of


def product_with_root(node: Node) -> Shortcut | None:
    common = _common_factors(node)
    found = _Walk(node, common).written_out() if common else None
    if found is None:
        return None
    return Shortcut(
        inputs=found.inputs,
        inner=found.inner,
        vjp=lambda ct, y, *xs: back_through(found, ct, xs),
        jvp=lambda ts, y, *xs: pushed_through(found, ts, xs),
    )


def root_of_power(node: Node) -> Shortcut | None:
    p, u = root_of(node), node.inputs[0]
    if p is None or u.type != node.type:
        return None
    powers = [i for i in (u, *_parts(u, under=True)) if i.op is ops.power]
    x = next((base for power in powers for base, n in _operands(power, True) if n * p > 1), None)
    if x is None:
        return None
    return Shortcut(
        inputs=(u, x),
        inner=(),
        vjp=lambda ct, y, u, x: (ct * _steepness(p, y, u, x), None),
        jvp=lambda ts, y, u, x: None if ts[0] is None else ts[0] * _steepness(p, y, u, x),
    )


def _steepness(p: float, y: Any, u: Any, x: Any) -> Any:
    """The slope of y = u ** p, but none where x is zero."""
    y, u = [np.where(x == 0, np.inf, i) for i in (y, u)]
    return 0.5 / y if p == 0.5 else p / (y * y) if p == 1 / 3 else p * u ** (p - 1)


def _common_factors(node: Node) -> list[Node]:
    """Return the factors that a product shares with what is under a root in it."""
    near = [*node.inputs, *[j for i in node.inputs if i.op in FACTORS for j in i.inputs]]
    if not any([i.op in ROOTS for i in near]):
        return []
    roots = [i for i in _parts(node) if root_of(i) is not None]
    under = [part for i in roots for part in (i.inputs[0], *_parts(i.inputs[0], under=True))]
    return [i for i in _parts(node) if i not in roots and _among(under, i) is not None]


def _among(nodes: Iterable[Node], x: Node) -> Node | None:
    """The one that is the same as x."""
    return next((i for i in nodes if same(i, x)), None)


def _operands(node: Node, under: bool) -> list[tuple[Node, float]]:
    """Return the factors of a product, or of what is under a root, with exponents; of a root under another one, too."""
    op, n = node.op, root_of(node) if under else None
    if op is ops.power and n is None:
        n = exponent_of(node)
        n = n if n is not None and n > 1 and n % 1 == 0 else None
    if op in ROOTS:
        return [] if n is None else [(node.inputs[0], n)]
    exponents = (1,) if under and op in SIZES else FACTORS.get(op, ())
    return list(zip(node.inputs, exponents, strict=True)) if exponents else []


def _parts(node: Node, under: bool = False, far: int | None = None) -> Iterator[Node]:
    """The factors above the line, and theirs."""
    far = tuning.ROOT_FACTORS_MAX_OPS if far is None else far
    for i, n in _operands(node, under) if far else ():
        if n > 0 and not is_literal(i):
            yield i
            yield from _parts(i, under, far - 1)


class _Factors(NamedTuple):
    """Holds the factors of a value with their exponents, the number among them, and what they are put together by."""

    exponents: dict[Node, float]
    number: float
    inner: dict[Node, None]


def _factors_of(node: Node, common: Sequence[Node], under: bool = False) -> _Factors:
    """Common factors are not split."""
    exponents: dict[Node, float] = {}
    number = 1.0
    inner: dict[Node, None] = {}
    waiting = [(node, 1.0, tuning.ROOT_FACTORS_MAX_OPS)]
    for part, n, far in waiting:
        x = _among(common, part)
        if x is None and is_literal(part):
            number *= 1 if under else part.value**n
        elif x is None and (far > 0 or part in inner) and (operands := _operands(part, under)):
            inner[part] = None
            number *= -1 if part.op is ops.negative and n % 2 and not under else 1
            waiting += [(i, n * k, far - 1) for i, k in operands]
        else:
            exponents[x or part] = exponents.get(x or part, 0) + n
            inner |= {part: None} if x not in (None, part) else {}
    return _Factors(exponents, number, inner)


class _Walk(Writer):
    """Walks a program that is written down: it has not the value of the product, but its derivatives."""

    def __init__(self, node: Node, common: Sequence[Node]):
        super().__init__(node)
        self.node = node
        self.whole = _factors_of(node, common)
        self.common = [x for x in dict.fromkeys(common) if x in self.whole.exponents]
        self.roots = {i: p for i in self.whole.exponents if (p := root_of(i)) is not None}
        self.under = {root: _factors_of(root.inputs[0], self.common, under=True) for root in self.roots}
        for factors in (self.whole, *self.under.values()):
            self.inner |= factors.inner
        self.inner |= dict.fromkeys(self.roots)

    def written_out(self) -> WrittenOut | None:
        """Write out the slopes along the common factors, along others, and along what else is under a root."""
        exponents = self.whole.exponents
        if not self.common or any([exponents[root] != 1 for root in self.roots]):
            return None
        terms = []
        for x in self.common:
            n = exponents[x] + sum([p * self.under[root].exponents.get(x, 0) for root, p in self.roots.items()])
            terms.append(self.value(x) * self.product(x, rounded(n)))
        if not exponents.keys() <= {*self.common, *self.roots}:
            terms.append(self.moved(self.node, self.whole))
        for root, p in self.roots.items():
            if not self.under[root].exponents.keys() <= {*self.common}:
                u, rest = root.inputs[0], self.product(root)
                steepness = _steepness(p, self.held(root), self.held(u), rest)
                terms.append(self.moved(u, self.under[root]) * (rest * steepness))
        return self.written(self.node, sum(terms[1:], terms[0]))

    def product(self, without: Node, times: float = 1) -> Any:
        """Return `times` the product without one of its factors."""
        total: Any = 1
        for i, n in self.whole.exponents.items():
            n -= i is without
            if n:
                power = self.held(i) if abs(n) == 1 else self.held(i) ** abs(n)
                total = total / power if n < 0 else total * power
        return total * rounded(times * self.whole.number)

    def moved(self, node: Node, factors: _Factors) -> Any:
        """The same value, of other factors than the common ones that move."""
        x = _among(self.common, node)
        if x is not None:
            return self.held(x)
        if node not in factors.inner:
            return self.held(node) if factors is self.whole and node in self.roots else self.value(node)
        return apply(node.op, tuple([self.moved(i, factors) for i in node.inputs]), node.params)
