"""Patterns against the nonzeros of Jacobians, colourings by their definition, and entries recovered from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from tapec.autodiff.jacobian.jacobian_graph import hessian_graph, jacobian_graph
from tapec.autodiff.sparse.coloring import column_colors, recovery, star_colors
from tapec.autodiff.sparse.recovery import sparse_hessian_graph, sparse_jacobian_graph
from tapec.autodiff.sparse.sparsity_pattern import jacobian_pattern
from tapec.ir import Graph
from tapec.ir.checks.interpreter import interpret
from tests.autodiff.programs import draw_like, graph_of, programs
from tests.selection import examples

SEEDS = st.integers(0, 2**16)


def nonzeros(graph: Graph, seed: int = 0) -> list[np.ndarray]:
    """For each output, where its Jacobian is not zero, at a drawn point."""
    everything = range(len(graph.inputs))
    values = draw_like(np.random.default_rng(seed), [i.type for i in graph.inputs])
    found = iter(interpret(jacobian_graph(graph, everything), *values))
    return [
        np.concatenate([np.reshape(next(found), (o.type.size, -1)) != 0 for _ in everything], axis=1)
        for o in graph.outputs
    ]


ROWS = np.array([0, 2, 2, 1])
MASK = np.array([1.0, 0.0, 1.0, 1.0, 0.0])
EXACT = {
    "elementwise": (lambda x: np.sin(x) * 2.0, (5,)),
    "broadcast": (lambda x, y: x * y, (2, 1), (3,)),
    "slices": (lambda x: x[1:] * x[:-1], (5,)),
    "negative step": (lambda x: x[::-2], (5,)),
    "stencil": (lambda x: x[:-2] - 2.0 * x[1:-1] + x[2:], (6,)),
    "gather": (lambda x: x[ROWS] ** 2, (3,)),
    "scatter": (lambda x: np.concatenate([x, x[::-1]]) * 2.0, (3,)),
    "sum": (lambda x: np.sum(x, axis=0), (2, 3)),
    "mean": (lambda x: np.mean(x, axis=1, keepdims=True), (2, 3)),
    "prod": (lambda x: np.prod(x), (3,)),
    "known zeros": (lambda x: np.tanh(x) * MASK, (5,)),
    "known condition": (lambda x: np.where(MASK > 0, x, x[::-1] * 2.0), (5,)),
    "matmul": (lambda x, w: x @ w, (2, 3), (3, 2)),
    "vector times matrix": (lambda x, w: x @ w, (3,), (3, 2)),
    "stack of matrices": (lambda x, w: x @ w, (2, 2, 3), (2, 3, 2)),
    "known matrix": (lambda x: x @ np.diag([1.0, 2.0, 0.0]), (2, 3)),
    "einsum": (lambda x: np.einsum("bi,bj->bij", x, x), (2, 3)),
    "tensordot": (lambda x: np.tensordot(x, np.ones((2, 2)), ((1,), (0,))), (3, 2, 2)),
    "cumsum": (lambda x: np.cumsum(x, axis=1), (2, 3)),
    "cumprod": (lambda x: np.cumprod(x), (4,)),
    "diff": (lambda x: np.diff(x, 2), (6,)),
    "convolve": (lambda x, v: np.convolve(x, v), (5,), (2,)),
    "inv": (lambda x: np.linalg.inv(x + 2.0 * np.eye(2)), (3, 2, 2)),
    "norm": (lambda x: np.linalg.norm(x, axis=1), (2, 3)),
    "trace": (lambda x: np.trace(x), (3, 3)),
    "pad": (lambda x: np.pad(x, 1, mode="wrap") + np.pad(x, 1, constant_values=2.0), (4,)),
    "fft": (lambda x: np.abs(np.fft.fft(x, axis=1)), (2, 3)),
    "rfft": (lambda x: np.abs(np.fft.rfftn(x, axes=(0, 2))), (2, 3, 4)),
    "layout": (lambda x: np.roll(np.triu(x.T), 1, axis=0), (3, 3)),
    "complex inside": (lambda x: np.real(np.exp(1j * x[1:])), (4,)),
}


@pytest.mark.parametrize("name", EXACT)
def test_exact(name: str) -> None:
    f, *shapes = EXACT[name]
    graph = graph_of(f, *shapes)
    patterns, dense = jacobian_pattern(graph, range(len(shapes)))
    assert not dense
    for pattern, expected in zip(patterns, nonzeros(graph), strict=True):
        assert pattern.dtype == bool and pattern.has_sorted_indices
        np.testing.assert_array_equal(pattern.toarray(), expected)


@examples(60)
@given(programs(outputs=2, kinks=True), SEEDS)
def test_nothing_is_missing(graph: Graph, seed: int) -> None:
    patterns, _ = jacobian_pattern(graph, range(len(graph.inputs)))
    for pattern, found in zip(patterns, nonzeros(graph, seed), strict=True):
        assert not np.any(found & ~pattern.toarray())


def test_indices_that_hang_on_values_make_dense_rows() -> None:
    graph = graph_of(lambda x: x[np.argsort(x)] * 2.0, (4,))
    (pattern,), dense = jacobian_pattern(graph, [0])
    assert pattern.nnz == 16 and [n.op.name for n in dense] == ["getitem"]


def test_index_arrays_that_are_known() -> None:
    graph = graph_of(lambda x, k: x[k + 1], (4,), ((2,), int))
    (pattern,), dense = jacobian_pattern(graph, [0], {graph.inputs[1]: np.array([0, 2])})
    assert not dense
    np.testing.assert_array_equal(pattern.toarray(), np.eye(4, dtype=bool)[[1, 3]])
    _, dense = jacobian_pattern(graph, [0])
    assert [n.op.name for n in dense] == ["getitem"]


def test_what_has_no_gradient_has_no_entries() -> None:
    graph = graph_of(lambda x: (np.floor(x) * 2.0, np.sign(x) + x[0], (x > 0) * 1.0), (3,))
    patterns, _ = jacobian_pattern(graph, [0])
    assert [p.nnz for p in patterns] == [0, 3, 0]


# ---------------------------------------------------------------------------------------------------------------
# colours
# ---------------------------------------------------------------------------------------------------------------
@st.composite
def matrices(draw: Any, symmetric: bool = False) -> Any:
    n, m = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(SEEDS))
    dense = rng.random((n, n if symmetric else m)) < draw(st.sampled_from([0.05, 0.2, 0.5]))
    if symmetric:
        dense = dense | dense.T
    return scipy.sparse.csr_matrix(dense)


@given(matrices())
def test_no_row_has_two_columns_of_one_colour(pattern: Any) -> None:
    colors = column_colors(pattern)
    for i in range(pattern.shape[0]):
        own = colors[pattern.indices[pattern.indptr[i] : pattern.indptr[i + 1]]]
        assert len(set(own)) == len(own)


@given(matrices(symmetric=True), SEEDS)
def test_star_colours_give_every_entry_back(pattern: Any, seed: int) -> None:
    colors = star_colors(pattern)
    full = np.where(pattern.toarray(), np.random.default_rng(seed).standard_normal(pattern.shape), 0.0)
    full = full + full.T
    shades, elements = recovery(pattern, colors)
    products = np.stack([full @ (colors == c) for c in range(colors.max() + 1)])
    rows, columns = pattern.nonzero()
    np.testing.assert_allclose(products[shades, elements], full[rows, columns], atol=1e-12)


def test_known_colour_counts() -> None:
    band = scipy.sparse.csr_matrix(np.abs(np.subtract.outer(range(50), range(50))) <= 1)
    assert column_colors(band).max() == 2 and star_colors(band).max() == 2
    arrow = np.eye(50, dtype=bool)
    arrow[0] = arrow[:, 0] = True
    assert star_colors(scipy.sparse.csr_matrix(arrow)).max() == 1
    assert column_colors(scipy.sparse.csr_matrix(arrow)).max() == 49


# ---------------------------------------------------------------------------------------------------------------
# entries
# ---------------------------------------------------------------------------------------------------------------
@examples(40)
@given(programs(kinks=True), SEEDS, st.sampled_from(["auto", "forward", "reverse"]))
def test_entries_are_those_of_the_dense_jacobian(graph: Graph, seed: int, mode: str) -> None:
    made = sparse_jacobian_graph(graph, 0, mode)
    values = draw_like(np.random.default_rng(seed), [i.type for i in graph.inputs])
    (data,) = interpret(made.graph, *values)
    (dense,) = interpret(jacobian_graph(graph, [0]), *values)
    p = made.pattern
    found = scipy.sparse.csr_matrix((data, p.indices, p.indptr), shape=p.shape).toarray()
    np.testing.assert_allclose(found, np.reshape(dense, p.shape), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("f", "colors"),
    [
        (lambda x: np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2), 3),
        (lambda x: np.sum(x[0] * x[1:] ** 2) + np.sum(x**3), 2),
        (lambda x: np.sum(np.sin(x)), 1),
        (lambda x: np.sum(x) ** 2, 6),
    ],
)
def test_entries_of_hessians(f: Any, colors: int) -> None:
    graph = graph_of(f, (6,))
    made = sparse_hessian_graph(graph, 0)
    assert made.colors == colors
    (x,) = draw_like(np.random.default_rng(0), [i.type for i in graph.inputs])
    (data,) = interpret(made.graph, x)
    (dense,) = interpret(hessian_graph(graph, [0]), x)
    p = made.pattern
    found = scipy.sparse.csr_matrix((data, p.indices, p.indptr), shape=p.shape).toarray()
    np.testing.assert_allclose(found, dense, rtol=1e-12, atol=1e-12)


@examples(40)
@given(programs(), SEEDS)
def test_entries_of_drawn_hessians(graph: Graph, seed: int) -> None:
    from tapec.autodiff.compose.inline_graph import copy_into
    from tapec.ops import Symbol

    def loss(*xs: Any) -> Any:
        (y,) = copy_into(xs[0].builder, graph, tuple(x.node for x in xs))
        return np.sum(np.sin(Symbol(y, xs[0].builder)))

    whole = graph_of(loss, *[i.type.shape for i in graph.inputs])
    made = sparse_hessian_graph(whole, 0)
    values = draw_like(np.random.default_rng(seed), [i.type for i in whole.inputs])
    (data,) = interpret(made.graph, *values)
    (dense,) = interpret(hessian_graph(whole, [0]), *values)
    p = made.pattern
    found = scipy.sparse.csr_matrix((data, p.indices, p.indptr), shape=p.shape).toarray()
    np.testing.assert_allclose(found, np.reshape(dense, p.shape), rtol=1e-9, atol=1e-9)
