"""Carry cotangents with what is in no graph yet: a sign, or a number that fills them.

Derivatives are linear, so a sign goes on until it meets a number, or a sum, which becomes a difference. And every
gradient begins with the 1.0 that a loss has: that goes through sums and means to the first product, and becomes a
factor there, or vanishes. So no rewrite rule has to clear signs and ones away, and rebuild all that depends on them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.autodiff.symbolic.symbolic_zeros import Typed, filled
from tapec.ir import Builder, Node, Op, OpSet, Type, is_literal, ops
from tapec.ir.sizes import multiple_text, tells_size
from tapec.ops import UFUNCS, Symbol, apply
from tapec.ops.indexing.getitem_and_scatter import SCATTER
from tapec.ops.layout.reshape_and_transpose import BROADCAST_TO, RESHAPE, TRANSPOSE

__all__ = [
    "MULTIPLY",
    "NEGATIVE",
    "Minus",
    "Uniform",
    "accumulate",
    "added",
    "product",
    "settled",
    "taken_apart",
    "times",
]

_ADD, _SUBTRACT, MULTIPLY, NEGATIVE = [UFUNCS[f] for f in (np.add, np.subtract, np.multiply, np.negative)]


def product(a: Any, b: Any) -> Any:
    return _emitted(MULTIPLY, a, b) if type(a) is type(b) is Symbol else a * b


def times(a: Any, factor: Node) -> Any:
    """The same with a node."""
    builder = a.builder
    if type(a) is not Symbol:
        return a * Symbol(factor, builder)
    return Symbol(builder.emit(MULTIPLY, (a.node, factor)), builder)


def _emitted(op: Op, a: Symbol, b: Symbol) -> Symbol:
    """An operation on two symbols, as their operators do it."""
    return Symbol(a.builder.emit(op, (a.node, b.node)), a.builder)


# -- signs ------------------------------------------------------------------------------------------------------------
class Minus:
    """Stands for the negative of a cotangent."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


def taken_apart(ct: Any) -> tuple[bool, Any]:
    """Return whether a cotangent is a negative, and the value without its sign."""
    return (True, ct.value) if type(ct) is Minus else (False, ct)


def accumulate(pending: dict[Node, Any], node: Node, ct: Any) -> None:
    """Add to the cotangent of a node."""
    known = pending.get(node)
    pending[node] = ct if known is None else _sum(known, ct)


def added(parts: Sequence[Any]) -> Any:
    """The sum of what there is; None for nothing."""
    total: Any = None
    for part in parts:
        if part is not None:
            total = part if total is None else _sum(total, part)
    return total


def _sum(known: Any, ct: Any) -> Any:
    if type(known) is type(ct) is Symbol:
        if known.node is ct.node and known.dtype.kind == "f":
            return product(known, 2.0)  # of x * x
        bare = _bare_part(known)
        return _emitted(_ADD, known, ct) if bare is None else _emitted(_SUBTRACT, ct, bare)
    (minus, a), (less, b) = taken_apart(known), taken_apart(ct)
    if minus and less:
        return -a + -b if _absorbs(a) or _absorbs(b) else Minus(a + b)
    if not minus and not less:
        return a + b
    if minus:
        a, b = b, a
    return _emitted(_SUBTRACT, a, b) if type(a) is type(b) is Symbol else a - b


def _bare_part(ct: Symbol) -> Symbol | None:
    """A part among zeros without its sign, if it has one: it can be taken away from what it would be added to."""
    if ct.node.op is not SCATTER:
        return None
    values, *arrays = ct.node.inputs
    if values.op is not NEGATIVE or values.role is None or ct.dtype.kind not in "fc":
        return None
    return Symbol(ct.builder.emit(SCATTER, (values.inputs[0], *arrays), ct.node.params), ct.builder)


def _absorbs(ct: Any) -> bool:
    """Return whether a cotangent is a product with a number, which takes a sign for nothing."""
    if type(ct) is not Symbol:
        return True
    return ct.node.op in (ops.multiply, ops.divide) and any([not i.inputs for i in ct.node.inputs])


def settled(ct: Any, may_be_uniform: bool = False) -> Any:
    """A cotangent with all that belongs to it in the graph."""
    minus, ct = taken_apart(ct)
    if type(ct) is Uniform and not may_be_uniform:
        ct = ct.symbol
    return -ct if minus else ct


# -- numbers ----------------------------------------------------------------------------------------------------------
_LAYOUT = (BROADCAST_TO, RESHAPE, TRANSPOSE)
_ARITHMETIC = OpSet("add subtract multiply divide")


def _as_number(x: Any, self: Uniform) -> Any:
    """The number that an operand is everywhere, where it does not decide the type; anything else as it is."""
    if type(x) is Uniform:
        return x.value if x is not self and x.type == self.type else x
    return x.node.value if type(x) is Symbol and is_literal(x.node) else x


def _size_of(x: Any) -> str | None:
    """Return the name of an operand that is a size, or a number that comes from sizes."""
    name = x.node.name if type(x) is Symbol and is_literal(x.node) else None
    return name if name is not None and tells_size(name) else None


Multiple = tuple[float, str, str]  # the factor or dividend, "*" or "/", the name of a size


class Uniform(Typed):
    """Stands for an array of one real number. `node` puts it into the graph.

    Of a number that was multiplied or divided by a size, `multiple` has the factor or dividend, the operator, and the
    name of the size, so that code can say so.
    """

    __slots__ = ("multiple", "value")
    _rank = 3

    def __init__(self, type: Type, value: float, builder: Builder, multiple: Multiple | None = None):
        super().__init__(type, builder)
        self.value = value
        self.multiple = multiple

    @property
    def symbol(self) -> Symbol:
        return filled(self.builder, self.type, self.value, self.name)

    @property
    def name(self) -> str | None:
        """Return how the number comes from a size, `2.0 / size('y')`; None for one that comes from none."""
        return None if self.multiple is None else multiple_text(*self.multiple)

    @property
    def number(self) -> Symbol:
        """The number as a literal of the graph."""
        return Symbol(self.builder.constant(self.value, self.name), self.builder)

    @property
    def node(self) -> Node:
        return self.symbol.node

    def _apply(self, op: Op, inputs: tuple[Any, ...], params: tuple[tuple[str, Any], ...]) -> Any:
        made = None
        if op in _LAYOUT:
            made = Uniform(op.rule(self.type, **dict(params)), self.value, self.builder, self.multiple)
        elif op is ops.negative:
            made = self._of(-self.value, self._multiple(ops.multiply, -1.0, None))
        elif op in _ARITHMETIC:
            made = self._combined(op, *inputs)
        if made is None:
            made = apply(op, tuple([x.symbol if type(x) is Uniform else x for x in inputs]), params)
        return made

    def _combined(self, op: Op, a: Any, b: Any) -> Any:
        """The result with a number, which is uniform again, or with an array of the result's type; None for others."""
        size = _size_of(b if a is self else a)
        b = _as_number(b, self) if a is self else b
        a = _as_number(a, self)
        if op is ops.multiply and b is self:
            a, b = b, a
        if a is self and type(b) in (int, float):
            with np.errstate(all="ignore"):
                return self._of(op.run(self.dtype.type(self.value), b).item(), self._multiple(op, b, size))
        other = b if a is self else a
        if not isinstance(other, Symbol) or op.rule(self.type, other.node.type) != other.node.type:
            return None
        if op is ops.multiply and self.value == 1:
            return other
        if op is ops.multiply:
            return product(other, self.number)
        return apply(op, (self.number, b) if a is self else (a, self.number))

    def _of(self, value: float, multiple: Multiple | None = None) -> Uniform | None:
        """The same array with another number, in its shortest form; None for those that are better left to NumPy."""
        value = float(str(self.dtype.type(value)))
        return Uniform(self.type, value, self.builder, multiple) if value and math.isfinite(value) else None

    def _multiple(self, op: Op, number: float, size: str | None) -> Multiple | None:
        """Return how the number, multiplied or divided by another one, comes from a size."""
        if op not in (ops.multiply, ops.divide) or not number:
            return None
        if size is not None:
            return (self.value, "/" if op is ops.divide else "*", size) if self.multiple is None else None
        if self.multiple is None:
            return None
        factor, operator, name = self.multiple
        return factor * number if op is ops.multiply else factor / number, operator, name

    def __repr__(self) -> str:
        return f"Uniform({self.value}, {self.type})"
