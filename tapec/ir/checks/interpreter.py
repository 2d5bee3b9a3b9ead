"""The reference interpreter runs a graph node by node with each op's own `run`; tests compare with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.ir.graph import Graph
from tapec.ir.node import CONSTANT, Node, is_literal
from tapec.ir.types import Type

__all__ = ["by_python", "compute", "interpret"]


def interpret(graph: Graph, *values: Any) -> list[Any]:
    """The values of the outputs for these values of the inputs."""
    if len(values) != len(graph.inputs):
        raise TypeError(f"{graph.name} takes {len(graph.inputs)} inputs, {len(values)} were given")
    known: dict[Any, Any] = dict(zip(graph.inputs, values, strict=True))
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            if node.op is CONSTANT:
                known[node] = node.value
            else:
                known[node] = compute(node, [known[i] for i in node.inputs])
    return [known[o] for o in graph.outputs]


def by_python(node: Node) -> bool:
    """Return whether a node is an operation between Python's numbers alone, in what the user wrote."""
    if node.role is not None or "python" not in node.op.facts:
        return False
    return node.type.weak or (node.type.dtype.kind == "b" and all([is_literal(i) or i.type.weak for i in node.inputs]))


def compute(node: Node, values: Sequence[Any]) -> Any:
    """Return the value of a node for these values of its operands."""
    run = node.op.facts["python"] if by_python(node) else node.op.run
    value = run(*values, **dict(node.params))
    t = node.type
    # NumPy's functions make scalars of Python's numbers, which would count for more where they meet arrays
    return value.item() if type(t) is Type and t.weak and isinstance(value, (np.generic, np.ndarray)) else value
