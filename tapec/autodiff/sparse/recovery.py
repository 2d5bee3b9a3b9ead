"""Compute sparse Jacobians and Hessians by a few products with sums of unit vectors, in which each entry is found."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.autodiff.batching import batch_into
from tapec.autodiff.forward import jvp_graph
from tapec.autodiff.reverse import value_and_grad_graph, vjp_graph
from tapec.autodiff.sparse.coloring import column_colors, recovery, star_colors
from tapec.autodiff.sparse.sparsity_pattern import jacobian_pattern
from tapec.autodiff.symbolic.symbolic_zeros import filled, matched
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Builder, Graph, Node, Type
from tapec.ops import Symbol

__all__ = ["Compressed", "sparse_hessian_graph", "sparse_jacobian_graph"]


class Compressed(NamedTuple):
    """Holds a graph whose output is the entries of a matrix in the order of this CSR pattern; what made rows dense."""

    graph: Graph
    pattern: Any
    dense: list[Node]
    colors: int
    mode: str


def sparse_jacobian_graph(graph: Graph, w: int, mode: str, known: dict[Node, Any] | None = None) -> Compressed:
    """The entries of the Jacobian of the first output by the input `w`. `mode`: "forward", "reverse", or "auto"."""
    (pattern, *_), dense = jacobian_pattern(Graph(graph.inputs, graph.nodes, graph.outputs[:1]), [w], known)
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    columns = pattern.indices.astype(int)
    forward = column_colors(pattern) if mode != "reverse" else None
    backward = column_colors(pattern.T.tocsr()) if mode != "forward" else None
    if backward is None or (forward is not None and forward.max(initial=-1) <= backward.max(initial=-1)):
        assert forward is not None
        made = _products(_tangents(graph, w), w, forward, graph.inputs[w].type, forward[columns], rows)
        return Compressed(made, pattern, dense, int(forward.max(initial=-1)) + 1, "forward")
    pulled = vjp_graph(Graph(graph.inputs, graph.nodes, graph.outputs[:1], graph.name), [w])
    made = _products(pulled, w, backward, graph.outputs[0].type, backward[rows], columns)
    return Compressed(made, pattern, dense, int(backward.max(initial=-1)) + 1, "reverse")


def sparse_hessian_graph(graph: Graph, w: int, known: dict[Node, Any] | None = None) -> Compressed:
    """The entries of the Hessian of the first output by the input `w`, from tangents of the gradient."""
    joint = value_and_grad_graph(graph, [w])
    gradient = Graph(joint.inputs, joint.nodes, joint.outputs[-1:], graph.name)
    (pattern,), dense = jacobian_pattern(gradient, [w], known)
    pattern = pattern + pattern.T.tocsr()
    pattern.sort_indices()
    colors = min(star_colors(pattern), column_colors(pattern), key=lambda c: int(c.max(initial=-1)))
    shades, elements = recovery(pattern, colors)
    made = _products(_tangents(gradient, w), w, colors, graph.inputs[w].type, shades, elements)
    return Compressed(made, pattern, dense, int(colors.max(initial=-1)) + 1, "forward")


def _tangents(graph: Graph, w: int) -> Graph:
    """The tangent of the first output."""
    moved = jvp_graph(graph, [w])
    return Graph(moved.inputs, moved.nodes, moved.outputs[len(graph.outputs) : len(graph.outputs) + 1], graph.name)


def _products(linear: Graph, w: int, colors: np.ndarray, t: Type, shades: np.ndarray, elements: np.ndarray) -> Graph:
    """A graph that is linear in its last input, for the sum of unit vectors of each colour; of that, these elements, in
    the dtype of the input `w`."""
    builder = Builder()
    inputs = linear.inputs[:-1]
    n = int(colors.max(initial=-1)) + 1
    given: list[Any] = [(Symbol(i, builder), False) for i in inputs]
    if n <= 1:
        ones = filled(builder, Type(t.shape, t.dtype), 1.0)
        ((y, _),) = batch_into(builder, linear, [*given, (ones, False)], 1)
        flat = np.reshape(y, (-1,))
    else:
        seeds = np.equal(np.arange(n)[:, None], colors).astype(t.dtype).reshape(n, *t.shape)
        seed = Symbol(builder.constant(seeds, "seeds"), builder)
        ((y, batched),) = batch_into(builder, linear, [*given, (seed, True)], n)
        flat = np.reshape(y if batched else np.broadcast_to(y, (n, *y.shape)), (-1,))
    size = math.prod(linear.outputs[0].type.shape)
    places = shades * size + elements
    data: Any = flat if np.array_equal(places, np.arange(flat.shape[0])) else flat[places]
    entries = matched(data, Type(data.shape, inputs[w].type.dtype))
    return builder.graph(inputs, [entries.node], linear.name)
