"""Differentiate distribution functions, their inverses, and some hypergeometric functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.ops.core.define import Missing
from tapec.ops.core.sample_domains import Domain, any_real, positive
from tapec.ops.special.rule_helpers import ROOT_2PI, half_open, order, rule, shape, small, sp, unknown
from tapec.ops.special.ufunc_rules import beta_density, boxcox, gamma_density

__all__: list[str] = []


def _unknown(name: str, *parameters: str) -> list[Missing]:
    return [unknown(f"{name} in {p}") for p in parameters]


# -- gamma and Poisson --------------------------------------------------------------------------------------------
def _gdtr(name: str, sign: int) -> Any:
    def partials(y: Any, a: Any, b: Any, x: Any) -> Any:
        density = sign * gamma_density(b, a * x)
        return x * density, unknown(f"{name} in b"), a * density

    return partials


def _gdtrix_partials(x: Any, a: Any, b: Any, p: Any) -> Any:
    return -x / a, unknown("gdtrix in b"), 1 / (a * gamma_density(b, a * x))


def _gdtria_partials(a: Any, p: Any, b: Any, x: Any) -> Any:
    return 1 / (x * gamma_density(b, a * x)), unknown("gdtria in b"), -a / x


rule("gdtr", positive, shape, positive, partials=_gdtr("gdtr", 1))
rule("gdtrc", positive, shape, positive, partials=_gdtr("gdtrc", -1))
rule("gdtrix", positive, shape, half_open, partials=_gdtrix_partials)
rule("gdtria", half_open, shape, positive, partials=_gdtria_partials)
rule(
    "chdtri",
    shape,
    half_open,
    partials=lambda y, v, p: (*_unknown("chdtri", "v"), -2 / gamma_density(0.5 * v, 0.5 * y)),
)
rule(
    "pdtri",
    order,
    half_open,
    partials=lambda y, k, p: (*_unknown("pdtri", "k"), -1 / gamma_density(np.floor(k) + 1, y)),
)


# -- beta, binomial and F -----------------------------------------------------------------------------------------
def _f_density(n: Any, d: Any, x: Any) -> Any:
    whole = d + n * x
    return n * d / (whole * whole) * beta_density(0.5 * n, 0.5 * d, n * x / whole)


def _fdtr(name: str, sign: int) -> Any:
    return lambda y, n, d, x: (*_unknown(name, "dfn", "dfd"), sign * _f_density(n, d, x))


def _bdtr(name: str, slope: Callable[..., Any]) -> Any:
    """Return the partials of a binomial distribution function, zero where no trial is left."""

    def partials(y: Any, k: Any, n: Any, x: Any) -> Any:
        k = np.floor(k)
        last = k == n
        return *_unknown(name, "k", "n"), np.where(last, 0, slope(y, k + 1, np.where(last, 1, n - k), x))

    return partials


def _nbdtr(name: str, slope: Callable[..., Any]) -> Any:
    return lambda y, k, n, x: (*_unknown(name, "k", "n"), slope(y, n, np.floor(k) + 1, x))


rule("fdtr", shape, shape, positive, partials=_fdtr("fdtr", 1))
rule("fdtrc", shape, shape, positive, partials=_fdtr("fdtrc", -1))
rule(
    "fdtri",
    shape,
    shape,
    half_open,
    partials=lambda y, n, d, p: (*_unknown("fdtri", "dfn", "dfd"), 1 / _f_density(n, d, y)),
)
trials = Domain(4, 6, kind="i")
rule("bdtr", order, trials, half_open, partials=_bdtr("bdtr", lambda y, a, b, p: -beta_density(a, b, p)))
rule("bdtrc", order, trials, half_open, partials=_bdtr("bdtrc", lambda y, a, b, p: beta_density(a, b, p)))
rule("bdtri", order, trials, half_open, partials=_bdtr("bdtri", lambda p, a, b, y: -1 / beta_density(a, b, p)))
rule("nbdtr", order, trials, half_open, partials=_nbdtr("nbdtr", lambda y, a, b, p: beta_density(a, b, p)))
rule("nbdtrc", order, trials, half_open, partials=_nbdtr("nbdtrc", lambda y, a, b, p: -beta_density(a, b, p)))
rule("nbdtri", order, trials, half_open, partials=_nbdtr("nbdtri", lambda p, a, b, y: 1 / beta_density(a, b, p)))


# -- normal, Tukey's lambda, Kolmogorov's -------------------------------------------------------------------------
def _steep(z: Any) -> Any:
    """Return one over the normal density."""
    return ROOT_2PI * np.exp(0.5 * (z * z))


def _nrdtrimn_partials(mean: Any, p: Any, deviation: Any, x: Any) -> Any:
    z = (x - mean) / deviation
    return -deviation * _steep(z), -z, 1


def _nrdtrisd_partials(deviation: Any, mean: Any, p: Any, x: Any) -> Any:
    z = (x - mean) / deviation
    return -1 / z, -deviation / z * _steep(z), 1 / z


def _tklmbda_partials(p: Any, x: Any, c: Any) -> Any:
    """Return the partials by the quantile boxcox(p, c) - boxcox(1 - p, c); beyond the support they are zero."""
    inside = (p > 0) & (p < 1)
    p = np.where(inside, p, 0.5)
    slopes = boxcox(np.log, 0)
    (rise, more), (fall, less) = slopes(sp.boxcox(p, c), p, c), slopes(sp.boxcox(1 - p, c), 1 - p, c)
    slope = np.where(inside, 1 / (rise + fall), 0)
    return slope, (less - more) * slope


def _kolmogorov_density(x: Any) -> Any:
    """Return one of two sums of exponentials, each where it converges quickly; both are zero far out."""
    large = x > 1
    wide, narrow = np.where(large, np.minimum(x, 40), 1), np.where(large, 1, np.maximum(x, 0.01))
    far: Any = 0
    for k in range(4, 0, -1):
        far = (-1) ** (k - 1) * k * k * np.exp(-2 * k * k * (wide * wide)) + far
    near: Any = 0
    for k in (5, 3, 1):
        part = (k * math.pi / narrow) ** 2 / 4
        near = (part - 1) * np.exp(-0.5 * part) + near
    return np.where(large, 8 * wide * far, ROOT_2PI / (narrow * narrow) * near)


rule("nrdtrimn", half_open, positive, any_real, partials=_nrdtrimn_partials)
rule("nrdtrisd", Domain(-2.0, -1.0), Domain(0.6, 0.9), positive, partials=_nrdtrisd_partials)
rule("tklmbda", Domain(-0.9, 0.9), Domain(0.2, 0.8), partials=_tklmbda_partials)
rule("kolmogorov", Domain(0.4, 2.0), partials=lambda y, x: (-_kolmogorov_density(x),))
rule("kolmogi", half_open, partials=lambda y, p: (-1 / _kolmogorov_density(y),))
rule(
    "radian",
    any_real,
    any_real,
    any_real,
    partials=lambda y, d, m, s: (math.pi / 180, math.pi / 180 / 60, math.pi / 180 / 3600),
)


# -- non-central chi-square ---------------------------------------------------------------------------------------
def _chndtr_slopes(x: Any, df: Any, nc: Any) -> Any:
    """Return the density, and the slope in the non-centrality: minus the density of two more degrees of freedom."""

    def density(df: Any) -> Any:
        return 0.5 * np.exp(-0.5 * nc) * gamma_density(0.5 * df, 0.5 * x) * sp.hyp0f1(0.5 * df, 0.25 * nc * x)

    return density(df), -density(df + 2)


def _chndtr_partials(y: Any, x: Any, df: Any, nc: Any) -> Any:
    by_x, by_nc = _chndtr_slopes(x, df, nc)
    return by_x, unknown("chndtr in df"), by_nc


def _chndtrix_partials(x: Any, p: Any, df: Any, nc: Any) -> Any:
    by_x, by_nc = _chndtr_slopes(x, df, nc)
    return 1 / by_x, unknown("chndtrix in df"), -by_nc / by_x


def _chndtrinc_partials(nc: Any, x: Any, df: Any, p: Any) -> Any:
    by_x, by_nc = _chndtr_slopes(x, df, nc)
    return -by_x / by_nc, unknown("chndtrinc in df"), 1 / by_nc


rule("chndtr", small, shape, positive, partials=_chndtr_partials)
rule("chndtrix", half_open, shape, positive, partials=_chndtrix_partials)
rule("chndtrinc", Domain(3.0, 5.0), shape, Domain(0.1, 0.4), partials=_chndtrinc_partials)


# -- hypergeometric functions -------------------------------------------------------------------------------------
def _hyperu_partials(y: Any, a: Any, b: Any, x: Any) -> Any:
    return *_unknown("hyperu", "a", "b"), -a * sp.hyperu(a + 1, b + 1, x)


def _wright_partials(y: Any, a: Any, b: Any, x: Any) -> Any:
    return *_unknown("wright_bessel", "a", "b"), sp.wright_bessel(a, a + b, x)


def _log_wright_partials(y: Any, a: Any, b: Any, x: Any) -> Any:
    return *_unknown("log_wright_bessel", "a", "b"), np.exp(sp.log_wright_bessel(a, a + b, x) - y)


rule("hyperu", shape, shape, positive, partials=_hyperu_partials)
rule("wright_bessel", shape, shape, positive, partials=_wright_partials)
rule("log_wright_bessel", shape, shape, positive, partials=_log_wright_partials)


# -- of others no derivative is known in closed form --------------------------------------------------------------
_REFUSED = {
    1: "zetac",
    2: "chdtriv mathieu_a mathieu_b pdtrik smirnov smirnovi stdtridf",
    3: "bdtrik bdtrin btdtria btdtrib chndtridf fdtridfd gdtrib nbdtrik nbdtrin nctdtr nctdtridf nctdtrinc nctdtrit",
    4: "ncfdtr ncfdtri ncfdtridfd ncfdtridfn ncfdtrinc",
}
for nin, names in _REFUSED.items():
    for name in names.split():
        rule(name, *[shape] * nin, partials=lambda y, *xs, name=name: _unknown(name, *["any argument"] * len(xs)))
