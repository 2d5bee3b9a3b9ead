"""Exponentials that are squares of others."""

import numpy as np
import pytest

import tapec
from tapec.passes.rules import SQUARED_EXPONENTIALS
from tests.passes.support import Case, table_tests
from tests.properties import call_count

X = "%x: f64[3], %y: f64[3]"
CASES = {
    "square-of-known-exponential": Case(
        X,
        [
            (
                "multiply 0.5, %x; exp %0; exp %x; multiply %1, %2",
                "multiply 0.5, %x; exp %0; multiply %1, %1; multiply %1, %2",
            ),
            (
                "divide %x, 2.0; exp %0; exp %x; multiply %1, %2",
                "divide %x, 2.0; exp %0; multiply %1, %1; multiply %1, %2",
            ),
            (  # the half comes later
                "exp %x; multiply %x, 0.5; exp %1; multiply %0, %2",
                "multiply %x, 0.5; exp %0; multiply %1, %1; multiply %2, %1",
            ),
            (
                "multiply 2.0, %x; exp %0; exp %x; add %1, %2",
                "exp %x; multiply %0, %0; add %1, %0",
            ),
            (
                "negative %x; exp %0; multiply %x, -0.5; exp %2; add %1, %3",
                "multiply %x, -0.5; exp %0; multiply %1, %1; add %2, %1",
            ),
            (
                "multiply %x, 3.0; exp %0; multiply %x, 1.5; exp %2; add %1, %3",
                "multiply %x, 1.5; exp %0; multiply %1, %1; add %2, %1",
            ),
        ],
        [
            "exp %x; multiply 0.5, %y; exp %1; multiply %0, %2",
            "exp %x; multiply 0.25, %x; exp %1; multiply %0, %2",
            "exp %x; multiply 0.5, %x; sin %1; multiply %0, %2",  # no exponential of the half
            "exp %x; negative %x; exp %1; multiply %0, %2",
            "multiply %x, 0.0; exp %0; exp %x; multiply %1, %2",
            "multiply %x, 3.0; exp %0; divide %x, 0.6666666666666666; exp %2; multiply %1, %3",  # rounded otherwise
        ],
        [("%z: c128[3]", "exp %z; multiply 0.5, %z; exp %1; multiply %0, %2")],
    ),
}
test_rule, test_each_rule_has_a_case = table_tests(CASES, SQUARED_EXPONENTIALS)


def of_log_variance(v):
    return np.sum(np.exp(v)) + np.sum(np.exp(0.5 * v)), np.exp(v), np.exp(0.5 * v)


def test_a_variance_and_a_deviation_share_an_exponential():
    def loss(v, e):
        return np.sum(np.exp(v)) + np.sum((np.exp(0.5 * v) * e) ** 2)

    v, e = np.linspace(-3.0, 3.0, 50), np.linspace(0.0, 1.0, 50)
    gradient = tapec.grad(loss)
    np.testing.assert_allclose(gradient(v, e), np.exp(v) * (1 + e * e), rtol=1e-14)
    assert call_count(gradient.source(v, e), "np.exp") == 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_squares_overflow_and_vanish_where_exponentials_do(dtype):
    """On numbers on both sides of where the largest float ends, and of where the smallest does."""
    info = np.finfo(dtype)
    ends = np.log(np.array([info.max, info.smallest_subnormal], dtype)).astype(dtype)
    x = np.concatenate([end + np.arange(-40, 41, dtype=dtype) * np.spacing(end) for end in ends])
    x = np.concatenate([x, np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e4, -1e4], dtype)])
    with np.errstate(all="ignore"):
        got, wanted = tapec.compile(of_log_variance)(x)[1], np.exp(x)
    np.testing.assert_array_equal(np.isinf(got), np.isinf(wanted))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
    np.testing.assert_allclose(got, wanted, rtol=8 * info.eps, atol=2 * info.smallest_subnormal)


def test_a_half_that_is_rounded_otherwise_is_none():
    """One of the numbers on both sides of where the exponential overflows would tell."""

    def both(x):
        return np.exp(0.1 * x), np.exp(x / 20.0)

    end = np.log(np.finfo(float).max) / 0.1
    x = end + np.arange(-40, 41) * np.spacing(end)
    with np.errstate(all="ignore"):
        for got, wanted in zip(tapec.compile(both)(x), both(x), strict=True):
            np.testing.assert_array_equal(np.isinf(got), np.isinf(wanted))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_doubles_of_whole_numbers_wrap_around(dtype):
    def both(x):
        return np.exp(2 * x), np.exp(x)

    half = np.iinfo(dtype).max // 2
    x = np.array([half + 3, -half - 4, 2, -1, 0], dtype)
    with np.errstate(all="ignore"):
        for got, wanted in zip(tapec.compile(both)(x), both(x), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=2e-3)
