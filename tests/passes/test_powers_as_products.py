"""Powers: each rule where it fires and where it must not."""

import operator

import pytest

from tapec.ir import OPS
from tapec.passes.rules import POWERS_AS_PRODUCTS
from tests.passes.support import Case, check_case, table_tests

X = "%x: f64[3], %y: f64[3]"
SCALAR = "%x: f64[]"
INT = "%n: i64[3]"
NONNEGATIVE = "multiply %x, %x; "

CASES = {
    "power-0": Case(
        X, [("power %x, 0.0", "full {shape=(3,), value=1.0, dtype=f64}")], ["power 0.0, %x"], [(INT, "power %n, 0")]
    ),
    "power-1": Case(X, [("power %x, 1.0", "%x"), ("power %x, 1", "%x")], ["power %x, %y"], [(INT, "power %n, 1.0")]),
    "power-product": Case(
        X,
        [
            ("power %x, 2", "multiply %x, %x"),
            ("power %x, 3.0", "multiply %x, %x; multiply %0, %x"),
            ("power %x, 4", "multiply %x, %x; multiply %0, %0"),
            ("power %x, 5", "multiply %x, %x; multiply %0, %0; multiply %1, %x"),
            ("power %x, 12.0", "multiply %x, %x; multiply %0, %0; multiply %1, %1; multiply %2, %1"),
        ],
        ["power %x, 2.5", "power %x, 13", "power %x, inf", "power %x, nan", "power 2.0, %x"],
        [(INT, "power %n, 3"), ("%z: c128[3]", "power %z, 2"), (SCALAR, "power %x, 5")],
    ),
    "integer-power-2": Case(INT, [("power %n, 2", "multiply %n, %n")], ["power %n, 3"], [(X, "power %x, 2")]),
    "power-minus-1": Case(
        X,
        [("power %x, -1.0", "divide 1.0, %x")],
        ["power -1.0, %x"],
        [("%h: f32[3]", "constant {value=-1.0}; power %h, %0")],
    ),
    "power-minus-product": Case(
        X,
        [
            ("power %x, -2.0", "divide 1.0, %x; multiply %0, %0"),
            ("power %x, -3", "divide 1.0, %x; multiply %0, %0; multiply %1, %0"),
        ],
        ["power %x, -2.5", "power %x, -13", "power %x, -inf"],
    ),
    "power-half": Case(
        X,
        [("power %x, 0.5", "sqrt %x")],
        ["power %x, 0.25", "full {shape=(3,), value=0.5, dtype=f64}; power %x, %0"],
        [(SCALAR, "power %x, 0.5")],  # (-inf) ** 0.5 is inf, and (-0.0) ** 0.5 is 0.0
    ),
    "power-minus-half": Case(
        X, [(NONNEGATIVE + "power %0, -0.5", NONNEGATIVE + "sqrt %0; divide 1.0, %1")], ["power %x, -0.5"]
    ),
    "power-3-halves": Case(
        X, [(NONNEGATIVE + "power %0, 1.5", NONNEGATIVE + "sqrt %0; multiply %0, %1")], ["power %x, 1.5"]
    ),
    "norm": Case(
        "%x: f64[3,4], %h: f16[3], %z: c128[3]",
        [
            (
                "norm %x {ord=2.0, axis=(1,), keepdims=True}",
                "multiply %x, %x; sum %0 {axis=(1,), keepdims=True}; sqrt %1",
            ),
            (
                "norm %x {ord=2.0, axis=(0, 1), keepdims=False}",
                "multiply %x, %x; sum %0 {axis=(0, 1), keepdims=False}; sqrt %1",
            ),
        ],
        [
            "norm %x {ord=3.0, axis=(1,), keepdims=True}",
            "norm %h {ord=2.0, axis=(0,), keepdims=False}",  # squares of half precision overflow soon
            "norm %z {ord=2.0, axis=(0,), keepdims=False}",
        ],
    ),
}


@pytest.fixture(autouse=True)
def powers_as_generated_code_writes_them(monkeypatch):
    """As `x ** y`: until NumPy 2.2, np.power(x, 0.5) is no root at -inf and -0.0, and x ** 0.5 is."""
    monkeypatch.setattr(OPS["power"], "run", operator.pow)


test_rule, test_each_rule_has_a_case = table_tests(CASES, POWERS_AS_PRODUCTS)


def test_the_root_of_a_scalar_that_is_known_not_to_be_negative():
    inputs = ["exp %x; power %0, 0.5"]
    case = Case(SCALAR, [(inputs[0], "exp %x; sqrt %0")])
    check_case("power-half", case, POWERS_AS_PRODUCTS)
