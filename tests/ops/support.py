"""What the op tests share: graphs from functions on symbols, and derivatives by independent numerics."""

from __future__ import annotations

import numpy as np

from tapec.autodiff.inline import copy_into
from tapec.autodiff.reverse import value_and_grad_graph
from tapec.ir import Builder, input_node, type_of
from tapec.ir.interpret import interpret
from tapec.ops import Symbol


def trace(f, *values):
    """The graph of f for values of these types; Python numbers are literals."""
    builder = Builder()
    nodes, given = [], []
    for x in values:
        if type(x) in (int, float, complex, bool):
            given.append(x)
        else:
            nodes.append(input_node(f"x{len(nodes)}", type_of(x)))
            given.append(Symbol(nodes[-1], builder))
    y = f(*given)
    outs = y if isinstance(y, (tuple, list)) else (y,)
    return builder.graph(nodes, [o.node for o in outs], "traced")


def run(f, *values):
    """f's value through a graph."""
    arrays = [x for x in values if type(x) not in (int, float, complex, bool)]
    out = interpret(trace(f, *values), *arrays)
    return out[0] if len(out) == 1 else out


def grad(f, *values, order=1):
    """The gradients of the sum of f's real part; for higher order, of the sum of its derivatives by the first array."""
    graph = trace(lambda *xs: total(f(*xs)), *values)
    arrays = [x for x in values if type(x) not in (int, float, complex, bool)]
    for _ in range(order - 1):
        graph = scalar_gradient(graph)
    graph = value_and_grad_graph(graph, range(len(arrays)))
    return interpret(graph, *arrays)[1:]


def total(y):
    return np.sum(np.real(y))


def scalar_gradient(graph):
    """The graph of the sum of the gradient with respect to the first input."""
    graph = value_and_grad_graph(graph, [0])
    builder = Builder()
    outputs = copy_into(builder, graph, graph.inputs)
    y = total(Symbol(outputs[-1], builder))
    return builder.graph(graph.inputs, [y.node])


__all__ = ["grad", "run", "scalar_gradient", "total", "trace"]
