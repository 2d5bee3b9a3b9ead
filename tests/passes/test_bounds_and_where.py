"""Selections: two that are one, and slopes that are clipped values."""

import numpy as np
import pytest

import tapec
from tapec.passes.rules import BOUNDS_AND_WHERE
from tapec.testing import check_rewrite
from tests.passes.support import Case, table_tests, text
from tests.properties import call_count, calls, has

X = "%c: bool[3], %d: bool[3], %a: f64[3], %b: f64[3], %x: f64[3], %s: f64[], %y: f64[3]"
NEAR = "absolute %x; less_equal %0, 1.5; sign %x"
MANY = "%x: f64[64], %a: f64[64]"
PARABOLA = "absolute %x; less %0, 1.0; multiply 0.5, %x; multiply %2, %x"
PRODUCTS = "multiply %0, %x; multiply %0, %0; multiply 0.5, %2; subtract %1, %3"  # of the clipped x
WHOLE = "{axis=(0,), keepdims=False}"
CASES = {
    "select-either-add": Case(
        X,
        [
            ("where %c, %x, 0 !ct; where %c, 0, %y !ct; add %0, %1 !ct", "where %c, %x, %y !ct"),
            ("where %c, %x, 0 !ct; where %c, 0.0, %y !ct; add %1, %0 !ct", "where %c, %x, %y !ct"),
        ],
        [
            "where %c, %x, 0; where %c, 0, %y; add %0, %1",  # the user's own
            "where %c, %x, 0 !ct; where %d, 0, %y !ct; add %0, %1 !ct",
            "where %c, %x, 0 !ct; where %c, %y, 0 !ct; add %0, %1 !ct",
            "where %c, %x, 1.0 !ct; where %c, 0, %y !ct; add %0, %1 !ct",
        ],
    ),
    "select-either-subtract": Case(
        X,
        [("where %c, %x, 0 !ct; where %c, 0, %y !ct; subtract %0, %1 !ct", "negative %y !ct; where %c, %x, %0 !ct")],
        [
            "where %c, %x, 0; where %c, 0, %y; subtract %0, %1",  # the user's own
            "where %c, %x, 0 !ct; where %d, 0, %y !ct; subtract %0, %1 !ct",
            "where %c, %x, 0 !ct; where %c, 1.0, %y !ct; subtract %0, %1 !ct",
        ],
    ),
    "select-then-add": Case(
        X,
        [("where %c, %x, 0 !ct; where %c, %y, 0 !ct; add %0, %1 !ct", "add %x, %y !ct; where %c, %0, 0 !ct")],
        [
            "where %c, %x, 0; where %c, %y, 0; add %0, %1",
            "where %c, %x, 0 !ct; where %d, %y, 0 !ct; add %0, %1 !ct",
            "where %c, %x, 0 !ct; where %c, %y, 1.0 !ct; add %0, %1 !ct",
            "where %c, %x, 0 !ct; where %c, %y, 0 !ct; add %0, %1 !ct; multiply %2, %1 !ct",
        ],
    ),
    "select-else-add": Case(
        X,
        [("where %c, 0, %x !ct; where %c, 0, %y !ct; add %0, %1 !ct", "add %x, %y !ct; where %c, 0, %0 !ct")],
        ["where %c, 0, %x; where %c, 0, %y; add %0, %1", "where %c, 0, %x !ct; where %d, 0, %y !ct; add %0, %1 !ct"],
    ),
    "select-then-subtract": Case(
        X,
        [("where %c, %x, 0 !ct; where %c, %y, 0 !ct; subtract %0, %1 !ct", "subtract %x, %y !ct; where %c, %0, 0 !ct")],
        ["where %c, %x, 0; where %c, %y, 0; subtract %0, %1"],
    ),
    "select-else-subtract": Case(
        X,
        [("where %c, 0, %x !ct; where %c, 0, %y !ct; subtract %0, %1 !ct", "subtract %x, %y !ct; where %c, 0, %0 !ct")],
        ["where %c, 0, %x; where %c, 0, %y; subtract %0, %1"],
    ),
    "selected-then-then": Case(
        X + ", %k: bool[2,1], %l: bool[2,1], %i: i64[3]",
        [
            ("where %d, %x, 0 !ct; where %c, %0, 0 !ct", "bitwise_and %c, %d !ct; where %0, %x, 0 !ct"),
            ("where %l, %x, 0 !ct; where %k, %0, 0 !ct", "bitwise_and %k, %l !ct; where %0, %x, 0 !ct"),
        ],
        [
            "where %d, %x, 0; where %c, %0, 0",  # the user's own
            "where %d, %x, 0 !ct; where %c, %0, 1.0 !ct",
            "where %d, %x, 0 !ct; where %c, %0, 0 !ct; multiply %0, %1 !ct",
            "where %d, %x, 0 !ct; where %k, %0, 0 !ct",  # the mask would be as large as what is selected
            "where %i, %x, 0 !ct; where %c, %0, 0 !ct",
        ],
    ),
    "selected-then-else": Case(
        X,
        [("where %d, 0, %x !ct; where %c, %0, 0 !ct", "invert %d !ct; bitwise_and %c, %0 !ct; where %1, %x, 0 !ct")],
        ["where %d, 0, %x; where %c, %0, 0"],
    ),
    "selected-else-then": Case(
        X,
        [("where %d, %x, 0 !ct; where %c, 0, %0 !ct", "invert %c !ct; bitwise_and %0, %d !ct; where %1, %x, 0 !ct")],
        ["where %d, %x, 0; where %c, 0, %0"],
    ),
    "selected-else-else": Case(
        X,
        [("where %d, 0, %x !ct; where %c, 0.0, %0 !ct", "bitwise_or %c, %d !ct; where %0, 0, %x !ct")],
        ["where %d, 0, %x; where %c, 0, %0"],
    ),
    "mask-again": Case(
        X,
        [
            ("bitwise_and %c, %d; bitwise_and %c, %0", "bitwise_and %c, %d"),
            ("bitwise_and %d, %c; bitwise_and %0, %c", "bitwise_and %d, %c"),
        ],
        ["bitwise_and %c, %d; bitwise_or %c, %0"],
    ),
    "sum-of-negatives-selected": Case(
        X,
        [
            (
                f"negative %a !ct; where %c, %0, 0 !ct; sum %1 {WHOLE} !ct",
                f"where %c, %a, 0 !ct; sum %0 {WHOLE} !ct; negative %1 !ct",
            )
        ],
        [
            f"negative %a; where %c, %0, 0; sum %1 {WHOLE}",  # the user's own
            f"negative %a !ct; where %c, %0, 1.0 !ct; sum %1 {WHOLE} !ct",
            f"negative %a !ct; where %c, %0, %b !ct; sum %1 {WHOLE} !ct",
        ],
    ),
    "sum-of-negatives-elsewhere": Case(
        X,
        [
            (
                f"negative %a !ct; where %c, 0, %0 !ct; sum %1 {WHOLE} !ct",
                f"where %c, 0, %a !ct; sum %0 {WHOLE} !ct; negative %1 !ct",
            )
        ],
        [f"negative %a; where %c, 0, %0; sum %1 {WHOLE}", f"where %c, 0, %a !ct; sum %0 {WHOLE} !ct"],
    ),
    "added-where": Case(
        X,
        [("where %c, %a, %b !ct; where %c, %x, 0 !ct; add %0, %1 !ct", "add %a, %x !ct; where %c, %0, %b !ct")],
        [
            "where %c, %a, %b; where %c, %x, 0; add %0, %1",  # the user's own
            "where %c, %a, %b !ct; where %d, %x, 0 !ct; add %0, %1 !ct",
            "where %c, %a, %b !ct; where %c, %x, 1.0 !ct; add %0, %1 !ct",
            "where %c, %a, %b !ct; where %c, %x, 0 !ct; add %0, %1 !ct; multiply %2, %1 !ct",
            "where %c, %a, %b !ct; where %c, %s, 0 !ct; add %0, %1 !ct",
        ],
    ),
    "added-elsewhere": Case(
        X,
        [("where %c, %a, %b !ct; where %c, 0, %x !ct; add %1, %0 !ct", "add %b, %x !ct; where %c, %a, %0 !ct")],
        [
            "where %c, %a, %b; where %c, 0, %x; add %0, %1",
            "where %c, %a, %b !ct; where %d, 0, %x !ct; add %0, %1 !ct",
        ],
    ),
    "bounded": Case(
        X,
        [
            (
                f"{NEAR}; multiply %2, 1.5 !ct; where %1, %x, %3 !ct",
                "clip %x, -1.5, 1.5 !ct",
            ),
            (
                f"{NEAR}; multiply %2, 3.0 !ct; multiply %x, 2.0 !ct; where %1, %4, %3 !ct",
                "clip %x, -1.5, 1.5 !ct; multiply %0, 2.0 !ct",
            ),
            (
                "absolute %x; less %0, 1.0; sign %x; where %1, %x, %2 !ct",
                "clip %x, -1.0, 1.0 !ct",
            ),
        ],
        [
            f"{NEAR}; multiply %2, 1.5; where %1, %x, %3",  # the user's own
            f"{NEAR}; multiply %2, 1.25 !ct; where %1, %x, %3 !ct",  # a step there
            "absolute %x; less %0, 1.5; sign %a; multiply %2, 1.5 !ct; where %1, %x, %3 !ct",
            "absolute %x; less %0, -1.5; sign %x; multiply %2, -1.5 !ct; where %1, %x, %3 !ct",
            "absolute %x; greater %0, 1.5; sign %x; multiply %2, 1.5 !ct; where %1, %x, %3 !ct",
        ],
    ),
    "straightened-parabola": Case(
        MANY,
        [
            (
                "absolute %x; less %0, 1.0; multiply 0.5, %x; multiply %2, %x; subtract %0, 0.5; where %1, %3, %4",
                f"clip %x, -1.0, 1.0; {PRODUCTS}",
            ),
            (  # twice as steep, the other way round
                "absolute %x; greater_equal %0, 3.0; multiply %x, %x; multiply 6.0, %0; subtract %3, 9.0; "
                "where %1, %4, %2",
                f"clip %x, -3.0, 3.0; {PRODUCTS}; multiply 2.0, %4",
            ),
            (
                "absolute %x; less_equal %0, 3.0; multiply %x, %x; multiply %2, 0.5; subtract %0, 1.5; "
                "multiply 3.0, %4; where %1, %3, %5",
                f"clip %x, -3.0, 3.0; {PRODUCTS}",
            ),
        ],
        [
            f"{PARABOLA}; subtract %0, 0.25; where %1, %3, %4",  # a step there
            f"{PARABOLA}; multiply %0, 2.0; subtract %4, 0.5; where %1, %3, %5",  # a corner
            f"{PARABOLA}; subtract %0, 0.5; where %1, %4, %3",  # the parabola outside
            f"{PARABOLA}; subtract 0.5, %0; where %1, %3, %4",
            f"{PARABOLA}; subtract %0, %a; where %1, %3, %4",
            f"{PARABOLA}; multiply %3, %x; subtract %0, 0.5; where %1, %4, %5",  # no parabola
            "absolute %x; less %0, 1.0; multiply 0.5, %a; multiply %2, %a; subtract %0, 0.5; where %1, %3, %4",
            "absolute %x; less %0, 1.0; multiply -0.5, %x; multiply %2, %x; subtract -0.5, %0; where %1, %3, %4",
        ],
        [("%x: f64[9]", f"{PARABOLA}; subtract %0, 0.5; where %1, %3, %4")],  # few
    ),
}


def test_many_are_clipped_at_once():
    many = "%x: f64[5000]"
    before = f"{NEAR}; multiply %2, 1.5 !ct; where %1, %x, %3 !ct"
    (rule,) = [r for r in BOUNDS_AND_WHERE if r.name == "bounded"]
    check_rewrite(text(many, before), text(many, "clip %x, -1.5, 1.5 !ct"), [rule])


LOSSES = {
    0.25: lambda x: np.where(np.abs(x) <= 0.25, 0.5 * x**2, 0.25 * (np.abs(x) - 0.125)),
    1.0: lambda x: np.where(np.abs(x) < 1.0, 0.5 * x * x, np.abs(x) - 0.5),
    3.0: lambda x: np.where(np.abs(x) > 3.0, 6.0 * np.abs(x) - 9.0, x**2),
    0.1: lambda x: np.where(np.abs(x) < 0.1, x**2 / 0.2, np.abs(x) - 0.05),
}


@pytest.mark.parametrize("k", LOSSES)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_robust_losses_at_every_number(k, dtype):
    """Signs of zeros, nan and infinities are those of the selection; the largest number overflows in neither."""
    top = np.finfo(dtype).max
    x = np.concatenate([[0.0, -0.0, np.inf, -np.inf, np.nan, top, -top, k, -k, 1e-30], np.linspace(-4, 4, 99)])
    x = x.astype(dtype)
    loss = LOSSES[k]
    found, wanted = tapec.compile(loss)(x), loss(x)
    assert found.dtype == wanted.dtype and np.array_equal(np.signbit(found), np.signbit(wanted))
    np.testing.assert_allclose(found, wanted, rtol=8 * np.finfo(dtype).eps)
    assert not calls(tapec.compile(loss).source(x), "np.where")


test_rule, test_each_rule_has_a_case = table_tests(CASES, BOUNDS_AND_WHERE)


def test_the_slope_of_hubers_loss_is_the_clipped_residual():
    def loss(r):
        a = np.abs(r)
        return np.mean(np.where(a <= 1.5, 0.5 * r**2, 1.5 * (a - 0.75)))

    r = np.array([-np.inf, -4.0, -1.5, -1.0, 0.0, 0.3, 1.5, 2.0, np.inf, np.nan] * 10)
    gradient = tapec.grad(loss)
    np.testing.assert_allclose(gradient(r), np.clip(r, -1.5, 1.5) / len(r), rtol=1e-15)
    source = gradient.source(r)
    assert has(source, "r.clip(-1.5, 1.5)") and not calls(source, "where")


def test_hubers_loss_and_slope_share_the_clipped_residual():
    def loss(r, s):
        a = np.abs(r - s)
        return np.sum(np.where(a <= 1.5, 0.5 * (r - s) ** 2, 1.5 * (a - 0.75)))

    r, s = np.linspace(-4.0, 4.0, 5001), np.zeros(5001)
    both = tapec.value_and_grad(loss)
    value, slope = both(r, s)
    np.testing.assert_allclose(value, loss(r, s), rtol=1e-13)
    np.testing.assert_array_equal(slope, np.clip(r, -1.5, 1.5))
    source = both.source(r, s)
    assert call_count(source, ".clip") == 1 and not calls(source, "where")


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.5, -1.5, 1e-200, 1e200])
def test_hubers_loss_of_special_numbers(special):
    def loss(r):
        a = np.abs(r)
        return np.where(a <= 1.5, 0.5 * r * r, 1.5 * a - 1.125)

    r = np.full(64, special)
    with np.errstate(all="ignore"):
        got, wanted = tapec.compile(loss)(r), loss(r)
    np.testing.assert_allclose(got, wanted, rtol=1e-15)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))
