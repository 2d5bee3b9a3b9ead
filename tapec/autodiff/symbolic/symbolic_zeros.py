"""`Zero` stands for an array known to vanish: rules take it like any other, and it leaves no trace in the graph.

A missing cotangent of an op with several results, the tangent of what does not move: adding it gives the other operand,
multiplying by it gives a `Zero` again; it becomes an array of zeros only where an op needs one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.autodiff.linearity import is_multilinear, linear_inputs
from tapec.ir import Builder, Node, Op, Type, ops, type_of
from tapec.ops import ArrayLike, Symbol, apply
from tapec.ops.layout.creation import FULL

__all__ = ["Typed", "Zero", "filled", "is_zero", "matched"]


def filled(builder: Builder, t: Type, value: float, name: str | None = None) -> Symbol:
    """A symbol of one number everywhere; `name` says how the number comes from a size."""
    count = len(builder.nodes)
    node = builder.emit(FULL, (), (("shape", t.shape), ("value", value), ("dtype", t.dtype)))
    if len(builder.nodes) > count:  # an equal one that was there is of another number
        node.name = name
    return Symbol(node, builder)


class Typed(ArrayLike):
    """Stands for an array of which the type is known, not yet in any graph."""

    __slots__ = ("builder", "type")

    def __init__(self, type: Type, builder: Builder):
        self.type = type
        self.builder = builder

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self) -> np.dtype:
        return self.type.dtype

    @property
    def weak(self) -> bool:
        return False


class Zero(Typed):
    """Stands for zeros of a type. `node` puts them into the graph."""

    __slots__ = ()
    _rank = 4  # decides before any other stand-in does

    @property
    def node(self) -> Node:
        return filled(self.builder, self.type, 0.0).node

    def _apply(self, op: Op, inputs: tuple[Any, ...], params: tuple[tuple[str, Any], ...]) -> Any:
        result = op.rule(*[_type(x) for x in inputs], **dict(params))
        if op in (ops.add, ops.subtract) and not all(map(is_zero, inputs)):
            other = inputs[0] if is_zero(inputs[1]) else inputs[1]
            if not isinstance(other, ArrayLike):
                other = Symbol(self.builder.constant(other), self.builder)
            return matched(-other if op is ops.subtract and is_zero(inputs[0]) else other, result)
        if _vanishes(op, inputs):
            return tuple([Zero(t, self.builder) for t in result]) if op.multi else Zero(result, self.builder)
        return apply(op, tuple([Symbol(x.node, self.builder) if type(x) is Zero else x for x in inputs]), params)

    def __repr__(self) -> str:
        return f"Zero({self.type})"


def is_zero(x: Any) -> bool:
    """Return whether a value is known to be zero everywhere: a `Zero`, or the number 0 in a rule."""
    return type(x) is Zero or (type(x) in (int, float) and x == 0)


def _type(x: Any) -> Type:
    if isinstance(x, Typed):
        return x.type
    return x.node.type if isinstance(x, Symbol) else type_of(x)


def _vanishes(op: Op, inputs: tuple[Any, ...]) -> bool:
    linear = [is_zero(inputs[k]) for k in linear_inputs(op, len(inputs))]
    return any(linear) if is_multilinear(op) else bool(linear) and all(linear)


def matched(x: Any, t: Type) -> Any:
    """Return x in the shape and dtype that adding zeros to it would have given."""
    if x.shape != t.shape:
        x = np.broadcast_to(x, t.shape)
    return x if x.dtype == t.dtype and not x.weak else x.astype(t.dtype)
