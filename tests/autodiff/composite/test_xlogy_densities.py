"""Distribution functions where their densities vanish: derivatives of every order that are finite there."""

from math import comb

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy import special

import tapec
from tests.autodiff.composite.singular_powers.test_sums_of_squares import WAYS
from tests.properties import call_count

P = Polynomial([0, 1])


def binomial(k, n):
    return sum(comb(n, j) * P**j * (1 - P) ** (n - j) for j in range(k + 1))


def negative_binomial(k, n):
    return sum(comb(n + j - 1, j) * P**n * (1 - P) ** j for j in range(k + 1))


POLYNOMIALS = {
    **{f"bdtr, {k} of 4": (lambda p, k=k: special.bdtr(k, 4, p), binomial(k, 4)) for k in range(5)},
    **{f"bdtrc, {k} of 3": (lambda p, k=k: special.bdtrc(k, 3, p), 1 - binomial(k, 3)) for k in range(3)},
    **{f"nbdtr, {n}": (lambda p, n=n: special.nbdtr(1, n, p), negative_binomial(1, n)) for n in (1, 2, 3)},
    "nbdtrc": (lambda p: special.nbdtrc(0, 2, p), 1 - negative_binomial(0, 2)),
    "betainc": (lambda p: special.betainc(2.0, 3.0, p), 1 - binomial(1, 4)),
    "betainc of arrays": (lambda p: special.betainc(np.full(3, 1), np.array([3, 3, 3]), p), 1 - binomial(0, 3)),
    "betaincc": (lambda p: special.betaincc(3.0, 1.0, p), binomial(2, 3)),
}


@pytest.mark.sampled(one_in=4, per="name")
@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", POLYNOMIALS)
@pytest.mark.filterwarnings("ignore:non-integer arg n")  # of SciPy, in single precision
def test_probabilities_of_zero_and_one(name, dtype, optimize):
    f, polynomial = POLYNOMIALS[name]
    p = np.array([0.0, 0.3, 1.0], dtype)
    loss, close = lambda p: np.sum(f(p)), {"rtol": 1e-5 if dtype is np.float32 else 1e-12, "atol": 1e-6}
    with tapec.settings(optimize=optimize):
        np.testing.assert_allclose(tapec.grad(loss)(p), polynomial.deriv()(p), **close)
        for way in WAYS.values():
            np.testing.assert_allclose(way(loss)(p), np.diag(polynomial.deriv(2)(p)), **close)
        np.testing.assert_allclose(summed_grad(summed_grad(tapec.grad(loss)))(p), polynomial.deriv(3)(p), **close)


def summed_grad(f):
    return tapec.grad(lambda x: np.sum(f(x)))


AT_ZERO = {  # with the first and second derivatives of its series there
    "gammainc, 1": (lambda x: special.gammainc(1.0, x), 1, -1),
    "gammainc, 2": (lambda x: special.gammainc(2, x), 0, 1),
    "gammainc, 2.5": (lambda x: special.gammainc(2.5, x), 0, 0),
    "gammaincc, 3": (lambda x: special.gammaincc(3.0, x), 0, 0),
    "gammainc, 1.5": (lambda x: special.gammainc(1.5, x), 0, np.inf),
    "betainc, 1.5": (lambda x: special.betainc(1.5, 2.0, x), 0, np.inf),
    "pdtr": (lambda x: special.pdtr(1, x), 0, -1),
    "pdtrc": (lambda x: special.pdtrc(0, x), 1, -1),
    "chdtr": (lambda x: special.chdtr(4.0, x), 0, 0.25),
    "gdtr": (lambda x: special.gdtr(3.0, 2.0, x), 0, 9),
    "fdtr": (lambda x: special.fdtr(2.0, 6.0, x), 1, -4 / 3),
    "chndtr": (lambda x: special.chndtr(x, 4.0, 1.0), 0, 0.25 * np.exp(-0.5)),
}


@pytest.mark.parametrize("name", AT_ZERO)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:overflow")
def test_at_zero(name):
    f, first, second = AT_ZERO[name]
    x, loss = np.zeros(1), lambda x: np.sum(f(x))
    np.testing.assert_allclose(tapec.grad(loss)(x), [first], atol=1e-14)
    for way in WAYS.values():
        np.testing.assert_allclose(way(loss)(x), [[second]], rtol=1e-12, atol=1e-14)
    tapec.check_grads(loss, (np.array([0.4, 0.7]),), order=2)


def test_exponents_of_which_some_are_zero():
    """Of 1 - (1 - p) ** 3 and of p ** 2 * (6 - 8 * p + 3 * p ** 2), at zero."""
    a, p = np.array([1.0, 2.0]), np.zeros(2)
    f = lambda p, a=a: np.sum(special.betainc(a, 3.0, p))
    np.testing.assert_allclose(tapec.grad(f)(p), [3.0, 0.0], atol=1e-12)
    for second in (tapec.hessian, lambda f: tapec.jacfwd(tapec.jacfwd(f))):
        np.testing.assert_allclose(np.diag(second(f)(p)), [-6.0, 12.0], rtol=1e-12)
        np.testing.assert_allclose(np.diag(second(lambda p: f(p, a))(p)), [-6.0, 12.0], rtol=1e-12)


def test_powers_of_one_exponent():
    a, x = np.array([3.0, 1.5]), np.array([0.4, 0.7])
    density = lambda x: np.exp(special.xlogy(a, x) + special.xlog1py(a, -x))
    tapec.check_grads(lambda x: np.sum(special.betainc(a, a, x)), (x,), order=2)
    slope = tapec.grad(lambda x: np.sum(density(x)))
    np.testing.assert_allclose(slope(x), a * (x * (1 - x)) ** (a - 1) * (1 - 2 * x), rtol=1e-12)
    second = a * (x * (1 - x)) ** (a - 2) * ((a - 1) * (1 - 2 * x) ** 2 - 2 * x * (1 - x))
    np.testing.assert_allclose(np.diag(tapec.hessian(lambda x: np.sum(density(x)))(x)), second, rtol=1e-12)


def test_parameters_of_a_density_have_derivatives():
    """Though those of the distribution function have none in closed form."""
    density = lambda a, b, x: tapec.grad(lambda x: np.sum(special.betainc(a, b, x)))(x)
    a, b, x = np.array([1.5, 2.0]), np.array([2.5, 0.5]), np.array([0.2, 0.6])
    step = 1e-5 * np.eye(2)
    for k in (0, 1):
        f = lambda c, k=k: np.sum(density(*(c if i == k else p for i, p in enumerate((a, b))), x) ** 2)
        c = (a, b)[k]
        np.testing.assert_allclose(tapec.grad(f)(c), [(f(c + h) - f(c - h)) / 2e-5 for h in step], rtol=1e-8)


def test_large_parameters_do_not_overflow():
    a, b, x = 2000.0, 3000.0, np.array([0.4])
    second = tapec.hessian(lambda x: np.sum(special.betainc(a, b, x)))(x)
    density = np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - special.betaln(a, b))
    np.testing.assert_allclose(second[0], density * ((a - 1) / x - (b - 1) / (1 - x)), rtol=1e-9)


def test_densities_of_the_user_have_one_exponential():
    g = tapec.grad(lambda m: np.sum(np.exp(special.xlogy(3, m) - m)))
    m = np.linspace(0.5, 3, 100)
    np.testing.assert_allclose(g(m), np.exp(-m) * m**2 * (3 - m))
    assert call_count(g.source(m), "np.exp") == 1
