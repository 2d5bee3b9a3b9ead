"""Diagonals and traces: each rule where it fires and where it must not."""

import numpy as np
import pytest

import tapec
from tapec.passes.rules import DIAGONALS_AND_TRACES
from tests.passes.support import Case, table_tests
from tests.properties import has

X = "%x: f64[4,4], %y: f64[4,4], %r: f64[4], %c: f64[4,1], %s: f64[]"
X += ", %a: f64[4,7], %b: f64[7,4], %q: f64[2,4,4], %w: f64[4,2,4], %q1: f64[4,1,1], %u: f64[4,4,2]"
X += ", %g: f64[4,4,7], %h: f64[7], %f: f64[2,3,4,4]"
MAIN = "{offset=0, axis1=0, axis2=1}"
LAST = "{offset=0, axis1=1, axis2=2}"
ENDS = "{offset=0, axis1=0, axis2=2}"

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
            (  # of each of many, with what all of them have in common
                f"multiply %q, %x; add %0, %c; diagonal %1 {LAST}",
                f"diagonal %q {LAST}; reshape %x {{shape=(1, 4, 4)}}; diagonal %1 {LAST}; multiply %0, %2; "
                "reshape %c {shape=(1, 4)}; add %3, %4",
            ),
            (  # a column for the first of both axes
                f"multiply %w, %q1; diagonal %0 {ENDS}",
                f"diagonal %w {ENDS}; reshape %q1 {{shape=(4, 1)}}; transpose %1 {{axes=(1, 0)}}; multiply %0, %2",
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
            ),
            (
                f"matmul %q, %x; diagonal %0 {LAST}",
                "transpose %x {axes=(1, 0)}; multiply %q, %0; sum %1 {axis=(2,), keepdims=False}",
            ),
        ],
        [
            f"matmul %a, %b; diagonal %0 {MAIN}; return %0, %1",
            "matmul %a, %b; diagonal %0 {offset=-1, axis1=0, axis2=1}",
            f"matmul %q, %x; diagonal %0 {MAIN}",
            f"matmul %g, %h; diagonal %0 {MAIN}",
        ],
    ),
    "diagonal-of-sum": Case(
        X,
        [
            (
                f"sum %w {{axis=(1,), keepdims=False}}; diagonal %0 {MAIN}",
                f"diagonal %w {ENDS}; sum %0 {{axis=(0,), keepdims=False}}",
            ),
            (
                f"sum %u {{axis=(2,), keepdims=False}}; diagonal %0 {MAIN}",
                f"diagonal %u {MAIN}; sum %0 {{axis=(0,), keepdims=False}}",
            ),
        ],
        [
            f"sum %w {{axis=(1,), keepdims=False}}; diagonal %0 {MAIN}; return %0, %1",
            "sum %w {axis=(1,), keepdims=False}; diagonal %0 {offset=1, axis1=0, axis2=1}",
            f"sum %w {{axis=(1,), keepdims=True}}; diagonal %0 {ENDS}",
        ],
    ),
    "diagonal-of-exchanged": Case(
        X,
        [
            (
                f"transpose %x {{axes=(1, 0)}}; diagonal %0 {MAIN}",
                "diagonal %x {offset=0, axis1=1, axis2=0}",
            ),
            (
                "transpose %q {axes=(2, 0, 1)}; diagonal %0 {offset=1, axis1=0, axis2=2}",
                "diagonal %q {offset=1, axis1=2, axis2=1}",
            ),
            (
                f"transpose %f {{axes=(1, 2, 3, 0)}}; diagonal %0 {LAST}",
                "diagonal %f {offset=0, axis1=2, axis2=3}; transpose %0 {axes=(1, 0, 2)}",
            ),
        ],
        [f"diagonal %x {MAIN}"],
    ),
    "diagonal-of-identity": Case(
        X,
        [
            (
                f"eye {{n=4, m=4, k=0, dtype=f64}}; diagonal %0 {MAIN}",
                "full {shape=(4,), value=1.0, dtype=f64}",
            ),
            (
                f"eye {{n=4, m=4, k=0, dtype=bool}}; reshape %0 {{shape=(4, 1, 4)}}; diagonal %1 {ENDS}",
                "full {shape=(1, 4), value=1, dtype=bool}",
            ),
        ],
        [
            f"eye {{n=4, m=4, k=1, dtype=f64}}; diagonal %0 {MAIN}",
            "eye {n=4, m=4, k=0, dtype=f64}; diagonal %0 {offset=1, axis1=0, axis2=1}",
            f"eye {{n=4, m=4, k=0, dtype=f64}}; reshape %0 {{shape=(2, 2, 4)}}; diagonal %1 {MAIN}",
            f"eye {{n=4, m=8, k=0, dtype=f64}}; reshape %0 {{shape=(4, 2, 4)}}; diagonal %1 {ENDS}",
            f"eye {{n=2, m=8, k=0, dtype=f64}}; reshape %0 {{shape=(4, 4)}}; diagonal %1 {MAIN}",
        ],
    ),
    "trace-of-exchanged": Case(
        X,
        [
            (f"transpose %x {{axes=(1, 0)}}; trace %0 {MAIN}", "trace %x {offset=0, axis1=1, axis2=0}"),
            (
                "transpose %q {axes=(2, 0, 1)}; trace %0 {offset=1, axis1=0, axis2=2}",
                "trace %q {offset=1, axis1=2, axis2=1}",
            ),
        ],
        [f"trace %x {MAIN}"],
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
            (
                f"sum %w {{axis=(1,), keepdims=False}}; trace %0 {MAIN}",
                f"sum %w {{axis=(1,), keepdims=False}}; diagonal %0 {MAIN}; sum %1 {{axis=(0,), keepdims=False}}",
            ),
            (
                f"matmul %q, %x; trace %0 {LAST}",
                f"matmul %q, %x; diagonal %0 {LAST}; sum %1 {{axis=(1,), keepdims=False}}",
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

test_rule, test_each_rule_has_a_case = table_tests(CASES, DIAGONALS_AND_TRACES)


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
    assert has(compiled.source(x, a), "np.diagonal(a)")
    tapec.check_grads(divergence, (x[:3], a[:3, :3]))
