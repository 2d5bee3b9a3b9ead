"""Define cubic polynomials through points: `CubicSpline`, and those whose slopes are given or come from a rule.

Points that are not finite are refused where they are plain; among recorded ones nan gives nan.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.fast_namedtuple import NamedTuple
from tapec.ir.types import normalize_axis
from tapec.ops.control.custom_gradients import stop_gradient
from tapec.ops.core.op_helpers import as_array
from tapec.ops.core.symbol import is_known
from tapec.scipy.interpolate.piecewise import PPoly, column, double, frozen_copy, real, solved, true

__all__ = ["Akima1DInterpolator", "CubicHermiteSpline", "CubicSpline", "PchipInterpolator", "pchip_interpolate"]


# -- points -----------------------------------------------------------------------------------------------------------
class Points(NamedTuple):
    """Values y at x, along their first axis, which had another number before; the steps h of x; the slopes between."""

    x: Any
    y: Any
    axis: int
    h: Any
    slope: Any


def _points(x: Any, y: Any, axis: int) -> Points:
    x, y = frozen_copy(real(x, "x")), frozen_copy(double(y))
    axis = normalize_axis(axis, y.ndim)
    if x.ndim != 1 or x.shape[0] < 2:
        raise ValueError(at_user_line(f"x is a vector of two numbers or more, got an array of shape {x.shape}"))
    if x.shape[0] != y.shape[axis]:
        raise ValueError(at_user_line(f"x has {x.shape[0]} numbers, and y of shape {y.shape} others along axis {axis}"))
    _check_finite(y, "y")
    h = np.diff(x)
    if true(~np.all((h > 0) & (h < np.inf))):
        raise ValueError(at_user_line("x must be finite and increase strictly"))
    y = np.moveaxis(y, axis, 0) if axis else y
    return Points(x, y, axis, h, np.diff(y, axis=0) / column(h, y.ndim))


def _check_finite(y: Any, name: str) -> None:
    if is_known(y) and not np.isfinite(y).all():
        raise ValueError(at_user_line(f"{name} must contain only finite numbers"))


def _real_points(x: Any, y: Any, axis: int) -> Points:
    return _points(x, real(y, "y"), axis)


# -- polynomials of given slopes --------------------------------------------------------------------------------------
class CubicHermiteSpline(PPoly):
    """Interpolates values and slopes at points, as scipy.interpolate.CubicHermiteSpline does.

    It is called and has methods as a `PPoly`.

    Parameters
    ----------
    x : array
        The points, which increase.
    y : array
        The values.
    dydx : array
        The slopes, of the shape of y.
    axis : int, default 0
        The axis of y along which the points lie.
    extrapolate : bool, "periodic" or None, default None
        Whether the outermost polynomials go on; False is nan outside. None is True.

    Raises
    ------
    ValueError
        If the shapes do not fit, or plain values are not finite.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy.interpolate import CubicHermiteSpline
    >>> curve = CubicHermiteSpline([0.0, 1.0], [0.0, 1.0], [0.0, 2.0])
    >>> curve(0.5), tapec.grad(curve)(0.5)
    (np.float64(0.25), np.float64(1.0))

    See Also
    --------
    tapec.scipy.interpolate.CubicSpline : finds the slopes
    tapec.scipy.interpolate.PPoly : its methods
    """

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None):
        points, slopes = _points(x, y, axis), frozen_copy(double(dydx))
        if slopes.shape != np.shape(y):
            raise ValueError(at_user_line(f"dydx has the shape {slopes.shape}, but y has {np.shape(y)}"))
        _check_finite(slopes, "dydx")
        self._pass(points, np.moveaxis(slopes, points.axis, 0) if points.axis else slopes, extrapolate)

    def _pass(self, points: Points, slopes: Any, extrapolate: Any) -> None:
        """Go through the points with these slopes."""
        h, first = column(points.h, points.y.ndim), slopes[:-1]
        bend = (first + slopes[1:] - 2 * points.slope) / h
        parts = bend / h, (points.slope - first) / h - bend, first, points.y[:-1]
        self._hold(parts, points.x, extrapolate, points.axis)


class PchipInterpolator(CubicHermiteSpline):
    """Interpolates values at points, as scipy.interpolate.PchipInterpolator does: the curve rises and falls where they
    do.

    Where the rise turns into a fall the slope is flat, and stays so for points nearby. It is called and has methods
    as a `PPoly`.

    Parameters
    ----------
    x : array
        The points, which increase.
    y : array
        The values, which are real.
    axis : int, default 0
        The axis of y along which the points lie.
    extrapolate : bool, "periodic" or None, default None
        Whether the outermost polynomials go on; False is nan outside. None is True.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy.interpolate import PchipInterpolator
    >>> PchipInterpolator([0.0, 1.0, 2.0], [0.0, 1.0, 1.0])(1.5)
    np.float64(1.0)

    See Also
    --------
    tapec.scipy.interpolate.pchip_interpolate : at once
    tapec.scipy.interpolate.Akima1DInterpolator : another choice of slopes
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None):
        points = _real_points(x, y, axis)
        self._pass(points, _monotone(points), extrapolate)


def _monotone(points: Points) -> Any:
    """The harmonic mean of the slopes on both sides, weighted by the steps."""
    h, m = column(points.h, points.y.ndim), points.slope
    if m.shape[0] == 1:
        return np.concatenate([m, m])
    before, after = m[:-1], m[1:]
    turns = np.sign(before) * np.sign(after) <= 0
    w, v = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    mean = (w + v) / (w / np.where(turns, 1, before) + v / np.where(turns, 1, after))
    first = _at_end(h[:1], h[1:2], m[:1], m[1:2])
    last = _at_end(h[-1:], h[-2:-1], m[-1:], m[-2:-1])
    return np.concatenate([first, np.where(turns, 0, mean), last])


def _at_end(h: Any, next_h: Any, m: Any, next_m: Any) -> Any:
    """The slope of the parabola through three points at the first, as far as it keeps the shape."""
    d = ((2 * h + next_h) * m - h * next_m) / (h + next_h)
    steep = (np.sign(m) != np.sign(next_m)) & (np.abs(d) > 3 * np.abs(m))
    return np.where(np.sign(d) != np.sign(m), 0, np.where(steep, 3 * m, d))


def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """Interpolate values at points by a `PchipInterpolator`, and return what it is at these places.

    Parameters
    ----------
    xi : array
        The points, which increase.
    yi : array
        The values, which are real.
    x : array
        The places.
    der : int, or a sequence of int, default 0
        The order of the derivative, or several. 0 is the value.
    axis : int, default 0
        The axis of yi along which the points lie.

    Returns
    -------
    array, or a list of arrays
        The values, or derivatives; a list where there are several orders.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy.interpolate import pchip_interpolate
    >>> pchip_interpolate([0.0, 1.0, 2.0], [0.0, 1.0, 1.0], 1.5)
    np.float64(1.0)

    See Also
    --------
    tapec.scipy.interpolate.PchipInterpolator : for many places
    """
    p = PchipInterpolator(xi, yi, axis)
    return p(x, der) if np.ndim(der) == 0 else [p(x, nu) for nu in der]


class Akima1DInterpolator(CubicHermiteSpline):
    """Interpolates values at points, as scipy.interpolate.Akima1DInterpolator does.

    It is called and has methods as a `PPoly`.

    Parameters
    ----------
    x : array
        The points, which increase.
    y : array
        The values, which are real.
    axis : int, default 0
        The axis of y along which the points lie.
    method : str, default 'akima'
        "akima", or "makima", which bends less where slopes change.
    extrapolate : bool, "periodic" or None, default None
        Whether the outermost polynomials go on; otherwise it is nan outside. None is False.

    Raises
    ------
    NotImplementedError
        If the method is another word.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy.interpolate import Akima1DInterpolator
    >>> Akima1DInterpolator(np.arange(5.0), np.array([0.0, 0.0, 0.0, 1.0, 2.0]))([0.5])
    array([0.])

    See Also
    --------
    tapec.scipy.interpolate.PchipInterpolator : another choice of slopes
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None):
        if method not in ("akima", "makima"):
            raise NotImplementedError(at_user_line(f"method is 'akima' or 'makima', got {method!r}"))
        points = _real_points(x, y, axis)
        self._pass(points, _akima(points, method), bool(extrapolate) if extrapolate != "periodic" else extrapolate)


def _akima(points: Points, method: str) -> Any:
    """The mean of the slopes on both sides, each weighted by how little the other bends."""
    m = points.slope
    if m.shape[0] == 1:
        return np.concatenate([m, m])
    before, after = 2 * m[:1] - m[1:2], 2 * m[-1:] - m[-2:-1]
    m = np.concatenate([2 * before - m[:1], before, m, after, 2 * after - m[-1:]])
    bend = np.abs(np.diff(m, axis=0))
    if method == "makima":
        bend = bend + 0.5 * np.abs(m[1:] + m[:-1])
    left, right = bend[:-2], bend[2:]
    total = left + right
    defined = total > 1e-9 * stop_gradient(np.max(total)) if total.size else total > 0
    share = left / np.where(defined, total, 1)
    return np.where(defined, m[1:-2] + share * (m[2:-1] - m[1:-2]), 0.5 * (m[3:] + m[:-3]))


# -- splines ----------------------------------------------------------------------------------------------------------
class CubicSpline(CubicHermiteSpline):
    """Interpolates values at points by a spline with two continuous derivatives, as scipy.interpolate.CubicSpline does.

    It is called and has methods as a `PPoly`.

    Parameters
    ----------
    x : array
        The points, which increase.
    y : array
        The values.
    axis : int, default 0
        The axis of y along which the points lie.
    bc_type : str, or a pair of str or of pairs, default 'not-a-knot'
        The conditions at the ends, for both or one each: "not-a-knot", "periodic", "clamped", "natural", or the order
        and the value of a derivative.
    extrapolate : bool, "periodic" or None, default None
        Whether the outermost polynomials go on; False is nan outside. None is True, or "periodic" for such a spline.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy.interpolate import CubicSpline
    >>> def area(y):
    ...     return CubicSpline(np.arange(4.0), y).integrate(0.0, 3.0)
    >>> tapec.grad(area)(np.array([0.0, 1.0, 4.0, 9.0]))
    array([0.375, 1.125, 1.125, 0.375])

    See Also
    --------
    tapec.scipy.interpolate.PPoly : its methods
    tapec.scipy.interpolate.make_interp_spline : of any degree
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None):
        points = _points(x, y, axis)
        periodic = isinstance(bc_type, str) and bc_type == "periodic"
        start, end = _conditions(bc_type, points)
        if extrapolate is None and periodic:
            extrapolate = "periodic"
        if not points.y.size:
            slopes = np.zeros_like(points.y)
        elif periodic:
            slopes = _periodic_slopes(points)
        elif start is end is None and points.x.shape[0] == 3:
            slopes = _parabola(points)
        else:
            slopes = _slopes(points, start, end)
        self._pass(points, slopes, extrapolate)


def _conditions(bc_type: Any, points: Points) -> list[Any]:
    """Return a condition for each end: None, or the order of a derivative and its values, None where they are zero."""
    if isinstance(bc_type, str):
        if bc_type == "periodic" and true(~np.all(np.isclose(points.y[0], points.y[-1], 1e-15, 1e-15))):
            raise ValueError(at_user_line("the first y and the last must be the same where bc_type is 'periodic'"))
        bc_type = None if bc_type == "periodic" else bc_type
        return [_condition(bc_type, points)] * 2
    if len(bc_type) != 2:
        raise ValueError(at_user_line(f"bc_type has one condition for each end, got {len(bc_type)}"))
    return [_condition(c, points) for c in bc_type]


def _condition(given: Any, points: Points) -> Any:
    """Two points alone have a line through them where nothing is asked."""
    shape = points.y.shape[1:]
    if given is None or (isinstance(given, str) and given == "not-a-knot"):
        return (1, points.slope[0]) if points.x.shape[0] == 2 else None
    if isinstance(given, str):
        if given not in ("clamped", "natural"):
            known = "'not-a-knot', 'periodic', 'clamped' or 'natural'"
            raise ValueError(at_user_line(f"a condition is {known}, for both ends or one each, got {given!r}"))
        return 1 if given == "clamped" else 2, None
    try:
        order, value = given
    except (TypeError, ValueError):
        raise ValueError(at_user_line(f"a derivative at an end is a pair (order, value), got {given!r}")) from None
    if order not in (1, 2):
        raise ValueError(at_user_line(f"the derivative at an end is of order 1 or 2, got {order!r}"))
    value = as_array(value)
    if value.shape != shape:
        raise ValueError(at_user_line(f"a derivative at an end has the shape {shape}, got {value.shape}"))
    return order, value


def _slopes(points: Points, start: Any, end: Any) -> Any:
    """Solve for slopes with continuous second derivatives.

    There is one equation for each point between the ends, and one at each end.
    """
    h, slope = points.h, points.slope
    none = np.zeros_like(h[:1])
    steps = column(h, slope.ndim)
    diagonal, above, right = _equation(h[:1], h[1:2], slope[:1], slope[1:2], start, -1)
    last_diagonal, below, last_right = _equation(h[-1:], h[-2:-1], slope[-1:], slope[-2:-1], end, 1)
    bands = [
        np.concatenate([none, above, h[:-1]]),
        np.concatenate([diagonal, 2 * (h[:-1] + h[1:]), last_diagonal]),
        np.concatenate([h[1:], below, none]),
    ]
    between = 3 * (steps[1:] * slope[:-1] + steps[:-1] * slope[1:])
    return solved(1, np.stack(bands), np.concatenate([right, between, last_right]))


def _equation(h: Any, next_h: Any, m: Any, next_m: Any, condition: Any, sign: int) -> tuple[Any, Any, Any]:
    """Return the equation of an end, by the two steps and slopes there: the factors of the slopes at two points, and
    the sum."""
    step = column(h, m.ndim)
    if condition is None:
        next_step, both = column(next_h, m.ndim), column(h + next_h, m.ndim)
        return next_h, h + next_h, ((step + 2 * both) * next_step * m + step**2 * next_m) / both
    order, value = condition
    if order == 1:
        first, second, right, gain = np.ones_like(h), np.zeros_like(h), np.zeros_like(m), 1
    else:
        first, second, right, gain = 2 * h, h, 3 * step * m, sign * 0.5 * step**2
    return first, second, right if value is None else right + gain * value


def _parabola(points: Points) -> Any:
    """Return the slopes of the parabola through three points, which leave no other cubic without a knot."""
    h, m = column(points.h, points.y.ndim), points.slope
    bend = (m[1:] - m[:1]) / (h[:1] + h[1:])
    return np.concatenate([m - bend * h, m[1:] + bend * h[1:]])


def _periodic_slopes(points: Points) -> Any:
    """The last slope but one is found last: the others are what they are without it, and what they gain by it."""
    h, slope, n = points.h, points.slope, points.x.shape[0]
    steps = column(h, slope.ndim)
    if n == 2:
        return np.concatenate([slope, slope])
    if n == 3:
        mean = np.sum(slope / steps, axis=0) / np.sum(1 / steps, axis=0)
        return np.stack([mean] * 3)
    before, slope_before = np.roll(h, 1), np.roll(slope, 1, axis=0)
    diagonal = 2 * (h + before)
    bands = np.stack([np.roll(before, 1)[: n - 2], diagonal[: n - 2], h[1:]])
    right = 3 * (steps * slope_before + column(before, slope.ndim) * slope)
    by_last = np.concatenate([-h[:1], np.zeros(n - 4), -h[-3:-2]])
    without, gain = solved(1, bands, right[:-1]), solved(1, bands, by_last)
    last = right[-1] - h[-2] * without[0] - h[-1] * without[-1]
    last = last / (diagonal[-1] + h[-2] * gain[0] + h[-1] * gain[-1])
    slopes = without + column(gain, slope.ndim) * last
    return np.concatenate([slopes, last[None], slopes[:1]])
