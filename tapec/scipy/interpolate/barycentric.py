"""Define `BarycentricInterpolator`: the one polynomial through all points, in Lagrange's form, smooth everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir.types import normalize_axis
from tapec.ops.control.custom_gradients import stop_gradient
from tapec.ops.core.op_helpers import plain_number
from tapec.scipy.interpolate.piecewise import double, frozen_copy, placed, real, true

__all__ = ["BarycentricInterpolator", "barycentric_interpolate"]


class BarycentricInterpolator:
    """Interpolates values at points by the one polynomial through all of them.

    It does what scipy.interpolate.BarycentricInterpolator does, with weights that it computes itself, in the order of
    the points. It is called with places: `p(x)`.

    Parameters
    ----------
    xi : array
        The points, which are distinct.
    yi : array
        The values.
    axis : int, default 0
        The axis of yi along which the points lie.
    wi : object, default None
        Has no effect; it is here since SciPy has it.
    rng : object, default None
        Has no effect; it is here since SciPy has it.

    Raises
    ------
    ValueError
        If points and values do not fit, or two points are the same.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy.interpolate import BarycentricInterpolator
    >>> square = BarycentricInterpolator([0.0, 1.0, 3.0], [0.0, 1.0, 9.0])
    >>> tapec.grad(square)(3.0)
    np.float64(6.0)

    See Also
    --------
    tapec.scipy.interpolate.barycentric_interpolate : at once
    """

    _tapec_holds = "arrays"

    def __init__(self, xi: Any, yi: Any, axis: int = 0, *, wi: Any = None, rng: Any = None):
        x, y = frozen_copy(real(xi, "xi")), frozen_copy(double(yi))
        axis = normalize_axis(axis, y.ndim)
        if x.ndim != 1 or x.shape[0] != y.shape[axis]:
            what = f"xi of shape {x.shape} and yi of shape {y.shape}"
            raise ValueError(at_user_line(f"{what} have not the same number of points along axis {axis}"))
        self.xi, self.axis, self.yi = x, axis, np.moveaxis(y, axis, 0) if axis else y
        self._scale = stop_gradient(4 / (np.max(x) - np.min(x))) if x.shape[0] > 1 else 1.0  # keeps products in range
        apart = _apart(x * self._scale)
        if true(np.any(apart == 0)):
            raise ValueError(at_user_line("the points xi must be distinct"))
        self.wi = 1 / np.prod(apart, axis=1)

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

        Examples
        --------
        >>> from tapec.scipy.interpolate import BarycentricInterpolator
        >>> BarycentricInterpolator([0.0, 1.0, 3.0], [0.0, 1.0, 9.0])([2.0])
        array([4.])
        """
        return self._values(x, self.yi)

    def derivative(self, x: Any, der: int = 1) -> Any:
        """Return a derivative at these places.

        Parameters
        ----------
        x : array
            The places.
        der : int, default 1
            The order.

        Returns
        -------
        array
            The derivative.

        Raises
        ------
        ValueError
            If the order is negative.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> from tapec.scipy.interpolate import BarycentricInterpolator
        >>> BarycentricInterpolator([0.0, 1.0, 3.0], [0.0, 1.0, 9.0]).derivative([3.0])
        array([6.])
        """
        der, y = int(plain_number(der)), self.yi
        if der < 0:
            raise ValueError(at_user_line(f"the order of a derivative is not negative, got {der}"))
        if der >= y.shape[0]:
            return self._values(x, np.zeros_like(y))
        beside = np.where(np.eye(y.shape[0], dtype=bool), 0, self.wi / (_apart(self.xi) * self.wi[:, None]))
        slopes = beside - np.diag(np.sum(beside, axis=1))
        for _ in range(der):
            y = np.tensordot(slopes, y, 1)
        return self._values(x, y)

    def _values(self, x: Any, y: Any) -> Any:
        """Sum the polynomials of the points: each is the product of the distances from all other points."""
        x = real(x, "places")
        d = (x[..., None] - self.xi) * self._scale
        one = np.ones_like(d[..., :1])
        before = np.concatenate([one, np.cumprod(d, axis=-1)[..., :-1]], -1)
        after = np.concatenate([one, np.cumprod(d[..., ::-1], axis=-1)[..., :-1]], -1)[..., ::-1]
        return placed(np.tensordot(before * after * self.wi, y, 1), x.ndim, self.axis)


def _apart(x: Any) -> Any:
    """The distances of all pairs, with ones for those of a point from itself."""
    return np.where(np.eye(x.shape[0], dtype=bool), 1, x[:, None] - x)


def barycentric_interpolate(xi: Any, yi: Any, x: Any, axis: int = 0, *, der: Any = 0, rng: Any = None) -> Any:
    """Interpolate values at points by the one polynomial through all of them, and return what it is at these places.

    Parameters
    ----------
    xi : array
        The points, which are distinct.
    yi : array
        The values.
    x : array
        The places.
    axis : int, default 0
        The axis of yi along which the points lie.
    der : int, or a sequence of int, default 0
        The order of the derivative, or several. 0 is the value.
    rng : object, default None
        Has no effect; it is here since SciPy has it.

    Returns
    -------
    array
        The values, or derivatives; stacked along a new first axis where there are several orders.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy.interpolate import barycentric_interpolate
    >>> barycentric_interpolate([0.0, 1.0, 3.0], [0.0, 1.0, 9.0], [2.0])
    array([4.])

    See Also
    --------
    tapec.scipy.interpolate.BarycentricInterpolator : for many places
    """
    p = BarycentricInterpolator(xi, yi, axis)
    return p.derivative(x, der) if np.ndim(der) == 0 else np.stack([p.derivative(x, nu) for nu in der])
