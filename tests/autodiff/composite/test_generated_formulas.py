"""Formulas drawn at random have the same derivatives with composite rules, without them, and by differences.

Between the parts that composite rules look for stand indices, reshapes, broadcasting and sums, as users write them.
"""

import random

import numpy as np
import pytest

import tapec

STEP = 1e-6
VALUES = np.array([0.3, 0.5, -0.4])
DATA = np.array([1.0, 2.0, 3.0, 4.0, 0.7])
SEEDS = [*range(60), *[pytest.param(seed, marks=pytest.mark.thorough) for seed in range(60, 1000)]]

LEAVES = [
    "a[0]", "a[1]", "a[2]", "a", "a[::-1]", "a[1:]", "m", "m[:3]", "m[:,None]", "a[None,:]", "a.reshape(3,1)",
    "np.float64(2.0)", "np.exp(a)[1]", "np.exp(a)[::-1]", "np.exp2(-a)[0]", "np.cosh(a)[1:2]",
    "np.exp(a).reshape(3,1)", "(1/(1+np.exp(-a)))[0]",
]  # fmt: skip
UNARY = [
    "np.exp({0})", "np.exp(-{0})", "np.exp2({0})", "np.expm1({0})", "np.cosh({0})", "np.tanh({0})", "np.sin({0})",
    "np.log1p(np.exp({0}))", "1 / (1 + np.exp(-{0}))", "1 / (1 + np.exp({0}))", "np.sqrt(1.5 + {0} * {0})",
    "np.abs({0} + 0.07)", "np.log(np.exp({0}) + 0.5)", "np.log(np.cosh({0}))", "({0} * {0} + 1) ** 0.5",
    "np.square({0})", "-{0}", "np.log(np.abs({0} + 0.07))", "np.logaddexp({0}, 0.3)", "np.sqrt(np.exp({0}))",
]  # fmt: skip
BINARY = [
    "{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / {1}", "m / {0}", "{0} / np.exp({1})", "{0} / (1 + np.exp({1}))",
    "np.logaddexp({0}, {1})", "np.hypot({0}, 1.5 + {1} * {1})",
    "np.exp({0} - {1})", "np.log(np.exp({0}) / (1.5 + np.exp({1})))",
    "np.maximum({0}, {1})", "np.where({0} > 0.1, {0}, {1})",
]  # fmt: skip
REDUCTIONS = ["np.sum({0})", "np.mean({0})", "np.prod(1 + 0.1 * {0})", "np.log(np.sum(np.exp({0})))", "np.max({0})"]
LAYOUTS = ["{0}[0]", "{0}[-1:]", "{0}[::-1]", "{0}.T", "{0}.reshape(-1)", "{0}[..., None]", "{0}[:, None]"]


def drawn(rng, depth):
    """Draw a formula as text; its shape is whatever NumPy makes of it."""
    if depth == 0:
        return rng.choice(LEAVES)
    kind = rng.choice("uuubbbblr")
    if kind == "b":
        return "(" + rng.choice(BINARY).format(drawn(rng, depth - 1), drawn(rng, depth - 1)) + ")"
    table = {"u": UNARY, "l": LAYOUTS, "r": REDUCTIONS}[kind]
    return "(" + rng.choice(table).format(f"({drawn(rng, depth - 1)})") + ")"


def formula(seed):
    """Draw formulas until NumPy computes one, from numbers of ordinary size, that depends smoothly on them."""
    rng = random.Random(seed)
    while True:
        text = f"np.sum(np.sin({drawn(rng, rng.choice([2, 3, 3, 4]))}))"
        f = eval(f"lambda a: {text}", {"np": np, "m": DATA})
        try:
            with np.errstate(all="raise"):
                slopes = differences(f)
                halves = differences(f, STEP / 2)
        except (FloatingPointError, ValueError, TypeError, IndexError, AttributeError):
            continue
        if np.allclose(slopes, halves, rtol=1e-5, atol=1e-7) and np.abs(slopes).max() < 1e3:
            return text, f, slopes


def differences(f, step=STEP):
    return np.array([(f(VALUES + e) - f(VALUES - e)) / (2 * step) for e in step * np.eye(3)])


@pytest.mark.parametrize("seed", SEEDS)
def test_composite_rules_change_no_derivative(seed):
    text, f, slopes = formula(seed)
    got = tapec.grad(f)(VALUES)
    with tapec.settings(composite=False):
        by_itself = tapec.grad(f)(VALUES)
    np.testing.assert_allclose(by_itself, slopes, rtol=1e-4, atol=1e-6, err_msg=text)
    np.testing.assert_allclose(got, by_itself, rtol=1e-9, atol=1e-12, err_msg=text)
    forward = tapec.jvp(f, (VALUES,), (np.array([1.0, -0.5, 0.3]),))[1]
    np.testing.assert_allclose(forward, got @ np.array([1.0, -0.5, 0.3]), rtol=1e-9, atol=1e-12, err_msg=text)
