"""`cond`, `scan`, `fori_loop` and `while_loop`: as Python would do it, in every transform, with values around them."""

from __future__ import annotations

import random
import statistics
import types
from typing import Any

import numpy as np
import pytest

import tapec
from tapec.errors import DetachError, UnsupportedError
from tests.properties import has_loop

RNG = np.random.default_rng(0)
W, H, XS = 0.5 * RNG.normal(size=(3, 3)), RNG.normal(size=3), RNG.normal(size=(6, 3))


# -- the same functions, with and without ----------------------------------------------------------------------------
def rnn(w: Any, h: Any, xs: Any) -> Any:
    last, out = tapec.scan(lambda s, x: ({"h": np.tanh(w @ s["h"] + x)}, (s["h"], np.sum(x * s["h"]))), {"h": h}, xs)
    return np.sum(last["h"] ** 2) + np.sum(np.sin(out[0])) + np.sum(out[1] ** 2)


def plain_rnn(w: Any, h: Any, xs: Any) -> Any:
    states, sums = [], []
    for x in xs:
        states.append(h)
        sums.append(np.sum(x * h))
        h = np.tanh(w @ h + x)
    return np.sum(h**2) + np.sum(np.sin(np.stack(states))) + np.sum(np.stack(sums) ** 2)


def power(w: Any, h: Any, xs: Any) -> Any:
    return np.sum(tapec.fori_loop(1, 4, lambda i, s: np.sin(w @ s) * i, h))


def plain_power(w: Any, h: Any, xs: Any) -> Any:
    for i in range(1, 4):
        h = np.sin(w @ h) * i
    return np.sum(h)


def halved(w: Any, h: Any, xs: Any) -> Any:
    s, k = tapec.while_loop(lambda c: c[1] < 4, lambda c: (np.sin(w @ c[0]) + c[0], c[1] + 1), (h, 0))
    return np.sum(s * s) + 0.0 * k


def plain_halved(w: Any, h: Any, xs: Any) -> Any:
    for _ in range(4):
        h = np.sin(w @ h) + h
    return np.sum(h * h)


def chosen(w: Any, h: Any, xs: Any) -> Any:
    y = tapec.cond(np.sum(h) > 100.0, lambda a: np.sin(a[1]) @ h, lambda a: np.cos(a[0]) @ h, w)
    return y * np.sum(xs)


def plain_chosen(w: Any, h: Any, xs: Any) -> Any:
    return np.sum(np.cos(w[0]) * h) * np.sum(xs)


PAIRS = {"scan": (rnn, plain_rnn), "fori_loop": (power, plain_power), "while_loop": (halved, plain_halved)}

TRANSFORMS: dict[str, Any] = {
    "plain": lambda f: f(W, H, XS),
    "compile": lambda f: tapec.compile(f)(W, H, XS),
    "grad": lambda f: tapec.grad(f, argnums=(0, 1, 2))(W, H, XS),
    "hessian": lambda f: tapec.hessian(f, argnums=1)(W, H, XS),
    "forward over reverse": lambda f: tapec.jacfwd(tapec.grad(f))(W, H, XS),
    "reverse over reverse": lambda f: tapec.jacrev(tapec.grad(f, argnums=1))(W, H, XS),
    "jvp": lambda f: tapec.jvp(f, (W, H, XS), (W.T.copy(), H * 2, XS * 0.5)),
    "vmap": lambda f: tapec.vmap(f, in_axes=(None, 0, None))(W, XS, XS),
    "vmap of grad": lambda f: tapec.vmap(tapec.grad(f), in_axes=(None, 0, None))(W, XS, XS),
    "grad of vmap": lambda f: tapec.grad(lambda w: np.sum(tapec.vmap(f, in_axes=(None, 0, None))(w, XS, XS)))(W),
}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("pair", PAIRS)
def test_as_python_would_do_it(pair: str, name: str) -> None:
    with_op, without = PAIRS[pair]
    same(TRANSFORMS[name](with_op), TRANSFORMS[name](without))


@pytest.mark.parametrize("name", [n for n in TRANSFORMS])
def test_a_choice_as_python_would_make_it(name: str) -> None:
    same(TRANSFORMS[name](chosen), TRANSFORMS[name](plain_chosen))


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        for a, b in zip(found, expected, strict=True):
            same(a, b)
    else:
        assert np.shape(found) == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


def test_on_a_tape() -> None:
    for with_op, without in PAIRS.values():
        found = []
        for f in (with_op, without):
            with tapec.GradientTape() as tape:
                w = tapec.constant(W)
                tape.watch(w)
                y = f(w, H, XS)
            found.append(tape.gradient(y, w).numpy())
        same(*found)


# -- what it is for ----------------------------------------------------------------------------------------------------
def test_code_does_not_grow_and_no_path_is_added() -> None:
    @tapec.grad
    def f(x: Any, n: Any) -> Any:
        return tapec.while_loop(lambda s: s[1] > 0.5, lambda s: (s[0] * 1.5, s[1] - 1.0), (x, n))[0]

    assert f(2.0, 3.0) == 1.5**3 and f(2.0, 7.0) == 1.5**7 and f(2.0, 0.0) == 1.0
    assert f.cache_info().compilations == 1 and has_loop(f.source(2.0, 3.0))
    long = tapec.compile(lambda xs: tapec.scan(lambda s, x: (s + x, s * x), 0.0, xs))
    assert len(long.source(np.ones(5)).splitlines()) == len(long.source(np.ones(5000)).splitlines())


def test_a_count_that_is_an_argument() -> None:
    @tapec.value_and_grad
    def f(x: Any, n: Any) -> Any:
        return tapec.fori_loop(0, n, lambda i, s: s * x + i, 1.0)

    def plain(x: Any, n: int) -> Any:
        s = 1.0
        for i in range(n):
            s = s * x + i
        return s

    for n in (0, 1, 5, -2):
        value, slope = f(1.5, np.int64(n))
        assert value == plain(1.5, n)
        np.testing.assert_allclose(slope, tapec.grad(plain)(1.5, n), rtol=1e-12)


def test_a_count_of_unsigned_numbers_does_not_wrap_around() -> None:
    f = tapec.compile(lambda x, lower, upper: tapec.fori_loop(lower, upper, lambda i, s: s + x, 0.0))
    assert [f(1.0, np.uint8(a), np.uint8(b)) for a, b in ((3, 5), (5, 3), (0, 200), (200, 100))] == [
        2.0,
        0.0,
        200.0,
        0.0,
    ]
    g = tapec.compile(lambda x: tapec.fori_loop(x, 3.9, lambda i, s: s + i, 0))  # as `int` cuts them off
    assert g(1.5) == g(1.0) == 3


def test_each_example_has_its_own_branch_and_its_own_number_of_turns() -> None:
    xs = np.array([4.0, 0.0, -1.0])
    safe = tapec.vmap(tapec.grad(lambda x: tapec.cond(x > 0.0, np.sqrt, lambda x: 0.0 * x, x)))
    np.testing.assert_array_equal(safe(xs), [0.25, 0.0, 0.0])
    steps = tapec.vmap(lambda x: tapec.while_loop(lambda s: s[0] > 1.0, lambda s: (s[0] / 2, s[1] + 1), (x, 0)))
    np.testing.assert_array_equal(steps(np.array([0.5, 3.0, 100.0]))[1], [0, 2, 7])


def test_branches_that_could_not_both_run() -> None:
    """What a branch computes of values around it stands in the branch."""
    f = tapec.value_and_grad(lambda x, y: tapec.cond(y != 0.0, lambda: x / y, lambda: x), argnums=(0, 1))
    with np.errstate(all="raise"):
        assert f(np.float64(3.0), np.float64(0.0)) == (3.0, (1.0, 0.0))
        assert f(np.float64(3.0), np.float64(2.0)) == (1.5, (0.5, -0.75))
        assert f.cache_info().compilations == 1


def test_nested() -> None:
    def f(x: Any) -> Any:
        def step(s: Any, row: Any) -> Any:
            s = tapec.cond(np.sum(s) > 0.0, lambda s: s * 0.5, lambda s: s + row, s)
            s = tapec.fori_loop(0, 2, lambda i, t: np.sin(t) + x, s)
            return s, np.sum(s)

        last, sums = tapec.scan(step, x, XS)
        return np.sum(last) + np.sum(sums)

    def plain(x: Any) -> Any:
        s, total = x, 0.0
        for row in XS:
            s = s * 0.5 if np.sum(s) > 0.0 else s + row
            for _ in range(2):
                s = np.sin(s) + x
            total = total + np.sum(s)
        return np.sum(s) + total

    np.testing.assert_allclose(tapec.grad(f)(H), tapec.grad(plain)(H), rtol=1e-9)
    np.testing.assert_allclose(tapec.hessian(f)(H), tapec.hessian(plain)(H), rtol=1e-8, atol=1e-9)


def test_without_rows_and_without_steps() -> None:
    for f in (lambda g: g, tapec.compile):
        assert f(lambda x: tapec.scan(lambda s, _: (s * 2.0, s), x, length=3))(1.0)[1].tolist() == [1.0, 2.0, 4.0]
        carry, ys = f(lambda xs: tapec.scan(lambda s, x: (s + x, (x, np.sum(s))), np.zeros(3), xs))(np.zeros((0, 3)))
        assert carry.tolist() == [0.0] * 3 and ys[0].shape == (0, 3) and ys[1].shape == (0,)


def test_a_carry_of_integers_becomes_one_of_floats() -> None:
    for f in (lambda g: g, tapec.compile):
        assert f(lambda x: tapec.fori_loop(0, 3, lambda i, s: s + x, 0))(0.5) == 1.5


def test_variables_and_globals_are_read() -> None:
    scale = tapec.Variable(2.0)

    @tapec.compile
    def f(x: Any) -> Any:
        return tapec.scan(lambda s, row: (s * scale + row, None), x, XS)[0]

    first = f(H)
    scale.assign(3.0)
    assert not np.allclose(first, f(H))
    s = H
    for row in XS:
        s = s * 3.0 + row
    np.testing.assert_allclose(f(H), s, rtol=1e-12)


# -- errors ------------------------------------------------------------------------------------------------------------
def looks(s: Any) -> Any:
    return s + 1.0 if s > 0 else -s


@pytest.mark.parametrize(
    ("error", "message", "function"),
    [
        (
            DetachError,
            "while_loop: .*another one in each turn",
            lambda x: tapec.while_loop(lambda s: s < 1, lambda s: looks(s) + 1, x),
        ),
        (DetachError, "cond: .*another one", lambda x: tapec.cond(x > 0, looks, looks, x)),
        (TypeError, "scan: the step returns a pair", lambda x: tapec.scan(lambda s, _: s, x, length=2)),
        (TypeError, "another structure", lambda x: tapec.fori_loop(0, 2, lambda i, s: (s, s), x)),
        (TypeError, "changes its shapes", lambda x: tapec.fori_loop(0, 2, lambda i, s: np.stack([s, s]), x)),
        (TypeError, "other structures", lambda x: tapec.cond(x > 0, lambda: (x, x), lambda: x)),
        (TypeError, "of the shapes", lambda x: tapec.cond(x > 0, lambda: x, lambda: np.stack([x, x]))),
        (TypeError, "one value", lambda x: tapec.while_loop(lambda s: np.stack([s < 1, s < 2]), lambda s: s + 1, x)),
        (ValueError, "one value, not an array", lambda x: tapec.cond(np.stack([x, x]) > 0, lambda: x, lambda: x)),
        (ValueError, "number of steps", lambda x: tapec.scan(lambda s, _: (s, s), x)),
        (ValueError, "number of steps", lambda x: tapec.scan(lambda s, r: (s, s), x, (np.ones(2), np.ones(3)))),
    ],
)
def test_errors_name_the_line(error: Any, message: str, function: Any) -> None:
    with pytest.raises(error, match=message) as found:
        tapec.compile(function)(0.5)
    assert "test_control_flow.py" in str(found.value)


# -- what a body does beside -----------------------------------------------------------------------------------------
class Model:
    count = 0

    def step(self, i: Any, s: Any) -> Any:
        self.count += 1
        return s * 0.5


def kept(x: Any) -> Any:
    held = []

    def step(i: Any, s: Any) -> Any:
        held.append(s * 2.0)
        return s * x

    return tapec.fori_loop(0, 3, step, x) + held[0]


def kept_of_a_branch(x: Any) -> Any:
    held = []

    def then(y: Any) -> Any:
        held.append(y * 2.0)
        return y * x

    return tapec.cond(x > 0.0, then, lambda y: y, x) * held[0]


def kept_of_a_nested_body(x: Any) -> Any:
    held = []

    def step(i: Any, s: Any) -> Any:
        held.append(s)
        return s * x

    return tapec.fori_loop(0, 2, lambda i, s: tapec.fori_loop(0, 2, step, s) + held[-1], x)


def rebound(x: Any) -> Any:
    last = x

    def step(i: Any, s: Any) -> Any:
        nonlocal last
        last = last + x
        return s * x

    return tapec.fori_loop(0, 3, step, x) + last


def buffered(x: Any) -> Any:
    counts = np.zeros(2)

    def step(i: Any, s: Any) -> Any:
        counts[0] += 1.0
        return s * x + counts[0]

    return tapec.fori_loop(0, 3, step, x)


def drawn(x: Any, rng: Any = None) -> Any:
    rng = np.random.default_rng(0) if rng is None else rng
    noise = lambda: rng.random() < 2.0  # the same each time
    return tapec.scan(lambda s, _: (s * x + noise(), None), x, length=3)[0]


HELD: list[Any] = []
MODEL = Model()
GENERATOR = np.random.default_rng(0)


@pytest.mark.parametrize(
    "function",
    [
        drawn,
        lambda x: tapec.fori_loop(0, 3, lambda i, s: s * x + (GENERATOR.random() < 2.0), x),
        lambda x: tapec.fori_loop(0, 3, lambda i, s: s * x + random.choice([1.0]), x),
        lambda x: tapec.while_loop(lambda s: s < np.random.normal() + 9.0, lambda s: s + 1.0, x),
        lambda x: tapec.cond(x > 0.0, lambda: x * np.random.normal(), lambda: x),
        lambda x: tapec.fori_loop(0, 2, lambda i, s: tapec.fori_loop(0, 2, lambda j, t: t * np.random.normal(), s), x),
        rebound,
        buffered,
    ],
)
def test_a_body_that_does_something_else_each_time_is_refused(function: Any) -> None:
    with pytest.raises(UnsupportedError, match="something else when it runs again"):
        tapec.value_and_grad(function)(0.5)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tapec.fori_loop(0, 3, MODEL.step, x),
        lambda x: tapec.fori_loop(0, 3, lambda i, s: (HELD.append(i), s * x)[1], x),
        lambda x: tapec.cond(x > 0.0, lambda: (HELD.append(1), x)[1], lambda: x),
    ],
)
def test_a_body_that_stores_something_around_it_is_refused(function: Any) -> None:
    with pytest.raises(UnsupportedError, match="stores something around it"):
        tapec.value_and_grad(function)(0.5)


@pytest.mark.parametrize("function", [kept, kept_of_a_branch, kept_of_a_nested_body])
def test_what_leaves_a_body_otherwise_than_by_its_result_is_refused(function: Any) -> None:
    with pytest.raises(UnsupportedError, match="known only in the function. Fix: return it"):
        tapec.value_and_grad(function)(0.5)


def test_what_is_the_same_each_time_may_be_done_in_a_body() -> None:
    cache: dict[str, Any] = {}

    def step(w: Any, s: Any) -> Any:
        if "w" not in cache:
            cache["w"] = 2.0
        holes = np.full(3, np.nan)
        holes[1] = np.random.default_rng(0).normal()
        return np.nansum(holes * w) * s * cache["w"]

    def function(w: Any, s: Any) -> Any:
        log: list[Any] = []  # which nobody uses
        return tapec.fori_loop(0, 3, lambda i, s: (log.append(s), step(w, s))[1], s)

    w = np.array([1.0, 0.3, np.nan])
    value, (d_w, d_s) = tapec.value_and_grad(function, argnums=(0, 1))(w, 0.5)
    np.testing.assert_allclose(value, function(w, 0.5), rtol=1e-12)
    np.testing.assert_allclose(d_s, function(w, 1.0), rtol=1e-12)
    assert np.all(np.isfinite(d_w[:2]))


def test_draws_in_a_body_on_a_tape() -> None:
    with tapec.GradientTape() as tape:
        x = tapec.Variable(0.5)
        y = tapec.fori_loop(0, 3, lambda i, s: s * x + np.random.default_rng(i).normal(), 1.0)
    n = [np.random.default_rng(i).normal() for i in range(3)]
    np.testing.assert_allclose(y, ((0.5 + n[0]) * 0.5 + n[1]) * 0.5 + n[2], rtol=1e-12)
    np.testing.assert_allclose(tape.gradient(y, x), 3 * 0.25 + 2 * n[0] * 0.5 + n[1], rtol=1e-12)


INNER = {
    "compile": lambda y: tapec.compile(lambda w: np.sin(w * y)),
    "grad": lambda y: tapec.grad(lambda w: np.sum(np.sin(w * y) ** 2)),
    "vmap": lambda y: lambda s: tapec.vmap(lambda w: np.sin(w * y))(np.stack([s, 2 * s]))[1],
    "jvp": lambda y: lambda s: tapec.jvp(lambda w: np.sin(w * y), (s,), (y,))[1],
    "nested": lambda y: tapec.grad(lambda w: np.sum(tapec.grad(lambda v: np.sum(np.sin(v * y) ** 2))(w) ** 2)),
}
AROUND = {
    "scan": lambda f, x, ys: tapec.scan(lambda s, y: (s - 0.01 * f(y)(s), None), x, ys)[0],
    "fori_loop": lambda f, x, ys: tapec.fori_loop(0, 3, lambda i, s: s - 0.01 * f(ys[0] * i)(s), x),
    "while_loop": lambda f, x, ys: tapec.while_loop(
        lambda c: c[0] < 3.0, lambda c: (c[0] + 1.0, c[1] - 0.01 * f(c[0] * ys[1])(c[1])), (0.0, x)
    )[1],
    "cond": lambda f, x, ys: tapec.cond(np.sum(ys) > 6.5, lambda y: f(y[0])(x), lambda y: f(y[1])(x), ys),
    "scan in scan": lambda f, x, ys: tapec.scan(
        lambda s, y: (tapec.scan(lambda t, z: (t - 0.01 * f(y * z)(t), None), s, ys)[0], None), x, ys
    )[0],
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
@pytest.mark.parametrize("inner", INNER.values(), ids=INNER)
def test_what_a_function_in_a_body_captures_is_another_one_in_each_turn(inner, around):
    """The check of the first call does not tell: all turns of it read the same."""

    def f(x, ys):
        return np.sum(around(inner, x, ys) ** 2)

    compiled, derived, x = tapec.compile(f), tapec.value_and_grad(f, argnums=(0, 1)), np.array([0.5, 1.0])
    for ys in (np.ones((3, 2)), np.array([[1.0, 2.0], [3.0, 1.0], [0.3, 0.6]])):
        want = f(x, ys)
        np.testing.assert_allclose(compiled(x, ys), want, rtol=1e-12)
        value, (of_x, of_ys) = derived(x, ys)
        np.testing.assert_allclose(value, want, rtol=1e-12)
        for steps, found in ((np.eye(2), of_x @ np.eye(2)), (np.eye(6).reshape(6, 3, 2), of_ys.ravel())):
            moved = [(x + s, ys) if s.ndim == 1 else (x, ys + s) for s in 1e-6 * steps]
            back = [(x - s, ys) if s.ndim == 1 else (x, ys - s) for s in 1e-6 * steps]
            slopes = [(f(*a) - f(*b)) / 2e-6 for a, b in zip(moved, back, strict=True)]
            np.testing.assert_allclose(found, slopes, rtol=2e-5, atol=1e-8)


@pytest.mark.parametrize("copied", [lambda b: b.copy(), lambda b: b.T.copy("K"), lambda b: np.copy(b)])
def test_bodies_may_copy_arrays_of_several_axes(copied):
    def f(x):
        def step(i, b):
            b = copied(b)
            b[i] = x
            return b

        return tapec.fori_loop(0, 3, step, np.zeros((3, 3)))

    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(tapec.compile(f)(x), f(x))
    np.testing.assert_array_equal(tapec.jacobian(f)(x), np.stack([f(row) for row in np.eye(3)], axis=-1))


def test_code_that_does_not_know_tensors_in_a_branch() -> None:
    """It gets what captured numbers come to there, as facts; never an operand."""
    state = types.SimpleNamespace()

    def captured(c: Any) -> Any:
        def mean(c: Any) -> Any:
            twice = 2.0 * state.number
            return statistics.mean([twice * twice, twice]) * c

        return tapec.cond(c > 0, mean, lambda c: c, c)

    compiled = tapec.compile(captured)
    for state.number in (1.0, 3.0, 2.0):
        assert compiled(1.5) == captured(1.5)

    def given(c: Any, x: Any) -> Any:
        return tapec.cond(c > 0, lambda x: statistics.mean([x, 1.0]) * x, lambda x: x, x)

    with pytest.raises(DetachError, match="cond: the function looks at a value"):
        tapec.compile(given)(1.0, 3.0)
