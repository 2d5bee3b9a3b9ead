"""Variance and standard deviation in parts: each rule where it fires and where it must not."""

import numpy as np

import tapec
from tapec.passes.rules import VARIANCES
from tests.passes.support import Case, table_tests
from tests.properties import call_count, count_of

X = "%x: f64[4,3], %h: f16[4,3], %z: c128[4,3], %e: f64[0,3]"
PLAIN = "{axis=(0,), keepdims=False, ddof=0}"

CASES = {
    "std-in-parts": Case(
        X,
        [(f"std %x {PLAIN}", f"var %x {PLAIN}; sqrt %0")],
        [f"std %h {PLAIN}", f"std %z {PLAIN}", f"std %e {PLAIN}", "std %x {axis=(0,), keepdims=False, ddof=4}"],
    ),
    "var-in-parts": Case(
        X,
        [
            (
                f"var %x {PLAIN}",
                "mean %x {axis=(0,), keepdims=True}; subtract %x, %0; multiply %1, %1; "
                "mean %2 {axis=(0,), keepdims=False}",
            ),
            (
                "var %x {axis=(0, 1), keepdims=True, ddof=1}",
                "mean %x {axis=(0, 1), keepdims=True}; subtract %x, %0; multiply %1, %1; "
                "sum %2 {axis=(0, 1), keepdims=True}; divide %3, 11",
            ),
        ],
        [f"var %h {PLAIN}", f"var %z {PLAIN}", f"var %e {PLAIN}", "var %x {axis=(0,), keepdims=False, ddof=5}"],
    ),
}


test_rule, test_each_rule_has_a_case = table_tests(CASES, VARIANCES)


def test_a_gradient_shares_the_parts():
    f = tapec.value_and_grad(lambda x: np.sum(x / np.std(x, axis=1, keepdims=True)) + np.sum(np.var(x, axis=1)))
    x = np.random.default_rng(0).normal(size=(50, 40))
    f(x)
    source = f.source(x)
    assert not call_count(source, "var", "std") and count_of(source, "x - _") == 1
    tapec.check_grads(lambda x: np.sum(np.std(x, axis=0) * np.var(x, ddof=1)), (x[:5, :4],))
