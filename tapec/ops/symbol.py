"""`Symbol`: an array stand-in without a value, in which derivative and rewrite rules are written."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Builder, Node, Op
from tapec.ops.array import ArrayLike

__all__ = ["Symbol", "symbols"]


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
        node = builder.emit(op, tuple([x.node if type(x) is Symbol else builder.constant(x) for x in inputs]), params)
        if op.multi:
            return tuple([Symbol(n, builder) for n in builder.items(node)])
        return Symbol(node, builder)

    def __bool__(self) -> bool:
        raise TypeError("a symbol has no value: a rule must not branch on it")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("a symbol has no value: write the rule with functions that tapec knows")

    def __repr__(self) -> str:
        return f"Symbol({self.node!r})"


def symbols(nodes: Any, builder: Builder) -> list[Symbol]:
    return [Symbol(n, builder) for n in nodes]
