"""np.maximum.at and np.minimum.at: one operation, wherever values go at each call."""

import numpy as np
import pytest

import tapec
from tests.properties import has

RNG = np.random.default_rng(0)
X, ROWS, COLUMNS = RNG.standard_normal((4, 3)), np.array([2, 0, 2, 2, 3, 0]), np.array([1, 2, 0, 1, 1, 0])
INDICES = {
    "rows": (ROWS, (6, 3)),
    "from the end": (ROWS - 4, (6, 3)),
    "table of rows": (ROWS.reshape(2, 3), (2, 3, 3)),
    "one row": (1, (3,)),
    "columns": ((slice(None), COLUMNS), (4, 6)),
    "places": ((ROWS, COLUMNS), (6,)),
    "mask": (X > 0.0, (int(np.sum(X > 0.0)),)),
    "none": (ROWS[:0], (0, 3)),
}


@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum])
@pytest.mark.parametrize("which", INDICES)
def test_values_and_derivatives(ufunc, which):
    index, shape = INDICES[which]
    numbers = 0.1 * RNG.permutation(12 + int(np.prod(shape))) - 1.0  # no two are near
    x, values = numbers[:12].reshape(4, 3), numbers[12:].reshape(shape)

    def f(x, v):
        y = x.copy()
        ufunc.at(y, index, v)
        return np.sin(y)

    assert tapec.compile(f)(x, values).tobytes() == f(x, values).tobytes()
    tapec.check_grads(f, (x, values), order=2)


def softmax_by_target(scores, target, n):
    """As in attention on a graph: the largest score of each target is taken off."""
    top = np.full_like(scores, -np.inf, shape=n)
    np.maximum.at(top, target, scores)
    weights = np.exp(scores - top[target])
    total = np.zeros_like(scores, shape=n)
    np.add.at(total, target, weights)
    return weights / total[target]


def test_index_arguments_are_inputs():
    """They were looked at: each call recorded the function anew."""

    @tapec.grad
    def loss(scores, target):
        return np.sum(softmax_by_target(scores, target, 4) ** 2 * np.arange(6.0))

    def expected(scores, target):
        weights = np.exp(scores) / np.array([np.sum(np.exp(scores)[target == t]) for t in target])
        slope = 2.0 * weights * np.arange(6.0)
        inner = np.array([np.sum((slope * weights)[target == t]) for t in target])
        return weights * (slope - inner)

    for k in range(4):
        scores, target = RNG.standard_normal(6), np.roll(ROWS, k)
        np.testing.assert_allclose(loss(scores, target), expected(scores, target), atol=1e-12)
    assert loss.cache_info().compilations == 1
    assert has(loss.source(scores, target), "changed_at(np.maximum, top, target, scores)")


def test_ties_are_shared_evenly_with_what_stood_there():
    @tapec.grad(argnums=(0, 1))
    def loss(x, v):
        y = x.copy()
        np.maximum.at(y, [0, 0, 1, 1], v)
        return np.sum(y * np.array([3.0, 2.0, 5.0]))

    d_x, d_v = loss(np.array([1.0, 0.0, 7.0]), np.array([1.0, 1.0, 2.0, 2.0]))
    np.testing.assert_allclose(d_x, [1.0, 0.0, 5.0])
    np.testing.assert_allclose(d_v, [1.0, 1.0, 1.0, 1.0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_what_stood_there_keeps_its_dtype(dtype):
    def f(x, v):
        y = (x * 10).astype(dtype)
        np.maximum.at(y, ROWS[:4], v.astype(dtype))
        np.minimum.at(y, 3, 1)
        return y

    got, want = tapec.compile(f)(X[:, 0], X[:, 1]), f(X[:, 0], X[:, 1])
    assert got.dtype == want.dtype and got.tobytes() == want.tobytes()


def test_places_of_each_example():
    def f(scores, target):
        return softmax_by_target(scores, target, 4)

    scores, targets = RNG.standard_normal((5, 6)), RNG.integers(0, 4, (5, 6))
    expected = np.stack([f(*pair) for pair in zip(scores, targets)])
    np.testing.assert_allclose(tapec.vmap(f)(scores, targets), expected)
    expected = np.stack([f(s, targets[0]) for s in scores])
    np.testing.assert_allclose(tapec.vmap(f, in_axes=(0, None))(scores, targets[0]), expected)


def test_a_place_that_is_not_there():
    def f(x):
        y = x.copy()
        np.maximum.at(y, [0, 4], 1.0)
        return y

    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4"):
        tapec.compile(f)(X)


def test_it_is_exported_with_its_helper(tmp_path):
    tapec.compile(softmax_by_target).export(tmp_path / "softmax.py", X[:, 0], ROWS[:4], 4)
    space = {}
    exec((tmp_path / "softmax.py").read_text(), space)
    expected = softmax_by_target(X[:, 0], ROWS[:4], 4)
    np.testing.assert_allclose(space["softmax_by_target"](X[:, 0], ROWS[:4], 4), expected)
