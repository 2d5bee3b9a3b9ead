"""Let region targets write the regions of a program: the host calls what they write.

A target's `partition` puts what it takes into `region` nodes. Each becomes one operation, the call of a function that
the target has written and loaded; a region that it leaves is written by the host, inside the function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapec.codegen.compiled import Compiled
from tapec.codegen.target import Target
from tapec.errors import UnsupportedError
from tapec.ir import Graph, Node, Op, replaced
from tapec.ir.bare_graph import BareGraph
from tapec.ops.control.cond import REGION

__all__ = ["with_kernels"]

Write = Callable[..., Compiled]


def with_kernels(graph: Graph, target: Target, name: str, write: Write) -> Graph:
    """Return the program with calls of functions in the place of the regions that a target takes."""
    graph = target.partition(graph)
    kernels: dict[Node, Op] = {}
    for node in graph.nodes:
        if node.op is REGION:
            op = kernel(node.bodies[0], f"{name}_{target.name}{len(kernels) + 1}", target, write)
            if op is not None:
                kernels[node] = op
    if not kernels:
        return graph

    def call(node: Node, moved: Node, nodes: list[Node]) -> Node:
        made = Node(kernels[node], moved.inputs, (), node.type, node.origin, node.name, node.role)
        nodes.append(made)
        return made

    return replaced(graph, kernels, call)


def kernel(body: BareGraph, name: str, target: Target, write: Write) -> Op | None:
    """Return the op that calls the function of a region; None where its target leaves the region to the host."""
    graph = Graph(body.inputs, body.nodes, body.outputs, name)
    try:
        compiled = write(graph, name, target=target)
    except UnsupportedError:
        return None
    compiled.function.__name__ = name  # by which the host calls it, whatever the target has loaded
    types = tuple([o.type for o in body.outputs])
    given = ", ".join([f"{{{k}}}" for k in range(len(body.inputs))])
    made: dict[str, Any] = {"rule": lambda *operands: types, "source": f"{name}({given})", "multi": True}
    op = Op(name=name, run=compiled.function, kind="kernel", **made)
    op.facts["helper"] = compiled.function
    return op
