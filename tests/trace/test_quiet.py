"""`np.errstate` in a function: later calls warn of nothing that the function silences, and raise what it asks for."""

import warnings

import numpy as np
import pytest

import tapec
from tests.properties import has


def logarithms(x):
    with np.errstate(divide="ignore"):
        return np.where(x > 0, np.log(x), 0.0)


def entropy(x):
    return np.sum(x * logarithms(x))


def strict(x):
    with np.errstate(all="raise"):
        return np.sum(np.log(x))


@pytest.fixture(params=[3, 1000, 200_000], ids=["floats", "arrays", "blocks"])
def x(request):
    return np.linspace(0.0, 1.0, request.param)


def test_what_is_silenced_stays_so(x):
    value, gradient = tapec.compile(entropy), tapec.grad(entropy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            np.testing.assert_allclose(value(x), entropy(x), rtol=1e-12)
            np.testing.assert_allclose(gradient(x)[1:], np.log(x[1:]) + 1.0, rtol=1e-12)
    assert has(gradient.source(x), "np.errstate(divide='ignore', invalid='ignore')")


def test_what_is_looked_at_later_is_silenced_too(x):
    def f(x):
        y = logarithms(x)
        return np.sum(y * x if np.sum(y) < 0.0 else y)

    with np.errstate(divide="raise"):
        np.testing.assert_allclose(tapec.compile(f)(x), f(x), rtol=1e-12)


def test_all_kinds(x):
    def f(x):
        with np.errstate(all="ignore"):
            return np.exp(x * 1000.0) / np.exp(x * 1000.0)

    value = tapec.compile(f)
    with np.errstate(all="raise"):
        for _ in range(2):
            np.testing.assert_array_equal(value(x), f(x))
    assert has(value.source(x), "np.errstate(all='ignore')")


def test_warnings_that_are_caught(x):
    def f(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.exp(x * 1000.0) / np.exp(x * 1000.0)

    value = tapec.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            np.testing.assert_array_equal(value(x), f(x))


def warned(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return np.sum(np.log(x))


def test_what_is_not_spelled_out_is_asked_at_each_call(x):
    mode = {"divide": "ignore"}

    def f(x):
        with np.errstate(**mode):
            return np.log(x)

    value = tapec.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            np.testing.assert_allclose(value(x)[1:], np.log(x[1:]), rtol=1e-12)
    mode["divide"] = "raise"
    with pytest.raises(FloatingPointError, match="divide by zero"):
        value(x)


@pytest.mark.parametrize("f, kind", [(strict, FloatingPointError), (warned, RuntimeWarning)])
def test_what_is_asked_for_is_raised_at_each_call(f, kind, x):
    gradient = tapec.grad(f)
    for _ in range(2):
        np.testing.assert_allclose(gradient(x + 1.0), 1.0 / (x + 1.0), rtol=1e-12)
        with pytest.raises(kind, match="divide by zero encountered in log"):
            gradient(x)


def test_others_warn_as_ever():
    f = tapec.compile(lambda x: np.log(x))
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            f(np.zeros(100))
