"""Sums that are known without adding up: where they are, and where something is not as it must be."""

import numpy as np
import pytest

import tapec
from tapec.passes.rules import SOFTMAX
from tests.passes.support import Case, check_case, check_table

X = "%x: f64[3,4], %c: f64[3,1], %v: f64[3], %k: i64[3], %z: f64[3,4]"


MAX = "max %x {axis=(1,), keepdims=True}"
TOTAL = "sum %2 {axis=(1,), keepdims=True}"


def weights(most=MAX, inner="subtract %x, %0", total=TOTAL):
    """e * (c / s)."""
    return f"{most}; {inner}; exp %1; {total}; divide %c, %3 !ct; multiply %2, %4 !ct"


SUM = "sum %{0} {{axis=(1,), keepdims=True}} !ct"
CASES = {
    "known-sum": Case(
        X,
        [
            (f"{weights()}; {SUM.format(5)}", "return %c"),
            (f"{weights()}; negative %5 !ct; {SUM.format(6)}", "negative %c !ct"),
            (f"{weights()}; subtract %5, %5 !ct; {SUM.format(6)}", "full {shape=(3, 1), value=0.0, dtype=f64} !ct"),
        ],
        [
            f"{weights()}; sum %5 {{axis=(1,), keepdims=True}}",  # the user's own
            f"{weights()}; sum %5 {{axis=(0,), keepdims=True}} !ct",  # along the other axis
            f"{weights(inner='subtract %z, %0')}; {SUM.format(5)}",  # not bounded by the maximum
            f"{weights(most='min %x {axis=(1,), keepdims=True}')}; {SUM.format(5)}",
            f"{weights(total='sum %1 {axis=(1,), keepdims=True}')}; {SUM.format(5)}",
            f"{weights()}; add %5, %z !ct; {SUM.format(6)}",  # a summand of which nothing is known
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rule(name):
    check_case(name, CASES[name], SOFTMAX)


def test_each_rule_has_a_case():
    check_table(CASES, SOFTMAX)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", [3, 4])
def test_nothing_flows_through_the_maximum_of_a_cross_entropy(rows, weighted):
    labels = np.arange(rows) % 3
    weight = np.linspace(0.5, 1.5, rows)

    def loss(x):
        z = x - np.max(x, axis=1, keepdims=True)
        each = np.log(np.sum(np.exp(z), axis=1)) - z[np.arange(rows), labels]
        return np.mean(weight * each if weighted else each)

    x = np.random.default_rng(0).standard_normal((rows, 5))
    e = np.exp(x)
    expected = e / e.sum(1, keepdims=True) - np.eye(5)[labels]
    expected *= (weight if weighted else np.ones(rows))[:, None] / rows
    gradient = tapec.grad(loss)
    assert np.allclose(gradient(x), expected, rtol=1e-12, atol=1e-15)
    assert "==" not in gradient.source(x)


def test_nan_and_infinity_stay_where_they_are():
    def loss(x):
        z = x - np.max(x, axis=1, keepdims=True)
        return np.sum(np.log(np.sum(np.exp(z), axis=1)) - z[np.arange(2), np.array([0, 1])])

    with np.errstate(all="ignore"):
        g = tapec.grad(loss)(np.array([[np.nan, 1.0], [2.0, 3.0]]))
    assert np.isnan(g[0]).all() and np.isfinite(g[1]).all()
