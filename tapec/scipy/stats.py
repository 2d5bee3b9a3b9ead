"""Give densities and distribution functions of scipy.stats on tensors, differentiable where a closed derivative exists.

`norm.logpdf(x, loc, scale)` is called as in SciPy; shape parameters come first, then `loc` and `scale`; or
they are told once, `norm(loc, scale).logpdf(x)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special as sp
from scipy import stats as _stats

from tapec.ops.core.op_helpers import as_array, without_empty_shape
from tapec.ops.core.symbol import holds
from tapec.ops.scipy.matrix_functions import solve_triangular

__all__ = [
    "bernoulli",
    "beta",
    "binom",
    "cauchy",
    "chi2",
    "dirichlet",
    "expon",
    "gamma",
    "halfcauchy",
    "halfnorm",
    "laplace",
    "logistic",
    "lognorm",
    "multivariate_normal",
    "norm",
    "poisson",
    "t",
    "uniform",
]

LOG_2PI = math.log(2 * math.pi)


def __getattr__(name: str) -> Any:
    return getattr(_stats, name)


def _exp(x: Any) -> Any:
    """The exponential, with zero gradient where it is that of -inf: at the ends of a distribution."""
    nothing = x == -np.inf
    return np.where(nothing, 0, np.exp(np.where(nothing, 0, x)))


def _log_of(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda z, *shapes: np.log(f(z, *shapes))


def _named(names: tuple[str, ...], given: dict[str, Any], args: tuple[Any, ...], more: dict[str, Any]) -> list[Any]:
    """The parameters in the order of their names, from defaults, positions and keywords."""
    if len(args) > len(names):
        raise TypeError(f"{len(args)} parameters were given; there are {', '.join(names)}")
    given = {**given, **dict(zip(names, args)), **more}
    if missing := [n for n in names if n not in given]:
        raise TypeError(f"missing shape parameter {missing[0]!r}")
    if unknown := [n for n in given if n not in names]:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}")
    return [given[n] for n in names]


def _or_nan(y: Any, facts: list[Any]) -> Any:
    """The result; nan where parameters are none of the distribution's, as SciPy has it."""
    for fact in facts:
        if not holds(np.all(fact) if np.ndim(fact) else fact):
            y = np.where(fact, y, np.nan)
    return without_empty_shape(y)


class _Distribution:
    """Adds to SciPy's distribution of the same name methods that are differentiable; the others take plain numbers."""

    name: str

    def __call__(self, *args: Any, **more: Any) -> Any:
        return _Frozen(self, args, more)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(getattr(_stats, self.name), name)


class _Frozen:
    """Holds a distribution with its parameters, as `norm(loc, scale)` is."""

    def __init__(self, of: _Distribution, args: tuple[Any, ...], more: dict[str, Any]):
        self._of, self._args, self._more = of, args, more

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        method = getattr(self._of, name)
        return lambda *xs, **more: method(*xs, *self._args, **self._more, **more)


class Continuous(_Distribution):
    """A distribution from the log of its standard density and its standard distribution function.

    `logpdf(x, *shapes)`, `cdf(x, *shapes)`, `sf(x, *shapes)` are those for loc 0 and scale 1, `shapes` the names of the
    parameters, `logs` the logs of cdf and sf; `outside(x)` tells where the density is zero, and gradients are. It says
    no to nan, which stays nan. All shapes are positive.
    """

    def __init__(
        self,
        shapes: str,
        logpdf: Callable[..., Any],
        cdf: Callable[..., Any],
        sf: Callable[..., Any] | None = None,
        outside: Callable[[Any], Any] | None = None,
        logs: tuple[Callable[..., Any], Callable[..., Any]] | None = None,
        safe: float = 0.5,
    ):
        self._names = (*shapes.split(), "loc", "scale")
        self._logpdf = logpdf
        self._cdf = cdf
        self._sf = sf or (lambda z, *shapes: 1.0 - cdf(z, *shapes))
        self._outside = outside
        self._logs = logs or (_log_of(cdf), _log_of(self._sf))
        self._safe = safe  # a point inside for every shape

    def _standard(self, x: Any, args: tuple[Any, ...], more: dict[str, Any]) -> tuple[Any, tuple[Any, ...], Any]:
        """Return x in units of scale from loc, the shapes, and the scale."""
        *shapes, loc, scale = _named(self._names, {"loc": 0, "scale": 1}, args, more)
        return (as_array(x) - loc) / scale, tuple(shapes), scale

    def _where_inside(self, f: Callable[..., Any], z: Any, shapes: Any, scale: Any, below: float, above: float) -> Any:
        """Return f inside, constants on both sides of it, where f sees a harmless number."""
        if self._outside is None:
            y = f(z, *shapes)
        else:
            away = self._outside(z)
            constant = below if below == above else np.where(z > self._safe, above, below)
            y = np.where(away, constant, f(np.where(away, self._safe, z), *shapes))
        return _or_nan(y, [as_array(p) > 0 for p in (*shapes, scale)])

    def logpdf(self, x: Any, *args: Any, **more: Any) -> Any:
        """Return the log of the density at x.

        Parameters
        ----------
        x : array
            Where.
        *args : array
            The parameters of the distribution, in their order.
        **more : array
            The same, by their names.

        Returns
        -------
        array
            The log, which is -inf where the density is zero, and nan for parameters that it cannot have.

        Examples
        --------
        >>> import tapec
        >>> from tapec.scipy import stats
        >>> tapec.grad(stats.norm.logpdf)(2.0)
        np.float64(-2.0)
        """
        z, shapes, scale = self._standard(x, args, more)
        if self._outside is None:  # the logarithms of what is not positive are nan by themselves
            return self._logpdf(z, *shapes) - np.log(scale)
        return self._where_inside(lambda z, *s: self._logpdf(z, *s) - np.log(scale), z, shapes, scale, -np.inf, -np.inf)

    def pdf(self, x: Any, *args: Any, **more: Any) -> Any:
        """Return the density at x.

        Parameters
        ----------
        x : array
            Where.
        *args : array
            The parameters of the distribution, in their order.
        **more : array
            The same, by their names.

        Returns
        -------
        array
            The density, which is nan for parameters that it cannot have.

        Examples
        --------
        >>> import tapec
        >>> from tapec.scipy import stats
        >>> tapec.grad(lambda scale: stats.norm.pdf(0.0, 0.0, scale))(1.0).round(4)
        np.float64(-0.3989)
        """
        z, shapes, scale = self._standard(x, args, more)
        exp = np.exp if self._outside is None else _exp
        return self._where_inside(lambda z, *s: exp(self._logpdf(z, *s)) / scale, z, shapes, scale, 0.0, 0.0)

    def cdf(self, x: Any, *args: Any, **more: Any) -> Any:
        """Return the chance of a number up to x.

        Parameters
        ----------
        x : array
            Where.
        *args : array
            The parameters of the distribution, in their order.
        **more : array
            The same, by their names.

        Returns
        -------
        array
            The chance, which is nan for parameters that it cannot have.

        Examples
        --------
        >>> import tapec
        >>> from tapec.scipy import stats
        >>> stats.norm.cdf(0.0)
        np.float64(0.5)
        """
        z, shapes, scale = self._standard(x, args, more)
        return self._where_inside(self._cdf, z, shapes, scale, 0.0, 1.0)

    def sf(self, x: Any, *args: Any, **more: Any) -> Any:
        """Return the chance of a number beyond x.

        Parameters
        ----------
        x : array
            Where.
        *args : array
            The parameters of the distribution, in their order.
        **more : array
            The same, by their names.

        Returns
        -------
        array
            The chance, which is nan for parameters that it cannot have.

        Examples
        --------
        >>> import tapec
        >>> from tapec.scipy import stats
        >>> stats.norm.sf(0.0)
        np.float64(0.5)
        """
        z, shapes, scale = self._standard(x, args, more)
        return self._where_inside(self._sf, z, shapes, scale, 1.0, 0.0)

    def logcdf(self, x: Any, *args: Any, **more: Any) -> Any:
        """Return the log of the chance of a number up to x.

        Parameters
        ----------
        x : array
            Where.
        *args : array
            The parameters of the distribution, in their order.
        **more : array
            The same, by their names.

        Returns
        -------
        array
            The log, which is nan for parameters that it cannot have.

        Examples
        --------
        >>> import tapec
        >>> from tapec.scipy import stats
        >>> stats.norm.logcdf(-100.0).round(3)
        np.float64(-5005.524)
        """
        z, shapes, scale = self._standard(x, args, more)
        return self._where_inside(self._logs[0], z, shapes, scale, -np.inf, 0.0)

    def logsf(self, x: Any, *args: Any, **more: Any) -> Any:
        """Return the log of the chance of a number beyond x.

        Parameters
        ----------
        x : array
            Where.
        *args : array
            The parameters of the distribution, in their order.
        **more : array
            The same, by their names.

        Returns
        -------
        array
            The log, which is nan for parameters that it cannot have.

        Examples
        --------
        >>> import tapec
        >>> from tapec.scipy import stats
        >>> stats.norm.logsf(100.0).round(3)
        np.float64(-5005.524)
        """
        z, shapes, scale = self._standard(x, args, more)
        return self._where_inside(self._logs[1], z, shapes, scale, 0.0, -np.inf)


# -- on the line --------------------------------------------------------------------------------------------------
norm = Continuous(
    "",
    lambda z: -0.5 * (z * z) - 0.5 * LOG_2PI,
    lambda z: sp.ndtr(z),
    lambda z: sp.ndtr(-z),
    logs=(lambda z: sp.log_ndtr(z), lambda z: sp.log_ndtr(-z)),
)
t = Continuous(
    "df",
    lambda z, df: (
        sp.gammaln(0.5 * (df + 1))
        - sp.gammaln(0.5 * df)
        - 0.5 * np.log(math.pi * df)
        - 0.5 * (df + 1) * np.log1p(z * z / df)
    ),
    lambda z, df: sp.stdtr(df, z),
    lambda z, df: sp.stdtr(df, -z),
)
cauchy = Continuous(
    "",
    lambda z: -math.log(math.pi) - np.log1p(z * z),
    lambda z: np.arctan2(1.0, -z) / math.pi,
    lambda z: np.arctan2(1.0, z) / math.pi,
)
logistic = Continuous(
    "",
    lambda z: sp.log_expit(z) + sp.log_expit(-z),
    lambda z: sp.expit(z),
    lambda z: sp.expit(-z),
    logs=(lambda z: sp.log_expit(z), lambda z: sp.log_expit(-z)),
)


def _laplace_cdf(z: Any) -> Any:
    half = 0.5 * np.exp(-np.abs(z))
    return np.where(z > 0, 1.0 - half, half)


def _laplace_logcdf(z: Any) -> Any:
    return np.where(z > 0, np.log1p(-0.5 * np.exp(-np.abs(z))), z - math.log(2.0))


laplace = Continuous(
    "",
    lambda z: -np.abs(z) - math.log(2.0),
    _laplace_cdf,
    lambda z: _laplace_cdf(-z),
    logs=(_laplace_logcdf, lambda z: _laplace_logcdf(-z)),
)


# -- on the half line, and on intervals ---------------------------------------------------------------------------
def _negative(z: Any) -> Any:
    return z < 0


def _beyond_one(z: Any) -> Any:
    return (z < 0) | (z > 1)


gamma = Continuous(
    "a",
    lambda z, a: sp.xlogy(a - 1.0, z) - z - sp.gammaln(a),
    lambda z, a: sp.gammainc(a, z),
    lambda z, a: sp.gammaincc(a, z),
    _negative,
)
chi2 = Continuous(
    "df",
    lambda z, df: sp.xlogy(0.5 * df - 1.0, z) - 0.5 * z - sp.gammaln(0.5 * df) - 0.5 * math.log(2.0) * df,
    lambda z, df: sp.chdtr(df, z),
    lambda z, df: sp.chdtrc(df, z),
    _negative,
)
expon = Continuous(
    "",
    lambda z: -z,
    lambda z: -np.expm1(-z),
    lambda z: np.exp(-z),
    _negative,
    logs=(lambda z: np.log(-np.expm1(-z)), lambda z: -z),
)
halfnorm = Continuous(
    "",
    lambda z: -0.5 * (z * z) + 0.5 * math.log(2 / math.pi),
    lambda z: sp.erf(z / math.sqrt(2)),
    lambda z: sp.erfc(z / math.sqrt(2)),
    _negative,
)
halfcauchy = Continuous(
    "",
    lambda z: math.log(2 / math.pi) - np.log1p(z * z),
    lambda z: 2 / math.pi * np.arctan(z),
    lambda z: 2 / math.pi * np.arctan2(1.0, z),
    _negative,
)
lognorm = Continuous(
    "s",
    lambda z, s: -0.5 * np.square(np.log(z) / s) - np.log(s * z) - 0.5 * LOG_2PI,
    lambda z, s: sp.ndtr(np.log(z) / s),
    lambda z, s: sp.ndtr(-np.log(z) / s),
    lambda z: z <= 0,
    logs=(lambda z, s: sp.log_ndtr(np.log(z) / s), lambda z, s: sp.log_ndtr(-np.log(z) / s)),
)
beta = Continuous(
    "a b",
    lambda z, a, b: sp.xlogy(a - 1.0, z) + sp.xlog1py(b - 1.0, -z) - sp.betaln(a, b),
    lambda z, a, b: sp.betainc(a, b, z),
    lambda z, a, b: sp.betaincc(a, b, z),
    _beyond_one,
)
uniform = Continuous("", lambda z: 0.0 * z, lambda z: z, outside=_beyond_one)


# -- counts -------------------------------------------------------------------------------------------------------
class Discrete(_Distribution):
    """A distribution of integers from 0 to `last`, from the log of its mass and its distribution functions.

    `shapes` are the names of the parameters, to which gradients flow; `valid` says what they must be.
    """

    def __init__(
        self,
        shapes: str,
        logpmf: Callable[..., Any],
        cdf: Callable[..., Any],
        sf: Callable[..., Any],
        valid: Callable[..., list[Any]],
        last: Callable[..., Any] = lambda *shapes: np.inf,
    ):
        self._names = (*shapes.split(), "loc")
        self._logpmf, self._cdf, self._sf, self._valid, self._last = logpmf, cdf, sf, valid, last

    def _standard(self, k: Any, args: tuple[Any, ...], more: dict[str, Any]) -> tuple[Any, list[Any]]:
        """Return k from loc, and the shapes."""
        *shapes, loc = _named(self._names, {"loc": 0}, args, more)
        return as_array(k) - loc, shapes

    def logpmf(self, k: Any, *args: Any, **more: Any) -> Any:
        """Return the log of the chance of k.

        Parameters
        ----------
        k : array
            Which number.
        *args : array
            The parameters of the distribution, in their order.
        **more : array
            The same, by their names.

        Returns
        -------
        array
            The log, which is -inf where there is no chance, and nan for parameters that it cannot have.

        Examples
        --------
        >>> import tapec
        >>> from tapec.scipy import stats
        >>> tapec.grad(lambda mu: stats.poisson.logpmf(3, mu))(1.0)
        np.float64(2.0)
        """
        k, shapes = self._standard(k, args, more)
        away = (k < 0) | (k > self._last(*shapes)) | (k > np.floor(k))
        y = np.where(away, -np.inf, self._logpmf(np.where(away, 0, k), *shapes))
        return _or_nan(y, self._valid(*map(as_array, shapes)))

    def pmf(self, k: Any, *args: Any, **more: Any) -> Any:
        """Return the chance of k.

        Parameters
        ----------
        k : array
            Which number.
        *args : array
            The parameters of the distribution, in their order.
        **more : array
            The same, by their names.

        Returns
        -------
        array
            The chance, which is nan for parameters that it cannot have.

        Examples
        --------
        >>> import tapec
        >>> from tapec.scipy import stats
        >>> stats.poisson.pmf(0, 1.0).round(4)
        np.float64(0.3679)
        """
        return np.exp(self.logpmf(k, *args, **more))

    def cdf(self, k: Any, *args: Any, **more: Any) -> Any:
        """Return the chance of a number up to k.

        Parameters
        ----------
        k : array
            Which number.
        *args : array
            The parameters of the distribution, in their order.
        **more : array
            The same, by their names.

        Returns
        -------
        array
            The chance, which is nan for parameters that it cannot have.

        Examples
        --------
        >>> import tapec
        >>> from tapec.scipy import stats
        >>> stats.bernoulli.cdf([0], 0.25)
        array([0.75])
        """
        k, shapes = self._standard(k, args, more)
        k = np.floor(k)
        return _or_nan(np.where(k < 0, 0.0, self._cdf(np.maximum(k, 0), *shapes)), self._valid(*map(as_array, shapes)))

    def sf(self, k: Any, *args: Any, **more: Any) -> Any:
        """Return the chance of a number beyond k.

        Parameters
        ----------
        k : array
            Which number.
        *args : array
            The parameters of the distribution, in their order.
        **more : array
            The same, by their names.

        Returns
        -------
        array
            The chance, which is nan for parameters that it cannot have.

        Examples
        --------
        >>> import tapec
        >>> from tapec.scipy import stats
        >>> stats.bernoulli.sf([0], 0.25)
        array([0.25])
        """
        k, shapes = self._standard(k, args, more)
        k = np.floor(k)
        return _or_nan(np.where(k < 0, 1.0, self._sf(np.maximum(k, 0), *shapes)), self._valid(*map(as_array, shapes)))

    def logcdf(self, k: Any, *args: Any, **more: Any) -> Any:
        """Return the log of the chance of a number up to k.

        Parameters
        ----------
        k : array
            Which number.
        *args : array
            The parameters of the distribution, in their order.
        **more : array
            The same, by their names.

        Returns
        -------
        array
            The log, which is nan for parameters that it cannot have.

        Examples
        --------
        >>> import tapec
        >>> from tapec.scipy import stats
        >>> stats.bernoulli.logcdf([1], 0.25)
        array([0.])
        """
        return np.log(self.cdf(k, *args, **more))

    def logsf(self, k: Any, *args: Any, **more: Any) -> Any:
        """Return the log of the chance of a number beyond k.

        Parameters
        ----------
        k : array
            Which number.
        *args : array
            The parameters of the distribution, in their order.
        **more : array
            The same, by their names.

        Returns
        -------
        array
            The log, which is nan for parameters that it cannot have.

        Examples
        --------
        >>> import tapec
        >>> from tapec.scipy import stats
        >>> stats.bernoulli.logsf([0], 1.0)
        array([0.])
        """
        return np.log(self.sf(k, *args, **more))


def _log_choose(n: Any, k: Any) -> Any:
    return -sp.betaln(1 + n - k, 1 + k) - np.log(1 + n)


def _binom_part(part: Callable[..., Any], rest: float) -> Callable[..., Any]:
    """A distribution function up to the last number but one, and what it is from the last one on."""

    def run(k: Any, n: Any, p: Any) -> Any:
        before = np.minimum(k, n - 1)
        return np.where(k >= n, rest, part(before + 1.0, n - before, p))

    return run


def _is_share(p: Any) -> list[Any]:
    return [(p >= 0) & (p <= 1)]


poisson = Discrete(
    "mu",
    lambda k, mu: sp.xlogy(k, mu) - sp.gammaln(k + 1.0) - mu,
    lambda k, mu: sp.gammaincc(k + 1.0, mu),
    lambda k, mu: sp.gammainc(k + 1.0, mu),
    lambda mu: [mu >= 0],
)
binom = Discrete(
    "n p",
    lambda k, n, p: _log_choose(n, k) + sp.xlogy(k, p) + sp.xlog1py(n - k, -p),
    _binom_part(lambda a, b, p: sp.betaincc(a, b, p), 1.0),
    _binom_part(lambda a, b, p: sp.betainc(a, b, p), 0.0),
    lambda n, p: [(n >= 0) & (n == np.floor(n)), *_is_share(p)],
    last=lambda n, p: n,
)
bernoulli = Discrete(
    "p",
    lambda k, p: sp.xlogy(k, p) + sp.xlog1py(1 - k, -p),
    lambda k, p: np.where(k >= 1, 1.0, np.where(k < 1, 1.0 - p, k)),
    lambda k, p: np.where(k >= 1, 0.0, np.where(k < 1, p, k)),
    _is_share,
    last=lambda p: 1,
)


# -- vectors: as in SciPy, results have no axes of length one ---------------------------------------------------------
class _Dirichlet(_Distribution):
    """The distribution scipy.stats.dirichlet of x on the simplex.

    The components of x lie along the first axis; the last component may be left out.
    """

    def logpdf(self, x: Any, alpha: Any) -> Any:
        """Return the log of the density at x.

        Parameters
        ----------
        x : array
            Shares along the first axis, of which the last may be left out.
        alpha : array
            A vector of positive numbers, one for each share.

        Returns
        -------
        array
            The log.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> from tapec.scipy import stats
        >>> tapec.grad(lambda a: stats.dirichlet.logpdf([0.25, 0.75], a))(np.ones(2)).round(4)
        array([-0.3863,  0.7123])
        """
        x, alpha = as_array(x), as_array(alpha)
        if x.shape[0] + 1 == alpha.shape[0]:
            x = np.concatenate([x, 1.0 - np.sum(x, axis=0, keepdims=True)], 0)
        log_beta = np.sum(sp.gammaln(alpha)) - sp.gammaln(np.sum(alpha))
        weights = np.reshape(alpha - 1.0, (-1,) + (1,) * (x.ndim - 1))
        return without_empty_shape(np.squeeze(np.sum(sp.xlogy(weights, x), axis=0) - log_beta))

    def pdf(self, x: Any, alpha: Any) -> Any:
        """Return the density at x.

        Parameters
        ----------
        x : array
            Shares along the first axis, of which the last may be left out.
        alpha : array
            A vector of positive numbers, one for each share.

        Returns
        -------
        array
            The density.

        Examples
        --------
        >>> from tapec.scipy import stats
        >>> stats.dirichlet.pdf([0.5, 0.5], [1.0, 1.0])
        np.float64(1.0)
        """
        return np.exp(self.logpdf(x, alpha))


class _MultivariateNormal(_Distribution):
    """The distribution scipy.stats.multivariate_normal, for covariances of full rank."""

    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """Return the log of the density at x.

        Parameters
        ----------
        x : array
            Vectors along the last axis.
        mean : array, default None
            The mean. None is zeros.
        cov : array or number, default 1
            The covariance: a matrix of full rank, its diagonal, or a number for all of that.
        allow_singular : bool, default False
            Has no effect; it is here since SciPy has it.

        Returns
        -------
        array
            The log.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> from tapec.scipy import stats
        >>> tapec.grad(lambda m: stats.multivariate_normal.logpdf(np.ones(2), m, np.eye(2)))(np.zeros(2))
        array([1., 1.])
        """
        x, mean, factor = self._parts(as_array(x), mean, cov)
        n = factor.shape[0]
        away = np.reshape(x - mean, (-1, n))
        whitened = solve_triangular(factor, np.transpose(away), lower=True)
        half_log_det = np.sum(np.log(np.diagonal(factor)))
        y = -0.5 * np.sum(whitened * whitened, axis=0) - half_log_det - 0.5 * n * LOG_2PI
        return without_empty_shape(np.squeeze(np.reshape(y, np.broadcast_shapes(x.shape, np.shape(mean))[:-1])))

    def pdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """Return the density at x.

        Parameters
        ----------
        x : array
            Vectors along the last axis.
        mean : array, default None
            The mean. None is zeros.
        cov : array or number, default 1
            The covariance: a matrix of full rank, its diagonal, or a number for all of that.
        allow_singular : bool, default False
            Has no effect; it is here since SciPy has it.

        Returns
        -------
        array
            The density.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> from tapec.scipy import stats
        >>> stats.multivariate_normal.pdf(np.zeros(2), np.zeros(2), np.eye(2)).round(4)
        np.float64(0.1592)
        """
        return np.exp(self.logpdf(x, mean, cov))

    def entropy(self, mean: Any = None, cov: Any = 1) -> Any:
        """Return the differential entropy.

        Parameters
        ----------
        mean : array, default None
            The mean, on which it does not depend.
        cov : array or number, default 1
            The covariance: a matrix of full rank, its diagonal, or a number for all of that.

        Returns
        -------
        number
            The entropy, in nats.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> from tapec.scipy import stats
        >>> stats.multivariate_normal.entropy(np.zeros(2), np.eye(2)).round(4)
        np.float64(2.8379)
        """
        _, _, factor = self._parts(np.zeros(1), mean, cov)
        return 0.5 * factor.shape[0] * (1.0 + LOG_2PI) + np.sum(np.log(np.diagonal(factor)))

    def _parts(self, x: Any, mean: Any, cov: Any) -> tuple[Any, Any, Any]:
        """Return x with its components last, the mean, and the lower Cholesky factor of the covariance."""
        cov = as_array(cov)
        n = cov.shape[0] if cov.ndim else np.shape(mean)[0] if np.ndim(mean) else 1
        if cov.ndim < 2:
            diagonal = np.broadcast_to(cov, (n,)) if not cov.ndim else cov
            factor = np.diag(np.sqrt(diagonal))
        else:
            factor = np.linalg.cholesky(cov)
        x = x[..., None] if n == 1 and (x.ndim < 2 or x.shape[-1] != 1) else x
        mean = np.zeros(n) if mean is None else np.broadcast_to(as_array(mean), (n,))
        return x, mean, factor


dirichlet = _Dirichlet()
multivariate_normal = _MultivariateNormal()

_LOC = "loc and scale, by which it is moved and stretched: 0 and 1 unless they are given"
_ABOUT = {  # its name, its parameters in their order, an example, and what that shows
    "bernoulli": ("Bernoulli", "p, the chance of a one; then loc", "pmf([1], 0.25)", "[0.25]"),
    "beta": ("beta", f"a and b, which are positive; then {_LOC}", "pdf([0.5], 2.0, 2.0)", "[1.5]"),
    "binom": (
        "binomial",
        "n, a whole number, and p, the chance of each; then loc",
        "pmf([1], 2, 0.5)",
        "[0.5]",
    ),
    "cauchy": ("Cauchy", _LOC, "cdf([0.0])", "[0.5]"),
    "chi2": (
        "chi-squared",
        f"df, the degrees of freedom, which are positive; then {_LOC}",
        "pdf([0.0], 2.0)",
        "[0.5]",
    ),
    "dirichlet": (
        "Dirichlet",
        "alpha, a vector of positive numbers",
        "pdf(np.full((2, 2), 0.5), [2.0, 2.0])",
        "[1.5, 1.5]",
    ),
    "expon": ("exponential", _LOC, "pdf([0.0, 1.0])", "[1.        , 0.36787944]"),
    "gamma": ("gamma", f"a, which is positive; then {_LOC}", "pdf([1.0], 1.0)", "[0.36787944]"),
    "halfcauchy": ("half-Cauchy", _LOC, "cdf([1.0])", "[0.5]"),
    "halfnorm": ("half-normal", _LOC, "cdf([0.0])", "[0.]"),
    "laplace": ("Laplace", _LOC, "pdf([0.0])", "[0.5]"),
    "logistic": ("logistic", _LOC, "cdf([0.0])", "[0.5]"),
    "lognorm": (
        "log-normal",
        f"s, the standard deviation of their logs; then {_LOC}",
        "cdf([1.0], 0.5)",
        "[0.5]",
    ),
    "multivariate_normal": (
        "multivariate normal",
        "mean, and cov, a matrix of full rank, its diagonal, or a number",
        "pdf(np.zeros((2, 2)), np.zeros(2), np.eye(2))",
        "[0.15915494, 0.15915494]",
    ),
    "norm": ("normal", _LOC, "cdf([0.0])", "[0.5]"),
    "poisson": ("Poisson", "mu, the mean; then loc", "pmf([0], 1.0)", "[0.36787944]"),
    "t": (
        "Student's t",
        f"df, the degrees of freedom, which are positive; then {_LOC}",
        "cdf([0.0], 3.0)",
        "[0.5]",
    ),
    "uniform": ("uniform", _LOC, "cdf([0.25])", "[0.25]"),
}


def _docstring(name: str) -> str:
    called, parameters, call, shown = _ABOUT[name]
    methods = ", ".join([f"`{n}`" for n in vars(type(globals()[name])) if not n.startswith("_")])
    sibling = "uniform" if name == "norm" else "norm"
    return f"""Describe the {called} distribution, as scipy.stats.{name} does.

Its methods {methods} are differentiable, with respect to each
argument for which a closed form is known. The others are SciPy's, for plain numbers.

Parameters
----------
*args : array
    In this order {parameters}.
**more : array
    The same, by their names.

Returns
-------
distribution
    The one that has these parameters: its methods take no others.

Examples
--------
>>> import numpy as np, tapec
>>> from tapec.scipy import stats
>>> stats.{name}.{call}
array({shown})

See Also
--------
tapec.scipy.stats.{sibling} : another one
"""


__test__ = {}  # doctest finds the examples of objects here
for _name in __all__:
    globals()[_name].name = _name
    globals()[_name].__doc__ = __test__[_name] = _docstring(_name)
