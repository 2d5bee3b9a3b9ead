"""Chains of matrix products in the order that is least work."""

import numpy as np

import tapec
from tapec.passes.rules import CHAINS, LINES_ADDED
from tests.passes.support import Case, table_tests

X = "%a: f64[4,4], %b: f64[4,20], %c: f64[20,4], %d: f64[20,20], %u: f64[20], %v: f64[4], %s: f64[2,4], %t: f64[2,4,4]"
AB = "matmul %a, %b !ct"
T = "transpose %0 {axes=(1, 0)} !ct"
GRAM = "transpose %b {axes=(1, 0)} !ct; matmul %b, %0 !ct; matmul %a, %1 !ct; transpose %a {axes=(1, 0)} !ct"
SUM = "sum {} {{axis=({},), keepdims={}}} !ct".format

CASES = {
    "product-from-right": Case(
        X,
        [
            (f"{AB}; matmul %0, %c !ct", "matmul %b, %c !ct; matmul %a, %0 !ct"),
            (f"{AB}; matmul %0, %u !ct", "matmul %b, %u !ct; matmul %a, %0 !ct"),
        ],
        [
            "matmul %a, %b; matmul %0, %c",  # the user's own
            f"{AB}; matmul %0, %c !ct; return %0, %1",
            f"{AB}; matmul %0, %d !ct",  # less as it is
            "matmul %v, %b !ct; matmul %0, %u !ct",
            "matmul %a, %t !ct; matmul %0, %b !ct",
        ],
    ),
    "product-from-left": Case(
        X,
        [
            ("matmul %b, %d !ct; matmul %v, %0 !ct", "matmul %v, %b !ct; matmul %0, %d !ct"),
            ("matmul %b, %d !ct; matmul %s, %0 !ct", "matmul %s, %b !ct; matmul %0, %d !ct"),
        ],
        [
            "matmul %b, %d; matmul %v, %0",
            "matmul %b, %d !ct; matmul %v, %0 !ct; return %0, %1",
            "matmul %b, %c !ct; matmul %a, %0 !ct",
        ],
    ),
    "product-with-itself": Case(
        X,
        [(f"{AB}; {T}; matmul %0, %1 !ct", f"{GRAM}; matmul %2, %3 !ct")],
        [
            "matmul %a, %b; transpose %0 {axes=(1, 0)}; matmul %0, %1",
            f"{AB}; {T}; matmul %0, %1 !ct; return %0, %2",
            f"{AB}; transpose %0 {{axes=(0, 1)}} !ct; matmul %1, %c !ct",
            "matmul %c, %b !ct; transpose %0 {axes=(1, 0)} !ct; matmul %0, %1 !ct",
        ],
    ),
    "sum-of-lines": Case(
        X,
        [
            (f"{AB}; {SUM('%0', 1, False)}", f"{SUM('%b', 1, False)}; matmul %a, %0 !ct"),
            (f"{AB}; {SUM('%0', 0, False)}", f"{SUM('%a', 0, False)}; matmul %0, %b !ct"),
            (
                f"{AB}; {SUM('%0', 0, True)}",
                f"{SUM('%a', 0, False)}; matmul %0, %b !ct; reshape %1 {{shape=(1, 20)}} !ct",
            ),
            (
                f"{AB}; {SUM('%0', 1, False)}; return %0, %1",
                f"{AB}; {SUM('%b', 1, False)}; matmul %a, %1 !ct; return %0, %2",
            ),
        ],
        [
            "matmul %a, %b; sum %0 {axis=(1,), keepdims=False}",
            f"{AB}; {SUM('%0', 0, False)}; return %0, %1",  # it is there, and no larger than what would be added up
            f"{AB}; sum %0 {{axis=(0, 1), keepdims=False}} !ct",
            f"matmul %a, %u !ct; {SUM('%0', 0, False)}".replace("%a, %u", "%d, %u"),
        ],
    ),
}


test_rule, test_each_rule_has_a_case = table_tests(CASES, (*CHAINS, *LINES_ADDED))


def test_the_gradient_of_distances_multiplies_by_the_inverse_once():
    rng = np.random.default_rng(0)
    a, x, mu = 0.2 * rng.standard_normal((6, 6)) + np.eye(6), rng.standard_normal((500, 6)), rng.standard_normal(6)

    def loss(mu, a):
        z = np.linalg.solve(np.linalg.cholesky(a @ a.T), (x - mu).T)
        return 0.5 * np.sum(z * z)

    f = tapec.grad(loss, argnums=(0, 1))
    d_mu, d_a = f(mu, a)
    inverse, r = np.linalg.inv(a @ a.T), x - mu
    np.testing.assert_allclose(d_mu, -(r @ inverse).sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(d_a, -inverse @ (r.T @ r) @ inverse @ a, rtol=1e-9, atol=1e-9)
    large = [n.op.name for n in f.ir(mu, a).nodes if n.op.name in ("matmul", "solve") and n.type.size > 36]
    assert large == ["matmul"]
