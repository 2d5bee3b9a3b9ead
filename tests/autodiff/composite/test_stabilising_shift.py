"""The maximum before exponentials: where it cancels, and where it does not."""

import numpy as np
import pytest

import tapec
from tests.properties import calls, has

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 3))
LABELS = np.array([0, 2, 1, 1])


def exps(x):
    return np.exp(x - x.max(axis=1, keepdims=True))


def softmax(x):
    e = exps(x)
    e /= e.sum(axis=1, keepdims=True)
    return np.sum(e**3)


def unnormalised(x):
    e = exps(x)
    return np.sum((e @ X.T) / np.sum(e, axis=-1)[:, None])


def log_sum_exp(x):
    m = np.max(x, axis=1)
    return np.sum((m + np.log(np.sum(np.exp(x - m[:, None]), axis=1))) ** 2)


def two_maxima(x):
    return np.sum(np.max(x, axis=1) + np.log(np.sum(np.exp(x - np.max(x, axis=1, keepdims=True)), axis=1)))


def cross_entropy(x):
    z = x - x.max(axis=1, keepdims=True)
    return np.mean(np.log(np.exp(z).sum(axis=1)) - z[np.arange(4), LABELS])


def picked_along(x):
    z = x - x.max(axis=1, keepdims=True)
    z = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return np.take_along_axis(z, LABELS[:, None], axis=1).sum()


def masked(x):
    x = np.where(X > -0.5, x, -np.inf)
    e = exps(x)
    return np.sum((e / e.sum(axis=1, keepdims=True)) ** 2)


def masked_after(x):
    e = np.where(X > -0.5, exps(x), 0.0)
    return np.sum((e / e.sum(axis=1, keepdims=True)) ** 2)


def with_temperature(x):
    e = np.exp((x - x.max()) / 0.7)
    return np.sum((e * e / np.sum(e**2, axis=1, keepdims=True)) ** 2)


def of_columns(x):
    m = x.max(axis=0)
    e = np.exp(x - m)
    return np.sum((e / e.sum(axis=0)) ** 2 + np.sqrt(e * e) / np.cumsum(e, axis=0)[-1])


def transposed(x):
    e = exps(x).T
    return np.sum((e / e.sum(axis=0)) ** 2)


def with_finite_maximum(x):
    m = x.max(axis=1, keepdims=True)
    e = np.exp(x - np.where(np.isfinite(m), m, -np.inf))
    return np.sum((e / e.sum(axis=1, keepdims=True)) ** 2)


CANCELS = [
    softmax,
    unnormalised,
    log_sum_exp,
    two_maxima,
    cross_entropy,
    picked_along,
    masked,
    masked_after,
    with_temperature,
    of_columns,
    transposed,
    with_finite_maximum,
]


def two_kinds(x):
    """Softmax, and the maximum for its own sake."""
    return softmax(x) + np.sum(x.max(axis=1))


def plus_one(x):
    e = exps(x)
    return np.sum(e / (1 + e.sum(axis=1, keepdims=True)))


def other_rows(x):
    e = exps(x)
    return np.sum(e / e[::-1].sum(axis=1, keepdims=True))


def whole_sum(x):
    e = exps(x)
    return np.sum((e / e.sum()) ** 2)


def one_of_the_rows(x):
    e = exps(x)
    return np.sum((e / e[:1].sum(axis=1)) ** 2)


def scaled_twice(x):
    e = np.exp(2 * (x - x.max(axis=1, keepdims=True)))
    return np.sum(e / np.sqrt(exps(x).sum(axis=1, keepdims=True)))


def ratio(x):
    return np.sum(x / (3 + x.max(axis=1, keepdims=True)))


def weighted_rows(x):
    m = x.max(axis=1, keepdims=True)
    return np.sum(X[:3, :1].T @ (m[:3] + np.log(np.exp(x[:3] - m[:3]).sum(axis=0)[:, None])))


def picked_elsewhere(x):
    z = x - x.max(axis=1, keepdims=True)
    return np.mean(np.log(np.exp(z).sum(axis=1)) - z[np.arange(4)[::-1], LABELS])


STAYS = [
    two_kinds,
    plus_one,
    other_rows,
    whole_sum,
    one_of_the_rows,
    scaled_twice,
    ratio,
    weighted_rows,
    picked_elsewhere,
]


def passes_by(f):
    """Does nothing of the gradient ask where the maximum was?"""
    gradient = tapec.grad(f)
    gradient(X)
    return not has(gradient.source(X), "_ == _") and not calls(gradient.source(X), "equal")


@pytest.mark.parametrize("f", CANCELS)
def test_a_maximum_that_cancels(f):
    assert passes_by(f)
    tapec.check_grads(f, (X,), order=2)


@pytest.mark.parametrize("f", STAYS)
def test_a_maximum_that_matters(f):
    assert not passes_by(f)
    tapec.check_grads(f, (X,), order=2)


def test_what_depends_on_the_maximum_alone():
    t = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        e = np.exp(X - np.max(t, axis=1, keepdims=True))
        y = np.sum((e / np.sum(e, axis=1, keepdims=True)) ** 2)
    assert np.array_equal(tape.gradient(y, t).numpy(), np.zeros_like(X))


def test_a_maximum_that_is_a_source_keeps_its_gradient():
    t = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        m = np.max(t, axis=1)
        y = np.sum(m + np.log(np.sum(np.exp(t - m[:, None]), axis=1)))
    assert np.allclose(tape.gradient(y, m).numpy(), 0, atol=1e-15)


def test_values_on_the_way_are_targets_too():
    t = tapec.constant(X)
    with tapec.GradientTape(persistent=True) as tape:
        tape.watch(t)
        e = exps(t)
        y = e / np.sum(e, axis=1, keepdims=True)
    one, both = tape.gradient(y, t), tape.gradient([y, e], t)
    f = lambda x: np.sum(exps(x) / np.sum(exps(x), axis=1, keepdims=True) + exps(x))
    assert np.allclose(one.numpy(), 0, atol=1e-15)
    assert np.allclose(both.numpy(), tapec.grad(f)(X))


def test_a_shift_over_zero_stays():
    with np.errstate(all="ignore"):
        assert not passes_by(lambda x: np.sum(np.exp((x - x.max()) / 0.0)))


def test_no_digits_are_lost_far_out():
    """What would cancel is never added: the gradient of a sure prediction keeps its relative precision."""
    x = np.array([[0.0, 40.0]])
    g = tapec.grad(lambda x: -np.log(exps(x)[0, 1] / np.sum(exps(x))))(x)
    assert np.isclose(g[0, 0], np.exp(-40.0), rtol=1e-12)


def test_a_minimum_cancels_as_a_maximum_does():
    def loss(x):
        m = x.min(axis=1, keepdims=True)
        return np.sum(m[:, 0] - np.log(np.exp(m - x).sum(axis=1)))

    f = tapec.grad(loss)
    e = np.exp(-X)
    assert np.allclose(f(X), e / e.sum(axis=1, keepdims=True), rtol=1e-12)
    assert not has(f.source(X), "_ == _") and not calls(f.source(X), "equal")
