"""Loops across tests: the same values as written out, and who takes another turn is told that nobody knows the path."""

import warnings

import numpy as np
import pytest

import tapec
from tapec.codegen import arrays, branches, floats
from tapec.codegen.asked import course_of
from tapec.codegen.branches import parted, segments_of
from tapec.ir import parse
from tapec.ir.tree import Branch, Leaf
from tests.codegen.kit import drawn


def newton(a):
    x = 1.0 + 0.0 * a
    for _ in range(50):
        dx = (x * x * x - a) / (3.0 * x * x)
        x = x - dx
        if abs(dx) < 1e-12:
            break
    return np.sum(x)


def fixed_point(w, x):
    h = np.zeros(x.shape)
    while True:
        new = np.tanh(w @ h + x)
        if np.max(np.abs(new - h)) < 1e-6:
            return np.sum(new * new)
        h = new


def halving(a):
    """The one side three times by turns with the other."""
    x, s = a, 0.0 * a
    for k in range(24):
        y = np.sin(x) + 0.1 * k
        if np.sum(y) > 1e9:
            return np.sum(y)
        x = 0.5 * (x + y)
        s = s + x * y
        if np.sum(x) < -1e9:
            return np.sum(s)
    return np.sum(s)


def power_iteration(a):
    v, last = np.ones(len(a)) / len(a) ** 0.5, 0.0
    for _ in range(200):
        z = a @ v
        size = np.sqrt(z @ z)
        v = z / size
        if abs(size - last) < 1e-6 * size:
            break
        last = size
    return size


def adaptive(y, k):
    """Every step of it is taken; its length hangs on the error."""
    t, h = 0.0, 0.02
    while t < 1.0:
        f = -k * y
        middle = y + 0.5 * h * f
        new = y - h * k * middle
        error = np.sqrt(np.sum((new - y - h * f) ** 2)) + 1e-9
        if error > 1.0:
            h = h * 0.5
            continue
        t, y = t + h, new
        h = h * np.minimum(1.05, 0.1 / error)
    return np.sum(y * y)


def square(n):
    a = drawn(n, n)
    return a @ a.T + np.eye(n)


PROGRAMS = [
    (newton, lambda: (np.float64(1e8),)),
    (newton, lambda: (np.float32(1e4) * np.ones(()),)),
    (fixed_point, lambda: (0.7 * drawn(5, 5), drawn(5))),
    (fixed_point, lambda: (0.7 * drawn(40, 40), drawn(40))),
    (halving, lambda: (np.float64(0.3),)),
    (halving, lambda: (drawn(30),)),
    (halving, lambda: (drawn(3000),)),
    (power_iteration, lambda: (square(40),)),
    (adaptive, lambda: (drawn(3), np.float64(2.0))),
    (adaptive, lambda: (drawn(200), np.float64(2.0))),
]


def numbers(result):
    return [np.asarray(part) for part in (result if isinstance(result, tuple) else (result,))]


def lines(source):
    return str(source).split("\n\n\ndef")[0].splitlines()


@pytest.mark.parametrize("transform", [tapec.compile, tapec.value_and_grad, tapec.jacfwd])
@pytest.mark.parametrize(("function", "drawing"), PROGRAMS)
def test_programs(transform, function, drawing, monkeypatch):
    values = drawing()

    def run():
        f = transform(function)
        f(*values)
        return numbers(f(*values)), f.source(*values)

    found, source = run()
    monkeypatch.setattr(arrays, "LEAST", 10**9)
    monkeypatch.setattr(floats, "LEAST", 10**9)
    expected, written = run()
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-12 if a.dtype == np.float64 else 1e-5)
    assert len(lines(source)) <= len(lines(written))
    if len(lines(written)) > 150:
        assert any("for " in line for line in lines(source)) and len(lines(source)) < len(lines(written)) / 2, source


def backwards():
    """The gradient by two numbers, which goes backwards; by one it would go along with the rounds."""
    return tapec.value_and_grad(lambda a, b: newton(a * b), argnums=(0, 1))


def test_what_a_person_writes():
    f = backwards()
    f(1e8, 1.0)
    source = f.source(1e8, 1.0)
    assert len(lines(source)) < 40 and "        for _ in range(33):" in source
    assert "            if abs(dx) < 1e-12:  " in source and "                return None\n" in source
    assert "        for x, d, dx in reversed(steps):" in source or "in reversed(steps):" in source


@pytest.mark.parametrize("function", [newton, halving, fixed_point, power_iteration])
def test_another_number_of_rounds_is_another_path(function):
    arguments = {fixed_point: [(c * np.eye(9), np.ones(9)) for c in (0.9, 0.5, 0.8)]}.get(function)
    arguments = arguments or {power_iteration: [(np.diag([1.0, c]) + 0.1,) for c in (0.1, 0.6, 0.9)]}.get(function)
    arguments = arguments or [(a,) for a in (1e9, 1e4, 1e12)]
    f = tapec.value_and_grad(function)
    for values in (*arguments, *arguments):
        value, gradient = f(*values)
        with tapec.settings(optimize=False):
            expected = tapec.value_and_grad(function)(*values)
        np.testing.assert_allclose(value, expected[0], rtol=1e-10)
        np.testing.assert_allclose(gradient, expected[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", [(), (30,)])
@pytest.mark.parametrize("transform", [tapec.compile, tapec.grad, tapec.jacfwd])
def test_nothing_is_computed_above_a_question_that_it_comes_after(transform, shape):
    """What would divide by zero in later rounds, or in their derivatives, where a path turns away before."""

    def f(x):
        s = x * 1.0
        for k in range(30):
            s = s - 0.01 * k
            if np.sum(s) <= 0.0:
                return np.sum(x * x)
            s = 0.5 * s + 0.5 * x + np.sqrt(s) * 0.01 + 1e-3 / s
        return np.sum(s * s)

    g = transform(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g(np.ones(shape) * 4.0)
        low = g(np.zeros(shape))
    np.testing.assert_array_equal(low, np.zeros(np.shape(low)))


def test_what_all_rounds_read_is_computed_behind_the_first_question():
    def f(x):
        s = 0.0 * x
        for _ in range(30):
            if np.sum(x) < 0.0:
                return s
            s = s + np.sqrt(x) * np.cos(s)
            if s > 1e3:
                return s * s
        return s

    g = tapec.value_and_grad(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = g(2.0)
        assert g(-1.0) == (0.0, 0.0)
    assert g(2.0) == pytest.approx(first)


def course(tree):
    """The course through a program with two tests, of which the second one hangs on a sine."""
    graph = parse("""
        graph(%x: f64[]) {
          %a: bool[] = greater %x, 0.0
          %b: f64[] = sin %x
          %c: bool[] = less %b, 0.5
          %d: f64[] = cos %b
          return %a, %c, %d, %x
        }
    """)
    program, tree = parted(graph, tree, early=False)
    return course_of(program, segments_of(tree, program.outputs))


def names(graph):
    return [n.op.name for n in graph.nodes if n.op.name != "constant"]


def test_a_course_asks_and_its_ends_compute_what_they_need():
    alone = course(Branch(0, ((True, Branch(1, ((False, Leaf((2,))),))),)))
    assert names(alone.graph) == ["greater", "ask", "sin", "less", "ask", "cos"] and not alone.ends
    fork = course(Branch(0, ((True, Branch(1, ((False, Leaf((2,))), (True, Leaf((3,)))))), (False, Leaf((2,))))))
    assert [n.op.name for n in fork.ends] == ["ask", "ask"]
    first, second = fork.ends.values()
    assert names(first.graph) == ["sin", "cos"] and [i.name for i in first.reads] == ["x"]
    assert names(fork.graph) == ["greater", "ask", "sin", "less", "ask"] and names(second.graph) == ["cos"]
    assert [n.op.name for n in second.reads] == ["sin"]


def test_no_course_where_a_number_is_asked_for():
    graph = parse("graph(%n: i64[], %x: f64[]) {\n %a: f64[] = sin %x\n return %n, %a, %x\n}")
    program, tree = parted(graph, Branch(0, ((1, Leaf((1,))), (2, Leaf((2,))))))
    assert course_of(program, segments_of(tree, program.outputs)) is None


def restarted(x):
    """Two iterations, and a choice after them: an end has tests of its own."""
    s = x * 1.0
    for _ in range(20):
        s = 0.8 * s + 0.1 * np.sin(s) + 0.01 * x
        if np.sum(np.abs(s)) < 0.5:
            break
    for k in range(25):
        s = s + 0.05 * np.cos(s) * x + 0.01 * k
        if np.sum(s) > 3.0:
            break
    if np.sum(x) > 1.2:
        return np.sum(s * s)
    return np.sum(s * x)


VARIED = [
    (newton, [(a,) for a in (1e8, 1e5, 50.0, 1e9, 3e6, 2.0)]),
    (fixed_point, [(c * (0.2 + np.eye(9)), np.ones(9)) for c in (0.3, 0.9, 0.5, 0.8, 0.85)]),
    (power_iteration, [(np.diag([1.0, c, 0.3]) + 0.1,) for c in (0.1, 0.6, 0.9, 0.5)]),
    (halving, [(a,) for a in (0.3, 1e9, -2e10, 0.7)]),
    (restarted, [(a,) for a in (0.3, 3.0, 0.5, 1.5, 1.1, 2.0, 0.9, 1.3)]),
    (restarted, [(a * np.linspace(0.02, 0.1, 20),) for a in (0.3, 3.0, 0.5, 1.5, 1.1, 2.0, 0.9, 1.3)]),
    (adaptive, [(a * np.ones(3), np.float64(2.0)) for a in (1.0, 5.0, 2.0)]),
    (adaptive, [(a * np.ones(150), np.float64(k)) for a, k in ((1.0, 2.0), (5.0, 3.0), (0.2, 2.0))]),
]


OTHERS = [tapec.compile, tapec.jacfwd, tapec.hessian]


@pytest.mark.parametrize(
    ("transform", "function", "arguments"),
    [(tapec.value_and_grad, *case) for case in VARIED] + [(t, *VARIED[k]) for t in OTHERS for k in (0, 1, 4)],
)
def test_paths_with_other_numbers_of_rounds(transform, function, arguments, monkeypatch):
    """Their ends begin where a round asks, and read what the rounds before have kept."""

    def run():
        f = transform(function)
        first = [numbers(f(*values)) for values in arguments]
        again = [numbers(f(*values)) for values in reversed(arguments)][::-1]
        assert f.cache_info().hits >= len(arguments)  # all paths are known
        for a, b in zip(first, again, strict=True):
            for x, y in zip(a, b, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-10)
        return again, f.source(*arguments[0])

    found, source = run()
    monkeypatch.setattr(arrays, "LEAST", 10**9)
    monkeypatch.setattr(floats, "LEAST", 10**9)
    expected, written = run()
    for a, b in zip(found, expected, strict=True):
        for x, y in zip(a, b, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-12)
    assert len(lines(source)) <= max(60, len(lines(written)))


def test_ends_that_are_alike_are_written_once():
    f = tapec.value_and_grad(lambda a: newton(a))  # of which no other test has told paths
    for a in (1e8, 1e5, 50.0, 3e6):
        f(a)
    source = f.source(1e8)
    assert "                if k in (9, 22, 28):" in source
    assert source.count("np.int64((2, 1, 3)[(9, 22, 28).index(k)])") == 2
    assert len(lines(source)) < 60


def test_what_a_round_has_just_kept_has_a_name():
    f = backwards()
    g = tapec.value_and_grad(lambda w, x: fixed_point(w, x))
    for a, c in ((1e8, 0.3), (1e5, 0.9), (50.0, 0.5)):
        f(a, 1.0)
        g(c * (0.2 + np.eye(9)), np.ones(9))
    source = "\n".join(lines(f.source(1e8, 1.0)))
    assert "steps.append((x, t2, dx))" in source and "x2 = x - dx " in source and "g = -1.0 / t2 " in source
    assert "[-1]" not in source and "steps[-2::-1]" in source
    source = "\n".join(lines(g.source(c * (0.2 + np.eye(9)), np.ones(9))))
    assert "new3 = new2 * new2" in source and "[-1]" not in source


def test_what_the_user_computes_too_in_one_round_is_part_of_a_derivative_in_all():
    """The square of the last state is part of the loss, and of the slope of tanh in each round."""
    f = tapec.value_and_grad(lambda w, x: fixed_point(w, x))
    for c in (0.3, 0.9, 0.5, 0.8, 0.85):
        f(c * (0.2 + np.eye(9)), np.ones(9))
    source = "\n".join(lines(f.source(0.3 * (0.2 + np.eye(9)), np.ones(9))))
    assert "if k in (4, 5, 6):" in source and "if k ==" not in source  # their ends are alike
    assert source.count("d_new *= 1 - new") == 2


def test_a_program_with_loops_is_parted_once(monkeypatch):
    known = []
    monkeypatch.setattr(branches, "parted", lambda *args, **how: known.append(args) or parted(*args, **how))
    f = tapec.value_and_grad(lambda a: newton(a))
    assert "for _ in range(33):" in f.source(1e8) and len(known) == 1
