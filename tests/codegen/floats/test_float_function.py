"""Plain Python floats: the same values as NumPy's, at the edges too, and only where it pays."""

import numpy as np
import pytest
from scipy import special

import tapec
from tapec.codegen import compile_graph
from tapec.ir.decision_tree import Branch, Leaf
from tapec.passes import tuning as passes_tuning
from tests.codegen.kit import check, gradient_of, graph_of
from tests.properties import (
    assigned,
    call_count,
    called,
    calls,
    count_of,
    entry,
    has,
    has_loop,
    loops,
    names,
    on_floats,
    operations,
    statements,
)

EDGES = [0.0, -0.0, 1.0, -2.5, 1e-320, 1e300, -1e300, float("inf"), float("-inf"), float("nan")]


def busy(x, y):
    return x / y + np.exp(x) * np.log(y) + np.sqrt(x) - np.sin(y) ** 3 + x**y + np.maximum(x, y) * np.tanh(x)


@pytest.mark.parametrize("x", EDGES)
@pytest.mark.parametrize("y", EDGES)
def test_edges(x, y):
    x, y = np.float64(x), np.float64(y)
    graph = gradient_of(busy, x, y)
    assert on_floats(check(graph, x, y))


@pytest.mark.parametrize("x", EDGES)
def test_comparisons_and_choices(x):
    def f(x, y):
        c = x > y
        return np.where(c, x, y) * 2.0, np.minimum(x, y), np.sign(x) * y, c, np.isnan(x) | (x >= y), abs(x) + y * y

    for y in EDGES:
        check(graph_of(f, np.float64(x), np.float64(y)), np.float64(x), np.float64(y))


def test_an_argument_keeps_its_name():
    f = tapec.grad(lambda r: 0.5 * r * r if abs(r) < 1.0 else abs(r) - 0.5)
    f(0.3), f(-4.0)
    assert has(f.source(0.3), "np.float64(r)") and has(f.source(0.3), "d_r = _")


def lotka_volterra(p, y):
    for _ in range(3):
        u, v = y[0], y[1]
        k = np.stack([p[0] * u - p[1] * u * v, p[2] * u * v - p[3] * v])
        y = y + 0.1 * k
    return np.sum(y * y)


def test_small_vectors():
    p, y = np.array([1.5, 1.0, 1.0, 3.0]), np.array([1.0, 0.8])
    compiled = check(gradient_of(lotka_volterra, p, y), p, y)
    assert has(compiled, "x0, x1, x2, x3 = x.tolist()")
    assert {name for name in called(compiled) if name.startswith("np.")} == {"np.array", "np.float64"}


def test_layout_of_small_arrays():
    def f(x):
        m = np.reshape(x, (2, 3))
        return m.T @ m[:, 0], np.concatenate([x[::-2], x[:1]]), np.max(m, axis=0), np.mean(x * x), m[1] * m, m.T

    for x in (np.arange(6.0), np.array([np.nan, 1.0, np.inf, -1.0, 0.0, 2.0])):
        check(graph_of(f, x), x)


def test_vectors_of_geometry():
    def f(x, y):
        turned = np.cross(x, y) / np.linalg.norm(x) + np.cross(np.reshape(np.concatenate([x, y]), (2, 3)), y)[1]
        m = x[:, None] * y
        return np.sum(turned * np.cumsum(y)) + np.trace(m) + np.trace(m, 1)

    for x in (np.array([1.0, -2.0, 3.0]), np.array([np.nan, 1.0, np.inf]), np.zeros(3)):
        y = np.array([0.3, 0.5, -1.0])
        assert has(check(gradient_of(f, x, y), x, y), "x0, x1, x2 = x.tolist()")


def test_running_sums_of_small_matrices():
    def f(x):
        m = np.reshape(x, (2, 3))
        return np.cumsum(m, axis=0), np.cumsum(m, axis=1), np.cumprod(x), m + np.eye(2, 3, 1)

    for x in (np.arange(6.0), np.array([np.nan, 1.0, np.inf, -1.0, -0.0, 2.0])):
        check(graph_of(f, x), x)


def test_writes_and_scatters():
    def f(x, y):
        z = x * y
        return np.sum(z[1:] * z[:-1] / (z[0] + 3.0) + np.exp(z[2] * z[1]))

    x, y = np.array([1.0, 2.0, 3.0]), np.float64(0.5)
    check(gradient_of(f, x, y), x, y)


@pytest.mark.parametrize("dtype", ["f4", "c16", "i8"])
def test_other_dtypes_stay_with_numpy(dtype):
    x = np.asarray(3, dtype)[()]
    assert not on_floats(check(graph_of(lambda x: x * x + x * 3 - x / 7 + abs(x), x), x))


def test_cheap_programs_stay_on_arrays():
    assert not call_count(check(graph_of(lambda x: x * x, np.float64(3.0)), np.float64(3.0)), "float", "float64")
    x = np.ones(8)
    assert not on_floats(check(graph_of(lambda x: x + 1.0, x), x))


def test_rebound_parameters_stay_in_the_first_function():
    def f(x, y):
        x = x * y  # might well be called x again
        x = x + 1.0
        return np.log(x - 1.0) / x

    for values in [(2.0, 3.0), (0.0, 1.0), (-1.0, 1.0)]:
        check(graph_of(f, *map(np.float64, values)), *map(np.float64, values))


def test_loops_with_guards():
    """A loop of unknown length: each known length is a path of one function."""
    outputs, y = [], None

    def newton(x):
        nonlocal y
        y = x
        for _ in range(60):
            outputs.append(np.abs(y * y - x) > 1e-12 * x)
            outputs.append(y)
            y = 0.5 * (y + x / y)
        return tuple(outputs)

    graph = graph_of(newton, np.float64(2.0))
    tree = Leaf((119,))
    for k in reversed(range(60)):
        tree = Branch(2 * k, ((False, Leaf((2 * k + 1,))), (True, tree)))
    compiled = compile_graph(graph, "newton", tree=tree)
    for x in [2.0, 1.0, 1e10, 0.5, 12345.678]:
        (root,) = compiled.function(np.float64(x))
        assert type(root) is np.float64
        assert abs(root - x**0.5) < 1e-9 * x**0.5
    assert compiled.function(np.float64(0.0)) is not None  # 0 / 0 never happens: the guard comes first
    assert max(s.col_offset for s in statements(compiled)) <= 16  # flat, however long


def test_unknown_paths_give_none():
    graph = graph_of(lambda x: (x > 1.0, x * x * x + np.sin(x), np.exp(x) / x), np.float64(2.0))
    compiled = compile_graph(graph, "f", tree=Branch(0, ((True, Leaf((1, 2))),)))
    assert compiled.function(np.float64(0.5)) is None
    assert len(compiled.function(np.float64(2.0))) == 2
    assert compiled.function(np.float64("inf"))[1] is not None


def test_integers_decide():
    graph = graph_of(lambda x: (x, x * 2.0, x * np.exp(x) * np.sin(x), x / 3.0 * x), np.float64(2.0))
    cases = tuple((k, Leaf((k + 1,))) for k in range(3))
    compiled = compile_graph(graph, "f", tree=Branch(0, cases))
    assert compiled.function(np.float64(0.7))[0] == 1.4
    assert compiled.function(np.float64(2.9))[0] == 2.9 / 3.0 * 2.9
    assert compiled.function(np.float64(3.0)) is None


LOGIC = {
    "a mask as numbers": lambda x, y: ((x > 0) * 1.0, (x > 0) * -1.0, (x > 0) + 0.0, (x > 0) / 1.0, (x > 0) ** 1.0),
    "masks of masks": lambda x, y: ((x > 0) * (y > 0), (x > 0) + (y > 0), np.maximum(x > 0, y > 9), np.abs(x > 0)),
    "a sum of masks counts once": lambda x, y: ((x > 0) + (y > 0)) * y,
    "truth of numbers": lambda x, y: (np.logical_and(x, y), np.logical_or(x, y), np.logical_not(x)),
    "counting with truth": lambda x, y: (np.logical_and(x, y) * x, np.logical_or(x, y) * x),
    "a cast": lambda x, y: (x.astype(bool), x.astype(bool) * y, (x > 0).astype(float)),
    "choices": lambda x, y: (np.where(x > 0, y > 0, x > 1), np.where(x > 0, True, x > 1), np.where(x > 0, y > 0, y)),
    "choices as numbers": lambda x, y: (np.where(x > 0, y > 0, x > 1) * 1.0, np.maximum(x > 0, 0.5)),
    "side by side": lambda x, y: (np.stack([x > 0, y])[0], np.stack([x > 0, y > 0]), np.ones_like(x, bool)),
}


@pytest.mark.parametrize("name", LOGIC)
def test_truth_and_numbers_are_told_apart(name):
    """Python counts with its bools, and its `and` and `or` give operands; in arrays both would show."""

    def f(x, y):
        found = LOGIC[name](x, y)
        return *(found if type(found) is tuple else (found,)), np.exp(x) * np.sin(x) / (x + 9.0)

    edges = np.array([0.7, -2.0, 0.0, np.nan]), np.array([3.0, 2.0, 5.0, -1.0])
    assert on_floats(check(graph_of(f, *edges), *edges))
    for x, y in zip(*edges):
        check(graph_of(f, x, y), x, y)


@pytest.mark.parametrize("n", [3, True, 2.5])
def test_python_numbers_in_arrays_of_floats(n):
    def f(x, n):
        return np.stack([n * 1.0, n + 0.0]), np.stack([np.maximum(n, 0.5), np.fabs(n * 1.0)]), np.exp(x) * np.sin(x)

    assert on_floats(check(graph_of(f, np.float64(0.7), n), np.float64(0.7), n))


@pytest.mark.parametrize("n", [np.inf, -np.inf, np.nan, 0.5, 1e300, -3.0])
def test_powers_of_any_number(n):
    for x in EDGES:
        check(graph_of(lambda x: np.power(x, n) * 2.0 + np.sin(x), np.float64(x)), np.float64(x))


# ---------------------------------------------------------------------------------------------------------------
# how it reads
# ---------------------------------------------------------------------------------------------------------------
def test_unpacked_elements_have_the_users_names():
    def f(theta):
        scale, shift, rate = theta
        a, b, c, d = scale + shift, shift * rate, rate - scale, np.exp(rate)
        return a * b + c * d - scale

    compiled_function = tapec.grad(f)
    compiled_function(np.array([1.0, 2.0, 3.0]))
    source = compiled_function.source()
    assert has(source, "scale, shift, rate = theta.tolist()") and {*"abcd"} <= assigned(entry(source))
    assert has(source, "np.array([d_scale, d_shift, d_rate])")


def test_rows_of_small_matrices():
    def det(m):
        minor = m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1]
        other = m[1, 0] * m[2, 2] - m[1, 2] * m[2, 0]
        return m[0, 0] * minor - m[0, 1] * other + m[0, 2] * (m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0])

    m = np.random.default_rng(0).normal(size=(3, 3))
    code = entry(check(gradient_of(det, m), m))
    assert has(code, "(x00, x01, x02), (x10, x11, x12), (x20, x21, x22) = x.tolist()")
    assert has(code, "np.array([[_, _, _], [_, _, _], [_, _, _]])")
    assert not call_count(code, "reshape", "zeros")


def test_loops_over_the_elements_of_larger_arrays():
    def f(x):
        y = x[0]
        for k in range(1, 12):
            y = y * x[k] + np.sin(x[k])
        return y

    x = np.linspace(0.1, 1.0, 12)
    assert on_floats(check(gradient_of(f, x), x))
    many = np.ones(12)
    assert not on_floats(check(gradient_of(lambda x: np.sum(np.exp(np.sin(x) * x)), many), many))


@pytest.mark.parametrize(
    ("function", "expression"),
    [
        (lambda x, y: -x * y + np.exp(y), "math.exp(y) - x * y"),
        (lambda x, y: np.exp(y) - x * -2.0, "math.exp(y) + x * 2.0"),
        (lambda x, y: np.exp(y) + -x / y, "math.exp(y) - x / y"),
        (lambda x, y: np.exp(0.5 * x + x * 0.5 - y), "math.exp(x - y)"),
        (lambda x, y: np.exp(-x * y) - (0.0 - y), "math.exp(-x * y) - (0.0 - y)"),
        (lambda x, y: np.exp(y * x) * (x * y), None),
    ],
)
def test_signs_halves_and_common_products(function, expression):
    x, y = np.float64(0.3), np.float64(-1.7)
    compiled = check(graph_of(function, x, y), x, y)
    code = entry(compiled)
    assert has(code, expression) if expression else operations(code, "*") == 2  # of which one is of both
    for edge in EDGES:
        check(graph_of(function, np.float64(edge), y), np.float64(edge), y)
        check(graph_of(function, x, np.float64(edge)), x, np.float64(edge))


def test_a_result_that_is_given_twice_is_two_arrays():
    x = np.array([1.0, 2.0])
    check(graph_of(lambda x: ((y := np.exp(x) * np.sin(x) / x), y), x), x)


def test_each_test_is_asked_once_per_path():
    graph = graph_of(lambda x: (x > 0.0, x < 9.0, x * 2.0, np.exp(x) * x, np.sin(x) / x), np.float64(2.0))
    later = Branch(1, ((True, Branch(0, ((True, Leaf((2,))), (False, Leaf((3,)))))), (False, Leaf((4,)))))
    compiled = compile_graph(graph, "f", tree=Branch(0, ((True, later),)))
    assert count_of(entry(compiled), "x > 0.0") == 1
    assert compiled.function(np.float64(3.0)) == (6.0,)
    assert compiled.function(np.float64(10.0)) == (np.sin(10.0) / 10.0,)
    assert compiled.function(np.float64(-1.0)) is None


def test_truth_and_whole_numbers_are_asked_for_separately():
    graph = graph_of(lambda x: (x, x * 2.0, x * 3.0), np.float64(2.0))
    tree = Branch(0, ((True, Branch(0, ((1, Leaf((1,))), (2, Leaf((2,)))))),))
    compiled = compile_graph(graph, "f", tree=tree)
    assert compiled.function(np.float64(2.5)) == (7.5,) and compiled.function(np.float64(1.5)) == (3.0,)
    assert compiled.function(np.float64(0.0)) is None and compiled.function(np.float64(0.5)) is None


def test_returned_inputs_are_copied():
    def f(x, y):
        a, b = x[0], x[1]
        return np.exp(a * b) * np.sin(a), np.stack([a, b]), np.stack([b, a]), y

    x, y = np.array([1.0, 2.0]), np.ones((2, 3))
    compiled = check(graph_of(f, x, y), x, y)
    assert has(compiled, "x.copy()") and has(compiled, "np.array([x1, x0])") and has(compiled, "y.copy()")
    assert "y00" not in names(compiled)


def test_signs_of_numbers_are_written_once():
    x, y = np.ones(20000), np.float64(3.0)
    compiled = check(graph_of(lambda x, y: (np.exp(x) + -2.0, y - -1.0), x, y), x, y)
    assert has(compiled, "_ - 2.0") and has(compiled, "y + 1.0")


def test_steps_on_numbers_with_a_larger_sum_at_the_end():
    def fit(p, start, data):
        u, v = start[0], start[1]
        states = []
        for _ in range(12):
            u, v = u + 0.1 * (p[0] * u - p[1] * u * v), v + 0.1 * (p[2] * u * v - p[3] * v)
            states.append(np.stack([u, v]))
        return np.mean((np.stack(states) - data) ** 2)

    values = np.array([1.5, 1.0, 1.0, 3.0]), np.array([1.0, 0.8]), np.ones((12, 2)) * 0.5
    assert on_floats(check(gradient_of(fit, *values), *values))
    x = np.linspace(0.1, 1.0, 24)
    assert not on_floats(check(gradient_of(lambda x: np.sum(np.sin(x) * np.exp(x)), x), x))


def test_data_is_multiplied_as_a_matrix():
    """Nine rows of data are not nine lines of code; a rotation is."""

    def fit(w, x, y):
        return np.sum((x @ w - y) ** 2) + 0.1 * np.sum(np.abs(w))

    w, x, y = np.array([1.0, -0.5, 2.0]), np.arange(27.0).reshape(9, 3), np.ones(9)
    assert not on_floats(check(gradient_of(fit, w, x, y), w, x, y))
    assert on_floats(check(gradient_of(fit, w, x[:3], y[:3]), w, x[:3], y[:3]))


def test_long_inputs_are_taken_apart_on_several_lines():
    def f(x, data):
        states = []
        for _ in range(40):
            x = x + 0.1 * np.sin(x)
            states.append(x)
        return np.sum((np.stack(states) - data) ** 2)

    x, data = np.float64(0.3), np.ones(40)
    source = check(gradient_of(f, x, data), x, data).source
    assert "y39" in assigned(source) and max(map(len, source.splitlines())) <= 120


@pytest.mark.parametrize("value", EDGES)
def test_functions_of_probability(value):
    def f(x):
        t = special.erf(x) * special.erfc(0.5 * x) + special.ndtr(0.2 * x) + special.expit(x)
        t = t + special.gammaln(2.0 + x * x) * 1e-3 + special.gamma(1.5 + np.clip(x, 0.0, 2.0))
        return t, np.clip(x, -0.0, 1.0)

    x = np.float64(value)
    compiled = check(graph_of(f, x), x)
    assert calls(compiled, "math.erf") and not any(name.startswith("scipy") for name in called(entry(compiled)))


def test_logaddexp():
    def f(x, y):
        t = x
        for _ in range(6):
            t = np.sin(np.logaddexp(t, y)) * x + 2.0
        return t, np.logaddexp(x, y)

    graph = graph_of(f, np.float64(1.0), np.float64(1.0))
    for x in map(np.float64, EDGES):
        for y in map(np.float64, EDGES):
            assert calls(check(graph, x, y), "math.log1p")


# ---------------------------------------------------------------------------------------------------------------
# whole numbers, and places that are known when the code runs
# ---------------------------------------------------------------------------------------------------------------
SEEN = np.array([0, 2, 1, 1, -1, 0, 2, -3])


def chosen(x, p, seen):
    total = 0.0
    for k in seen:
        total = total + np.sin(x * p[k]) * p[k]
    return total


def forward(start, moves, shown, seen):
    belief = start * shown[:, seen[0]]
    for k in seen[1:]:
        belief = (belief @ moves) * shown[:, k]
    return np.log(np.sum(belief))


def learned(rate, table, seen):
    table = table * 1.0
    loss = 0.0
    for k in seen:
        loss = loss + np.exp(table[k])
        table[k] += rate * (1.0 - table[k])
    return loss + np.sum(table**2)


def pairs(table, seen):
    return sum(np.log(table[seen[k], seen[k + 1]]) for k in range(len(seen) - 1))


P = np.array([0.2, 0.5, 0.3])
PLACES = [
    (chosen, (np.float64(0.7), P, SEEN)),
    (forward, (P[:2], np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([P, P[::-1]]), SEEN)),
    (learned, (np.float64(0.3), P, SEEN)),
    (pairs, (np.array([P, P[::-1], P + 0.1]), SEEN)),
]


@pytest.mark.sampled(one_in=4, per="f")
@pytest.mark.parametrize(("f", "values"), PLACES)
@pytest.mark.parametrize("repeats", [1, 60])
@pytest.mark.parametrize("rounds", [4, 10**9], ids=["loops", "written out"])
def test_places_known_when_the_code_runs(f, values, repeats, rounds, monkeypatch):
    monkeypatch.setattr(passes_tuning, "ROLLED_MIN_ROUNDS", rounds)
    values = (*values[:-1], np.tile(values[-1], repeats))
    argnums = tuple(range(len(values) - 1))
    g = tapec.value_and_grad(f, argnums=argnums)
    value, slopes = g(*values)
    source = g.source(*values)
    if rounds == 10**9 or f in (forward, learned):  # the rounds of the others are computed at once, in arrays
        assert calls(entry(source), ".tolist")
        assert (on_floats(source) and calls(entry(source), "range")) or has_loop(entry(source))
    assert rounds < 10**9 or not has_loop(entry(source))
    np.testing.assert_allclose(value, f(*[np.copy(v) for v in values]), rtol=1e-12)
    with tapec.settings(optimize=False):
        _, wanted = tapec.value_and_grad(f, argnums=argnums)(*values)
    for slope, w in zip(slopes, wanted, strict=True):
        np.testing.assert_allclose(slope, w, rtol=1e-9, atol=1e-12)


def test_places_that_there_are_not():
    g = tapec.value_and_grad(chosen, argnums=(0, 1))
    for wrong in (3, -4):
        g(np.float64(0.7), P, SEEN)
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds"):
            g(np.float64(0.7), P, np.where(SEEN == 2, wrong, SEEN))
    slope = tapec.grad(lambda p, k: np.sum(p[k] * 2.0) + np.sum(p * p) * 0.0)
    slope(P, np.int64(-1))
    with pytest.raises(IndexError, match="out of bounds"):
        slope(P, np.int64(-4))


@pytest.mark.parametrize("k", [0, 1, -1])
def test_columns_that_are_put_at_a_place_are_spread(k):
    def f(x, m, k):
        m = m * np.sin(np.exp(x[0]))
        m[k] = x[:, None]
        return np.sum(m * np.arange(12.0).reshape(2, 3, 2)) * np.cos(x[1]) * np.tanh(x[2])

    x, m, k = np.array([0.3, 0.7, 0.9]), np.arange(12.0).reshape(2, 3, 2), np.int64(k)
    assert tapec.compile(f)(x, m, k) == pytest.approx(f(x, m, k), rel=1e-14)


def test_many_places_stay_on_arrays():
    p = np.linspace(0.1, 1.0, 40)
    g = tapec.value_and_grad(chosen, argnums=(0, 1))
    g(np.float64(0.7), p, SEEN)
    assert not on_floats(g.source(np.float64(0.7), p, SEEN))


def test_whole_numbers_beside_floats():
    def f(x, n, m):
        return n[0] * np.sin(x) + x ** n[1] - x / n[2] + np.where(n[2] > m, x, 1.0) + float(2) * m, n[::-1], m

    x, n, m = np.float64(0.7), np.array([2, 3, 5]), np.int64(4)
    compiled = check(graph_of(f, x, n, m), x, n, m)
    assert calls(compiled, "math.sin")
    found = compiled.function(x, n, m)
    assert found[1].dtype == np.int64 and type(found[2]) is np.int64
    sums = check(graph_of(lambda x, n: (np.sum(n) * x, n * n, x * 2.0), x, n), x, n)  # NumPy's have a largest number
    assert not on_floats(sums)


@pytest.mark.parametrize("k", [0, 2, -1, -3])
def test_whole_numbers_and_truth_at_places(k):
    def f(x, n, k):
        most = np.maximum(n[n[k]], x)
        chosen = np.where((n > 1)[k], x, 2.0) * np.exp(x) * np.tanh(x)
        return np.sin(x) / (0.5 + n[k]) * most, n[k], n[n[k]], (n > 1)[k], np.maximum(n[k], 0.5), chosen

    x, n, k = np.float64(0.7), np.array([2, 0, 1]), np.int64(k)
    compiled = check(graph_of(f, x, n, k), x, n, k)
    assert IndexError in compiled.errors
    for found, wanted in zip(compiled.function(x, n, k), f(x, n, k), strict=True):
        assert found.dtype == wanted.dtype and found == pytest.approx(wanted, rel=1e-15)


def test_the_loop_of_derivatives_of_a_step_with_vectors_runs_on_floats() -> None:
    def descend(x, rate):
        for _ in range(12):
            g = np.stack([-40 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0]), 20 * (x[1] - x[0] ** 2)])
            x = x - rate * g / np.sqrt(np.sum(g * g) + 1.0)
        return np.sum(x * x)

    gradient = tapec.value_and_grad(descend, argnums=(0, 1))
    x, rate = np.array([-1.2, 1.0]), 0.01
    value, (d_x, d_rate) = gradient(x, rate)
    assert value == descend(x, rate)
    h = 1e-6
    assert abs((descend(x, rate + h) - descend(x, rate - h)) / (2 * h) - d_rate) < 1e-5 * abs(d_rate)
    for k in range(2):
        e = h * np.eye(2)[k]
        assert abs((descend(x + e, rate) - descend(x - e, rate)) / (2 * h) - d_x[k]) < 1e-5 * (1 + abs(d_x[k]))
    assert not any([calls(loop, ".dot") for loop in loops(gradient.source(x, rate))])


DIAGONALS = {
    "before": lambda d, a: np.diag(d) @ a,
    "on both sides": lambda d, a: np.diag(d) @ a @ np.diag(d),
    "trace": lambda d, a: np.trace(np.diag(d) @ a),
    "two": lambda d, a: np.diag(a[0]) @ np.diag(d),
    "elementwise": lambda d, a: np.diag(d) * a,
    "flat": lambda d, a: np.diagflat(d) @ a[0],
    "identity": lambda d, a: np.eye(3) @ a + d,
    "padded": lambda d, a: np.pad(d, (0, 6)) @ a.ravel(),
    "squared": lambda d, a: np.linalg.matrix_power(np.diag(d), 2) @ a[0],
}


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("name", DIAGONALS)
def test_zeros_beside_a_diagonal_meet_infinities(name, bad):
    f, d, a = DIAGONALS[name], np.array([1.0, 2.0, 3.0]), np.arange(1.0, 10.0).reshape(3, 3)
    compiled = tapec.compile(f)
    np.testing.assert_allclose(compiled(d, a), f(d, a), rtol=1e-14)
    for k in range(3):
        other = a.copy()
        other[0, k] = bad
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(compiled(d, other), f(d, other), rtol=1e-14)


@pytest.mark.parametrize("f", [np.sign, lambda x: 1.0 / np.sign(x), lambda x: np.arctan2(np.sign(x), -1.0)])
def test_the_sign_of_a_negative_zero_is_zero(f):
    compiled = tapec.compile(f)
    with np.errstate(all="ignore"):
        for x in (1.0, -0.0, 0.0, -2.0, np.nan):
            for value in (np.float64(x), np.full(3, x)):
                np.testing.assert_array_equal(np.signbit(compiled(value)), np.signbit(f(value)))
                np.testing.assert_array_equal(compiled(value), f(value))


def test_signs_in_a_loop_over_one_number():
    def friction(v):
        for _ in range(20):
            v = v - 0.01 * (0.3 * v + 0.2 * np.sign(v))
        return v

    value, slope = tapec.value_and_grad(friction)(1.2)
    assert value == pytest.approx(friction(1.2), rel=1e-14) and slope == pytest.approx(0.997**20, rel=1e-12)


def test_pieces_of_a_number():
    f = lambda x: np.piecewise(x, [x > 1.0], [lambda v: v * v, lambda v: -3.0 * v]) * 1.0
    compiled, slope = tapec.compile(f), tapec.grad(f)
    for x in (0.5, 1.5, 0.25, 3.0):
        assert compiled(x) == f(x) and slope(x) == (2 * x if x > 1 else -3.0)
