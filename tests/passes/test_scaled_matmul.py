"""Constant factors and matrix products: each rule where it fires and where it must not."""

import numpy as np

import tapec
from tapec.passes.rules import SCALED_MATMUL
from tests.passes.support import Case, table_tests
from tests.properties import count_of

X = (
    "%x: f64[240,160], %u: f64[2,240], %v: f64[160,2], %w: f64[160,240], %r: f64[240,2], %l: f64[2,160], "
    "%p: f64[8,6], %q: f64[6,2]"
)
SCALED = "multiply %x, 3.0 !ct"
T = "transpose %0 {axes=(1, 0)} !ct"
XT = "transpose %x {axes=(1, 0)} !ct"

O = "%u: f64[3], %v: f64[4], %w: f64[3], %b: f64[4,2], %a: f64[2,3], %x: f64[3,4], %s: f64[3,3]"
OUTER = "reshape %u {shape=(3, 1)} !ct; multiply %0, %v !ct"
SQUARE = "reshape %u {shape=(3, 1)} !ct; multiply %0, %w !ct"
NEGATIVE = "negative %x !ct"
TWO = f"{SQUARE}; reshape %w {{shape=(3, 1)}} !ct; multiply %2, %u !ct"
TRANSPOSED = "reshape %w {shape=(3, 1)} !ct; multiply %0, %u !ct; reshape %u {shape=(3, 1)} !ct; multiply %2, %w !ct"

KNOWN = "matmul %p, %q; multiply {}, 0.5 !ct; matmul {} !ct; return %0, %2".format
HALF_OF_KNOWN = "matmul %p, %q; multiply %0, 0.5 !ct; return %0, %1"

CASES = {
    "known-product-of-multiple": Case(
        X,
        [(KNOWN("%p", "%1, %q"), HALF_OF_KNOWN)],
        [
            KNOWN("%p", "%1, %q").replace(" !ct", ""),  # the user's own
            "multiply %p, 0.5 !ct; matmul %0, %q !ct",  # there is no such product
            "multiply %p, 0.5 !ct; matmul %0, %q !ct; matmul %p, %q; return %1, %2",  # not yet
            KNOWN("%p", "%1, %q").replace("0.5", "1e300"),
        ],
    ),
    "known-product-by-multiple": Case(
        X,
        [(KNOWN("%q", "%p, %1"), HALF_OF_KNOWN)],
        [KNOWN("%q", "%p, %1").replace(" !ct", ""), "multiply %q, 0.5 !ct; matmul %p, %0 !ct"],
    ),
    "product-with-column": Case(
        O,
        [
            (f"{OUTER}; matmul %1, %b !ct", "reshape %u {shape=(3, 1)} !ct; matmul %v, %b !ct; multiply %0, %1 !ct"),
            (f"{OUTER}; matmul %1, %v !ct", "matmul %v, %v !ct; multiply %u, %0 !ct"),
        ],
        ["reshape %u {shape=(3, 1)}; multiply %0, %v; matmul %1, %b", "multiply %x, %v !ct; matmul %0, %b !ct"],
    ),
    "product-with-row": Case(
        O,
        [
            (f"{OUTER}; matmul %a, %1 !ct", "matmul %a, %u !ct; reshape %0 {shape=(2, 1)} !ct; multiply %1, %v !ct"),
            (f"{OUTER}; matmul %w, %1 !ct", "matmul %w, %u !ct; multiply %0, %v !ct"),
        ],
        ["reshape %u {shape=(3, 1)}; multiply %0, %v; matmul %a, %1", "multiply %x, %v !ct; matmul %a, %0 !ct"],
    ),
    "transpose-of-outer": Case(
        O,
        [(f"{OUTER}; transpose %1 {{axes=(1, 0)}} !ct", "reshape %v {shape=(4, 1)} !ct; multiply %0, %u !ct")],
        ["multiply %x, %v !ct; transpose %0 {axes=(1, 0)} !ct", f"{OUTER}; transpose %1 {{axes=(0, 1)}} !ct"],
    ),
    "transpose-of-sum-of-outer": Case(
        O,
        [
            (
                f"{TWO}; add %1, %3 !ct; transpose %4 {{axes=(1, 0)}} !ct",
                f"{SQUARE}; transpose %1 {{axes=(1, 0)}} !ct; reshape %w {{shape=(3, 1)}} !ct; multiply %3, %u !ct; "
                "transpose %4 {axes=(1, 0)} !ct; add %2, %5 !ct",
            )
        ],
        [f"{SQUARE}; add %1, %s !ct; transpose %2 {{axes=(1, 0)}} !ct"],
    ),
    "transpose-of-difference-of-outer": Case(
        O,
        [
            (
                f"{TWO}; subtract %1, %3 !ct; transpose %4 {{axes=(1, 0)}} !ct",
                f"{SQUARE}; transpose %1 {{axes=(1, 0)}} !ct; reshape %w {{shape=(3, 1)}} !ct; multiply %3, %u !ct; "
                "transpose %4 {axes=(1, 0)} !ct; subtract %2, %5 !ct",
            )
        ],
        [f"{SQUARE}; subtract %1, %s !ct; transpose %2 {{axes=(1, 0)}} !ct"],
    ),
    "trace-of-outer": Case(
        O,
        [(f"{SQUARE}; trace %1 {{offset=0, axis1=0, axis2=1}} !ct", "matmul %u, %w !ct")],
        [
            f"{SQUARE}; trace %1 {{offset=1, axis1=0, axis2=1}} !ct",
            "trace %s {offset=0, axis1=0, axis2=1} !ct",
            "reshape %u {shape=(3, 1)} !ct; multiply %0, %v !ct; trace %1 {offset=0, axis1=0, axis2=1} !ct",  # 3 by 4
        ],
    ),
    "negative-times-matrix": Case(
        O,
        [
            (f"{NEGATIVE}; matmul %0, %b !ct", "matmul %x, %b !ct; negative %0 !ct"),
            (
                f"{NEGATIVE}; matmul %0, %b !ct; return %0, %1",
                f"{NEGATIVE}; matmul %x, %b !ct; negative %1 !ct; return %0, %2",
            ),
        ],
        [
            "negative %x; matmul %0, %b",
            "multiply %x, -2.0 !ct; matmul %0, %b !ct",
        ],
        [("%a: f64[2,2], %b: f64[2,9]", "negative %a !ct; matmul %0, %b !ct; return %0, %1")],  # more to be negated
    ),
    "matrix-times-negative": Case(
        O,
        [(f"{NEGATIVE}; matmul %a, %0 !ct", "matmul %a, %x !ct; negative %0 !ct")],
        ["negative %x; matmul %a, %0"],
    ),
    "trace-of-negative": Case(
        O,
        [
            (
                "negative %s !ct; trace %0 {offset=1, axis1=0, axis2=1} !ct",
                "trace %s {offset=1, axis1=0, axis2=1} !ct; negative %0 !ct",
            )
        ],
        ["negative %s; trace %0 {offset=0, axis1=0, axis2=1}"],
    ),
    "transpose-of-negative": Case(
        O,
        [
            (
                "negative %x !ct; transpose %0 {axes=(1, 0)} !ct",
                "transpose %x {axes=(1, 0)} !ct; negative %0 !ct",
            )
        ],
        ["negative %x; transpose %0 {axes=(1, 0)}"],
    ),
    "identity-times-matrix": Case(
        O,
        [("eye {n=3, m=3, k=0, dtype=f64} !ct; matmul %0, %x !ct", "%x")],
        ["eye {n=3, m=3, k=0, dtype=f64}; matmul %0, %x", "eye {n=3, m=3, k=1, dtype=f64} !ct; matmul %0, %x !ct"],
    ),
    "matrix-times-identity": Case(
        O,
        [("constant {value=[[1.0, 0.0], [0.0, 1.0]]}; matmul %b, %0 !ct", "%b")],
        ["constant {value=[[1.0, 1.0], [0.0, 1.0]]}; matmul %b, %0 !ct"],
    ),
    "diagonal-times-matrix": Case(
        O,
        [
            ("diag %u {k=0} !ct; matmul %0, %x !ct", "reshape %u {shape=(3, 1)} !ct; multiply %0, %x !ct"),
            ("diag %u {k=0} !ct; matmul %0, %w !ct", "multiply %u, %w !ct"),
        ],
        ["diag %u {k=0}; matmul %0, %x", "diag %u {k=1} !ct; matmul %0, %b !ct"],
    ),
    "matrix-times-diagonal": Case(
        O,
        [
            ("diag %u {k=0} !ct; matmul %s, %0 !ct", "multiply %s, %u !ct"),
            ("diag %u {k=0} !ct; matmul %w, %0 !ct", "multiply %w, %u !ct"),
        ],
        ["diag %v {k=0}; matmul %x, %0", "diag %u {k=1} !ct; matmul %x, %0 !ct"],
    ),
    "diagonal-scaled": Case(
        O,
        [
            ("diag %u {k=0} !ct; multiply %0, %w !ct", "multiply %u, %w !ct; diag %0 {k=0} !ct"),
            (
                "diag %u {k=0} !ct; reshape %w {shape=(3, 1)} !ct; multiply %0, %1 !ct",
                "reshape %w {shape=(3, 1)} !ct; reshape %0 {shape=(3,)} !ct; multiply %u, %1 !ct; diag %2 {k=0} !ct",
            ),
        ],
        ["diag %u {k=0}; multiply %0, %w", "diag %u {k=0} !ct; multiply %0, %s !ct"],
    ),
    "diagonal-apart-scaled": Case(
        O,
        [
            (
                "diag %u {k=0} !ct; add %0, %s !ct; multiply %1, %w !ct",
                "multiply %u, %w !ct; diag %0 {k=0} !ct; multiply %s, %w !ct; add %1, %2 !ct",
            )
        ],
        [
            "diag %u {k=0}; add %0, %s; multiply %1, %w",
            "diag %u {k=0} !ct; add %0, %s !ct; multiply %1, %w !ct; return %1, %2",
            "diag %u {k=0} !ct; add %0, %s !ct; multiply %1, %s !ct",
        ],
    ),
    "diagonal-apart": Case(
        O,
        [
            (
                "diag %u {k=0} !ct; add %0, %s !ct; matmul %1, %x !ct",
                "reshape %u {shape=(3, 1)} !ct; multiply %0, %x !ct; matmul %s, %x !ct; add %1, %2 !ct",
            )
        ],
        [
            "diag %u {k=0}; add %0, %s; matmul %1, %x",
            "diag %u {k=0} !ct; add %0, 2.0 !ct; matmul %1, %x !ct",
            "reshape %u {shape=(3, 1)} !ct; diag %u {k=0} !ct; add %1, %0 !ct; matmul %2, %x !ct",
            "diag %v {k=-1} !ct; constant {value=1.0}; add %0, %1 !ct; matmul %2, %2 !ct",
        ],
    ),
    "outer-apart": Case(
        O,
        [
            (
                f"{OUTER}; add %1, %x !ct; matmul %2, %b !ct",
                "reshape %u {shape=(3, 1)} !ct; matmul %x, %b !ct; matmul %v, %b !ct; multiply %0, %2 !ct; "
                "add %1, %3 !ct",
            ),
            (
                f"{OUTER}; add %x, %1 !ct; matmul %2, %v !ct",
                "matmul %x, %v !ct; matmul %v, %v !ct; multiply %u, %1 !ct; add %0, %2 !ct",
            ),
        ],
        [
            f"{OUTER}; add %1, %x !ct; matmul %2, %b",  # the user's own
            f"{OUTER}; add %1, %x !ct; matmul %2, %b !ct; return %2, %3",
            f"{OUTER}; add %1, %v !ct; matmul %2, %b !ct",
            "multiply %x, %v !ct; add %0, %x !ct; matmul %1, %b !ct",
        ],
        [
            (
                "%u: f64[3,1], %v: f64[2], %x: f64[3,2], %b: f64[2,5]",
                "multiply %u, %v !ct; add %0, %x !ct; matmul %1, %b !ct",
            )
        ],
    ),
    "outer-taken-apart": Case(
        O,
        [
            (
                f"{OUTER}; subtract %x, %1 !ct; matmul %2, %v !ct",
                "matmul %x, %v !ct; matmul %v, %v !ct; multiply %u, %1 !ct; subtract %0, %2 !ct",
            ),
        ],
        [
            f"{OUTER}; subtract %1, %x !ct; matmul %2, %b !ct",
            # a column, which is spread out as it is taken away
            "reshape %u {shape=(3, 1)} !ct; full {shape=(1,), value=2.0, dtype=f64} !ct; multiply %0, %1 !ct; "
            "subtract %x, %2 !ct; matmul %3, %v !ct",
        ],
    ),
    "matrix-times-spread": Case(
        "%a: f64[3,1], %b: f64[2,3], %r: f64[3]",
        [
            (
                "broadcast_to %a {shape=(3, 4)} !ct; matmul %b, %0 !ct",
                "matmul %b, %a !ct; broadcast_to %0 {shape=(2, 4)} !ct",
            )
        ],
        ["broadcast_to %a {shape=(3, 4)}; matmul %b, %0", "broadcast_to %r {shape=(3, 3)} !ct; matmul %b, %0 !ct"],
    ),
    "spread-times-matrix": Case(
        "%a: f64[3], %b: f64[3,2], %c: f64[4,1], %d: f64[1,3]",
        [
            (
                "broadcast_to %a {shape=(4, 3)} !ct; matmul %0, %b !ct",
                "matmul %a, %b !ct; broadcast_to %0 {shape=(4, 2)} !ct",
            ),
            (
                "broadcast_to %d {shape=(4, 3)} !ct; matmul %0, %a !ct",
                "matmul %d, %a !ct; broadcast_to %0 {shape=(4,)} !ct",
            ),
        ],
        ["broadcast_to %a {shape=(4, 3)}; matmul %0, %b", "broadcast_to %c {shape=(4, 3)} !ct; matmul %0, %b !ct"],
    ),
    "columns-times-rows": Case(
        "%a: f64[2,3,1], %b: f64[2,1,4], %c: f64[3,1], %d: f64[1,4], %e: f64[4,3]",
        [
            ("matmul %a, %b !ct", "multiply %a, %b !ct"),
            ("matmul %c, %d !ct", "multiply %c, %d !ct"),
        ],
        ["matmul %a, %b", "matmul %e, %c !ct"],
    ),
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


test_rule, test_each_rule_has_a_case = table_tests(CASES, SCALED_MATMUL)


def test_the_hessian_of_logsumexp_has_one_outer_product():
    rng = np.random.default_rng(0)
    x, a = rng.normal(size=10), rng.normal(size=(60, 10))
    hessian = tapec.hessian(lambda x, a: np.log(np.sum(np.exp(a @ x))))
    p = np.exp(a @ x) / np.sum(np.exp(a @ x))
    np.testing.assert_allclose(hessian(x, a), a.T @ (p[:, None] * a) - np.outer(p @ a, p @ a), rtol=1e-11, atol=1e-13)
    assert count_of(hessian.source(x, a), "_[:, None] * _") == 1
