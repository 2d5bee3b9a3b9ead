"""Loops on Python floats: their lines, and the names in them, forwards and backwards."""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np
import pytest

import tapec
from tests.properties import call_count, calls, has, loops, names, nodes, text


def outbreak(beta, gamma, i0, data, dt):
    s, i = 1.0 - i0, i0
    loss = 0.0
    for t in range(len(data)):
        new = beta * s * i * dt
        s = s - new
        i = i + new - gamma * i * dt
        loss = loss + (i - data[t]) ** 2
    return loss


def fibonacci(x, y):
    for _ in range(12):
        x, y = y, 0.5 * x + 0.5 * np.sin(y)
    return x * y


def momentum(x, rate):
    v, before = 0.0, x
    for _ in range(12):
        v = 0.9 * v - rate * np.sin(x + 0.1 * before)
        before = x
        x = x + v
    return x * before + v


def predators(p, y):
    for _ in range(12):
        u, v = y[0], y[1]
        k = np.stack([p[0] * u - p[1] * u * v, p[2] * u * v - p[3] * v])
        y = y + 0.05 * k
    return np.sum(y * y)


def runge_kutta(p, y0):
    def rhs(y):
        u, v = y[0], y[1]
        return np.stack([p[0] * u - p[1] * u * v, p[2] * u * v - p[3] * v])

    y = y0
    for _ in range(12):
        k1 = rhs(y)
        k2 = rhs(y + 0.05 * k1)
        y = y + 0.1 * k2
    return np.sum(y * y)


MEANINGLESS = {"prod", "term", "coef", "diff", "gap", "share", "ratio", "combined"}
DATA = np.linspace(0.0, 0.4, 15)
PROGRAMS: list[tuple[Any, tuple[Any, ...], tuple[int, ...]]] = [
    (outbreak, (0.9, 0.2, 0.05, DATA, 0.3), (0, 1, 2)),
    (fibonacci, (0.3, -0.8), (0, 1)),
    (momentum, (0.7, 0.1), (0, 1)),
    (predators, (np.array([1.1, 0.4, 0.1, 0.4]), np.array([1.0, 0.5])), (0, 1)),
    (runge_kutta, (np.array([1.1, 0.4, 0.1, 0.4]), np.array([1.0, 0.5])), (0, 1)),
]


def gradient_of(f: Any, arguments: Any, argnums: Any) -> Any:
    gradient = tapec.value_and_grad(f, argnums=argnums)
    gradient(*arguments)
    return gradient


def source_of(f: Any, arguments: Any, argnums: Any) -> str:
    return str(gradient_of(f, arguments, argnums).source(*arguments))


@pytest.mark.parametrize(("f", "arguments", "argnums"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_values_and_gradients(f: Any, arguments: Any, argnums: Any) -> None:
    value, found = gradient_of(f, arguments, argnums)(*arguments)
    assert value == f(*arguments) and type(value) is np.float64
    for k, d in zip(argnums, found, strict=True):
        assert type(d) is (np.ndarray if np.ndim(arguments[k]) else np.float64)
        for at in np.ndindex(np.shape(arguments[k])):
            changed = []
            for h in (1e-6, -1e-6):
                moved = np.array(arguments[k])
                moved[at] += h
                changed.append(f(*arguments[:k], moved if moved.ndim else float(moved), *arguments[k + 1 :]))
            slope = (changed[0] - changed[1]) / 2e-6
            assert abs(slope - np.asarray(d)[at]) < 1e-6 * (1.0 + abs(slope))


def test_a_loop_backwards_calls_values_as_the_one_forwards_does() -> None:
    _, backward = loops(source_of(*PROGRAMS[0]))
    names = {n.id for n in nodes(backward.target, ast.Name)}
    assert "s" in names and "i2" in names  # `i` is what comes after the turn


def test_carried_values_have_one_name_and_are_changed_in_place() -> None:
    forward, backward = loops(source_of(*PROGRAMS[0]))
    assert {text(n.target) for n in nodes(forward, ast.AugAssign)} >= {"s", "loss"}
    assert {text(n.target) for n in nodes(backward, ast.AugAssign)} >= {"d_beta", "d_gamma"}


def test_sums_begin_together() -> None:
    first = nodes(source_of(*PROGRAMS[0]), ast.Assign)
    together = [{text(t) for t in s.targets} for s in first if len(s.targets) > 1]
    assert any([{"d_beta", "d_gamma"} <= one for one in together])


def test_numbers_of_a_row_are_called_after_the_array() -> None:
    forward, _ = loops(source_of(*PROGRAMS[0]))
    assert text(forward.target) == "data_k" and text(forward.iter) == "data.tolist()"


def test_a_few_numbers_before_and_after_a_loop_are_floats() -> None:
    source = source_of(*PROGRAMS[3])
    assert call_count(source, "np.array") == 2 and call_count(source, "np.float64") == 1
    assert not calls(source, ".dot")


def filtered(logq, logr, y):
    q, r = np.exp(logq), np.exp(logr)
    a, p, ll = 0.0, 10.0, 0.0
    for t in range(len(y)):
        f = p + r
        v = y[t] - a
        ll = ll - 0.5 * (np.log(f) + v * v / f)
        a = a + p / f * v
        p = p * (1.0 - p / f) + q
    return ll / len(y) + q / r


@pytest.mark.parametrize("logq", [0.0, -800.0, 800.0, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("logr", [0.0, -800.0, 800.0, np.nan])
def test_values_at_the_edges_are_those_of_numpy(logq: float, logr: float) -> None:
    gradient = tapec.value_and_grad(filtered, argnums=(0, 1))
    with np.errstate(all="ignore"):
        value, _ = gradient(np.float64(logq), np.float64(logr), DATA)
        wanted = filtered(np.float64(logq), np.float64(logr), DATA)
    np.testing.assert_allclose(value, wanted, rtol=1e-14)


def test_the_length_of_an_argument_is_read() -> None:
    source = source_of(filtered, (0.1, 0.2, DATA), (0, 1))
    assert has(source, "_ / len(y)")


def test_what_a_helper_returns_is_called_as_its_caller_does_and_so_is_its_cotangent() -> None:
    source = source_of(runge_kutta, PROGRAMS[3][1], (0, 1))
    forward, backward = loops(source)
    assert {"k1_0", "k1_1", "k2_0", "k2_1"} <= names(forward)
    assert {"u", "v", "u2", "v2", "d_k1_0", "d_k2_1", "d_u2", "d_v2"} <= names(backward)


def leap(q, k):
    p = 0.2
    for _ in range(12):
        p = p - 0.05 * k * q**3
        q = q + 0.1 * p
    return 0.5 * p**2 + 0.25 * k * q**4


def test_what_loops_sum_is_called_after_the_gradient_that_it_is_a_part_of() -> None:
    source = source_of(leap, (0.4, 1.5), (0, 1))
    _, backward = loops(source)
    assert "d_k" in {text(n.target) for n in nodes(backward, ast.AugAssign)}


@pytest.mark.parametrize("program", [PROGRAMS[0], PROGRAMS[3], PROGRAMS[4]])
def test_derivatives_are_called_after_what_they_are_by(program: Any) -> None:
    _, backward = loops(source_of(*program))
    made = {text(n) for n in nodes(backward, ast.Name) if isinstance(n.ctx, ast.Store)}
    assert made and not [n for n in made if n.rstrip("0123456789") in MEANINGLESS]


def test_an_argument_that_only_a_loop_reads_keeps_its_name() -> None:
    def decayed(decay, xs):
        last = 0.0
        for x in xs:
            last = decay * last + x
        return last

    source = source_of(decayed, (np.float64(0.5), np.linspace(0.0, 1.0, 20)), (0, 1))
    assert "decay2" not in names(source)


def test_a_loop_of_no_elements_has_no_derivative() -> None:
    def loss(x: Any, y: Any) -> Any:
        h = np.outer(y, x)
        for _ in range(12):
            h = h * h / (2.0 + np.abs(h))
        return np.sum(np.sin(y * h))

    value, (d_x, d_y) = tapec.value_and_grad(loss, argnums=(0, 1))(np.zeros(0), np.zeros(0))
    assert (value, d_x.shape, d_y.shape) == (0.0, (0,), (0,))


def test_arrays_of_no_elements_keep_their_shape() -> None:
    def loss(y: Any, s: Any) -> Any:
        h = y * s
        for k in range(12):
            h = 0.5 * h + 0.1 * k
        return np.sum(np.sin(h))

    d_y, d_s = tapec.grad(loss, argnums=(0, 1))(np.zeros((0, 3)), 0.5)
    assert d_y.shape == (0, 3) and d_s == 0.0
    assert tapec.compile(lambda y: np.sin(y) * 2.0)(np.zeros((2, 0))).shape == (2, 0)


def test_rows_of_several_axes_are_collected_in_their_shape() -> None:
    def filtered(x: Any, y: Any) -> Any:
        h, total = x, []
        for k in range(24):
            h = 0.5 * np.clip(np.maximum(h, 0.1 * k) + x, -0.4, 0.9) + 0.1 * y
            total.append(0.9 * h * h + y)
        return np.array(total)

    x, y = np.array([[0.3], [-0.2], [0.8]]), np.array([[0.1, -0.7, 0.4]])
    expected = np.array([filtered(row, y) for row in x])
    np.testing.assert_allclose(tapec.vmap(filtered, in_axes=(0, None))(x, y), expected, rtol=1e-13)


def smoothed(u: Any, a: Any) -> Any:
    h, hs = 0.0, []
    for k in range(30):
        h = a * h + u[k]
        hs.append(h)
    return np.sum(np.stack(hs) ** 2) + 3.0 * h


def test_a_float_beside_a_number_of_numpys_is_not_wrapped() -> None:
    graded = tapec.value_and_grad(smoothed, argnums=(0, 1))
    u, a = np.linspace(-1.0, 1.0, 30), 0.5
    value, (d_u, d_a) = graded(u, a)
    assert type(value) is np.float64
    np.testing.assert_allclose(value, smoothed(u, a), rtol=1e-14)  # processors add in different orders
    np.testing.assert_allclose(d_a, (smoothed(u, a + 1e-6) - smoothed(u, a - 1e-6)) / 2e-6, rtol=1e-7)
    assert d_u.shape == (30,)
    assert call_count(graded.source(u, a), "np.float64") == 1  # of the derivative that is returned


def test_cotangents_of_what_a_loop_collects_are_called_after_it() -> None:
    """No name is of the machinery: `ct1`."""
    source = tapec.value_and_grad(smoothed, argnums=(0, 1)).source(np.ones(30), 0.5)
    assert not [name for name in names(source) if re.fullmatch(r"ct\d*|combined\d*", name)]
    assert [name for name in names(source) if name.startswith("d_h")]


@pytest.mark.parametrize("size", [4, 40])
@pytest.mark.parametrize("rounds", [4, 12])
@pytest.mark.parametrize(
    "change", ["u[1:-1] *= 1.0", "u[1:] += 0.0", "u[:-1] = u[:-1] * 1.0", "u = u.copy(); u[1:] /= 1"]
)
def test_rounds_that_change_nothing(change: str, rounds: int, size: int) -> None:
    space: dict[str, Any] = {}
    exec(f"def f(u):\n    u = u.copy()\n    for _ in range({rounds}):\n        {change}\n    return u", space)
    f, u = space["f"], np.arange(float(size))
    np.testing.assert_array_equal(tapec.compile(f)(u), u)
    np.testing.assert_array_equal(tapec.jacobian(f)(u), np.eye(size))
    value, gradient = tapec.value_and_grad(lambda u: np.sum(f(u) * u))(u)
    assert value == np.sum(u * u)
    np.testing.assert_array_equal(gradient, 2.0 * u)


def continued(x):
    h = 1.0
    for a in x:
        h = h / a + 1.0
    return h


def remainders(x):
    h = 1.0
    for a in x:
        h = h % a + 1.0
    return h


def squares(x):
    h = 2.0
    for a in x:
        h = (h * a) ** 2
    return h


def inverses(x):
    h = 0.5
    for a in x:
        h = (h + a) ** -1
    return h


def two_numbers(x):
    g, h = 1.0, 2.0
    for a in x:
        g, h = h, g / a + h
    return g * h


def beside_numpy(x):
    h, s = 1.0, 0.0
    for a in x:
        h = h / a
        s = s + np.sin(h)
    return s


@pytest.mark.parametrize("rounds", [2, 12, 40])
@pytest.mark.parametrize("f", [continued, remainders, squares, inverses, two_numbers, beside_numpy])
def test_numbers_of_python_raise_errors_in_long_loops_too(f, rounds):
    """Where code on floats raises an error, the one on arrays computes: with Python's numbers as the user's does."""
    good, zero, large = [0.5] * rounds, [0.5] * rounds, [1e200] * rounds
    zero[1] = -1 / (0.5 + 0.5) if f is inverses else 0.0
    for transform in (tapec.compile, tapec.value_and_grad):
        c = transform(f)
        found = c(good) if transform is tapec.compile else c(good)[0]
        np.testing.assert_allclose(found, f(good), rtol=1e-14)
        for x in (zero, large):
            try:
                want = f(x)
            except ArithmeticError as error:
                with pytest.raises(type(error)):
                    c(x)
                with pytest.raises(type(error)):
                    transform(f)(x)
            else:
                np.testing.assert_allclose(c(x) if transform is tapec.compile else c(x)[0], want, rtol=1e-14)
