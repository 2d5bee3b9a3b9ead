"""Stability: each rule where it fires and where it must not; and the digits that it saves."""

import numpy as np
import pytest

import tapec
from tapec.ir import interpret, parse
from tapec.passes.engine.rewrite import RuleSet
from tapec.passes.rules import STABLE_FORMS
from tests.passes.support import Case, table_tests, text

X = "%x: f64[3], %y: f64[3]"
ROWS = "%x: f64[4,3], %y: f64[4,3], %w: f64[3,4]"
SHIFTED = "max %x {axis=(1,), keepdims=True}; subtract %x, %0; exp %1; sum %2 {axis=(1,), keepdims=True}"
NARROW = (
    "max %x {axis=(1,), keepdims=False}; reshape %0 {shape=(4, 1)}; subtract %x, %1; exp %2; "
    "sum %3 {axis=(1,), keepdims=False}"
)
SQUARE = "matmul %x, %w; max %0 {axis=(1,), keepdims=True}; subtract %0, %1; exp %2; sum %3 {axis=(1,), keepdims=False}"

CASES = {
    "log1p": Case(
        X,
        [("add %x, 1.0; log %0", "log1p %x"), ("add 1, %x; log %0", "log1p %x")],
        ["add %x, 2.0; log %0", "add %x, %y; log %0"],
        [("%h: f32[3]", "constant {value=1.0}; add %h, %0; log %1"), ("%z: c128[3]", "add %z, 1.0; log %0")],
    ),
    "log1p-of-difference": Case(
        X, [("subtract 1.0, %x; log %0", "negative %x; log1p %0")], ["subtract %x, 1.0; log %0"]
    ),
    "expm1": Case(
        X,
        [("exp %x; subtract %0, 1.0", "expm1 %x")],
        ["exp %x; subtract %0, 2.0", "exp %x; subtract %0, 1.0; return %0, %1"],
    ),
    "expm1-negated": Case(
        X,
        [("exp %x; subtract 1.0, %0", "expm1 %x; negative %0")],
        ["exp %x; subtract 1.0, %0; return %0, %1", "exp %x; subtract %y, %0"],
    ),
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
    ("body", "exact"),
    [
        ("add 1.0, %x; log %0", np.log1p),
        ("subtract 1.0, %x; log %0", lambda x: np.log1p(-x)),
        ("exp %x; subtract %0, 1.0", np.expm1),
        ("exp %x; subtract 1.0, %0", lambda x: -np.expm1(x)),
    ],
)
def test_digits_near_zero(body, exact):
    x = np.array([1e-18, -3e-12, 2e-7])
    graph = parse(text("%x: f64[3]", body))
    (before,), (after,) = interpret(graph, x), interpret(RuleSet("", STABLE_FORMS)(graph), x)
    assert np.allclose(after, exact(x), rtol=1e-15, atol=0)
    assert not np.allclose(before, exact(x), rtol=1e-7, atol=0)
