"""Loops of Jacobians, Hessians and their products with vectors: to the bit what the code without loops gives."""

import numpy as np
import pytest

import tapec
from tapec.codegen import tuning
from tests.properties import call_count, has, has_loop, loop_count, statements, updates

RNG = np.random.default_rng(0)
MATRIX, STATES, VECTOR = RNG.normal(size=(5, 5)) / 3, RNG.normal(size=(12, 5)), RNG.normal(size=(5, 5))


def rate(y, p):
    return np.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])


def runge_kutta(p):
    y, seen = np.array([1.0, 0.5]), []
    for _ in range(12):
        a = rate(y, p)
        b = rate(y + 0.05 * a, p)
        c = rate(y + 0.05 * b, p)
        y = y + 0.1 / 6 * (a + 2 * b + 2 * c + rate(y + 0.1 * c, p))
        seen.append(y)
    return np.concatenate(seen)


def variances(p):
    v, loss = 1.0, 0.0
    for r in STATES.ravel():
        loss = loss + np.log(v) + r**2 / v
        v = p[0] + p[1] * r**2 + p[2] * v
    return loss


def variances_of(p, returns):
    v, loss = 1.0, 0.0
    for k in range(len(returns)):
        loss = loss + np.log(v) + returns[k] ** 2 / v
        v = p[0] + p[1] * returns[k] ** 2 + p[2] * v
    return loss


def rnn(w):
    s = np.zeros(5)
    for k in range(12):
        s = np.tanh(w @ s + STATES[k])
    return np.sum(s * s)


def valley(z):
    return (1 - z[0]) ** 2 + 100 * (z[1] - z[0] ** 2) ** 2


def momentum(rates):
    """From here one side is flat: the zero is used again by the first step of a derivative."""
    z, v = np.array([-1.0, 1.0]), np.zeros(2)
    for _ in range(20):
        z = z + (v := rates[1] * v - rates[0] * tapec.grad(valley)(z))
    return valley(z)


@pytest.fixture
def written_out(monkeypatch):
    """Calls a function whose code has no loops."""

    def call(function, *args):
        with monkeypatch.context() as patch:
            patch.setattr(tuning, "FLOAT_LOOPS_MIN_SPARED_OPS", 10**9)
            patch.setattr(tuning, "ARRAY_LOOPS_MIN_SPARED_OPS", 10**9)
            assert not has_loop(function.source(*args))
            return function(*args)

    return call


P4, P3 = np.array([1.0, 0.5, 0.3, 0.6]), np.array([0.1, 0.1, 0.8])
CASES = {
    "steps of a step are alike": (lambda: tapec.jacfwd(runge_kutta), (P4,), 200),
    "so are those of its derivatives": (lambda: tapec.hessian(lambda p: np.sum(runge_kutta(p) ** 2)), (P4,), 1100),
    "squares of elements": (lambda: tapec.hessian(variances_of), (P3, STATES.ravel()), 300),
    "squares of numbers": (lambda: tapec.hessian(variances), (P3,), 300),
    "an operation of a step that stands before all": (lambda: tapec.hessian(momentum), (np.array([1e-4, 0.5]),), 200),
    "products of two loops by turns": (lambda: tapec.hvp(rnn), (MATRIX, VECTOR), 60),
}


@pytest.mark.parametrize("case", CASES)
def test_derivatives(case, written_out):
    make, args, most = CASES[case]
    function = make()
    got, source = function(*args), function.source(*args)
    assert has_loop(source) and len(statements(source)) < most
    np.testing.assert_array_equal(got, written_out(make(), *args))


def test_rows_of_a_matrix_that_steps_make_by_turns():
    """State and derivatives are one loop, which keeps the elements of two rows at once."""
    source = tapec.jacfwd(runge_kutta).source(P4)
    assert loop_count(source) == 1 and has(source, "_.reshape((24, 4))")
    assert has(source, "[part for step in steps for part in step]")


def test_factors_that_loops_make_one_after_the_other():
    source = tapec.hvp(rnn).source(MATRIX, VECTOR)
    assert has(source, "np.array([_, *_[:-1], *_[-2::-1], _])")


def test_rows_that_loops_make_by_turns(written_out):
    def rows(x, y):
        xs, ys = [], []
        for _ in range(30):
            x = np.tanh(x) * 0.9
            xs.append(x)
        for _ in range(30):
            y = np.sin(y) - 0.1
            ys.append(y)
        return np.stack([row for pair in zip(xs, ys, strict=True) for row in pair])

    function = tapec.compile(rows)
    assert has(function.source(VECTOR, MATRIX), "[part for step in zip(...) for part in step]")
    np.testing.assert_array_equal(function(VECTOR, MATRIX), rows(VECTOR, MATRIX))


def test_sums_whose_addends_are_kept_are_made_in_place():
    """After the first step a sum is an addend like the others."""

    def loss(w, b, xs):
        h = np.zeros(5)
        for t in range(40):
            h = np.tanh(w @ h + xs[t] + b)
        return np.sum(h * h)

    args = MATRIX, MATRIX[0], np.concatenate([STATES] * 4)
    gradient = tapec.grad(loss, argnums=(0, 1))
    source = gradient.source(*args)
    assert updates(source, "+", "d_b") and call_count(source, "append") == 2
    tapec.check_grads(loss, args)
