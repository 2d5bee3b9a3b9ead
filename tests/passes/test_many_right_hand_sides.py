"""Systems with one matrix and many right-hand sides, in a gradient."""

import numpy as np

import tapec
from tapec.passes.rules import MANY_RIGHT_HAND_SIDES
from tests.passes.support import Case, check_regular_case, table_tests

X = "%a: f64[4,4], %b: f64[4,8], %c: f64[4,7], %v: f64[4], %s: f64[3,4,4], %l: f64[20,20], %m: f64[20,90], %f: f32[4,8]"
T = "transpose %a {axes=(1, 0)} !ct"

CASES = {
    "many-solutions": Case(
        X,
        [
            ("solve %a, %b !ct", "inv %a !ct; matmul %0, %b !ct"),
            (
                f"{T}; solve %0, %b !ct",
                "inv %a !ct; transpose %0 {axes=(1, 0)} !ct; matmul %1, %b !ct",
            ),
        ],
        [
            "solve %a, %b",  # the user's own
            "solve %a, %c !ct",
            "solve %a, %v !ct",
            "solve %s, %b !ct",
            "solve %a, %f !ct",
            "tril %l {k=0} !ct; solve %0, %m !ct",  # by blocks
            "tril %l {k=0} !ct; transpose %0 {axes=(1, 0)} !ct; solve %1, %m !ct",
        ],
    ),
}


test_rule, test_each_rule_has_a_case = table_tests(CASES, MANY_RIGHT_HAND_SIDES, check_regular_case)


def test_one_factorisation_for_many_adjoint_systems():
    rng = np.random.default_rng(0)
    a, b, g = rng.standard_normal((5, 5)) + 5.0 * np.eye(5), rng.standard_normal((5, 40)), rng.standard_normal((5, 40))
    f = tapec.grad(lambda a, b: np.sum(np.linalg.solve(a, b) * g), argnums=(0, 1))
    d_a, d_b = f(a, b)
    adjoint = np.linalg.solve(a.T, g)
    np.testing.assert_allclose(d_b, adjoint, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(d_a, -adjoint @ np.linalg.solve(a, b).T, rtol=1e-12, atol=1e-12)
    assert [n.op.name for n in f.ir(a, b).nodes].count("inv") == 1
