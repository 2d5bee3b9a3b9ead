"""Squares of lengths are smooth: second derivatives at zero, and all others as they were."""

import numpy as np
import pytest

import tapec
from tests.ops.derivatives import by_tape
from tests.properties import call_count

NORM = np.linalg.norm
SCALES = np.array([0.5, 2.0, 4.0])


def of_rows(x):
    total = 0.0
    for row in x.reshape(3, 1):
        total = total + NORM(row) ** 2
    return total


def of_lengths(x):
    total = 0.0
    for n in NORM(x.reshape(3, 1), axis=1):
        total = total + n * n
    return total


def half(x):
    n = NORM(x)
    return 0.5 * n * n


def bounded(x):
    n = NORM(x)
    return np.where(n < 1, 0.5 * n**2, n - 0.5)


SQUARES = {  # each with its second derivative at zero, if it is not twice the identity
    "norm": lambda x: NORM(x) ** 2,
    "norm, 2.0": lambda x: NORM(x) ** 2.0,
    "product": lambda x: NORM(x) * NORM(x),
    "np.square": lambda x: np.square(NORM(x)),
    "np.power": lambda x: np.power(NORM(x), 2),
    "np.float_power": lambda x: np.float_power(NORM(x), 2),
    "vector_norm": lambda x: np.linalg.vector_norm(x) ** 2,
    "Frobenius": lambda x: NORM(x.reshape(3, 1)) ** 2,
    "matrix_norm": lambda x: np.linalg.matrix_norm(x.reshape(1, 3)) ** 2,
    "along an axis": lambda x: np.sum(NORM(x.reshape(3, 1), axis=1, keepdims=True) ** 2),
    "rows": of_rows,
    "lengths": of_lengths,
    "laid out": lambda x: np.sum(NORM(x.reshape(3, 1), axis=1)[:, None] ** 2),
    "root": lambda x: np.sqrt(np.sum(x * x)) ** 2,
    "root by power": lambda x: ((x @ x) ** 0.5) ** 2,
    "roots": lambda x: np.sum(np.sqrt(x * x) ** 2),
    "absolute": lambda x: np.sum(np.abs(x) ** 2),
    "fabs": lambda x: np.sum(np.fabs(x) * np.fabs(x)),
    "hypot": lambda x: np.hypot(x[0], x[1]) ** 2 + x[2] ** 2,
    "hypot of three": lambda x: np.hypot(np.hypot(x[0], x[1]), x[2]) ** 2,
    "absolute of complex": lambda x: np.abs(x[0] + 1j * x[1]) ** 2 + x[2] ** 2,
    "norm of complex": lambda x: NORM(x * (0.6 + 0.8j)) ** 2,
    "negative": lambda x: (-NORM(x)) ** 2,
    "half": (half, np.eye(3)),
    "quotient": (lambda x: (NORM(x) / 0.5) ** 2, 8 * np.eye(3)),
    "multiple": (lambda x: (3 * NORM(x)) ** 2, 18 * np.eye(3)),
    "multiple of a negative": (lambda x: (3 * -NORM(x)) ** 2, 18 * np.eye(3)),
    "scaled": (lambda x: np.sum((np.abs(x) / SCALES.astype(x.dtype)) ** 2), np.diag(2 / SCALES**2)),
    "kernel": (lambda x: np.exp(-0.5 * (NORM(x) / 0.5) ** 2), -4 * np.eye(3)),
    "bounded": (bounded, np.eye(3)),
    "deviation": (lambda x: np.std(x) ** 2, 2 / 3 * (np.eye(3) - 1 / 3)),
    "fourth power": (lambda x: (NORM(x) ** 2) ** 2, np.zeros((3, 3))),
}


def on_tapes(f):
    def second(x):
        t = tapec.constant(x)
        with tapec.GradientTape() as outer:
            outer.watch(t)
            slope = by_tape(f)(t)
        return outer.jacobian(slope, t).numpy()

    return second


WAYS = {
    "hessian": tapec.hessian,
    "reverse over reverse": lambda f: tapec.jacrev(tapec.grad(f)),
    "reverse over forward": lambda f: tapec.jacrev(tapec.jacfwd(f)),
    "forward over forward": lambda f: tapec.jacfwd(tapec.jacfwd(f)),
    "tapes": on_tapes,
}


def case(name):
    found = SQUARES[name]
    return found if isinstance(found, tuple) else (found, 2 * np.eye(3))


@pytest.mark.sampled(one_in=4, per="name")
@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", SQUARES)
def test_second_derivatives_at_zero(name, dtype, optimize):
    f, expected = case(name)
    x = np.zeros(3, dtype)
    with tapec.settings(optimize=optimize):
        assert np.array_equal(tapec.grad(f)(x), [0, 0, 0])
        for way in WAYS.values():
            np.testing.assert_allclose(way(f)(x), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", SQUARES)
def test_derivatives_elsewhere(name):
    tapec.check_grads(case(name)[0], (np.array([0.1, -0.7, 0.4]),), order=2)


def test_a_length_over_itself_is_no_square():
    """A divisor is no factor of a quotient."""
    x, s = np.array([0.3, -0.4]), np.array([0.5, 2.0])
    for f in (
        lambda x, s: NORM(x) * (np.sum(s * s) / NORM(x)) + np.sum(x * s),
        lambda x, s: (s[0] / NORM(x)) * NORM(x) * x[1],
    ):
        tapec.check_grads(f, (x, s), order=2)


def test_factors_have_derivatives_too():
    x, scale = np.array([[0.3, 0.4], [1.2, -0.5]]), np.array([0.5, 2.0])
    for f in (
        lambda x, s: np.sum((NORM(x, axis=1) / s) ** 2 * [1.0, 2.0]),
        lambda x, s: np.sum((s * NORM(x, axis=1)) ** 2),
        lambda x, s: np.sum((NORM(x, axis=1) / 3.0 * s) ** 2),
        lambda x, s: np.sum(s * np.hypot(x, 2.0) * np.hypot(x, 2.0)),
        lambda x, s: np.sum(np.hypot(x, s) / s * np.hypot(x, s)),
        lambda x, s: np.sum((NORM(x, axis=1)[:, None] * s / 3.0)[:, ::-1] ** 2),
        lambda x, s: np.sum(np.hypot(x, np.array([3, 4])) ** 2 / s),
    ):
        tapec.check_grads(f, (x, scale), order=2)
        for k in (0, 1):  # the other stands still
            slope = tapec.grad(f, argnums=k)(x, scale)
            np.testing.assert_allclose(tapec.jacfwd(f, argnums=k)(x, scale), slope, rtol=1e-12)


def test_no_root_in_the_gradient():
    g = tapec.grad(lambda x: NORM(x) ** 2)
    x = np.array([3.0, 4.0, 12.0])
    assert np.array_equal(g(x), 2 * x)
    assert not call_count(g.source(x), "sqrt", "norm")


def test_the_length_itself_keeps_its_cotangent():
    """Where it has other uses, or its gradient is asked for."""
    x = tapec.constant([3.0, 4.0])
    with tapec.GradientTape() as tape:
        tape.watch(x)
        n = NORM(x)
        y = n**2 + n
    by_length, by_vector = tape.gradient(y, [n, x])
    assert by_length.numpy() == 11.0
    np.testing.assert_allclose(by_vector.numpy(), [6.6, 8.8])


def test_long_chains_are_followed_a_part_of_the_way():
    def nested(x):
        total = x
        for _ in range(3000):
            total = np.hypot(total, 1.0)
        return total**2

    assert tapec.grad(nested)(2.0) == pytest.approx(4.0)

    def scaled(x):
        total = np.abs(x)
        for _ in range(3000):
            total = total * 1.0
        return total**2

    with tapec.settings(optimize=False):
        assert tapec.grad(scaled)(3.0) == 6.0
