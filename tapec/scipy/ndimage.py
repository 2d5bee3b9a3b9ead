"""Give scipy.ndimage on tensors: filters, by convolution of arrays padded as their mode has it; and interpolation.

Differentiable in the input, in weights, in the sigma of a Gaussian, and in the coordinates of points between pixels.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import ndimage as _ndimage

from tapec.errors import UnsupportedError, at_user_line
from tapec.ir.types import normalize_axis
from tapec.ops import ArrayLike
from tapec.ops.core.define import conj
from tapec.ops.core.op_helpers import as_array, plain_number
from tapec.ops.scipy.convolve_nd import along_axis, continued
from tapec.scipy.signal import convolve as _convolve  # and with it SciPy's: not first in a recording

__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "map_coordinates",
    "uniform_filter",
    "uniform_filter1d",
]


def __getattr__(name: str) -> Any:
    return getattr(_ndimage, name)


# -- what filters take ------------------------------------------------------------------------------------------------
_PADS: dict[Any, Any] = {
    "constant": "constant",
    "grid-constant": "constant",
    "grid-mirror": "symmetric",
    "grid-wrap": "wrap",
    "mirror": "reflect",
    "nearest": "edge",
    "reflect": "symmetric",
    "wrap": "wrap",
}


def _input(x: Any, output: Any) -> Any:
    if output is not None:
        raise UnsupportedError(at_user_line("filters of tensors take no output=. Fix: use the result"))
    x = as_array(x)
    if x.dtype.char in "egG":
        raise RuntimeError(at_user_line(f"filters take no {x.dtype}"))
    return x


def _pad_mode(mode: str) -> Any:
    """Return np.pad's name of a mode; modes that SciPy does not know are refused."""
    if mode not in _PADS:
        raise RuntimeError(at_user_line(f"mode is one of {', '.join(map(repr, _PADS))}, got {mode!r}"))
    return _PADS[mode]


def _summable(x: Any) -> Any:
    return x if x.dtype.kind in "fc" else x.astype(float)


def _taps(weights: Any) -> Any:
    w = as_array(weights)
    if w.ndim != 1 or not w.shape[0]:
        raise RuntimeError(at_user_line(f"weights are a vector of one or more, got an array of shape {w.shape}"))
    return w


def _weights(w: Any, x: Any) -> Any:
    """Return the weights in the precision of the input, which the result has, too."""
    w = as_array(w)
    single = x.dtype.char in "fF"
    if w.dtype.kind == "c":
        return conj(w.astype(np.complex64 if single else complex))
    return w.astype(np.float32 if single else float)


def _before(size: int, origin: int) -> int:
    """Return how many numbers before its own place a window has."""
    origin = int(plain_number(origin))
    if not 0 <= size // 2 + origin < size:
        limits = f"{-(size // 2)} to {(size - 1) // 2}"
        raise ValueError(at_user_line(f"the origin of a window of {size} is a number from {limits}, got {origin}"))
    return size // 2 + origin


def _exactly(y: Any, x: Any) -> Any:
    """The result in the dtype of the input: of whole numbers, what is beyond the point is cut off."""
    dtype = np.result_type(x.dtype, np.complex64) if y.dtype.kind == "c" else x.dtype
    return y if y.dtype == dtype else y.astype(dtype)


def _each(given: Any, count: int) -> list[Any]:
    """Return a list with one value for each axis."""
    if isinstance(given, str) or np.ndim(given) == 0:
        return [given] * count
    if len(given) != count:
        raise RuntimeError(at_user_line(f"{len(given)} numbers or modes are given for {count} axes"))
    return list(given)


def _axis_by_axis(x: Any, axes: Any, *given: Any) -> Iterator[tuple[Any, ...]]:
    """The axes, or all of them, each with its own of what is given for one or for each."""
    chosen = [normalize_axis(k, x.ndim) for k in (range(x.ndim) if axes is None else np.atleast_1d(axes))]
    if len(set(chosen)) < len(chosen):
        raise ValueError(at_user_line(f"an axis is named twice in axes={axes}"))
    return zip(chosen, *[_each(g, len(chosen)) for g in given])


# -- along one axis ---------------------------------------------------------------------------------------------------
def _along(x: Any, w: Any, axis: int, mode: str, cval: Any, origin: int) -> Any:
    """The sums of weights times what is around each number."""
    before = _before(w.shape[0], origin)
    return along_axis(_summable(x), w[::-1], normalize_axis(axis, x.ndim), before, _pad_mode(mode), cval)


def correlate1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """Correlate an image with weights, along one axis.

    Parameters
    ----------
    input : array
        The image.
    weights : array
        A vector of weights.
    axis : int, default -1
        The axis.
    output : None, default None
        Must be None: the result is returned.
    mode : str, default 'reflect'
        How the image goes on at its ends: "reflect", "constant", "nearest", "mirror", "wrap", or one that begins
        "grid-".
    cval : number, default 0.0
        The number beyond the ends for "constant".
    origin : int, default 0
        By how many places the window is moved.

    Returns
    -------
    array
        The sums of weights times what is around each number, of the shape and dtype of the image.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import ndimage
    >>> ndimage.correlate1d(np.arange(4.0), np.array([0.0, 0.0, 1.0]))
    array([1., 2., 3., 3.])

    See Also
    --------
    tapec.scipy.ndimage.convolve1d : with the weights turned round
    tapec.scipy.ndimage.correlate : along all axes
    """
    x = _input(input, output)
    return _exactly(_along(x, _weights(_taps(weights), x), axis, mode, cval, origin), x)


def convolve1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """Convolve an image with weights, along one axis.

    Parameters
    ----------
    input : array
        The image.
    weights : array
        A vector of weights.
    axis : int, default -1
        The axis.
    output : None, default None
        Must be None: the result is returned.
    mode : str, default 'reflect'
        How the image goes on at its ends: "reflect", "constant", "nearest", "mirror", "wrap", or one that begins
        "grid-".
    cval : number, default 0.0
        The number beyond the ends for "constant".
    origin : int, default 0
        By how many places the window is moved.

    Returns
    -------
    array
        The convolution, of the shape and dtype of the image.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import ndimage
    >>> ndimage.convolve1d(np.arange(4.0), np.array([0.0, 0.0, 1.0]))
    array([0., 0., 1., 2.])

    See Also
    --------
    tapec.scipy.ndimage.correlate1d : without turning them round
    """
    w = _taps(weights)
    return correlate1d(input, conj(w)[::-1], axis, output, mode, cval, _turned(w.shape[0], origin))


def _turned(size: int, origin: int) -> int:
    """The origin of a window that is turned round."""
    return size - 1 - _before(size, origin) - size // 2


def uniform_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """Replace each number by the mean of a window around it, along one axis.

    Parameters
    ----------
    input : array
        The image.
    size : int
        How many numbers the window has.
    axis : int, default -1
        The axis.
    output : None, default None
        Must be None: the result is returned.
    mode : str, default 'reflect'
        How the image goes on at its ends: "reflect", "constant", "nearest", "mirror", "wrap", or one that begins
        "grid-".
    cval : number, default 0.0
        The number beyond the ends for "constant".
    origin : int, default 0
        By how many places the window is moved.

    Returns
    -------
    array
        The means, of the shape and dtype of the image.

    Raises
    ------
    RuntimeError
        If the size is not positive, or the mode is another word.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import ndimage
    >>> ndimage.uniform_filter1d(np.array([0.0, 3.0, 6.0]), 3)
    array([1., 3., 5.])

    See Also
    --------
    tapec.scipy.ndimage.uniform_filter : along all axes
    """
    x, size = _input(input, output), int(plain_number(size))
    if size < 1:
        raise RuntimeError(at_user_line(f"size is at least 1, got {size}"))
    return _exactly(_along(x, _weights(np.ones(size), x), axis, mode, cval, origin) / size, x)


def gaussian_filter1d(
    input: Any,
    sigma: Any,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> Any:
    """Correlate an image with a Gaussian, or a derivative of it, along one axis.

    Parameters
    ----------
    input : array
        The image.
    sigma : number
        The standard deviation, which has a gradient too.
    axis : int, default -1
        The axis.
    order : int, default 0
        The order of the derivative. 0 is the Gaussian itself.
    output : None, default None
        Must be None: the result is returned.
    mode : str, default 'reflect'
        How the image goes on at its ends: "reflect", "constant", "nearest", "mirror", "wrap", or one that begins
        "grid-".
    cval : number, default 0.0
        The number beyond the ends for "constant".
    truncate : float, default 4.0
        At how many standard deviations the Gaussian is cut off.
    radius : int or None, default None
        At how many places it is cut off, instead.

    Returns
    -------
    array
        The result, of the shape and dtype of the image.

    Raises
    ------
    ValueError
        If order or radius are no integers from 0 up.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import ndimage
    >>> def peak(sigma):
    ...     return ndimage.gaussian_filter1d(np.eye(1, 9, 4)[0], sigma, radius=4)[4]
    >>> tapec.grad(peak)(1.0).round(4)
    np.float64(-0.3989)

    See Also
    --------
    tapec.scipy.ndimage.gaussian_filter : along all axes
    """
    x, order = _input(input, output), int(plain_number(order))
    reach = int(truncate * sigma + 0.5) if radius is None else plain_number(radius)
    if reach != int(reach) or reach < 0:
        raise ValueError(at_user_line(f"radius is an integer from 0 up, got {reach}"))
    if order < 0:
        raise ValueError(at_user_line(f"order is an integer from 0 up, got {order}"))
    return correlate1d(x, _gaussian(sigma, order, int(reach))[::-1], axis, None, mode, cval)


def _gaussian(sigma: Any, order: int, radius: int) -> Any:
    """The density at whole numbers, of sum one; times the polynomial that the derivative of this order has with it."""
    x = np.arange(-radius, radius + 1)
    density = np.exp(-0.5 / (sigma * sigma) * x**2)
    density = density / np.sum(density)
    before, factor = 0.0, 1.0  # those of Hermite: q' + q p' = -(x q + k q_before) / sigma²
    for k in range(order):
        before, factor = factor, -(x * factor + k * before) / (sigma * sigma)
    return density * factor


# -- along all axes ---------------------------------------------------------------------------------------------------
def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Any:
    """Correlate an image with a Gaussian, or a derivative of it, along one axis after the other.

    Parameters
    ----------
    input : array
        The image.
    sigma : number, or a sequence of numbers
        The standard deviation, for all axes or for each. An axis where it is zero stays as it is.
    order : int, or a sequence of int, default 0
        The order of the derivative, for all axes or for each. 0 is the Gaussian itself.
    output : None, default None
        Must be None: the result is returned.
    mode : str, or a sequence of str, default 'reflect'
        How the image goes on at its ends: "reflect", "constant", "nearest", "mirror", "wrap", or one that begins
        "grid-".
    cval : number, default 0.0
        The number beyond the ends for "constant".
    truncate : float, default 4.0
        At how many standard deviations the Gaussian is cut off.
    radius : None, int, or a sequence of int, default None
        At how many places it is cut off, instead.
    axes : None, int, or a sequence of int, default None
        The axes. None is all.

    Returns
    -------
    array
        The result, of the shape and dtype of the image.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import ndimage
    >>> ndimage.gaussian_filter(np.eye(3), 0.5, radius=1).round(2)
    array([[0.81, 0.18, 0.01],
           [0.18, 0.64, 0.18],
           [0.01, 0.18, 0.81]])

    See Also
    --------
    tapec.scipy.ndimage.gaussian_filter1d : along one axis
    """
    x = _input(input, output)
    for axis, s, n, m, r in _axis_by_axis(x, axes, sigma, order, mode, radius):
        if s > 1e-15:
            x = gaussian_filter1d(x, s, axis, n, None, m, cval, truncate, radius=r)
    return x


def uniform_filter(
    input: Any,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Replace each number by the mean of a box around it.

    Parameters
    ----------
    input : array
        The image.
    size : int, or a sequence of int, default 3
        How many numbers the box has along all axes, or along each.
    output : None, default None
        Must be None: the result is returned.
    mode : str, or a sequence of str, default 'reflect'
        How the image goes on at its ends: "reflect", "constant", "nearest", "mirror", "wrap", or one that begins
        "grid-".
    cval : number, default 0.0
        The number beyond the ends for "constant".
    origin : int, or a sequence of int, default 0
        By how many places the box is moved.
    axes : None, int, or a sequence of int, default None
        The axes. None is all.

    Returns
    -------
    array
        The means, of the shape and dtype of the image.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import ndimage
    >>> ndimage.uniform_filter(np.arange(9.0).reshape(3, 3))[1].round(2)
    array([3.33, 4.  , 4.67])

    See Also
    --------
    tapec.scipy.ndimage.uniform_filter1d : along one axis
    """
    x = _input(input, output)
    for axis, n, m, o in _axis_by_axis(x, axes, size, mode, origin):
        x = uniform_filter1d(x, n, axis, None, m, cval, o) if n > 1 else x
    return x


def correlate(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: Any = 0
) -> Any:
    """Correlate an image with weights of as many axes.

    Parameters
    ----------
    input : array
        The image.
    weights : array
        The weights.
    output : None, default None
        Must be None: the result is returned.
    mode : str, default 'reflect'
        How the image goes on at its ends: "reflect", "constant", "nearest", "mirror", "wrap", or one that begins
        "grid-".
    cval : number, default 0.0
        The number beyond the ends for "constant".
    origin : int, or a sequence of int, default 0
        By how many places the window is moved.

    Returns
    -------
    array
        The sums of weights times what is around each number, of the shape and dtype of the image.

    Raises
    ------
    RuntimeError
        If the weights have another number of axes.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import ndimage
    >>> def total(weights):
    ...     return np.sum(ndimage.correlate(np.eye(3), weights, mode="constant"))
    >>> tapec.grad(total)(np.ones((1, 3)))
    array([[2., 3., 2.]])

    See Also
    --------
    tapec.scipy.ndimage.convolve : with the weights turned round
    """
    x = _input(input, output)
    w = _weights(weights, x)
    if w.ndim != x.ndim:
        raise RuntimeError(at_user_line(f"weights have {w.ndim} axes, the input has {x.ndim}"))
    before = [_before(n, o) for n, o in zip(w.shape, _each(origin, x.ndim))]
    around, pad = [(k, n - 1 - k) for k, n in zip(before, w.shape)], _pad_mode(mode)
    if not x.size:
        return _exactly(x * np.sum(w), x)
    wide = continued(_summable(x), around, pad, cval)
    return _exactly(_convolve(wide, w[(slice(None, None, -1),) * x.ndim], "valid", "direct"), x)


def convolve(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: Any = 0
) -> Any:
    """Convolve an image with weights of as many axes.

    Parameters
    ----------
    input : array
        The image.
    weights : array
        The weights.
    output : None, default None
        Must be None: the result is returned.
    mode : str, default 'reflect'
        How the image goes on at its ends: "reflect", "constant", "nearest", "mirror", "wrap", or one that begins
        "grid-".
    cval : number, default 0.0
        The number beyond the ends for "constant".
    origin : int, or a sequence of int, default 0
        By how many places the window is moved.

    Returns
    -------
    array
        The convolution, of the shape and dtype of the image.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import ndimage
    >>> ndimage.convolve(np.eye(2), np.ones((1, 1)))
    array([[1., 0.],
           [0., 1.]])

    See Also
    --------
    tapec.scipy.ndimage.correlate : without turning them round
    """
    w = as_array(weights)
    origins = [_turned(n, o) for n, o in zip(w.shape, _each(origin, w.ndim))]
    return correlate(input, conj(w)[(slice(None, None, -1),) * w.ndim], output, mode, cval, origins)


# -- between pixels ---------------------------------------------------------------------------------------------------
def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """Interpolate an image at points between its pixels.

    At a pixel itself the slope is that to the next one; at the last, that from the one before.

    Parameters
    ----------
    input : array
        The image.
    coordinates : array
        The points: along the first axis their coordinates, one for each axis of the image.
    output : None, default None
        Must be None: the result is returned.
    order : int, default 3
        1 takes what lies between the pixels around a point, 0 the nearest pixel. Others are for plain numbers alone,
        by SciPy itself.
    mode : str, default 'constant'
        How the image goes on at its ends: "reflect", "constant", "nearest", "mirror", "wrap", or one that begins
        "grid-".
    cval : number, default 0.0
        The number beyond the ends for "constant".
    prefilter : bool, default True
        What SciPy takes for orders above 1.

    Returns
    -------
    array
        The values at the points.

    Raises
    ------
    UnsupportedError
        If something is recorded and the order is above 1.
    TypeError
        If coordinates are complex.
    RuntimeError
        If points have another number of coordinates than the image has axes.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import ndimage
    >>> def at(x):
    ...     return ndimage.map_coordinates(np.array([0.0, 10.0, 30.0]), np.reshape(x, (1, 1)), order=1)[0]
    >>> tapec.value_and_grad(at)(1.5)
    (np.float64(20.0), np.float64(20.0))

    See Also
    --------
    tapec.scipy.interpolate.RegularGridInterpolator : on a grid of any distances
    """
    order = plain_number(order)
    if order not in (0, 1):
        if not any([isinstance(x, ArrayLike) for x in (input, coordinates, cval)]):
            return _ndimage.map_coordinates(input, coordinates, output, order, mode, cval, prefilter)
        raise UnsupportedError(at_user_line("map_coordinates of tensors has the orders 0 and 1. Fix: order=1"))
    x, points = _input(input, output), as_array(coordinates)
    if points.dtype.kind == "c":
        raise TypeError(at_user_line(f"coordinates are real, got {points.dtype}"))
    if x.ndim < 1 or points.ndim < 2:
        raise RuntimeError(at_user_line(f"points of shape {points.shape} in an array of shape {x.shape}"))
    if points.shape[0] != x.ndim:
        raise RuntimeError(at_user_line(f"{points.shape[0]} coordinates are given for {x.ndim} axes"))
    _pad_mode(mode)
    points = points if points.dtype == np.float64 else points.astype(float)
    y = _interpolated(x, [points[k] for k in range(x.ndim)], order, mode, cval)
    if mode == "constant":
        within = [(points[k] >= 0) & (points[k] <= n - 1) for k, n in enumerate(x.shape)]
        y = np.where(functools.reduce(operator.and_, within), y, cval)
    return _exactly(np.trunc(y + np.copysign(0.5, y)) if x.dtype.kind in "iu" else y, x)


def _interpolated(x: Any, points: list[Any], order: int, mode: str, cval: Any) -> Any:
    """The sum over the corners of the cell around each point, of the pixel there times its share."""
    corners = [_corners(_folded(p, n, mode), n, order, mode) for p, n in zip(points, x.shape)]
    pixels_in_a_row, total = np.reshape(x, -1), 0
    for corner in itertools.product(*corners):
        places, shares = zip(*corner)
        place: Any = 0
        for p, n in zip(places, x.shape):
            place = place * n + np.clip(p, 0, n - 1)
        pixels: Any = np.take(pixels_in_a_row, place)
        if mode == "grid-constant":
            there = [(p >= 0) & (p < n) for p, n in zip(places, x.shape)]
            pixels = np.where(functools.reduce(operator.and_, there), pixels, cval)
        for share in shares:
            pixels = pixels if share is None else pixels * share
        total = total + pixels
    return total


def _folded(p: Any, n: int, mode: str) -> Any:
    """Return where a coordinate lies between the first pixel and the last, as a mode continues them."""
    last = n - 1
    if mode == "grid-constant":
        return p
    if mode == "grid-wrap":
        return p % n
    if mode == "mirror" and last:
        return last - np.abs(p % (2 * last) - last)
    if mode == "wrap" and last:
        below = p + last * (np.floor(-p / last) + 1)
        return np.where(p < 0, below, np.where(p > last, p - last * np.floor(p / last), p))
    if mode in ("reflect", "grid-mirror"):
        p = n - np.abs((p + 0.5) % (2 * n) - n) - 0.5
    return np.clip(p, 0, last)


def _corners(p: Any, n: int, order: int, mode: str) -> list[tuple[Any, Any]]:
    """The pixels along one axis, with their shares."""
    if order == 0:
        nearest = np.floor(p + 0.5).astype(int)
        return [(nearest % n if mode == "grid-wrap" else nearest, None)]
    first = np.floor(p)
    if not mode.startswith("grid-") or mode == "grid-mirror":
        first = np.clip(first, 0, max(n - 2, 0))  # the last pixel is the end of the last cell
    share, place = p - first, first.astype(int)
    return [(place, 1 - share), ((place + 1) % n if mode == "grid-wrap" else place + 1, share)]
