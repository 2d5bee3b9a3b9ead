"""Common factors among cotangents."""

import numpy as np
import pytest

from tapec.ir import interpret, parse
from tapec.passes.engine.rewrite import RuleSet
from tapec.passes.rules import COMMON_FACTORS
from tapec.testing import check_rewrite, check_unchanged
from tests.passes.support import text

X = "%x: f64[3], %y: f64[3], %m: f64[2,3], %h: f16[3]"
SQUARES = "multiply %y, %y; exp %y; "  # %0 and %1, neither of which is ever negative
FIRES = {
    "two products": (
        SQUARES + "multiply %x, %0 !ct; multiply %1, %x !ct; add %2, %3 !ct",
        SQUARES + "add %0, %1 !ct; multiply %x, %2 !ct",
    ),
    "itself": (
        SQUARES + "multiply %x, %0 !ct; add %2, %x !ct",
        "multiply %y, %y; add %0, 1.0 !ct; multiply %x, %1 !ct",
    ),
    "with numbers": (
        SQUARES + "multiply %x, %0 !ct; multiply %2, 0.5 !ct; multiply %x, 3.0 !ct; add %4, %3 !ct",
        "multiply %y, %y; multiply %0, 0.5 !ct; add 3.0, %1 !ct; multiply %x, %2 !ct",
    ),
    "numbers alone": (
        "multiply %x, 3.0 !ct; multiply 2.0, %x !ct; add %0, %1 !ct",
        "multiply %x, 5.0 !ct",
    ),
    "a multiple and itself": ("multiply %x, 3.0 !ct; add %x, %0 !ct", "multiply %x, 4.0 !ct"),
    "a shared multiple": (
        "multiply %x, 3.0 !ct; add %x, %0 !ct; return %0, %1",
        "multiply %x, 3.0 !ct; multiply %x, 4.0 !ct; return %0, %1",
    ),
    "both negative": (
        "multiply %x, -3.0 !ct; multiply %x, -2 !ct; add %0, %1 !ct",
        "multiply %x, -5.0 !ct",
    ),
    "bigger others": (
        "multiply %m, %m; exp %m; multiply %x, %0 !ct; multiply %x, %1 !ct; add %2, %3 !ct",
        "multiply %m, %m; exp %m; add %0, %1 !ct; multiply %x, %2 !ct",
    ),
}
STAYS = {
    "forward": SQUARES + "multiply %x, %0; multiply %x, %1; add %2, %3",
    "a forward product": SQUARES + "multiply %x, %0; multiply %x, %1 !ct; add %2, %3 !ct",
    "unknown sign": "exp %y; multiply %x, %0 !ct; multiply %x, %y !ct; add %1, %2 !ct",
    "numbers of two signs": "multiply %x, 3.0 !ct; multiply %x, -2.0 !ct; add %0, %1 !ct",  # inf - inf is nan
    "a number and a sign": "multiply %x, -1.5 !ct; add %0, %x !ct",
    "a shared product": SQUARES + "multiply %x, %0 !ct; multiply %x, %1 !ct; add %2, %3 !ct; return %2, %4",
    "no common factor": SQUARES + "multiply %x, %0 !ct; multiply %y, %1 !ct; add %2, %3 !ct",
    "a huge number": "multiply %x, 1e200 !ct; add %0, %x !ct",
    "a short dtype": "multiply %h, 3.0 !ct; add %0, %h !ct",
    "a difference": SQUARES + "multiply %x, %0 !ct; multiply %x, %1 !ct; subtract %2, %3 !ct",
}


@pytest.mark.parametrize("name", FIRES)
def test_it_fires(name):
    before, after = FIRES[name]
    assert check_rewrite(text(X, before), text(X, after), COMMON_FACTORS) == {"common-factor": 1}


@pytest.mark.parametrize("name", STAYS)
def test_it_stays_away(name):
    check_unchanged(text(X, STAYS[name]), COMMON_FACTORS)


BIG = "%x: f64[20,30], %v: f64[30], %w: f64[30], %c: f64[20,1], %d: f64[20,1], %z: f64[20,30], %m: f64[2,20,30]"
PRODUCTS = "multiply %x, %v !ct; multiply %w, %x !ct; "


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (PRODUCTS + "add %0, %1 !ct", "add %v, %w !ct; multiply %x, %0 !ct"),
        (PRODUCTS + "subtract %0, %1 !ct", "multiply %w, -1.0 !ct; add %v, %0 !ct; multiply %x, %1 !ct"),
        (  # outer products
            "multiply %c, %v !ct; negative %v !ct; multiply %d, %1 !ct; add %0, %2 !ct",
            "multiply %d, -1.0 !ct; add %c, %0 !ct; multiply %v, %1 !ct",
        ),
        (
            "multiply %x, %v !ct; multiply %0, 3.0 !ct; subtract %1, %x !ct",
            "multiply %v, 3.0 !ct; add %0, -1.0 !ct; multiply %x, %1 !ct",
        ),
    ],
)
def test_a_matrix_is_multiplied_once(before, after):
    assert check_rewrite(text(BIG, before), text(BIG, after), COMMON_FACTORS) == {"common-matrix": 1}


@pytest.mark.parametrize(
    "body",
    [
        "multiply %x, %v; multiply %w, %x; add %0, %1",
        "multiply %x, %v !ct; multiply %c, %x !ct; add %0, %1 !ct",  # together as large as x
        "multiply %x, %v !ct; multiply %x, %z !ct; add %0, %1 !ct",
        "multiply %x, %v !ct; multiply %w, %z !ct; add %0, %1 !ct",
        PRODUCTS + "add %0, %1 !ct; return %0, %2",
        "multiply %x, 3.0 !ct; multiply %x, -2.0 !ct; add %0, %1 !ct",
    ],
)
def test_a_matrix_stays_where_nothing_is_saved(body):
    check_unchanged(text(BIG, body), [rule for rule in COMMON_FACTORS if rule.name != "common-array"])


def test_these_are_the_rules():
    assert [rule.name for rule in COMMON_FACTORS] == ["common-factor", "common-matrix", "common-array"]


def test_numbers_that_the_user_put_in():
    """The slope of `(0.5 * r) * r` is r, not two halves."""
    once = "multiply %x, 0.5; multiply %0, 0.1 !ct; multiply %x, 0.05 !ct; add %1, %2 !ct"
    assert [n.op.name for n in RuleSet("", COMMON_FACTORS)(parse(text(X, once))).nodes if n.inputs] == ["multiply"]
    far = once.replace("0.5;", "1e300;")
    check_unchanged(text(X, far), COMMON_FACTORS)
    twice = "add %x, 0.5; multiply %0, 0.1 !ct; multiply %x, 0.05 !ct; add %1, %2 !ct"
    check_unchanged(text(X, twice), COMMON_FACTORS)


def test_the_slope_of_gelu():
    """d * k + d * (3 * u * u) * j, where hand-written code has d * (k + 3 * j * u * u)."""
    body = "multiply %y, %y; multiply %x, 0.8 !ct; multiply %x, %0 !ct; multiply %2, 0.1 !ct; add %1, %3 !ct"
    graph = parse(text(X, body))
    after = RuleSet("", COMMON_FACTORS)(graph)
    assert [n.op.name for n in after.nodes if n.inputs] == ["multiply", "multiply", "add", "multiply"]
    values = [np.array([0.5, -1.0, 2.0]), np.array([1.0, np.inf, np.nan]), np.ones((2, 3)), np.ones(3, np.float16)]
    assert np.allclose(interpret(graph, *values), interpret(after, *values), equal_nan=True)


LONG = "%x: f64[300], %y: f64[300], %z: f64[300], %s: f64[], %q: f64[], %r: f64[20,300], %f: f32[300], %w: f64[20,300]"
ARRAYS = [
    (
        "multiply %x, %y !ct; multiply %z, %x !ct; subtract %0, %1 !ct",
        "subtract %y, %z !ct; multiply %x, %0 !ct",
    ),
    (
        "multiply %x, %s !ct; multiply %0, %y !ct; multiply %1, %q !ct; multiply %2, 3.0 !ct; add %0, %3 !ct",
        "multiply %x, %s !ct; multiply 3.0, %q !ct; multiply %1, %y !ct; add 1.0, %2 !ct; multiply %0, %3 !ct",
    ),
    (
        "multiply %x, %y !ct; multiply %0, %s !ct; multiply %z, %x !ct; add %1, %2 !ct",
        "multiply %s, %y !ct; add %0, %z !ct; multiply %x, %1 !ct",
    ),
    (
        "multiply %x, %y !ct; multiply %x, %s !ct; multiply %0, -2.0 !ct; add %2, %1 !ct",
        "multiply -2.0, %y !ct; add %0, %s !ct; multiply %x, %1 !ct",
    ),
]
APART = [
    "multiply %x, %y; multiply %z, %x; subtract %0, %1",  # the user's own
    "multiply %x, %y !ct; multiply %z, %x !ct; subtract %0, %1 !ct; return %0, %2",
    "multiply %x, %y !ct; add %0, %x !ct",  # as much work
    "multiply %x, %s !ct; multiply %0, %y !ct; multiply %1, 3.0 !ct; add %0, %2 !ct",
    "multiply %x, %y !ct; multiply %z, %z !ct; add %0, %1 !ct",
    "multiply %w, %z !ct; multiply %r, %z !ct; add %0, %1 !ct",  # what is common is small
    "multiply %x, %y !ct; multiply %x, %z !ct; multiply %1, 1e300 !ct; add %0, %2 !ct",
    "multiply %x, %y !ct; multiply %f, %x !ct; add %0, %1 !ct",
]


@pytest.mark.parametrize("before, after", ARRAYS)
def test_an_array_is_multiplied_once(before, after):
    assert check_rewrite(text(LONG, before), text(LONG, after), COMMON_FACTORS) == {"common-array": 1}


@pytest.mark.parametrize("body", [*APART, ARRAYS[0][0].replace("%y", "%x").replace("%z", "%x")])
def test_arrays_that_stay(body):
    check_unchanged(text(LONG, body), COMMON_FACTORS)


def test_few_elements_stay():
    check_unchanged(text(X, "multiply %x, %y !ct; multiply %x, %x !ct; subtract %0, %1 !ct"), COMMON_FACTORS)
