"""Constant factors and matrix products: each rule where it fires and where it must not."""

import pytest

from tapec.passes.rules import PRODUCTS
from tests.passes.support import Case, check_case, check_table

X = (
    "%x: f64[240,160], %u: f64[2,240], %v: f64[160,2], %w: f64[160,240], %r: f64[240,2], %l: f64[2,160], "
    "%p: f64[8,6], %q: f64[6,2]"
)
SCALED = "multiply %x, 3.0 !ct"
T = "transpose %0 {axes=(1, 0)} !ct"
XT = "transpose %x {axes=(1, 0)} !ct"

CASES = {
    "factor-out-of-product": Case(
        X,
        [(f"{SCALED}; matmul %0, %v !ct", "matmul %x, %v !ct; multiply %0, 3.0 !ct")],
        [
            "multiply %x, 3.0; matmul %0, %v",
            f"{SCALED}; matmul %0, %w !ct",  # the product is bigger
            "multiply %p, 3.0 !ct; matmul %0, %q !ct",  # a call more costs more than it saves
            "multiply %x, 1e200 !ct; matmul %0, %v !ct",
            "multiply %x, %x !ct; matmul %0, %v !ct",
        ],
    ),
    "factor-out-of-product-right": Case(
        X,
        [(f"{SCALED}; matmul %u, %0 !ct", "matmul %u, %x !ct; multiply %0, 3.0 !ct")],
        ["multiply %x, 3.0; matmul %u, %0", "multiply %x, inf !ct; matmul %u, %0 !ct"],
    ),
    "factor-out-of-transposed-product": Case(
        X,
        [(f"{SCALED}; {T}; matmul %1, %r !ct", f"{XT}; matmul %0, %r !ct; multiply %1, 3.0 !ct")],
        [
            "multiply %x, 3.0; transpose %0 {axes=(1, 0)}; matmul %1, %r",
            "multiply %r, 3.0 !ct; transpose %0 {axes=(1, 0)} !ct; matmul %1, %x !ct",
        ],
    ),
    "factor-out-of-transposed-product-right": Case(
        X,
        [(f"{SCALED}; {T}; matmul %l, %1 !ct", f"{XT}; matmul %l, %0 !ct; multiply %1, 3.0 !ct")],
        ["multiply %x, 3.0; transpose %0 {axes=(1, 0)}; matmul %l, %1"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rule(name):
    check_case(name, CASES[name], PRODUCTS)


def test_each_rule_has_a_case():
    check_table(CASES, PRODUCTS)
