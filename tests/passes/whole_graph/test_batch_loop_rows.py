"""Products of what a loop reads row by row are made once, before the loop; their gradients are, too, after it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapec.autodiff import tuning as autodiff_tuning
from tapec.autodiff.reverse import value_and_grad_graph
from tapec.codegen import compile_graph
from tapec.ir import Graph, Node, Type, interpret, ops, verify
from tapec.ops.control.body_graphs import body_of
from tapec.ops.control.loop import LOOP, loop
from tapec.passes import tuning
from tapec.passes.pipeline import optimize
from tapec.passes.whole_graph.batch_loop_rows import computed_ahead

RNG = np.random.default_rng(0)
TURNS = 6


def array(*shape: int) -> Type:
    return Type(shape, float)


def matrices(w: Any, u: Any, b: Any, h: Any, x: Any) -> Any:
    return (np.tanh(x @ w + h @ u + b),)


def vectors(w: Any, u: Any, b: Any, h: Any, x: Any) -> Any:
    return (np.tanh(w @ x + u @ h + b),)


def matrices_first(w: Any, u: Any, b: Any, h: Any, x: Any) -> Any:
    return (np.tanh(b + np.sin(w @ x) * 2.0 + u @ h),)


def two_products(w: Any, u: Any, b: Any, h: Any, x: Any) -> Any:
    return (np.tanh(u @ h + w @ np.cos(x) - (w @ x) * h + b),)


def rows_of_products(w: Any, u: Any, b: Any, h: Any, x: Any) -> Any:
    """The row is read without the product, too, and the product is added up over an axis."""
    return (np.tanh(h @ u + np.sum(x @ w, axis=1, keepdims=True) + b + np.sum(x)),)


M = array(9, 12), array(12, 12), array(12), array(4, 12), array(4, 9)
V = array(12, 9), array(12, 12), array(12), array(12), array(9)
CASES = {
    "matrices": (matrices, M, 0),
    "vectors": (vectors, V, 0),
    "matrices first": (matrices_first, (array(12, 9), array(12, 12), array(12, 1), array(12, 5), array(9, 5)), 0),
    "two products": (two_products, V, 0),
    "rows of products": (rows_of_products, M, 0),
}


def program(turn: Any, types: tuple[Type, ...]) -> tuple[Graph, list[Any]]:
    body = body_of("turn", turn, list(types))
    given = [*types[:-1], array(TURNS, *types[-1].shape)]
    graph = body_of("f", lambda *xs: (np.sum(loop((body,), xs[:3], [xs[3]], [xs[4]], TURNS)[0] ** 2),), given)
    return graph, [RNG.normal(size=t.shape) * 0.5 for t in given]


def of_bodies(graph: Graph, op: Any) -> list[Node]:
    return [n for loop in graph.nodes if loop.op is LOOP for n in loop.bodies[0].nodes if n.op is op]


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_the_same(name: str) -> None:
    turn, types, left = CASES[name]
    graph, values = program(turn, types)
    found = verify(computed_ahead(graph))
    assert found is not graph
    assert len(of_bodies(found, ops.matmul)) == 1 + left
    right = interpret(value_and_grad_graph(graph, range(5)), *values)
    gradient = value_and_grad_graph(found, range(5))
    for made in (gradient, verify(optimize(gradient))):
        for a, b in zip(interpret(made, *values), right, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    for a, b in zip(compile_graph(optimize(gradient)).function(*values), right, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_nothing_but_what_the_state_needs_is_multiplied_backwards(name: str) -> None:
    """Each turn multiplies forwards by one matrix, and backwards by its transpose."""
    turn, types, _ = CASES[name]
    graph, _ = program(turn, types)
    found = optimize(value_and_grad_graph(computed_ahead(graph), range(3)))
    assert len(of_bodies(found, ops.matmul)) == 2


def test_the_bias_is_added_ahead_and_its_gradient_added_up_after() -> None:
    graph, _ = program(matrices, M)
    found = optimize(value_and_grad_graph(computed_ahead(graph), range(3)))
    forwards, backwards = [n.bodies[0] for n in found.nodes if n.op is LOOP]
    assert [n.op for n in forwards.nodes].count(ops.add) == 1
    assert not any([n.op in (ops.sum, ops.add) for n in backwards.nodes])


def test_many_rows_are_multiplied_one_by_one(monkeypatch: Any) -> None:
    """What a loop holds for all turns is no more than before."""
    graph, values = program(matrices, M)
    right = interpret(value_and_grad_graph(graph, range(5)), *values)
    monkeypatch.setattr(tuning, "AHEAD_MAX_BYTES", TURNS * 4 * 12 * 8 - 1)
    assert computed_ahead(graph) is graph
    monkeypatch.setattr(autodiff_tuning, "SUM_AFTER_MAX_BYTES", TURNS * 4 * 12 * 8 - 1)
    found = optimize(value_and_grad_graph(graph, range(5)))
    assert len(of_bodies(found, ops.matmul)) > 4
    for a, b in zip(interpret(found, *values), right, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_small_matrices_and_what_needs_the_state_stay() -> None:
    small = array(3, 3), array(3, 3), array(3), array(3), array(3)
    graph, _ = program(vectors, small)
    assert computed_ahead(graph) is graph
    graph, _ = program(lambda w, u, b, h, x: (np.tanh(w @ (x * np.sum(h)) + u @ h + b),), V)
    assert computed_ahead(graph) is graph
