"""Programs for the tests of transforms: graphs from functions, and drawn ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import reject
from hypothesis import strategies as st

from tapec.ir import Builder, Graph, Type, input_node
from tapec.ir.checks.interpreter import interpret
from tapec.ops import Symbol


def graph_of(f: Callable[..., Any], *types: Any) -> Graph:
    """The graph of a function of symbols; a type is a shape (float64) or (shape, dtype)."""
    builder = Builder()
    kinds = [t if t and isinstance(t[0], tuple) else (t, float) for t in types]
    inputs = [input_node(f"x{k}", Type(shape, np.dtype(dtype))) for k, (shape, dtype) in enumerate(kinds)]
    found = f(*[Symbol(i, builder) for i in inputs])
    outputs = found if isinstance(found, tuple) else (found,)
    return builder.graph(inputs, [o.node for o in outputs], getattr(f, "__name__", "graph"))


def everything(graph: Graph) -> list[int]:
    """The numbers of all inputs."""
    return list(range(len(graph.inputs)))


def close(a: Any, b: Any, tolerance: float = 1e-6) -> None:
    """Of one shape, and equal up to a share of the largest finite number."""
    assert np.shape(a) == np.shape(b)
    scale = max(1.0, float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b))))
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale)


def draw_like(rng: np.random.Generator, types: Sequence[Type]) -> list[Any]:
    """Values of these types, away from the points where functions are not smooth."""
    return [_draw(rng, t) for t in types]


def _draw(rng: np.random.Generator, t: Type) -> Any:
    value = rng.uniform(0.3, 1.2, t.shape)
    if t.dtype.kind == "c":
        value = value + 1j * rng.uniform(0.3, 1.2, t.shape)
    return np.asarray(value, t.dtype)[()]


def inner(a: Sequence[Any], b: Sequence[Any]) -> float:
    """The real inner product of two lists of arrays."""
    return float(sum(np.sum((np.conj(x) * y).real) for x, y in zip(a, b, strict=True)))


def slope(graph: Graph, values: Sequence[Any], direction: Sequence[Any]) -> list[Any]:
    """The directional derivative of all outputs by differences. Programs too steep for these to settle are left out."""
    coarse, fine = [_differences(graph, values, direction, h) for h in (2.0**-9, 2.0**-11)]
    for a, b in zip(coarse, fine, strict=True):
        largest = float(np.max(np.abs(b), initial=1.0, where=np.isfinite(b)))
        if not np.allclose(a, b, rtol=0, atol=1e-6 * largest, equal_nan=True):
            reject()
    return fine


def _differences(graph: Graph, values: Sequence[Any], direction: Sequence[Any], h: float) -> list[Any]:
    """Central differences of six points: off by h**6 and 1e-16 / h."""
    total = [0.0 for _ in graph.outputs]
    for k, w in enumerate((45, -9, 1), 1):
        for sign in (1, -1):
            moved = [v + sign * k * h * d for v, d in zip(values, direction, strict=True)]
            for n, y in enumerate(interpret(graph, *moved)):
                total[n] = total[n] + sign * w * y / (60 * h)
    return total


# ---------------------------------------------------------------------------------------------------------------
# drawn programs
# ---------------------------------------------------------------------------------------------------------------
_UNARY = (
    np.sin,
    np.tanh,
    np.exp,
    np.negative,
    lambda x: np.sqrt(x * x + 1.0),
    lambda x: np.log(1.5 + np.square(x)),
    lambda x: 1.0 / (2.0 + np.cos(x)),
    lambda x: 0.5 * x,
)
_ENTIRE = (np.sin, np.negative, np.square, lambda x: np.exp(1j * x), lambda x: (0.5 - 0.2j) * x, np.conj)
_KINKED = (lambda x: np.where(x > 0.3, x, 2.0 * x), lambda x: np.max(x, axis=tuple(range(len(x.shape)))))
_BINARY = (np.add, np.subtract, np.multiply, lambda a, b: a / (2.5 + np.tanh(b)), lambda a, b: np.tanh(a) ** 2 * b)
_SHAPING = (
    lambda x: np.sum(x, axis=-1, keepdims=True),
    lambda x: np.mean(x, axis=0),
    lambda x: np.transpose(x),
    lambda x: np.reshape(x, (-1,)),
    lambda x: x[..., ::-1],
    lambda x: x[..., :1],
    lambda x: x[None],
    lambda x: x[np.array([0, -1, 0])],
    lambda x: np.concatenate([x, 2.0 * x], axis=-1),
    lambda x: np.stack([x, np.sin(x)]),
)


@st.composite
def programs(draw: Any, outputs: int = 1, complex_: bool = False, kinks: bool = False) -> Graph:
    """A graph of a few inputs and a dozen operations on arrays of up to three axes; smooth, unless told otherwise."""
    shapes = draw(st.lists(st.sampled_from([(), (3,), (2, 3), (1, 3), (2, 1)]), min_size=1, max_size=3))
    dtypes = [draw(st.sampled_from([float, complex])) if complex_ else float for _ in shapes]
    length = draw(st.integers(1, 10))

    def body(*inputs: Any) -> Any:
        values = list(inputs)
        for _ in range(length):
            values.append(_grown(draw, values, kinks))
        return tuple(values[-outputs:])

    return graph_of(body, *zip(shapes, dtypes, strict=True))


def _grown(draw: Any, values: list[Any], kinks: bool) -> Any:
    x = draw(st.sampled_from(values))
    kind = draw(st.sampled_from("uubbsm"))
    if kind == "s" and 1 <= len(x.shape) <= 3 and x.size <= 200:
        return draw(st.sampled_from(_SHAPING))(x)
    if kind == "m":
        return _product(x)
    if kind == "b":
        y = draw(st.sampled_from(values))
        try:
            np.broadcast_shapes(x.shape, y.shape)
            if "c" in (x.dtype.kind, y.dtype.kind):
                return draw(st.sampled_from(_BINARY[:3]))(0.3 * x, y)
            return draw(st.sampled_from(_BINARY))(np.tanh(x), y)
        except ValueError:
            pass
    if x.dtype.kind == "c":  # no poles, no branch cuts
        return draw(st.sampled_from(_ENTIRE))(0.3 * x)
    return draw(st.sampled_from(_UNARY + _KINKED if kinks else _UNARY))(np.tanh(x))


def _product(x: Any) -> Any:
    if not x.shape:
        return x * x
    w = np.linspace(-0.5, 0.8, x.shape[-1] * 2).reshape(x.shape[-1], 2)
    return x @ w if len(x.shape) > 1 else (x @ w) * np.sum(x)
