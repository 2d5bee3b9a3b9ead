"""Define `interp1d`: it has lines, steps, or a spline between the points of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir.types import normalize_axis
from tapec.ops.core.op_helpers import as_array, inexact
from tapec.ops.core.symbol import is_known
from tapec.scipy.interpolate.bsplines import make_interp_spline
from tapec.scipy.interpolate.cubic import CubicSpline
from tapec.scipy.interpolate.piecewise import column, frozen_copy, placed, told, true

__all__ = ["interp1d"]

_STEPS = ("nearest", "nearest-up", "previous", "next")
_DEGREES = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}  # of splines through the points


class _Unknown:
    """Stands for the values of a curve of which nothing is known."""

    def __init__(self, shape: tuple[int, ...]):
        self.shape = shape

    def __call__(self, t: Any) -> Any:
        return np.full(t.shape + self.shape, np.nan)


class interp1d:
    """Interpolates a table along one axis, as scipy.interpolate.interp1d does.

    It is called with places: `curve(x)`. It is differentiable in x, y and places.

    Parameters
    ----------
    x : array
        The points.
    y : array
        The values at the points.
    kind : str or int, default 'linear'
        "linear", "nearest", "nearest-up", "previous", "next", or a spline: "zero", "slinear", "quadratic", "cubic",
        or its degree.
    axis : int, default -1
        The axis of y along which the points lie.
    copy : bool, default True
        Whether the arrays are copied, so that later changes in place are not seen.
    bounds_error : bool or None, default None
        Whether places outside are an error. None: they are, unless they are extrapolated.
    fill_value : number, a pair of numbers, or "extrapolate", default nan
        The value outside, or those below and above.
    assume_sorted : bool, default False
        Whether the points increase already.

    Attributes
    ----------
    y : array
        The values, in the order of the points.

    Raises
    ------
    ValueError
        If points and values do not fit, or there are too few.
    NotImplementedError
        If the kind is another word.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy.interpolate import interp1d
    >>> def at(t):
    ...     return interp1d([0.0, 1.0, 3.0], [0.0, 2.0, 1.0])(t)
    >>> tapec.grad(at)(2.0)
    np.float64(-0.5)

    See Also
    --------
    tapec.scipy.interpolate.CubicSpline : with continuous derivatives
    """

    _tapec_holds = "arrays"

    def __init__(
        self,
        x: Any,
        y: Any,
        kind: Any = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: bool | None = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ):
        x, y = as_array(x), inexact(y)
        axis = normalize_axis(axis, y.ndim)
        if x.ndim != 1:
            raise ValueError(at_user_line(f"x must be a vector, got an array of shape {x.shape}"))
        if x.shape[0] != y.shape[axis]:
            what = f"x has {x.shape[0]} numbers, and y of shape {y.shape} others along axis {axis}"
            raise ValueError(at_user_line(what))
        degree = kind if isinstance(kind, int) else _DEGREES.get(kind)
        if degree is None and kind not in ("linear", *_STEPS):
            known = ", ".join(map(repr, ("linear", *_STEPS, *_DEGREES)))
            raise NotImplementedError(at_user_line(f"kind is one of {known}, or a degree, got {kind!r}"))
        if x.shape[0] <= (degree or 0):
            raise ValueError(at_user_line(f"of kind {kind!r}, x and y have {(degree or 0) + 1} points or more"))
        y = np.moveaxis(y, axis, 0) if axis else y
        if not assume_sorted and not true(np.all(x[:-1] <= x[1:])):
            order = np.argsort(x, kind="stable")
            x, y = x[order], y[order]
        if copy:
            x, y = frozen_copy(x), frozen_copy(y)
        self.x, self.axis, self._y = x, axis, y
        self._kind: Any = "zero" if degree == 0 else kind
        self._spline = self._through(degree) if degree else None
        self._bound(bounds_error, fill_value)

    def _through(self, degree: int) -> Any:
        """The spline through the points; nothing is known of one with nan among them."""
        if degree > 1 and any([is_known(a) and np.isnan(a).any() for a in (self.x, self._y)]):
            return _Unknown(self._y.shape[1:])
        return CubicSpline(self.x, self._y) if degree == 3 else make_interp_spline(self.x, self._y, degree)

    def _bound(self, bounds_error: bool | None, fill_value: Any) -> None:
        """Set the values below the table and above it; none where the table is extrapolated."""
        self.fill_value, self._beyond = fill_value, None
        on = isinstance(fill_value, str) and fill_value == "extrapolate"
        if on and bounds_error:
            raise ValueError(at_user_line("places outside are an error, or extrapolated: not both"))
        self.bounds_error = not on if bounds_error is None else bounds_error
        if on:
            if self._kind in ("previous", "next"):
                ends = {"previous": (np.nan, self._y[-1]), "next": (self._y[0], np.nan)}
                self._beyond = ends[self._kind]
            return
        pair = isinstance(fill_value, tuple) and len(fill_value) == 2
        self._beyond = tuple([self._fill(f) for f in (fill_value if pair else (fill_value, fill_value))])

    def _fill(self, given: Any) -> Any:
        given, shape = as_array(given), self._y.shape[1:]
        try:
            fits = np.broadcast_shapes(given.shape, shape or (1,)) == (shape or (1,))
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(at_user_line(f"fill_value of shape {given.shape} stands for values of shape {shape}"))
        return given if shape else np.reshape(given, ())

    @property
    def y(self) -> Any:
        return np.moveaxis(self._y, 0, self.axis) if self.axis else self._y

    def __call__(self, x: Any) -> Any:
        """Return the values at these places.

        Parameters
        ----------
        x : array
            The places.

        Returns
        -------
        array
            The values.

        Raises
        ------
        ValueError
            If a place is outside, and that is an error.

        Examples
        --------
        >>> from tapec.scipy.interpolate import interp1d
        >>> interp1d([0.0, 1.0], [0.0, 10.0])([0.25])
        array([2.5])
        """
        t = inexact(x)
        below, above = t < self.x[0], t > self.x[-1]
        y = self._values(t)
        if self._beyond is not None and not (self.bounds_error and self._all_within(below | above)):
            low, high = [f if f.dtype == y.dtype else f.astype(y.dtype) for f in map(as_array, self._beyond)]
            y = np.where(column(below, y.ndim), low, np.where(column(above, y.ndim), high, y))
        return placed(y, t.ndim, self.axis)

    def _all_within(self, outside: Any) -> bool:
        """Raise ValueError if a place is outside; return whether the values could tell."""
        some = told(np.any(outside))
        if some:
            raise ValueError(at_user_line("a place is outside of x. Fix: fill_value, with bounds_error=False"))
        return some is not None

    def _values(self, t: Any) -> Any:
        if self._spline is not None:
            return self._spline(t)
        return self._on_lines(t) if self._kind == "linear" else self._nearby(t)

    def _on_lines(self, t: Any) -> Any:
        x, y = self.x, self._y
        if y.ndim == 1 and y.dtype == np.float64 and self._beyond is not None:
            return np.interp(t, x, y)
        i = np.searchsorted(x[1:-1], t)
        low, start = np.take(x, i), np.take(y, i, 0)
        slope = (np.take(y, i + 1, 0) - start) / column(np.take(x, i + 1) - low, start.ndim)
        return slope * column(t - low, start.ndim) + start

    def _nearby(self, t: Any) -> Any:
        """The value at a point before, after, or nearest."""
        x, kind = self.x, self._kind
        if kind.startswith("nearest"):
            half = x / 2
            i = np.searchsorted(half[1:] + half[:-1], t, side="left" if kind == "nearest" else "right")
        else:
            i = np.searchsorted(x[:-1], t) if kind == "next" else np.searchsorted(x[1:], t, side="right")
        y = np.take(self._y, i, 0)
        return np.where(column(np.isnan(t), y.ndim), np.nan, y) if kind == "zero" else y
