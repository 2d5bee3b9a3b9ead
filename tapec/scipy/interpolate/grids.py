"""Define `RegularGridInterpolator` and `interpn`: values on a grid of any number of axes, between its points."""

from __future__ import annotations

import functools
import itertools
import operator
from typing import Any

import numpy as np
from scipy import interpolate as _interpolate

from tapec.errors import UnsupportedError, at_user_line
from tapec.ops import ArrayLike
from tapec.ops.core.op_helpers import as_array, inexact
from tapec.scipy.interpolate.piecewise import column, real, told, true

__all__ = ["RegularGridInterpolator", "interpn"]


class RegularGridInterpolator:
    """Interpolates values on a grid of any number of axes, as scipy.interpolate.RegularGridInterpolator does.

    It is called with places, `table(xi, method=None)`: an array of them, whose last axis has the coordinates, or a
    tuple of the coordinates. It is differentiable in values, points and places.

    Parameters
    ----------
    points : sequence of arrays
        The points along each axis, which increase or decrease.
    values : array
        The values at all points.
    method : str, default 'linear'
        "linear" or "nearest"; others are for plain numbers alone, by SciPy itself.
    bounds_error : bool, default True
        Whether places outside are an error.
    fill_value : number or None, default nan
        The value outside. None lets the outermost cells go on.
    **solver : object
        What SciPy takes for other methods.

    Raises
    ------
    ValueError
        If points and values do not fit.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy.interpolate import RegularGridInterpolator
    >>> table = RegularGridInterpolator(([0.0, 1.0], [0.0, 2.0]), np.array([[0.0, 2.0], [1.0, 7.0]]))
    >>> tapec.grad(lambda p: table(p)[0])(np.array([0.5, 1.0]))
    array([3., 2.])

    See Also
    --------
    tapec.scipy.interpolate.interpn : at once
    tapec.scipy.interpolate.interp1d : along one axis
    """

    _tapec_holds = "arrays"

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = np.nan,
        **solver: Any,
    ):
        values = inexact(values)
        if len(points) > values.ndim:
            what = f"{len(points)} vectors of points are given for values of shape {values.shape}"
            raise ValueError(at_user_line(what))
        self.bounds_error, self.method, self._solver = bounds_error, method, solver
        fill = as_array(np.nan if fill_value is None else fill_value)
        if not np.can_cast(fill.dtype, values.dtype, "same_kind"):
            raise ValueError(at_user_line(f"fill_value is {fill.dtype}, but the values are {values.dtype}"))
        self.fill_value = None if fill_value is None else fill
        grid = [_ascending(p, k, values.shape[k]) for k, p in enumerate(points)]
        turned = tuple([k for k, (_, falls) in enumerate(grid) if falls])
        self.grid = tuple([p for p, _ in grid])
        self.values = np.flip(values, turned) if turned else values
        if not self._ours(method):
            self._scipys(method)

    def __call__(self, xi: Any, method: str | None = None, *, nu: Any = None) -> Any:
        """Return the values at these places.

        Parameters
        ----------
        xi : array, or a tuple of arrays
            The places: an array whose last axis has the coordinates, or a tuple of the coordinates.
        method : str or None, default None
            The method. None is that of the table.
        nu : object, default None
            What SciPy takes for methods that are its own.

        Returns
        -------
        array
            The values.

        Raises
        ------
        ValueError
            If a place is outside, and that is an error.
        UnsupportedError
            If something is recorded, and the method is not "linear" or "nearest".

        Examples
        --------
        >>> import numpy as np
        >>> from tapec.scipy.interpolate import RegularGridInterpolator
        >>> RegularGridInterpolator(([0.0, 1.0],), np.array([0.0, 10.0]))([0.25])
        array([2.5])
        """
        method = self.method if method is None else method
        if not self._ours(method, xi) or nu is not None:
            return self._scipys(method)(xi, nu=nu)
        places = _places(xi, len(self.grid))
        y = self._between(places) if method == "linear" else self._nearest(places)
        bounds = [(p >= x[0]) & (p <= x[-1]) for p, x in zip(places, self.grid)]
        within = functools.reduce(operator.and_, bounds)
        nothing = functools.reduce(operator.or_, [np.isnan(p) for p in places])
        if self.bounds_error:
            outside = told(np.any(~within))
            if outside:
                raise ValueError(at_user_line("a place is outside of the grid. Fix: bounds_error=False"))
            if outside is not None:
                return y
        if self.fill_value is not None:
            fill = self.fill_value.astype(y.dtype) if self.fill_value.dtype != y.dtype else self.fill_value
            y = np.where(column(within, y.ndim), y, fill)
        return np.where(column(nothing, y.ndim), np.nan, y)

    def _ours(self, method: str, xi: Any = ()) -> bool:
        if method in ("linear", "nearest"):
            return True
        xi = xi if isinstance(xi, tuple) else (xi,)
        if any([isinstance(a, ArrayLike) for a in (self.values, *self.grid, *xi)]):
            raise UnsupportedError(at_user_line(f"the method of tensors is 'linear' or 'nearest', got {method!r}"))
        return False

    def _scipys(self, method: str) -> Any:
        more = self._solver if method == self.method else {}
        return _interpolate.RegularGridInterpolator(
            self.grid, self.values, method, self.bounds_error, self.fill_value, **more
        )

    def _cells(self, places: list[Any]) -> list[tuple[Any, Any]]:
        """Return along each axis the point before each place, and the part of the way to the next point at which it
        lies."""
        found = []
        for p, x in zip(places, self.grid):
            i = np.searchsorted(x[1:-1], p, side="right")
            start = np.take(x, i)
            found.append((i, (p - start) / (np.take(x, i + 1) - start) if x.shape[0] > 1 else np.zeros(p.shape)[()]))
        return found

    def _at(self, place: Any) -> Any:
        """The values at these points."""
        shape, k = self.values.shape, len(self.grid)
        if k == 1:
            return np.take(self.values, place[0], 0)
        flat: Any = 0
        for i, n in zip(place, shape):
            flat = flat * n + i
        return np.take(np.reshape(self.values, (-1, *shape[k:])), flat, 0)

    def _between(self, places: list[Any]) -> Any:
        """The sum over the corners of the cell of the value there times its share."""
        cells = self._cells(places)
        corners = [[(i, 1 - s), (i + min(x.shape[0] - 1, 1), s)] for (i, s), x in zip(cells, self.grid)]
        total: Any = None
        for corner in itertools.product(*corners):
            place, shares = zip(*corner)
            value = self._at(place)
            value = value * column(functools.reduce(operator.mul, shares), value.ndim)
            total = value if total is None else total + value
        return total

    def _nearest(self, places: list[Any]) -> Any:
        return self._at([np.where(s <= 0.5, i, i + 1) for i, s in self._cells(places)])


def _ascending(p: Any, k: int, n: int) -> tuple[Any, bool]:
    """The points along an axis, and whether they were the other way round."""
    p = real(p, "a grid")
    if p.ndim != 1 or p.shape[0] != n:
        raise ValueError(at_user_line(f"there are {n} values along axis {k}, but points of shape {p.shape}"))
    falls = n > 1 and true(p[-1] < p[0])
    p = p[::-1] if falls else p
    if true(~np.all(p[1:] > p[:-1])):
        raise ValueError(at_user_line(f"the points along axis {k} must increase strictly, or decrease"))
    return p, falls


def _places(xi: Any, ndim: int) -> list[Any]:
    """The coordinates of each place: of a tuple they broadcast, of an array they are along its last axis."""
    if isinstance(xi, tuple) and len(xi) > 1:
        parts = [real(p, "places") for p in xi]
        shape = np.broadcast_shapes(*[p.shape for p in parts])
        found = [p if p.shape == shape else np.broadcast_to(p, shape) for p in parts]
    else:
        xi = real(xi[0] if isinstance(xi, tuple) else xi, "places")
        xi = np.reshape(xi, (-1, ndim)) if xi.ndim == 1 else xi
        found = [xi[..., k] for k in range(xi.shape[-1])]
    if len(found) != ndim:
        raise ValueError(at_user_line(f"places have {len(found)} coordinates, but the grid has {ndim} axes"))
    return found


def interpn(
    points: Any,
    values: Any,
    xi: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = np.nan,
) -> Any:
    """Interpolate values on a grid of any number of axes, at these places.

    Parameters
    ----------
    points : sequence of arrays
        The points along each axis, which increase or decrease.
    values : array
        The values at all points.
    xi : array, or a tuple of arrays
        The places: an array whose last axis has the coordinates, or a tuple of the coordinates.
    method : str, default 'linear'
        "linear" or "nearest"; others are for plain numbers alone, by SciPy itself.
    bounds_error : bool, default True
        Whether places outside are an error.
    fill_value : number or None, default nan
        The value outside. None lets the outermost cells go on.

    Returns
    -------
    array
        The values at the places.

    Raises
    ------
    UnsupportedError
        If something is recorded, and the method is another one.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy.interpolate import interpn
    >>> interpn(([0.0, 1.0],), np.array([0.0, 10.0]), np.array([0.25]))
    array([2.5])

    See Also
    --------
    tapec.scipy.interpolate.RegularGridInterpolator : for many places
    """
    if method == "splinef2d":
        if any([isinstance(a, ArrayLike) for a in (values, *points, *(xi if isinstance(xi, tuple) else (xi,)))]):
            raise UnsupportedError(at_user_line(f"the method of tensors is 'linear' or 'nearest', got {method!r}"))
        return _interpolate.interpn(points, values, xi, method, bounds_error, fill_value)
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)
