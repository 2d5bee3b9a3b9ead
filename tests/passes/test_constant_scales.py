"""Constant factors among cotangents: each rule where it fires and where it must not."""

import numpy as np
import pytest

import tapec
from tapec.ir import parse
from tapec.passes.pass_report import Report
from tapec.passes.pipeline import optimize
from tapec.passes.rules import CONSTANT_SCALES
from tapec.testing import check_rewrite
from tests.passes.support import Case, table_tests, text

X = "%x: f64[3], %y: f64[3], %m: f64[2,3]"
HALF = "%h: f16[3], %g: f16[3]"


def shared(body):
    """The same with a second use of the first value."""
    return f"{body}; return %0, %1"


BIG = "%x: f64[20,30], %r: f64[30], %t: f64[30], %c: f64[20,1], %s: f64[], %z: f64[20,30], "
BIG += "%p: f64[10,20,2], %u: f64[10,20,1], %v: f64[10,20,1]"


RESHAPED = "reshape %0 {shape=(3, 1)} !ct"
CASES = {
    "number-of-quotient-undone": Case(
        X,
        [
            (
                "divide 0.5, %x !ct; multiply %y, %0 !ct; multiply %1, 2.0 !ct",
                "divide 1.0, %x !ct; multiply %y, %0 !ct",
            ),
            (  # two share it
                "divide 0.5, %x !ct; multiply %y, %0 !ct; multiply %1, 2 !ct; multiply %m, %0 !ct; "
                "multiply 2.0, %3 !ct; return %2, %4",
                "divide 1.0, %x !ct; multiply %y, %0 !ct; multiply %m, %0 !ct; return %1, %2",
            ),
        ],
        [
            "divide 0.5, %x !ct; multiply %y, %0 !ct; multiply %1, 3.0 !ct",
            "divide 0.5, %x !ct; multiply %y, %0 !ct; multiply %1, 2.0",  # the user's
            "divide 0.5, %x !ct; multiply %y, %0 !ct; multiply %1, 2.0 !ct; return %1, %2",
        ],
        [(X.replace("%x: f64", "%x: f32"), "divide 0.5, %x !ct; multiply %y, %0 !ct; multiply %1, 2.0 !ct")],
    ),
    "factors-gathered-around-reshape": Case(
        X,
        [
            (
                f"multiply %x, 0.5 !ct; {RESHAPED}; multiply %1, 6.0 !ct",
                "reshape %x {shape=(3, 1)} !ct; multiply %0, 3.0 !ct",
            ),
            (
                f"multiply %x, 0.5 !ct; {RESHAPED}; multiply %1, 2.0 !ct",
                "reshape %x {shape=(3, 1)} !ct; multiply %0, 1.0 !ct",  # which other rules drop
            ),
        ],
        [
            f"multiply %x, 0.5; {RESHAPED}; multiply %1, 2.0 !ct",  # the user's
            f"multiply %x, 0.5 !ct; {RESHAPED}; multiply %1, 2.0 !ct; return %0, %2",
            f"multiply %x, 1e300 !ct; {RESHAPED}; multiply %1, 1e-300 !ct",
        ],
    ),
    "number-over-reshaped-times": Case(
        X,
        [
            (
                f"divide 0.5, %x !ct; {RESHAPED}; multiply %1, 2.0 !ct",
                "divide 1.0, %x !ct; reshape %0 {shape=(3, 1)} !ct",
            ),
        ],
        [
            f"divide 0.5, %x; {RESHAPED}; multiply %1, 2.0 !ct",
            f"divide 0.5, %x !ct; {RESHAPED}; multiply %1, 2.0 !ct; return %0, %2",
        ],
    ),
    "small-factors-first": Case(
        BIG,
        [
            ("multiply %x, %r !ct; multiply %0, %t !ct", "multiply %r, %t !ct; multiply %x, %0 !ct"),
            ("multiply %c, %x !ct; multiply %0, %s !ct", "multiply %c, %s !ct; multiply %x, %0 !ct"),
            ("multiply %c, %r !ct; multiply %0, %t !ct", "multiply %r, %t !ct; multiply %c, %0 !ct"),
            ("multiply %p, %u !ct; multiply %0, %v !ct", "multiply %u, %v !ct; multiply %p, %0 !ct"),
        ],
        [
            "multiply %x, %r; multiply %0, %t",
            "multiply %x, %r !ct; multiply %0, %c !ct",  # together as large as x
            "multiply %x, %z !ct; multiply %0, %r !ct",
            "multiply %r, %t !ct; multiply %0, %c !ct",
            shared("multiply %x, %r !ct; multiply %0, %t !ct"),
        ],
        [("%x: f64[3,5], %r: f64[5]", "multiply %x, %r !ct; multiply %0, %r !ct")],  # nothing to be saved
    ),
    "small-quotient-first": Case(
        BIG,
        [("multiply %x, %r !ct; divide %0, %t !ct", "divide %r, %t !ct; multiply %x, %0 !ct")],
        ["multiply %x, %r; divide %0, %t", shared("multiply %x, %r !ct; divide %0, %t !ct")],
    ),
    "small-divisor-first": Case(
        BIG,
        [("divide %x, %r !ct; multiply %0, %t !ct", "divide %t, %r !ct; multiply %x, %0 !ct")],
        ["divide %x, %r; multiply %0, %t", "divide %x, %r !ct; multiply %0, %z !ct"],
    ),
    "factors-gathered": Case(
        X,
        [
            ("multiply %x, 3.0 !ct; multiply %0, 5.0 !ct", "multiply %x, 15.0 !ct"),
            ("multiply 3.0, %x !ct; multiply -5, %0 !ct", "multiply %x, -15.0 !ct"),
        ],
        [
            "multiply %x, 3.0; multiply %0, 5.0",
            "multiply %x, 3.0 !ct; multiply %0, 5.0",
            "multiply %x, 3.0 !ct; multiply %0, 1e200 !ct",
            "multiply %x, 3.0 !ct; multiply %0, 0.0 !ct",
            "multiply %x, 3.0 !ct; multiply %0, inf !ct",
        ],
        [(HALF, "multiply %h, 3.0 !ct; multiply %0, 5.0 !ct")],
    ),
    "over-number": Case(
        X,
        [("divide %x, 3.0 !ct", "multiply %x, 0.3333333333333333 !ct")],
        ["divide %x, 3.0", "divide %x, 0.0 !ct", "divide 3.0, %x !ct"],
    ),
    "number-over-times": Case(
        X,
        [("divide 3.0, %x !ct; multiply %0, 2.0 !ct", "divide 6.0, %x !ct")],
        ["divide 3.0, %x; multiply %0, 2.0", "divide 3.0, %x !ct; multiply %0, %y !ct"],
    ),
    "number-over-product": Case(
        X,
        [("multiply %x, 2.0 !ct; divide 3.0, %0 !ct", "divide 1.5, %x !ct")],
        ["multiply %x, 2.0; divide 3.0, %0", shared("multiply %x, 2.0 !ct; divide 3.0, %0 !ct")],
    ),
    "in-known-order": Case(
        "%x: f64[300], %y: f64[300], %z: f64[3]",  # fewer elements are not worth looking for it
        [
            (  # the derivative of sin(0.1 * x * x)
                "multiply 0.1, %x; multiply %y, %0 !ct; multiply %y, %x !ct; multiply %2, 0.1 !ct; add %1, %3 !ct",
                "multiply 0.1, %x; multiply %y, %0 !ct; add %1, %1 !ct",
            ),
            (  # the density of a normal distribution, in its own derivative
                "multiply %x, -0.5; multiply %0, %x; multiply %x, %x !ct; multiply %2, -0.5 !ct; return %1, %3",
                "multiply %x, -0.5; multiply %0, %x; return %1, %1",
            ),
            (  # wherever it is
                "multiply %x, 0.1; multiply %y, %x !ct; multiply %1, 0.1 !ct; multiply %y, %0 !ct; return %2, %3",
                "multiply %x, 0.1; multiply %y, %0 !ct; return %1, %1",
            ),
        ],
        [
            "multiply %x, 0.1; multiply %y, %0; multiply %y, %x; multiply %2, 0.1; add %1, %3",  # the user's
            "multiply %x, 0.1; multiply %y, %x !ct; multiply %1, 0.1 !ct; return %0, %2",  # one product more
            "multiply %x, 0.2; multiply %y, %0 !ct; multiply %y, %x !ct; multiply %2, 0.1 !ct; return %1, %3",
            "multiply %x, 1e-60; multiply %y, %0 !ct; multiply %y, %x !ct; multiply %2, 1e-60 !ct; return %1, %3",
            "multiply 0.1, %z; multiply %z, %0 !ct; multiply %z, %z !ct; multiply %2, 0.1 !ct; add %1, %3 !ct",
        ],
    ),
    "number-undone": Case(
        X,
        [
            ("multiply %x, 0.5; multiply %0, 2.0 !ct; return %0, %1", "multiply %x, 0.5; return %0, %x"),
            (
                "multiply %x, -0.5; multiply %0, 2.0 !ct; return %0, %1",
                "multiply %x, -0.5; negative %x !ct; return %0, %1",
            ),
        ],
        [
            "multiply %x, 0.5; multiply %0, 2.0; return %0, %1",
            "multiply %x, 0.5; multiply %0, 4.0 !ct; return %0, %1",
            "multiply %x, 0.1; multiply %0, 10.0 !ct; return %0, %1",  # not exactly
        ],
    ),
    "number-undone-within": Case(
        X,
        [
            ("multiply %x, 0.5; multiply %y, %0 !ct; multiply %1, 2.0 !ct", "multiply %y, %x !ct"),
            (
                "multiply %x, -0.5; multiply %y, %0 !ct; multiply %1, 2.0 !ct",
                "multiply %y, %x !ct; negative %0 !ct",
            ),
            (
                "multiply %x, 0.5 !ct; multiply %0, %y !ct; multiply %1, 2.0 !ct; return %1, %2",
                "multiply %x, 0.5 !ct; multiply %0, %y !ct; multiply %y, %x !ct; return %1, %2",
            ),
        ],
        [
            "multiply %x, 0.5; multiply %y, %0; multiply %1, 2.0",
            "multiply %x, 0.1; multiply %y, %0 !ct; multiply %1, 10.0 !ct; return %0, %1, %2",  # not exactly
        ],
    ),
    "factors-gathered-last": Case(
        X,
        [("multiply %x, 0.1; multiply %0, 2.0 !ct", "multiply %x, 0.2 !ct")],
        ["multiply %x, 0.1; multiply %0, 2.0", "multiply %x, 0.1; multiply %0, 2.0 !ct; return %0, %1"],
    ),
    "times-reciprocal": Case(
        X,
        [("divide 1, %y !ct; multiply %x, %0 !ct", "divide %x, %y !ct")],
        [
            "divide 1, %y; multiply %x, %0",
            shared("divide 1, %y !ct; multiply %x, %0 !ct"),
            "divide %y, %x !ct; multiply %x, %0 !ct",
            "divide 1, %x !ct; multiply %m, %0 !ct",  # one division for many
        ],
        [(HALF, "divide 1, %h !ct; multiply %g, %0 !ct")],
    ),
    "times-number-over": Case(
        X,
        [("divide 0.5, %y !ct; multiply %x, %0 !ct", "divide %x, %y !ct; multiply %0, 0.5 !ct")],
        [
            "divide 0.5, %y; multiply %x, %0",
            shared("divide 0.5, %y !ct; multiply %x, %0 !ct"),
            "divide 0.5, %x !ct; multiply %m, %0 !ct",
        ],
    ),
    "common-number": Case(
        BIG,
        [
            ("multiply %x, 3.0 !ct; multiply %z, 3.0 !ct; add %0, %1 !ct", "add %x, %z !ct; multiply %0, 3.0 !ct"),
            (
                "multiply %x, -3.0 !ct; multiply %z, 3.0 !ct; add %0, %1 !ct",
                "subtract %x, %z !ct; multiply %0, -3.0 !ct",
            ),
            ("multiply %x, 3.0 !ct; multiply %s, 3.0 !ct; add %0, %1 !ct", "add %x, %s !ct; multiply %0, 3.0 !ct"),
            (
                "multiply %x, 3.0 !ct; multiply %z, 3.0 !ct; subtract %0, %1 !ct",
                "subtract %x, %z !ct; multiply %0, 3.0 !ct",
            ),
            (
                "multiply %x, 3.0 !ct; multiply %z, -3.0 !ct; subtract %0, %1 !ct",
                "add %x, %z !ct; multiply %0, 3.0 !ct",
            ),
            (
                "multiply %x, 3.0 !ct; multiply %c, -3.0 !ct; multiply %z, %1 !ct; add %0, %2 !ct",
                "multiply %z, %c !ct; subtract %x, %0 !ct; multiply %1, 3.0 !ct",
            ),
        ],
        [
            "multiply %x, 3.0; multiply %z, 3.0; add %0, %1",
            "multiply %x, 3.0 !ct; multiply %z, 2.0 !ct; add %0, %1 !ct",
            "multiply %x, 3.0 !ct; multiply %z, 2.0 !ct; subtract %0, %1 !ct",
            "multiply %c, 3.0 !ct; multiply %x, %0 !ct; add %z, %1 !ct",
            "multiply %x, 1e-300 !ct; multiply %z, 1e-300 !ct; add %0, %1 !ct",
            "multiply %c, 3.0 !ct; multiply %r, 3.0 !ct; add %0, %1 !ct",
            "multiply %x, 3.0 !ct; multiply %z, 3.0 !ct; add %0, %1 !ct; return %0, %2",
        ],
    ),
    "common-divisor": Case(
        BIG,
        [
            ("divide %x, %c !ct; divide %z, %c !ct; subtract %0, %1 !ct", "subtract %x, %z !ct; divide %0, %c !ct"),
            ("divide %x, %c !ct; divide %s, %c !ct; subtract %0, %1 !ct", "subtract %x, %s !ct; divide %0, %c !ct"),
            ("divide %x, %c !ct; divide %z, %c !ct; add %0, %1 !ct", "add %x, %z !ct; divide %0, %c !ct"),
            (
                "sin %c; divide %x, %c !ct; divide %0, %c !ct; multiply %2, %z !ct; subtract %1, %3 !ct",
                "sin %c; multiply %0, %z !ct; subtract %x, %1 !ct; divide %2, %c !ct",
            ),
        ],
        [
            "divide %x, %c; divide %z, %c; subtract %0, %1",
            "divide %x, %c !ct; divide %z, %r !ct; subtract %0, %1 !ct",
            "divide %x, %c !ct; divide 1.0, %c !ct; subtract %0, %1 !ct",
            "divide %x, %c !ct; divide %z, %c !ct; subtract %0, %1 !ct; return %2, %1",
            "divide %s, %c !ct; multiply %0, %z !ct; add %x, %1 !ct",  # nothing large is divided
        ],
    ),
    "divisor-undone": Case(
        X,
        [
            ("divide %x, %y !ct; multiply %y, %m !ct; multiply %0, %1 !ct", "multiply %x, %m !ct"),
            (
                "divide 3.0, %y !ct; multiply %x, %y !ct; multiply %1, %0 !ct; return %0, %1, %2",
                "divide 3.0, %y !ct; multiply %x, %y !ct; multiply 3.0, %x !ct; return %0, %1, %2",
            ),
        ],
        [
            "divide %x, %y; multiply %y, %m !ct; multiply %0, %1 !ct",  # the user's own
            "divide %x, %y !ct; multiply %y, %m; multiply %0, %1 !ct",
            "divide %x, %y !ct; multiply %x, %m !ct; multiply %0, %1 !ct",  # another one
            "divide %y, %x !ct; multiply %y, %m !ct; multiply %0, %1 !ct",
        ],
    ),
    "times-known-quotient-and-number": Case(
        BIG,
        [
            (
                "divide %x, %c; divide %z, %c !ct; multiply %1, 0.3 !ct; multiply %2, %x !ct; return %0, %3",
                "divide %x, %c; multiply %z, 0.3 !ct; multiply %1, %0 !ct; return %0, %2",
            )
        ],
        [
            "divide %z, %c !ct; multiply %0, 0.3 !ct; multiply %1, %x !ct",  # there is no such quotient
            "divide %x, %c; divide %z, %c !ct; multiply %1, 1e300 !ct; multiply %2, %x !ct; return %0, %3",
        ],
    ),
    "times-known-quotient": Case(
        BIG,
        [
            (
                "divide %x, %c; divide %z, %c !ct; multiply %1, %x !ct; return %0, %2",
                "divide %x, %c; multiply %z, %0 !ct; return %0, %1",
            )
        ],
        [
            "divide %x, %c; divide %z, %c; multiply %1, %x; return %0, %2",
            "divide %z, %c !ct; multiply %0, %x !ct",  # there is no such quotient
            "divide %x, %r; divide %z, %c !ct; multiply %1, %x !ct; return %0, %2",
            "divide %x, %c; divide %z, %c !ct; multiply %1, %x !ct; return %0, %1, %2",
        ],
    ),
    "factor-outwards": Case(
        X,
        [("multiply %x, 3.0 !ct; multiply %0, %y !ct", "multiply %x, %y !ct; multiply %0, 3.0 !ct")],
        [
            "multiply %x, 3.0; multiply %0, %y",
            shared("multiply %x, 3.0 !ct; multiply %0, %y !ct"),
            "multiply %x, 3.0 !ct; multiply %0, %m !ct",  # the product is bigger
        ],
    ),
    "factor-outwards-of-quotient": Case(
        X,
        [("multiply %x, 3.0 !ct; divide %0, %y !ct", "divide %x, %y !ct; multiply %0, 3.0 !ct")],
        [
            "multiply %x, 3.0; divide %0, %y",
            shared("multiply %x, 3.0 !ct; divide %0, %y !ct"),
            "multiply %x, 3.0 !ct; divide %0, %m !ct",
        ],
    ),
    "factor-into-smaller": Case(
        X,
        [("multiply %m, %x !ct; multiply %0, 3.0 !ct", "multiply %x, 3.0 !ct; multiply %m, %0 !ct")],
        [
            "multiply %m, %x; multiply %0, 3.0",
            "multiply %x, %y !ct; multiply %0, 3.0 !ct",
            shared("multiply %m, %x !ct; multiply %0, 3.0 !ct"),
        ],
        [("%m: f64[2,3], %x: f32[3]", "multiply %m, %x !ct; multiply %0, 0.3 !ct")],  # 0.3 would be of float32
    ),
    "factor-into-smaller-divisor": Case(
        X,
        [("divide %m, %x !ct; multiply %0, 3.0 !ct", "divide 3.0, %x !ct; multiply %m, %0 !ct")],
        [
            "divide %m, %x; multiply %0, 3.0",
            "divide %x, %y !ct; multiply %0, 3.0 !ct",
            shared("divide %m, %x !ct; multiply %0, 3.0 !ct"),
        ],
    ),
}


test_rule, test_each_rule_has_a_case = table_tests(CASES, CONSTANT_SCALES)


def test_normalised_rows_at_every_number():
    """Zeros, infinities and nan are where the division has them, signs too."""
    x = np.random.default_rng(3).normal(size=(64, 256))
    x[0] = 0.0
    x[1] *= 1e200
    x[2, 3], x[3, 4], x[4, 5:7] = np.inf, np.nan, [np.inf, -np.inf]
    x[5] *= 1e-160
    for f in (
        lambda x: (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-12),
        lambda x: x / (np.sum(x * x, axis=1, keepdims=True) + 1e-300),
        lambda x: np.exp(x - x.max(axis=1, keepdims=True)) / np.exp(x - x.max(axis=1, keepdims=True)).sum(1)[:, None],
    ):
        with np.errstate(all="ignore"):
            found, wanted = tapec.compile(f)(x), f(x)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-16)
        assert np.array_equal(np.signbit(found)[~np.isnan(found)], np.signbit(wanted)[~np.isnan(wanted)])


def test_numbers_beside_a_python_number_are_gathered():
    """A seed of one had made an array scalar of it, which it stays."""
    seed = "full {shape=(), value=-2.0, dtype=f64} !ct"
    before = text("%x: float", f"{seed}; multiply %0, %x !ct; multiply %1, 0.25 !ct")
    after = text("%x: float", "cast %x {dtype=f64} !ct; multiply %0, -0.5 !ct")
    assert (
        check_rewrite(before, after, [r for r in CONSTANT_SCALES if r.name == "factors-gathered"])["factors-gathered"]
        == 1
    )


def test_two_of_float32_do_not_meet_before_a_float64():
    """Their product would be one of float32, and the gradient of a float64 loss would have half of its digits."""
    x, c = np.array([2.0, 0.5, 4.0, 7.0, -8.0, 0.1, 1.0]), np.float32(0.3)
    g = tapec.grad(lambda x, c: np.mean(np.tanh(c * x)))(x, c)
    wide = np.float64(c)
    np.testing.assert_allclose(g, wide / (7 * np.cosh(wide * x) ** 2), rtol=1e-13)
    t = tapec.constant(x)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        y = np.mean(np.tanh(c * t))
    np.testing.assert_allclose(tape.gradient(y, t).numpy(), g, rtol=1e-13)


@pytest.mark.parametrize("order", ["%0, %y", "%y, %0"])
def test_rules_do_not_undo_one_another(order):
    """Of x * 3 * y the 3 moves outwards; then x * 3 * y, which is being rewritten, is no product that is there."""
    graph = parse(text("%x: f64[300], %y: f64[300]", f"multiply %x, 3.0 !ct; multiply {order} !ct"))
    report = Report()
    with tapec.settings(verify=True):
        optimize(graph, report)
    assert report.hits == {"factor-outwards": 1}
