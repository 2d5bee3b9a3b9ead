"""Differentiate the ufuncs of scipy.special; each derivative is written with these functions.

Polynomials, waves, elliptic integrals and distributions of more than one kind have modules of their own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.ops.core.sample_domains import Domain, any_real, nonzero, positive, unit
from tapec.ops.special.rule_helpers import (
    ROOT_2PI,
    ROOT_PI,
    half_open,
    order,
    rule,
    shape,
    small,
    sp,
    together,
    turned,
    typed,
    unknown,
)

__all__ = ["beta_density", "boxcox", "gamma_density"]


# -- gamma and its kin --------------------------------------------------------------------------------------------
def _trigamma(z: Any) -> Any:
    """Return the derivative of psi at complex numbers, which SciPy has not.

    It is found left of 1/2 by reflection; else, after ten steps of the recurrence to the right, by the asymptotic
    series. Derivatives of any order follow from these operations.
    """
    left = np.real(z) < 0.5
    z = np.where(left, 1 - z, z)
    total: Any = 0
    for k in range(10):
        total = total + 1 / ((z + k) * (z + k))
    z = z + 10
    u = 1 / (z * z)
    series: Any = 0
    for b in (7 / 6, -691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6):  # Bernoulli's numbers, the last first
        series = (series + b) * u
    total = total + 1 / z + 0.5 * u + series / z
    sine = np.sin(math.pi * np.where(left, z - 10, 0.5))
    return np.where(left, (math.pi / sine) ** 2 - total, total)


def _psi_partials(y: Any, x: Any) -> Any:
    return (_trigamma(x) if x.dtype.kind == "c" else sp.zeta(2, x),)


def _rgamma_slope(y: Any, x: Any) -> Any:
    """Return the derivative of 1 / gamma, which has no poles: left of 1/2 by reflection."""
    left = np.real(x) < 0.5
    away = np.where(left, 1 - x, 1)
    turned = np.cos(math.pi * x) - np.sin(math.pi * x) / math.pi * sp.psi(away)
    return np.where(left, sp.gamma(away) * turned, -y * sp.psi(np.where(left, 1, x)))


def _ratio_slopes(y: Any, tops: list[Any], bottoms: list[Any]) -> list[Any]:
    """Return the derivatives of a product of gammas over one of gammas, which is zero where one of the latter has a
    pole.
    """
    zero = functools.reduce(np.logical_or, [(b <= 0) & (b == np.floor(b)) for b in bottoms])
    slopes = [y * sp.psi(t) for t in tops]
    for b in bottoms:
        others = [sp.rgamma(x) for x in bottoms if x is not b]
        product = math.prod([sp.gamma(np.where(zero, t, 1)) for t in tops] + others)
        slopes.append(np.where(zero, product * _rgamma_slope(sp.rgamma(b), b), -y * sp.psi(np.where(zero, 1, b))))
    return slopes


rule("gamma", positive, scalar="math.gamma({0})", partials=lambda y, x: (y * sp.psi(x),))
rule("gammaln", positive, scalar="math.lgamma({0})", partials=lambda y, x: (sp.psi(x),))
rule("loggamma", positive, partials=lambda y, x: (sp.psi(x),))
rule("rgamma", positive, partials=lambda y, x: (_rgamma_slope(y, x),))
rule("gammasgn", nonzero)
rule("psi", positive, partials=_psi_partials)
rule("_zeta", Domain(2, 4, kind="i"), positive, partials=lambda y, n, q: (unknown("zeta in n"), -n * sp.zeta(n + 1, q)))
rule("_riemann_zeta", Domain(2, 4, kind="i"), partials=lambda y, n: (unknown("zeta"),))


def _poch_partials(y: Any, z: Any, m: Any) -> Any:
    both, first = _ratio_slopes(y, [z + m], [z])
    return both + first, both


def _beta_partials(y: Any, a: Any, b: Any) -> Any:
    first, second, both = _ratio_slopes(y, [a, b], [a + b])
    return first + both, second + both


def _betaln_partials(y: Any, a: Any, b: Any) -> Any:
    both = sp.psi(a + b)
    return sp.psi(a) - both, sp.psi(b) - both


def _binom_partials(y: Any, n: Any, k: Any) -> Any:
    whole, chosen, rest = _ratio_slopes(y, [n + 1], [k + 1, n - k + 1])
    return whole + rest, chosen - rest


rule("poch", positive, positive, partials=_poch_partials)
rule("beta", positive, positive, partials=_beta_partials)
rule("betaln", positive, positive, partials=_betaln_partials)
rule("binom", Domain(3.0, 5.0), Domain(0.5, 2.5), partials=_binom_partials)


# -- incomplete gamma and beta ------------------------------------------------------------------------------------
def gamma_density(a: Any, x: Any) -> Any:
    a = typed(a, x)
    return np.exp(sp.xlogy(a - 1, x) - x - sp.gammaln(a))


def beta_density(a: Any, b: Any, x: Any) -> Any:
    a, b = typed(a, x), typed(b, x)
    return np.exp(sp.xlogy(a - 1, x) + sp.xlog1py(b - 1, -x) - sp.betaln(a, b))


rule("gammainc", shape, small, partials=lambda y, a, x: (unknown("gammainc in a"), gamma_density(a, x)))
rule("gammaincc", shape, small, partials=lambda y, a, x: (unknown("gammaincc in a"), -gamma_density(a, x)))
rule("gammaincinv", shape, half_open, partials=lambda y, a, p: (unknown("gammaincinv in a"), 1 / gamma_density(a, y)))
rule(
    "gammainccinv", shape, half_open, partials=lambda y, a, p: (unknown("gammainccinv in a"), -1 / gamma_density(a, y))
)


def _betainc(name: str, sign: int) -> Any:
    return lambda y, a, b, x: (unknown(f"{name} in a"), unknown(f"{name} in b"), sign * beta_density(a, b, x))


def _betaincinv(name: str, sign: int) -> Any:
    return lambda y, a, b, p: (unknown(f"{name} in a"), unknown(f"{name} in b"), sign / beta_density(a, b, y))


rule("betainc", shape, shape, half_open, partials=_betainc("betainc", 1))
rule("betaincc", shape, shape, half_open, partials=_betainc("betaincc", -1))
rule("betaincinv", shape, shape, half_open, partials=_betaincinv("betaincinv", 1))
rule("betainccinv", shape, shape, half_open, partials=_betaincinv("betainccinv", -1))

# -- error functions ----------------------------------------------------------------------------------------------
rule("erf", any_real, scalar="math.erf({0})", partials=lambda y, x: (2 / ROOT_PI * np.exp(-x * x),))
rule("erfc", any_real, scalar="math.erfc({0})", partials=lambda y, x: (-2 / ROOT_PI * np.exp(-x * x),))
rule("erfcx", any_real, partials=lambda y, x: (2 * x * y - 2 / ROOT_PI,))
rule("erfi", any_real, partials=lambda y, x: (2 / ROOT_PI * np.exp(x * x),))
rule("dawsn", any_real, partials=lambda y, x: (1 - 2 * x * y,))
rule("wofz", any_real, partials=lambda y, x: (2j / ROOT_PI - 2 * x * y,))
rule("erfinv", unit, partials=lambda y, x: (ROOT_PI / 2 * np.exp(y * y),))
rule("erfcinv", Domain(0.2, 1.8), partials=lambda y, x: (-ROOT_PI / 2 * np.exp(y * y),))
rule("fresnel", any_real, vjp=together(lambda y, x: (np.sin(math.pi / 2 * (x * x)), np.cos(math.pi / 2 * (x * x)))))


# -- the normal distribution, and logistic functions --------------------------------------------------------------
def _hazard(x: Any) -> Any:
    """Return the density over the probability.

    A number beyond the range counts as the last in it, so that its slope is zero.
    """
    z = -x / math.sqrt(2)
    if z.dtype.kind == "f":
        z = np.maximum(z, 0.5 - math.sqrt(math.log(np.finfo(z.dtype).max)))
    return math.sqrt(2 / math.pi) / sp.erfcx(z)


rule(
    "ndtr",
    any_real,
    scalar="0.5 * math.erfc(-0.7071067811865476 * {0})",
    partials=lambda y, x: (np.exp(-0.5 * (x * x)) / ROOT_2PI,),
)
rule("log_ndtr", any_real, partials=lambda y, x: (_hazard(x),))
rule("ndtri", half_open, partials=lambda y, p: (ROOT_2PI * np.exp(0.5 * (y * y)),))
rule("ndtri_exp", Domain(-2.0, -0.2), partials=lambda y, x: (ROOT_2PI * np.exp(x + 0.5 * (y * y)),))
rule("expit", any_real, scalar="1.0 / (1.0 + math.exp(-{0}))", partials=lambda y, x: (y * (1 - y),))
rule("log_expit", any_real, partials=lambda y, x: (sp.expit(-x),))
rule("logit", half_open, partials=lambda y, x: (1 / (x * (1 - x)),))


# -- entropies: finite at zero where the functions are ------------------------------------------------------------
def _xlogy_partials(y: Any, a: Any, b: Any) -> Any:
    base = np.where((a == 0) & (b == 0), 1, turned(b, y))
    return np.log(base), a / base


def _xlog1py_partials(y: Any, a: Any, b: Any) -> Any:
    base = np.where((a == 0) & (b == -1), 0, turned(b, y))
    return np.log1p(base), a / (1 + base)


def _entr_partials(y: Any, x: Any) -> Any:
    """Return the partial of entr, zero at zero as that of xlogy(x, x): a share that underflows does not count in a
    sum.
    """
    nothing = x == 0
    return (np.where(nothing, 0, -np.log(np.where(nothing, 1, x)) - 1),)


def _entropy_slopes(a: Any, b: Any) -> Any:
    """Return log(a / b), zero where a is, and a / b, zero where both are."""
    ratio = a / np.where((a == 0) & (b == 0), 1, b)
    return np.log(np.where(a == 0, 1, ratio)), ratio


def _rel_entr_partials(y: Any, a: Any, b: Any) -> Any:
    logarithm, ratio = _entropy_slopes(a, b)
    return logarithm + 1, -ratio


def _kl_div_partials(y: Any, a: Any, b: Any) -> Any:
    logarithm, ratio = _entropy_slopes(a, b)
    return logarithm, 1 - ratio


rule("xlogy", nonzero, positive, partials=_xlogy_partials)
rule("xlog1py", nonzero, unit, partials=_xlog1py_partials)
rule("entr", positive, partials=_entr_partials)
rule("rel_entr", positive, positive, partials=_rel_entr_partials)
rule("kl_div", positive, positive, partials=_kl_div_partials)
rule(
    "huber",
    Domain(0.8, 1.2),
    Domain(-2.0, 2.0),
    partials=lambda y, d, r: (np.maximum(np.abs(r) - d, 0), np.clip(r, -d, d)),
)


def _pseudo_huber_partials(y: Any, d: Any, r: Any) -> Any:
    """Return the partials of d (|d, r| - d), in terms that do not cancel; zero where both d and r are."""
    length = np.hypot(d, r)
    length = np.where(length == 0, np.inf, length)
    return (r * r / (length + d)) ** 2 / length, d * r / length


rule("pseudo_huber", positive, any_real, partials=_pseudo_huber_partials)


# -- powers and exponentials --------------------------------------------------------------------------------------
def _exprel_partials(y: Any, x: Any) -> Any:
    """Return (e^x - y) / x; near zero, where that cancels, the series."""
    near = np.abs(x) < 1e-2
    series = 0.5 + x / 3 * (1 + 3 / 8 * x * (1 + 4 / 15 * x * (1 + 5 / 24 * x)))
    return (np.where(near, series, (np.exp(x) - y) / np.where(near, 1, x)),)


def boxcox(log: Callable[[Any], Any], shift: int) -> Any:
    """Return the partials of (e^(c t) - 1) / c = t exprel(c t), where t is the log of x, or of 1 + x.

    Where t is -inf, the function is -1 / c.
    """

    def partials(y: Any, x: Any, c: Any) -> Any:
        nothing = x == -shift
        t = log(np.where(nothing, 1, x))
        (slope,) = _exprel_partials(sp.exprel(c * t), c * t)
        return (x + shift) ** (c - 1), np.where(nothing, -y / c, t * t * slope)

    return partials


def _inv_boxcox(shift: int) -> Any:
    """Return the partials of (1 + c z)^(1 / c), less the shift.

    With u = c z its log has the slope z² (u / (1 + u) - log(1 + u)) / u² in c.
    """

    def partials(y: Any, z: Any, c: Any) -> Any:
        u, whole = c * z, y + shift
        near, series = np.abs(u) < 0.05, 0.0
        for k in range(12, 1, -1):
            series = series * u + (-1) ** (k - 1) * (k - 1) / k
        curved = (u / (1 + u) - np.log1p(u)) / np.where(near, 1, u * u)
        return whole / (1 + u), whole * z * z * np.where(near, series, curved)

    return partials


rule("boxcox", positive, nonzero, partials=boxcox(np.log, 0))
rule("boxcox1p", unit, nonzero, partials=boxcox(np.log1p, 1))
rule("inv_boxcox", Domain(0.1, 1.0), positive, partials=_inv_boxcox(0))
rule("inv_boxcox1p", Domain(0.1, 1.0), positive, partials=_inv_boxcox(1))
rule("exprel", nonzero, partials=_exprel_partials)
rule("exp2", any_real, partials=lambda y, x: (y * math.log(2.0),))
rule("exp10", any_real, partials=lambda y, x: (y * math.log(10.0),))
rule("expm1", any_real, partials=lambda y, x: (y + 1,))
rule("log1p", unit, partials=lambda y, x: (1 / (1 + x),))
rule("cbrt", nonzero, partials=lambda y, x: (1 / (3 * y * y),))
rule("powm1", positive, any_real, partials=lambda y, x, p: (p * x ** (p - 1), (y + 1) * np.log(x)))
rule("cosm1", any_real, partials=lambda y, x: (-np.sin(x),))
rule("sindg", any_real, partials=lambda y, x: (math.pi / 180 * sp.cosdg(x),))
rule("cosdg", any_real, partials=lambda y, x: (-math.pi / 180 * sp.sindg(x),))
rule("tandg", any_real, partials=lambda y, x: (math.pi / 180 * (1 + y * y),))
rule("cotdg", Domain(20.0, 60.0), partials=lambda y, x: (-math.pi / 180 * (1 + y * y),))
rule("round", any_real)


# -- integrals ----------------------------------------------------------------------------------------------------
def _expn_partials(y: Any, n: Any, x: Any) -> Any:
    """Return the partial in x: minus the integral of the order before; before order 0 it has a closed form."""
    first = n == 0
    before = sp.expn(np.where(first, 1, n) - 1, x)
    return unknown("expn in n"), -np.where(first, (1 + 1 / x) * before, before)


rule("expi", positive, partials=lambda y, x: (np.exp(x) / x,))
rule("exp1", positive, partials=lambda y, x: (-np.exp(-x) / x,))
rule("expn", Domain(0, 5, kind="i"), positive, partials=_expn_partials)
rule("sici", positive, vjp=together(lambda y, x: (np.sin(x) / x, np.cos(x) / x)))
rule("shichi", positive, vjp=together(lambda y, x: (np.sinh(x) / x, np.cosh(x) / x)))


def _spence_partials(y: Any, x: Any) -> Any:
    """Return log x / (1 - x), -1 at 1."""
    return (np.log(x) / (1 - x) if x.dtype.kind == "c" else -1 / sp.exprel(np.log(x)),)


rule("spence", Domain(0.2, 0.8), partials=_spence_partials)


def _owens_t_partials(y: Any, h: Any, a: Any) -> Any:
    across = np.exp(-0.5 * (h * h) * (1 + a * a)) / (2 * math.pi * (1 + a * a))
    return -np.exp(-0.5 * (h * h)) * sp.erf(a * h / math.sqrt(2)) / (2 * ROOT_2PI), across


rule("owens_t", any_real, any_real, partials=_owens_t_partials)
rule("wrightomega", any_real, partials=lambda y, x: (y / (1 + y),))
rule(
    "_lambertw",
    positive,
    Domain(0, 0, kind="i"),
    Domain(1e-8, 1e-8),
    partials=lambda y, z, k, tol: (1 / (np.exp(y) * (1 + y)), None, 0),
)


# -- Bessel functions: neighbours in the order --------------------------------------------------------------------
def _between(name: str, below: float, above: float) -> Any:
    """Return the partials below * f(n - 1) + above * f(n + 1) of a function f of order n."""

    def partials(y: Any, n: Any, x: Any) -> Any:
        f = getattr(sp, name)
        return unknown(f"{name} in its order"), below * f(n - 1, x) + above * f(n + 1, x)

    return partials


rule("jv", order, positive, partials=_between("jv", 0.5, -0.5))
rule("yv", order, positive, partials=_between("yv", 0.5, -0.5))
rule("yn", order, positive, partials=_between("yv", 0.5, -0.5))
rule("iv", order, positive, partials=_between("iv", 0.5, 0.5))
rule("kv", order, positive, partials=_between("kv", -0.5, -0.5))
rule("kn", Domain(1, 3, kind="i"), positive, partials=_between("kv", -0.5, -0.5))
rule("hankel1", order, positive, partials=_between("hankel1", 0.5, -0.5))
rule("hankel2", order, positive, partials=_between("hankel2", 0.5, -0.5))


def _kve_partials(y: Any, n: Any, x: Any) -> Any:
    return unknown("kve in its order"), y - 0.5 * (sp.kve(n - 1, x) + sp.kve(n + 1, x))


rule("kve", order, positive, partials=_kve_partials)
rule("j0", any_real, partials=lambda y, x: (-sp.j1(x),))
rule("j1", any_real, partials=lambda y, x: (0.5 * (sp.j0(x) - sp.jv(2, x)),))
rule("y0", positive, partials=lambda y, x: (-sp.y1(x),))
rule("y1", positive, partials=lambda y, x: (0.5 * (sp.y0(x) - sp.yv(2, x)),))
rule("i0", any_real, partials=lambda y, x: (sp.i1(x),))
rule("i1", any_real, partials=lambda y, x: (0.5 * (sp.i0(x) + sp.iv(2, x)),))
rule("i0e", nonzero, partials=lambda y, x: (sp.i1e(x) - np.sign(x) * y,))
rule("i1e", nonzero, partials=lambda y, x: (0.5 * (sp.i0e(x) + sp.ive(2, x)) - np.sign(x) * y,))
rule("k0", positive, partials=lambda y, x: (-sp.k1(x),))
rule("k1", positive, partials=lambda y, x: (-0.5 * (sp.k0(x) + sp.kv(2, x)),))
rule("k0e", positive, partials=lambda y, x: (y - sp.k1e(x),))
rule("k1e", positive, partials=lambda y, x: (y - 0.5 * (sp.k0e(x) + sp.kve(2, x)),))
rule("airy", any_real, vjp=together(lambda y, x: (y[1], x * y[0], y[3], x * y[2])))


# -- distributions, and hypergeometric functions: shape parameters have no closed form ---------------------------
def _student_density(df: Any, t: Any) -> Any:
    df = typed(df, t)
    log_scale = sp.gammaln(0.5 * (df + 1)) - sp.gammaln(0.5 * df) - 0.5 * np.log(math.pi * df)
    return np.exp(log_scale - 0.5 * (df + 1) * np.log1p(t * t / df))


rule("stdtr", shape, any_real, partials=lambda y, v, t: (unknown("stdtr in df"), _student_density(v, t)))
rule("stdtrit", shape, half_open, partials=lambda y, v, p: (unknown("stdtrit in df"), 1 / _student_density(v, y)))
rule("chdtr", shape, small, partials=lambda y, v, x: (unknown("chdtr in v"), 0.5 * gamma_density(0.5 * v, 0.5 * x)))
rule("chdtrc", shape, small, partials=lambda y, v, x: (unknown("chdtrc in v"), -0.5 * gamma_density(0.5 * v, 0.5 * x)))
rule("pdtr", order, small, partials=lambda y, k, m: (unknown("pdtr in k"), -gamma_density(np.floor(k) + 1, m)))
rule("pdtrc", order, small, partials=lambda y, k, m: (unknown("pdtrc in k"), gamma_density(np.floor(k) + 1, m)))


def _hyp1f1_partials(y: Any, a: Any, b: Any, x: Any) -> Any:
    return unknown("hyp1f1 in a"), unknown("hyp1f1 in b"), a / b * sp.hyp1f1(a + 1, b + 1, x)


def _hyp2f1_partials(y: Any, a: Any, b: Any, c: Any, x: Any) -> Any:
    slope = a * b / c * sp.hyp2f1(a + 1, b + 1, c + 1, x)
    return unknown("hyp2f1 in a"), unknown("hyp2f1 in b"), unknown("hyp2f1 in c"), slope


rule("hyp0f1", shape, any_real, partials=lambda y, b, x: (unknown("hyp0f1 in b"), sp.hyp0f1(b + 1, x) / b))
rule("hyp1f1", shape, shape, any_real, partials=_hyp1f1_partials)
rule("hyp2f1", shape, shape, shape, unit, partials=_hyp2f1_partials)
