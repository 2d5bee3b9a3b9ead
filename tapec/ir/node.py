"""A node is one operation of a program and at the same time its value.

An op with several results has a tuple type, and `item` nodes take such a tuple apart. Nodes never change once made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir.op import Op, register
from tapec.ir.param_types import SIZE, VALUE
from tapec.ir.types import NUMBERS, Type, type_of

__all__ = ["CONSTANT", "CT", "INPUT", "ITEM", "Node", "Params", "constant", "input_node", "is_literal"]

Params = tuple[tuple[str, Any], ...]
CT = "ct"  # the role of nodes made by derivative rules


class Node:
    """One operation of a graph: op, input nodes, static parameters, result type, and where the user wrote it.

    `role` is None for a node of the user's program, and `CT` for one that a derivative rule made: cotangents, tangents,
    partials.
    """

    __slots__ = ("inputs", "name", "op", "origin", "params", "role", "type")

    def __init__(
        self,
        op: Op,
        inputs: tuple[Node, ...],
        params: Params,
        type: Any,
        origin: Any = None,
        name: str | None = None,
        role: str | None = None,
    ):
        self.op = op
        self.inputs = inputs
        self.params = params
        self.type = type
        self.origin = origin
        self.name = name
        self.role = role

    def param(self, key: str) -> Any:
        for k, v in self.params:
            if k == key:
                return v
        raise KeyError(key)

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """The same operation, with all that is known of it, on other inputs of the same types."""
        return Node(self.op, inputs, self.params, self.type, self.origin, self.name, self.role)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self) -> np.dtype:
        return self.type.dtype

    @property
    def value(self) -> Any:
        """The value of a constant."""
        return self.params[0][1]

    def __repr__(self) -> str:
        return f"<{self.op.name} {self.type}>"


def _no_run(*values: Any, **params: Any) -> Any:
    raise TypeError("inputs have no computation")


INPUT = register(Op(name="input", run=_no_run, rule=_no_run, kind="input", source="{name}"))
CONSTANT = register(
    Op(
        name="constant",
        run=lambda value: value,
        rule=lambda value: type_of(value),
        kind="constant",
        params={"value": VALUE},
    )
)
ITEM = register(
    Op(
        name="item",
        run=lambda values, index: values[index],
        rule=lambda types, index: types[index],
        kind="item",
        params={"index": SIZE},
        source="{0}[{index}]",
    )
)


def input_node(name: str | None, type: Type, origin: Any = None) -> Node:
    return Node(INPUT, (), (), type, origin, name)


def constant(value: Any, name: str | None = None, origin: Any = None) -> Node:
    """A constant node; a Python number stays weak, a 0-d array becomes a NumPy scalar."""
    if type(value) not in NUMBERS:
        value = np.asarray(value)
        if value.ndim == 0:
            value = value[()]
    return Node(CONSTANT, (), (("value", value),), type_of(value), origin, name)


def is_literal(node: Node) -> bool:
    """Return whether a node is a Python number written into the program."""
    return node.op is CONSTANT and type(node.params[0][1]) in NUMBERS
