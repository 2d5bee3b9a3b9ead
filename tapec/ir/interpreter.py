"""The reference interpreter runs a graph node by node with each op's own `run`; tests compare with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir.graph import Graph
from tapec.ir.node import CONSTANT

__all__ = ["interpret"]


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
                known[node] = node.op.run(*[known[i] for i in node.inputs], **dict(node.params))
    return [known[o] for o in graph.outputs]
