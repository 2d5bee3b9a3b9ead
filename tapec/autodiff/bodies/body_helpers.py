"""Differentiate and batch bodies themselves; the rules of each kind of op put the results together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapec.autodiff.batching import batch_graph
from tapec.autodiff.bodies.recomputation import inline_checkpoints
from tapec.autodiff.compose.inline_graph import copy_into
from tapec.autodiff.forward import jvp_graph, pushforward
from tapec.autodiff.reverse import pullback, vjp_graph
from tapec.autodiff.rule_application import plain
from tapec.ir import CONSTANT, Builder, Graph, Node, input_node, prune
from tapec.ir.types import is_differentiable
from tapec.ops import Symbol

__all__ = ["batch_size", "batched_body", "cotangents_body", "everywhere", "moving_of", "plain_symbols"]
__all__ += ["cotangents_of_results", "spread_tangents", "tangents_body", "tangents_of_results", "with_axes"]


def moving_of(body: Graph) -> list[int]:
    """Return the inputs of a body that can have a derivative."""
    return [k for k, i in enumerate(body.inputs) if is_differentiable(i.type)]


def plain_symbols(xs: Sequence[Any]) -> list[Symbol]:
    """Return tangents or cotangents as symbols, zeros and uniform arrays among them; without those that are None."""
    return [Symbol(x.node, x.builder) for x in xs if x is not None]


def cotangents_body(body: Graph, wrt: Sequence[int]) -> Graph:
    """Return the body from operands and cotangents of the differentiable results to cotangents of operands."""
    return prune(vjp_graph(body, wrt))


def tangents_body(body: Graph, wrt: Sequence[int]) -> Graph:
    """Return the body from operands and tangents of some to tangents of the differentiable results."""
    moved = jvp_graph(body, wrt)
    return prune(Graph(moved.inputs, moved.nodes, moved.outputs[len(body.outputs) :], body.name))


def cotangents_of_results(body: Graph, wrt: Sequence[int]) -> Graph:
    """Return the body as `cotangents_body` does, with the results as further inputs: they are there already."""
    builder = Builder()
    outputs = copy_into(builder, body, body.inputs)
    moving = [o for o in outputs if is_differentiable(o.type)]
    cts = [input_node(None, plain(o.type)) for o in moving]
    found = pullback(builder, moving, [Symbol(c, builder) for c in cts], [body.inputs[k] for k in wrt])
    return _with_results(builder, [*body.inputs, *cts], outputs, found)


def tangents_of_results(body: Graph, wrt: Sequence[int]) -> Graph:
    """Return the body as `tangents_body` does, with the results as further inputs."""
    builder = Builder()
    outputs = copy_into(builder, inline_checkpoints(body), body.inputs)
    ts = {body.inputs[k]: input_node(None, plain(body.inputs[k].type)) for k in wrt}
    moving = [o for o in outputs if is_differentiable(o.type)]
    found = pushforward(builder, moving, {i: Symbol(t, builder) for i, t in ts.items()})
    return _with_results(builder, [*body.inputs, *ts.values()], outputs, found)


def _with_results(builder: Builder, inputs: Sequence[Node], results: Sequence[Node], outputs: Sequence[Node]) -> Graph:
    """Return the graph in which results are no longer computed: each is one more input."""
    given = [input_node(None, o.type) for o in results]
    rest = Builder()
    known: dict[Node, Node] = dict(zip(results, given, strict=True)) | {i: i for i in inputs}
    for node in builder.nodes:
        if node not in known:
            new = tuple([known[i] for i in node.inputs])
            known[node] = rest.constant(node.value) if node.op is CONSTANT else rest.append(node.with_inputs(new))
    return prune(rest.graph([*inputs, *given], [known[o] for o in outputs]))


def spread_tangents(body: Graph, tangents: Sequence[Any]) -> tuple[Any, ...]:
    """Return a tangent, or None, for each result of a body."""
    left = iter(tangents)
    return tuple([next(left) if is_differentiable(o.type) else None for o in body.outputs])


# -- batches --------------------------------------------------------------------------------------------------------
def batch_size(flags: Sequence[bool], xs: Sequence[Any]) -> int:
    return next(x.shape[0] for x, b in zip(xs, flags, strict=True) if b)


def everywhere(x: Any, batched: bool, size: int) -> Any:
    """Return the value with a batch axis, whether it had one or not."""
    return x if batched else np.broadcast_to(x, (size, *x.shape))


def with_axes(graph: Graph, flags: Any, size: int, change: Callable[[int, Any, bool], Any]) -> Graph:
    """Return the batched graph, its outputs changed by (place, value, has a batch axis)."""
    batched, out = batch_graph(graph, flags, size)
    builder = Builder()
    builder.nodes.extend(batched.nodes)
    outputs = [change(k, Symbol(o, builder), b).node for k, (o, b) in enumerate(zip(batched.outputs, out, strict=True))]
    return builder.graph(batched.inputs, outputs, graph.name)


def batched_body(body: Graph, flags: Sequence[bool], size: int) -> Graph:
    """Return the batched body, each result with a batch axis."""
    return with_axes(body, tuple(flags), size, lambda k, y, b: everywhere(y, b, size))
