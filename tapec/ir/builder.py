"""`Builder` makes a graph node by node: it computes types, and finds equal nodes again.

Equal operations on equal inputs become one node as they are made (value numbering); this keeps what the derivative
rules produce small.
"""

from __future__ import annotations

from collections.abc import Iterable
from marshal import dumps
from typing import Any

import numpy as np

from tapec.ir import tuning
from tapec.ir.graph import Graph
from tapec.ir.node import CONSTANT, ITEM, Node, Params, constant
from tapec.ir.op import Op
from tapec.ir.types import NUMBERS

__all__ = ["Builder"]


class Builder:
    """Collects nodes in order. `emit` computes the type; `graph` closes it."""

    __slots__ = ("_known", "nodes", "origin", "role")

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[Any, Node] = {}
        self.origin: Any = None  # given to nodes made while it is set: derivative nodes inherit the forward line
        self.role: str | None = None  # likewise: `CT` while derivative rules run

    def emit(self, op: Op, inputs: tuple[Node, ...], params: Params = (), origin: Any = None) -> Node:
        key = (op, inputs, params)
        node = self._known.get(key)
        if node is not None:
            if self.role is None:
                node.role = None  # the user computes it too: it must keep the user's exact values
            return node
        if params:
            result = op.rule(*[i.type for i in inputs], **dict(params))
        elif len(inputs) == 2:  # the commonest
            result = op.rule(inputs[0].type, inputs[1].type)
        else:
            result = op.rule(*[i.type for i in inputs])
        node = Node(op, inputs, params, result, self.origin if origin is None else origin, None, self.role)
        self._known[key] = node
        self.nodes.append(node)
        return node

    def add(self, node: Node) -> Node:
        """Take a finished node whose inputs are already here; gives the equal node that was here before, if any."""
        if node.op is CONSTANT:
            return self.constant(node.value, node.name)
        key: Any = (node.op, node.inputs, node.params)
        if node.op.kind == "dynamic":  # compiled for one shape among several
            key = (*key, node.type)
        known = self._known.get(key)
        if known is not None:
            if node.role is None:
                known.role = None
            return known
        self._known[key] = node
        self.nodes.append(node)
        return node

    def append(self, node: Node) -> Node:
        """Take a finished node as one of its own, whatever equals it: each recorded value keeps its identity."""
        self.nodes.append(node)
        return node

    def know(self, op: Op, inputs: tuple[Node, ...], params: Params, node: Node) -> None:
        """Let an operation be found as this node, without being done."""
        self._known[op, inputs, params] = node

    def constant(self, value: Any, name: str | None = None) -> Node:
        key = constant_key(value)
        node = self._known.get(key)
        if node is None:
            node = constant(value, name)
            self._known[key] = node
            self.nodes.append(node)
        return node

    def items(self, node: Node) -> tuple[Node, ...]:
        """The results of a node with several."""
        return tuple(self.emit(ITEM, (node,), (("index", i),), node.origin) for i in range(len(node.type)))

    def graph(self, inputs: Iterable[Node], outputs: Iterable[Node], name: str = "graph") -> Graph:
        return Graph(inputs, self.nodes, outputs, name)


def constant_key(value: Any) -> Any:
    """Return a key equal for constants that are the same to the last bit and of the same type; big arrays go by
    identity."""
    if type(value) in NUMBERS:
        return (CONSTANT, dumps(value, 2))  # this version of `marshal` knows no references: equal bytes, equal numbers
    if isinstance(value, np.ndarray):
        if value.nbytes > tuning.COMPARED_CONSTANT_MAX_BYTES:
            return (CONSTANT, id(value))
        return (CONSTANT, value.shape, value.dtype.str, value.tobytes())
    if isinstance(value, np.generic):
        return (CONSTANT, value.dtype.str, value.tobytes())
    return (CONSTANT, type(value), repr(value))
