"""Batching of operations that carry a graph: what is inside them is batched too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.autodiff.batching import batch_graph
from tapec.autodiff.bodies.recomputation import CHECKPOINT
from tapec.ir import Builder, Graph
from tapec.ops import Symbol, apply
from tapec.ops.control.custom_gradients import CUSTOM_GRAPH

__all__: list[str] = []


def _size(batched: tuple[bool, ...], xs: Any) -> int:
    return next(x.shape[0] for x, b in zip(xs, batched, strict=True) if b)


def _everywhere(x: Any, batched: bool, size: int) -> Any:
    """The value with a batch axis, whether it had one or not."""
    return x if batched else np.broadcast_to(x, (size, *x.shape))


def _with_axes(graph: Graph, flags: Any, size: int, change: Callable[[int, Any, bool], Any]) -> Graph:
    """The batched graph, its outputs changed by (place, value, has a batch axis)."""
    batched, out = batch_graph(graph, flags, size)
    builder = Builder()
    builder.nodes.extend(batched.nodes)
    outputs = [change(k, Symbol(o, builder), b).node for k, (o, b) in enumerate(zip(batched.outputs, out, strict=True))]
    return builder.graph(batched.inputs, outputs, graph.name)


def _checkpoint(batched: tuple[bool, ...], *xs: Any, graph: Graph) -> Any:
    size = _size(batched, xs)
    whole = _with_axes(graph, batched, size, lambda k, y, b: _everywhere(y, b, size))
    return apply(CHECKPOINT, xs, (("graph", whole),))


def _custom(
    batched: tuple[bool, ...], *xs: Any, args: int, results: int, backward: Any, gives: tuple[int | None, ...]
) -> Any:
    """Every result and every cotangent gets a batch axis; an argument that all examples share gets a sum."""
    size = _size(batched, xs)
    inputs = [_everywhere(x, b, size) if args <= k < args + results else x for k, (x, b) in enumerate(zip(xs, batched))]
    if isinstance(backward, Graph):
        flags = (True,) * results + batched[args + results :]
        owner = {place: k for k, place in enumerate(gives) if place is not None}

        def placed(place: int, y: Any, has_axis: bool) -> Any:
            y = _everywhere(y, has_axis, size)
            return y if batched[owner[place]] else np.sum(y, axis=0)

        backward = _with_axes(backward, flags, size, placed)
    params = (("args", args), ("results", results), ("backward", backward), ("gives", gives))
    return apply(CUSTOM_GRAPH, tuple(inputs), params)


CHECKPOINT.batch = _checkpoint
CUSTOM_GRAPH.batch = _custom
