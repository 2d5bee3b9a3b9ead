"""Selections: two that are one, and slopes that are clipped values."""

import numpy as np

import tapec
from tapec.passes.rules import SELECTIONS
from tests.passes.support import Case, table_tests

X = "%c: bool[3], %d: bool[3], %a: f64[3], %b: f64[3], %x: f64[3], %s: f64[], %y: f64[3]"
NEAR = "absolute %x; less_equal %0, 1.5; sign %x"
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
                "maximum %x, -1.5 !ct; minimum %0, 1.5 !ct",
            ),
            (
                f"{NEAR}; multiply %2, 3.0 !ct; multiply %x, 2.0 !ct; where %1, %4, %3 !ct",
                "maximum %x, -1.5 !ct; minimum %0, 1.5 !ct; multiply %1, 2.0 !ct",
            ),
            (
                "absolute %x; less %0, 1.0; sign %x; where %1, %x, %2 !ct",
                "maximum %x, -1.0 !ct; minimum %0, 1.0 !ct",
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
}


test_rule, test_each_rule_has_a_case = table_tests(CASES, SELECTIONS)


def test_the_slope_of_hubers_loss_is_the_clipped_residual():
    def loss(r):
        a = np.abs(r)
        return np.mean(np.where(a <= 1.5, 0.5 * r**2, 1.5 * (a - 0.75)))

    r = np.array([-np.inf, -4.0, -1.5, -1.0, 0.0, 0.3, 1.5, 2.0, np.inf, np.nan] * 10)
    gradient = tapec.grad(loss)
    np.testing.assert_allclose(gradient(r), np.clip(r, -1.5, 1.5) / len(r), rtol=1e-15)
    assert "np.minimum(np.maximum(r, -1.5), 1.5)" in gradient.source(r)
    assert "where" not in gradient.source(r).split("#")[1]
