"""Graphs for the tests of this folder, made from functions without a tape: symbols, and the line of each operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.autodiff.reverse import value_and_grad_graph
from tapec.errors import is_user_file, user_frame
from tapec.ir import Builder, Graph, Node, Op, Type, input_node
from tapec.ops import Symbol


class LineBuilder(Builder):
    """A builder that notes the caller's line."""

    def emit(self, op: Op, inputs: tuple[Node, ...], params: Any = (), origin: Any = None) -> Node:
        if self.role is None:
            origin = caller()
        return super().emit(op, inputs, params, origin)


def caller() -> Any:
    """Code and offset of the innermost frame that is neither tapec's nor this builder's."""
    frame = user_frame()
    while frame is not None and (frame.f_code in _OWN or not is_user_file(frame.f_code.co_filename)):
        frame = frame.f_back
    return None if frame is None else (frame.f_code, frame.f_lasti)


_OWN = {LineBuilder.emit.__code__, caller.__code__}


def graph_of(f: Callable[..., Any], **shapes: tuple[int, ...]) -> Graph:
    """The graph of a function of float64 arrays of these shapes."""
    builder = LineBuilder()
    inputs = [input_node(name, Type(shape, np.dtype(float))) for name, shape in shapes.items()]
    out = f(*[Symbol(i, builder) for i in inputs])
    outputs = [o.node for o in out] if isinstance(out, tuple) else [out.node]
    return Graph(inputs, builder.nodes, outputs, f.__name__)


def loss(w1, w2, x, y):
    h = np.tanh(x @ w1)
    p = np.tanh(h @ w2)
    r = p - y
    reg = np.sum(w1 * w1) * 0.1
    return np.mean(r * r) + reg


SHAPES = {"w1": (4, 8), "w2": (8, 1), "x": (32, 4), "y": (32, 1)}


def loss_graph() -> Graph:
    return graph_of(loss, **SHAPES)


def gradient_graph() -> Graph:
    return value_and_grad_graph(loss_graph(), [0, 1])


def chain_graph(count: int) -> Graph:
    """An unrolled loop: many operations on few lines."""

    def chain(x):
        for _ in range(count):
            x = np.sin(x)
            x = x + 1.0
        return np.sum(x)

    return graph_of(chain, x=(3,))
