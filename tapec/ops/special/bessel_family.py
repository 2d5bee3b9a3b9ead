"""Differentiate Bessel functions and their relatives: Kelvin, Struve, Voigt, Weber, Mathieu; and their integrals."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.ops.core.sample_domains import Domain, any_real, nonzero, positive
from tapec.ops.special.rule_helpers import (
    ROOT_PI,
    by_parts,
    chosen,
    known,
    order,
    rule,
    shape,
    small,
    sp,
    together,
    unknown,
)

__all__ = ["spherical_slope"]

TURNED = cmath.exp(0.25j * math.pi)  # Kelvin's functions are Bessel's of x times this


# -- scaled, and spherical ----------------------------------------------------------------------------------------
def _scaled(name: str, by: complex) -> Any:
    """Return the partials of Bessel functions times an exponential whose own slope is `by`."""

    def partials(y: Any, n: Any, x: Any) -> Any:
        f = getattr(sp, name)
        return unknown(f"{name} in its order"), 0.5 * (f(n - 1, x) - f(n + 1, x)) + by * y

    return partials


rule("hankel1e", order, positive, partials=_scaled("hankel1e", -1j))
rule("hankel2e", order, positive, partials=_scaled("hankel2e", 1j))


def _along(name: str) -> Any:
    """Return the rules of Bessel functions times e^-|Im x|."""

    def slopes(y: Any, n: Any, x: Any) -> Any:
        f = getattr(sp, name)
        slope = 0.5 * (f(n - 1, x) - f(n + 1, x))
        return [(slope, np.sign(np.imag(x)) * y, 1j) if x.dtype.kind == "c" else (slope,)]

    return by_parts(unknown(f"{name} in its order"), slopes)


def _ive_slopes(y: Any, n: Any, x: Any) -> Any:
    """Return the slope of a function times e^-|Re x|."""
    return [(0.5 * (sp.ive(n - 1, x) + sp.ive(n + 1, x)), -np.sign(np.real(x)) * y, 1)]


rule("jve", order, positive, **_along("jve"))
rule("yve", order, positive, **_along("yve"))
rule("ive", order, positive, **by_parts(unknown("ive in its order"), _ive_slopes))


def _airye_slopes(y: Any, x: Any) -> list[Any]:
    """Return the slopes of the scaled Airy functions: Ai is scaled by e^u with u = 2/3 x^1.5, Bi by e^-|Re u|.

    Of real numbers, neither is where x is negative.
    """
    a, a_slope, b, b_slope = y
    by_size: list[Any]
    if x.dtype.kind == "c":
        root = np.sqrt(x)
        side = -np.sign(np.real(x * root))
        by_size = [(b_slope, side * b, root), (x * b, side * b_slope, root)]
    else:
        root = np.sqrt(np.maximum(x, 0))
        by_size = [(b_slope - root * b,), (x * b - root * b_slope,)]
    return [(a_slope + root * a,), (x * a + root * a_slope,), *by_size]


rule("airye", positive, **by_parts(_airye_slopes))


SPHERICAL = {"jn": (1, -1), "yn": (1, -1), "in": (1, 1), "kn": (-1, -1)}  # signs of their neighbours


def spherical_slope(kind: str, f: Callable[..., Any], n: Any, z: Any) -> Any:
    """Return the derivative of a spherical Bessel function by its two neighbours; degree 0 has only one."""
    below, above = SPHERICAL[kind]
    after = f(n + 1, z)
    slope = (below * n * f(chosen(n < 1, 1, n) - 1, z) + above * (n + 1) * after) / (2 * n + 1)
    return slope.astype(after.dtype)


def _spherical(kind: str) -> Any:
    return lambda y, n, z: (None, spherical_slope(kind, getattr(sp, f"_spherical_{kind}"), known(n), z))


for kind in SPHERICAL:
    rule(f"_spherical_{kind}", order, positive, partials=_spherical(kind))


# -- Kelvin's and Struve's functions ------------------------------------------------------------------------------
def _second_i(x: Any) -> Any:
    """The second derivative of ber + i bei, where the differential equation would divide by x."""
    return 0.5j * (sp.iv(0, TURNED * x) + sp.iv(2, TURNED * x))


def _second_k(x: Any) -> Any:
    """Return the second derivative of ker + i kei, likewise."""
    return 0.5j * (sp.kv(0, TURNED * x) + sp.kv(2, TURNED * x))


rule("ber", any_real, partials=lambda y, x: (sp.berp(x),))
rule("bei", any_real, partials=lambda y, x: (sp.beip(x),))
rule("ker", positive, partials=lambda y, x: (sp.kerp(x),))
rule("kei", positive, partials=lambda y, x: (sp.keip(x),))
rule("berp", any_real, partials=lambda y, x: (np.real(_second_i(x)),))
rule("beip", any_real, partials=lambda y, x: (np.imag(_second_i(x)),))
rule("kerp", positive, partials=lambda y, x: (np.real(_second_k(x)),))
rule("keip", positive, partials=lambda y, x: (np.imag(_second_k(x)),))
rule("kelvin", positive, vjp=together(lambda y, x: (y[2], y[3], _second_i(x), _second_k(x))))


def _struve(name: str, sign: int) -> Any:
    """Return the partials of a Struve function: neighbours in the order, and the term that the recurrence has beside
    them.

    For order 0 the function of order -1 is known by the recurrence.
    """

    def partials(y: Any, v: Any, x: Any) -> Any:
        f, v = getattr(sp, name), known(v)
        first = v == 0
        after = sign * f(v + 1, x)
        beside = (0.5 * x) ** v * sp.rgamma(v + 1.5) / ROOT_PI
        between = 0.5 * (f(chosen(first, 1, v) - 1, x) - after + beside)
        return unknown(f"{name} in its order"), chosen(first, 2 / math.pi - after, between)

    return partials


rule("struve", order, positive, partials=_struve("struve", 1))
rule("modstruve", order, positive, partials=_struve("modstruve", -1))


# -- integrals of Bessel functions --------------------------------------------------------------------------------
def _over(f: Any, x: Any, limit: float) -> Any:
    """Return f / x, with its limit at zero."""
    return np.where(x == 0, limit, f / np.where(x == 0, 1, x))


def _rise(f: Any, x: Any, sign: int) -> Any:
    """Return (f - 1) / x for J0 and, with sign 1, for I0; near zero, where that cancels, the series."""
    near = np.abs(x) < 1
    u = 0.25 * sign * np.minimum(x * x, 1)
    series: Any = 0
    for k in range(9, 1, -1):
        series = (1 + series) * u / (k * k)
    return np.where(near, 0.25 * sign * x * (1 + series), (f - 1) / np.where(near, 1, x))


def _airy_integrals(y: Any, x: Any) -> Any:
    ahead, behind = sp.airy(x), sp.airy(-x)
    return ahead[0], ahead[2], behind[0], behind[2]


rule("itj0y0", positive, vjp=together(lambda y, x: (sp.j0(x), sp.y0(x))))
rule("iti0k0", positive, vjp=together(lambda y, x: (sp.i0(x), sp.k0(x))))
rule("it2j0y0", positive, vjp=together(lambda y, x: (-_rise(sp.j0(x), x, -1), -sp.y0(x) / x)))
rule("it2i0k0", positive, vjp=together(lambda y, x: (_rise(sp.i0(x), x, 1), -sp.k0(x) / x)))
rule("itstruve0", positive, partials=lambda y, x: (sp.struve(0, x),))
rule("itmodstruve0", positive, partials=lambda y, x: (sp.modstruve(0, x),))
rule("it2struve0", positive, partials=lambda y, x: (-_over(sp.struve(0, x), x, 2 / math.pi),))
rule("itairy", positive, vjp=together(_airy_integrals))


def _besselpoly_partials(y: Any, a: Any, power: Any, v: Any) -> Any:
    power, v = known(power), known(v)
    slope = sp.besselpoly(a, power + 1, v - 1) - sp.besselpoly(a, power + 1, v + 1)
    return slope, unknown("besselpoly in its power"), unknown("besselpoly in its order")


rule("besselpoly", positive, shape, order, partials=_besselpoly_partials)


def _modfresnel_slopes(sign: int) -> Callable[..., Any]:
    turn = sign * 1j

    def slopes(y: Any, x: Any) -> Any:
        return -np.exp(turn * (x * x)), -2 * turn * x * y[1] - cmath.exp(-0.25 * math.pi * turn) / ROOT_PI

    return slopes


rule("modfresnelp", positive, vjp=together(_modfresnel_slopes(1)))
rule("modfresnelm", positive, vjp=together(_modfresnel_slopes(-1)))


# -- Voigt's profile ----------------------------------------------------------------------------------------------
def _faddeeva_slopes(s: Any, zeta: Any) -> Any:
    """Return first and second derivatives of Faddeeva's function at zeta / s√2, over (s√2)² and (s√2)³.

    Far out, where these formulas cancel, they are asymptotic series, which need no width.
    """
    wide = math.sqrt(2) * s
    far = np.abs(zeta) > 12 * wide
    wide, away = np.where(far, 1, wide), np.where(far, zeta, 1)
    z = np.where(far, 0, zeta) / wide
    w = sp.wofz(z)
    first = 2j / ROOT_PI - 2 * z * w
    second = -2 * w - 2 * z * first
    u = 2 * (s / away) ** 2
    outer: Any = 0
    steeper: Any = 0
    for k in range(10, 0, -1):
        outer = (1 + outer) * (k + 0.5) * u
        steeper = (k + 1 + steeper) * (k + 0.5) * u
    outer = -1j / ROOT_PI * (1 + outer) / (away * away)
    steeper = 2j / ROOT_PI * (1 + steeper) / (away * away * away)
    return np.where(far, outer, first / (wide * wide)), np.where(far, steeper, second / (wide * wide * wide))


def _voigt_partials(y: Any, x: Any, s: Any, g: Any) -> Any:
    """Return the partials of the Voigt profile, from the derivatives of Faddeeva's function.

    With a Lorentzian of no width (g = 0) the profile is the Gaussian, and its partials are written by that: with its
    width it spreads as heat does.
    """
    first, second = _faddeeva_slopes(s, x + 1j * g)
    gaussian = (g == 0) & (s != 0)
    width = np.where(gaussian, s, 1)
    z = x / width
    by_x = np.where(gaussian, -z * y / width, np.real(first) / ROOT_PI)
    by_s = np.where(gaussian, (z * z - 1) * y / width, s * np.real(second) / ROOT_PI)
    return by_x, by_s, -np.imag(first) / ROOT_PI


rule("voigt_profile", any_real, positive, positive, partials=_voigt_partials)


# -- functions that come with their derivatives, whose own are told by a differential equation --------------------
def _with_slope(
    name: str, parameters: tuple[str, ...], second: Callable[..., Any], *domains: Domain, unit: float = 1.0
) -> None:
    """Define the rule of a function that SciPy gives with its derivative; `unit` is the unit of that derivative in
    units of x.
    """

    def slopes(y: Any, *xs: Any) -> Any:
        return unit * y[1], unit * second(*y, *xs)

    fixed = [unknown(f"{name} in {p}") for p in parameters]
    rule(name, *domains, vjp=together(*fixed, slopes))


def _weber(y: Any, slope: Any, v: Any, x: Any) -> Any:
    return (0.25 * (x * x) - v - 0.5) * y


def _mathieu(characteristic: str, angular: bool) -> Any:
    """Return the second derivative by y'' = ±(2q cos 2x - a) y: with cosh for radial functions, in degrees for angular
    ones.
    """

    def second(y: Any, slope: Any, m: Any, q: Any, x: Any) -> Any:
        a = getattr(sp, characteristic)(m, q)
        return (2 * q * sp.cosdg(2 * x) - a) * y if angular else (a - 2 * q * np.cosh(2 * x)) * y

    return second


_with_slope("pbdv", ("its order",), _weber, order, positive)
_with_slope("pbvv", ("its order",), _weber, order, positive)
_with_slope("pbwa", ("a",), lambda y, slope, a, x: (a - 0.25 * (x * x)) * y, order, positive)
for name, a in (("cem", "mathieu_a"), ("sem", "mathieu_b")):
    _with_slope(f"mathieu_{name}", ("m", "q"), _mathieu(a, True), shape, shape, nonzero, unit=math.pi / 180)
    for number in (1, 2):
        _with_slope(f"mathieu_mod{name}{number}", ("m", "q"), _mathieu(a, False), shape, shape, small)
