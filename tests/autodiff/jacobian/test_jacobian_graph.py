"""Jacobian graphs against differences, in both modes, and the structure that they must keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapec.autodiff.compose.inline_graph import copy_into
from tapec.autodiff.jacobian.jacobian_graph import hessian_graph, jacobian_graph
from tapec.autodiff.reverse import value_and_grad_graph, vjp_graph
from tapec.ir import Graph
from tapec.ir.checks.interpreter import interpret
from tapec.ops import Symbol
from tests.autodiff.programs import close, draw_like, everything, graph_of, programs, slope
from tests.selection import examples

SEEDS = st.integers(0, 2**16)


def by_differences(graph: Graph, values: list[Any]) -> list[np.ndarray]:
    """For each output, for each input: the Jacobian, column by column."""
    found = []
    for k, v in enumerate(values):
        columns = []
        for place in np.ndindex(np.shape(v)):
            direction = [np.zeros(np.shape(x)) for x in values]
            direction[k][place] = 1.0
            columns.append(slope(graph, values, direction))
        found.append([np.reshape(np.stack(c, -1), np.shape(c[0]) + np.shape(v)) for c in zip(*columns, strict=True)])
    return [found[k][n] for n in range(len(graph.outputs)) for k in range(len(values))]


@examples(60)
@given(programs(outputs=2), SEEDS, st.sampled_from(["reverse", "forward", "auto"]))
def test_against_differences(graph: Graph, seed: int, mode: str) -> None:
    values = draw_like(np.random.default_rng(seed), [i.type for i in graph.inputs])
    found = interpret(jacobian_graph(graph, everything(graph), mode), *values)
    for a, b in zip(found, by_differences(graph, values), strict=True):
        close(a, b)


@examples(60)
@given(programs(outputs=1, complex_=True), SEEDS, st.sampled_from(["reverse", "forward"]))
def test_complex_jacobians_are_gradients_of_each_element(graph: Graph, seed: int, mode: str) -> None:
    """TensorFlow's convention: the row of an output is its pullback of 1."""
    values = draw_like(np.random.default_rng(seed), [i.type for i in graph.inputs])
    found = interpret(jacobian_graph(graph, everything(graph), mode), *values)
    back = vjp_graph(graph, everything(graph))
    t = graph.outputs[0].type
    for place in np.ndindex(t.shape):
        unit = np.zeros(t.shape, t.dtype)
        unit[place] = 1
        for whole, row in zip(found, interpret(back, *values, unit[()]), strict=True):
            close(np.asarray(whole)[place], row, 1e-10)


@examples(40)
@given(programs(), SEEDS)
def test_hessians_are_jacobians_of_gradients(graph: Graph, seed: int) -> None:
    def loss(*xs: Any) -> Any:
        (y,) = copy_into(xs[0].builder, graph, [x.node for x in xs])
        return np.sum(np.sin(Symbol(y, xs[0].builder)))

    types = [i.type.shape for i in graph.inputs]
    whole = graph_of(loss, *types)
    values = draw_like(np.random.default_rng(seed), [i.type for i in whole.inputs])
    found = interpret(hessian_graph(whole, everything(whole)), *values)
    joint = value_and_grad_graph(whole, everything(whole))
    gradient = Graph(joint.inputs, joint.nodes, joint.outputs[1:])
    for a, b in zip(found, by_differences(gradient, values), strict=True):
        close(a, b, 1e-5)


# ---------------------------------------------------------------------------------------------------------------
# structure: what must not be multiplied out
# ---------------------------------------------------------------------------------------------------------------
def ops_of(graph: Graph) -> set[str]:
    return {n.op.name for n in graph.nodes}


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_an_elementwise_function_has_a_diagonal_jacobian(mode: str) -> None:
    graph = jacobian_graph(graph_of(lambda x: np.exp(np.sin(x)) * 3.0, (5,)), [0], mode)
    (diagonal,) = [n for n in graph.nodes if n.op.name == "diag"]
    assert all(n.type.size <= 5 for n in graph.nodes[: graph.nodes.index(diagonal)])
    assert not ops_of(graph) & {"matmul", "eye", "map"}


def test_a_layer_has_no_product_of_matrices() -> None:
    """The rows of tanh(w @ x) are those of w, scaled."""
    graph = jacobian_graph(graph_of(lambda w, x: np.tanh(w @ x), (4, 3), (3,)), [1])
    assert sum(n.op.name == "matmul" for n in graph.nodes) == 1  # w @ x itself
    assert not ops_of(graph) & {"eye", "diag", "map"}


def test_a_sum_resolves_the_diagonal() -> None:
    graph = jacobian_graph(graph_of(lambda x: np.sum(x * x, axis=1), (4, 3)), [0])
    assert "map" not in ops_of(graph) and "matmul" not in ops_of(graph)


def test_an_input_without_a_path_has_zeros() -> None:
    graph = graph_of(lambda x, y: np.sin(x), (2,), (3,))
    for mode in ("reverse", "forward"):
        (_, zeros) = interpret(jacobian_graph(graph, [0, 1], mode), np.ones(2), np.ones(3))
        assert zeros.shape == (2, 3) and not zeros.any()


def test_integer_outputs_are_left_out() -> None:
    graph = graph_of(lambda x: (np.floor(x).astype(int), x * x), (3,))
    (found,) = interpret(jacobian_graph(graph, [0]), np.arange(3.0))
    np.testing.assert_array_equal(found, np.diag([0.0, 2.0, 4.0]))


@pytest.mark.parametrize("shape", [(0,), (1, 0), (1,), (1, 1), ()])
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_degenerate_shapes(shape: tuple[int, ...], mode: str) -> None:
    graph = graph_of(lambda x: np.sin(x) * 2.0, shape)
    x = np.full(shape, 0.5)[()]
    (found,) = interpret(jacobian_graph(graph, [0], mode), x)
    expected = np.cos(0.5) * 2.0 * np.eye(x.size).reshape(shape + shape)
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_holomorphic() -> None:
    graph = graph_of(lambda z: z * z * 1j, ((2,), complex))
    z = np.array([1 + 2j, -0.5j])
    for mode in ("reverse", "forward"):
        (found,) = interpret(jacobian_graph(graph, [0], mode, holomorphic=True), z)
        np.testing.assert_allclose(found, np.diag(2j * z), rtol=1e-15)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.einsum("ij,kj->ik", np.sin(x), x),
        lambda x: np.tensordot(np.cos(x), x, ((1,), (1,))),
        lambda x: np.tensordot(x * 2.0, np.ones((2, 3, 4)), ((0, 1), (0, 1))),
        lambda x: np.einsum("ij,ij->ji", np.sin(x), np.exp(x)),
        lambda x: np.exp(x) @ x[0],
        lambda x: np.stack([x, x]) @ np.sin(x).T,
    ],
)
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_products(f: Any, mode: str) -> None:
    graph = graph_of(f, (2, 3))
    values = draw_like(np.random.default_rng(0), [i.type for i in graph.inputs])
    (found,) = interpret(jacobian_graph(graph, [0], mode), *values)
    close(found, by_differences(graph, values)[0])


# ---------------------------------------------------------------------------------------------------------------
# the factor beside a diagonal: tangents along a matrix of weights are its inputs times something small
# ---------------------------------------------------------------------------------------------------------------
ROWS, A, K = 50, 6, 4


def softmax_loss(w: Any, x: Any) -> Any:
    z = x @ w
    return np.sum(np.log(np.sum(np.exp(z), axis=1)) - z[:, 0])


def test_hessians_by_weights_multiply_their_inputs_last() -> None:
    """Nothing is made that has rows, inputs and two axes of outputs: inputs by inputs, outputs by outputs meet."""
    graph = hessian_graph(graph_of(softmax_loss, (A, K), (ROWS, A)), [0])
    assert max(n.type.size for n in graph.nodes) == ROWS * A * A
    values = [np.random.default_rng(0).random(i.type.shape) for i in graph.inputs]
    joint = value_and_grad_graph(graph_of(softmax_loss, (A, K), (ROWS, A)), [0, 1])
    gradient = Graph(joint.inputs, joint.nodes, joint.outputs[1:2])
    close(interpret(graph, *values)[0], by_differences(gradient, values)[0], 1e-5)


def tanh(z: Any) -> Any:
    return np.tanh(z)


def softmax(z: Any) -> Any:
    e = np.exp(z)
    return e / np.sum(e, axis=-1, keepdims=True)


def normalised(z: Any) -> Any:
    return (z - np.mean(z, axis=0)) / np.sqrt(np.var(z, axis=0) + 0.5)


def rectified(z: Any) -> Any:
    return np.maximum(z, 0.1 * z) ** 2


def turned(z: Any) -> Any:
    return (np.sin(z).T * np.arange(1.0, 1.0 + len(z))).T


@pytest.mark.parametrize("product", [np.matmul, lambda x, w: np.einsum("ni,ij->nj", x, w), lambda x, w: (w.T @ x.T).T])
@pytest.mark.parametrize("first", [tanh, softmax, normalised, rectified, turned])
@pytest.mark.parametrize("second", [softmax, normalised])
def test_hessians_of_layers(product: Any, first: Any, second: Any) -> None:
    def loss(w: Any, b: Any, v: Any, x: Any) -> Any:
        return np.sum(np.sin(second(product(first(product(x, w) + b), v))) * np.arange(1.0, 3.0))

    graph = graph_of(loss, (3, 4), (4,), (4, 2), (5, 3))
    values = draw_like(np.random.default_rng(0), [i.type for i in graph.inputs])
    joint = value_and_grad_graph(graph, everything(graph))
    gradient = Graph(joint.inputs, joint.nodes, joint.outputs[1:])
    found = interpret(hessian_graph(graph, everything(graph)), *values)
    for a, b in zip(found, by_differences(gradient, values), strict=True):
        close(a, b, 1e-5)
