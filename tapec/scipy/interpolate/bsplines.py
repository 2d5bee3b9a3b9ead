"""Define `BSpline`, a sum of basis functions that each live between a few knots; and `make_interp_spline`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import interpolate as _interpolate

from tapec.errors import UnsupportedError, at_user_line
from tapec.ir.types import normalize_axis
from tapec.ops import ArrayLike
from tapec.ops.core.op_helpers import plain_number
from tapec.scipy.interpolate.piecewise import column, double, frozen_copy, placed, real, solved, true

__all__ = ["BSpline", "make_interp_spline"]


# -- the basis --------------------------------------------------------------------------------------------------------
def _first_of(t: Any, k: int, x: Any) -> Any:
    """The first of the k + 1 basis functions that are not zero at a place; beyond the ends they go on."""
    return np.searchsorted(t[k + 1 : t.shape[0] - k - 1], x, side="right")


def _basis(t: Any, k: int, x: Any, first: Any) -> list[Any]:
    """Return the values of those functions, by the recurrence of Cox and de Boor: zero between equal knots."""
    ahead = [np.take(t, first + j) - x for j in range(1, 2 * k + 1)]
    values: list[Any] = [np.ones(x.shape)[()]]
    for r in range(1, k + 1):
        span = t[r:] - t[:-r]
        rate = 1 / np.where(span > 0, span, np.inf)
        risen: list[Any] = [0]
        for j, value in enumerate(values, k - r):
            share = value * np.take(rate, first + j + 1)
            risen[-1] = ahead[j + r] * share + risen[-1] if j > k - r else ahead[j + r] * share
            risen.append(-ahead[j] * share)
        values = risen
    return values


# -- splines ----------------------------------------------------------------------------------------------------------
class BSpline:
    """Describes a spline by coefficients of basis functions, as scipy.interpolate.BSpline does.

    It is called with places, `spline(x, nu=0, extrapolate=None)`, for values, or for derivatives of order nu.

    Parameters
    ----------
    t : array
        The knots, which do not fall.
    c : array
        The coefficients, one for each basis function.
    k : int
        The degree.
    extrapolate : bool or "periodic", default True
        Whether the outermost polynomials go on; False is nan outside.
    axis : int, default 0
        The axis of c along which the coefficients lie.

    Attributes
    ----------
    tck : tuple
        Knots, coefficients and degree.

    Raises
    ------
    ValueError
        If knots, coefficients and degree do not fit.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy.interpolate import BSpline
    >>> def at(c):
    ...     return BSpline(np.arange(6.0), c, 2)(2.5)
    >>> tapec.grad(at)(np.ones(3))
    array([0.125, 0.75 , 0.125])

    See Also
    --------
    tapec.scipy.interpolate.make_interp_spline : makes one through points
    """

    _tapec_holds = "arrays"

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0):
        t, c, k = frozen_copy(real(t, "t")), frozen_copy(double(c)), int(plain_number(k))
        axis = normalize_axis(axis, c.ndim)
        n = t.shape[0] - k - 1 if t.ndim == 1 else 0
        if k < 0 or n < k + 1:
            raise ValueError(at_user_line(f"degree {k} takes a vector of {max(2 * k, 0) + 2} knots or more: {t.shape}"))
        if c.shape[axis] < n:
            raise ValueError(at_user_line(f"{t.shape[0]} knots and degree {k} take {n} coefficients: {c.shape}"))
        if true(~(np.all(np.diff(t) >= 0) & np.all(np.isfinite(t)) & (t[k] < t[n]))):
            raise ValueError(at_user_line("knots must be finite, must not fall, and must not all be the same"))
        self.t, self.k, self.extrapolate, self.axis = t, k, extrapolate, axis
        self.c = np.moveaxis(c, axis, 0) if axis else c

    @property
    def tck(self) -> tuple[Any, Any, int]:
        return self.t, self.c, self.k

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Return the values at these places, or a derivative there.

        Parameters
        ----------
        x : array
            The places.
        nu : int, default 0
            The order of the derivative. 0 is the value.
        extrapolate : bool, "periodic" or None, default None
            Whether the outermost polynomials go on; False is nan outside. None is what the spline was made with.

        Returns
        -------
        array
            The values.

        Raises
        ------
        ValueError
            If the order is negative.

        Examples
        --------
        >>> import numpy as np
        >>> from tapec.scipy.interpolate import BSpline
        >>> BSpline(np.arange(6.0), np.array([0.0, 1.0, 2.0]), 2)([2.5], 1)
        array([1.])
        """
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        nu = int(plain_number(nu))
        if nu < 0:
            raise ValueError(at_user_line(f"the order nu of a derivative is not negative, got {nu}"))
        x, t, k, c = real(x, "places"), self.t, self.k, self.c
        start, end = t[k], t[t.shape[0] - k - 1]
        if extrapolate == "periodic":
            x = start + (x - start) % (end - start)
        for _ in range(min(nu, k)):
            t, c, k = _slope(t, c, k)
        first = _first_of(t, k, x)
        y: Any = None
        for j, value in enumerate(_basis(t, k, x, first)):
            part = np.take(c, first + j, 0)
            part = column(value, part.ndim) * part
            y = part if y is None else y + part
        if nu > self.k:
            y = np.zeros_like(y)
        if not extrapolate or not k:
            known = ~np.isnan(x) if extrapolate else (x >= start) & (x <= end)
            y = np.where(column(known, y.ndim), y, np.nan)
        return placed(y, x.ndim, self.axis)

    def derivative(self, nu: int = 1) -> BSpline:
        """Return the derivative, as a spline.

        Parameters
        ----------
        nu : int, default 1
            The order, no greater than the degree.

        Returns
        -------
        BSpline
            The derivative.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> from tapec.scipy.interpolate import BSpline
        >>> BSpline(np.arange(6.0), np.array([0.0, 1.0, 2.0]), 2).derivative()(2.5)
        np.float64(1.0)
        """
        t, c, k = self.t, self.c, self.k
        for _ in range(int(plain_number(nu))):
            t, c, k = _slope(t, c, k)
        made = object.__new__(BSpline)
        made.t, made.c, made.k, made.extrapolate, made.axis = t, c, k, self.extrapolate, self.axis
        return made


def _slope(t: Any, c: Any, k: int) -> tuple[Any, Any, int]:
    """The knots, the coefficients and the degree of the derivative."""
    if not k:
        raise ValueError(at_user_line("a spline has no more derivatives than its degree"))
    n = t.shape[0] - k - 1
    span = t[k + 1 : n + k] - t[1:n]
    rise = np.diff(c[:n], axis=0) * k
    return t[1:-1], rise / column(np.where(span > 0, span, 1), rise.ndim), k - 1


# -- through points ---------------------------------------------------------------------------------------------------
def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
) -> BSpline:
    """Make a spline through points.

    Parameters
    ----------
    x : array
        The points, which increase.
    y : array
        The values.
    k : int, default 3
        The degree.
    t : array, default None
        The knots. None is the points but those next to the ends.
    bc_type : object, default None
        Must be None or "not-a-knot" where something is recorded; others are for plain numbers alone, by SciPy itself.
    axis : int, default 0
        The axis of y along which the points lie.
    check_finite : bool, default True
        What SciPy takes with a `bc_type`.

    Returns
    -------
    BSpline
        The spline.

    Raises
    ------
    ValueError
        If points, values, degree and knots do not fit.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy.interpolate import make_interp_spline
    >>> make_interp_spline(np.arange(4.0), np.arange(4.0) ** 2, k=2)(1.5)
    np.float64(2.25)

    See Also
    --------
    tapec.scipy.interpolate.CubicSpline : with conditions at its ends
    """
    if bc_type not in (None, "not-a-knot"):
        return _of_other_ends(x, y, k, t, bc_type, axis, check_finite)
    x, y, k = real(x, "x"), double(y), int(plain_number(k))
    axis = normalize_axis(axis, y.ndim)
    y = np.moveaxis(y, axis, 0) if axis else y
    if x.ndim != 1 or x.shape[0] != y.shape[0]:
        raise ValueError(at_user_line(f"x of shape {x.shape} has not as many points as y, {y.shape[0]}"))
    if k < 0 or x.shape[0] < k + 1:
        raise ValueError(at_user_line(f"a spline of degree {k} takes {k + 1} points or more, got {x.shape[0]}"))
    if true(~np.all(x[1:] > x[:-1])):
        raise ValueError(at_user_line("x must increase strictly"))
    at_points = k == 0 or (k == 1 and t is None)  # where each function of the basis has a point of its own
    t = _knots(x, k) if t is None else real(t, "t")
    if t.shape != (x.shape[0] + k + 1,):
        what = f"{x.shape[0]} points and degree {k} take {x.shape[0] + k + 1} knots"
        raise ValueError(at_user_line(f"{what}, got an array of shape {t.shape}"))
    made = BSpline(t, y if at_points else _coefficients(x, y, k, t), k)
    made.axis = axis
    return made


def _of_other_ends(x: Any, y: Any, k: int, t: Any, bc_type: Any, axis: int, check_finite: bool) -> BSpline:
    if any([isinstance(a, ArrayLike) for a in (x, y, t)]):
        fix = "bc_type=None, or a CubicSpline, which has conditions at its ends"
        raise UnsupportedError(at_user_line(f"make_interp_spline of tensors takes no bc_type. Fix: {fix}"))
    found = _interpolate.make_interp_spline(x, y, k, t, bc_type, axis, check_finite)
    made = BSpline(found.t, found.c, found.k, found.extrapolate)
    made.axis = found.axis
    return made


def _knots(x: Any, k: int) -> Any:
    if not k:
        return np.concatenate([x, x[-1:]])
    between = x if k % 2 else (x[1:] + x[:-1]) / 2
    left_out = (k + 1) // 2
    return np.concatenate([x[:1]] * (k + 1) + [between[left_out:-left_out]] + [x[-1:]] * (k + 1))


def _coefficients(x: Any, y: Any, k: int, t: Any) -> Any:
    """Solve for the coefficients. A row of the system is the basis at a point, nowhere further than k from the
    diagonal."""
    n, first = x.shape[0], _first_of(t, k, x)
    basis = np.stack(_basis(t, k, x, first))
    rows = np.arange(n) + np.arange(-k, k + 1)[:, None]
    there, rows = (rows >= 0) & (rows < n), np.clip(rows, 0, n - 1)
    which = np.arange(n) - np.take(first, rows)
    bands = np.where(there & (which >= 0) & (which <= k), basis[np.clip(which, 0, k), rows], 0)
    return solved(k, bands, y)
