"""Small matrices that are put together element by element."""

import numpy as np

import tapec
from tapec.passes.rules import SMALL_MATRICES
from tests.passes.support import Case, table_tests

X = "%a: f64[], %b: f64[1,1], %c: f64[], %m: f64[2,3], %r: f64[1,3]"
A = "scatter %a {shape=(2, 3), index=(0, 0)} !ct"
B = "scatter %b {shape=(2, 3), index=(1:2, -2:-1)} !ct"
C = "scatter %c {shape=(2, 3), index=(1, 1)} !ct"

CASES = {
    "matrix-of-single-elements": Case(
        X,
        [
            (
                f"{A}; {B}; add %0, %1 !ct",
                "reshape %b {shape=()} !ct; stack %a, 0.0, 0.0, 0.0, %0, 0.0 {axis=0} !ct; "
                "reshape %1 {shape=(2, 3)} !ct",
            ),
            (
                f"{A}; {B}; {C}; subtract %1, %2 !ct; subtract %0, %3 !ct",
                "reshape %b {shape=()} !ct; subtract %c, %0 !ct; stack %a, 0.0, 0.0, 0.0, %1, 0.0 {axis=0} !ct; "
                "reshape %2 {shape=(2, 3)} !ct",
            ),
            (
                f"stack %a, 0.0, 0.0, 0.0, 0.0, %c {{axis=0}} !ct; reshape %0 {{shape=(2, 3)}} !ct; {C}; "
                "add %1, %2 !ct",
                "stack %a, 0.0, 0.0, 0.0, %c, %c {axis=0} !ct; reshape %0 {shape=(2, 3)} !ct",
            ),
        ],
        [
            f"{A}; {B}; add %0, %1",  # the user's own
            f"{A}; add %0, %m !ct",  # something else beside it
            "scatter %r {shape=(2, 3), index=(0:1,)} !ct; scatter %a {shape=(2, 3), index=(1, 1)} !ct; add %0, %1 !ct",
            "scatter %a {shape=(3,), index=(0,)} !ct; scatter %c {shape=(3,), index=(1,)} !ct; add %0, %1 !ct",
            "scatter %a {shape=(5, 5), index=(0, 0)} !ct; scatter %c {shape=(5, 5), index=(1, 1)} !ct; add %0, %1 !ct",
        ],
    ),
}


test_rule, test_each_rule_has_a_case = table_tests(CASES, SMALL_MATRICES)


def test_a_hessian_of_few_numbers_is_one_array():
    t = np.linspace(0.0, 1.0, 50)
    f = tapec.hessian(lambda p: np.sum(np.exp(p[0] * t) * (p[1] + p[2] * t)))
    p = np.array([0.3, 2.0, -1.0])
    e = np.exp(p[0] * t)
    h01, h02 = np.sum(t * e), np.sum(t * t * e)
    h00 = np.sum(t * t * e * (p[1] + p[2] * t))
    np.testing.assert_allclose(f(p), [[h00, h01, h02], [h01, 0.0, 0.0], [h02, 0.0, 0.0]], rtol=1e-12)
    assert not [n for n in f.ir(p).nodes if n.op.name == "scatter"]
