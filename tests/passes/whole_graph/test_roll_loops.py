"""Loops that tracing has unrolled are found in the recorded program: what it computes stays the same."""

import numpy as np
import pytest

import tapec
from tapec.ir import CT, interpret, ops, verify
from tapec.passes import tuning
from tapec.passes.listed_pass import named, run_all
from tapec.passes.pipeline import RECORDED, with_loops
from tapec.passes.whole_graph import roll_loops
from tests.properties import call_count, loop_count

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


def columns(x, xs):
    out = np.zeros((*x.shape, 9), x.dtype)
    h, across = x[0] * xs[:, 1] + xs[:, 0], 2.0 * xs.T
    for k in range(9):
        x = np.tanh(x + across[:, k]) - 0.2 * x
        out[:, k] = x * h[k]
    return np.sin(out)


def parts_of_rows(x, xs):
    u = np.zeros((25, *x.shape), x.dtype)
    u[0, 1:] = x[1:] * 0.3
    u[1] = xs[0]
    for k in range(24):
        u[k + 1, :-1] = np.sin(u[k, 1:]) * x[0] + xs[1, 1:] * u[k, :-1]
        u[k + 1, -1] = u[k + 1, 0] * 0.5
    return u[2:] * x


def older(x, xs):
    a, b, c = x, 0.5 * x, np.sin(x)
    out, rows = np.ones((27, *x.shape), x.dtype), np.concatenate([xs, xs, xs])
    for k in range(2, 27):
        a, b, c = np.sin(a - 0.3 * c) * rows[k], a, b
        out[k] = rows[k - 1] - a * out[k - 1] + 0.3 * out[k - 2]
    return out * b


def chosen_by_argument(x, xs):
    if x[0] > 100.0:
        return x
    for row in xs:
        x = np.tanh(0.5 * x + row) * 0.9
    return x


PROGRAMS = [
    *(carried, swapped, backwards, neighbours, every_second, numbers, written, written_backwards, stacked),
    *(read_one_by_one, first_and_last_differ, local_of_last_round, nested, two_loops, selected, in_place, powers),
    *(single_numbers, chosen_by_argument, pairs, columns, older, parts_of_rows),
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
    made = verify(run_all(named(RECORDED, ["rolled", "ahead"]), graph, about=((), (), ())))
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


# -- in all transforms ------------------------------------------------------------------------------------------------
ONES = np.ones(3)
TRANSFORMS = {
    "jvp": lambda f: tapec.jvp(f, (X, XS), (X, 0.1 * XS)),
    "vjp": lambda f: tapec.vjp(f, X, XS)[1](np.ones_like(f(X, XS))),
    "jacfwd": lambda f: tapec.jacfwd(f)(X, XS),
    "jacrev": lambda f: tapec.jacrev(f)(X, XS),
    "hvp": lambda f: tapec.hvp(loss(f))(X, XS, ONES),
    "hessian": lambda f: tapec.hessian(loss(f))(X, XS),
    "vmap": lambda f: tapec.vmap(f, in_axes=(0, None))(np.stack([X, X[::-1]]), XS),
    "vmap of grad": lambda f: tapec.vmap(tapec.grad(loss(f)), in_axes=(0, None))(np.stack([X, X[::-1]]), XS),
    "ggn_vp": lambda f: tapec.ggn_vp(lambda x: f(x, XS), lambda y: np.sum(np.cos(y)))(X, ONES),
}
SEVERAL = [
    carried,
    swapped,
    numbers,
    written,
    stacked,
    read_one_by_one,
    nested,
    selected,
    in_place,
    single_numbers,
    pairs,
]


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("program", SEVERAL)
def test_transforms(program, transform, unrolled):
    compute = TRANSFORMS[transform]
    found = compute(program)
    unrolled()
    wanted = compute(lambda *args: program(*args))
    several = isinstance(found, tuple)
    for a, b in zip(found if several else [found], wanted if several else [wanted], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_derivatives_forwards_stand_in_the_loop(unrolled):
    def pendulum(p):
        angle, speed = 1.0, 0.0
        for _ in range(30):
            angle, speed = angle + 0.1 * speed, speed - 0.1 * p * np.sin(angle)
        return angle

    gradient = tapec.value_and_grad(pendulum)
    assert loop_count(gradient.source(1.3)) == 1 and "forwards" in str(gradient.explain(1.3))
    found = gradient(1.3)
    unrolled()
    np.testing.assert_allclose(found, tapec.value_and_grad(lambda p: pendulum(p))(1.3), rtol=1e-13)


def test_rounds_that_differ_stand_before_the_loop():
    """The first round of a loop that begins with numbers reads less; the others carry what the user's do."""

    def growth(p, xs):
        a, b = 1.0, 0.5
        for row in xs:
            a, b = a + 0.1 * p[0] * a * b, b - 0.1 * p[1] * np.sin(b) * row[0]
        return a * b

    [loop] = [n for n in with_loops(recorded(growth, X, XS)).nodes if n.op is ops.loop]
    assert loop.param("carried") == 2 and loop.param("count") == 8


def test_loops_begin_with_floats_of_python(unrolled):
    """The first round computes with Python's numbers, the others with NumPy's: they are one loop all the same."""

    def filtered(q, mean, variance, measured):
        loss = 0.0
        for y in measured:
            variance = variance + q
            step = y - mean
            total = variance + 0.5
            loss += np.log(total) + step * step / total
            mean = mean + variance / total * step
            variance = variance * (1.0 - variance / total)
        return loss + np.exp(mean)

    args = np.float64(0.3), 0.2, 1.5, [float(y) for y in np.random.default_rng(0).normal(size=20)]
    gradient = tapec.value_and_grad(filtered, argnums=(0, 1, 2))
    found = gradient(*args)
    np.testing.assert_allclose(found[0], filtered(*args), rtol=1e-13)
    assert {n.param("count") for n in gradient.ir(*args, stage="gradient").nodes if n.op is ops.loop} == {20}
    unrolled()
    expected = tapec.value_and_grad(lambda *args: filtered(*args), argnums=(0, 1, 2))(*args)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)


def signs_of_zeros(h, ys):
    numbers = [float(k) for k in range(1, len(ys))]
    total = h
    for a, b, y in zip([0.0, *numbers], [-0.0, *numbers], ys, strict=True):
        h = np.tanh(h + a) + np.arctan(y / (b * np.abs(y)))
        total = total + h
    return total


def rows_along_either_axis(h, ys):
    cube = np.outer(h, ys[0])[:, :, None] * ys[1]
    for k in range(len(ys)):
        cube = np.sin(cube) + cube[(1, slice(None), 2) if k % 2 else (slice(None), 1, 2)] * h
    return np.sum(cube, axis=(0, 1))


def number_of_more_digits(h, ys):
    """The first round multiplies by 0.1 in double precision, the others by numbers in single precision."""
    h, total = 0.1, h
    for y in ys:
        h = np.sin((h * y).astype(np.float32))
        total = total + h
    return total


def first_of_numbers(h, ys):
    """The first round adds Python's numbers up, the others NumPy's."""
    a = b = 0.3
    total = h
    for y in ys:
        b = b + a
        a = np.where(a > b, a, 0.5 * b) * 0.7
        total = total + a * y
    return total * b


@pytest.mark.parametrize("program", [first_of_numbers, signs_of_zeros, rows_along_either_axis, number_of_more_digits])
def test_rounds_that_are_only_nearly_alike(program):
    h, ys = np.array([0.3, -0.2, 0.7]), np.random.default_rng(0).uniform(0.5, 1.0, (40, 3))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(tapec.compile(program)(h, ys), program(h, ys), rtol=1e-13)


def test_squares_of_python_s_numbers_stay_in_front_of_a_loop():
    """Python raises an error of one that is too large, NumPy makes it infinite."""

    def spread(mean, ys):
        total = 0.0
        for y in ys:
            total += (y - mean) ** 2 * np.sin(y)
            mean = mean + 0.1 * np.sin(y - mean)
        return total

    ys = [0.1 * k for k in range(20)]
    gradient = tapec.value_and_grad(spread)
    np.testing.assert_allclose(gradient(0.3, ys)[0], spread(0.3, ys), rtol=1e-13)
    for f in (spread, gradient):
        with pytest.raises(OverflowError):
            f(1e200, ys)


def test_a_search_in_vain_ends(monkeypatch):
    """Each value of the loop is read by itself afterwards, so that a loop spares nothing."""

    def apart(x):
        parts = [np.sin(x[k]) * x[k + 1] for k in range(40)]
        return sum([part * (k + 1.5) for k, part in enumerate(parts)]) + sum(
            [np.cos(p) ** k for k, p in enumerate(parts)]
        )

    tried = []
    first = roll_loops._rolled_one_way
    monkeypatch.setattr(roll_loops, "_rolled_one_way", lambda *args: tried.append(1) or first(*args))
    x = np.linspace(0.1, 1.0, 41)
    graph = recorded(apart, x)
    rolled = with_loops(graph)
    whole = len(tried)
    monkeypatch.setattr(tuning, "ROLLED_MAX_WASTED_OPS", 0)
    tried.clear()
    ended = with_loops(graph)
    assert 0 < len(tried) < whole
    for made in (rolled, ended):
        np.testing.assert_allclose(interpret(made, x)[0], apart(x), rtol=1e-13)


def test_numbers_of_python_that_raise_errors_stay_in_front_of_a_loop():
    def divided(a, x):
        for _ in range(20):
            a = 1.0 / a + x * 0.5
            x = np.sin(x) + a
        return x

    g = tapec.grad(divided, argnums=1)
    assert np.isfinite(g(0.5, np.float64(0.3)))
    with pytest.raises(ZeroDivisionError):
        g(0.0, np.float64(0.3))


def test_rows_of_a_loop_are_joined_with_others():
    def path(x, xs):
        seen = [x, 2.0 * x]
        for row in xs:
            x = np.tanh(x + row)
            seen.append(x)
        return np.concatenate([*seen, x * x]), np.stack([*seen, x * x])

    xs = np.tile(XS, (5, 1))
    made = with_loops(recorded(path, X, xs))
    assert len(made.nodes) < 20
    for a, b in zip(interpret(made, X, xs), path(X, xs), strict=True):
        np.testing.assert_array_equal(a, b)


def test_values_and_tangents_are_one_loop():
    source_of = tapec.compile(lambda x, v: tapec.jvp(lambda x: carried(x, XS), (x,), (v,))).source
    assert loop_count(source_of(X, X)) == 1


def test_numbers_around_a_loop_on_floats_are_floats():
    def gradient_of(a, x):
        for _ in range(20):
            x = np.sin(x) * a
        return x * a

    function = tapec.value_and_grad(gradient_of, argnums=(0, 1))
    value, slopes = function(0.5, 2.0)
    assert type(value) is np.float64 and all([type(s) is np.float64 for s in slopes])
    assert not call_count(function.source(0.5, 2.0), "np.sin")


# -- numbers of Python's in lists -------------------------------------------------------------------------------------
def growth(x, limit, path):
    for _ in range(20):
        x = x + 0.1 * x * (limit - x)
        path.append(x)
    return path


LISTS_OF_NUMBERS = {
    "stacked": lambda a, b: np.sum(np.array(growth(a, b, [])) ** 2) * b,
    "first from before": lambda a, b: np.sum((np.stack(growth(a, b, [a, b])) - b) ** 2),
    "two lists": lambda a, b: np.array(growth(a, b, [])) @ np.sin(growth(b, a, [])),
    "read one by one": lambda a, b: (lambda xs: xs[3] * xs[7] + xs[-1] * b)(growth(a, b, [])),
    "stacked and read": lambda a, b: (lambda xs: np.sum(np.array(xs)) * xs[2] * xs[-1] * b)(growth(a, b, [])),
    "whole number before": lambda a, b: np.sum(np.array(growth(a, b, [1])) * b),
    "starts as a whole number": lambda a, b: np.sum(np.array(growth(2, a, [2]))) * b,
    "starts as a number": lambda a, b: np.sum(np.array(growth(0.5, a, [0.5, a])) * b),
}


@pytest.mark.parametrize("case", LISTS_OF_NUMBERS)
def test_numbers_in_lists_are_rows(case, unrolled):
    program, args = LISTS_OF_NUMBERS[case], (0.4, 1.3)
    graph = recorded(program, *args)
    made = verify(with_loops(graph))
    assert any([n.op is ops.loop for n in made.nodes])
    (wanted,) = interpret(graph, *args)
    for found in (*interpret(made, *args), tapec.compile(program)(*args)):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
    gradient = tapec.value_and_grad(program, argnums=(0, 1))(*args)
    tangents = tapec.jvp(program, args, (0.3, -0.2))
    unrolled()
    again = lambda *args: program(*args)
    expected = tapec.value_and_grad(again, argnums=(0, 1))(*args)
    np.testing.assert_allclose(np.array([gradient[0], *gradient[1]]), [expected[0], *expected[1]], rtol=1e-12)
    np.testing.assert_allclose(tangents, tapec.jvp(again, args, (0.3, -0.2)), rtol=1e-12)


def test_whole_numbers_in_lists_stay_whole():
    """Python's have no bounds, and those of an array do: they are not collected in one."""

    def powers_of(n):
        seen = []
        for _ in range(20):
            n = n * 3 - 1
            seen.append(n)
        return seen[3] + seen[-1] * 10**12

    assert tapec.compile(powers_of)(7) == powers_of(7)


def test_a_first_round_may_add_up_arguments_that_are_numbers():
    def program(s, ys):
        a = b = s
        for y in ys:
            b = b + a
            a = np.where(a > b, a, 0.5 * b) * y
        return a + b

    ys = np.random.default_rng(0).uniform(0.2, 0.7, 40)
    assert tapec.compile(program)(0.3, ys) == program(0.3, ys)
    slope = (program(0.3 + 1e-6, ys) - program(0.3 - 1e-6, ys)) / 2e-6
    np.testing.assert_allclose(tapec.grad(program)(0.3, ys), slope, rtol=1e-7)


def test_rounds_that_find_places_are_no_loop():
    """How many elements a mask selects is a fact about values, which the body of a loop cannot know."""

    def f(x):
        x = x.copy()
        for _ in range(12):
            x[x < 0.0] *= 0.5
        return x

    compiled = tapec.compile(f)
    for x in (np.array([1.0, 2.0]), np.array([1.0, -2.0]), np.array([-1.0, -2.0]), np.array([1.0, 2.0])):
        np.testing.assert_array_equal(compiled(x), f(x))
