"""Fast math: each rule where it fires and where it must not, and only when asked for."""

import pytest

import tapec
from tapec.passes.rules import FAST_MATH
from tapec.testing import check_unchanged
from tests.passes.support import Case, check_case, check_table, text

X = "%x: f64[3], %y: f64[3], %z: f64[3]"
ZEROS, ONES = [f"full {{shape=(3,), value={v}, dtype=f64}}" for v in ("0.0", "1.0")]

CASES = {
    "fast-plus-zero": Case(X, [("add %x, 0.0", "%x")], ["add %x, 1.0"]),
    "fast-times-zero": Case(X, [("multiply %x, 0.0", ZEROS)], ["multiply %x, 1.0"], [("%n: i64[3]", "multiply %n, 0")]),
    "fast-minus-itself": Case(X, [("subtract %x, %x", ZEROS)], ["subtract %x, %y"]),
    "fast-over-itself": Case(X, [("divide %x, %x", ONES)], ["divide %x, %y"]),
    "fast-over-number": Case(
        X, [("divide %x, 3.0", "multiply %x, 0.3333333333333333")], ["divide %x, 0.0", "divide 3.0, %x"]
    ),
    "fast-factors-gathered": Case(
        X, [("multiply %x, 3.0; multiply %0, 5.0", "multiply %x, 15.0")], ["multiply %x, 3.0; multiply %0, %y"]
    ),
    "fast-sums-gathered": Case(X, [("add %x, 3.0; add %0, 5.0", "add %x, 8.0")], ["add %x, 3.0; add %0, %y"]),
    "fast-common-factor": Case(
        X,
        [("multiply %x, %z; multiply %y, %z; add %0, %1", "add %x, %y; multiply %0, %z")],
        ["multiply %x, %z; multiply %y, %z; add %0, %1; return %0, %2", "multiply %x, %x; multiply %y, %z; add %0, %1"],
    ),
    "fast-log-of-exp": Case(X, [("exp %x; log %0", "%x")], ["exp %x; sqrt %0"]),
    "fast-exp-of-log": Case(X, [("log %x; exp %0", "%x")], ["log %x; sqrt %0"]),
    "fast-product-of-exps": Case(
        X,
        [("exp %x; exp %y; multiply %0, %1", "add %x, %y; exp %0")],
        ["exp %x; exp %y; multiply %0, %1; return %1, %2"],
    ),
    "fast-root-squared": Case(X, [("sqrt %x; multiply %0, %0", "%x")], ["sqrt %x; multiply %0, %y"]),
    "fast-root-of-square": Case(X, [("multiply %x, %x; sqrt %0", "absolute %x")], ["multiply %x, %y; sqrt %0"]),
    "fast-power-half": Case(X, [("power %x, 0.5", "sqrt %x")], ["power %x, 0.25"]),
}


@pytest.mark.parametrize("name", CASES)
def test_rule(name):
    with tapec.settings(fast_math=True):
        check_case(name, CASES[name], FAST_MATH)


@pytest.mark.parametrize("name", CASES)
def test_not_without_being_asked(name):
    check_unchanged(text(X, CASES[name].fires[0][0]), FAST_MATH)


def test_each_rule_has_a_case():
    check_table(CASES, FAST_MATH)
