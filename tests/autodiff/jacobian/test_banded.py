"""Shifted diagonals: Jacobians and Hessians with bands, against differences and against what NumPy writes by hand."""

import numpy as np
import pytest

import tapec
from tests.ops.derivatives import differences
from tests.properties import allocates, statements

N = 7
X = np.random.default_rng(0).standard_normal(N) + 0.1

MAPS = {
    "differences": lambda x: x[1:] - x[:-1],
    "second differences": lambda x: x[2:] - 2.0 * x[1:-1] + x[:-2],
    "products of neighbours": lambda x: x[1:] * np.sin(x[:-1]),
    "quotients": lambda x: x[2:] / (1.0 + x[:-2] ** 2),
    "far apart": lambda x: x[5:] * x[:2],
    "slices of slices": lambda x: (x[1:] ** 2)[1:-1] * x[1:-2],
    "selected": lambda x: np.where(x[1:] > 0, x[1:] * x[:-1], 0.0),
    "no overlap": lambda x: (x[:4] * 2.0)[1:3] - x[4:6],
    "written": lambda x: np.concatenate([x[1:] * x[:-1], x[:1]]),
    "then a product": lambda x: np.arange(18.0).reshape(3, 6) @ (x[1:] * x[:-1]),
    "backwards": lambda x: x[::-1] * x,
    "every second": lambda x: x[::2] * x[1] + x[::2][0],
    "one element": lambda x: x[1:2] * x[2:3],
    "broadcast": lambda x: x[1:2] * x[2:],
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("jacobian", [tapec.jacrev, tapec.jacfwd])
def test_jacobians(name, jacobian):
    f = MAPS[name]
    assert np.allclose(jacobian(f)(X), differences(f, X), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", MAPS)
def test_hessians(name):
    def loss(x):
        return np.sum(MAPS[name](x) ** 2)

    assert np.allclose(tapec.hessian(loss)(X), differences(tapec.grad(loss), X), rtol=1e-6, atol=1e-7)


def test_bands_are_never_multiplied_as_a_matrix():
    f = tapec.hessian(lambda x: np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))
    large = np.random.default_rng(1).standard_normal(60)
    source = f.source(large)
    assert not allocates(source, "eye") and allocates(source, "zeros", (3600,))
    for x in (large, X):  # a few elements are computed one by one
        h = f(x)
        assert np.allclose(h, np.triu(np.tril(h, 1), -1)) and np.allclose(h, h.T)
        g3 = 2 + 1200 * x[0] ** 2 - 400 * x[1]
        assert np.allclose([h[0, 0], h[0, 1], h[-1, -1]], [g3, -400 * x[0], 200])


def test_of_a_vmap():
    xs = np.stack([X, 2 * X])
    found = tapec.vmap(tapec.jacobian(MAPS["products of neighbours"]))(xs)
    assert np.allclose(found[1], tapec.jacobian(MAPS["products of neighbours"])(2 * X))


def test_third_derivatives():
    def loss(x):
        return np.sum(x[1:] ** 2 * x[:-1])

    third = tapec.jacobian(tapec.hessian(loss))(X)
    expected = differences(lambda x: tapec.hessian(loss)(x).ravel(), X).reshape(N, N, N)
    assert np.allclose(third, expected, rtol=1e-7, atol=1e-8)


def diffused(steps):
    def f(x):
        for _ in range(steps):
            x = np.concatenate([x[:1], x[1:-1] ** 2 + 0.1 * (x[2:] - 2.0 * x[1:-1] + x[:-2]), x[-1:]])
        return x

    return f


@pytest.mark.parametrize("jacobian", [tapec.jacrev, tapec.jacfwd])
@pytest.mark.parametrize("steps", [3, 6])
def test_many_steps_of_a_stencil(jacobian, steps):
    x = np.linspace(0.2, 0.9, 12)
    assert np.allclose(jacobian(diffused(steps))(x), differences(diffused(steps), x), rtol=1e-7, atol=1e-8)


def test_code_grows_with_the_steps_of_a_stencil():
    x = np.linspace(0.2, 0.9, 12)
    curvature = [tapec.jacrev(tapec.grad(lambda x, n=n: np.sum(diffused(n)(x) ** 2))) for n in (4, 6, 8)]
    few, more, most = [len(statements(f.source(x))) for f in curvature]
    assert most - more <= 1.5 * (more - few)
