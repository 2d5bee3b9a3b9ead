"""Diagonals and traces: each rule where it fires and where it must not."""

import numpy as np
import pytest

import tapec
from tapec.passes.rules import DIAGONALS
from tests.passes.support import Case, table_tests

X = "%x: f64[4,4], %y: f64[4,4], %r: f64[4], %c: f64[4,1], %s: f64[], %a: f64[4,7], %b: f64[7,4], %q: f64[2,4,4]"
MAIN = "{offset=0, axis1=0, axis2=1}"

CASES = {
    "diagonal-of-elementwise": Case(
        X,
        [
            (
                f"multiply %x, %y; diagonal %0 {MAIN}",
                f"diagonal %x {MAIN}; diagonal %y {MAIN}; multiply %0, %1",
            ),
            (  # what is spread out along an axis, and several operations at once
                f"multiply %x, %c; add %0, %r; divide %1, %s; diagonal %2 {MAIN}",
                f"diagonal %x {MAIN}; reshape %c {{shape=(4,)}}; multiply %0, %1; add %2, %r; divide %3, %s",
            ),
        ],
        [
            f"multiply %x, %y; diagonal %0 {MAIN}; return %0, %1",
            "multiply %x, %y; diagonal %0 {offset=1, axis1=0, axis2=1}",
            f"multiply %a, %s; diagonal %0 {MAIN}",
            f"multiply %q, %s; diagonal %0 {MAIN}",
            f"power %x, %s; diagonal %0 {MAIN}",
            f"diagonal %x {MAIN}",
        ],
    ),
    "diagonal-of-product": Case(
        X,
        [
            (
                f"matmul %a, %b; diagonal %0 {MAIN}",
                "transpose %b {axes=(1, 0)}; multiply %a, %0; sum %1 {axis=(1,), keepdims=False}",
            )
        ],
        [
            f"matmul %a, %b; diagonal %0 {MAIN}; return %0, %1",
            "matmul %a, %b; diagonal %0 {offset=-1, axis1=0, axis2=1}",
            f"matmul %q, %x; diagonal %0 {MAIN}",
        ],
    ),
    "trace-of-computed": Case(
        X,
        [
            (
                f"multiply %x, %y; trace %0 {MAIN}",
                f"multiply %x, %y; diagonal %0 {MAIN}; sum %1 {{axis=(0,), keepdims=False}}",
            ),
            (
                f"matmul %a, %b; trace %0 {MAIN}",
                f"matmul %a, %b; diagonal %0 {MAIN}; sum %1 {{axis=(0,), keepdims=False}}",
            ),
        ],
        [
            f"trace %x {MAIN}",
            f"multiply %x, %y; trace %0 {MAIN}; return %0, %1",
            f"matmul %a, %b; trace %0 {MAIN}; return %0, %1",
            "multiply %x, %y; trace %0 {offset=1, axis1=0, axis2=1}",
            f"multiply %q, %x; trace %0 {MAIN}",
        ],
    ),
}

test_rule, test_each_rule_has_a_case = table_tests(CASES, DIAGONALS)


@pytest.mark.parametrize("square", [False, True])
def test_a_divergence_is_no_matrix(square):
    def field(x, a):
        y = np.tanh(a @ x)
        return y * y if square else y

    def divergence(x, a):
        return np.trace(tapec.jacobian(field)(x, a))

    x, a = np.random.default_rng(0).normal(size=20), np.random.default_rng(1).normal(size=(20, 20))
    compiled = tapec.compile(divergence)
    y = np.tanh(a @ x)
    slope = 1 - y * y
    np.testing.assert_allclose(compiled(x, a), np.sum((2 * y * slope if square else slope) * np.diagonal(a)))
    assert "np.diagonal(a)" in compiled.source(x, a)
    tapec.check_grads(divergence, (x[:3], a[:3, :3]))
