"""Write logarithms of products with exponentials among their factors out as the sums that they are.

log(exp(u) / s) is u - log(s), whose derivative divides by no share that underflows, and multiplies by no exponential
that overflows. So the root of such a share, or a power of it, y, has k * y times that derivative, and what is divided
by such a product, or by powers of 1 + exp(u), has -y times that. Where another factor above the line is zero, and y
with it, no quotient tells the derivative along that: there it is left to the product itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from tapec.autodiff import tuning
from tapec.autodiff.composite.matchers import LAYOUT, is_one, one_plus_exp
from tapec.autodiff.composite.overflow_safe_exp import leads_to_exponential, with_held_exponentials
from tapec.autodiff.composite.rewritten_value import Writer, WrittenOut
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node, OpTable, is_literal, ops
from tapec.ops import apply

__all__ = ["Logarithm", "SHARES", "SUMS", "logarithm_of", "sigmoid_of"]

SHARES, SUMS = "shares", "sums"  # what may count as an exponential: sigmoids; sums with one that are no divisors
FACTORS = OpTable(
    {"multiply": (1, 1), "divide": (1, -1), "reciprocal": (-1,), "sqrt": (0.5,), "square": (2,)}
)  # and powers

EXPONENTIALS: OpTable[Callable[[Any], Any]] = OpTable(
    {  # their logarithms
        "exp": lambda u: u,
        "exp2": lambda u: u * math.log(2.0),
        "cosh": lambda u: np.log(np.cosh(u)),  # for which there is a shortcut
    }
)


class Logarithm(NamedTuple):
    """Differentiates a product by its logarithm, up to a constant, and by itself where the former leaves factors
    out."""

    log: WrittenOut
    direct: WrittenOut | None
    sums: bool  # are there such sums in it?


def logarithm_of(node: Node, end: Node, also: Collection[str] = (), split: bool = False) -> Logarithm | None:
    """The logarithm of a product, if an exponential is in it, or what counts as one `also`.

    `end` is what is made of the product; if `split`, other factors above the line are left out where they are zero.
    """
    if not _leads(node, also, tuning.LOGARITHM_MAX_OPS):
        return None
    walk = _Walk(end, also, split)
    result = walk.log(node, tuning.LOGARITHM_MAX_OPS)
    log = walk.written(node, result if result.shape == node.type.shape else np.broadcast_to(result, node.type.shape))
    return Logarithm(log, _Direct(end, also).all_of(node) if walk.left_out else None, walk.sums)


def _leads(node: Node, also: Collection[str], far: int, sign: int = 1) -> bool:
    """Return whether a node leads, through factors, to an exponential."""
    if node.type.dtype.kind != "f":
        return False
    if _is_exponential(node, also, sign):
        return True
    return far > 0 and any([_leads(i, also, far - 1, sign if k > 0 else -sign) for k, i in _factors(node)])


def _is_exponential(node: Node, also: Collection[str], sign: int) -> bool:
    if node.op in EXPONENTIALS or (SUMS in also and sign > 0 and _is_sum(node)):
        return True
    return SHARES in also and sigmoid_of(_rest(node) or node) is not None


def _is_sum(node: Node) -> bool:
    return node.op in (ops.add, ops.subtract) and leads_to_exponential(node)


def _factors(node: Node) -> list[tuple[float, Node]]:
    """Return the factors of a node, with exponents; one factor in another layout counts too."""
    op, inputs = node.op, node.inputs
    if op in LAYOUT:
        return [(1, inputs[0])]
    if op is ops.power:
        return [(inputs[1].value, inputs[0])] if is_literal(inputs[1]) else []
    return list(zip(FACTORS.get(op, ()), inputs, strict=False))


# -- 1 / (1 + exp(u)) -------------------------------------------------------------------------------------------------
class Sigmoid(NamedTuple):
    """Describes a sigmoid 1 / (1 + exp(-side * u)), and the nodes in between."""

    side: int
    u: Node
    inner: tuple[Node, ...]


def sigmoid_of(node: Node) -> Sigmoid | None:
    op, inputs = node.op, node.inputs
    if op in (ops.scipy_special_expit, ops.sigmoid):
        return Sigmoid(1, inputs[0], (node,))
    if op is ops.reciprocal or (op is ops.divide and is_one(inputs[0])):
        e = one_plus_exp(inputs[-1])
        return None if e is None else Sigmoid(-1, e.inputs[0], (node, inputs[-1], e))
    return None


def _rest(node: Node) -> Node | None:
    """The sigmoid that is taken away from one."""
    if node.op is not ops.subtract or not is_one(node.inputs[0]) or sigmoid_of(node.inputs[1]) is None:
        return None
    return node.inputs[1]


# -- written out ------------------------------------------------------------------------------------------------------
class _Walk(Writer):
    """Walks a program that is written down."""

    def __init__(self, end: Node, also: Collection[str], split: bool):
        super().__init__(end)
        self.also = also
        self.split = split
        self.left_out = False
        self.sums = False

    def log(self, node: Node, far: int, sign: int = 1) -> Any:
        """The logarithm of what leads to an exponential; `sign` is -1 below the line."""
        self.inner[node] = None
        op = node.op
        if op in EXPONENTIALS:
            return EXPONENTIALS[op](self.value(node.inputs[0]))
        if SUMS in self.also and sign > 0 and _is_sum(node):
            self.sums = True
            return with_held_exponentials(self, node) / self.held(node)  # not its value, but its derivative
        rest = _rest(node) if SHARES in self.also else None
        found = sigmoid_of(rest or node) if SHARES in self.also else None
        if found is not None:
            self.inner |= dict.fromkeys(found.inner)
            slope = 1 - self.held(node) if rest is None else -self.held(rest)
            return self.value(found.u) * (slope * found.side)  # not its value, but its derivative
        if op in LAYOUT:
            below, *places = node.inputs
            return apply(node.op, (self.log(below, far - 1, sign), *map(self.value, places)), node.params)
        terms = [k * self.factor(i, far - 1, sign if k > 0 else -sign) for k, i in _factors(node) if not is_literal(i)]
        return sum(terms[1:], terms[0])

    def factor(self, node: Node, far: int, sign: int) -> Any:
        if _leads(node, self.also, far, sign):
            return self.log(node, far, sign)
        value = self.value(node)
        if self.split and sign > 0:
            self.left_out = True
            value = np.where(self.held(node) == 0, np.inf, value)
        return np.log(value)


class _Direct(Writer):
    """Differentiates the product as it is; factors move only where its logarithm leaves them out."""

    def __init__(self, end: Node, also: Collection[str]):
        super().__init__(end)
        self.also = also

    def all_of(self, node: Node) -> WrittenOut:
        return self.written(node, self.product(node, tuning.LOGARITHM_MAX_OPS))

    def product(self, node: Node, far: int, sign: int = 1) -> Any:
        if is_literal(node):
            return node.value
        if not _leads(node, self.also, far, sign):
            return self.moving_at_zero(node) if sign > 0 else self.held(node)
        if _is_exponential(node, self.also, sign):
            return self.held(node)
        factors = _factors(node)
        values = [self.product(i, far - 1, sign if k > 0 else -sign) for k, i in factors]
        others = [i.value if is_literal(i) else self.held(i) for i in node.inputs[len(factors) :]]
        return apply(node.op, (*values, *others), node.params)

    def moving_at_zero(self, node: Node) -> Any:
        held = self.held(node)
        return np.where(held == 0, self.value(node), held)
