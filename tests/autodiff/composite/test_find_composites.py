"""Several operations differentiated as one: the right derivative, in both modes, and where not."""

import subprocess
import sys

import numpy as np
import pytest

import tapec
from tapec.autodiff.composite import log_of_product, overflow_safe_exp, roots_and_powers
from tapec.autodiff.composite import sigmoid as shares
from tapec.autodiff.composite.composite_rule import (
    EXPONENTIALS,
    POWERS,
    ROOTS,
    may_have_exponentials,
    may_have_roots,
)
from tapec.autodiff.composite.composites import Composites
from tapec.autodiff.composite.formulas import FORMULAS
from tapec.autodiff.composite.singular_powers import common_root_factors, sums_of_squares
from tapec.ir import OpSet, parse
from tapec.ir.pattern import operands
from tests.ops.derivatives import by_tape
from tests.properties import calls, constants, entry, has

RNG = np.random.default_rng(1)
X = RNG.normal(size=(4, 3))
LABELS = np.array([0, 2, 1, 1])


def sigmoid(x):
    return np.sum((1 / (1 + np.exp(-x))) ** 2)


def by_reciprocal(x):
    return np.sum(np.reciprocal(np.exp(-x) + 1.0) ** 3)


def of_positive(x):
    e = np.exp(x)
    return np.sum((e / (1 + e)) ** 2)


def shared(x):
    """The exponential is used elsewhere too."""
    e = np.exp(-x)
    return np.sum(np.sin(e) / (1 + e) + 1 / (1 + e) ** 2)


def log_of_softmax(x):
    e = np.exp(x)
    return np.sum(np.log(e / e.sum(axis=1, keepdims=True)) ** 2)


def log_of_picked(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    return -np.mean(np.log(p[np.arange(4), LABELS]) + np.sum(p**2, axis=1))


def log_of_taken(x):
    e = np.exp(x)
    return np.sum(np.log(np.take_along_axis(e / e.sum(axis=0), LABELS[None, :3], axis=0)) ** 2)


def log_of_slice(x):
    e = np.exp(x)
    return np.sum(np.log((e / (1 + e[:, :1] ** 2))[1:, ::2]) ** 2)


def log_of_constant_over(x):
    return np.sum(np.log(np.exp(X) / (2 + x * x)))


def squared_absolute(x):
    z = x[1:] + 1j * x[:-1]
    return np.sum(np.abs(z) ** 2 * x[1:] + np.square(np.abs(z)) ** 2 + np.abs(z) ** 3)


def power_spectrum(x):
    size = np.abs(np.fft.rfft(x, axis=0))
    return np.sum((size * size) ** 2)


def log_of_absolute(x):
    return np.sum(np.log(np.abs(x)) * np.sin(x))


def log_of_cosh(x):
    return np.sum(np.log(np.cosh(x)) ** 2)


def times_own_root(x):
    s = x * x + 0.1
    return np.sum(s * np.sqrt(s) + np.sqrt(s) * s * x)


FUNCTIONS = [
    times_own_root,
    log_of_absolute,
    log_of_cosh,
    sigmoid,
    by_reciprocal,
    of_positive,
    shared,
    log_of_softmax,
    log_of_picked,
    log_of_taken,
    log_of_slice,
    log_of_constant_over,
    squared_absolute,
    power_spectrum,
]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_derivatives(f):
    tapec.check_grads(f, (X,), order=2)
    half = X.astype(np.float32)
    g = tapec.grad(f)(half)
    assert g.dtype == np.float32
    assert np.allclose(g, tapec.grad(f)(X), rtol=1e-5, atol=1e-5)


SIZES = {  # softplus, from both sides of zero
    "first": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
    "second": lambda x: np.maximum(0, x) + np.log1p(np.exp(-np.abs(x))),
    "turned": lambda x: np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0.0),
    "logarithm": lambda x: np.log(1 + np.exp(-np.fabs(x))) + np.where(x > 0, x, 0),
    "among others": lambda x: np.maximum(x, 0) - 0.0 * x + np.log1p(np.exp(-np.abs(x))) - 1.0,
    "among many": lambda x: sum([0.0 * x**k for k in range(12)], np.maximum(x, 0)) + np.log1p(np.exp(-np.abs(x))),
    "negative": lambda x: -1.0 * (0.0 - np.maximum(x, 0) - np.log1p(np.exp(-np.abs(x)))),
    "minimum": lambda x: x - (np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))),
    "of the other side": lambda x: x + np.maximum(-x, 0) + np.log1p(np.exp(-np.abs(x))),
    "below": lambda x: x - np.where(x < 0, x, 0) + np.log(1 + np.exp(-np.abs(x))),
    "the negative's logarithm": lambda x: -1.0 * (-np.maximum(x, 0) - np.log1p(np.exp(-np.abs(x)))),
    "of the negative's size": lambda x: np.log1p(np.exp(-np.abs(-x))) + np.maximum(x, 0),
    "two": lambda x: (
        np.maximum(x, 0)
        + np.maximum(-x, 0)
        + np.log1p(np.exp(-np.abs(x)))
        + np.log1p(np.exp(-np.abs(-x)))
        - np.logaddexp(0, -x)
    ),
    "computed twice": lambda x: np.maximum(x * 1.0, 0) + np.log1p(np.exp(-np.abs(x * 1.0))),
}
SHARES = {  # its slope
    "at least": lambda x: np.where(x >= 0, 1, np.exp(-np.abs(x))) / (1 + np.exp(-np.abs(x))),
    "less": lambda x: np.where(x < 0, np.exp(-np.abs(x)), 1) / (np.exp(-np.abs(x)) + 1.0),
    "the other": lambda x: 1 - np.where(x > 0, np.exp(-np.abs(x)), 1.0) / (1 + np.exp(-np.abs(x))),
    "by power": lambda x: (1 + np.exp(-x)) ** -1.0,
}


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("table, name", [(t, name) for t in (SIZES, SHARES) for name in t])
def test_smooth_though_its_parts_are_not(table, name, optimize):
    """Where logits begin at zero, too."""
    x = np.array([0.0, 1.0, -2.0, 700.0, -700.0])
    share = 1 / (1 + np.exp(-x))
    slope = share * (1 - share)
    first, second = (share, slope) if table is SIZES else (slope, slope * (1 - 2 * share))
    f = lambda x: np.sum(table[name](x))
    with tapec.settings(optimize=optimize):
        for way in (tapec.grad, tapec.jacfwd, by_tape):
            np.testing.assert_allclose(way(f)(x), first, atol=1e-15)
        assert tapec.grad(f)(x.astype(np.float32)).dtype == np.float32
        assert tapec.grad(table[name])(0.0) == pytest.approx(first[0])  # a number of Python's
        for way in (tapec.hessian, lambda f: tapec.jacrev(tapec.grad(f)), lambda f: tapec.jacrev(tapec.jacfwd(f))):
            np.testing.assert_allclose(way(f)(x), np.diag(second), atol=1e-15)


@pytest.mark.parametrize(
    "f",
    [
        lambda u, v: np.maximum(u, 0) + np.log1p(np.exp(-np.abs(v))),
        lambda u, v: np.minimum(-u, 0) - np.log1p(np.exp(-np.abs(v))),
        lambda u, v: np.where(u >= 0, 1, np.exp(-np.abs(v))) / (1 + np.exp(-np.abs(u))),
    ],
)
def test_what_was_computed_twice_is_asked_for_twice(f):
    """Each of the two has the part of the slope that goes through it."""
    x = tapec.constant([0.5, -0.3])
    with tapec.GradientTape() as tape:
        tape.watch(x)
        u, v = x * 1.0, x * 1.0
        y = f(u, v)
    for k, found in enumerate(tape.gradient(y, [u, v])):
        values = [u.numpy(), v.numpy()]
        want = tapec.grad(lambda a, b: np.sum(f(a, b)), argnums=k)(*values)
        np.testing.assert_allclose(found.numpy(), want, rtol=1e-12)


def test_a_loss_of_logits_is_their_share_less_the_label():
    f = lambda x, y: np.mean(np.maximum(x, 0) - x * y + np.log1p(np.exp(-np.abs(x))))
    g = tapec.grad(f)
    x = RNG.normal(size=1000)
    x[::3] = 0.0
    y = np.arange(1000.0) % 2
    np.testing.assert_allclose(g(x, y), (1 / (1 + np.exp(-x)) - y) / 1000, rtol=1e-12)
    assert not calls(g.source(x, y), "sign")


def test_slopes_far_from_zero_keep_their_digits():
    x = np.array([30.0, -30.0])
    f = lambda x: np.sum(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))
    e = np.exp(-30.0)
    np.testing.assert_allclose(np.diag(tapec.hessian(f)(x)), e / (1 + e) ** 2, rtol=1e-14)


def test_what_is_no_softplus_keeps_its_conventions():
    x = np.zeros(3)
    for f, slope in (
        (lambda x: np.maximum(x, 0) - np.log1p(np.exp(-np.abs(x))), 1.0),
        (lambda x: np.maximum(x * 2, 0) + np.log1p(np.exp(-np.abs(x))), 2.0),
        (lambda x: np.maximum(x, 1) + np.log1p(np.exp(-np.abs(x))), 0.0),
        (lambda x: np.where(x > 0, x, 1) + np.log1p(np.exp(-np.abs(x))), 0.0),
        (lambda x: np.where(x < 0, x, 0) + np.log1p(np.exp(-np.abs(x))), 0.0),
        (lambda x: np.maximum(-x, 0) - np.log1p(np.exp(-np.abs(x))), -1.0),
        (lambda x: np.where(x >= 1, 1, np.exp(-np.abs(x))) / (1 + np.exp(-np.abs(x))), 0.0),
    ):
        assert np.array_equal(tapec.grad(lambda x, f=f: np.sum(f(x)))(x), np.full(3, slope))


OTHERS = {  # with parts of sigmoids and softplus
    "another exponential": lambda x, y: np.where(x >= 0, 1, y) / (1 + np.exp(-np.abs(x))),
    "another number": lambda x, y: np.where(x >= 0, 2, np.exp(-np.abs(x))) / (1 + np.exp(-np.abs(x))),
    "another side": lambda x, y: np.where(y >= 0, 1, np.exp(-np.abs(x))) / (1 + np.exp(-np.abs(x))),
    "another value": lambda x, y: np.where(x >= 0, 1, np.exp(-np.abs(y))) / (1 + np.exp(-np.abs(x))),
    "another function": lambda x, y: np.maximum(x, 0) + np.log1p(np.sin(-np.abs(x)) / 2),
    "no size": lambda x, y: np.maximum(x, 0) + np.log1p(np.exp(-x)),
    "another's size": lambda x, y: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(y))),
}


@pytest.mark.parametrize("name", OTHERS)
def test_derivatives_of_others(name):
    f = lambda x, y: np.sum(OTHERS[name](x, y) * np.array([1.0, 2.0, -0.5]))
    tapec.check_grads(f, (np.array([0.4, -1.3, 0.8]), np.array([-0.7, 0.6, 1.1])), order=2)


@pytest.mark.parametrize("f", [sigmoid, by_reciprocal, of_positive])
def test_the_slope_of_a_sigmoid_is_made_of_its_value(f):
    g = tapec.grad(f)
    g(X)
    assert has(g.source(X), "1 - _")


def test_the_square_of_an_absolute_value_needs_no_root():
    z = X[0] + 1j * X[1]
    g = tapec.grad(lambda z: np.sum(np.abs(z) ** 2))
    assert np.array_equal(g(z), 2 * z)
    assert not calls(g.source(z), "sign")


def test_no_overflow_where_the_sigmoid_is_flat():
    with np.errstate(over="ignore"):
        g = tapec.grad(lambda x: np.sum(1 / (1 + np.exp(-x))))(np.array([-1e3, 1e3]))
    assert np.array_equal(g, [0, 0])


def test_a_probability_of_zero_has_a_gradient():
    def loss(x):
        e = np.exp(x - x.max())
        return -np.log(e / e.sum())[0]

    with np.errstate(divide="ignore"):
        g = tapec.grad(loss)(np.array([-1e3, 0.0]))
    assert np.array_equal(g, [-1, 1])


def test_no_overflow_where_a_logarithm_of_cosh_is_straight():
    x = np.array([-800.0, -np.inf, 0.0, 1e-300, 800.0, np.inf])
    with np.errstate(over="ignore"):
        for gradient in (tapec.grad, tapec.jacfwd):
            slope = gradient(lambda x: np.sum(np.log(np.cosh(x))))(x)
            np.testing.assert_array_equal(slope, [-1, -1, 0, 1e-300, 1, 1])


def test_the_logarithm_of_an_absolute_value_needs_no_sign():
    gradient = tapec.grad(lambda x: np.sum(np.log(np.abs(x))))
    x = np.array([-2.0, -0.5, 4.0, np.inf])
    np.testing.assert_array_equal(gradient(x), [-0.5, -2.0, 0.25, 0.0])
    assert not calls(gradient.source(x), "sign")


@pytest.mark.parametrize("k", [2 * np.pi, 1, -3.0])
def test_the_slope_of_a_logarithm_knows_no_factor(k):
    x = np.sign(k) * np.array([0.5, 1.5, 1e300, 5e-324, np.inf])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(tapec.grad(lambda x: np.sum(np.log(k * x)))(x), 1 / x)
    point = (x[:2],)
    tapec.check_grads(lambda x: np.sum(np.log(k * x) / x), point, order=2)
    source = tapec.grad(lambda x: np.sum(np.log(x * k) * np.sin(x))).source(x[:2].repeat(9))
    assert not has(source, f"_ / ({k!r} * x)")


def test_values_on_the_way_as_sources():
    x = tapec.constant(X)
    with tapec.GradientTape(persistent=True) as tape:
        tape.watch(x)
        e = np.exp(-x)
        t = 1 + e
        y = np.sum(1 / t)
    value = np.exp(-X)
    assert np.allclose(tape.gradient(y, e).numpy(), -1 / (1 + value) ** 2)
    assert np.allclose(tape.gradient(y, [x, t])[1].numpy(), -1 / (1 + value) ** 2)


def test_quotients_on_the_way_as_sources():
    x = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        p = np.exp(x) / np.sum(np.exp(x), axis=1, keepdims=True)
        y = np.sum(np.log(p[1:]))
    value = np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)
    expected = np.where(np.arange(4)[:, None] > 0, 1 / value, 0)
    assert np.allclose(tape.gradient(y, p).numpy(), expected)


# -- shares of logaddexp ----------------------------------------------------------------------------------------------
def test_the_derivative_of_logaddexp_has_one_of_a_sigmoid():
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=3), rng.normal(size=(200, 3))
    f = tapec.hessian(lambda w: np.sum(np.logaddexp(0.0, x @ w)))
    s = 1 / (1 + np.exp(-x @ w))
    assert np.allclose(f(w), (x.T * (s * (1 - s))) @ x, rtol=1e-12)


def test_shares_of_logaddexp_along_one_operand():
    x = np.array([0.4, -1.3, 30.0])
    for f in (lambda x: np.logaddexp(0.5, x), lambda x: np.logaddexp(x, 0.5)):
        for way in (lambda f: tapec.jacfwd(tapec.jacfwd(f)), lambda f: tapec.jacfwd(tapec.grad(f)), tapec.hessian):
            share = 1 / (1 + np.exp(0.5 - x))
            np.testing.assert_allclose(np.diag(way(lambda x, f=f: np.sum(f(x)))(x)), share * (1 - share), rtol=1e-12)


def test_both_operands_of_logaddexp():
    a, b = np.array([0.3, -1.0, 40.0, -np.inf]), np.array([0.1, 2.0, -3.0, 1.0])
    second = tapec.grad(
        lambda a, b: np.sum(np.sin(tapec.grad(lambda a: np.sum(np.logaddexp(a, b)))(a))), argnums=(0, 1)
    )
    s = 1 / (1 + np.exp(b - a))
    da, db = second(a, b)
    expected = np.cos(s) * s * (1 - s)
    assert np.allclose(da, expected, rtol=1e-12, atol=1e-16) and np.allclose(db, -expected, rtol=1e-12, atol=1e-16)
    tangent = tapec.jvp(lambda a, b: tapec.grad(lambda a: np.sum(np.logaddexp(a, b)))(a), (a, b), (np.ones(4), b))[1]
    assert np.allclose(tangent, s * (1 - s) * (1 - b), rtol=1e-12, atol=1e-16)


A, LARGEST, SOME = np.array([0.3, 0.51, -0.42]), np.finfo(float).max, np.array([True, False, True])
LIKE_SHARES = {  # the user's own formulas, written as the share in the derivative of logaddexp
    "other bounds": lambda x: np.minimum(np.exp(x - np.clip(np.logaddexp(x, 2 * x + 3), -1, 1)), 1),
    "other bounds above": lambda x: np.minimum(np.exp2(x - np.clip(np.logaddexp2(x, 2 * x + 3), -LARGEST, 1)), 1),
    "at most a number": lambda x: np.minimum(
        np.exp(x - np.clip(np.logaddexp(x, x * x), -LARGEST, LARGEST)), np.where(SOME, 0.1, 2.0)
    ),
    "at most what has a slope": lambda x: np.minimum(
        np.exp(x - np.clip(np.logaddexp(x, 1.0), -LARGEST, LARGEST)), np.where(SOME, x * 0.1 + 0.1, 2.0)
    ),
    "a share": lambda x: np.minimum(np.exp(x - np.clip(np.logaddexp(x, 1.0), -LARGEST, LARGEST)), 1.0),
}


@pytest.mark.parametrize("name", LIKE_SHARES)
def test_formulas_like_a_share_have_their_own_derivatives(name):
    f = lambda x: np.sum(LIKE_SHARES[name](x))
    slopes = [(f(A + e) - f(A - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    for way in (tapec.grad, tapec.jacfwd, by_tape):
        np.testing.assert_allclose(way(f)(A), slopes, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("transform", [tapec.grad, lambda f: lambda x: tapec.value_and_grad(f)(x)[1], tapec.jacfwd])
@pytest.mark.parametrize("number", [0.0, 0, 1.5])
def test_shares_of_logaddexp_at_the_ends(transform, number):
    x = np.array([-np.inf, -800.0, -30.0, 0.0, 30.0, 800.0, np.inf, np.nan])
    with np.errstate(over="raise"):
        found = transform(lambda x: np.sum(np.logaddexp(number, x)))(x)
    with np.errstate(over="ignore"):
        expected = 1 / (1 + np.exp(number - x))
    assert np.allclose(found, expected, rtol=2e-15, atol=1e-300, equal_nan=True)


@pytest.mark.parametrize("f", [np.logaddexp, np.logaddexp2])
@pytest.mark.parametrize("optimize", [True, False])
def test_shares_of_infinities(f, optimize):
    a, b = np.array([[np.inf, 1.0, np.inf, -np.inf, np.nan, np.inf], [1.0, np.inf, -np.inf, -np.inf, np.inf, np.inf]])
    with tapec.settings(optimize=optimize), np.errstate(invalid="ignore"):
        first = tapec.grad(lambda a, b: np.sum(f(a, b)), argnums=(0, 1))
        assert np.array_equal(first(a, b), [[1, 0, 1, 0, np.nan, 0.5], [0, 1, 0, 0, np.nan, 0.5]], equal_nan=True)
        second = tapec.grad(lambda a, b: np.sum(first(a, b)[0]), argnums=(0, 1))
        slope = np.log(2) / 4 if f is np.logaddexp2 else 1 / 4  # where they are equal, as for equal numbers
        assert np.allclose(second(a, b), [[0, 0, 0, 0, np.nan, slope], [0, 0, 0, 0, np.nan, -slope]], equal_nan=True)


@pytest.mark.parametrize("optimize", [True, False])
def test_a_number_times_its_root_is_flat_at_zero(optimize):
    x = np.array([0.0, 4.0])
    with tapec.settings(optimize=optimize), np.errstate(divide="ignore"):
        for way in (tapec.grad, tapec.jacfwd, by_tape):
            np.testing.assert_array_equal(way(lambda x: np.sum(x * np.sqrt(x)))(x), [0, 3])
        np.testing.assert_array_equal(tapec.grad(lambda x: np.sum(x * np.sqrt(x * 1.0)))(x)[1], 3)
        second = tapec.jacrev(tapec.grad(lambda x: np.sum(x * np.sqrt(x))))(x)
    np.testing.assert_array_equal(np.diag(second), [np.inf, 0.375])


SHARES = {
    3.0: lambda u: 2.0 / (np.exp(u) + 3.0),
    100.0: lambda u: 2.0 / (100.0 + np.exp(u)),
    -0.5: lambda u: 2.0 / (np.exp(u) - 0.5),
}


@pytest.mark.parametrize("c", SHARES)
def test_quotients_by_shifted_exponentials_keep_digits(c):
    """Where the exponential is next to nothing, and where it is next to all; and is nothing where it overflows."""
    share = SHARES[c]
    u = np.array([-600.0, -40.0, -30.0, -5.0, 0.3, 5.0, 40.0, 300.0])
    slope = -2.0 * np.exp(u) / (np.exp(u) + c) ** 2
    second = slope * (1 - 2 * np.exp(u) / (np.exp(u) + c))
    for x, first, other in zip([u, *u], [slope, *slope], [second, *second], strict=True):
        np.testing.assert_allclose(tapec.grad(lambda u: np.sum(share(u)))(x), first, rtol=1e-13)
        np.testing.assert_allclose(tapec.jvp(share, (x,), (np.ones_like(x),))[1], first, rtol=1e-13)
        np.testing.assert_allclose(tapec.hvp(lambda u: np.sum(share(u)))(x, np.ones_like(x)), other, rtol=1e-12)
    with np.errstate(over="ignore"):
        assert tapec.grad(share)(800.0) == tapec.grad(tapec.grad(share))(800.0) == 0
    floats = entry(tapec.grad(share).source(0.5))
    assert np.finfo(float).max not in constants(floats)  # math.exp raises before that


def test_roots_of_such_quotients_keep_their_sign():
    slope = tapec.grad(lambda u: np.sqrt(1 / (np.exp(u) + 3)))
    np.testing.assert_allclose(slope(-40.0), -0.5 * np.exp(-40.0) / 3**1.5, rtol=1e-13)


# -- which programs are asked for them ------------------------------------------------------------------------------
def of_variables(pattern):
    """The names of the ops that a pattern has right above its variables."""
    below = [part for part in operands(pattern) if operands(part)]
    return {name for part in below for name in of_variables(part)} or {pattern.name}


def test_what_shortcuts_look_for_is_asked_for_first():
    steep = {*overflow_safe_exp.SLOPES, *log_of_product.EXPONENTIALS, *shares._SCALES}
    lengths = {*sums_of_squares.LENGTHS, *sums_of_squares.ROOTS, *roots_and_powers.SLOPES, *common_root_factors.ROOTS}
    innermost = OpSet({name for formula in FORMULAS for name in of_variables(formula.pattern)})
    assert steep | innermost <= EXPONENTIALS | OpSet("absolute multiply") and len(innermost) == 4
    assert lengths <= ROOTS | POWERS


@pytest.mark.parametrize(
    ("line", "exponential", "root"),
    [
        ("exp %x", True, False),
        ("absolute %x", False, True),
        ("power %x, 1.5", False, True),
        ("power %x, -0.5", False, True),
        ("power %x, 3", False, False),
        ("power %x, -1.0", False, False),
        ("power %x, %x", False, False),
        ("tanh %x", False, False),
    ],
)
def test_a_program_that_may_have_some(line, exponential, root):
    graph = parse(f"graph(%x: f64[3]) {{\n%0: f64[3] = {line}\nreturn %0\n}}")
    assert may_have_exponentials(graph.nodes) is exponential
    assert may_have_roots(graph.nodes) is root
    assert Composites((), graph.nodes).has_any is (exponential or root)


def test_programs_that_have_none_do_without():
    code = """if True:
        import sys
        import numpy as np
        import tapec

        tapec.grad(lambda x: x * x / (2.0 + x) ** 3)(3.0)
        roots, exponentials = "tapec.autodiff.composite.roots_and_powers", "tapec.autodiff.composite.exp_and_log"
        searches = {roots, exponentials, "tapec.autodiff.composite.stabilising_shift"}
        assert searches.isdisjoint(sys.modules)
        tapec.grad(lambda x: x * np.tanh(x) / np.sqrt(x * x + 1.0))(3.0)
        assert roots in sys.modules and exponentials not in sys.modules
        tapec.grad(lambda x: x * np.exp(x) / (1.0 + np.exp(x)))(3.0)
        assert exponentials in sys.modules
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.sum((np.arange(5.0) - a[0]) / np.exp(a)[1]),
        lambda a: np.sum(np.sin(np.arange(1.0, 6.0) / np.exp(a).reshape(2, 1))),
        lambda a: sum(np.sum(np.log1p(np.arange(5.0) / nu)) for nu in np.exp(a)),
    ],
)
def test_a_quotient_by_an_element_of_an_exponential_sums_what_was_broadcast(f):
    a = np.array([0.3, 0.5])
    slopes = [(f(a + e) - f(a - e)) / 2e-6 for e in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(tapec.grad(f)(a), slopes, rtol=1e-6)
