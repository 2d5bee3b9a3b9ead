"""Vectors that are read in parts: what counts as such, and their Hessians."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapec
from tapec.autodiff.jacobian.jacobian_graph import hessian_graph
from tapec.autodiff.jacobian.parameter_blocks import taken_apart
from tapec.autodiff.reverse import value_and_grad_graph
from tapec.ir import Graph
from tapec.ir.checks.interpreter import interpret
from tests.autodiff.jacobian.test_jacobian_graph import by_differences
from tests.autodiff.programs import close, everything, graph_of
from tests.properties import has
from tests.selection import examples


def read(f: Any, n: int = 9) -> list[tuple[range, tuple[int, ...]]]:
    """The elements of the parts of a vector of n that a function is taken apart into, and their shapes."""
    _, parts = taken_apart(graph_of(f, (n,)), [0])
    return [(part.elements, part.type.shape) for part in parts]


def layer(p: Any) -> Any:
    w, b, c = p[:6].reshape(2, 3), p[6:8], p[-1]
    return np.sum(np.sin(w @ np.arange(3.0) + b)) * c


def test_slices_numbers_and_their_shapes_are_parts() -> None:
    assert read(layer) == [(range(6), (2, 3)), (range(6, 8), (2,)), (range(8, 9), ())]


def test_parts_are_in_the_order_in_which_they_are_needed() -> None:
    assert read(lambda p: np.sin(p[5:]) @ np.ones(4) * p[0]) == [(range(5, 9), (4,)), (range(1), ())]


@pytest.mark.parametrize(
    "f",
    [
        lambda p: np.sum(p[:4]) * p[3],  # they overlap
        lambda p: np.sum(p[::2]) * p[1],  # not neighbours
        lambda p: np.sum(p[:4]) * np.sum(p),  # all of it is read, too
        lambda p: np.sum(p[:4]),  # one
        lambda p: np.sum(p[np.array([0, 1])]) * p[8],  # by an array
        lambda p: sum(p[k] * p[k + 1] for k in range(8)),  # each by itself
    ],
)
def test_what_is_not_taken_apart(f: Any) -> None:
    assert read(f) == [(range(9), (9,))]


def test_matrices_stay_whole() -> None:
    _, parts = taken_apart(graph_of(lambda w: np.sum(w[0]) * np.sum(w[1]), (2, 3)), [0])
    assert [part.type.shape for part in parts] == [(2, 3)]


def gradient_of(graph: Graph) -> Graph:
    joint = value_and_grad_graph(graph, everything(graph))
    return Graph(joint.inputs, joint.nodes, joint.outputs[1:])


@examples(60)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(0, 2**16))
def test_hessians_of_drawn_parts(sizes: list[int], seed: int) -> None:
    """Neighbours with gaps between them, in any order, some as numbers and some as matrices; beside a whole vector."""
    rng = np.random.default_rng(seed)
    starts = np.cumsum([0, *sizes[:-1]]) + np.cumsum(rng.integers(0, 2, len(sizes)))
    n = int(starts[-1]) + sizes[-1] + int(rng.integers(0, 2))
    shaped = rng.random(len(sizes)) < 0.5
    order = rng.permutation(len(sizes))
    weights = [rng.uniform(0.5, 1.5, size) for size in sizes]

    def loss(p: Any, q: Any) -> Any:
        total = q[0] * q[1]
        for k in order:
            start, size = int(starts[k]), sizes[k]
            part = p[start : start + size] if size > 1 or not shaped[k] else p[start]
            if size > 1 and shaped[k]:
                part = part.reshape(size, 1) * np.ones((1, 2))
            total = np.sin(total * np.sum(np.exp(part).T * weights[k]) + q[1])
        return total

    graph = graph_of(loss, (n,), (2,))
    values = [rng.uniform(0.1, 0.5, n), rng.uniform(0.1, 0.5, 2)]
    for a, b in zip(
        interpret(hessian_graph(graph, [0, 1]), *values), by_differences(gradient_of(graph), values), strict=True
    ):
        close(a, b, 1e-5)


def test_hessians_of_all_arguments_fit_together() -> None:
    """The block of two inputs is that of the other order, its axes exchanged."""
    graph = graph_of(lambda p, w: layer(p) * np.sum(np.exp(w) @ p[6:8]), (9,), (3, 2))
    rng = np.random.default_rng(0)
    values = [rng.random(9), rng.random((3, 2))]
    pp, pw, wp, ww = interpret(hessian_graph(graph, [0, 1]), *values)
    np.testing.assert_array_equal(pw, np.moveaxis(wp, -1, 0))
    np.testing.assert_allclose(pp, pp.T, rtol=1e-14)  # within a block as NumPy's products round
    for a, b in zip([pp, pw, wp, ww], by_differences(gradient_of(graph), values), strict=True):
        close(a, b, 1e-5)


@pytest.mark.parametrize("within", [lambda f: f, tapec.checkpoint])
def test_a_stated_gradient_is_not_taken_to_be_symmetric(within: Any) -> None:
    @tapec.custom_gradient
    def odd(x: Any, y: Any) -> Any:
        return x * y, lambda ct: (ct * y * y * y, ct * x)

    def loss(p: Any) -> Any:
        return np.sin(within(lambda x, y: odd(x, y))(p[0], p[1]))

    found = tapec.hessian(loss)(np.array([0.3, 0.5]))
    expected = tapec.jacobian(tapec.grad(loss))(np.array([0.3, 0.5]))
    np.testing.assert_allclose(found, expected.T, rtol=1e-14)
    assert abs(found[0, 1] - found[1, 0]) > 1e-3


def test_blocks_of_zeros_are_not_added() -> None:
    """Of a pendulum's energy: the angle and the speed know nothing of each other."""
    hessian = tapec.hessian(lambda x: 0.5 * x[1] ** 2 + 9.81 * (1.0 - np.cos(x[0])))
    assert hessian(np.array([0.0, 2.0])).tolist() == [[9.81, 0.0], [0.0, 1.0]]
    assert has(hessian.source(np.zeros(2)), "np.array([[9.81 * _, 0.0], [0.0, 1.0]])")
    assert not has(hessian.source(np.zeros(2), target="numpy"), "0.0")


def test_constant_blocks_stand_beside_the_others() -> None:
    hessian = tapec.hessian(lambda x: 100.0 * (x[1] - x[0] ** 2) ** 2)
    source = hessian.source(np.ones(2))
    assert has(source, "[[_, _], [_, 200.0]]") and not has(source, "0.0 - _")
