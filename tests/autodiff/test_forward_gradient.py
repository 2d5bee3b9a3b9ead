"""Derivatives by few numbers go forwards, beside the values: one loop that keeps nothing, and the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tapec
from tapec.api.transforms import compile_and_grad
from tapec.autodiff import forward_gradient, tuning
from tapec.autodiff.compose.inline_graph import copy_into
from tapec.autodiff.reverse import value_and_grad_graph
from tapec.ir import Builder, Graph, Type, input_node, verify
from tapec.ir.checks.interpreter import interpret
from tapec.ops import Symbol
from tests.autodiff.programs import close, draw_like, programs
from tests.properties import assigned, calls, entry, loop_count, loops

YS = np.random.default_rng(5).normal(size=40).cumsum() * 0.3


# -- programs of one number -------------------------------------------------------------------------------------------
def pendulum(length):
    angle, speed, cost = 1.0, 0.0, 0.0
    for _ in range(40):
        angle, speed = angle + 0.02 * speed, speed - 0.02 * (9.81 / length * np.sin(angle) + 0.1 * speed)
        cost = cost + (angle - 0.3) ** 2
    return cost


def kalman(q, r=0.5):
    x, p, loss = 0.0, 1.0, 0.0
    for y in YS:
        p = p + q
        e, s = y - x, p + r
        k = p / s
        loss = loss + 0.5 * (np.log(s) + e * e / s)
        x, p = x + k * e, (1 - k) * p
    return loss


def markov(stay):
    a, b, loss = 0.5, 0.5, 0.0
    for y in YS > 0:
        u, v = (0.7, 0.2) if y else (0.3, 0.8)
        a, b = (a * stay + b * (1 - stay)) * u, (a * (1 - stay) + b * stay) * v
        s = a + b
        loss, a, b = loss - np.log(s), a / s, b / s
    return loss


def heat(k):
    u = np.sin(np.arange(20.0))
    for _ in range(12):
        u = u + k * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
    return np.sum(u * u)


def wave(c):
    u = w = np.outer(np.sin(np.arange(6.0)), np.cos(np.arange(5.0)))
    for _ in range(8):
        inner = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        u, w = np.pad(2 * u[1:-1, 1:-1] - w[1:-1, 1:-1] + c * inner, 1), u
    return np.sum(u * u)


def layers(scale):
    w, v = np.cos(np.arange(36.0)).reshape(6, 6), np.ones(6)
    for _ in range(15):
        v = np.tanh(scale * (w @ v) + 0.1)
    return np.mean(v)


def stored(k):
    u = np.zeros(30) + 0.0 * k
    u[0] = 1.0
    for t in range(29):
        u[t + 1] = u[t] * np.exp(-k * u[t]) + 0.1 * k
    return u[-1] + np.sum(u[::3])


def kinks(x):
    y = x
    for k in range(12):
        y = np.maximum(y, 0.5) - np.abs(y - 0.5) + np.clip(y, 0.5, 2.0) * 0.25 * k
        y = np.minimum(y, 3.0) * 0.5 + np.where(y > 0.5, y, -y) * 0.1
    return y


def masked(x):
    y = x
    for _ in range(12):
        root = np.sqrt(np.where(y > 10.0, y - 10.0, 0.0))
        y = y * 0.9 + np.where(y > 10.0, root / (y - y + 1.0), 0.1 * np.sin(y))
    return y


def smooth(x):
    y = x
    for _ in range(10):
        y = y / (1 + np.exp(-y)) + np.log(1 + y * y) ** 1.5 + np.arctan2(y, 2.0) - np.sqrt(1 + y * y) * np.tanh(y)
        y = np.hypot(y, 1.0) - 1 / (2.0 + y**3 * 0.01)
    return y


ONE = {
    "pendulum": (pendulum, 1.1),
    "kalman": (kalman, 0.05),
    "markov": (markov, 0.8),
    "heat": (heat, 0.2),
    "wave": (wave, 0.2),
    "layers": (layers, 0.3),
    "stored": (stored, 0.7),
    "kinks": (kinks, 0.8),
    "kinks at a tie": (kinks, 0.5),
    "masked": (masked, 0.8),
    "smooth": (smooth, 0.4),
}


# -- and of several ---------------------------------------------------------------------------------------------------
def arma(p):
    e = s = 0.0
    for t in range(1, 40):
        e = YS[t] - p[0] * YS[t - 1] - p[1] * e
        s = s + e * e
    return s


def logistic(r, x):
    for _ in range(60):
        x = r * x * (1.0 - x)
    return x


SEVERAL = {
    "arma": (arma, (np.array([0.6, 0.3]),)),
    "arma at other places": (lambda p: arma([p[1, 0], p[-2, -1]]), (np.array([[0.6], [0.3]]),)),
    "logistic": (logistic, (3.2, 0.3)),
    "structures": (lambda p: logistic(p["r"], p["x"][0]), ({"r": 3.2, "x": [0.3]},)),
    "one of them reaches nothing": (lambda r, x: logistic(r, 0.3) + 0.0 * np.floor(x), (3.2, 0.3)),
}


def backwards(monkeypatch: pytest.MonkeyPatch, f: Any, *args: Any, **options: Any) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr(compile_and_grad, "gradient_graph", value_and_grad_graph)
        return tapec.value_and_grad(lambda *args: f(*args), **options)(*args)  # for the same function, the same code


def goes_forwards(found: Any, *args: Any) -> bool:
    return "forwards beside the values" in str(found.explain(*args))


def same(a: Any, b: Any, tolerance: float = 1e-12) -> None:
    import optree

    ours, theirs = optree.tree_leaves(a), optree.tree_leaves(b)
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs, strict=True):
        assert type(x) is type(y)
        assert getattr(x, "dtype", None) == getattr(y, "dtype", None)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


# -- the same results -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ONE)
def test_one_number_goes_backwards(name, monkeypatch):
    f, x = ONE[name]
    found = tapec.value_and_grad(f)
    same(found(x), backwards(monkeypatch, f, x))
    same(found(np.float64(x)), backwards(monkeypatch, f, np.float64(x)))
    assert goes_forwards(found, x)


@pytest.mark.parametrize("name", [name for name in ONE if "tie" not in name])
def test_it_is_the_limit_of_differences(name):
    f, x = ONE[name]
    slope = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(tapec.grad(f)(x), slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ONE)
def test_in_single_precision(name, monkeypatch):
    f, x = ONE[name]
    found = tapec.value_and_grad(f)(np.float32(x))
    same(found, backwards(monkeypatch, f, np.float32(x)), 2e-4)
    assert found[1].dtype == np.float32


@pytest.mark.parametrize("shape", [(1,), (1, 1)])
def test_arrays_of_one_element(shape, monkeypatch):
    f, x = lambda x: pendulum(x.reshape(-1)[0]), np.full(shape, 1.1)
    found = tapec.value_and_grad(f)
    same(found(x), backwards(monkeypatch, f, x))
    assert found(x)[1].shape == shape
    assert goes_forwards(found, x)
    same(tapec.grad(pendulum)(x), backwards(monkeypatch, pendulum, x)[1])


@pytest.mark.parametrize("name", SEVERAL)
def test_by_several_numbers(name, monkeypatch):
    f, args = SEVERAL[name]
    argnums = tuple(range(len(args)))
    found = tapec.value_and_grad(f, argnums=argnums)
    same(found(*args), backwards(monkeypatch, f, *args, argnums=argnums), 1e-11)
    assert goes_forwards(found, *args)


@pytest.mark.sampled(one_in=4, per="f")
@pytest.mark.parametrize("x", [0.0, -0.0, -1.0, np.inf, -np.inf, np.nan, 1e-320, 1e308])
@pytest.mark.parametrize("f", [kalman, markov, pendulum, stored])
def test_where_values_are_no_numbers(f, x, monkeypatch):
    with np.errstate(all="ignore"):
        value, slope = backwards(monkeypatch, f, np.float64(x))
        own_value, own_slope = tapec.value_and_grad(f)(np.float64(x))
    np.testing.assert_allclose(own_value, value, rtol=4e-16)  # sums of elements may be in another order
    if np.isfinite(slope):
        np.testing.assert_allclose(own_slope, slope, rtol=1e-11)
    else:
        assert not np.isfinite(own_slope)  # what overflows may come to inf - inf on one of the ways


def test_what_is_not_taken_has_no_part_in_it():
    def f(x):
        y = x
        for k in range(15):
            y = y + np.where(x > k, np.log(np.where(x > k, x - k, 1.0)), 0.0) * 0.1
        return y

    assert tapec.grad(f)(0.0) == 1.0
    assert tapec.grad(f)(0.5) == pytest.approx(1.0 + 0.1 / 0.5, rel=1e-14)


def loss_of_numbers(graph: Graph) -> Graph:
    """The sum of a graph's results, as a function of a factor and an addend of all its inputs."""
    builder = Builder()
    numbers = [input_node(name, Type((), np.dtype(float))) for name in ("factor", "addend")]
    factor, addend = [Symbol(n, builder) for n in numbers]
    moved = tuple([(Symbol(i, builder) * factor + addend * 0.5).node for i in graph.inputs])
    loss = sum([np.sum(Symbol(o, builder)) for o in copy_into(builder, graph, moved)], Symbol(moved[0], builder).sum())
    return builder.graph([*numbers, *graph.inputs], [loss.node])


@given(programs(outputs=2, kinks=True), st.integers(0, 2**16), st.booleans())
def test_drawn_programs(graph, seed, both):
    loss = loss_of_numbers(graph)
    wrt = [0, 1] if both else [seed % 2]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "FORWARD_MIN_OPS", 0)
        patch.setattr(tuning, "FORWARD_MAX_SHARE_OF_WORK", np.inf)
        numbers = forward_gradient.less_work(loss, wrt)
    assume(numbers is not None)
    values = [1.1, 0.3, *draw_like(np.random.default_rng(seed), [i.type for i in graph.inputs])]
    found = interpret(verify(forward_gradient.values_and_tangents(loss, wrt, numbers)), *values)
    for a, b in zip(found, interpret(value_and_grad_graph(loss, wrt), *values), strict=True):
        assert a.dtype == b.dtype
        close(a, b, 1e-12)


# -- loops of any length ----------------------------------------------------------------------------------------------
def root(a):
    x = a
    while abs(x * x - a) > 1e-12 * a:
        x = 0.5 * (x + a / x)
    return x


def test_loops_whose_length_depends_on_values():
    found = tapec.value_and_grad(root)
    for a in (2.0, 1e4, 50.0, 1e6, 7.0, 1e5, 3e4):
        value, slope = found(a)
        np.testing.assert_allclose([value, slope], [a**0.5, 0.5 / a**0.5], rtol=1e-11)
    assert goes_forwards(found, 1e6)


def test_paths_of_all_lengths():
    def fixed(a):
        x, y = 1.0, np.cos(a)
        while abs(y - x) > 1e-10:
            x, y = y, np.cos(a * y)
        return y

    found = tapec.value_and_grad(fixed)
    for a in (0.9, 0.8, 0.7, 0.85):
        y, slope = found(a)
        np.testing.assert_allclose(slope, -np.sin(a * y) * y / (1 + a * np.sin(a * y)), rtol=1e-7)


# -- what is generated ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["pendulum", "kalman", "heat", "layers"])
def test_there_is_one_loop_that_keeps_nothing(name):
    f, x = ONE[name]
    found = tapec.value_and_grad(f)
    found(x)
    assert loop_count(entry(found.source())) == 1 and not calls(entry(found.source()), "append")


def test_each_state_has_its_derivative_next_to_it():
    found = tapec.grad(pendulum)
    found(1.1)
    (loop,) = loops(entry(found.source()))
    for name in ("dangle_dlength", "dspeed_dlength"):
        assert any([found.rstrip("_23") == name for found in assigned(loop)])


def test_elements_are_told_by_their_places():
    found = tapec.grad(lambda p: logistic(p[0], p[1]))
    found(np.array([3.2, 0.3]))
    assert "dx_dp0" in assigned(found.source())


# -- which way --------------------------------------------------------------------------------------------------------
@tapec.custom_gradient
def own(x):
    return x * x, lambda ct: 7.0 * ct


def waves(x, n):
    y = np.linspace(0.0, 1.0, n) * x
    for k in range(8):
        y = y + np.sin(y * (k + 1)) * 0.1
    return np.mean(y)


def test_short_programs_on_large_arrays_go_back_in_blocks():
    for n, forwards in ((100, True), (20_000, False)):
        found = tapec.grad(lambda x, n=n: waves(x, n))
        slope = (waves(1.1 + 1e-6, n) - waves(1.1 - 1e-6, n)) / 2e-6
        assert found(1.1) == pytest.approx(slope, rel=1e-8)
        assert goes_forwards(found, 1.1) == forwards


BACKWARDS = {
    "short": (lambda x: np.sin(x) * x, (0.5,), 0),
    "many numbers": (lambda x: pendulum(np.sum(x)), (np.full(9, 0.1),), 0),
    "read as a whole": (lambda x: arma(x * 2.0), (np.array([0.3, 0.1]),), 0),
    "more work": (lambda l, a, b: pendulum(l) + kalman(a, b), (1.1, 0.1, 0.5), (0, 1, 2)),
    "a gradient of one's own": (lambda x: own(pendulum(x)), (1.1,), 0),
    "a checkpoint": (lambda x: tapec.checkpoint(pendulum)(x), (1.1,), 0),
    "a largest element": (lambda x: np.max(np.stack([pendulum(x), 1.0])), (1.1,), 0),
    "eigenvalues": (lambda x: np.linalg.eigvalsh(pendulum(x) * np.eye(3))[0], (1.1,), 0),
    "complex numbers": (lambda x: np.real(pendulum(x) * (1 + 1j) ** 2 * 1j), (1.1,), 0),
    "few operations depend on it": (lambda x: x * pendulum(2.0), (1.1,), 0),
}


@pytest.mark.parametrize("name", BACKWARDS)
def test_all_others_go_backwards(name, monkeypatch):
    f, args, argnums = BACKWARDS[name]
    found = tapec.value_and_grad(f, argnums=argnums)
    same(found(*args), backwards(monkeypatch, f, *args, argnums=argnums), 0.0)
    assert not goes_forwards(found, *args)


def test_a_gradient_of_ones_own_is_asked():
    assert tapec.grad(lambda x: own(pendulum(x)))(1.1) == pytest.approx(7.0 * tapec.grad(pendulum)(1.1))


def test_explain_tells_of_other_transforms_that_they_flow():
    assert "flows, forwards" in str(tapec.grad(pendulum).explain(1.1))
    assert "flows\n" in str(tapec.jacrev(pendulum).explain(1.1)) + "\n"


# -- with other transforms --------------------------------------------------------------------------------------------
def test_second_derivatives():
    slope = tapec.grad(pendulum)
    expected = (slope(1.1 + 1e-6) - slope(1.1 - 1e-6)) / 2e-6
    for second in (tapec.grad(slope), tapec.jacfwd(slope), tapec.jacrev(slope), tapec.hessian(pendulum)):
        np.testing.assert_allclose(second(1.1), expected, rtol=1e-6)
    np.testing.assert_allclose(tapec.grad(slope)(1.1), tapec.hessian(pendulum)(1.1), rtol=1e-11)


def test_batches_and_tapes():
    lengths = np.array([1.1, 0.9, 1.4])
    each = [tapec.grad(pendulum)(x) for x in lengths]
    np.testing.assert_allclose(tapec.vmap(tapec.grad(pendulum))(lengths), each, rtol=1e-12)
    x = tapec.Variable(1.1)
    with tapec.GradientTape() as tape:
        slope = tapec.grad(pendulum)(x)
    np.testing.assert_allclose(tape.gradient(slope, x), tapec.hessian(pendulum)(1.1), rtol=1e-11)


def test_auxiliary_results_and_captured_state():
    scale = np.array([2.0])

    @tapec.value_and_grad(has_aux=True)
    def f(x):
        y = pendulum(x) * scale[0]
        return y, (x * 2, "text")

    (value, (twice, text)), slope = f(1.1)
    assert (twice, text) == (2.2, "text")
    scale[0] = 3.0
    assert f(1.1)[0][0] == pytest.approx(value * 1.5)
    assert f(1.1)[1] == pytest.approx(slope * 1.5)


def test_losses_of_one_element():
    f = lambda x: np.reshape(pendulum(x), (1, 1))
    assert tapec.grad(f)(1.1) == pytest.approx(tapec.grad(pendulum)(1.1), rel=1e-14)


def test_exported_modules(tmp_path):
    tapec.grad(pendulum).export(tmp_path / "slope.py", 1.1)
    space: dict[str, Any] = {}
    exec((tmp_path / "slope.py").read_text(), space)
    assert space["pendulum_grad"](1.2) == tapec.grad(pendulum)(1.2)
