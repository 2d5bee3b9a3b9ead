"""Sums of products that were broadcast, as matrix products."""

import numpy as np
import pytest

import tapec
from tapec.passes.rules import SUMS_AS_MATMUL
from tests.passes.support import Case, table_tests
from tests.properties import constants

X = "%x: f64[5,4], %w: f64[4], %r: f64[5,1], %c: f64[3,4], %z: f64[5,4], %t: f64[5,3,4], %h: f16[5,4], %g: f16[4]"
X += ", %k: f64[2,7,3], %l: f64[2,1,3]"
SUM = "sum {} {{axis=({}), keepdims={}}}".format
PRODUCT = "multiply %x, %w"
PAIRS = "reshape %x {shape=(5, 1, 4)}; multiply %0, %c"

CASES = {
    "sum-of-product": Case(
        X,
        [
            (f"{PRODUCT}; {SUM('%0', '1,', False)}", "matmul %x, %w"),
            (f"{PRODUCT}; {SUM('%0', '1,', True)}", "matmul %x, %w; reshape %0 {shape=(5, 1)}"),
            (
                f"multiply %r, %x; {SUM('%0', '0,', False)}",
                "reshape %r {shape=(5,)}; matmul %0, %x",
            ),
            (
                f"{PAIRS}; {SUM('%1', '2,', False)}",
                "reshape %x {shape=(5, 1, 4)}; reshape %0 {shape=(5, 4)}; transpose %c {axes=(1, 0)}; matmul %1, %2",
            ),
            (f"{PRODUCT}; {SUM('%0', '0, 1', False)}", "matmul %x, %w; sum %0 {axis=(0,), keepdims=False}"),
            (  # axes that stand apart are put together
                f"multiply %k, %l; {SUM('%0', '0, 2', False)}",
                "transpose %k {axes=(1, 0, 2)}; reshape %0 {shape=(7, 6)}; reshape %l {shape=(6,)}; matmul %1, %2",
            ),
        ],
        [
            f"{PRODUCT}; {SUM('%0', '0,', False)}",  # along an axis of one operand alone
            f"multiply %x, %z; {SUM('%0', '1,', False)}",
            f"{PRODUCT}; {SUM('%0', '1,', False)}; return %0, %1",
            f"multiply %x, 2.0; {SUM('%0', '1,', False)}",
            f"multiply %t, %c; {SUM('%0', '2,', False)}",  # a product for each of three
            f"multiply %t, %w; {SUM('%0', '1,', False)}",
            f"multiply %h, %g; {SUM('%0', '1,', False)}",  # no BLAS for it
        ],
        [
            ("%x: f64[500,400], %w: f64[400]", f"tanh %x; multiply %0, %w; {SUM('%1', '1,', False)}"),  # for blocks
            (X, f"exp %k; multiply %0, %l; {SUM('%1', '0, 2', False)}"),  # into which it is multiplied
            ("%x: f64[50,40,50], %w: f64[50,1,50]", f"multiply %x, %w; {SUM('%0', '0, 2', False)}"),  # no small copy
        ],
    ),
    "sum-of-product-beside": Case(
        X,
        [
            (
                f"{PRODUCT} !ct; add %0, %z !ct; {SUM('%1', '1,', False)} !ct",
                f"matmul %x, %w !ct; {SUM('%z', '1,', False)} !ct; add %0, %1 !ct",
            ),
            (
                f"{PRODUCT} !ct; add %r, %0 !ct; {SUM('%1', '1,', False)} !ct",
                f"matmul %x, %w !ct; broadcast_to %r {{shape=(5, 4)}} !ct; {SUM('%1', '1,', False)} !ct; "
                "add %0, %2 !ct",
            ),
        ],
        [
            f"{PRODUCT}; add %0, %z; {SUM('%1', '1,', False)}",
            f"{PRODUCT} !ct; add %0, %z !ct; {SUM('%1', '0,', False)} !ct",
            f"{PRODUCT} !ct; add %0, %z !ct; {SUM('%1', '1,', False)} !ct; return %1, %2",
            f"{PRODUCT} !ct; add %0, %z !ct; {SUM('%1', '1,', False)} !ct; return %0, %2",
            f"multiply %x, %z !ct; add %0, %x !ct; {SUM('%1', '1,', False)} !ct",
        ],
    ),
    "weight-out-of-product": Case(
        X,
        [
            (
                f"multiply %x, %w !ct; multiply %0, %z; {SUM('%1', '1,', False)}",
                "multiply %x, %z; matmul %0, %w",
            ),
            (
                f"multiply %r, %x !ct; multiply %z, %0 !ct; {SUM('%1', '0,', True)} !ct",
                "multiply %x, %z !ct; transpose %0 {axes=(1, 0)} !ct; reshape %r {shape=(5,)} !ct; matmul %1, %2 !ct; "
                "reshape %3 {shape=(1, 4)} !ct",
            ),
        ],
        [
            f"multiply %x, %w; multiply %0, %z; {SUM('%1', '1,', False)}",  # the user's own
            f"multiply %x, %w !ct; multiply %0, %z; {SUM('%1', '0,', False)}",  # along the other axis
            f"multiply %x, %w !ct; multiply %0, %z; {SUM('%1', '0, 1', False)}",  # one product less as it is
            f"multiply %x, %w !ct; multiply %0, %z; {SUM('%1', '1,', False)}; return %0, %2",
            f"multiply %x, %w !ct; multiply %0, %z; {SUM('%1', '1,', False)}; return %1, %2",
            f"multiply %x, %w !ct; multiply %0, %r; {SUM('%1', '1,', False)}",
        ],
        [
            ("%b: f64[500,300], %w: f64[300]", f"multiply %b, %w !ct; multiply %0, %b; {SUM('%1', '1,', False)}")
        ],  # blocks
    ),
    "tensordot-as-product": Case(
        "%a: f64[2,3,4], %b: f64[3,4,5], %c: f64[5,3,4], %d: f64[4,3], %h: f16[3,4], %e: f64[4,3], %f: f32[4,3]",
        [
            (
                "tensordot %a, %b {axes=((1, 2), (0, 1))}",
                "reshape %a {shape=(2, 12)}; reshape %b {shape=(12, 5)}; matmul %0, %1",
            ),
            (
                "tensordot %b, %a {axes=((0, 1), (1, 2))}",
                "reshape %b {shape=(12, 5)}; transpose %0 {axes=(1, 0)}; reshape %a {shape=(2, 12)}; "
                "transpose %2 {axes=(1, 0)}; matmul %1, %3",
            ),
            (
                "tensordot %a, %d {axes=((2,), (0,))}",
                "reshape %a {shape=(6, 4)}; matmul %0, %d; reshape %1 {shape=(2, 3, 3)}",
            ),
            (  # in the order of the larger operand
                "tensordot %a, %b {axes=((2, 1), (1, 0))}",
                "reshape %a {shape=(2, 12)}; reshape %b {shape=(12, 5)}; matmul %0, %1",
            ),
            (
                "tensordot %e, %b {axes=((0, 1), (1, 0))}",
                "transpose %e {axes=(1, 0)}; reshape %0 {shape=(12,)}; reshape %b {shape=(12, 5)}; matmul %1, %2",
            ),
            (
                "tensordot %a, %c {axes=((1,), (1,))}",
                "transpose %a {axes=(0, 2, 1)}; reshape %0 {shape=(8, 3)}; transpose %c {axes=(1, 0, 2)}; "
                "reshape %2 {shape=(3, 20)}; matmul %1, %3; reshape %4 {shape=(2, 4, 5, 4)}",
            ),
        ],
        [
            "tensordot %h, %h {axes=((0,), (0,))}",
            "tensordot %a, %f {axes=((2,), (0,))}",
        ],
    ),
    "mean-of-product": Case(
        X,
        [("multiply %x, %w; mean %0 {axis=(1,), keepdims=False}", "matmul %x, %w; divide %0, 4")],
        ["multiply %x, %w; mean %0 {axis=(0,), keepdims=False}"],
    ),
}


test_rule, test_each_rule_has_a_case = table_tests(CASES, SUMS_AS_MATMUL)


SHAPES = [
    ((6, 1, 4), (3, 4), (2,)),
    ((3, 4), (6, 1, 4), (2,)),  # the second operand's axes come first
    ((6, 3, 1), (6, 1, 4), (0,)),
    ((6, 1, 4), (6, 3, 1), (0,)),
    ((6, 3, 1), (6, 1, 4), (0, 1)),
    ((6, 3, 1), (6, 1, 4), (0, 1, 2)),
    ((2, 3, 4, 5), (4, 5), (2, 3)),
    ((2, 3, 4, 5), (2, 3, 1, 1), (0, 1)),
    ((2, 3, 4, 5), (3, 1, 5), (1, 3)),  # apart from one another: not a matrix as it stands
    ((1, 4), (6, 1), (0, 1)),
]


@pytest.mark.parametrize("left, right, axis", SHAPES)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("function", [np.sum, np.mean])
def test_all_kinds_of_axes(left, right, axis, keepdims, function):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(left), rng.standard_normal(right)
    f = lambda a, b: function(a * b, axis=axis, keepdims=keepdims)
    loss = lambda a, b: np.sum(np.sin(f(a, b)))
    assert np.allclose(tapec.compile(f)(a, b), f(a, b), rtol=1e-13)
    da, db = tapec.grad(loss, argnums=(0, 1))(a, b)
    slope = np.broadcast_to(np.cos(function(a * b, axis=axis, keepdims=True)), np.broadcast_shapes(left, right))
    slope = slope / (np.prod([slope.shape[k] for k in axis]) if function is np.mean else 1)

    def fitted(whole, shape):
        extra = whole.ndim - len(shape)
        ones = [k for k in range(whole.ndim) if k < extra or shape[k - extra] == 1]
        return whole.sum(axis=tuple(ones), keepdims=True).reshape(shape)

    assert np.allclose(da, fitted(slope * b, left), rtol=1e-12)
    assert np.allclose(db, fitted(slope * a, right), rtol=1e-12)


def test_pairwise_products_are_never_made():
    def loss(c, x):
        return np.sum(np.sum(x[:, None, :] * c, axis=2) ** 2)

    rng = np.random.default_rng(0)
    x, c = rng.standard_normal((30, 4)), rng.standard_normal((3, 4))
    f = tapec.grad(loss)
    assert np.allclose(f(c, x), 2.0 * c @ x.T @ x, rtol=1e-12)
    assert None not in constants(f.source(c, x))
