"""Hessians of functions that read their input row by row: by small matrices, and where that cannot be."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapec
from tapec.autodiff.jacobian import jacobian_graph
from tapec.autodiff.jacobian.early_gather import picked_early
from tapec.autodiff.jacobian.rowwise_hessian import hessian_by_rows
from tapec.ir import interpret, parse
from tests.autodiff.programs import graph_of
from tests.passes.support import text
from tests.properties import constants, nodes
from tests.selection import examples

N = 7
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3)) * 2
I, J = np.triu_indices(N, 1)
BENT = np.array([[0, 1, 2], [1, 2, 3], [4, 3, 2], [-1, 0, 3]])
UPPER = np.triu(np.ones((N, N), bool), 1)


def lengths(d: Any) -> Any:
    return np.sqrt(np.sum(d * d, axis=-1))


def lennard_jones(r2: Any) -> Any:
    s = 1 / r2**3
    return 4 * (s * s - s)


def pairs(x: Any) -> Any:
    return np.sum(lennard_jones(np.sum((x[I] - x[J]) ** 2, axis=1)))


def table(x: Any) -> Any:
    d = x[:, None] - x
    return 0.5 * np.sum(lennard_jones(np.sum(d * d, axis=-1) + np.eye(N)) * (1 - np.eye(N)))


def picked(x: Any) -> Any:
    return np.sum(lennard_jones(np.sum((x[:, None] - x[None]) ** 2, axis=-1)[I, J]))


def masked(x: Any) -> Any:
    return np.sum(lennard_jones(np.sum((x[:, None] - x[None]) ** 2, axis=-1)[UPPER]))


def by_coordinates(x: Any) -> Any:
    a, b, c = x[:, 0], x[:, 1], x[:, 2]
    return np.sum(lennard_jones((a[I] - a[J]) ** 2 + (b[I] - b[J]) ** 2 + (c[I] - c[J]) ** 2))


def by_hand(x: np.ndarray) -> np.ndarray:
    """With phi(r2) = 4 (r2^-6 - r2^-3): 2 phi' 1 + 4 phi'' d d^T, added for either end, taken away between them."""
    d = x[I] - x[J]
    r2 = np.sum(d * d, axis=1)
    first, second = 4 * (3 / r2**4 - 6 / r2**7), 4 * (42 / r2**8 - 12 / r2**5)
    blocks = 2 * first[:, None, None] * np.eye(3) + 4 * second[:, None, None] * d[:, :, None] * d[:, None]
    found = np.zeros((N, 3, N, 3))
    for i, j, block in zip(I, J, blocks, strict=True):
        found[i, :, i] += block
        found[j, :, j] += block
        found[i, :, j] -= block
        found[j, :, i] -= block
    return found


@pytest.mark.parametrize("energy", [pairs, table, picked, masked, by_coordinates])
def test_pair_energies(energy: Callable[[Any], Any]) -> None:
    hessian = tapec.hessian(energy)
    for x in (X, 1.1 * X):
        expected = by_hand(x)
        np.testing.assert_allclose(hessian(x), expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
    shapes = [constants(shape) for shape in nodes(hessian.source(X), ast.Tuple) if len(shape.elts) > 1]
    assert not any(shape[:1] == [X.size] for shape in shapes)  # nothing for each of the unit vectors of x


def bonds_and_angles(x: Any) -> Any:
    """Two ways to read by the same arrays know of each other; by others they do not."""
    a, b = x[BENT[:, 0]] - x[BENT[:, 1]], x[BENT[:, 2]] - x[BENT[:, 1]]
    cosines = np.sum(a * b, axis=1) / lengths(a) / lengths(b)
    return np.sum((np.arccos(cosines) - 1.9) ** 2) + np.sum((lengths(x[I] - x[J]) - 1) ** 2) + np.sum(x[:, 2] ** 3)


def groups(x: Any) -> Any:
    return np.sum(np.log1p(np.exp(x[I % 3] * 2 + np.arange(21.0)[:, None]))) + np.sum(x**2)


def scaled_and_turned(x: Any) -> Any:
    d = -(x.T[:, :, None] / 2 - 3 * x.T[:, None, :])
    return np.sum(np.cos(d[0]) * np.sin(d[1]) + d[2] ** 2)


def flat(x: Any) -> Any:
    q = np.reshape(x, (-1,))
    q = np.reshape(q, (N, 3))
    return np.sum(np.exp(-lengths(np.take(q, I, axis=0) - q[J])))


def one_way(x: Any) -> Any:
    return np.sum(np.tanh(x[I] * x[J]) ** 2)


def repeated(x: Any) -> Any:
    """Both ends may be the same row."""
    return np.sum(np.exp(-np.sum((x[[0, 1, 1, -2]] + x[[0, 1, 5, 5]]) ** 2, axis=1)))


PROGRAMS = [bonds_and_angles, groups, scaled_and_turned, flat, repeated, table, picked]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The Hessian along the unit vectors of x, whatever reads it."""

    def hessian(f: Callable[..., Any], *args: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(jacobian_graph, "hessian_by_rows", lambda graph, w: None)
            return tapec.hessian(f)(*args)

    return hessian


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("f", PROGRAMS)
def test_as_along_all_unit_vectors(f: Callable[..., Any], dtype: Any, at_once: Any) -> None:
    x = X.astype(dtype)
    found, expected = tapec.hessian(f)(x), at_once(lambda x: f(x), x)
    assert found.dtype == expected.dtype == dtype
    tolerance = 1e-10 if dtype == np.float64 else 1e-3
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("f", PROGRAMS)
def test_they_are_by_rows(f: Callable[..., Any]) -> None:
    assert hessian_by_rows(graph_of(f, X.shape), 0) is not None


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.sin(x) ** 2),  # read as it stands
        lambda x: np.sum((x[I] @ x[J].T) ** 2),  # rows of pairs mix
        lambda x: np.sum(np.cumsum(x[I] - x[J], axis=0) ** 2),
        lambda x: np.sum(x[I] - x[J]) ** 2,
        lambda x: np.sum((x[I] - x[J]) ** 2) * np.sum(x**2),  # with what is read as it stands
        lambda x: np.sum(x[I] ** 2) * np.sum(x[J[:5]] ** 2),
        lambda x: np.sum(x[I, J % 3] ** 2),  # elements, not rows
        lambda x: np.sum(x[BENT] ** 4),
    ],
)
def test_what_is_not_by_rows(f: Callable[..., Any], at_once: Any) -> None:
    assert hessian_by_rows(graph_of(f, X.shape), 0) is None
    np.testing.assert_array_equal(tapec.hessian(f)(X), at_once(lambda x: f(x), X))


def test_few_rows_are_left_alone() -> None:
    """Two points have as many unit vectors as two rows of a pair have."""
    assert hessian_by_rows(graph_of(lambda x: np.sum(x[[0, 1]] * x[[1, 0]]) ** 2, (2,)), 0) is None


def test_stated_gradients_have_no_blocks() -> None:
    @tapec.custom_gradient
    def steep(d: Any) -> Any:
        return np.sin(d), lambda ct: 3.0 * ct * np.cos(d)

    found = tapec.hessian(lambda x: np.sum(steep(x[I] - x[J])))(X[:, 0])
    np.testing.assert_allclose(found, 3 * tapec.hessian(lambda x: np.sum(np.sin(x[I] - x[J])))(X[:, 0]), rtol=1e-12)


def test_arrays_of_places_are_read_at_each_call() -> None:
    places = np.array([0, 1, 2, 2])

    def f(x: Any) -> Any:
        return np.sum(np.exp(x[places] - x[places[::-1]]))

    hessian = tapec.hessian(f)
    for _ in range(3):
        np.testing.assert_allclose(hessian(X[:, 0]), tapec.jacfwd(tapec.jacfwd(f))(X[:, 0]), rtol=1e-12)
        places += 1


def test_points_that_meet_are_finite() -> None:
    """Where the energy is smooth in spite of a length of zero."""
    x = np.zeros((N, 3))
    found = tapec.hessian(lambda x: np.sum(np.linalg.norm(x[I] - x[J], axis=1) ** 2))(x)
    np.testing.assert_allclose(found, tapec.hessian(lambda x: np.sum((x[I] - x[J]) ** 2))(X), rtol=1e-12)


@examples(40)
@given(st.integers(0, 2**20))
def test_drawn_programs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k, m = rng.integers(2, 6), rng.integers(1, 4), rng.integers(2, 8)
    x = rng.normal(size=(n, k))
    a, b, c = rng.integers(-n, n, (3, m))
    reads: list[Callable[[Any], Any]] = [
        lambda q: q[a] - q[b],
        lambda q: q[a] + 2 * q[b] - q[c] / 3,
        lambda q: q[a] - q[0],
        lambda q: q[:, None] - q,
        lambda q: 2 * np.expand_dims(q, 0) - np.expand_dims(q, 1),
        lambda q: (q.T[:, :, None] - q.T[:, None]) / 2,
    ]
    ends: list[Callable[[Any], Any]] = [
        lambda d: np.sum(np.exp(-np.sum(d * d, axis=-1))),
        lambda d: np.sum(np.sin(d)),
        lambda d: np.mean(np.log1p(np.sum(d, axis=0) ** 2)),
        lambda d: np.sum(np.tanh(d) ** 2) ** 2,
    ]
    chosen = [(reads[rng.integers(len(reads))], ends[rng.integers(len(ends))]) for _ in range(rng.integers(1, 4))]
    joint = rng.random() < 0.3

    def f(q: Any) -> Any:
        total = np.sum(q**4) * 0.1 if seed % 3 else 0.0
        for read, end in chosen:
            total = total * end(read(q)) + 1 if joint else total + end(read(q))
        return total

    found = tapec.hessian(f)(x)
    expected = tapec.jacfwd(tapec.grad(f))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * (1 + np.abs(expected).max()))


# -- elements of tables -----------------------------------------------------------------------------------------------
TABLE = "%x: f64[5,3], %y: f64[4,3], %z: f64[5,4], %i: i64[6], %j: i64[6]"
READ = "getitem {0}, %i, %j {{index=($0, $1)}}"
DIFFERENCES = "reshape %x {shape=(5, 1, 3)}; subtract %0, %y"


@pytest.mark.parametrize(
    ("body", "ops"),
    [
        (f"{DIFFERENCES}; {READ.format('%1')}", ["getitem", "getitem", "subtract"]),
        (
            f"{DIFFERENCES}; sum %1 {{axis=(2,), keepdims=False}}; sqrt %2; {READ.format('%3')}",
            ["getitem", "getitem", "subtract", "sum", "sqrt"],
        ),
        (f"{DIFFERENCES}; norm %1 {{ord=2.0, axis=(2,), keepdims=True}}; {READ.format('%2')}", None),
        (f"exp %z; multiply %0, 2.0; {READ.format('%1')}", ["getitem", "exp", "multiply"]),
        ("sum %y {axis=(1,), keepdims=False}; add %z, %0; " + READ.format("%1"), ["sum", "getitem", "getitem", "add"]),
        ("sum %z {axis=(0, 1), keepdims=True}; divide %z, %0; " + READ.format("%1"), None),
    ],
)
def test_elements_are_computed_alone(body: str, ops: list[str] | None) -> None:
    graph = parse(text(TABLE, body))
    made = picked_early(graph)
    assert all([n.type.shape[:2] != (5, 4) for n in made.nodes if n.op.name != "reshape"])
    assert ops is None or [n.op.name for n in made.nodes if n.inputs] == ops
    rng = np.random.default_rng(0)
    values = [rng.random(i.type.shape) for i in graph.inputs[:3]] + [np.arange(6) % 5, np.arange(6)[::-1] % 4]
    for a, b in zip(interpret(made, *values), interpret(graph, *values), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "body",
    [
        f"exp %z; {READ.format('%0')}; return %1, %0",  # others read it too
        f"cumsum %z {{axis=0}}; {READ.format('%0')}",  # an element depends on others
        f"sum %z {{axis=(0,), keepdims=True}}; broadcast_to %0 {{shape=(5, 4)}}; {READ.format('%1')}",
        READ.format("%z"),
    ],
)
def test_tables_that_stay(body: str) -> None:
    graph = parse(text(TABLE, body))
    assert [n.op.name for n in picked_early(graph).nodes] == [n.op.name for n in graph.nodes]
