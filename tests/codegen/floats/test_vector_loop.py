"""Loops over the elements of small vectors: NumPy's values, and only where each element goes its own way."""

import ast

import numpy as np
import pytest

from tests.codegen.kit import check, gradient_of, graph_of
from tests.properties import assigned, before_loop, calls, entry, has, nodes

X, Y = np.linspace(-1.0, 1.5, 7), np.linspace(0.5, 2.0, 7)


def busy(z, times=8):
    for _ in range(times):
        z = np.tanh(z) * np.exp(-z * 0.5) + z
    return z


def loops(compiled):
    """Return how many loops over elements there are."""
    return sum(calls(loop.iter, ".tolist") for loop in nodes(entry(compiled), ast.For))


def test_value_and_gradient():
    compiled = check(gradient_of(lambda x: np.sum(busy(x)), X), X)
    assert loops(compiled) == 1 and "x_k" in assigned(compiled)
    assert has(compiled, "d_x = []") and has(compiled, "np.array(d_x)")


def test_several_vectors_and_numbers():
    def f(x, y, a):
        rate = np.exp(a) + 1.0
        z = busy(x * rate) * y
        return np.mean(z) * a + np.dot(z, y) / a

    a = np.float64(0.3)
    compiled = check(gradient_of(f, X, Y, a), X, Y, a)
    assert loops(compiled) == 1 and has(compiled, "zip(x.tolist(), y.tolist())")
    assert has(before_loop(compiled), "math.exp(z)")  # what all elements share is computed once


@pytest.mark.parametrize("n", [4, 7, 8, 16])
def test_many_results(n):
    x = np.linspace(0.1, 1.0, n)
    compiled = check(graph_of(lambda x: (busy(x), np.sum(busy(x) * x), busy(x) * 2.0, busy(x, 9), np.mean(x)), x), x)
    assert loops(compiled) == 1


@pytest.mark.parametrize("edge", [0.0, -0.0, np.inf, -np.inf, np.nan, 1e308, 1e-320, 800.0])
def test_edges(edge):
    x = np.array([1.0, 2.0, edge, -1.0, 0.5])
    check(gradient_of(lambda x: np.sum(busy(x) / x + np.log(x) * np.sqrt(x)), x), x)
    check(graph_of(lambda x: (np.sum(busy(x) * 0.0 + edge), np.maximum(busy(x), x), busy(x) > x), x), x)


def test_a_sum_of_negative_zeros():
    x = np.full(6, -0.0)
    compiled = check(graph_of(lambda x: (np.sum(x), np.sum(busy(x, 10))), x), x)
    assert loops(compiled) == 1
    assert np.signbit(compiled.function(x)[0]) == np.signbit(np.sum(x))


def test_comparisons_and_choices():
    def f(x, y):
        return np.sum(np.where(x > y, busy(x), y * 2.0) + np.minimum(busy(y), x))

    compiled = check(gradient_of(f, X, Y), X, Y)
    assert loops(compiled) == 1


@pytest.mark.parametrize("mask", [X > 0.0, X])
def test_truth_and_numbers_are_told_apart(mask):
    def f(x, y, m):
        both = np.logical_and(m, y) * x, ((x > 0) + (y > 0)) * y, np.where(x > 0, y > 0, x > 1) * 1.0
        return *both, m * 1.0, (x > 0) * -1.0, busy(x), np.mean((x > 0) * 1.0)

    assert loops(check(graph_of(f, X, Y, mask), X, Y, mask)) == 1


def test_results_that_are_one_number_for_all_elements():
    def f(x, a):
        return np.sum(busy(x)), np.ones_like(x) * a, np.broadcast_to(a * 2.0, (7,)) + 0.0 * x

    check(graph_of(f, X, np.float64(1.5)), X, np.float64(1.5))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: busy(x) / np.sum(busy(x)),  # would take a second loop
        lambda x: busy(x)[1:] * x[:-1],
        lambda x: np.cumsum(busy(x)),
        lambda x: busy(x) * np.arange(7.0),
        lambda x: np.max(busy(x)),
    ],
)
def test_programs_that_need_more_than_one_loop(function):
    assert not loops(check(graph_of(function, X), X))


def test_short_programs_are_written_out():
    assert not loops(check(gradient_of(lambda x: np.sum(np.sin(x) * x), X), X))
    assert not loops(check(gradient_of(lambda x: np.sum(busy(x)), X[:3]), X[:3]))
    many = np.linspace(0.0, 1.0, 17)
    assert not loops(check(gradient_of(lambda x: np.sum(busy(x)), many), many))
