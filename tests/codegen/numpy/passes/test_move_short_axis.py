"""Short last axes go before the one in front of them: where that happens, where not, and that nothing else changes."""

import numpy as np
import pytest

from tests.codegen.kit import check, gradient_of, graph_of
from tests.properties import block_loops, has

rng = np.random.default_rng(3)
X, Y = rng.normal(size=(60, 3)), rng.normal(size=(50, 3))


def differences(x, y):
    return x[:, None] - y


def kernel(x, y):
    return np.sum(np.exp(-0.5 * np.sum(differences(x, y) ** 2, axis=-1)))


def attraction(x, y):
    d = differences(x, y[None])
    return np.sum(d * (np.sum(d * d, axis=-1, keepdims=True) + 0.1) ** -1.5, axis=1)


CASES = {
    "kernel": kernel,
    "distances": lambda x, y: np.sum(np.linalg.norm(differences(x, y), axis=-1)),
    "largest": lambda x, y: np.sum(np.max(np.abs(differences(x, y)), axis=2) ** 2),
    "masked": lambda x, y: np.sum(np.where(np.abs(differences(x, y)) < 1.0, differences(x, y), 0.5) ** 2),
    "scaled": lambda x, y: np.sum(np.sin(differences(x, y) / y[0]), axis=(0, 2)) @ y[:, 0],
    "weighted": lambda x, y: np.mean(np.sin(differences(x, y) + np.exp((x[:, :1] * y[:, 0])[..., None]))),
    "kept": lambda x, y: np.sum(np.mean(np.tanh(differences(x, y)), axis=0, keepdims=True) ** 2),
    "rows": lambda x, y: np.sum(np.sum(np.tanh(differences(x, y)), axis=1) * x),
    "by row": lambda x, y: np.sum(np.cos(differences(x, y) + x[:, :1, None])),
    "columns": lambda x, y: np.sum(np.exp(differences(x, y) * y[:, :1]), axis=(0, 1)) @ y[0],
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name, dtype):
    x, y = X.astype(dtype), Y.astype(dtype)
    compiled = check(gradient_of(CASES[name], x, y), x, y)
    assert has(compiled, "_.T.copy()") and not has(compiled, "_[:, None] - _")


def test_results_are_laid_out_as_their_operands():
    graph = graph_of(attraction, X, Y)
    compiled = check(graph, X, Y)
    assert has(compiled, "_.T.copy()") and has(compiled, "x[..., None] - _")
    (forces,) = compiled.function(X, Y)
    assert forces.flags.c_contiguous


@pytest.mark.usefixtures("middle_sized_is_large")
def test_in_blocks():
    x, y = rng.normal(size=(700, 4)), rng.normal(size=(600, 4))
    compiled = check(gradient_of(kernel, x, y), x, y)
    assert [loop.length for loop in block_loops(compiled)] == [700] and has(compiled, "_.T.copy()")


def test_nan_stays_in_its_place():
    x, y = X.copy(), Y.copy()
    x[3, 1], y[4, 2] = np.nan, np.inf
    check(gradient_of(CASES["kernel"], x, y), x, y)


@pytest.mark.parametrize(
    ("f", "x", "y"),
    [
        (differences, X, Y),  # needed as they are
        (lambda x, y: (np.sum(differences(x, y) ** 2, axis=-1), differences(x, y)[0]), X, Y),
        (lambda x, y: np.sum(differences(x, y) @ y.T), X, Y),
        (lambda x, y: np.sum(differences(x, y) ** 2, axis=-1), X[:5], Y),  # too small
        (lambda x, y: np.sum(differences(x, y) ** 2, axis=-1), np.repeat(X, 7, axis=1), np.repeat(Y, 7, axis=1)),
        (lambda x, y: np.sum(differences(x, y) ** 2, axis=-1), np.repeat(X, 9, axis=0), Y[:9]),
        (lambda x, y: np.sum(x * np.sin(x) * y, axis=-1), np.repeat(X[:, None], 50, axis=1), np.repeat(Y[None], 60, 0)),
    ],
)
def test_where_nothing_is_turned(f, x, y):
    assert not has(check(graph_of(f, x, y), x, y), "_.T.copy()")
