"""Random bodies in loops, with branches and loops inside: as if they were written out, in every way to compute them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapec.autodiff.batching import batch_graph
from tapec.autodiff.compose.inline_graph import copy_into
from tapec.autodiff.forward import jvp_graph
from tapec.autodiff.reverse import value_and_grad_graph
from tapec.codegen import compile_graph
from tapec.ir import Builder, Graph, Type, interpret, verify
from tapec.ops import Symbol, apply
from tapec.ops.control.body_graphs import body_of
from tapec.ops.control.cond import COND
from tapec.ops.control.loop import loop
from tapec.passes.pipeline import optimize

F3, I0 = Type((3,), float), Type((), np.dtype(np.int64))
W = 0.4 * np.random.default_rng(5).normal(size=(3, 3))

OPERATIONS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda a, b: np.tanh(a),
    lambda a, b: np.sin(a) * b,
    lambda a, b: a + b,
    lambda a, b: a - 0.5 * b,
    lambda a, b: np.where(a > b, a, b * 0.3),
    lambda a, b: np.exp(-a * a),
    lambda a, b: a * np.sum(b),
    lambda a, b: np.cumsum(a) * 0.3,
    lambda a, b: a[::-1],
    lambda a, b: np.maximum(a, b),
    lambda a, b: W @ a,
    lambda a, b: np.reshape(np.stack([a, b]), (2, 3))[1] * 0.9,
)
THEN = body_of("then", lambda p, q: (np.sin(p) * q,), [F3, F3])
OTHERWISE = body_of("otherwise", lambda p, q: (p - q * 0.2,), [F3, F3])
INNER = body_of("inner", lambda c, s: (np.tanh(s) + c * 0.1, np.cos(s)), [F3, F3])


def results(seed: int, count: int, nested: int) -> Callable[..., tuple[Any, ...]]:
    """A random function of vectors with so many results."""

    def function(*given: Any) -> tuple[Any, ...]:
        rng = np.random.default_rng(seed)
        values = list(given)
        for _ in range(rng.integers(2, 7)):
            a, b = [values[rng.integers(len(values))] for _ in range(2)]
            values.append(OPERATIONS[rng.integers(len(OPERATIONS))](a, b))
        if nested:
            a, b = values[-1], values[rng.integers(len(values))]
            values += apply(COND, (np.sum(a) > np.sum(b), a, b), (("bodies", (THEN, OTHERWISE)),))
        if nested > 1:
            last, rows = loop((INNER,), [a], [b], (), 2)
            values += [last, np.sum(rows, axis=0)]
        found = [values[-1 - rng.integers(min(4, len(values)))] for _ in range(count)]
        return tuple([np.tanh(y) if rng.integers(2) else y for y in found])

    return function


def inlined(body: Graph, given: Any) -> list[Any]:
    builder = given[0].builder
    return [Symbol(y, builder) for y in copy_into(builder, body, tuple([x.node for x in given]))]


def both(seed: int) -> tuple[Graph, Graph] | None:
    """The same random program with a loop, whose count is static, an operand, or a condition's, and written out."""
    rng = np.random.default_rng(seed)
    constants, carried, rows, collected = rng.integers(0, 3), rng.integers(0, 4), rng.integers(0, 3), rng.integers(0, 3)
    if carried + collected == 0 or constants + carried + rows == 0:
        return None
    turns, nested = int(rng.integers(1, 5)), int(rng.integers(0, 3))
    body = body_of("body", results(seed + 1000, carried + collected, nested), [F3] * (constants + carried + rows))
    types = [*[F3] * (constants + carried), *[Type((turns, 3), float)] * rows]
    kind = rng.integers(3) if carried and not rows + collected else 0
    end = constants + carried

    def number(n: int, x: Any) -> Any:
        return Symbol(x.builder.constant(np.int64(n)), x.builder)

    def total(parts: Any) -> tuple[Any, ...]:
        return (sum([np.sum(np.sin(p)) for p in parts]),)

    def looped(*xs: Any) -> tuple[Any, ...]:
        if kind == 0:
            return total(loop((body,), xs[:constants], xs[constants:end], xs[end:], turns))
        if kind == 1:
            return total(loop((body,), xs[:constants], xs[constants:], (), number(turns, xs[0])))
        kinds = [*[F3] * end, I0]
        step = body_of("step", lambda *ys: (*inlined(body, ys[:-1]), ys[-1] + np.int64(1)), kinds)
        goes_on = body_of("goes_on", lambda *ys: (ys[-1] < np.int64(turns),), kinds)
        return total(loop((step, goes_on), xs[:constants], [*xs[constants:], number(0, xs[0])])[:-1])

    def written_out(*xs: Any) -> tuple[Any, ...]:
        state, columns = xs[constants:end], [[] for _ in range(collected)]
        for k in range(turns):
            found = inlined(body, [*xs[:constants], *state, *[x[k] for x in xs[end:]]])
            state = found[:carried]
            for column, y in zip(columns, found[carried:], strict=True):
                column.append(y)
        return total([*state, *map(np.stack, columns)])

    return body_of("looped", looped, types), body_of("written_out", written_out, types)


def gradient(graph: Graph) -> Graph:
    return value_and_grad_graph(graph, range(len(graph.inputs)))


def of_gradient(graph: Graph) -> Graph:
    builder = Builder()
    found = copy_into(builder, gradient(graph), graph.inputs)
    total = sum([np.sum(np.sin(Symbol(g, builder))) for g in found])
    return builder.graph(graph.inputs, [total.node])


TRANSFORMS: dict[str, Callable[[Graph], Graph]] = {
    "value": lambda g: g,
    "gradient": gradient,
    "gradient of gradient": lambda g: gradient(of_gradient(g)),
    "tangent": lambda g: jvp_graph(g, range(len(g.inputs))),
    "batch of gradient": lambda g: batch_graph(gradient(g), [k % 2 == 0 for k in range(len(g.inputs))], 3)[0],
}


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("seed", range(100))
def test_random_loops(seed: int) -> None:
    programs = both(seed)
    for name, transform in TRANSFORMS.items() if programs is not None else ():
        with_loop, without = map(transform, programs)
        rng = np.random.default_rng(seed)
        values = [rng.normal(size=i.type.shape) for i in with_loop.inputs]
        expected = interpret(without, *values)
        lean = verify(optimize(verify(with_loop)))
        for found in (
            interpret(with_loop, *values),
            interpret(lean, *values),
            compile_graph(with_loop).function(*values),
            compile_graph(lean).function(*values),
        ):
            for x, y in zip(found, expected, strict=True):
                x, y = np.broadcast_arrays(x, y)  # a batch may be the same for all examples, and known to be or not
                np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-9, err_msg=name)
