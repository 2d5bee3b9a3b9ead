"""Write squares of lengths out as the sums of squares that they are.

A length has no derivative at zero, where it counts as zero; its square is smooth there, and has its second derivative.
So norm(x) ** 2, hypot(x, y) ** 2 and sqrt(u) ** 2 are differentiated as sum(x * x), x * x + y * y and u: whichever way
the square is written, and also that of a length which was scaled, negated, laid out, or read in part before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.autodiff import tuning
from tapec.autodiff.composite.composite_rule import Shortcut
from tapec.autodiff.composite.matchers import same
from tapec.autodiff.composite.rewritten_value import Writer, WrittenOut, back_through, pushed_through
from tapec.ir import Node, OpSet, OpTable, is_literal, ops
from tapec.ops import Symbol, apply

__all__ = ["square", "square_of"]


LENGTHS: OpTable[Callable[..., Any]] = OpTable(
    {  # their squares, from the squares of their operands
        "absolute": lambda xx: xx,
        "fabs": lambda xx: xx,
        "hypot": lambda aa, bb: aa + bb,
        "norm": lambda xx, ord, axis, keepdims: np.sum(xx, axis=axis, keepdims=keepdims),
    }
)
ROOTS: OpTable[Callable[..., Any]] = OpTable(
    {
        "sqrt": lambda u: u,
        "power": lambda u, half: u,
        "std": np.var,
    }
)  # and from these
LAYOUT = OpSet("getitem reshape transpose broadcast_to")
LINEAR = LAYOUT | OpSet("multiply divide negative")
FACTORS = OpTable({"multiply": 2, "divide": 1})  # how many operands of a product, or a quotient, are factors of it


def square_of(node: Node) -> WrittenOut | None:
    """The square of a length, if a node is one, or a multiple of it."""
    factors = _factors(node)
    if factors is None:
        return None
    length, product = factors
    if not _leads(length):
        return None
    walk = _Walk(node, length)
    square = walk.square(length, tuning.SQUARE_OF_LENGTH_MAX_OPS)
    return walk.written(node, square if product is None else walk.multiple(product, length, square))


def _factors(node: Node) -> tuple[Node, Node | None] | None:
    """Return the node whose square a node is; or a node, and a product or quotient with that node, whose product it
    is."""
    a, *rest = node.inputs
    if node.op is ops.square:
        return a, None
    [b] = rest
    if node.op is not ops.multiply:
        return (a, None) if is_literal(b) and b.value == 2 else None
    if same(a, b):
        return a, None
    return (b, a) if _place(a, b) is not None else (a, b) if _place(b, a) is not None else None


def _place(product: Node, factor: Node) -> int | None:
    """Return where a product, or a quotient, has this factor; None where it has not."""
    for k, i in enumerate(product.inputs[: FACTORS.get(product.op, 0)]):
        if same(i, factor):
            return k
    return None


def _leads(node: Node) -> bool:
    """Return whether a node leads to a length."""
    for _ in range(tuning.SQUARE_OF_LENGTH_MAX_OPS):
        if _is_length(node):
            return True
        step = _step(node)
        if step is None:
            return False
        node = node.inputs[step]
    return False


def _is_length(node: Node) -> bool:
    op = node.op
    if node.type.dtype.kind != "f":
        return False
    if op is ops.power:
        return is_literal(node.inputs[1]) and node.inputs[1].value == 0.5
    return op in ROOTS or (op in LENGTHS and (op is not ops.norm or node.param("ord") == 2))


def _step(node: Node) -> int | None:
    """The operand that leads on to a length: a node is linear in it, element by element."""
    if node.op is not ops.multiply:
        return 0 if node.op in LINEAR else None
    lengths = [k for k, i in enumerate(node.inputs) if _is_length(i)]
    return next(iter([*lengths, *[k for k, i in enumerate(node.inputs) if i.op in LINEAR]]), None)


class _Walk(Writer):
    """Walks a program that is written down."""

    def __init__(self, node: Node, length: Node):
        super().__init__(node)
        self.dtype = length.type.dtype
        self.inner |= {i: None for i in node.inputs if not is_literal(i)}

    def multiple(self, product: Node, length: Node, square: Any) -> Any:
        """The square in place of one factor of a product."""
        k = _place(product, length)
        assert k is not None
        self.inner[product.inputs[k]] = None
        other = self.value(product.inputs[1 - k])
        return square / other if product.op is ops.divide else square * other

    def square(self, node: Node, far: int) -> Any:
        """The square of what leads to a length."""
        self.inner[node] = None
        op = node.op
        if op in ROOTS:
            return ROOTS[op](*map(self.value, node.inputs), **dict(node.params))
        if op in LENGTHS:
            return LENGTHS[op](*[self.own(i, far - 1) for i in node.inputs], **dict(node.params))
        k = _step(node)
        below, *rest = node.inputs if k == 0 else node.inputs[::-1]
        found = self.square(below, far - 1)
        if op in LAYOUT:
            return apply(node.op, (found, *map(self.value, rest)), node.params)
        if op is ops.negative:
            return found
        other = self.value(rest[0])
        return found / other / other if op is ops.divide else found * other * other

    def own(self, node: Node, far: int) -> Any:
        """The square of any value's size."""
        if far > 0 and _is_length(node):
            return self.square(node, far)
        x = self.value(node)
        if isinstance(x, Symbol) and x.dtype.kind in "biu":
            x = x.astype(self.dtype)
        return np.square(np.abs(x)) if node.type.dtype.kind == "c" else x * x  # the former has a shortcut


# -- as a shortcut ----------------------------------------------------------------------------------------------------
def square(node: Node) -> Shortcut | None:
    found = square_of(node)
    if found is None:
        return None
    if found.result.op is ops.square:  # of abs(z)
        return Shortcut(
            inputs=found.inputs,
            inner=found.inner,
            vjp=lambda ct, y, z: (ct * 2 * z,),
            jvp=lambda ts, y, z: np.real(np.conj(z) * ts[0]) * 2,
        )
    return Shortcut(
        inputs=found.inputs,
        inner=found.inner,
        vjp=lambda ct, y, *xs: back_through(found, ct, xs),
        jvp=lambda ts, y, *xs: pushed_through(found, ts, xs),
    )
