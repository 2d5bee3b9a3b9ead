"""Functions of plain numbers give NumPy's scalars, as SciPy's do."""

import numpy as np
import pytest
import scipy.special
import scipy.stats

from tapec.scipy import special, stats

CALLS = {
    "comb": (5, 2),
    "factorial": (3,),
    "perm": (5.0, 2),
    "spherical_kn": (1, 0.5),
    "spherical_jn": (1, 0.5),
    "logsumexp": (0.5,),
    "softmax": (0.5,),
    "multigammaln": (3.5, 2),
    "zeta": (2.0, 1.5),
}
SHAPES = {"beta": (2.0, 3.0), "chi2": (2.0,), "gamma": (2.0,), "lognorm": (0.5,), "t": (3.0,), "binom": (5, 0.3)}
SHAPES |= {"bernoulli": (0.3,), "poisson": (1.5,)}
DISCRETE = ("binom", "bernoulli", "poisson")
METHODS = {False: ("logpdf", "pdf"), True: ("logpmf", "pmf")}
CASES = [
    (name, method)
    for name in stats.__all__
    if name not in ("dirichlet", "multivariate_normal")
    for method in (*METHODS[name in DISCRETE], "cdf", "sf", "logcdf", "logsf")
]


@pytest.mark.parametrize("name", CALLS)
def test_functions(name):
    got, plain = getattr(special, name)(*CALLS[name]), getattr(scipy.special, name)(*CALLS[name])
    assert type(got) is type(plain) is np.float64
    np.testing.assert_allclose(got, plain)


@pytest.mark.parametrize(("name", "method"), CASES)
@pytest.mark.parametrize("x", [1, 0.25, -3.0])
def test_distributions(name, method, x):
    given = (x, *SHAPES.get(name, ()))
    got, plain = getattr(getattr(stats, name), method)(*given), getattr(getattr(scipy.stats, name), method)(*given)
    assert type(got) is type(plain) is np.float64
    np.testing.assert_allclose(got, plain, rtol=1e-12, atol=1e-15)


def test_densities_of_several_variables():
    x = np.array([0.25, 0.75])
    for got, plain in (
        (stats.dirichlet.logpdf(x, x), scipy.stats.dirichlet.logpdf(x, x)),
        (stats.multivariate_normal.pdf(x, x, np.eye(2)), scipy.stats.multivariate_normal.pdf(x, x, np.eye(2))),
    ):
        assert type(got) is type(plain) is np.float64 and np.isclose(got, plain)
