"""Plain Python floats: the same values as NumPy's, at the edges too, and only where it pays."""

import numpy as np
import pytest

from tapec.codegen import compile_graph
from tapec.ir.tree import Branch, Leaf
from tests.codegen.kit import check, gradient_of, graph_of

EDGES = [0.0, -0.0, 1.0, -2.5, 1e-320, 1e300, -1e300, float("inf"), float("-inf"), float("nan")]


def busy(x, y):
    return x / y + np.exp(x) * np.log(y) + np.sqrt(x) - np.sin(y) ** 3 + x**y + np.maximum(x, y) * np.tanh(x)


@pytest.mark.parametrize("x", EDGES)
@pytest.mark.parametrize("y", EDGES)
def test_edges(x, y):
    x, y = np.float64(x), np.float64(y)
    graph = gradient_of(busy, x, y)
    assert "_arrays" in check(graph, x, y).source


@pytest.mark.parametrize("x", EDGES)
def test_comparisons_and_choices(x):
    def f(x, y):
        c = x > y
        return np.where(c, x, y) * 2.0, np.minimum(x, y), np.sign(x) * y, c, np.isnan(x) | (x >= y), abs(x) + y * y

    for y in EDGES:
        check(graph_of(f, np.float64(x), np.float64(y)), np.float64(x), np.float64(y))


def lotka_volterra(p, y):
    for _ in range(3):
        u, v = y[0], y[1]
        k = np.stack([p[0] * u - p[1] * u * v, p[2] * u * v - p[3] * v])
        y = y + 0.1 * k
    return np.sum(y * y)


def test_small_vectors():
    p, y = np.array([1.5, 1.0, 1.0, 3.0]), np.array([1.0, 0.8])
    source = check(gradient_of(lotka_volterra, p, y), p, y).source
    assert "x0, x1, x2, x3 = x.tolist()" in source
    assert "np." not in source.replace("np.array([", "").replace("np.float64(", "")


def test_layout_of_small_arrays():
    def f(x):
        m = np.reshape(x, (2, 3))
        return m.T @ m[:, 0], np.concatenate([x[::-2], x[:1]]), np.max(m, axis=0), np.mean(x * x), m[1] * m, m.T

    for x in (np.arange(6.0), np.array([np.nan, 1.0, np.inf, -1.0, 0.0, 2.0])):
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
    source = check(graph_of(lambda x: x * x + x * 3 - x / 7 + abs(x), x), x).source
    assert "_arrays" not in source


def test_not_where_it_does_not_pay():
    assert "float(" not in check(graph_of(lambda x: x * x, np.float64(3.0)), np.float64(3.0)).source
    x = np.ones(8)
    assert "tolist" not in check(graph_of(lambda x: x + 1.0, x), x).source


def test_rebound_parameters_do_not_reach_the_second_function():
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
    assert "                    " not in compiled.source  # flat, however long


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
