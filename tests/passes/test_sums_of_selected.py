"""Factors after sums of what is selected: where they come after them, and where they must not."""

import numpy as np
import pytest

import tapec
from tapec.passes.rules import SUMS_OF_SELECTED
from tests.passes.support import Case, table_tests

F = "%c: bool[16,3], %x: f64[16,3], %t: f64[16,3], %s: f64[3]"
SUM = "sum {} {{axis=(0,), keepdims=False}} !ct"
SCALED = "multiply %x, %s !ct; where %c, %0, 0 !ct; "
TAME = "greater %x, 0.0 !ct; "  # as a derivative asks
CASES = {
    "factors-after-chosen-sum": Case(
        F,
        [
            (  # a derivative's own condition
                f"{TAME}multiply %x, %s !ct; where %0, %1, 0 !ct; {SUM.format('%2')}",
                f"{TAME}where %0, %x, 0 !ct; {SUM.format('%1')}; multiply %2, %s !ct",
            ),
            (  # the user's, who may have left out lines of infinities
                f"{SCALED}{SUM.format('%1')}",
                f"where %c, %x, 0 !ct; {SUM.format('%0')}; not_equal %1, 0 !ct; where %2, %s, 1 !ct; "
                "multiply %1, %3 !ct",
            ),
            (  # a divisor that may be zero, and a sign
                f"{TAME}negative %x !ct; divide %1, %s !ct; where %0, %2, 0 !ct; {SUM.format('%3')}",
                f"{TAME}where %0, %x, 0 !ct; {SUM.format('%1')}; not_equal %2, 0 !ct; where %3, %s, 1 !ct; "
                "negative %2 !ct; divide %5, %4 !ct",
            ),
            (  # factors of both operands, one of them the user's
                f"{TAME}multiply %t, %s; multiply %x, %s !ct; multiply %2, %1 !ct; where %0, %3, 0 !ct; "
                f"{SUM.format('%4')}; return %1, %5",
                f"{TAME}multiply %t, %s; multiply %x, %t !ct; where %0, %2, 0 !ct; {SUM.format('%3')}; "
                "multiply %4, %s !ct; multiply %5, %s !ct; return %1, %6",
            ),
            (  # for which the selection is there
                f"{TAME}where %0, %x, 0 !ct; multiply %x, %s !ct; where %0, %2, 0 !ct; {SUM.format('%1')}; "
                f"{SUM.format('%3')}; return %3, %4, %5",
                f"{TAME}where %0, %x, 0 !ct; multiply %x, %s !ct; where %0, %2, 0 !ct; {SUM.format('%1')}; "
                "multiply %4, %s !ct; return %3, %4, %5",
            ),
        ],
        [
            f"{SCALED}sum %1 {{axis=(1,), keepdims=False}} !ct",  # not the same along the axis
            f"{SCALED}sum %1 {{axis=(0,), keepdims=False}}",  # the user's
            f"{SCALED}{SUM.format('%1')}; return %1, %2",  # needed anyway: another selection would be more work
            f"multiply %x, %t !ct; where %c, %0, 0 !ct; {SUM.format('%1')}",
            f"multiply %x, %s !ct; where %c, %0, 1 !ct; {SUM.format('%1')}",
            f"multiply %x, 3.0 !ct; where %c, %0, 0 !ct; {SUM.format('%1')}",
        ],
        [
            (F.replace("%x: f64", "%x: f32"), f"{SCALED}{SUM.format('%1')}"),  # half of the digits
            ("%c: bool[2,3], %x: f64[2,3], %s: f64[3]", f"{SCALED}{SUM.format('%1')}"),  # small beside nothing
        ],
    ),
}
test_rule, test_every_rule_has_a_case = table_tests(CASES, SUMS_OF_SELECTED)


def normalised(x, gamma, beta, w, eps):
    y = gamma * (x - np.mean(x, axis=0)) / np.sqrt(np.var(x, axis=0) + eps) + beta
    return np.sum(np.maximum(y, 0.0) * w)


def by_hand(x, gamma, beta, w, eps):
    away = x - np.mean(x, axis=0)
    root = np.sqrt(np.var(x, axis=0) + eps)
    d = np.where(gamma * away / root + beta > 0, w, 0)
    d_beta, d_gamma = np.sum(d, axis=0), np.sum(d * away, axis=0) / root
    return gamma / root * (d - d_beta / len(x) - away / root * d_gamma / len(x)), d_gamma, d_beta


def test_a_normalised_layer_adds_up_twice():
    """For scales, shifts, means and variances."""
    rng = np.random.default_rng(0)
    args = (rng.normal(size=(40, 5)), *rng.normal(size=(2, 5)), rng.normal(size=(40, 5)), 1e-3)
    g = tapec.grad(normalised, argnums=(0, 1, 2))
    for found, expected in zip(g(*args), by_hand(*args), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)
    nodes = g.ir(*args, stage="optimized").nodes
    assert len([n for n in nodes if n.op.name == "sum" and n.inputs[0].op.name == "where"]) == 2


@pytest.mark.parametrize("scale", [np.inf, np.nan])
def test_what_nobody_selects_has_no_slope_whatever_it_is_multiplied_by(scale):
    s = np.array([1.0, scale, 2.0])
    x = np.where(np.isfinite(s), np.linspace(-1, 1, 48).reshape(16, 3), -1.0)
    f = lambda b, x, s: np.sum(np.where(x > 0, (b + x) * s, 0.0))
    np.testing.assert_allclose(tapec.grad(f)(np.zeros(3), x, s), [8, 0, 16])


def test_numbers_are_factors_as_they_are():
    """Nothing has to be kept from a number, which may be larger than an array of integers can hold."""
    s = np.array([0.2, 0.4, -0.3])

    def loss(x):
        v = np.broadcast_to(x, (2, *x.shape))
        return np.sum(v * (v > 0) / 2**80 * s[0])

    x = np.linspace(-1.0, 1.0, 90).reshape(30, 3)
    _, slope = tapec.jvp(loss, (x,), (np.ones_like(x),))
    np.testing.assert_allclose(slope, 2 * 45 / 2**80 * 0.2, rtol=1e-12)
