"""Gradients of gradients: tapes in tapes, to any order, and tapes beside traced functions."""

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable, constant


def derivative(f, x, order):
    """The derivative of f at x, by tapes in tapes."""
    if order == 0:
        return f(x)
    with GradientTape() as tape:
        tape.watch(x)
        y = derivative(f, x, order - 1)
    return tape.gradient(y, x)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5, 6])
def test_all_orders_of_a_sine(order):
    found = derivative(np.sin, constant(0.7), order)
    assert found.numpy() == pytest.approx(np.sin(0.7 + order * np.pi / 2), rel=1e-13)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_all_orders_of_a_composition(order):
    """exp(-x²): Hermite polynomials."""
    hermite = np.polynomial.hermite.Hermite.basis(order)
    found = derivative(lambda x: np.exp(-x * x), constant(0.3), order)
    assert found.numpy() == pytest.approx((-1) ** order * hermite(0.3) * np.exp(-0.09), rel=1e-12)


def test_gradient_of_a_gradient_of_a_matrix_program(rng):
    w, x = rng.standard_normal((3, 2)), rng.standard_normal((4, 3))

    def penalty(w):
        with GradientTape() as tape:
            tape.watch(w)
            loss = np.mean(np.tanh(x @ w) ** 2)
        return np.sum(tape.gradient(loss, w) ** 2)

    tw = constant(w)
    with GradientTape() as tape:
        tape.watch(tw)
        y = penalty(tw)
    found = tape.gradient(y, tw).numpy()

    step = 1e-5
    for i in np.ndindex(w.shape):
        up, down = w.copy(), w.copy()
        up[i] += step
        down[i] -= step
        slope = (penalty(constant(up)).numpy() - penalty(constant(down)).numpy()) / (2 * step)
        assert found[i] == pytest.approx(slope, rel=1e-6, abs=1e-9)


def test_mixed_second_derivatives():
    x, y = constant(2.0), constant(3.0)
    with GradientTape() as outer:
        outer.watch([x, y])
        with GradientTape() as inner:
            inner.watch(x)
            z = x * x * y * y
        dx = inner.gradient(z, x)
    dxx, dxy = outer.gradient(dx, [x, y])
    assert dx.numpy() == 36.0 and dxx.numpy() == 18.0 and dxy.numpy() == 24.0


def test_an_inner_tape_that_watches_an_intermediate_value():
    x = constant(3.0)
    with GradientTape() as outer:
        outer.watch(x)
        y = x * x
        with GradientTape() as inner:
            inner.watch(y)
            z = y * y
        dz = inner.gradient(z, y)
        w = dz * x
    assert dz.numpy() == 18.0
    assert outer.gradient(w, x).numpy() == 6 * 9.0  # of 2x³


def test_persistent_inner_tape_used_several_times_inside_an_outer_one():
    x = constant(2.0)
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape(persistent=True) as inner:
            inner.watch(x)
            y = x**3
            z = np.exp(x)
        total = inner.gradient(y, x) + inner.gradient(z, x)
    assert outer.gradient(total, x).numpy() == pytest.approx(12.0 + np.exp(2.0), rel=1e-15)


def test_the_gradient_computation_alone_is_recorded():
    """The inner tape finished before the outer one began."""
    x = constant(3.0)
    with GradientTape(persistent=True) as inner:
        inner.watch(x)
        y = x * x * x
    with GradientTape() as outer:
        outer.watch(x)
        slope = inner.gradient(y, x)
    # of (x * x) * x the outer tape sees the last product's derivatives, x * x and x, and of these x alone as x:
    # the slope is s + 2 x · x, where s is the value of x * x that the inner tape recorded
    assert slope.numpy() == 27.0
    assert outer.gradient(slope, x).numpy() == 12.0


def test_second_derivative_by_one_variable():
    x = Variable(1.0)
    with GradientTape() as t:
        with GradientTape() as t2:
            y = x * x * x
        dy_dx = t2.gradient(y, x)
    assert dy_dx.numpy() == 3.0
    assert t.gradient(dy_dx, x).numpy() == 6.0


def test_second_derivatives_of_linear_functions_are_none():
    x = constant([1.0, 2.0])
    for f in (lambda x: 3 * x, np.sum, np.mean, lambda x: x[0], lambda x: np.reshape(x, (2, 1)), lambda x: x / 2):
        with GradientTape() as outer:
            outer.watch(x)
            with GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            slope = inner.gradient(y, x)
        assert outer.gradient(slope, x) is None


def test_the_second_derivative_of_abs_is_a_zero_tensor():
    x = constant([-1.0, 2.0])
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = np.abs(x)
        slope = inner.gradient(y, x)
    assert outer.gradient(slope, x).numpy().tolist() == [0.0, 0.0]


def test_second_derivative_through_stop_gradient():
    x = constant(3.0)
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = x * x * tapec.stop_gradient(x)
        slope = inner.gradient(y, x)  # 2 x s
    assert slope.numpy() == 18.0
    assert outer.gradient(slope, x).numpy() == 6.0  # 2 s


# -- tapes and traced functions --------------------------------------------------------------------------------------
def test_a_compiled_function_inside_a_tape():
    @tapec.compile
    def f(x):
        return np.sum(np.sin(x) * x)

    x = constant([0.3, 0.7])
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x) * 2.0
    expected = 2 * (np.cos([0.3, 0.7]) * [0.3, 0.7] + np.sin([0.3, 0.7]))
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), expected, rtol=1e-14)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: tapec.scan(lambda h, row: (h * x[0], h), x[0], np.ones((3, 2)))[0],
        lambda x: np.linalg.qr(x)[0],
        lambda x: np.linalg.qr(x)[1],
    ],
    ids=["scan without its rows", "qr without r", "qr without q"],
)
def test_a_compiled_function_that_returns_one_of_several_results_inside_a_tape(f):
    x = np.array([[2.0, 0.5], [0.3, 1.5]])
    v = Variable(x)
    with GradientTape() as outer:
        with GradientTape() as tape:
            y = np.sum(tapec.compile(f)(v) ** 3)
        slope = tape.gradient(y, v)
        squares = np.sum(slope**2)
    expected = tapec.grad(lambda x: np.sum(f(x) ** 3))
    np.testing.assert_allclose(slope.numpy(), expected(x), rtol=1e-12)
    second = tapec.grad(lambda x: np.sum(expected(x) ** 2))(x)
    np.testing.assert_allclose(outer.gradient(squares, v).numpy(), second, rtol=1e-12, atol=1e-12)


def test_a_gradient_function_inside_a_tape():
    slope = tapec.grad(lambda x: np.sum(x**3))
    x = constant([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = np.sum(slope(x))
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), [6.0, 12.0], rtol=1e-15)


def test_a_tape_inside_a_traced_function():
    def slope_squared(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = np.sum(x**3)
        return np.sum(tape.gradient(y, x) ** 2)

    x = np.array([1.0, 2.0])
    assert tapec.compile(slope_squared)(x) == pytest.approx(9.0 + 144.0)
    np.testing.assert_allclose(tapec.grad(slope_squared)(x), 36 * x**3, rtol=1e-14)
    np.testing.assert_allclose(tapec.grad(slope_squared)(2 * x), 36 * (2 * x) ** 3, rtol=1e-14)


def test_a_persistent_tape_with_everything_in_it():
    x = constant(0.5)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = np.sin(x)
        first = tape.gradient(y, x)
        second = tape.gradient(first, x)
        third = tape.gradient(second, x)
    assert first.numpy() == pytest.approx(np.cos(0.5))
    assert second.numpy() == pytest.approx(-np.sin(0.5))
    assert third.numpy() == pytest.approx(-np.cos(0.5))
    assert tape.gradient(third, x).numpy() == pytest.approx(np.sin(0.5))
