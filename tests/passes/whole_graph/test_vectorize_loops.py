"""Loops whose turns do not need each other are computed with whole arrays; all others stay loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapec
from tapec.ir import Graph, interpret, ops, verify
from tapec.passes import tuning
from tapec.passes.pipeline import with_loops
from tests.properties import loop_count

N = 30
RNG = np.random.default_rng(5)
W = np.array([0.3, 0.7, -0.2])
XS = RNG.normal(size=(N, 3))
YS = RNG.normal(size=N)


def collected(w, xs, ys):
    return np.sum(np.array([np.tanh(x @ w) - y for x, y in zip(xs, ys)]) ** 2)


def written(w, xs, ys):
    out = np.zeros(len(ys))
    for i in range(len(ys)):
        out[i] = w[0] * np.exp(-w[1] * ys[i] ** 2)
    return np.sum(out**3)


def added(w, xs, ys):
    total = 0.0
    for x, y in zip(xs, ys):
        total += (w[0] * x[0] + w[1] * np.sin(x[2]) - y) ** 2
    return total / len(ys)


def taken_away(w, xs, ys):
    total = w[2]
    for x, y in zip(xs, ys):
        total = total - np.logaddexp(0.0, -y * (x @ w)) - 0.1 * y
        total = w[0] * y + total
    return total


def two_sums(w, xs, ys):
    a, b = 0.0, np.zeros(w.shape)
    for x, y in zip(xs, ys):
        r = x * w - y
        a += np.sum(r**2)
        b = b + np.cos(r) * y
    return a * np.sum(b**2)


def neighbours(w, xs, ys):
    u, out = w[0] * ys + ys**2, np.zeros(len(ys))
    for i in range(1, len(ys) - 1):
        out[i] = (u[i + 1] - 2 * u[i] + u[i - 1]) * w[1]
    return np.sum(np.sin(out))


def of_the_row_before(w, xs, ys):
    total, last = 0.0, w[1]
    for y in ys:
        total += (y - w[0] * last) ** 2
        last = y
    return total + last


def of_the_value_before(w, xs, ys):
    total, older, old = 0.0, w[1], w[0]
    for y in ys:
        new = np.sin(w[2] * y)
        total += new * old * older
        older, old = old, new
    return total


def last_round(w, xs, ys):
    for x, y in zip(xs, ys):
        h = np.exp(w * x) * y
        k = np.cos(h)
    return np.sum(h * k)


def small_matrices(w, xs, ys):
    total = 0.0
    for x in xs:
        a = np.outer(x[:2], x[1:]) * w[0] + 3.0 * np.eye(2)
        total += np.linalg.slogdet(a)[1] + np.linalg.norm(a @ w[:2])
    return total


def backwards(w, xs, ys):
    total = 0.0
    for i in reversed(range(len(ys))):
        total += np.sum(np.maximum(xs[i] * w, ys[i]))
    return total


def by_index(w, xs, ys):
    places = np.arange(len(ys)) % 3
    total = 0.0
    for i, p in enumerate(places):
        total += w[p] ** 2 * ys[i]
    return total


def pairs(w, xs, ys):
    total = 0.0
    for i in range(12):
        for j in range(12):
            total += np.exp(-np.sum(w * (xs[i] - xs[j]) ** 2)) * ys[j]
    return total


def table_of_pairs(w, xs, ys):
    table = np.zeros((12, 10))
    for i in range(12):
        for j in range(10):
            d = xs[i] * w - xs[j]
            table[i, j] = np.tanh(np.dot(d, d) * w[0])
    return np.sum(table**2)


def rows_of_pairs(w, xs, ys):
    total = w[0]
    for i in range(12):
        u = xs[i] @ w
        for j in range(10):
            total = total + np.cos(u * ys[j])
        total = total - u * ys[i]
    return total


PROGRAMS = [
    *(
        collected,
        written,
        added,
        taken_away,
        two_sums,
        neighbours,
        of_the_row_before,
        of_the_value_before,
        last_round,
    ),
    *(small_matrices, backwards, by_index, pairs, table_of_pairs, rows_of_pairs),
]


def recorded(program: Any, *args: Any) -> Graph:
    return tapec.compile(program).ir(*args, stage="forward")


def loops_in(graph: Graph) -> list[Any]:
    return [n for n in graph.nodes if n.op is ops.loop]


def slope(f: Any, x: Any, way: Any) -> float:
    return (f(x + 1e-6 * way) - f(x - 1e-6 * way)) / 2e-6


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_without_recurrences_have_no_loop(program):
    args = W, XS, YS
    graph = recorded(program, *args)
    made = verify(with_loops(graph))
    assert not loops_in(made) and len(made.nodes) < 60 < len(graph.nodes)
    np.testing.assert_allclose(interpret(made, *args), interpret(graph, *args), rtol=1e-13)
    graded = tapec.value_and_grad(program)
    for w, xs, ys in (args, (W[::-1] + 0.1, XS[::-1] * 0.9, YS + 0.2)):
        value, gradient = graded(w, xs, ys)
        np.testing.assert_allclose(value, program(w, xs, ys), rtol=1e-12)
        for way in np.eye(3):
            wanted = slope(lambda w, xs=xs, ys=ys: program(w, xs, ys), w, way)
            np.testing.assert_allclose(gradient @ way, wanted, rtol=2e-6, atol=1e-8)
    assert not loop_count(graded.source(*args))


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p is not small_matrices])
def test_second_derivatives(program):
    hessian = tapec.hessian(program)(W, XS, YS)
    gradient = tapec.grad(program)
    for way, row in zip(np.eye(3), hessian):
        np.testing.assert_allclose(row, slope(lambda w: gradient(w, XS, YS), W, way), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("program", [two_sums, of_the_row_before, of_the_value_before, last_round])
def test_types(program, dtype):
    args = [x.astype(dtype) for x in (W, XS, YS)]
    graph = recorded(program, *args)
    (wanted,), (found,) = interpret(graph, *args), interpret(with_loops(graph), *args)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-4 if dtype == "float32" else 1e-12)
    np.testing.assert_allclose(tapec.compile(program)(*args), program(*args), rtol=1e-4)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.0, 0.0])
@pytest.mark.parametrize("program", [collected, added, two_sums, neighbours, of_the_value_before])
def test_values_that_are_no_numbers(program, value):
    ys = YS.copy()
    ys[7] = value
    with np.errstate(all="ignore"):
        graph = recorded(program, W, XS, ys)
        wanted, found = interpret(graph, W, XS, ys), interpret(with_loops(graph), W, XS, ys)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_sum_of_negative_zeros_has_the_sign_that_adding_gives():
    def total(xs):
        start = 0.0
        for x in xs:
            start = start + np.sin(x) * 1.0 + np.sin(x) * 2.0
        return start

    xs = np.full(N, -0.0)
    assert np.signbit(tapec.compile(total)(xs)) == np.signbit(total(xs))


# -- what stays a loop ------------------------------------------------------------------------------------------------
def recurrence(w, xs, ys):
    h = w[0]
    for y in ys:
        h = np.tanh(h * w[1] + y)
    return h


def running_total(w, xs, ys):
    total, out = 0.0, []
    for y in ys:
        total = total + np.sin(y * w[0])
        out.append(total * w[1])
    return np.sum(np.array(out) ** 2)


def mixed_carries(w, xs, ys):
    a, b = w[0], w[1]
    for y in ys:
        a, b = a + np.sin(b) * y, b + np.cos(a) * y
    return a * b


def product(w, xs, ys):
    p = w[0]
    for y in ys:
        p = p * (1.0 + 0.1 * np.sin(y * w[1]))
    return p


@pytest.mark.parametrize("program", [recurrence, running_total, mixed_carries, product])
def test_recurrences_stay_loops(program):
    graph = recorded(program, W, XS, YS)
    made = verify(with_loops(graph))
    assert loops_in(made)
    np.testing.assert_allclose(interpret(made, W, XS, YS), interpret(graph, W, XS, YS), rtol=1e-13)
    value, gradient = tapec.value_and_grad(program)(W, XS, YS)
    np.testing.assert_allclose(value, program(W, XS, YS), rtol=1e-12)
    for way in np.eye(3):
        np.testing.assert_allclose(gradient @ way, slope(lambda w: program(w, XS, YS), W, way), rtol=2e-6, atol=1e-8)


def test_long_rows_and_large_results_stay_in_turns(monkeypatch):
    graph = recorded(collected, W, XS, YS)
    assert not loops_in(with_loops(graph))
    monkeypatch.setattr(tuning, "AHEAD_MAX_BYTES", 8 * N)
    assert loops_in(with_loops(graph))
    monkeypatch.undo()
    wide = recorded(two_sums, np.ones(2000), np.ones((N, 2000)), YS)
    assert loops_in(with_loops(wide))


def test_errors_of_pythons_numbers_stay():
    def shares(xs, a):
        total = 0.0
        for x in xs:
            total += a / x + a * x
        return total

    xs = [float(k + 1) for k in range(N)]
    f = tapec.compile(shares)
    assert f(xs, 2.0) == pytest.approx(shares(xs, 2.0), rel=1e-14)
    xs[4] = 0.0
    with pytest.raises(ZeroDivisionError):
        shares(xs, 2.0)
    with pytest.raises(ZeroDivisionError):
        f(xs, 2.0)


def test_pythons_whole_numbers_keep_their_digits():
    def total(xs, a):
        s = 0
        for x in xs:
            s = s + x * x
        return s * a

    xs = [2**40 + k for k in range(N)]
    assert tapec.compile(total)(xs, 1.0) == total(xs, 1.0)


def test_what_loops_of_tapec_compute(monkeypatch):
    def scanned(w, xs):
        def turn(total, x):
            y = np.tanh(x @ w)
            return total + y, y * y

        total, squares = tapec.scan(turn, 0.0, xs)
        return total * np.sum(squares)

    value, gradient = tapec.value_and_grad(scanned)(W, XS)
    h = np.tanh(XS @ W)
    np.testing.assert_allclose(value, h.sum() * (h @ h), rtol=1e-13)
    for way in np.eye(3):
        f = lambda w: np.tanh(XS @ w).sum() * np.sum(np.tanh(XS @ w) ** 2)
        np.testing.assert_allclose(gradient @ way, slope(f, W, way), rtol=1e-6)


def test_a_list_of_arrays_is_one_parameter():
    def total(rows, w):
        s = 0.0
        for row in rows:
            s += np.sum(np.sin(row * w))
        return s

    rows = [*XS]
    graded = tapec.value_and_grad(total, argnums=(0, 1))
    value, (d_rows, d_w) = graded(rows, W)
    np.testing.assert_allclose(value, total(rows, W), rtol=1e-13)
    np.testing.assert_allclose(np.array(d_rows), np.cos(XS * W) * W, rtol=1e-13)
    np.testing.assert_allclose(d_w, np.sum(np.cos(XS * W) * XS, axis=0), rtol=1e-13)
    assert not loop_count(graded.source(rows, W))


def test_what_no_turn_changes_is_carried_through():
    def turn(carried, x):
        total, scale = carried
        return (total + np.sin(x * scale), scale), x * scale

    def f(w, xs):
        (total, scale), scaled = tapec.scan(turn, (np.zeros(3), w), xs)
        return np.sum(total) * np.sum(scaled) + scale @ scale

    graph = recorded(f, W, XS)
    made = verify(with_loops(graph))
    assert loops_in(graph) and not loops_in(made)
    np.testing.assert_allclose(interpret(made, W, XS), interpret(graph, W, XS), rtol=1e-13)
    np.testing.assert_allclose(tapec.compile(f)(W, XS), np.sum(np.sin(XS * W)) * np.sum(XS * W) + W @ W, rtol=1e-13)


def test_many_terms_of_one_round():
    """The time that is taken grows with their number, not with its power of two."""

    def turn(total, x):
        for k in range(36):  # of no period, so that they are no loop themselves
            total = total + (np.sin, np.cos, np.tanh)[k * k * k % 7 % 3](x[k * k % 3]) * (k + 1)
        return total

    def f(w, xs):
        return tapec.scan(lambda total, x: (turn(total, x * w), x[0]), 0.0, xs)[0]

    graph = recorded(f, W, XS)
    made = verify(with_loops(graph))
    assert loops_in(graph) and not loops_in(made)
    np.testing.assert_allclose(interpret(made, W, XS), interpret(graph, W, XS), rtol=1e-12)


@pytest.mark.parametrize("program", [pairs, table_of_pairs])
def test_pairs_are_one_array(program):
    """Neither the first row nor the first column stands apart, and products of rows have no axes of length one."""
    made = with_loops(recorded(program, W, XS, YS))
    assert len([n for n in made.nodes if n.op in (ops.exp, ops.tanh)]) == 1
    assert not [n for n in made.nodes if n.op is ops.matmul and n.type.ndim > 2]
