"""Programs on floats that hand small matrices to NumPy now and then: the values of the code on arrays."""

import numpy as np
import pytest

import tapec
from tapec.codegen import emit
from tapec.codegen.floats import float_function, profitability
from tests.codegen.kit import check, graph_of
from tests.properties import calls, count_of, entry, has, on_floats

DATA = np.random.default_rng(0).normal(size=40)


def simulated(p):
    y, seen = np.array([1.0, 0.5]), []
    for _ in range(20):
        y = y + 0.05 * np.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])
        seen.append(y)
    return np.concatenate(seen)


def gauss_newton(p):
    slopes, r = tapec.jacfwd(simulated)(p), simulated(p) - DATA
    return p - np.linalg.solve(slopes.T @ slopes, slopes.T @ r)


def newton(x):
    f = lambda x: np.sum(np.cos(x) * x**2) + np.sum(x) ** 2
    for _ in range(10):
        x = x - np.linalg.solve(tapec.hessian(f)(x) + np.eye(4), tapec.grad(f)(x))
    return np.sum(x)


P4, X4 = np.array([1.0, 0.5, 0.3, 0.6]), np.array([0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize(
    "make, x", [(lambda: tapec.compile(gauss_newton), P4), (lambda: tapec.grad(newton), X4)], ids=["step", "gradient"]
)
def test_programs(make, x, monkeypatch):
    function = make()
    got, code = function(x), entry(function.source(x))
    assert calls(code, "np.linalg.solve") and calls(code, ".tolist")
    monkeypatch.setattr(emit, "on_floats", lambda graph, tree: None)
    np.testing.assert_allclose(got, make()(x), rtol=1e-9)


@pytest.fixture
def always(monkeypatch):
    """Whatever it costs."""
    for module in (float_function, profitability):
        monkeypatch.setattr(module, "numpy_costs_more", lambda graph, than: True)


A, B = np.array([[2.0, 0.3], [0.1, 1.5]]), np.array([0.7, -1.1])
FUNCTIONS = {
    "several results": lambda a, b: np.linalg.slogdet(a)[1] * b + np.linalg.eigh(a @ a.T)[0],
    "numbers": lambda a, b: np.linalg.det(a) * np.sin(b),
    "a vector, then a matrix": lambda a, b: np.linalg.inv(a * np.linalg.solve(a, b)[0])[0] * b,
    "one after the other": lambda a, b: np.linalg.inv(np.linalg.cholesky(a @ a.T)) @ np.cos(b),
    "an argument": lambda a, b: np.linalg.solve(a, np.sin(b)) * b[0],
    "transposed": lambda a, b: np.linalg.solve(np.linalg.inv(a).T, b) + b,
    "numbers written out": lambda a, b: np.linalg.solve(np.array([[2.0, 1.0], [0.0, 1.0]]), np.stack([b[0], b[0] * 0])),
    "a product of many elements": lambda a, b: np.linalg.inv(np.ones((20, 2)).T @ (np.ones((20, 2)) * b) + a),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("b", [B, np.array([np.inf, -0.0]), np.array([np.nan, 1e200])], ids=["", "inf", "nan"])
def test_operations(name, b, always):
    with np.errstate(all="ignore"):
        try:
            wanted = FUNCTIONS[name](A, b)
        except np.linalg.LinAlgError:
            return  # NumPy's eigh of nan
        compiled = check(graph_of(FUNCTIONS[name], A, b), A, b)
        np.testing.assert_allclose(compiled.function(A, b)[0], wanted, rtol=1e-12)
    assert calls(entry(compiled), ".tolist")


@pytest.mark.parametrize(
    "name, expression",
    [
        ("an argument", "np.linalg.solve(x, np.array(_))"),
        ("transposed", "np.linalg.solve(np.linalg.inv(x).T, y)"),
        ("one after the other", "np.linalg.inv(np.linalg.cholesky(_))"),
    ],
)
def test_arrays_that_are_there_are_not_packed(name, expression, always):
    assert has(entry(check(graph_of(FUNCTIONS[name], A, B), A, B)), expression)


def test_errors_are_numpys(always):
    f = tapec.compile(lambda a, b: np.linalg.solve(a * 2.0, b) * b[0])
    assert f(A, B).shape == (2,)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        f(np.zeros((2, 2)), B)


def test_equal_arrays_are_packed_once(always):
    f = lambda a, b: np.linalg.solve(a * b, np.sin(b)) + np.linalg.solve(a * b, np.cos(b))
    assert count_of(entry(check(graph_of(f, A, B), A, B)), "np.array([[_, _], [_, _]])") == 1


def test_programs_of_matrix_products_stay_on_arrays():
    def f(w):
        s = np.zeros(8)
        for _ in range(20):
            s = np.tanh(w @ s + DATA[:8])
        return np.sum(s * s)

    w = np.eye(8) / 2
    assert not on_floats(tapec.value_and_grad(f).source(w))


def test_products_of_bools_stay_on_arrays(always):
    def f(b):
        mask = np.ones((20, 2)) * b > 0.0
        return mask.T @ mask, np.sin(b)

    compiled = check(graph_of(f, B), B)
    assert not on_floats(compiled) and compiled.function(B)[0].dtype == bool
