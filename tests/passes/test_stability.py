"""Stability: each rule where it fires and where it must not; and the digits that it saves."""

import numpy as np
import pytest

from tapec.ir import interpret, parse
from tapec.passes.rewrite import RuleSet
from tapec.passes.rules import STABILITY
from tests.passes.support import Case, table_tests, text

X = "%x: f64[3], %y: f64[3]"

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
}


test_rule, test_each_rule_has_a_case = table_tests(CASES, STABILITY)


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
    (before,), (after,) = interpret(graph, x), interpret(RuleSet("", STABILITY)(graph), x)
    assert np.allclose(after, exact(x), rtol=1e-15, atol=0)
    assert not np.allclose(before, exact(x), rtol=1e-7, atol=0)
