"""`Symbol` is an array stand-in without a value; derivative and rewrite rules are written on symbols."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Builder, Node, Op
from tapec.ops.core.stand_in import ArrayLike

__all__ = ["Question", "Symbol", "is_batch_example", "holds", "is_known", "is_symbol"]


class Symbol(ArrayLike):
    """A node of a graph under construction, with all of NumPy on it."""

    __slots__ = ("builder", "node")
    _rank = 1

    def __init__(self, node: Node, builder: Builder):
        self.node = node
        self.builder = builder

    @property
    def shape(self) -> tuple[int, ...]:
        return self.node.type.shape

    @property
    def dtype(self) -> np.dtype:
        return self.node.type.dtype

    @property
    def weak(self) -> bool:
        return self.node.type.weak

    def _apply(self, op: Op, inputs: tuple[Any, ...], params: tuple[tuple[str, Any], ...]) -> Any:
        builder = self.builder
        kind = type(self)
        node = builder.emit(op, tuple([x.node if type(x) is kind else builder.constant(x) for x in inputs]), params)
        if op.multi:
            return tuple([kind(n, builder) for n in builder.items(node)])
        return kind(node, builder)

    def __bool__(self) -> bool:
        raise TypeError("a symbol has no value: a rule must not branch on it")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("a symbol has no value: write the rule with functions that tapec knows")

    def __repr__(self) -> str:
        return f"Symbol({self.node!r})"


class Question(Symbol):
    """A symbol that finds out what a function does to tensors of any values, copies included."""

    __slots__ = ()
    _rank = 2

    def _lies_in(self, order: str, is_reshaped: bool = False) -> bool:
        if not is_reshaped:
            raise TypeError("this depends on how an array lies in memory")
        return True

    def _lie_in(self, order: str) -> Any:
        if len(self.shape) > 1:
            raise TypeError("a symbol lies nowhere in memory")
        return self

    def _lie_as(self, other: Any) -> Any:
        return self._lie_in("C")


def is_symbol(x: Any) -> bool:
    """Return whether x has no value. A Question raises: another way is no answer for values."""
    if type(x) is Question:
        raise TypeError("this depends on values")
    return isinstance(x, Symbol)


def is_known(x: Any) -> bool:
    """Return whether x is no stand-in, so that its values may be read. A Question raises, as in `is_symbol`."""
    if type(x) is Question:
        raise TypeError("this depends on values")
    return not isinstance(x, ArrayLike)


def is_batch_example(x: Any) -> bool:
    """Return whether x is one example of a batch, whose values say nothing of the others."""
    return isinstance(x, ArrayLike) and x._differs()


def holds(fact: Any) -> bool:
    """Return a fact about values, which becomes a guard; False where there is no value, or one for each example."""
    return not is_symbol(fact) and not is_batch_example(fact) and bool(fact)
