"""Differential equations: SciPy's values, derivatives of all that goes in, and what is refused."""

import types

import numpy as np
import pytest
import scipy.integrate

import tapec
from tapec.errors import DetachError, UnsupportedError
from tapec.scipy import integrate, ode_solution
from tests.ops.derivatives import check
from tests.ops.test_conformance import CHECKS

RNG = np.random.default_rng(3)


def pendulum(y, t, k, c):
    return np.stack([y[1], -k * np.sin(y[0]) - c * y[1] + 0.1 * t])


TIMES = np.array([0.0, 0.5, 1.3])
TIGHT = {"rtol": 1e-11, "atol": 1e-11}


def test_odeint_gives_scipys_values():
    y0 = np.array([1.0, 0.2])
    expected = scipy.integrate.odeint(pendulum, y0, TIMES, (2.0, 0.3))
    np.testing.assert_array_equal(integrate.odeint(pendulum, y0, TIMES, (2.0, 0.3)), expected)
    found = integrate.odeint(pendulum, tapec.constant(y0), TIMES, (2.0, 0.3))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("what", ["y0", "t", "k"])
def test_odeint_derivatives(what):
    given = {"y0": np.array([1.0, 0.2]), "t": TIMES, "k": np.array(2.0)}

    def f(x):
        now = {**given, what: x}
        return integrate.odeint(pendulum, now["y0"], now["t"], (now["k"], 0.3), **TIGHT)

    check(f, given[what], order=2, rtol=1e-4)


@pytest.mark.parametrize("check_op", CHECKS[:3], ids=lambda f: f.__name__.removeprefix("check_"))
def test_odeint_conforms(check_op):
    for case in ode_solution.ODE.sample(RNG):
        check_op(ode_solution.ODE, case)


def test_odeint_is_in_double_precision_as_scipys():
    y0 = np.array([0.5, 0.1], np.float32)
    start = tapec.constant(y0)
    with tapec.GradientTape() as tape:
        tape.watch(start)
        y = integrate.odeint(pendulum, start, TIMES, (2.0, 0.3), **TIGHT)
        loss = np.sum(y)
    assert y.dtype == scipy.integrate.odeint(pendulum, y0, TIMES, (2.0, 0.3)).dtype == np.float64
    found = tape.gradient(loss, start).numpy()
    gradient = tapec.grad(lambda y0: np.sum(integrate.odeint(pendulum, y0, TIMES, (2.0, 0.3), **TIGHT)))
    expected = gradient(y0.astype(float))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, expected.astype(np.float32))


def test_odeint_time_first_and_lists():
    def rate(t, y):
        return [y[1], -y[0]]

    found = integrate.odeint(rate, tapec.constant([1.0, 0.0]), TIMES, tfirst=True)
    np.testing.assert_allclose(found.numpy()[:, 0], np.cos(TIMES), rtol=1e-6)


# -- closures -------------------------------------------------------------------------------------------------------
FORCE = np.array([0.3, -0.2])
METHODS = ["RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA"]


class Oscillator:
    def __init__(self, k):
        self.k = k

    def rate(self, y, t):
        return [y[1], -self.k * y[0]]


CLOSURES = {
    "odeint": lambda k: integrate.odeint(
        lambda y, t: [k[0] * y[1], -k[1] * y[0] + FORCE[0] * t], [1.0, 0.0], TIMES, **TIGHT
    ),
    "a method": lambda k: integrate.odeint(Oscillator(k[0]).rate, k, TIMES, **TIGHT),
    "solve_ivp": lambda k: (
        integrate.solve_ivp(
            lambda t, y: np.array([k[0] * y[1], -k[1] * y[0]]) + FORCE, (0.0, 1.3), [1.0, 0.5], t_eval=TIMES, **TIGHT
        ).y
    ),
    "solve_ivp, one state": lambda k: (
        integrate.solve_ivp(lambda t, y: -k[0] * y + k[1] * np.cos(t), (0.0, 1.3), [1.0], t_eval=TIMES, **TIGHT).y
    ),
    "args": lambda k: (
        integrate.solve_ivp(
            lambda t, y, a, n: a * y**n, (0.0, 0.4), [1.0, 0.5], t_eval=[0.2, 0.4], args=(k, 2), **TIGHT
        ).y
    ),
    "where": lambda k: (
        integrate.solve_ivp(lambda t, y: np.where(y > 0.5, -k * y, -y), (0.0, 1.3), [1.0, 0.4], t_eval=[0.2], **TIGHT).y
    ),
    "y0": lambda k: integrate.solve_ivp(lambda t, y: [y[1], -np.sin(y[0])], (0.0, 1.3), k, t_eval=TIMES, **TIGHT).y,
    "t_eval": lambda k: integrate.solve_ivp(lambda t, y: -y, (0.0, 3.0), [1.0, 0.5], t_eval=np.sort(k), **TIGHT).y,
    "where it starts": lambda k: integrate.solve_ivp(lambda t, y: -t * y, (k[0], 4.0), k, t_eval=[2.5, 3.0], **TIGHT).y,
    "backwards": lambda k: (
        integrate.solve_ivp(lambda t, y: -k * y, (1.0, 0.0), [1.0, 0.5], t_eval=[0.5, 0.0], **TIGHT).y
    ),
    "tolerances by state": lambda k: (
        integrate.solve_ivp(lambda t, y: k * y, (0.0, 1.0), [1.0, 0.5], t_eval=[1.0], rtol=1e-11, atol=[1e-11, 1e-12]).y
    ),
}


@pytest.mark.parametrize("name", CLOSURES)
def test_derivatives_by_what_the_right_hand_side_closes_over(name):
    check(CLOSURES[name], np.array([0.7, 1.1]), order=2, rtol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_methods_of_solve_ivp(method):
    def f(k, solve=integrate.solve_ivp):
        return solve(lambda t, y: [y[1], -k * y[0]], (0.0, 1.3), [1.0, 0.5], method, TIMES, rtol=1e-9, atol=1e-9).y

    expected = f(2.0, scipy.integrate.solve_ivp)
    value, slope = tapec.jvp(f, (2.0,), (1.0,))
    np.testing.assert_allclose(value, expected, rtol=1e-7)
    np.testing.assert_allclose(slope, (f(2.001) - f(1.999)) / 0.002, rtol=1e-5, atol=1e-6)
    weights = RNG.standard_normal(expected.shape)
    found = tapec.grad(lambda k: np.sum(weights * f(k)))(2.0)
    np.testing.assert_allclose(found, np.sum(weights * slope), rtol=1e-5)


def test_on_a_tape_and_without_one():
    k = tapec.Variable(0.5)
    with tapec.GradientTape() as tape:
        y = integrate.solve_ivp(lambda t, y: -k * y, (0.0, 2.0), [1.0], t_eval=[2.0], **TIGHT).y[0, -1]
    assert float(tape.gradient(y, k)) == pytest.approx(-2.0 * np.exp(-1.0), rel=1e-8)
    plain = integrate.solve_ivp(lambda t, y: -0.5 * y, (0.0, 2.0), [1.0])
    np.testing.assert_array_equal(plain.y, scipy.integrate.solve_ivp(lambda t, y: -0.5 * y, (0.0, 2.0), [1.0]).y)
    started = integrate.solve_ivp(lambda t, y: -0.5 * y, (0.0, 2.0), tapec.constant([1.0]))
    np.testing.assert_array_equal(started.y.numpy(), plain.y)


SCALE = 2.0


@tapec.compile
def compiled_rate(y, k):
    return -k * y / SCALE if k > 0 else k * y


def in_place_rate(y, k):
    out = np.zeros_like(y)
    out[:] = -k * y / SCALE
    return out


@pytest.mark.parametrize("rate", [compiled_rate, in_place_rate], ids=["compiled", "in place"])
@pytest.mark.parametrize("way", ["tape", "grad", "grad on a tape"])
def test_right_hand_sides_may_call_compiled_functions_and_write_in_place(rate, way):
    def end(k):
        return integrate.solve_ivp(lambda t, y: rate(y, k), (0.0, 2.0), [1.0], t_eval=[2.0], **TIGHT).y[0, -1]

    k = tapec.Variable(0.5)
    if way == "tape":
        with tapec.GradientTape() as tape:
            y = end(k)
        found = tape.gradient(y, k).numpy()
    elif way == "grad":
        found = tapec.grad(end)(0.5)
    else:
        with tapec.GradientTape() as tape:
            y = tapec.compile(end)(k)
        found = tape.gradient(y, k).numpy()
    assert found == pytest.approx(-np.exp(-0.5), rel=1e-8)


def test_right_hand_sides_are_compiled_for_the_settings_in_force():
    def end(k):
        y = integrate.solve_ivp(lambda t, y: np.where(y > 9, np.log(-y), -k * y), (0.0, 2.0), [1.0], t_eval=[2.0]).y
        return y[0, -1]

    with np.errstate(all="ignore"):
        assert tapec.compile(end)(0.5) == pytest.approx(np.exp(-1.0), rel=1e-2)
        with tapec.settings(check_nan=True), pytest.raises(FloatingPointError, match="np.log"):
            tapec.compile(end)(0.5)
        assert tapec.compile(end)(0.5) == pytest.approx(np.exp(-1.0), rel=1e-2)


def test_without_t_eval_the_solver_chooses_the_times():
    def end(k, y0):
        found = integrate.solve_ivp(lambda t, y: -k * y, (0.0, 2.0), [y0], **TIGHT)
        assert found.success and found.t[-1] == 2.0 and found.y.shape == (1, len(found.t))
        return found.y[0, -1]

    f = tapec.grad(end, argnums=(0, 1))
    for k in (0.5, 3.0):
        np.testing.assert_allclose(f(k, 1.0), [-2.0 * np.exp(-2.0 * k), np.exp(-2.0 * k)], rtol=1e-8)
    assert "solve_ivp chooses" in f.explain(0.5, 1.0).recorded_anew


def test_constants_that_the_right_hand_side_reads_cost_nothing(monkeypatch):
    """Only what somebody may differentiate with respect to makes the adjoint equation longer."""
    sizes = []
    solve = scipy.integrate.odeint
    monkeypatch.setattr(
        ode_solution.integrate,
        "odeint",
        lambda f, y0, *args, **more: sizes.append(len(y0)) or solve(f, y0, *args, **more),
    )
    table = np.linspace(0.0, 1.0, 50)
    tapec.grad(lambda k: integrate.odeint(lambda y, t: -k * y * np.interp(t, table, table), [1.0, 2.0], TIMES)[-1, 0])(
        0.5
    )
    assert sizes and max(sizes) == 2 + 2 + 1


REFUSED = {
    "a look at the state": (
        lambda k: integrate.odeint(lambda y, t: k * y if y[0] > 0 else -y, [1.0, 0.5], TIMES),
        DetachError,
        r"looks at the value of its state or its time.*Fix: np.where",
    ),
    "a rate of another size": (
        lambda k: integrate.odeint(lambda y, t: k * y[:1], [1.0, 0.5], TIMES),
        ValueError,
        "the state has 2 elements, its rate of change has 1",
    ),
    "events": (
        lambda k: integrate.solve_ivp(lambda t, y: k * y, (0.0, 1.0), [1.0], events=lambda t, y: y[0] - 2).y,
        UnsupportedError,
        "solve_ivp of tensors takes no events",
    ),
    "recorded ends without t_eval": (
        lambda k: integrate.solve_ivp(lambda t, y: -y, (0.0, k), [1.0]).y,
        DetachError,
        "chooses the times between recorded ones. Fix: t_eval=",
    ),
    "times beyond the end": (
        lambda k: integrate.solve_ivp(lambda t, y: -k * y, (0.0, 1.0), [1.0], t_eval=[0.5, 2.0]).y,
        ValueError,
        "values in t_eval are not within t_span",
    ),
    "a complex state": (
        lambda k: np.real(integrate.solve_ivp(lambda t, y: 1j * k * y, (0.0, 1.0), [1.0 + 1j], t_eval=[1.0]).y),
        UnsupportedError,
        "a differential equation of tensors is real",
    ),
    "a complex rate": (
        lambda k: integrate.odeint(lambda y, t: 1j * k * y, [1.0], TIMES),
        UnsupportedError,
        "a differential equation of tensors is real",
    ),
    "an explosion": (
        lambda k: integrate.solve_ivp(lambda t, y: k * y**3, (0.0, 10.0), [1.0], t_eval=[10.0]).y,
        ArithmeticError,
        "solve_ivp: Required step size is less than spacing",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    f, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        tapec.grad(lambda k: np.sum(f(k)))(1.0)
    assert tapec.grad(lambda x: x * x)(3.0) == 6.0  # nothing is left behind


def test_options_that_a_function_captures_are_current():
    state = types.SimpleNamespace()

    def by_odeint(k):
        return integrate.odeint(lambda y, t: -k * y, [1.0], TIMES, rtol=state.rtol, atol=state.atol, mxstep=state.n)[
            -1, 0
        ]

    def by_solve_ivp(k):
        options = {"rtol": state.rtol, "atol": state.atol}
        return integrate.solve_ivp(lambda t, y: -k * y, (0.0, 1.3), [1.0], t_eval=[1.3], **options).y[0, -1]

    for f in (by_odeint, by_solve_ivp):
        compiled = tapec.compile(f)
        for rtol, atol, n in ((1e-2, 1e-2, 500), (1e-9, 1e-9, 600), (1e-9, np.array([1e-3]), 700), (1e-2, 1e-2, 500)):
            state.rtol, state.atol, state.n = rtol, atol, n
            assert compiled(0.5) == f(0.5)


def test_an_option_that_is_an_argument():
    def f(k, rtol):
        return integrate.odeint(lambda y, t: -k * y, [1.0], TIMES, rtol=rtol)[-1, 0]

    with pytest.raises(TypeError, match="rtol says how exactly to solve, and is no argument.*static_argnames='rtol'"):
        tapec.grad(f)(0.5, 1e-9)
    np.testing.assert_allclose(tapec.grad(f, static_argnames="rtol")(0.5, 1e-9), -1.3 * np.exp(-0.65), rtol=1e-6)
