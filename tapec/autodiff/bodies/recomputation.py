"""Checkpoints compute the inner values of a part of a program again for the gradient, instead of keeping them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.autodiff.compose.inline_graph import copy_into
from tapec.autodiff.modes import MODES
from tapec.autodiff.symbolic.symbolic_zeros import Zero
from tapec.ir import Builder, Graph, Node
from tapec.ir.types import is_differentiable
from tapec.ops import Symbol
from tapec.ops.control.select_and_call import CALL
from tapec.ops.core.define import define
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import apply

__all__ = ["AGAIN", "CHECKPOINT", "inline_checkpoints"]

# x, but not before the cotangent is there: what is computed from it is no repetition to be found and merged
AGAIN = define(
    "again",
    lambda x, ct: x,
    lambda x, ct: x,  # a Python number stays one
    "barrier",
    vjp=lambda g, y, x, ct: (g, None),
    jvp=lambda ts, y, x, ct: ts[0],
    batch=lambda batched, x, ct: x if batched[0] else np.broadcast_to(x, (ct.shape[0], *x.shape)),
    source="{0}",
    view=True,
    sample=lambda rng: [Case((rng.normal(size=(2, 3)), rng.normal(size=4)), {})],
)


def _vjp(cts: Any, ys: Any, *xs: Any, bodies: tuple[Graph]) -> Any:
    """Run the part again, behind the cotangent, and go back through that."""
    builder: Builder = xs[0].builder
    ct = next(c for c in cts if c is not None and not isinstance(c, Zero))
    again = [apply(AGAIN, (x, ct)).node for x in xs]  # one node for one value that was given twice
    start = len(builder.nodes)
    outputs = copy_into(builder, bodies[0], tuple(again))
    nodes = builder.nodes[start:]
    live = [(o, c) for o, c in zip(outputs, cts) if c is not None]
    found = MODES.backward(builder, nodes, [o for o, _ in live], [c for _, c in live], again, lambda node: node)
    return tuple([None if node in again[:k] else c for k, (node, c) in enumerate(zip(again, found))])


def _jvp(ts: Any, ys: Any, *xs: Any, bodies: tuple[Graph]) -> Any:
    """Run the part once more, with tangents."""
    builder: Builder = xs[0].builder
    (graph,) = bodies
    moving = [k for k, t in enumerate(ts) if t is not None]
    given = [*[x.node for x in xs], *[ts[k].node for k in moving]]
    moved = iter(copy_into(builder, MODES.jvp_graph(graph, moving), tuple(given))[len(graph.outputs) :])
    return tuple([Symbol(next(moved), builder) if is_differentiable(o.type) else None for o in graph.outputs])


CHECKPOINT = define(
    "checkpoint",
    CALL.run,
    CALL.rule,
    "call",
    bodies=(1,),
    vjp=_vjp,
    jvp=_jvp,
    multi=True,
)


def inline_checkpoints(graph: Graph) -> Graph:
    """The first run of each checkpoint written out, as code needs it."""
    if not any(n.op is CHECKPOINT for n in graph.nodes):
        return graph
    builder = Builder()
    known: dict[Node, Node] = {i: i for i in graph.inputs}
    results: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        inputs = tuple([known[i] for i in node.inputs if i not in results])
        if node.op is CHECKPOINT:
            results[node] = copy_into(builder, inline_checkpoints(node.bodies[0]), inputs)
        elif node.op.kind == "item" and node.inputs[0] in results:
            known[node] = results[node.inputs[0]][node.param("index")]
        else:
            known[node] = builder.add(node.with_inputs(inputs))
    return builder.graph(graph.inputs, [known[o] for o in graph.outputs], graph.name)
