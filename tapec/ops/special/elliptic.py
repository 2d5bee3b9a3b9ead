"""Differentiate elliptic integrals and functions, by Carlson's symmetric integrals: denominators do not vanish."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.ops.core.sample_domains import Domain, any_real, positive
from tapec.ops.special.rule_helpers import chosen, half_open, known, rule, sp, together, turned, typed

__all__: list[str] = []


# -- complete integrals: (E - K) / 2m and (E / (1 - m) - K) / 2m, but exact at and near zero ----------------------
def _ellipe_slope(m: Any) -> Any:
    return -math.pi / 8 * sp.hyp2f1(0.5, 1.5, 2.0, m)


def _ellipk_slope(m: Any) -> Any:
    return math.pi / 8 * sp.hyp2f1(1.5, 1.5, 2.0, m)


rule("ellipe", half_open, partials=lambda y, m: (_ellipe_slope(m),))
rule("ellipk", half_open, partials=lambda y, m: (_ellipk_slope(m),))
rule("ellipkm1", half_open, partials=lambda y, p: (-math.pi / 8 / p * sp.hyp2f1(0.5, 0.5, 2.0, 1 - p),))


# -- incomplete integrals -----------------------------------------------------------------------------------------
def _by_parameter(phi: Any, whole: Any, part: Any) -> Any:
    """Return the slope of an integral in m: twice that of the complete one for each half turn, plus that of the rest of
    phi.

    The latter is `part`, of the sine and the square of the cosine of the rest.
    """
    turns = np.round(phi / math.pi)
    rest = phi - math.pi * turns
    return chosen(turns == 0, 0, 2 * turns * whole) + part(np.sin(rest), np.cos(rest) ** 2)


def _ellipkinc_slope(phi: Any, m: Any) -> Any:
    """Return the slope in m."""

    def part(s: Any, c2: Any) -> Any:
        return s**3 / 6 * sp.elliprd(1.0, c2, c2 + (1 - m) * (s * s))

    return _by_parameter(typed(known(phi), m), _ellipk_slope(m), part)


def _ellipeinc_slope(phi: Any, m: Any) -> Any:
    """Return the slope in m."""

    def part(s: Any, c2: Any) -> Any:
        return -(s**3) / 6 * sp.elliprd(c2, c2 + (1 - m) * (s * s), 1.0)

    return _by_parameter(typed(known(phi), m), _ellipe_slope(m), part)


def _delta(phi: Any, m: Any) -> Any:
    s = np.sin(phi)
    return np.sqrt(np.cos(phi) ** 2 + (1 - m) * (s * s))


rule("ellipkinc", any_real, half_open, partials=lambda y, phi, m: (1 / _delta(phi, m), _ellipkinc_slope(phi, m)))
rule("ellipeinc", any_real, half_open, partials=lambda y, phi, m: (_delta(phi, m), _ellipeinc_slope(phi, m)))


def _ellipj_by_argument(y: Any, u: Any, m: Any) -> Any:
    sn, cn, dn, _ = y
    return cn * dn, -sn * dn, -m * sn * cn, dn


def _ellipj_by_parameter(y: Any, u: Any, m: Any) -> Any:
    """Return the slopes in m of the Jacobian functions, by those of the amplitude, whose integral u is constant."""
    sn, cn, dn, amplitude = y
    turned = -dn * _ellipkinc_slope(amplitude, m)
    return cn * turned, -sn * turned, -0.5 * sn / dn * (sn + 2 * m * cn * turned), turned


rule("ellipj", any_real, half_open, vjp=together(_ellipj_by_argument, _ellipj_by_parameter))


# -- Carlson's integrals ------------------------------------------------------------------------------------------
def _twice_steep(x: Any, y: Any, z: Any) -> Any:
    """Return the integral of (t + x)^(-3/2) (t + y)^(-1/2) (t + z)^(-3/2): a divided difference of R_D in x and z.

    Where these are near each other, it is a series in the square of half their distance.
    """
    middle = 0.5 * (x + z)
    near = np.abs(x - z) < 0.02 * np.abs(middle)
    ratio = (0.5 * (x - z) / middle) ** 2
    at = np.where(near, 1 - y / middle, 0)
    series: Any = 0
    for k, b in ((3, 35 / 16), (2, 15 / 8), (1, 3 / 2), (0, 1.0)):
        series = series * ratio + b / (2.5 + 2 * k) * sp.hyp2f1(2.5 + 2 * k, 0.5, 3.5 + 2 * k, at)
    apart = 2 / 3 * (sp.elliprd(y, z, x) - sp.elliprd(x, y, z)) / np.where(near, 1, z - x)
    return np.where(near, series / (middle * middle * np.sqrt(middle)), apart)


def _shared(whole: Any, last: Any, *pairs: Any) -> Any:
    """Return the slope in the last argument of a homogeneous function, by Euler's theorem from those in the others."""
    for x, slope in pairs:
        whole = whole - np.where(x == 0, 0, x * slope)
    return whole / last


def _elliprd_partials(r: Any, x: Any, y: Any, z: Any) -> Any:
    by_x, by_y = -0.75 * _twice_steep(x, y, z), -0.75 * _twice_steep(y, x, z)
    return by_x, by_y, _shared(-1.5 * r, z, (x, by_x), (y, by_y))


def _elliprf_partials(r: Any, x: Any, y: Any, z: Any) -> Any:
    return -sp.elliprd(y, z, x) / 6, -sp.elliprd(z, x, y) / 6, -sp.elliprd(x, y, z) / 6


def _elliprg_partials(r: Any, x: Any, y: Any, z: Any) -> Any:
    quarter = 0.25 * sp.elliprf(x, y, z)

    def slope(x: Any, y: Any, z: Any) -> Any:
        return quarter - np.where(x == 0, 0, x * sp.elliprd(y, z, np.where(x == 0, 1, x))) / 12

    return slope(x, y, z), slope(y, z, x), slope(z, x, y)


def _elliprj_partials(r: Any, x: Any, y: Any, z: Any, p: Any) -> Any:
    """Return differences of R_J from R_D, divided by the distance from p.

    Where both are near each other, they are derivatives of R_D at a point between them.
    """
    reach = float(np.finfo(r.dtype).eps) ** (1 / 3)

    def slope(x: Any, y: Any, z: Any) -> Any:
        near = np.abs(x - p) < reach * np.abs(x)
        middle = np.where(near, 0.6 * x + 0.4 * p, 1)
        _, _, merged = _elliprd_partials(sp.elliprd(y, z, middle), y, z, middle)
        apart = 0.5 * (r - sp.elliprd(y, z, x)) / np.where(near, 1, p - x)
        return np.where(near, merged / 3, apart)

    slopes = slope(x, y, z), slope(y, z, x), slope(z, x, y)
    return *slopes, _shared(-1.5 * r, p, *zip((x, y, z), slopes))


def _elliprc_partials(r: Any, x: Any, y: Any) -> Any:
    """Return the partials of R_C(x, y) = R_F(x, y, y).

    Where y is a negative real number, they are those of the principal value, from the differential equation.
    """
    by_x, by_y = -sp.elliprd(y, y, x) / 6, -sp.elliprd(x, y, y) / 3
    principal = (np.imag(y) == 0) & (np.real(y) < 0) if y.dtype.kind == "c" else y < 0
    steep = (r - 1 / np.sqrt(turned(x, r))) / np.where(principal, 2 * (y - x), 1)
    return np.where(principal, steep, by_x), np.where(principal, _shared(-0.5 * r, y, (x, steep)), by_y)


def _agm_partials(y: Any, a: Any, b: Any) -> Any:
    """Return the partials of the arithmetic-geometric mean, which is π/2 over R_F(0, a², b²)."""
    scale = 2 / (3 * math.pi) * (y * y)
    a2, b2 = a * a, b * b
    return scale * np.abs(a) * sp.elliprd(0.0, b2, a2), scale * np.abs(b) * sp.elliprd(0.0, a2, b2)


rule("elliprf", positive, positive, positive, partials=_elliprf_partials)
rule("elliprd", positive, positive, positive, partials=_elliprd_partials)
rule("elliprg", positive, positive, positive, partials=_elliprg_partials)
rule("elliprj", positive, positive, positive, Domain(2.6, 4.0), partials=_elliprj_partials)
rule("elliprc", positive, Domain(2.6, 4.0), partials=_elliprc_partials)
rule("agm", positive, positive, partials=_agm_partials)
