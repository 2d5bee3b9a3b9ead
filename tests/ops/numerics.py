"""Derivatives by numbers alone: central differences of eighth order, and what a graph's derivative must agree with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapec.autodiff.compose.inline_graph import copy_into
from tapec.autodiff.reverse import value_and_grad_graph
from tapec.ir import Builder, Graph, Type
from tapec.ir.checks.interpreter import interpret
from tapec.ir.types import is_differentiable
from tapec.ops import Symbol

_WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
STEP = 2.0**-14  # small, so that random values lie further from kinks than the stencil reaches


def slope(f: Callable[..., float], values: Sequence[Any], directions: Sequence[Any], step: float = STEP) -> float:
    """d/dt f(values + t * directions) at t = 0; None stands for a value that does not move."""

    def at(t: float) -> float:
        return f(*[x if d is None else x + t * d for x, d in zip(values, directions, strict=True)])

    return sum(w * (at(k * step) - at(-k * step)) for k, w in enumerate(_WEIGHTS, 1)) / step


def directions(values: Sequence[Any], rng: np.random.Generator) -> list[Any]:
    """A random direction for each real or complex value."""
    return [like(type_of_value(x), rng) if x.dtype.kind in "fc" else None for x in map(np.asarray, values)]


def type_of_value(x: Any) -> Type:
    return Type(x.shape, x.dtype)


def like(t: Type, rng: np.random.Generator) -> Any:
    """Random numbers of either sign, none small."""
    x = rng.uniform(0.3, 1.0, t.shape) * rng.choice([-1.0, 1.0], t.shape)
    if t.dtype.kind == "c":
        x = x + 1j * rng.uniform(0.3, 1.0, t.shape)
    return np.asarray(x, t.dtype)


def inner(a: Any, b: Any) -> float:
    """Re sum(conj(a) b): the inner product of the real plane."""
    return float(np.sum((np.conj(a) * b).real))


def loss_graph(graph: Graph, rng: np.random.Generator) -> Graph:
    """The graph's outputs as one number: a random weight for each element, Re sum(conj(w) y)."""
    builder = Builder()
    total: Any = None
    for node in copy_into(builder, graph, graph.inputs):
        if is_differentiable(node.type):
            part = np.sum(np.real(Symbol(node, builder) * np.conj(like(node.type, rng))))
            total = part if total is None else total + part
    return builder.graph(graph.inputs, [total.node], graph.name)


def gradient_graph(loss: Graph) -> tuple[Graph, list[int]]:
    """The gradients alone, and the inputs they belong to."""
    moving = [k for k, i in enumerate(loss.inputs) if is_differentiable(i.type)]
    both = value_and_grad_graph(loss, moving)
    return Graph(both.inputs, both.nodes, both.outputs[1:], loss.name), moving


def check_gradient(loss: Graph, values: Sequence[Any], rng: np.random.Generator, rtol: float = 1e-6) -> Graph:
    """Compare the gradient of a scalar graph with differences along a random direction; gives the gradient's graph."""
    graph, moving = gradient_graph(loss)
    found = interpret(graph, *values)
    for k, g in zip(moving, found, strict=True):
        assert (np.shape(g), g.dtype) == (np.shape(values[k]), values[k].dtype)
    ds = directions(values, rng)
    rough = loss.outputs[0].type.dtype.itemsize < 8  # computed in single precision
    expected = slope(lambda *xs: float(interpret(loss, *xs)[0]), values, ds, 2.0**-4 if rough else STEP)
    rtol = 1e-4 if rough else rtol
    actual = sum(inner(ds[k], g) for k, g in zip(moving, found, strict=True))
    scale = sum(np.sum(np.abs(ds[k]) * np.abs(g)) for k, g in zip(moving, found, strict=True))
    assert abs(actual - expected) <= rtol * max(1e-3, float(scale)), (actual, expected)
    return graph
