"""Stability: each rule where it fires and where it must not; and values near zero, which keep the form they have."""

import numpy as np
import pytest

import tapec
from tapec.passes.rules import STABLE_FORMS
from tests.passes.support import Case, table_tests

X = "%x: f64[3], %y: f64[3]"
ROWS = "%x: f64[4,3], %y: f64[4,3], %w: f64[3,4]"
SHIFTED = "max %x {axis=(1,), keepdims=True}; subtract %x, %0; exp %1; sum %2 {axis=(1,), keepdims=True}"
NARROW = (
    "max %x {axis=(1,), keepdims=False}; reshape %0 {shape=(4, 1)}; subtract %x, %1; exp %2; "
    "sum %3 {axis=(1,), keepdims=False}"
)
SQUARE = "matmul %x, %w; max %0 {axis=(1,), keepdims=True}; subtract %0, %1; exp %2; sum %3 {axis=(1,), keepdims=False}"

CASES = {
    "softmax-again": Case(
        ROWS,
        [
            (f"{SHIFTED}; log %3; subtract %1, %4; exp %5", f"{SHIFTED}; divide %2, %3"),
            (f"{SHIFTED}; log %3; add %0, %4; subtract %x, %5; exp %6", f"{SHIFTED}; divide %2, %3"),
            (
                f"{NARROW}; log %4; add %0, %5; reshape %6 {{shape=(4, 1)}}; subtract %x, %7; exp %8",
                f"{NARROW}; reshape %4 {{shape=(4, 1)}}; divide %3, %5",
            ),
        ],
        [
            f"{SHIFTED}; log %3; subtract %x, %4; exp %5",  # of others
            f"{SHIFTED}; log %3; add %y, %4; subtract %x, %5; exp %6",
            f"{SHIFTED}; log %3; add %0, %4; subtract %y, %5; exp %6",
            f"{SHIFTED}; log %3; subtract %1, %4; exp %5".replace("max", "min"),  # which may overflow
            "exp %x; sum %0 {axis=(1,), keepdims=True}; log %1; subtract %x, %2; exp %3",
            f"{SHIFTED}; log %3; subtract %1, %4; exp %5".replace("sum %2 {axis=(1,)", "sum %2 {axis=(0,)"),
            f"{SHIFTED}; log1p %3; subtract %1, %4; exp %5",
            f"{SQUARE}; log %4; reshape %5 {{shape=(1, 4)}}; subtract %2, %6; exp %7",  # along the other axis
        ],
    ),
}


def test_a_softmax_at_every_number():
    """Where there are infinities or nan, they come out alike."""
    x = 30 * np.random.default_rng(2).normal(size=(9, 5))
    x[0], x[1, 2], x[2, 3], x[3, :4], x[4] = -np.inf, np.inf, np.nan, -np.inf, 800.0
    x[5, 0], x[6, 1] = -1000.0, 1000.0

    def f(x):
        m = np.max(x, axis=1)
        s = np.log(np.sum(np.exp(x - m[:, None]), axis=1))
        return np.exp(x - m[:, None] - s[:, None]), np.exp(x - (m + s)[:, None])

    with np.errstate(all="ignore"):
        for found, wanted in zip(tapec.compile(f)(x), f(x), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


test_rule, test_each_rule_has_a_case = table_tests(CASES, STABLE_FORMS)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.log(1 - np.exp(-x)),
        lambda x: np.log(1 + x),
        lambda x: 1 / np.log(1 - x),
        lambda x: 1 / (np.exp(x) - 1),
        lambda x: 1 / (1 - np.exp(x)),
    ],
)
def test_values_near_zero_are_those_of_the_program(f):
    """Another form would keep more digits, and make numbers of NumPy's infinities."""
    x = np.array([1e-17, -0.0, 0.0, 1e-3])
    compiled = tapec.compile(f)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(compiled(x), f(x))
        np.testing.assert_array_equal(compiled(x[0]), f(x[0]))
