"""Nodes and graphs: a whole pure program in SSA form.

A node is one operation and at the same time its value; an op with several results has a tuple type, and `item` nodes
take them apart. Nodes and graphs never change once made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tapec.ir.notebook_hooks import rich
from tapec.ir.op import Op, register
from tapec.ir.types import NUMBERS, Type, type_of

__all__ = ["CONSTANT", "CT", "INPUT", "ITEM", "Graph", "Node", "constant", "input_node", "is_literal"]

Params = tuple[tuple[str, Any], ...]
CT = "ct"  # the role of nodes made by derivative rules


class Node:
    """One operation: op, input nodes, static parameters, result type, and where the user wrote it.

    `role` is None for what the user wrote, and `CT` for what a derivative rule made: cotangents, tangents, partials.
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
CONSTANT = register(Op(name="constant", run=lambda value: value, rule=lambda value: type_of(value), kind="constant"))
ITEM = register(
    Op(
        name="item",
        run=lambda values, index: values[index],
        rule=lambda types, index: types[index],
        kind="item",
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
    """Is it a Python number written into the program?"""
    return node.op is CONSTANT and type(node.params[0][1]) in NUMBERS


class Graph:
    """A pure program: input nodes, all other nodes in an order that can run, output nodes.

    Where inputs are values of another program, `past` is that one: its outputs are what computes them, each in turn.
    """

    __slots__ = (
        "__weakref__",
        "_fingerprint",
        "_heads",
        "_numbering",
        "_uses",
        "inputs",
        "name",
        "nodes",
        "outputs",
        "past",
    )

    def __init__(self, inputs: Iterable[Node], nodes: Sequence[Node], outputs: Iterable[Node], name: str = "graph"):
        self.inputs = tuple(inputs)
        self.nodes = tuple(nodes)
        self.outputs = tuple(outputs)
        self.name = name
        self.past: Graph | None = None
        self._fingerprint: str | None = None
        self._numbering: dict[Any, Node] | None = None  # kept by the passes while they are at work
        self._heads: dict[Any, list[int]] | None = None  # likewise
        self._uses: Any = None  # likewise: `passes.uses`

    @property
    def fingerprint(self) -> str:
        """A stable digest of meaning: same for equal graphs, in every process."""
        if self._fingerprint is None:
            from tapec.ir.fingerprint import fingerprint

            self._fingerprint = fingerprint(self)
        return self._fingerprint

    def __str__(self) -> str:
        from tapec.ir.printer import print_graph

        return print_graph(self)

    def _repr_svg_(self) -> str:
        return rich("graph_svg", self)

    def __repr__(self) -> str:
        return f"<graph {self.name}: {len(self.inputs)} inputs, {len(self.nodes)} nodes, {len(self.outputs)} outputs>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)
