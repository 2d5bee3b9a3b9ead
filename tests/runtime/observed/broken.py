"""Passes and steps of code generation that are broken on purpose."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.codegen.numpy import pipeline as of_numpy
from tapec.ir import Graph, Node, constant, get_op
from tapec.ir.types import Type
from tapec.passes import pipeline
from tapec.passes.listed_pass import Pass

__all__ = ["add_code_step", "add_pass", "failing_at", "in_place_of", "mistyped", "of_single_precision", "scaled"]

SINGLE = np.dtype(np.float32)
Step = Callable[[Graph], Graph]


def add_pass(monkeypatch: Any, run: Step, name: str = "mine") -> None:
    monkeypatch.setattr(pipeline, "PIPELINE", (*pipeline.PIPELINE, Pass(name, run)))


def add_code_step(monkeypatch: Any, run: Step, name: str = "mine") -> None:
    passes = (Pass(name, lambda graph, _: run(graph)), *of_numpy.PIPELINE)
    monkeypatch.setattr(of_numpy, "PIPELINE", passes)


def changing(op: str, change: Callable[[Node], Node]) -> Step:
    """Return a step that puts other nodes in the place of those with an op."""

    def run(graph: Graph) -> Graph:
        if not any(n.op.name == op for n in graph.nodes):
            return graph
        new: dict[Node, Node] = {i: i for i in graph.inputs}
        for node in graph.nodes:
            moved = node.with_inputs(tuple([new[i] for i in node.inputs]))
            new[node] = change(moved) if node.op.name == op else moved
        return Graph(graph.inputs, [new[n] for n in graph.nodes], [new[o] for o in graph.outputs], graph.name)

    return run


def in_place_of(op: str, wrong: str) -> Step:
    """Another operation is done, wherever this one stands."""
    return changing(op, lambda n: Node(get_op(wrong), n.inputs, n.params, n.type, n.origin, n.name, n.role))


def mistyped(op: str) -> Step:
    """Results of an operation are said to be of single precision, which they are not: no rule of types holds."""
    return changing(op, lambda n: Node(n.op, n.inputs, n.params, Type(n.type.shape, SINGLE), n.origin, None, n.role))


def of_single_precision(graph: Graph) -> Graph:
    """Outputs are cast: the graph keeps all rules, but its outputs are of other types."""
    casts = [Node(get_op("cast"), (o,), (("dtype", SINGLE),), Type(o.type.shape, SINGLE)) for o in graph.outputs]
    return Graph(graph.inputs, [*graph.nodes, *casts], casts, graph.name)


def failing_at(op: str) -> Step:
    """The step fails on a graph with this operation."""

    def run(graph: Graph) -> Graph:
        for node in graph.nodes:
            if node.op.name == op:
                raise KeyError(f"no idea about {op}")
        return graph

    return run


def scaled(by: float, which: int = 0) -> Step:
    """One of the outputs is multiplied by a number."""

    def run(graph: Graph) -> Graph:
        number, output = constant(by), graph.outputs[which]
        made = Node(get_op("multiply"), (output, number), (), output.type, output.origin, None, output.role)
        outputs = [made if o is output else o for o in graph.outputs]
        return Graph(graph.inputs, [*graph.nodes, number, made], outputs, graph.name)

    return run
