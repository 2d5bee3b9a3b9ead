"""check_nan: the first line that makes a nan or an infinity is named, with the user's line and the operands."""

import numpy as np
import pytest

import tapec
from tapec.codegen import compile_graph
from tapec.config import settings
from tapec.errors import NonFiniteError
from tests.codegen.kit import check, gradient_of, graph_of


def loss(x, y):
    r = np.log(x - 1.0)
    return np.sum(r * y)


def test_the_message():
    f = tapec.value_and_grad(loss)
    x, y = np.array([2.0, 3.0, 0.5]), np.ones(3)
    f(x, y)
    with settings(check_nan=True), np.errstate(all="ignore"), pytest.raises(NonFiniteError) as caught:
        f(x, y)
    head, *operands = str(caught.value).splitlines()
    assert head == "test_nan_checks.py:14 np.log(x - 1.0): r is nan (1 of 3 elements, the first at [2])"
    assert operands == ["  diff = [ 1. ,  2. , -0.5]"]


def test_an_infinity():
    compiled = _checked(lambda x: np.exp(x) / (x - 1.0), np.float64(1.0))
    with np.errstate(all="ignore"), pytest.raises(NonFiniteError, match="is inf") as caught:
        compiled.function(np.float64(1.0))
    assert "diff = 0.0" in str(caught.value)


def test_nonfinite_operands_are_no_error():
    compiled = _checked(lambda x: np.exp(x) + 1.0, np.ones(3))
    assert np.isnan(compiled.function(np.array([1.0, np.nan, 2.0]))[0][1])
    assert compiled.function(np.array([1.0, np.inf, -np.inf]))[0][2] == 1.0
    compiled = _checked(lambda x: np.where(x > 0, x, -np.inf), np.ones(3))
    assert compiled.function(-np.ones(3))[0][0] == -np.inf


def test_nan_of_infinities_is_an_error():
    compiled = _checked(lambda x, y: x - y, np.ones(3), np.ones(3))
    with np.errstate(all="ignore"), pytest.raises(NonFiniteError, match="nan"):
        compiled.function(np.full(3, np.inf), np.full(3, np.inf))


def test_large_operands_are_summed_up():
    compiled = _checked(lambda x: np.sqrt(x), np.ones((10, 10)))
    x = np.ones((10, 10))
    x[3, 4] = -1.0
    with np.errstate(all="ignore"), pytest.raises(NonFiniteError) as caught:
        compiled.function(x)
    assert "the first at [3, 4]" in str(caught.value)
    assert "x = float64[10, 10] between -1 and 1, -1 there" in str(caught.value)


def test_checked_code_computes_the_same():
    x = np.random.default_rng(0).normal(size=12)
    graph = gradient_of(lambda x: np.sum(np.tanh(x[1:] * x[:-1]) ** 2), x)
    with settings(check_nan=True):
        check(graph, x)


def _checked(f, *values):
    with settings(check_nan=True):
        return compile_graph(graph_of(f, *values))


def test_operands_may_have_any_name():
    x = np.array([0.5, 1.5])

    def f(value, line, name):
        total = np.sum(value * np.exp(line)) / np.sum(np.exp(name))
        return np.sum(np.sin(value * total) * line / name)

    want = tapec.value_and_grad(f)(x, x, x)
    with settings(check_nan=True):
        found = tapec.value_and_grad(f)(x, x, x)
    np.testing.assert_allclose(np.hstack(found), np.hstack(want), rtol=1e-12)
