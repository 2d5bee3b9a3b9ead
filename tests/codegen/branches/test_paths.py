"""Iterations that run until something holds: each number of rounds is a path, and all paths give the right values."""

import warnings

import numpy as np
import pytest

import tapec
from tests.codegen.kit import drawn


def newton(a):
    x = 1.0 + 0.0 * a
    for _ in range(50):
        dx = (x * x * x - a) / (3.0 * x * x)
        x = x - dx
        if abs(dx) < 1e-12:
            break
    return np.sum(x)


def fixed_point(w, x):
    h = np.zeros(x.shape)
    while True:
        new = np.tanh(w @ h + x)
        if np.max(np.abs(new - h)) < 1e-6:
            return np.sum(new * new)
        h = new


def halving(a):
    """The one side three times by turns with the other."""
    x, s = a, 0.0 * a
    for k in range(24):
        y = np.sin(x) + 0.1 * k
        if np.sum(y) > 1e9:
            return np.sum(y)
        x = 0.5 * (x + y)
        s = s + x * y
        if np.sum(x) < -1e9:
            return np.sum(s)
    return np.sum(s)


def power_iteration(a):
    v, last = np.ones(len(a)) / len(a) ** 0.5, 0.0
    for _ in range(200):
        z = a @ v
        size = np.sqrt(z @ z)
        v = z / size
        if abs(size - last) < 1e-6 * size:
            break
        last = size
    return size


def adaptive(y, k):
    """Every step of it is taken; its length depends on the error."""
    t, h = 0.0, 0.02
    while t < 1.0:
        f = -k * y
        middle = y + 0.5 * h * f
        new = y - h * k * middle
        error = np.sqrt(np.sum((new - y - h * f) ** 2)) + 1e-9
        if error > 1.0:
            h = h * 0.5
            continue
        t, y = t + h, new
        h = h * np.minimum(1.05, 0.1 / error)
    return np.sum(y * y)


def square(n):
    a = drawn(n, n)
    return a @ a.T + np.eye(n)


PROGRAMS = [
    (newton, lambda: (np.float64(1e8),)),
    (newton, lambda: (np.float32(1e4) * np.ones(()),)),
    (fixed_point, lambda: (0.7 * drawn(5, 5), drawn(5))),
    (fixed_point, lambda: (0.7 * drawn(40, 40), drawn(40))),
    (halving, lambda: (np.float64(0.3),)),
    (halving, lambda: (drawn(30),)),
    (halving, lambda: (drawn(3000),)),
    (power_iteration, lambda: (square(40),)),
    (adaptive, lambda: (drawn(3), np.float64(2.0))),
    (adaptive, lambda: (drawn(200), np.float64(2.0))),
]


def numbers(result):
    return [np.asarray(part) for part in (result if isinstance(result, tuple) else (result,))]


def unoptimised(transform, function, *values):
    with tapec.settings(optimize=False):
        return numbers(transform(function)(*values))


@pytest.mark.parametrize("transform", [tapec.compile, tapec.value_and_grad, tapec.jacfwd])
@pytest.mark.parametrize(("function", "drawing"), PROGRAMS)
def test_programs(transform, function, drawing):
    values = drawing()
    f = transform(function)
    f(*values)
    for a, b in zip(numbers(f(*values)), unoptimised(transform, function, *values), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-9 if a.dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("function", [newton, halving, fixed_point, power_iteration])
def test_another_number_of_rounds_is_another_path(function):
    arguments = {fixed_point: [(c * np.eye(9), np.ones(9)) for c in (0.9, 0.5, 0.8)]}.get(function)
    arguments = arguments or {power_iteration: [(np.diag([1.0, c]) + 0.1,) for c in (0.1, 0.6, 0.9)]}.get(function)
    arguments = arguments or [(a,) for a in (1e9, 1e4, 1e12)]
    f = tapec.value_and_grad(function)
    for values in (*arguments, *arguments):
        value, gradient = f(*values)
        with tapec.settings(optimize=False):
            expected = tapec.value_and_grad(function)(*values)
        np.testing.assert_allclose(value, expected[0], rtol=1e-10)
        np.testing.assert_allclose(gradient, expected[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", [(), (30,)])
@pytest.mark.parametrize("transform", [tapec.compile, tapec.grad, tapec.jacfwd])
def test_nothing_is_computed_before_the_test_it_follows(transform, shape):
    """Later rounds, and their derivatives, would divide by zero where a path turns away before."""

    def f(x):
        s = x * 1.0
        for k in range(30):
            s = s - 0.01 * k
            if np.sum(s) <= 0.0:
                return np.sum(x * x)
            s = 0.5 * s + 0.5 * x + np.sqrt(s) * 0.01 + 1e-3 / s
        return np.sum(s * s)

    g = transform(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g(np.ones(shape) * 4.0)
        low = g(np.zeros(shape))
    np.testing.assert_array_equal(low, np.zeros(np.shape(low)))


def test_values_of_all_rounds_are_computed_after_the_first_test():
    def f(x):
        s = 0.0 * x
        for _ in range(30):
            if np.sum(x) < 0.0:
                return s
            s = s + np.sqrt(x) * np.cos(s)
            if s > 1e3:
                return s * s
        return s

    g = tapec.value_and_grad(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = g(2.0)
        assert g(-1.0) == (0.0, 0.0)
    assert g(2.0) == pytest.approx(first)


def restarted(x):
    """Two iterations, and a choice after them."""
    s = x * 1.0
    for _ in range(20):
        s = 0.8 * s + 0.1 * np.sin(s) + 0.01 * x
        if np.sum(np.abs(s)) < 0.5:
            break
    for k in range(25):
        s = s + 0.05 * np.cos(s) * x + 0.01 * k
        if np.sum(s) > 3.0:
            break
    if np.sum(x) > 1.2:
        return np.sum(s * s)
    return np.sum(s * x)


VARIED = [
    (newton, [(a,) for a in (1e8, 1e5, 50.0, 1e9, 3e6, 2.0)]),
    (fixed_point, [(c * (0.2 + np.eye(9)), np.ones(9)) for c in (0.3, 0.9, 0.5, 0.8, 0.85)]),
    (power_iteration, [(np.diag([1.0, c, 0.3]) + 0.1,) for c in (0.1, 0.6, 0.9, 0.5)]),
    (halving, [(a,) for a in (0.3, 1e9, -2e10, 0.7)]),
    (restarted, [(a,) for a in (0.3, 3.0, 0.5, 1.5, 1.1, 2.0, 0.9, 1.3)]),
    (restarted, [(a * np.linspace(0.02, 0.1, 20),) for a in (0.3, 3.0, 0.5, 1.5, 1.1, 2.0, 0.9, 1.3)]),
    (adaptive, [(a * np.ones(3), np.float64(2.0)) for a in (1.0, 5.0, 2.0)]),
    (adaptive, [(a * np.ones(150), np.float64(k)) for a, k in ((1.0, 2.0), (5.0, 3.0), (0.2, 2.0))]),
]


def varied(transform, k):
    """Second derivatives of many rounds take seconds to compile."""
    function, arguments = VARIED[k]
    slow = transform is tapec.hessian and k != 1
    return pytest.param(transform, function, arguments, marks=pytest.mark.thorough if slow else ())


OTHERS = [tapec.compile, tapec.jacfwd, tapec.hessian]


@pytest.mark.parametrize(
    ("transform", "function", "arguments"),
    [varied(tapec.value_and_grad, k) for k in range(len(VARIED))] + [varied(t, k) for t in OTHERS for k in (0, 1, 4)],
)
def test_paths_with_other_numbers_of_rounds(transform, function, arguments):
    f = transform(function)
    first = [numbers(f(*values)) for values in arguments]
    again = [numbers(f(*values)) for values in reversed(arguments)][::-1]
    assert f.cache_info().hits >= len(arguments)  # all paths are known
    for values, *calls in zip(arguments, first, again, strict=True):
        wanted = unoptimised(transform, function, *values)
        for results in calls:
            for found, expected in zip(results, wanted, strict=True):
                assert found.dtype == expected.dtype
                np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_a_value_that_the_conditions_of_three_paths_read_may_be_a_scatter():
    weights = np.array([0.585, -1.404])

    @tapec.value_and_grad
    def f(x, w):
        c = np.polyval(weights, 0.9)
        s = np.array([w[i, j] for i in range(2) for j in range(5) if (i + j) % 2 == 0])
        if abs(np.sum(x)) < 1.5 or np.sum(s) < -1:
            pass
        return c + np.sum(np.sin(x[::2] ** 2))

    x, w = np.arange(1.0, 7.0), np.ones((2, 5))
    for a, b in ((x, w), (x, -w), (x * 0, w), (x, w)):
        wanted = np.where(np.arange(6) % 2, 0.0, 2 * a * np.cos(a**2))
        np.testing.assert_allclose(f(a, b)[1], wanted, atol=1e-12)


def test_a_guard_may_rest_on_whole_numbers_that_numpy_refuses_to_raise():
    def f(x, m):
        steps = [0.5] * m  # how many is a guard
        if x > 0:
            return x * 2**-m * len(steps)
        return x

    g = tapec.compile(f)
    for m in (2, 1, 3, 2):
        for x in (0.5, -0.5):
            assert g(x, m) == f(x, m)
