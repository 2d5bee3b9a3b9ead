"""This package has scipy.interpolate on tensors: splines and tables, differentiable in values, knots and places.

`from tapec.scipy.interpolate import CubicSpline`; what is not here is SciPy's. Derivatives with respect to a place are
those of the polynomial that holds there: at a knot, of the one after it.

Comes in: tensors and arrays.  Goes out: the same.  Needs SciPy; nothing of tapec imports it.
"""

from __future__ import annotations

from typing import Any

from scipy import interpolate as _interpolate

from tapec.scipy.interpolate.barycentric import BarycentricInterpolator, barycentric_interpolate
from tapec.scipy.interpolate.bsplines import BSpline, make_interp_spline
from tapec.scipy.interpolate.cubic import (
    Akima1DInterpolator,
    CubicHermiteSpline,
    CubicSpline,
    PchipInterpolator,
    pchip_interpolate,
)
from tapec.scipy.interpolate.grids import RegularGridInterpolator, interpn
from tapec.scipy.interpolate.piecewise import PPoly
from tapec.scipy.interpolate.tables import interp1d

__all__ = [
    "Akima1DInterpolator",
    "BSpline",
    "BarycentricInterpolator",
    "CubicHermiteSpline",
    "CubicSpline",
    "PPoly",
    "PchipInterpolator",
    "RegularGridInterpolator",
    "barycentric_interpolate",
    "interp1d",
    "interpn",
    "make_interp_spline",
    "pchip_interpolate",
]


def __getattr__(name: str) -> Any:
    return getattr(_interpolate, name)
