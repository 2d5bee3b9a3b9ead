"""New arrays are as large as arrays at hand, by what operations say, never because sizes are equal by chance."""

import math

import numpy as np
import pytest

import tapec
from tests.properties import calls, constants, has

rng = np.random.default_rng(11)


def rnn(Wx, Wh, b, xs):
    h = np.zeros((xs.shape[1], len(b)))
    for x in xs:
        h = np.tanh(x @ Wx + h @ Wh + b)
    return np.sum(h**2)


def of_rnn(turns, batch, d, hidden):
    shapes = (d, hidden), (hidden, hidden), (hidden,), (turns, batch, d)
    return [0.3 * rng.normal(size=shape) for shape in shapes]


def heat(u, k):
    for _ in range(12):
        inner = u[:-2, 1:-1] + u[2:, 1:-1] - 2.0 * u[1:-1, 1:-1]
        u = u + k * np.pad(inner, 1)
    return np.sum(u * u)


def second_differences(z, y):
    d2 = z[2:] - 2.0 * z[1:-1] + z[:-2]
    return np.sum((y - z) ** 2) + 0.1 * np.sum(d2**2)


def factors(U, V):
    return np.sum(np.exp(U @ V.T)[2:]) + np.sum(V * V)


PROGRAMS = {
    "a recurrence": (rnn, of_rnn(9, 9, 9, 9), of_rnn(5, 4, 3, 7)),
    "a stencil": (heat, [rng.normal(size=(12, 12)), 0.1], [rng.normal(size=(5, 30)), 0.1]),
    "differences": (second_differences, rng.normal(size=(2, 30)), rng.normal(size=(2, 17))),
    "products": (factors, rng.normal(size=(2, 6, 6)), [rng.normal(size=(9, 2)), rng.normal(size=(4, 2))]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_code_for_sizes_that_are_all_equal_is_right_for_others(name):
    function, equal, others = PROGRAMS[name]
    wrt = tuple(range(len(equal)))
    gradient = tapec.value_and_grad(function, argnums=wrt)
    space = {"np": np, "math": math}
    exec(str(gradient.source(*equal)), space)
    for given in (equal, others):
        found = space[f"{function.__name__}_value_and_grad"](*given)
        value, slopes = tapec.value_and_grad(function, argnums=wrt)(*given)
        np.testing.assert_allclose(found[0], value)
        for a, b in zip(found[1:], slopes, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-14)


@pytest.mark.parametrize("name", ["a recurrence", "differences", "products"])
def test_no_size_stands_in_code_as_a_number(name):
    function, _, others = PROGRAMS[name]
    source = tapec.value_and_grad(function, argnums=tuple(range(len(others)))).source(*others)
    sizes = {n for x in others for n in np.shape(x) if n > 4}
    assert sizes and not sizes & set(constants(source))


def cross_entropy(w, x, labels):
    z = np.tanh(x @ w)
    z = z - np.max(z, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[np.arange(len(labels)), labels])


def process(w, x, y):
    u = x * np.exp(w)
    k = np.exp(u @ u.T) + 4.0 * np.eye(len(y))
    return y @ np.linalg.solve(k, y)


def of_process(n, d):
    return 0.1 * rng.normal(size=d), 0.1 * rng.normal(size=(n, d)), rng.normal(size=n)


def of_entropy(n, d, k):
    return rng.normal(size=(d, k)), rng.normal(size=(n, d)), rng.integers(0, k, n)


REMADE = {
    "a range": (cross_entropy, of_entropy(100, 20, 30), of_entropy(70, 8, 9), "np.arange(len(_))"),
    "an identity matrix": (process, of_process(160, 30), of_process(150, 3), "np.eye(len(_))"),
}


@pytest.mark.parametrize("name", REMADE)
def test_ranges_and_identity_matrices_are_as_large_as_arguments(name):
    function, equal, others, made = REMADE[name]
    gradient = tapec.value_and_grad(function)
    for first, later in ((equal, others), (others, equal)):
        source = str(gradient.source(*first))
        assert has(source, made)
        space = {"np": np, "math": math}
        exec(source, space)
        found = space[f"{function.__name__}_value_and_grad"](*later)
        for a, b in zip(found, tapec.value_and_grad(function)(*later), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-12)


def test_a_matrix_that_takes_long_to_make_is_a_constant():
    def added(x):
        return np.sum(np.sin(x) * np.eye(30))

    gradient = tapec.value_and_grad(added)
    x = rng.normal(size=(30, 30))
    assert not calls(gradient.source(x), "np.eye")
    np.testing.assert_allclose(gradient(x)[1], np.cos(x) * np.eye(30))


def test_a_variable_that_is_called_like_an_argument_tells_no_size():
    """Its derivative is called `d_x`, too, and has another shape than x for other sizes."""

    def stretches(x):
        x = np.tanh(x)
        return np.sum(x[2:] * x[:-2]) + np.sum(x[0] ** 3)

    def f(x, w):
        return stretches(x @ w) + np.sum(x)

    square = np.random.default_rng(8).random((6, 6))
    source = tapec.value_and_grad(f, argnums=(0, 1)).source(square, square)
    assert not has(source, "_ = np.zeros(x.shape)")


def test_a_loop_counts_to_the_argument_that_the_users_counts_to():
    def waves(u, steps, others):
        u = u.copy()
        for _ in range(steps):
            u[1:-1] = u[1:-1] + 0.1 * np.sin(u[2:] - 2.0 * u[1:-1] + u[:-2])
        for _ in range(7):
            u[1:-1] = u[1:-1] + 0.1 * np.cos(u[2:] - 2.0 * u[1:-1] + u[:-2])
        return np.sum(u[: len(range(others))] ** 2)

    g, u = tapec.grad(waves), rng.normal(size=40)
    source = g.source(u, 9, 7)
    assert has(source, "range(steps)") and not has(source, "range(9)")
    assert has(source, "range(7)") and not has(source, "range(others)")
    h, e = 1e-6, np.eye(40)
    for steps in (9, 12):  # other numbers of rounds have code of their own
        wanted = [(waves(u + h * x, steps, 7) - waves(u - h * x, steps, 7)) / (2 * h) for x in e]
        np.testing.assert_allclose(g(u, steps, 7), wanted, rtol=1e-6, atol=1e-7)
