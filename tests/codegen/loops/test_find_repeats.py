"""Loops that were written out, found again: the values of the operations one by one, in a tenth of the lines."""

import ast
import gc
import random
from itertools import pairwise

import numpy as np
import pytest

import tapec
from tapec.codegen import tuning
from tapec.codegen.floats.scalar_ops import FLOAT, float_op
from tapec.codegen.loops import arrange_loops
from tapec.codegen.loops.find_repeats import _repeating, find_loops
from tapec.ir import Graph, Node, get_op, input_node
from tests.codegen.kit import check, counted, gradient_of, graph_of, same_bits
from tests.properties import (
    assigned,
    call_count,
    calls,
    count_of,
    entry,
    has,
    loop_count,
    names,
    nodes,
    on_floats,
    statements,
    text,
)

P = np.array([1.5, 0.4])


@pytest.fixture(autouse=True)
def small_programs_too(monkeypatch):
    monkeypatch.setattr(tuning, "FLOAT_LOOPS_MIN_SPARED_OPS", 100)


def loops(code):
    """Return how many loops there are on floats; what runs in their stead on arrays may have others."""
    return loop_count(entry(code))


def iterated(code):
    """Return what the loops on floats go along."""
    return [text(loop.iter) for loop in nodes(entry(code), ast.For)]


def pendulum(steps):
    def f(p, y):
        angle, speed = y[0], y[1]
        for _ in range(steps):
            angle, speed = angle + 0.05 * speed, speed - 0.05 * (p[0] * np.sin(angle) + p[1] * speed)
        return angle * angle + speed

    return f


def test_value_and_gradient():
    y = np.array([0.5, 0.1])
    compiled = check(gradient_of(pendulum(60), P, y), P, y)
    assert loops(compiled) == 2 and len(statements(entry(compiled))) < 40
    assert iterated(compiled) == ["range(60)", "steps[-2::-1]"] and call_count(entry(compiled), "steps.append") == 1


def test_all_steps_backward_need_no_second_list():
    def f(p, y):
        u, v = y[0], y[1]
        for _ in range(90):
            u, v = u + 0.1 * (p[0] * u - p[1] * u * v), v + 0.1 * u * v
        return u * v

    y = np.array([0.5, 0.1])
    compiled = check(gradient_of(f, P, y), P, y)
    assert iterated(compiled) == ["range(90)", "reversed(steps)"]


def test_wide_for_targets_are_unpacked_in_the_body():
    def f(p, data):
        slope = lambda s: np.stack([s[1], -p[0] * np.sin(s[0]) - p[1] * s[1]])
        s, path = np.array([1.0, 0.0]), []
        for _ in range(20):
            k1 = slope(s)
            k2 = slope(s + 0.025 * k1)
            k3 = slope(s + 0.025 * k2)
            s = s + 0.05 / 6 * (k1 + 2 * k2 + 2 * k3 + slope(s + 0.05 * k3))
            path.append(s[0])
        return np.mean((np.stack(path) - data) ** 2)

    data = np.cos(np.linspace(0, 6, 20))
    compiled = check(gradient_of(f, P, data), P, data)
    wide = [loop for loop in nodes(entry(compiled), ast.For) if "step" in names(loop.target)]
    assert len(wide) == 1 and has(wide[0].body[0], "_ = step") and len(assigned(wide[0].body[0])) > 8


def test_few_operations_are_written_out(monkeypatch):
    monkeypatch.undo()
    y = np.array([0.5, 0.1])
    assert loops(check(gradient_of(pendulum(5), P, y), P, y)) == 0
    assert loops(check(gradient_of(pendulum(20), P, y), P, y)) == 2


def test_elements_are_no_steps(monkeypatch):
    """A program that is short on arrays is not searched for loops, and the search is not imported."""

    def rosenbrock(x):
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    def arranged(*_):
        raise AssertionError

    monkeypatch.setattr(arrange_loops, "arranged", arranged)
    x = np.linspace(-1.0, 1.0, 10)
    compiled = check(gradient_of(rosenbrock, x), x)
    assert on_floats(compiled) and len(statements(entry(compiled))) > 30


def test_common_operands_are_computed_before_the_loop():
    """`p[0] * p[1]`, which is what the first step makes of `x` as well."""

    def f(p):
        x = p[0]
        for _ in range(30):
            x = x * p[1] + np.sin(p[0] * p[1])
        return x

    assert loops(check(gradient_of(f, P), P)) == 2


def test_first_step_finds_no_value_of_its_own():
    """The first `x` is what `y` is after one step."""

    def f(p):
        x, y = p[0] * p[1], p[0]
        for _ in range(30):
            x, y = x - 0.1 * np.sin(y), y * p[1]
            x = x + 0.01 * y
        return x * y

    assert loops(check(gradient_of(f, P), P)) == 2


def test_cheap_values_of_the_first_step_are_recomputed():
    """In the first step `x` is `a`, so its derivative is apart from the loop's; a list would be kept only for that."""

    def newton(a):
        x = a
        for _ in range(20):
            x = x - (x * x * x - a) / (3.0 * x * x)
        return x

    a = np.float64(5.0)
    compiled = check(gradient_of(newton, a), a)
    assert loops(compiled) == 2 and count_of(entry(compiled), "_ = []") == 1


def test_along_arrays():
    def f(p, x):
        level, loss = x[0], 0.0
        for k in range(1, 80):
            error = x[k] - level
            loss = loss + np.log1p(error * error)
            level = level + p[0] * error + p[1] * np.tanh(error)
        return loss

    x = np.sin(np.arange(80.0))
    compiled = check(gradient_of(f, P, x), P, x)
    assert loops(compiled) == 2 and iterated(compiled)[0] == "y_list[1:-1]"


def test_results_of_all_steps_are_lists():
    """Elements of results are collected in lists: forward by the loop, backward by that of the gradient."""

    def f(p, x):
        s = p[0]
        out = []
        for k in range(90):
            s = np.sin(s * x[k]) + p[1]
            out.append(s * s)
        return np.stack(out), s

    x = np.linspace(0.1, 2.0, 90)
    compiled = check(graph_of(f, P, x), P, x)
    assert loops(compiled) == 1 and has(compiled, "np.array(steps)")

    compiled = check(gradient_of(lambda p, x: f(p, x)[1], P, x), P, x)
    assert loops(compiled) == 2 and has(compiled, "d_y[::-1]")


def test_numbers_that_change():
    def f(p):
        x, v = p[0], p[1]
        for k in range(70):
            x, v = x + 0.1 * v, v - 0.1 * x * np.tanh(x) + (1.5 + np.cos(0.3 * k)) * p[0]
        return x + v

    compiled = check(gradient_of(f, P), P)
    assert loops(compiled) == 2 and count_of(entry(compiled), "numbers = _") == 1
    assert all("numbers" in text for text in iterated(compiled))
    assert max(map(len, compiled.source.splitlines())) <= 120


@pytest.mark.parametrize("count", range(60, 64))
def test_equal_operations_on_several_values(count):
    """A product and a difference, three times a step: which of them stands in the middle depends on the length."""

    def residuals(p, y):
        e = np.zeros_like(y * p[0])
        for t in range(2, len(y)):
            e[t] = y[t] - p[0] * y[t - 1] - p[1] * e[t - 1] - p[2] * e[t - 2]
        return np.sum(e**2)

    p, y = np.array([0.3, 0.2, 0.1]), np.random.default_rng(5).standard_normal(count)
    gradient = tapec.value_and_grad(residuals)
    value, d_p = gradient(p, y)
    with tapec.settings(optimize=False):
        expected = tapec.grad(residuals)(p, y)
    np.testing.assert_allclose(value, residuals(p, y), rtol=1e-13)
    np.testing.assert_allclose(d_p, expected, rtol=1e-11)
    source = gradient.source()
    assert loops(source) == 2 and len(statements(entry(source))) < 42


def test_values_that_change_places():
    """A value that a step leaves is read two steps later, or under another name."""

    def f(p):
        a, b, c = p[0], p[1], 0.5 * p[0]
        for _ in range(90):
            a, b, c = b, c, np.sin(a * b) - 0.5 * c
        return a * b + c

    compiled = check(gradient_of(f, P), P)
    assert loops(compiled) == 2


def test_loops_of_loops():
    def f(p):
        x, y = p[0], p[1]
        for _ in range(30):
            for _ in range(3):
                x = x + 0.1 * np.sin(y)
            y = y - 0.1 * np.cos(x) * p[0]
        return x * y

    compiled = check(gradient_of(f, P), P)
    assert loops(compiled) == 2 and iterated(compiled)[0] == "range(30)"


def test_operations_on_all_steps_join_the_loop():
    """Loops that would go along a loop step by step are a part of it."""

    def f(p, x):
        angle, speed, angles = 1.0, p[0], []
        for _ in range(60):
            speed = speed - 0.05 * (p[1] * np.sin(angle) + speed)
            angle = angle + 0.05 * speed
            angles.append(angle)
        return np.sum(((np.stack(angles) - x) / 0.3) ** 2)

    x = np.linspace(0.1, 0.9, 60)
    compiled = check(graph_of(f, P, x), P, x)
    assert loops(compiled) == 1 and has(entry(compiled), "(_ - y_k) / 0.3")
    check(gradient_of(f, P, x), P, x)


def first_and_last(p):
    a, b = p[0], p[1] * 0.5
    for _ in range(50):
        a, b = a + 0.1 * (0.5 * a - p[0] * p[0]), b - 0.1 * (np.tanh(a) * np.tanh(a) + -a * -a)
    return a * b


def squares(p):
    a, b, seen = p[0], p[1] * 0.5, []
    for _ in range(33):
        a, b = np.tanh(np.sin(a * a) - np.cos(np.sin(-b) - np.tanh(a))), np.sin(a + np.cos(p[0]))
        seen.append(b)
    return np.sum(np.sin(np.stack(seen))) + np.sum(np.stack(seen) ** 2)


@pytest.mark.parametrize("function", [first_and_last, squares])
def test_second_derivatives(function, monkeypatch):
    """Steps compute again what others have computed again; of the first program, whose steps would read one step of a
    loop that is found later, all is written out."""

    def second():
        g = tapec.grad(lambda p: np.sum(tapec.grad(function)(p) ** 2))
        return g(P), g.source(P)

    monkeypatch.setattr(tuning, "FLOAT_LOOPS_MIN_SPARED_OPS", 60)
    got, source = second()
    monkeypatch.setattr(tuning, "FLOAT_LOOPS_MIN_SPARED_OPS", 10_000)
    wanted, plain = second()
    assert got.tobytes() == wanted.tobytes() and not loops(plain)
    assert function is first_and_last or loops(source) > 3


@pytest.mark.parametrize("p", [[0.7, 0.3], [1.0, -0.0], [-0.0, -1.0]])
def test_sums_begin_with_the_neutral_zero(p, monkeypatch):
    """-0.0 and not 0.0, which would make 0.0 of a sum of negative zeros; those of gradients may lose a sign."""

    def last(p):
        x = p[1]
        for _ in range(100):
            x = np.sin(x) + p[0] * x
        return x * x

    def total(p):
        x, found = p[1], None
        for _ in range(100):
            x = np.sin(x) + p[0] * x
            found = x * x * x if found is None else found + x * x * x
        return found

    p = np.array(p)
    for graph, zero in ((gradient_of(last, p), "0.0"), (graph_of(total, p), "-0.0")):
        rolled = check(graph, p)
        assert loops(rolled) and has(entry(rolled), f"_ = {zero}")
        monkeypatch.setattr(tuning, "FLOAT_LOOPS_MIN_SPARED_OPS", 10_000)
        written_out = check(graph, p)
        monkeypatch.setattr(tuning, "FLOAT_LOOPS_MIN_SPARED_OPS", 100)
        assert loops(written_out) == 0
        same_bits(rolled.function(p), written_out.function(p), graph, rolled.source)


@pytest.mark.parametrize("edge", [0.0, -0.0, np.inf, -np.inf, np.nan, 1e308, 1e-320])
def test_edges(edge):
    p = np.array([edge, 0.5])

    def f(p):
        x, s = p[0], p[1]
        for _ in range(60):
            s = s + 1.0 / x + np.sqrt(np.abs(x))
            x = np.exp(-x * s) * x + np.maximum(x, s)
        return s + x

    assert loops(check(gradient_of(f, p), p)) >= 1


def test_inputs_are_not_written():
    def f(x, y):
        for _ in range(10):
            x, y = y + 0.1 * x, 0.3 * x * y
        return x, y

    x, y = np.float64(0.3), np.float64(0.7)
    compiled = check(graph_of(f, x, y), x, y)
    assert loops(compiled) == 0
    compiled = check(gradient_of(lambda x, y: f(x, y)[0] + f(x * y, x)[1], x, y), x, y)
    assert loops(compiled) >= 2


def test_a_loop_that_others_read_everywhere_is_written_out():
    def f(p):
        x, seen = p[0], []
        for _ in range(40):
            x = np.sin(x * p[1]) + 0.5 * x
            seen.append(x)
        order = np.random.default_rng(0).permutation(40)
        total = p[0]
        for k, j in enumerate(order):
            total = total * seen[j] if k % 3 else np.tanh(total) - seen[j] * seen[(j * 7) % 40]
        return total

    check(gradient_of(f, P), P)


def test_two_loops_one_after_the_other():
    def f(p):
        x = p[0]
        kept = []
        for _ in range(50):
            x = x + 0.1 * np.sin(x) * p[1]
            kept.append(x)
        y = p[1]
        for k in range(50):
            y = y * kept[k] + np.cos(y)
        for k in range(50):
            y = y - 0.1 * kept[49 - k] * y
        return x * y

    compiled = check(gradient_of(f, P), P)
    assert loops(compiled) >= 4


def test_each_path_is_the_program_that_it_would_be_alone():
    @tapec.value_and_grad(argnums=(0, 1))
    def swing(p, y):
        if y[0] > 5.0:
            return p[0]
        return pendulum(60)(p, y) if p[1] > 0.0 else -pendulum(50)(2.0 * p, y)

    def by_hand(p, y):
        loss = pendulum(60) if p[1] > 0.0 else (lambda p, y: -pendulum(50)(2.0 * p, y))
        return tapec.value_and_grad(loss, argnums=(0, 1))(p, y)

    y = np.array([0.5, 0.1])
    for p in (P, P * [1.0, -1.0], P):
        value, gradients = swing(p, y)
        expected, slopes = by_hand(p, y)
        np.testing.assert_allclose(value, expected, rtol=1e-14)
        for found, wanted in zip(gradients, slopes, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)
    value, gradients = swing(P, y + 9.0)
    assert value == P[0] and [g.tolist() for g in gradients] == [[1.0, 0.0], [0.0, 0.0]]


def test_cheap_values_are_not_kept():
    """The slope of each square is 2 * i, also of one that is read outside of the loop."""

    def epidemic(theta, y):
        (beta, gamma), (s, i) = theta, y
        path = []
        for _ in range(60):
            new, out = beta * s * i, gamma * i
            s, i = s - new, i + new - out
            path.append(i)
        return np.sum(np.stack(path) ** 2)

    given = np.array([0.4, 0.1]), np.array([0.99, 0.01])
    gradient = tapec.grad(epidemic)
    found = gradient(*given)
    assert call_count(entry(gradient.source(*given)), "append") == 2
    with tapec.settings(optimize=False):
        np.testing.assert_allclose(found, tapec.grad(epidemic)(*given), rtol=1e-12)


def test_short_loops_serve_other_loops():
    """A loop of one operation and ten steps pays where it goes along another loop: else both would be written out."""

    def epidemic(p, data):
        s, i, infected = 0.99, 0.01, []
        for day in range(20):
            rate = p[0] * (0.4 if day >= 10 else 1.0)
            s, i = s - rate * s * i, i + rate * s * i - p[1] * i
            infected.append(i)
        return np.sum((np.stack(infected) - data) ** 2)

    data = np.random.default_rng(0).random(20)
    compiled = check(gradient_of(epidemic, P, data), P, data)
    assert loops(compiled) >= 6 and len(statements(entry(compiled))) < 78


def test_unread_values_make_no_loop():
    def f(p):
        x, unread = p[0], p[1]
        for _ in range(60):
            unread = np.sin(unread) + 0.5
            x = np.tanh(x) * p[1] + 0.1
        return x

    compiled = check(graph_of(f, P), P)
    assert loops(compiled) == 1 and not calls(compiled, "sin")


def test_along_the_rows_of_a_matrix():
    """Rows come whole, and gradients of them go into a list of rows."""

    def f(w, rows, y):
        for k in range(40):
            error = rows[k] @ w - y[k]
            w = w - 0.05 * error * rows[k]
        return w @ w

    rng = np.random.default_rng(0)
    w, rows, y = rng.normal(size=3), rng.normal(size=(40, 3)), rng.normal(size=40)
    compiled = check(gradient_of(f, w, rows, y), w, rows, y)
    assert loops(compiled) == 2 and iterated(compiled)[0] == "zip(y_list, z_list)"
    assert has(compiled, "d_y.append((_, _, _))")


def test_across_the_rows_of_a_matrix():
    def f(p, table):
        x = p[0]
        for k in range(60):
            x = np.sin(x * table[k // 20, k % 20]) + p[1]
        return x

    table = np.random.default_rng(1).normal(size=(3, 20))
    compiled = check(gradient_of(f, P, table), P, table)
    assert loops(compiled) == 2 and has(compiled, "y.ravel().tolist()")


def test_steps_that_read_earlier_elements():
    def f(p, y):
        loss = 0.0
        for k in range(2, 90):
            error = y[k] - p[0] * y[k - 1] - p[1] * y[k - 2]
            loss = loss + error * error
        return loss

    y = np.sin(np.arange(90.0))
    compiled = check(gradient_of(f, P, y), P, y)
    assert loops(compiled) == 2


def test_the_last_step_is_read_by_parts():
    def f(p):
        x, y = p[0], p[1]
        for _ in range(60):
            x, y = x + 0.1 * np.sin(y) * np.cos(x), y - 0.1 * np.cos(x * y) * np.tanh(x)
        return 3.0 * x - y

    compiled = check(gradient_of(f, P), P)
    assert loops(compiled) == 2 and has(entry(compiled), "steps[-1][_]")


@pytest.mark.thorough
def test_long_arrays_that_are_only_read_by_elements():
    """Operations on all of a long array stay with NumPy."""

    def f(a, x):
        level, loss = x[0], 0.0
        for k in range(1, x.shape[0]):
            loss = loss + (x[k] - level) ** 2
            level = a * x[k] + (1.0 - a) * level
        return loss

    a, x = np.float64(0.3), np.cos(np.arange(400.0))
    compiled = check(gradient_of(f, a, x), a, x)
    assert loops(compiled) == 2 and has(compiled, "d_y[::-1]")
    assert not on_floats(check(gradient_of(lambda a, x: f(a, x) + np.sum(np.tanh(x)), a, x), a, x))
    assert not on_floats(check(gradient_of(lambda a, x: a * x[3] + np.sin(x[300]), a, x), a, x))


def test_values_that_begin_as_one():
    def f(p):
        a, b = p[0], p[0]
        for _ in range(60):
            a, b = np.sin(a) * b + p[1], np.cos(a) - 0.5 * b
        return a * b

    compiled = check(gradient_of(f, P), P)
    assert loops(compiled) == 2


def test_the_rows_of_a_long_matrix():
    def f(w, rows):
        for k in range(120):
            w = w - 0.05 * (rows[k] @ w - 1.0) * rows[k]
        return w @ w

    rng = np.random.default_rng(0)
    w, rows = rng.normal(size=3), rng.normal(size=(120, 3))
    compiled = check(gradient_of(f, w, rows), w, rows)
    assert loops(compiled) == 2 and has(compiled, "np.array(d_y[::-1])")


@pytest.mark.parametrize("kinds, reach", [(["add"], 3), (["add", "multiply"], 5), (["add", "sin"], 500)])
def test_work_grows_with_the_program(kinds, reach):
    """Stretches that look alike everywhere, and are no loop, are not looked at again and again."""

    def calls(count):
        r = random.Random(1)
        x, nodes = input_node("x", FLOAT), []
        for _ in range(count):
            name = r.choice(kinds)
            ago = [min(r.randint(1, reach), len(nodes)) for _ in range(1 if name == "sin" else 2)]
            read = [nodes[-k] if k else x for k in ago]
            nodes.append(Node(float_op(get_op(name)), tuple(read), (), FLOAT))
        return counted(find_loops, Graph([x], nodes, nodes[-1:]), [[x]])[1]

    assert calls(8000) < 60 * 8000 and calls(8000) < 3 * calls(4000)


@pytest.mark.parametrize("width", [1, 3, 12])
def test_stretches_in_which_keys_repeat(width):
    r = random.Random(width)
    keys = [r.choice([0, 0, 1, -5]) for _ in range(40)] + [0, 1, 2, 1, 1] * 7 + [3] * 20 + [r.choice([7, 8])]
    windows = [tuple(keys[k : k + width]) for k in range(len(keys) - width + 1)]
    ago = [next((d for d in range(1, k + 1) if windows[k - d] == w), 0) for k, w in enumerate(windows)]
    expected, begin = [], 0
    for k, (one, other) in enumerate(pairwise([*ago, 0]), 1):
        if one != other:
            if one:
                expected.append((begin - one, k + width - 1, one))
            begin = k
    assert list(_repeating(keys, width)) == expected


@pytest.mark.thorough
def test_search_leaves_no_garbage():
    """The collector rests while a program is compiled: what waits for it has its memory until the end."""
    y = np.array([0.5, 0.1])
    graph = gradient_of(pendulum(20), P, y)
    gc.collect()
    gc.disable()
    try:
        assert find_loops(graph, [])
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_number_that_is_another_node_in_each_step(monkeypatch):
    """Equal numbers in different nodes are one number: a range of step 0 had been asked for."""
    x = np.array([0.3, -1.3, 0.2, 0.9, -0.4, 0.7, -2.1])

    def f(x):
        s = x * 1.0
        for _ in range(2):
            s = np.tanh([0.5, 0.1, 0.3, 0.2, 0.4, 0.8, 0.9]) * x + 0 * s
        return np.sum(np.tanh(s))

    monkeypatch.setattr(tuning, "FLOAT_LOOPS_MIN_SPARED_OPS", 1)
    got = tapec.hvp(f)(x, x)
    monkeypatch.setattr(tuning, "FLOAT_LOOPS_MIN_SPARED_OPS", 10_000)
    assert np.array_equal(got, tapec.hvp(f)(x, x))
