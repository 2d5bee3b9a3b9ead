"""Matrix products of a large factor with weighted rows or columns."""

import numpy as np

import tapec
from tapec.passes.rules import WEIGHTED_PRODUCTS
from tests.passes.support import Case, table_tests

X = (
    "%a: f64[80,70], %r: f64[70], %s: f64[1,70], %c: f64[80,1], %u: f64[70], %n: f64[70,2], %l: f64[80], "
    "%m: f64[2,80], %p: f64[80,2], %q: f64[2,70], %w: f64[70,60], %h: f32[70]"
)
ROW = "multiply %a, %r !ct"
COLUMN = "multiply %c, %a !ct"
T = "transpose %0 {axes=(1, 0)} !ct"
AT = "transpose %a {axes=(1, 0)} !ct"
AS_COLUMN = "reshape %r {shape=(70, 1)} !ct"
FLAT = "reshape %c {shape=(80,)} !ct"
SMALL = [("%a: f64[8,7], %r: f64[7], %u: f64[7]", f"{ROW}; matmul %0, %u !ct")]

CASES = {
    "weighted-times": Case(
        X,
        [
            (f"{ROW}; matmul %0, %u !ct", "multiply %r, %u !ct; matmul %a, %0 !ct"),
            (f"{ROW}; matmul %0, %n !ct", f"{AS_COLUMN}; multiply %0, %n !ct; matmul %a, %1 !ct"),
            (
                "multiply %s, %a !ct; matmul %0, %u !ct",
                "reshape %s {shape=(70,)} !ct; multiply %0, %u !ct; matmul %a, %1 !ct",
            ),
            (f"{COLUMN}; matmul %0, %u !ct", f"{FLAT}; matmul %a, %u !ct; multiply %0, %1 !ct"),
            (
                f"{COLUMN}; matmul %0, %n !ct",
                "matmul %a, %n !ct; multiply %c, %0 !ct",
            ),
        ],
        [
            "multiply %a, %r; matmul %0, %u",  # the user's own
            f"{ROW}; matmul %0, %u !ct; return %0, %1",
            f"{ROW}; matmul %0, %w !ct",  # as much to be weighted
            "multiply %a, 3.0 !ct; matmul %0, %u !ct",
            "multiply %a, %h !ct; matmul %0, %u !ct",  # its digits would meet those of the other factor first
        ],
        SMALL,
    ),
    "times-weighted": Case(
        X,
        [
            (f"{COLUMN}; matmul %l, %0 !ct", f"{FLAT}; multiply %l, %0 !ct; matmul %1, %a !ct"),
            (f"{COLUMN}; matmul %m, %0 !ct", f"{FLAT}; multiply %m, %0 !ct; matmul %1, %a !ct"),
            (f"{ROW}; matmul %m, %0 !ct", "matmul %m, %a !ct; multiply %0, %r !ct"),
        ],
        ["multiply %a, %r; matmul %m, %0", f"{ROW}; matmul %m, %0 !ct; return %0, %1"],
        [("%a: f64[8,7], %r: f64[7], %m: f64[2,8]", f"{ROW}; matmul %m, %0 !ct")],
    ),
    "weighted-transposed-times": Case(
        X,
        [
            (
                f"{ROW}; {T}; matmul %1, %p !ct",
                f"{AS_COLUMN}; {AT}; matmul %1, %p !ct; multiply %0, %2 !ct",
            ),
            (f"{COLUMN}; {T}; matmul %1, %l !ct", f"{AT}; {FLAT}; multiply %1, %l !ct; matmul %0, %2 !ct"),
        ],
        [
            f"{ROW}; transpose %0 {{axes=(0, 1)}} !ct; matmul %1, %u !ct",
            f"{ROW}; {T}; matmul %1, %p !ct; return %1, %2",
        ],
    ),
    "times-weighted-transposed": Case(
        X,
        [
            (f"{ROW}; {T}; matmul %q, %1 !ct", f"{AT}; multiply %q, %r !ct; matmul %1, %0 !ct"),
            (f"{COLUMN}; {T}; matmul %u, %1 !ct", f"{AT}; matmul %u, %0 !ct; {FLAT}; multiply %1, %2 !ct"),
        ],
        [f"{ROW}; {T}; matmul %q, %1; return %2", f"{ROW}; {T}; matmul %q, %1 !ct; return %0, %2"],
    ),
}


test_rule, test_each_rule_has_a_case = table_tests(CASES, WEIGHTED_PRODUCTS)


def test_a_tangent_of_weights_needs_no_matrix():
    rng = np.random.default_rng(0)
    t, w, v, d = rng.standard_normal((300, 200)), *rng.standard_normal((3, 200))
    f = tapec.compile(lambda w, d: tapec.jvp(lambda w: (t * w) @ v, (w,), (d,))[1])
    np.testing.assert_allclose(f(w, d), t @ (d * v), rtol=1e-12)
    assert not [n for n in f.ir(w, d).nodes if n.type.shape == t.shape and n.op.name != "input"]
