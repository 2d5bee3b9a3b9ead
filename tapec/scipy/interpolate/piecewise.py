"""Define `PPoly`: a polynomial for each stretch between two knots, in powers of the distance from the first of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import interpolate as _interpolate

from tapec.errors import DetachError, UnsupportedError, at_user_line
from tapec.ops import ArrayLike
from tapec.ops.core.op_helpers import as_array, plain_number
from tapec.ops.core.symbol import is_batch_example, is_symbol
from tapec.ops.scipy.matrix_functions import solve_banded

__all__ = ["PPoly", "column", "double", "frozen_copy", "placed", "real", "solved", "told", "true"]


# -- operands ---------------------------------------------------------------------------------------------------------
def double(x: Any) -> Any:
    """Return x in double precision, real or complex, in which SciPy interpolates."""
    x = as_array(x)
    dtype = np.dtype(complex if x.dtype.kind == "c" else float)
    return x if x.dtype == dtype else x.astype(dtype)


def real(x: Any, name: str) -> Any:
    x = double(x)
    if x.dtype.kind == "c":
        raise ValueError(at_user_line(f"{name} must be real, got {x.dtype}"))
    return x


def column(x: Any, ndim: int) -> Any:
    """Return x with so many axes, all behind its own of length one."""
    return x if x.ndim == ndim else np.reshape(x, x.shape + (1,) * (ndim - x.ndim))


def placed(y: Any, ndim: int, axis: int) -> Any:
    """Put the axes of places, which come first in values, where the data have theirs."""
    if not axis or not ndim:
        return y
    places, others = list(range(ndim)), list(range(ndim, y.ndim))
    return np.transpose(y, others[:axis] + places + others[axis:])


def solved(width: int, bands: Any, right: Any) -> Any:
    """The solution of a system with so many bands on both sides, for right-hand sides of any number of axes."""
    if right.ndim <= 2:
        return solve_banded((width, width), bands, right)
    return np.reshape(solve_banded((width, width), bands, np.reshape(right, (right.shape[0], -1))), right.shape)


def frozen_copy(a: Any) -> Any:
    """A copy, which stays what it is whatever becomes of the user's array."""
    a = a.copy()
    if isinstance(a, np.ndarray):
        a.setflags(write=False)
    return a


# -- facts ------------------------------------------------------------------------------------------------------------
def told(fact: Any) -> bool | None:
    """Return whether a fact holds; None where it differs between the examples of a batch, or the steps of a solver."""
    if is_symbol(fact) or is_batch_example(fact):
        return None
    try:
        return bool(fact)
    except DetachError:
        return None


def true(fact: Any) -> bool:
    return bool(told(fact))


# -- the polynomials --------------------------------------------------------------------------------------------------
class PPoly:
    """Describes a function by a polynomial for each stretch between two knots, as scipy.interpolate.PPoly does.

    From x[i] to x[i + 1] it is the sum over k of c[k, i] * (t - x[i]) ** (len(c) - 1 - k). It is called with places,
    `p(x, nu=0, extrapolate=None)`, for values, or for derivatives of order nu.

    Parameters
    ----------
    c : array
        The coefficients, those of the highest power first.
    x : array
        The knots, which increase or decrease.
    extrapolate : bool, "periodic" or None, default None
        Whether the outermost polynomials go on; False is nan outside. None is True.
    axis : int, default 0
        The axis of the results along which places lie.

    Attributes
    ----------
    c : array
        The coefficients.

    Raises
    ------
    ValueError
        If coefficients and knots do not fit.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy.interpolate import PPoly
    >>> p = PPoly([[1.0, 2.0], [0.0, 1.0]], [0.0, 1.0, 2.0])
    >>> tapec.value_and_grad(p)(1.5)
    (np.float64(2.0), np.float64(2.0))

    See Also
    --------
    tapec.scipy.interpolate.CubicSpline : makes one through points
    tapec.scipy.interpolate.BSpline : by another basis
    """

    _tapec_holds = "arrays"
    parts: tuple[Any, ...]  # the coefficients of each power, the highest first: the knots' axis is their first
    falls: bool  # do the knots?
    x: Any
    extrapolate: Any
    axis: int

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0):
        c, x, axis = frozen_copy(double(c)), frozen_copy(real(x, "x")), int(axis)
        if c.ndim < 2:
            raise ValueError(at_user_line(f"c has two axes or more, got an array of shape {c.shape}"))
        if not 0 <= axis < c.ndim - 1:
            raise ValueError(at_user_line(f"axis is a number from 0 to {c.ndim - 2}, got {axis}"))
        c = np.moveaxis(c, (axis, axis + 1), (0, 1)) if axis else c
        if x.ndim != 1 or x.shape[0] < 2:
            raise ValueError(at_user_line(f"x is a vector of two knots or more, got an array of shape {x.shape}"))
        if not c.shape[0] or c.shape[1] != x.shape[0] - 1:
            raise ValueError(at_user_line(f"c of shape {c.shape} has no polynomials for {x.shape[0] - 1} stretches"))
        falls = true(x[-1] < x[0])
        if true(np.any(np.diff(x) > 0 if falls else np.diff(x) < 0)):
            raise ValueError(at_user_line("x must increase or decrease"))
        self._hold(tuple([c[k] for k in range(c.shape[0])]), x, extrapolate, axis, falls)

    def _hold(self, parts: tuple[Any, ...], x: Any, extrapolate: Any, axis: int, falls: bool = False) -> PPoly:
        self.parts, self.x, self.axis, self.falls = parts, x, axis, falls
        default = True if extrapolate is None else extrapolate
        self.extrapolate = default if default == "periodic" else bool(default)
        return self

    def _like(self, parts: tuple[Any, ...], extrapolate: Any) -> PPoly:
        """Make other polynomials between these knots."""
        return object.__new__(PPoly)._hold(parts, self.x, extrapolate, self.axis, self.falls)

    @property
    def c(self) -> Any:
        return np.stack(self.parts)

    # -- values
    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Return the values at these places, or a derivative there.

        Parameters
        ----------
        x : array
            The places.
        nu : int, default 0
            The order of the derivative. 0 is the value.
        extrapolate : bool, "periodic" or None, default None
            Whether the outermost polynomials go on; False is nan outside. None is what the function was made with.

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
        >>> from tapec.scipy.interpolate import CubicSpline
        >>> CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])([0.5, 1.5], 1)
        array([1., 3.])
        """
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        t, start, end = real(x, "places"), self.x[0], self.x[-1]
        if extrapolate == "periodic":
            t = start + (t - start) % (end - start)
        y = self._values(t, int(plain_number(nu)))
        if not extrapolate:
            low, high = (end, start) if self.falls else (start, end)
            y = np.where(column((t >= low) & (t <= high), y.ndim), y, np.nan)
        return placed(y, t.ndim, self.axis)

    def _values(self, t: Any, nu: int) -> Any:
        """Evaluate the derivative of order nu by Horner's scheme."""
        if nu < 0:
            raise ValueError(at_user_line(f"the order nu of a derivative is not negative, got {nu}"))
        i = self._stretch(t)
        parts = _differentiated(self.parts, nu)
        y = np.take(parts[0], i, 0)
        if len(parts) == 1:
            return np.where(column(np.isnan(t), y.ndim), np.nan, y)
        s = column(t - np.take(self.x, i), y.ndim)
        for part in parts[1:]:
            y = y * s + np.take(part, i, 0)
        return y

    def _stretch(self, t: Any) -> Any:
        """Return between which knots a place lies: beyond the last ones the stretches go on."""
        inner = self.x[1:-1]
        if self.falls:
            return inner.shape[0] - np.searchsorted(inner[::-1], t)
        return np.searchsorted(inner, t, side="right")

    # -- other polynomials
    def derivative(self, nu: int = 1) -> PPoly:
        """Return the derivative, as a function of the same kind.

        Parameters
        ----------
        nu : int, default 1
            The order. One below zero asks for the antiderivative.

        Returns
        -------
        PPoly
            The derivative.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> from tapec.scipy.interpolate import PPoly
        >>> PPoly([[1.0], [0.0]], [0.0, 1.0]).derivative()([0.5])
        array([1.])
        """
        nu = int(plain_number(nu))
        if nu < 0:
            return self.antiderivative(-nu)
        return self._like(_differentiated(self.parts, nu), self.extrapolate)

    def antiderivative(self, nu: int = 1) -> PPoly:
        """Return the antiderivative, as a function of the same kind.

        Parameters
        ----------
        nu : int, default 1
            The order. At the first knot it is zero, with nu - 1 derivatives.

        Returns
        -------
        PPoly
            The antiderivative.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> from tapec.scipy.interpolate import PPoly
        >>> PPoly([[1.0], [0.0]], [0.0, 1.0]).antiderivative()(1.0)
        np.float64(0.5)
        """
        nu = int(plain_number(nu))
        if nu <= 0:
            return self.derivative(-nu)
        parts = self.parts
        for _ in range(nu):
            parts = _integrated(parts, np.diff(self.x))
        return self._like(parts, self.extrapolate != "periodic" and self.extrapolate)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral from a to b.

        Parameters
        ----------
        a : number
            The lower end.
        b : number
            The upper end.
        extrapolate : bool, "periodic" or None, default None
            As for values. None is what the function was made with.

        Returns
        -------
        number or array
            The integral.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> from tapec.scipy.interpolate import PPoly
        >>> tapec.grad(lambda b: PPoly([[1.0], [0.0]], [0.0, 1.0]).integrate(0.0, b))(0.5)
        np.float64(0.5)
        """
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        whole = self.antiderivative()
        if extrapolate != "periodic":
            return whole(b, extrapolate=extrapolate) - whole(a, extrapolate=extrapolate)
        start, period = self.x[0], self.x[-1] - self.x[0]

        def until(t: Any) -> Any:
            laps = np.floor((t - start) / period)
            return whole(t - laps * period, extrapolate=True) + laps * whole(self.x[-1], extrapolate=True)

        return until(as_array(b)) - until(as_array(a))

    # -- of plain numbers alone
    def solve(self, y: float = 0.0, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """Return the places where the values are y. They have no derivatives.

        Parameters
        ----------
        y : float, default 0.0
            The value.
        discontinuity : bool, default True
            Whether a jump over the value counts.
        extrapolate : bool, "periodic" or None, default None
            As for values. None is what the function was made with.

        Returns
        -------
        array
            The places.

        Raises
        ------
        UnsupportedError
            If something is recorded. `tapec.custom_root` differentiates solutions.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> from tapec.scipy.interpolate import PPoly
        >>> PPoly([[1.0], [0.0]], [0.0, 1.0]).solve(0.25)
        array([0.25])

        See Also
        --------
        tapec.custom_root : solutions with derivatives
        """
        if any([isinstance(a, ArrayLike) for a in (self.x, y, *self.parts)]):
            fix = "tapec.custom_root differentiates solutions, whatever finds them"
            raise UnsupportedError(at_user_line(f"roots of recorded polynomials are not known. Fix: {fix}"))
        plain = _interpolate.PPoly.construct_fast(self.c, self.x, self.extrapolate, self.axis)
        return plain.solve(y, discontinuity, extrapolate)

    def roots(self, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """Return the places where the values are zero. They have no derivatives.

        Parameters
        ----------
        discontinuity : bool, default True
            Whether a jump over zero counts.
        extrapolate : bool, "periodic" or None, default None
            As for values. None is what the function was made with.

        Returns
        -------
        array
            The places.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> from tapec.scipy.interpolate import PPoly
        >>> PPoly([[1.0], [-0.5]], [0.0, 1.0]).roots()
        array([0.5])
        """
        return self.solve(0.0, discontinuity, extrapolate)


def _differentiated(parts: tuple[Any, ...], nu: int) -> tuple[Any, ...]:
    if not nu:
        return parts
    highest = len(parts) - 1
    kept = tuple([math.perm(highest - k, nu) * part for k, part in enumerate(parts[: max(len(parts) - nu, 0)])])
    return kept or (np.zeros_like(parts[0]),)


def _integrated(parts: tuple[Any, ...], dx: Any) -> tuple[Any, ...]:
    """The constants join each stretch to the one before it."""
    raised = [part / (len(parts) - k) for k, part in enumerate(parts)]
    s = column(dx, parts[0].ndim)[:-1]
    gained = raised[0][:-1] * s
    for part in raised[1:]:
        gained = (gained + part[:-1]) * s
    before = np.concatenate([np.zeros_like(raised[0][:1]), np.cumsum(gained, axis=0)])
    return (*raised, before)
