"""Loops that tracing has unrolled are found in the recorded program: what it computes stays the same."""

import numpy as np
import pytest

import tapec
from tapec.ir import CT, interpret, ops, verify
from tapec.passes import tuning
from tapec.passes.pipeline import with_loops

RNG = np.random.default_rng(5)
X, XS, M = RNG.standard_normal(3), RNG.standard_normal((9, 3)), 0.4 * RNG.standard_normal((3, 3))
WIDE, WIDES = RNG.standard_normal(300), RNG.standard_normal((9, 300))


def carried(x, xs):
    for row in xs:
        x = np.tanh(0.5 * x + row) * 0.9
    return x


def swapped(x, xs):
    a, b = x, 0.5 * x
    for row in xs:
        a, b = b - 0.1 * row, a * np.cos(row)
    return a * b


def backwards(x, xs):
    for k in range(8, -1, -1):
        x = np.sin(x) + xs[k] * x * 0.3
    return x


def neighbours(x, xs):
    total = 0.0
    for k in range(1, 8):
        total = total + np.sin(xs[k + 1] - 2.0 * xs[k] + xs[k - 1]) * x * x
    return total


def every_second(x, xs):
    for k in range(0, 9, 2):
        x = np.exp(-x * x) + np.sin(xs[k]) * x * 0.2
    return x


def numbers(x, xs):
    for k in range(9):
        x = x + 0.1 * np.sin(x * (k + 1)) / (k + 2.0) + xs[k]
    return x


def written(x, xs):
    out = np.zeros((10, *x.shape), x.dtype)
    out[0] = x
    for k in range(9):
        out[k + 1] = out[k] * 0.5 + np.tanh(xs[k] * out[k])
    return np.sin(out)


def written_backwards(x, xs):
    out = np.ones((9, *x.shape), x.dtype)
    for k in reversed(range(8)):
        out[k] = np.cos(x * xs[k]) + np.exp(-xs[k + 1] * x) * x
    return out * x


def stacked(x, xs):
    seen = []
    for row in xs:
        x = np.tanh(x + row) - 0.1 * x
        seen.append(x * row)
    return np.stack(seen) ** 2


def read_one_by_one(x, xs):
    seen = []
    for row in xs:
        x = np.sin(x + row) - 0.1 * x
        seen.append(x)
    return seen[0] * seen[3] + seen[-1] * np.sum(seen[5])


def first_and_last_differ(x, xs):
    a = x * 0.0
    for k, row in enumerate(xs):
        a = np.tanh(a * x + row) if k else np.sin(row) * x
    return np.cos(a)


def local_of_last_round(x, xs):
    for row in xs:
        slope = np.sum(np.cos(x * row))
        x = np.sin(x * row) + 0.1 * slope
    return slope * np.sum(x)


def nested(x, xs):
    for _ in range(5):
        for row in xs:
            x = np.tanh(x + 0.1 * row) * 0.9
        x = np.sin(x) + 0.3 * x
    return x


def two_loops(x, xs):
    speeds = []
    for row in xs:
        x = np.tanh(0.8 * x + row)
        speeds.append(np.sum(x * row))
    total = 0.0
    for speed in speeds:
        total = total + np.exp(-speed * speed) * np.sin(speed)
    return total * x


def selected(x, xs):
    for row in xs:
        x = np.where(row > x, 0.5 * row + x, np.maximum(x, -row) * 0.9)
    return x


def in_place(x, xs):
    h = x.copy()
    for row in xs:
        h *= 0.5
        h += np.sin(row * x)
        h[0] = h[1] * h[2]
    return h


def powers(x, xs):
    for k in range(1, 9):
        x = np.tanh(x) + 0.1 * xs[k] ** 2 * np.cos(x) ** k
    return x


def single_numbers(x, xs):
    a, p = 0.0, 10.0
    for k in range(9):
        f = p + np.exp(x[0])
        a = a + p / f * (xs[k, 1] - a)
        p = p * (1.0 - p / f) + x[1] ** 2
    return a * p


def pairs(x, xs):
    total = 0.0
    for i in range(9):
        for j in range(i):
            total = total + np.sin(xs[i] - xs[j]) ** 2 * x
    return total


def chosen_by_argument(x, xs):
    if x[0] > 100.0:
        return x
    for row in xs:
        x = np.tanh(0.5 * x + row) * 0.9
    return x


PROGRAMS = [
    *(carried, swapped, backwards, neighbours, every_second, numbers, written, written_backwards, stacked),
    *(read_one_by_one, first_and_last_differ, local_of_last_round, nested, two_loops, selected, in_place, powers),
    *(single_numbers, chosen_by_argument, pairs),
]
# of some a part of the rounds, or a loop of theirs, stays as it is
UNROLLED = {powers, pairs}


def loss(program):
    return lambda x, xs: np.sum(np.sin(program(x, xs)))


def recorded(program, *args):
    return tapec.compile(program).ir(*args, stage="forward")


@pytest.fixture
def unrolled(monkeypatch):
    def off():
        monkeypatch.setattr(tuning, "ROLLED_MIN_ROUNDS", 10**9)

    return off


@pytest.mark.parametrize("args", [(X, XS), (WIDE, WIDES)], ids=["tiny", "wide"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program, args, unrolled):
    graph = recorded(program, *args)
    made = verify(with_loops(graph))
    has_loop = any([n.op is ops.loop for n in made.nodes])
    assert has_loop or program in UNROLLED
    for a, b in zip(interpret(graph, *args), interpret(made, *args), strict=True):
        np.testing.assert_array_equal(a, b)
    f = loss(program)
    value, gradient = tapec.value_and_grad(f, argnums=(0, 1))(*args)
    np.testing.assert_allclose(value, f(*args), rtol=1e-12)
    unrolled()
    tapec.cache_clear()
    _, wanted = tapec.value_and_grad(f, argnums=(0, 1))(*args)
    for g, w in zip(gradient, wanted, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.longdouble])
def test_types(dtype):
    x, xs = X.astype(dtype), XS.astype(dtype)
    for program in (carried, swapped, written, stacked):
        graph = recorded(program, x, xs)
        made = verify(with_loops(graph))
        assert any([n.op is ops.loop for n in made.nodes])
        for a, b, c in zip(interpret(graph, x, xs), interpret(made, x, xs), tapec.compile(program)(x, xs)[None]):
            assert a.dtype == b.dtype == c.dtype
            np.testing.assert_array_equal(a, b)


def test_whole_numbers_do_not_become_floats():
    def counts(n, ks):
        for k in range(8):
            n = n * 3 + ks[k] // (k + 1)
        return n

    n, ks = np.arange(3), np.arange(24).reshape(8, 3)
    found = tapec.compile(counts)(n, ks)
    assert found.dtype == n.dtype
    np.testing.assert_array_equal(found, counts(n, ks))


def test_inf_and_nan_are_those_of_numpy():
    def divided(x, xs):
        for row in xs:
            x = row / x + np.sqrt(x)
        return x

    x = np.array([0.0, -1.0, 2.0])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(tapec.compile(divided)(x, XS), divided(x, XS))
        gradient = tapec.grad(loss(divided))(x, XS)
    assert np.isnan(gradient).any()


def test_arguments_are_left_as_they_are():
    x, xs = X.copy(), XS.copy()
    tapec.grad(loss(in_place), argnums=(0, 1))(x, xs)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(xs, XS)


def test_derivatives_in_a_loop_stay_derivatives(unrolled):
    """Passes treat derivatives otherwise where values are not finite, so a body says which of its nodes are some."""

    def descent(x, xs):
        energy = lambda x: np.sum(np.sqrt(np.abs(x)) * x)
        for row in xs:
            x = x - 0.1 * tapec.grad(energy)(x) * row
        return x

    made = with_loops(recorded(descent, X, XS))
    [loop] = [n for n in made.nodes if n.op is ops.loop]
    assert {n.role for n in loop.bodies[0].nodes} == {None, CT}
    x = np.array([0.0, 1.0, -2.0])
    np.testing.assert_allclose(tapec.compile(descent)(x, XS), descent(x, XS))
    found = tapec.grad(loss(descent))(x, XS)
    unrolled()
    np.testing.assert_allclose(found, tapec.grad(lambda x, xs: loss(descent)(x, xs))(x, XS))


def test_truth_is_carried(unrolled):
    def flagged(x, xs):
        on = x[0] > 5.0
        a = x[0]
        for k in range(9):
            on = np.logical_or(on, xs[k, 0] > 0.5)
            a = np.where(on, a + xs[k, 1], np.sin(a * xs[k, 1]))
        return a * on

    assert any([n.op is ops.loop for n in with_loops(recorded(flagged, X, XS)).nodes])
    found = tapec.value_and_grad(loss(flagged), argnums=(0, 1))(X, XS)
    np.testing.assert_allclose(found[0], loss(flagged)(X, XS))
    unrolled()
    wanted = tapec.value_and_grad(lambda x, xs: loss(flagged)(x, xs), argnums=(0, 1))(X, XS)
    for g, w in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-12)


def test_long_loops_cost_as_much_as_their_body():
    def long(x):
        for _ in range(3000):
            x = np.sin(x) + 0.5 * np.cos(x) * x
        return x

    graph = recorded(long, X)
    assert len(with_loops(graph).nodes) < 10 < 10_000 < len(graph.nodes)
