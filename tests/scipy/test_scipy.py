"""tapec.scipy against SciPy: values, derivatives by differences, and that plain arrays give plain results."""

import copy
import functools

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.spatial
import scipy.special
import scipy.stats
from scipy.spatial.distance import pdist

import tapec
import tapec.scipy.linalg as linalg
import tapec.scipy.signal as signal
import tapec.scipy.special as special
import tapec.scipy.stats as stats
from tapec.errors import UnsupportedError
from tests.ops.derivatives import check
from tests.scipy.against import compare

RNG = np.random.default_rng(3)
X = RNG.standard_normal((2, 3))
P = RNG.uniform(0.3, 2.0, (2, 3))
U = RNG.uniform(0.1, 0.9, (2, 3))
M = RNG.standard_normal((3, 3))
SPD = M @ M.T + 2 * np.eye(3)
K = np.array([0.0, 1.0, 4.0])


def spherical(s):
    return s.spherical_jn, s.spherical_yn, s.spherical_in, s.spherical_kn


SPECIAL = {
    "logsumexp": (lambda s: lambda x: s.logsumexp(x), X),
    "logsumexp axis": (lambda s: lambda x: s.logsumexp(x, axis=1, keepdims=True), X),
    "logsumexp b": (lambda s: lambda x: s.logsumexp(x, axis=0, b=np.array([[1.0], [2.0]])), X),
    "logsumexp sign": (lambda s: lambda x: s.logsumexp(x, b=np.array([[1.0], [-2.0]]), return_sign=True), X),
    "softmax": (lambda s: lambda x: s.softmax(x, axis=1), X),
    "log_softmax": (lambda s: lambda x: s.log_softmax(x, axis=-1), X),
    "polygamma": (lambda s: lambda x: s.polygamma(2, x), P),
    "polygamma array": (lambda s: lambda x: s.polygamma(np.array([0, 1, 3]), x), P),
    "multigammaln": (lambda s: lambda x: s.multigammaln(x + 2.0, 3), P),
    "zeta": (lambda s: lambda x: s.zeta(2.0, x), P),
    "ufunc": (lambda s: lambda x: s.erf(x) + s.expit(x), X),
    "factorial": (lambda s: lambda x: s.factorial(x), P),
    "comb": (
        lambda s: lambda x: [s.comb(4.5 + x, 2), s.comb(7.5, x), s.comb(x, x + 1), s.comb(x, 2, repetition=True)],
        P,
    ),
    "perm": (lambda s: lambda x: [s.perm(4.5 + x, 2), s.perm(7.5, x), s.perm(x, x + 1)], P),
    "spherical": (lambda s: lambda x: [f(n, x) for f in spherical(s) for n in range(4)], X),
    "spherical of many": (lambda s: lambda x: [f(np.array([0, 2, 5]), x) for f in spherical(s)], X),
    "spherical slopes": (lambda s: lambda x: [f(n, x, derivative=True) for f in spherical(s) for n in range(3)], X),
    "spherical complex": (lambda s: lambda x: [f(2, x, True) + f(1, x) for f in spherical(s)], P + 0.3j),
}
LINALG = {
    "solve_triangular": (lambda s: lambda a: s.solve_triangular(a, K, lower=True), SPD),
    "cho": (lambda s: lambda a: s.cho_solve((np.linalg.cholesky(SPD), True), a), M),
    "block_diag": (lambda s: lambda a: s.block_diag(a, 2.0, a[:2]), M),
    "toeplitz": (lambda s: lambda a: s.toeplitz(a[0], a[:, 0]), M),
    "expm": (lambda s: lambda a: s.expm(a), M),
    "logm": (lambda s: lambda a: s.logm(a), SPD),
    "sqrtm": (lambda s: lambda a: s.sqrtm(a), SPD),
    "solve_sylvester": (lambda s: lambda a: s.solve_sylvester(a, np.eye(2), X.T), SPD),
    "solve_banded": (lambda s: lambda a: s.solve_banded((1, 1), a, K), M + np.array([[0], [5], [0]])),
    "solve": (lambda s: lambda a: s.solve(a, K), SPD),
    "solve transposed": (lambda s: lambda a: s.solve(a, K, transposed=True), SPD + M),
    "solve from a triangle": (lambda s: lambda a: [s.solve(a, K, lower, assume_a="sym") for lower in (0, 1)], SPD + M),
    "solve hermitian": (lambda s: lambda a: s.solve(a + 1j * a.T, K, assume_a="her", lower=True), SPD + M),
    "det inv": (lambda s: lambda a: [s.det(a), s.inv(a), s.norm(a)], SPD),
    "unchecked": (lambda s: lambda a: [f(a, check_finite=False) for f in (s.det, s.inv, s.norm, s.svdvals)], SPD),
    "unchecked values": (lambda s: lambda a: s.eigh(a + a.T, eigvals_only=True, check_finite=False), SPD),
}
SIGNAL = {
    "convolve": (lambda s: lambda x: [s.convolve(x, P[:, :2], m) for m in ("full", "same", "valid")], X),
    "correlate": (lambda s: lambda x: s.correlate(x, P[:, :2], "valid"), X),
    "fftconvolve": (lambda s: lambda x: s.fftconvolve(x, P, "same"), X),
}
STATS = {
    "norm": (lambda s: lambda x: [s.norm.logpdf(x, 0.3, P), s.norm.pdf(x), s.norm.cdf(x, 0.1), s.norm.sf(x)], X),
    "norm logs": (lambda s: lambda x: [s.norm.logcdf(x, 0.3, 2.0), s.norm.logsf(x, scale=2.0)], X),
    "norm scale": (lambda s: lambda c: s.norm.logpdf(X, loc=c, scale=c), P),
    "t": (lambda s: lambda x: [s.t.pdf(x, 3.0), s.t.logpdf(x, 2.5, 0.1, 2.0), s.t.cdf(x, 3.0), s.t.logcdf(x, 4.0)], X),
    "t df": (lambda s: lambda v: s.t.logpdf(X, v), P),
    "gamma": (lambda s: lambda x: [s.gamma.pdf(x, 2.5), s.gamma.logpdf(x, 1.5, scale=2.0), s.gamma.cdf(x, 2.0)], P),
    "gamma a": (lambda s: lambda a: s.gamma.logpdf(1.3, a), P),
    "beta": (lambda s: lambda x: [s.beta.pdf(x, 2.5, 1.5), s.beta.logpdf(x, b=2.0, a=3.0), s.beta.cdf(x, 2.0, 3.0)], U),
    "beta a": (lambda s: lambda a: s.beta.logpdf(0.3, a, 2.0), P),
    "chi2": (lambda s: lambda x: [s.chi2.pdf(x, 2.5), s.chi2.logpdf(x, 3.0), s.chi2.cdf(x, 2.0)], P),
    "others": (lambda s: lambda x: [s.cauchy.pdf(x), s.logistic.logpdf(x), s.laplace.cdf(x), s.laplace.logpdf(x)], X),
    "positive": (lambda s: lambda x: [s.expon.logpdf(x), s.lognorm.pdf(x, 0.7), s.lognorm.cdf(x, 0.7)], P),
    "halves": (
        lambda s: lambda x: [s.halfnorm.logpdf(x, scale=P), s.halfnorm.cdf(x), s.halfcauchy.logpdf(x, 0, 2.0)],
        P,
    ),
    "tails of halves": (lambda s: lambda x: [s.halfnorm.logsf(x), s.halfnorm.logcdf(x), s.halfcauchy.sf(x)], P),
    "outside": (lambda s: lambda x: [s.gamma.pdf(-x, 2.0), s.beta.cdf(x + 1, 2.0, 3.0), s.uniform.pdf(x + 1)], P),
    "poisson": (lambda s: lambda m: [s.poisson.logpmf(K, m), s.poisson.pmf(2, m), s.poisson.cdf(K, m)], P),
    "binom": (lambda s: lambda p: [s.binom.logpmf(K, 5, p), s.binom.cdf(K, 4, p), s.bernoulli.pmf(1, p)], U),
    "tails": (lambda s: lambda x: [s.cauchy.cdf(x), s.cauchy.sf(x), s.laplace.sf(x), s.laplace.logcdf(x)], X),
    "positive tails": (lambda s: lambda x: [s.expon.logsf(x), s.lognorm.logcdf(x, 0.7), s.lognorm.logsf(x, 0.7)], P),
    "sf of counts": (lambda s: lambda p: [s.poisson.sf(K, p), s.binom.sf(K, 4, p), s.bernoulli.sf(0, p)], U),
    "dirichlet": (lambda s: lambda a: [s.dirichlet.logpdf(U[0] / U[0].sum(), a), s.dirichlet.pdf([0.2, 0.3], a)], P[0]),
    "mvn": (lambda s: lambda x: [s.multivariate_normal.logpdf(x, K, SPD), s.multivariate_normal.pdf(x, cov=SPD)], X),
    "mvn cov": (
        lambda s: (
            lambda a: [
                s.multivariate_normal.logpdf(X, None, a @ a.T + np.eye(3)),
                s.multivariate_normal.entropy(cov=a @ a.T + np.eye(3)),
            ]
        ),
        M,
    ),
    "mvn scalar": (lambda s: lambda x: s.multivariate_normal.logpdf(x, 0.5, 2.0), X[0]),
    "mvn of one": (lambda s: lambda x: s.multivariate_normal.logpdf(x[None, :1], K, SPD), X),
    "mvn of one number": (lambda s: lambda x: s.multivariate_normal.logpdf(x[0, :1]), X),
}


def run(table, name, ours, scipys):
    compare(*table[name], ours, scipys)


@pytest.mark.parametrize("name", SPECIAL)
def test_special(name):
    run(SPECIAL, name, special, scipy.special)


@pytest.mark.parametrize("sign", [-1, 1])
def test_spherical_functions_at_the_centre(sign):
    """j_n, and with the other sign i_n, is z^n / (2n + 1)!! (1 + sign z² / (4n + 6) + ...)."""
    f = special.spherical_jn if sign < 0 else special.spherical_in
    for n, slopes in enumerate([(0, sign / 3), (1 / 3, 0), (0, 2 / 15), (0, 0)]):
        first, forward = tapec.grad(lambda z, n=n: f(n, z)), tapec.jacfwd(lambda z, n=n: f(n, z))
        assert [first(0.0), tapec.grad(first)(0.0)] == pytest.approx(slopes, abs=1e-15)
        assert [forward(0.0), tapec.jacfwd(forward)(0.0)] == pytest.approx(slopes, abs=1e-15)


HARMONICS = {  # in coordinates of the sphere: written out, without the factor √(1 / π)
    (0, 0): lambda x, y, z: 0.5 + 0 * x,
    (1, 0): lambda x, y, z: 0.75**0.5 * z,
    (1, -1): lambda x, y, z: 0.375**0.5 * (x - 1j * y),
    (2, 1): lambda x, y, z: -(1.875**0.5) * (x + 1j * y) * z,
    (2, -2): lambda x, y, z: (15 / 32) ** 0.5 * (x - 1j * y) ** 2,
    (3, 0): lambda x, y, z: 0.25 * 7**0.5 * (5 * z**3 - 3 * z),
    (3, 2): lambda x, y, z: (105 / 32) ** 0.5 * (x + 1j * y) ** 2 * z,
    (1, 2): lambda x, y, z: 0 * x,
}


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("n, m", HARMONICS)
def test_spherical_harmonics(n, m):
    """Values and derivatives of first and second order, at the poles too."""

    def written(angles):
        theta, phi = angles
        x, y = np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi)
        return HARMONICS[n, m](x, y, np.cos(theta)) / np.pi**0.5

    def found(angles):
        return special.sph_harm_y(n, m, angles[0], angles[1])

    for angles in np.array([[0.0, 0.7], [0.4, -2.0], [1.9, 3.0], [np.pi, 0.7]]):
        for part in (np.real, np.imag):
            f, g = (lambda a, h=h, part=part: part(h(a) + 0j) for h in (found, written))
            np.testing.assert_allclose(f(angles), g(angles), atol=1e-14)
            np.testing.assert_allclose(tapec.grad(f)(angles), tapec.grad(g)(angles), atol=1e-13)
            np.testing.assert_allclose(tapec.hessian(f)(angles), tapec.hessian(g)(angles), atol=1e-13)


@pytest.mark.parametrize("name", LINALG)
def test_linalg(name):
    run(LINALG, name, linalg, scipy.linalg)


@pytest.mark.parametrize("name", SIGNAL)
def test_signal(name):
    run(SIGNAL, name, signal, scipy.signal)


@pytest.mark.parametrize("name", STATS)
def test_stats(name):
    run(STATS, name, stats, scipy.stats)


@pytest.mark.parametrize(
    "make",
    [
        lambda s, p: s.norm(p[0], scale=p[1]).logpdf(1.5),
        lambda s, p: s.gamma(2.0, 0.0, p[1]).cdf(p[0]) + s.poisson(p[0]).logpmf(2),
        lambda s, p: s.multivariate_normal([0.0, 1.0], np.eye(2)).logpdf(p),
    ],
)
def test_distributions_with_their_parameters(make):
    p = np.array([0.7, 1.2])
    assert tapec.compile(lambda p: make(stats, p))(p) == pytest.approx(make(scipy.stats, p), rel=1e-14)
    tapec.check_grads(lambda p: make(stats, p), (p,), order=1)


def test_distributions_do_the_rest_with_numbers():
    np.testing.assert_array_equal(stats.norm.rvs(size=3, random_state=1), scipy.stats.norm.rvs(size=3, random_state=1))
    assert stats.poisson(3.0).ppf(0.5) == scipy.stats.poisson(3.0).ppf(0.5)
    assert stats.norm(1.0, 2.0).interval(0.9) == scipy.stats.norm(1.0, 2.0).interval(0.9)
    assert copy.deepcopy(stats.norm(1.0)).mean() == 1.0
    with pytest.raises(UnsupportedError, match="Fix: give it a tapec.custom_gradient"):
        tapec.grad(lambda q: stats.norm.ppf(q))(0.3)
    with pytest.raises(AttributeError, match="has no attribute 'logpfd'"):
        stats.norm(0.0, 1.0).logpfd(0.0)


EDGES = np.array([-np.inf, -50.0, -1.0, 0.0, 0.5, 1.0, 2.0, 50.0, np.inf, np.nan])
SHAPES = {"t": (3.0,), "gamma": (1.0,), "chi2": (2.0,), "lognorm": (0.7,), "beta": (1.0, 3.0), "poisson": (0.5,)}
SHAPES |= {"binom": (9, 0.1), "bernoulli": (0.3,)}


@pytest.mark.parametrize("what", ["logpdf", "pdf", "cdf", "sf", "logcdf", "logsf"])
@pytest.mark.parametrize("name", [n for n in stats.__all__ if n not in ("dirichlet", "multivariate_normal")])
def test_edges_and_tails_of_distributions(name, what):
    """nan stays nan, the ends of a support belong to it, and small tails are not one less one."""
    ours, scipys = getattr(stats, name), getattr(scipy.stats, name)
    what = what.replace("pdf", "pmf") if name in ("poisson", "binom", "bernoulli") else what
    shapes = SHAPES.get(name, ())
    with np.errstate(all="ignore"):
        found = getattr(ours, what)(tapec.constant(EDGES), *shapes).numpy()
        expected = getattr(scipys, what)(EDGES, *shapes)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-15)
    tiny = np.abs(expected) < 1e-15 if "log" not in what else np.isneginf(expected)
    np.testing.assert_allclose(found[tiny], expected[tiny], rtol=1e-9)


@pytest.mark.parametrize("name", ["gamma", "beta", "expon", "uniform", "lognorm", "halfnorm", "halfcauchy"])
def test_gradients_are_zero_outside_of_a_support(name):
    x = np.array([-1.0, -0.5])
    for what in ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf"):
        f = getattr(getattr(stats, name), what)
        assert (tapec.grad(lambda x, f=f: np.sum(f(x, *SHAPES.get(name, ()))))(x) == 0).all()


@pytest.mark.parametrize("name, shapes", [("beta", (2.0, 3.0)), ("gamma", (3.2,)), ("lognorm", (0.7,))])
def test_densities_that_are_zero_at_the_end_of_their_support_are_flat_there(name, shapes):
    x = np.zeros(2)
    for k in range(1, 1 + len(shapes)):
        args = [x, *shapes]
        found = tapec.grad(lambda *args: np.sum(getattr(stats, name).pdf(*args)), argnums=(0, k))(*args)
        assert (found[0] == 0).all() and found[1] == 0


NAMED = {
    "poisson": lambda s, p: [s.poisson.pmf([1, 2], mu=p), s.poisson.cdf([1, 2], p, 1), s.poisson.logsf(2, p, loc=1)],
    "binom": lambda s, p: [s.binom.logpmf([1, 2], n=4, p=p), s.binom.sf([1, 2], 4, p, 1), s.binom.cdf(2, 4, p=p)],
    "bernoulli": lambda s, p: [s.bernoulli.pmf([1, 2], p, 1), s.bernoulli.logcdf(0, p=p)],
    "gamma": lambda s, p: [s.gamma.pdf(1.5, a=p), s.gamma.logpdf(1.5, p, 0.1, 2.0), s.gamma.cdf(1.5, 2.0, scale=p)],
}


@pytest.mark.parametrize("name", NAMED)
def test_parameters_by_position_and_by_name(name):
    p = np.array(0.3)
    for got, want in zip(tapec.compile(lambda p: NAMED[name](stats, p))(p), NAMED[name](scipy.stats, p), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


OF_NONE = [  # parameters that are none, among others
    *[(name, (0.5, s)) for name in ("norm", "cauchy", "logistic", "laplace", "expon") for s in (2.0, 0.0, -1.0)],
    *[(name, (0.5, s)) for name in ("halfnorm", "halfcauchy", "uniform") for s in (2.0, 0.0, -1.0)],
    *[(name, (a, 0.0, s)) for name in ("gamma", "chi2", "t", "lognorm") for a, s in ((2, 1.5), (-1.5, 2.0), (1.5, -1))],
    *[("beta", p) for p in ((2.0, 3.0), (-0.5, 3.0), (2.0, 0.0), (2.0, 3.0, 0.0, -2.0))],
    *[("poisson", (m, 1)) for m in (1.5, 0.0, -1.0, np.nan)],
    *[("binom", p) for p in ((5, 0.3), (5.0, 1.5), (2.5, 0.3), (-1, 0.3), (5, -0.1), (0, 1.0))],
    *[("bernoulli", (p,)) for p in (0.3, 1.0, 1.5, -0.5)],
]


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize(("name", "given"), OF_NONE)
def test_parameters_of_no_distribution_give_nan(name, given):
    """SciPy counts what is beyond the last number all the same."""
    x = np.array([-1.0, 0.0, 0.4, 1.0, 2.0, 7.0])
    counts = hasattr(getattr(scipy.stats, name), "pmf")
    for kind in ("logpmf" if counts else "logpdf", "pmf" if counts else "pdf", "cdf", "sf", "logcdf", "logsf"):
        ours, theirs = [getattr(getattr(s, name), kind) for s in (stats, scipy.stats)]
        with np.errstate(all="ignore"):
            wanted = theirs(x, *given)
            found = tapec.compile(ours)(x, *given), tapec.compile(functools.partial(ours, x))(*map(float, given))
        if counts and np.isnan(getattr(scipy.stats, name).pmf(0, *given)):
            wanted = np.full(6, np.nan)
        for y in found:
            np.testing.assert_allclose(y, wanted, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("f", [stats.norm.pdf, stats.norm.cdf, stats.expon.pdf])
def test_densities_of_single_precision_stay(f):
    assert tapec.compile(f)(np.ones(2, np.float32), 0.5, 2.0).dtype == np.float32


BAD_PARAMETERS = {
    "too many": (lambda d: d.norm.pdf(0.5, 0, 1, 2), "3 parameters were given; there are loc, scale"),
    "missing": (lambda d: d.poisson.pmf(1), "missing shape parameter 'mu'"),
    "unknown": (lambda d: d.binom.pmf(1, 5, 0.3, scale=1), "unexpected keyword argument 'scale'"),
}


@pytest.mark.parametrize("name", BAD_PARAMETERS)
def test_parameters_that_a_distribution_has_not(name):
    call, match = BAD_PARAMETERS[name]
    with pytest.raises(TypeError):
        call(scipy.stats)
    with pytest.raises(TypeError, match=match):
        call(stats)


def test_integers_by_transforms_are_floats():
    n, k = np.arange(5), np.array([1, 2, 1])
    for name in ("fftconvolve", "oaconvolve", "convolve"):
        found, expected = getattr(signal, name)(tapec.constant(n), k), getattr(scipy.signal, name)(n, k)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)


def test_what_is_not_known_is_not_ignored():
    with pytest.raises(TypeError, match="unexpected keyword"):
        linalg.solve(SPD, K, transpose=True)


STACKED = {  # of one matrix
    "expm": lambda a: linalg.expm(a),
    "sqrtm": lambda a: linalg.sqrtm(a @ a.T),
    "solve_triangular": lambda a: linalg.solve_triangular(a, a[0]),
    "solve_sylvester": lambda a: linalg.solve_sylvester(a, a, a),
    "solve_banded": lambda a: linalg.solve_banded((1, 1), a, a[0]),
}


@pytest.mark.parametrize("name", STACKED)
def test_loops_over_matrices_know_scipy(name):
    f = STACKED[name]
    a = np.random.default_rng(2).standard_normal((2, 3, 3)) + 4 * np.eye(3)
    gradient = lambda a: np.sum(f(a) * np.sin(1 + f(a)))
    np.testing.assert_allclose(tapec.vmap(f)(a), [tapec.compile(f)(m) for m in a], rtol=1e-10)
    wanted = [tapec.grad(gradient)(m) for m in a]
    np.testing.assert_allclose(tapec.vmap(tapec.grad(gradient))(a), wanted, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(tapec.grad(lambda a: np.sum(tapec.vmap(gradient)(a)))(a), wanted, rtol=1e-9, atol=1e-10)


def test_random_vectors_of_scipy_are_no_draws():
    a = np.diag([1.0, 2.0, 3.0]) + 0.1
    np.testing.assert_allclose(tapec.vmap(linalg.logm)(np.stack([a, a])), [scipy.linalg.logm(a)] * 2)
    f = tapec.grad(lambda a: np.sum(linalg.logm(a)))
    f(a)
    f(2 * a)
    assert f.cache_info().misses == 1


@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")
@pytest.mark.parametrize("name", ["expm", "logm", "sqrtm"])
def test_functions_of_matrices_in_single_precision(name):
    """SciPy's logarithm of them has double precision."""
    f = getattr(linalg, name)
    a = SPD.astype(np.float32)
    values, slopes = tapec.compile(f)(a), tapec.grad(lambda a: np.sum(f(a)))(a)
    assert values.dtype == slopes.dtype == np.float32
    np.testing.assert_allclose(slopes, tapec.grad(lambda a: np.sum(f(a)))(SPD), rtol=1e-4)


def test_exponentials_of_stacked_matrices():
    a = np.random.default_rng(2).standard_normal((2, 1, 3, 3))
    np.testing.assert_allclose(tapec.compile(linalg.expm)(a), scipy.linalg.expm(a))
    check(linalg.expm, a)
    with pytest.raises(ValueError, match="expected a square matrix, or a stack of them"):
        linalg.expm(tapec.constant(a[..., :2]))


def test_cholesky_factors():
    c, lower = linalg.cho_factor(tapec.constant(SPD), lower=True)
    np.testing.assert_allclose(linalg.cho_solve((c, lower), K).numpy(), np.linalg.solve(SPD, K))
    c, lower = linalg.cho_factor(tapec.constant(SPD))
    np.testing.assert_allclose(linalg.cho_solve((c, lower), K).numpy(), np.linalg.solve(SPD, K))


def test_logsumexp_of_nothing_has_zero_gradient():
    x = tapec.constant([-np.inf, -np.inf])
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = special.logsumexp(x)
    assert y.numpy() == -np.inf
    assert (tape.gradient(y, x).numpy() == 0).all()


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_logsumexp_of_infinities(dtype, optimize):
    x = np.full((4, 12), -np.inf, dtype)
    x[1, :2], x[2, [0, 5]], x[3, ::3] = 1.0, [np.inf, 2.0], np.inf
    shares = np.zeros((4, 12))
    shares[1, :2], shares[2, 0], shares[3, ::3] = 0.5, 1.0, 0.25
    with tapec.settings(optimize=optimize):
        value = tapec.compile(lambda x: special.logsumexp(x, axis=1))(x)
        first = tapec.jacrev(lambda x: special.logsumexp(x, axis=1))(x)
        second = tapec.hessian(lambda x: special.logsumexp(x))(x[3])
    np.testing.assert_allclose(value, scipy.special.logsumexp(x, axis=1))
    assert first.dtype == x.dtype
    np.testing.assert_allclose(first[np.arange(4), np.arange(4)], shares)
    np.testing.assert_allclose(second, np.diag(shares[3]) - np.outer(shares[3], shares[3]), atol=1e-7)


def test_logsumexp_of_weighted_infinities():
    x, b = np.array([[np.inf, np.inf, 1.0], [np.inf, 1.0, 2.0]]), np.array([1.0, -1.0, 2.0])
    with np.errstate(invalid="ignore"):
        found = tapec.compile(lambda x: special.logsumexp(x, axis=1, b=b))(x)
    np.testing.assert_array_equal(found, [np.nan, np.inf])  # as SciPy has it


@pytest.mark.parametrize("axis", [0, 1])
def test_logsumexp_of_nothing(axis):
    x = np.ones((2, 0))
    found = tapec.compile(lambda x: special.logsumexp(x, axis=axis))(x)
    np.testing.assert_array_equal(found, scipy.special.logsumexp(x, axis=axis))
    assert tapec.grad(lambda x: np.sum(special.logsumexp(x, axis=axis)))(x).shape == x.shape


# -- SciPy's own functions ------------------------------------------------------------------------------------------
PLAIN = {
    "logsumexp": (lambda x: scipy.special.logsumexp(x), "tapec.scipy.special.logsumexp takes tensors"),
    "polygamma": (lambda x: scipy.special.polygamma(1, x), "tapec.scipy.special.polygamma takes tensors"),
    "multigammaln": (lambda x: scipy.special.multigammaln(x + 3, 2), "tapec.scipy.special.multigammaln takes tensors"),
    "comb": (lambda x: scipy.special.comb(x, 2), "tapec.scipy.special.comb takes tensors"),
    "inv": (lambda x: scipy.linalg.inv(x + np.eye(3)), "tapec.scipy.linalg.inv takes tensors"),
    "norm": (lambda x: scipy.stats.norm.logpdf(x), "tapec.scipy.stats.norm.logpdf takes tensors"),
    "sf": (lambda x: scipy.stats.norm(0.0, x).sf(1.0), "tapec.scipy.stats.norm.sf takes tensors"),
    "odeint": (lambda x: scipy.integrate.odeint(lambda y, t: -y, x, [0, 1]), "tapec.scipy.integrate.odeint takes"),
    "lfilter": (lambda x: scipy.signal.lfilter([1.0], [1.0, 0.5], x), "tapec.scipy.signal.lfilter takes tensors"),
    "medfilt": (lambda x: scipy.signal.medfilt(x), "tapec.custom_gradient"),
    "upfirdn": (lambda x: scipy.signal.upfirdn([1.0, 1.0], x), "tapec.custom_gradient"),
    "sosfilt": (
        lambda x: scipy.signal.sosfilt([[1.0, 0, 0, 1.0, 0, 0]], x),
        "tapec.scipy.signal.sosfilt takes tensors",
    ),
    "median_filter": (lambda x: scipy.ndimage.median_filter(x, 3), "tapec.custom_gradient"),
    "fft": (lambda x: scipy.fft.fft(x), "tapec.scipy.fft.fft takes tensors"),
    "dctn": (lambda x: scipy.fft.dctn(x), "tapec.scipy.fft.dctn takes tensors"),
    "lu_factor": (lambda x: scipy.linalg.lu_factor(x + np.eye(3)), "tapec.scipy.linalg.lu_factor takes tensors"),
    "cdist": (
        lambda x: scipy.spatial.distance.cdist(x[None], x[None]),
        "tapec.scipy.spatial.distance.cdist takes tensors",
    ),
    "pdist": (lambda x: pdist(x[:, None]), "tapec.scipy.spatial.distance.pdist takes tensors"),
    "brentq": (lambda x: scipy.optimize.brentq(lambda z: z - x[1], 0, 3), "tapec.custom_root differentiates solutions"),
    "fsolve": (lambda x: scipy.optimize.fsolve(lambda z: z - x[1], 1.0), "tapec.custom_root differentiates solutions"),
    "interp1d": (lambda x: scipy.interpolate.interp1d(K, x)(0.5), "tapec.scipy.interpolate.interp1d takes tensors"),
    "solve_ivp": (
        lambda x: scipy.integrate.solve_ivp(lambda t, y: -x * y, (0, 1), K),
        "tapec.scipy.integrate.solve_ivp takes tensors",
    ),
}


@pytest.mark.parametrize("name", PLAIN)
def test_functions_of_scipys_that_take_tensors_apart_say_what_does_not(name):
    f, fix = PLAIN[name]
    x = tapec.constant(K)

    def taped(x):
        with tapec.GradientTape() as tape:
            tape.watch(x)
            f(x)

    for call in (lambda: taped(x), lambda: tapec.grad(lambda x: np.sum(f(x)))(K)):
        with pytest.raises(UnsupportedError) as caught:
            call()
        message = str(caught.value)
        assert message.startswith("test_scipy.py:") and f"{name if name != 'norm' else 'logpdf'} takes" in message
        assert fix in message and "\n" not in message


@pytest.mark.parametrize("transform", [tapec.grad, tapec.compile, tapec.jacfwd])
def test_such_a_function_may_be_all_that_is_differentiated(transform):
    with pytest.raises(UnsupportedError, match=r"^test_scipy.py:\d+: .*logsumexp takes tensors"):
        transform(scipy.special.logsumexp)(K)


def test_what_scipy_made_objects_of_is_told_where_it_is_refused():
    """Its softmax is one that NumPy can compute, element by element; its ufuncs take no objects, but in functions."""
    entropy = lambda x: np.sum(scipy.special.entr(scipy.special.softmax(x)))
    ours = lambda x: np.sum(scipy.special.entr(special.softmax(x)))
    np.testing.assert_allclose(tapec.grad(entropy)(K), tapec.grad(ours)(K), rtol=1e-9, atol=1e-12)
    x = tapec.constant(K)
    with pytest.raises(TypeError, match="entr") as caught, tapec.GradientTape() as tape:
        tape.watch(x)
        entropy(x)
    assert "tapec.scipy.special.softmax" in "".join(caught.value.__notes__)


def test_ufuncs_of_scipys_that_have_names_of_numpys():
    for f in (scipy.special.expm1, scipy.special.log1p, scipy.special.cbrt, scipy.special.exp2):
        check(f, P)


@pytest.mark.parametrize("bound", [{}, {"rtol": 1e-3}, {"rtol": 0.0}])
def test_pinv_leaves_out_what_scipy_leaves_out(bound):
    for a in (np.diag([1.0, 6e-16]), np.diag([2, 0])):
        found = linalg.pinv(tapec.constant(a), **bound)
        np.testing.assert_allclose(found, scipy.linalg.pinv(a, **bound), rtol=1e-12)
