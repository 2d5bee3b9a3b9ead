"""Give scipy.signal on tensors: convolution and filters, whose coefficients have gradients too."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.polynomial import legendre
from scipy import signal as _signal

from tapec.errors import UnsupportedError, at_user_line
from tapec.ir.types import normalize_axis
from tapec.ops import ArrayLike
from tapec.ops.core.define import conj
from tapec.ops.core.op_helpers import as_array, inexact, plain_number, real_dtype
from tapec.ops.core.symbol import holds
from tapec.ops.scipy.convolve_nd import along_axis, continued, convolve, convolve_rows, correlate
from tapec.ops.scipy.recursive_filter import lfilter as _lfilter

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "detrend",
    "fftconvolve",
    "filtfilt",
    "hilbert",
    "lfilter",
    "lfilter_zi",
    "oaconvolve",
    "savgol_filter",
    "sosfilt",
    "sosfilt_zi",
    "sosfiltfilt",
]


def __getattr__(name: str) -> Any:
    return getattr(_signal, name)


# -- convolution ------------------------------------------------------------------------------------------------------
def fftconvolve(in1: Any, in2: Any, mode: str = "full") -> Any:
    """Convolve two arrays by Fourier transforms.

    Products of integers are floats, unlike those of `convolve`, which rounds them.

    Parameters
    ----------
    in1 : array
        The first array.
    in2 : array
        The second array.
    mode : str, default 'full'
        "full", "same" or "valid", as in `convolve`.

    Returns
    -------
    array
        The convolution.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import signal
    >>> signal.fftconvolve(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([1., 3., 2.])

    See Also
    --------
    tapec.scipy.signal.convolve : by sums, or by transforms
    """
    x, v = inexact(in1), inexact(in2)
    if not (x.size and v.size) and x.ndim == v.ndim:
        return np.real(np.ravel(x)[:0] * np.ravel(v)[:0]).astype(np.float64)  # as SciPy has it, whatever the mode
    return convolve(x, v, mode, "fft")


def oaconvolve(in1: Any, in2: Any, mode: str = "full") -> Any:
    """Convolve two arrays, as `fftconvolve` does.

    Parameters
    ----------
    in1 : array
        The first array.
    in2 : array
        The second array.
    mode : str, default 'full'
        "full", "same" or "valid", as in `convolve`.

    Returns
    -------
    array
        The convolution.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import signal
    >>> signal.oaconvolve(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([1., 3., 2.])

    See Also
    --------
    tapec.scipy.signal.fftconvolve : the same
    """
    return fftconvolve(in1, in2, mode)


_BOUNDARIES: dict[str, Any] = {
    "fill": "constant",
    "wrap": "wrap",
    "circular": "wrap",
    "symm": "symmetric",
    "symmetric": "symmetric",
}


def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """Convolve two images, with a choice of what is beside the first.

    Parameters
    ----------
    in1 : array
        A matrix.
    in2 : array
        A matrix.
    mode : str, default 'full'
        "full", "same" or "valid", as in `convolve`.
    boundary : str, default 'fill'
        What is beside in1: "fill" a number, "wrap" in1 again, "symm" in1 mirrored.
    fillvalue : number, default 0
        The number.

    Returns
    -------
    array
        The convolution.

    Raises
    ------
    ValueError
        If one is no matrix, or a word is another one.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import signal
    >>> signal.convolve2d(np.ones((2, 2)), np.ones((2, 2)), mode="same", boundary="wrap")
    array([[4., 4.],
           [4., 4.]])

    See Also
    --------
    tapec.scipy.signal.correlate2d : without turning one of them round
    """
    x, v = _two("convolve2d", in1, in2)
    if mode == "same":
        if not (x.size and v.size):
            return _nothing(x, v)
        return _middle(_bounded(x, v, "full", boundary, fillvalue), x, [(m - 1) // 2 for m in v.shape])
    return _bounded(x, v, mode, boundary, fillvalue)


def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """Correlate two images, with a choice of what is beside the first.

    Parameters
    ----------
    in1 : array
        A matrix.
    in2 : array
        A matrix, which is conjugated.
    mode : str, default 'full'
        "full", "same" or "valid", as in `convolve`.
    boundary : str, default 'fill'
        What is beside in1: "fill" a number, "wrap" in1 again, "symm" in1 mirrored.
    fillvalue : number, default 0
        The number.

    Returns
    -------
    array
        The correlation.

    Raises
    ------
    ValueError
        If one is no matrix, or a word is another one.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import signal
    >>> signal.correlate2d(np.ones((2, 2)), np.ones((2, 2)), mode="valid")
    array([[4.]])

    See Also
    --------
    tapec.scipy.signal.convolve2d : with one of them turned round
    """
    x, v = _two("correlate2d", in1, in2)
    turned = conj(v)[::-1, ::-1]
    if mode == "same":
        if not (x.size and v.size):
            return _nothing(x, v)
        return _middle(_bounded(x, turned, "full", boundary, fillvalue), x, [m // 2 for m in v.shape])
    return _bounded(x, turned, mode, boundary, fillvalue)


def _two(name: str, in1: Any, in2: Any) -> tuple[Any, Any]:
    x, v = as_array(in1), as_array(in2)
    if not x.ndim == v.ndim == 2:
        raise ValueError(at_user_line(f"{name} takes two matrices, got arrays of shapes {x.shape} and {v.shape}"))
    return x, v


def _nothing(x: Any, v: Any) -> Any:
    """Return the middle of a convolution that has no elements, or only sums of nothing."""
    return np.zeros_like(x) * np.sum(v, dtype=v.dtype)


def _middle(y: Any, x: Any, start: list[int]) -> Any:
    return y[tuple([slice(k, k + n) for k, n in zip(start, x.shape)])]


def _bounded(x: Any, v: Any, mode: str, boundary: str, fillvalue: Any) -> Any:
    if boundary not in _BOUNDARIES:
        raise ValueError(at_user_line(f"boundary is one of {', '.join(map(repr, _BOUNDARIES))}, got {boundary!r}"))
    nothing = type(fillvalue) in (int, float) and fillvalue == 0
    if mode != "full" or (boundary == "fill" and nothing):
        return convolve(x, v, mode, "direct")
    dtype = np.result_type(x.dtype, v.dtype)  # of the result, and of what it is filled with
    x = x if x.dtype == dtype else x.astype(dtype)
    wide = continued(x, [(m - 1, m - 1) for m in v.shape], _BOUNDARIES[boundary], fillvalue)
    return convolve(wide, v, "valid", "direct")


# -- filters ----------------------------------------------------------------------------------------------------------
def _taps(c: Any, name: str) -> Any:
    c = np.atleast_1d(as_array(c))
    if c.ndim != 1 or not c.shape[0]:
        raise ValueError(at_user_line(f"{name} is a vector of one or more taps, got an array of shape {c.shape}"))
    return c


def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter data along one axis, by a filter whose coefficients have gradients too.

    Parameters
    ----------
    b : array
        The coefficients of the numerator: of x.
    a : array
        The coefficients of the denominator: of the result so far.
    x : array
        The data.
    axis : int, default -1
        The axis along which to filter.
    zi : array, default None
        The state to start from. None is rest.

    Returns
    -------
    y : array
        The result, of the shape of x.
    zf : array
        The state at the end, only where `zi` is given.

    Raises
    ------
    ValueError
        If coefficients are no vectors, or the state has another shape.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import signal
    >>> def total(decay):
    ...     return np.sum(signal.lfilter([1.0], np.stack([1.0, -decay]), np.array([1.0, 0.0, 0.0])))
    >>> tapec.grad(total)(0.5)
    np.float64(2.0)

    See Also
    --------
    tapec.scipy.signal.filtfilt : there and back
    tapec.scipy.signal.lfilter_zi : a state for `zi`
    """
    b, a, x = _taps(b, "b"), _taps(a, "a"), as_array(x)
    axis = normalize_axis(axis, x.ndim)
    y = _lfilter(b, a, x, axis)
    return y if zi is None else _from_state(b, a, x, y, axis, as_array(zi))


def _from_state(b: Any, a: Any, x: Any, y: Any, axis: int, state: Any) -> tuple[Any, Any]:
    """A state is what comes in from the past, and what is left of the present is the next one."""
    order, n = max(a.shape[0], b.shape[0]) - 1, x.shape[axis]
    wanted = tuple([order if k == axis else m for k, m in enumerate(x.shape)])
    if state.ndim != x.ndim or state.shape[axis] != order:
        raise ValueError(at_user_line(f"the state zi has the shape {wanted}, got {state.shape}"))
    state = np.moveaxis(np.broadcast_to(state, wanted), axis, -1)
    b, a, x, y = b / a[0], a / a[0], np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1)
    past = state[..., :n] if n < order else np.pad(state, [(0, 0)] * (x.ndim - 1) + [(0, n - order)])
    y = y + _lfilter(np.ones(1, a.dtype), a, past, x.ndim - 1)
    left = _beyond(x, b, order) - _beyond(y, a, order)
    if n < order:
        left = left + np.pad(state[..., n:], [(0, 0)] * (x.ndim - 1) + [(0, n)])
    return np.moveaxis(y, -1, axis), np.moveaxis(left, -1, axis)


def _beyond(x: Any, taps: Any, order: int) -> Any:
    """Return the part of the taps' response to x that comes after its end."""
    return convolve_rows(x, np.pad(taps, (0, order + 1 - taps.shape[0])), "full")[..., x.shape[-1] :]


def lfilter_zi(b: Any, a: Any) -> Any:
    """Return the state in which a filter gives its answer to 1, 1, 1, ... from the beginning.

    Parameters
    ----------
    b : array
        The coefficients of the numerator.
    a : array
        The coefficients of the denominator.

    Returns
    -------
    array
        The state, for `zi` of `lfilter`.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import signal
    >>> state = signal.lfilter_zi([1.0], np.array([1.0, -0.5]))
    >>> signal.lfilter([1.0], [1.0, -0.5], np.ones(3), zi=state)[0]
    array([2., 2., 2.])

    See Also
    --------
    tapec.scipy.signal.lfilter : takes it
    """
    b, a = _taps(b, "b"), _taps(a, "a")
    n = max(a.shape[0], b.shape[0])
    b, a = [np.pad(c / a[0], (0, n - c.shape[0])) for c in (b, a)]
    rest = b[1:] - a[1:] * b[0]
    return np.cumsum(a)[:-1] * (np.sum(rest) / np.sum(a)) - (np.cumsum(rest) - rest)


def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: str | None = "odd",
    padlen: int | None = None,
    method: str = "pad",
    irlen: int | None = None,
) -> Any:
    """Filter data forwards and backwards, so that nothing is late.

    Parameters
    ----------
    b : array
        The coefficients of the numerator.
    a : array
        The coefficients of the denominator.
    x : array
        The data.
    axis : int, default -1
        The axis along which to filter.
    padtype : str or None, default 'odd'
        How x goes on at its ends: "odd", "even", "constant", or not at all.
    padlen : int or None, default None
        By how many numbers it goes on. None is three times the number of coefficients.
    method : str, default 'pad'
        "pad", or "gust" for plain numbers alone, by SciPy itself.
    irlen : int or None, default None
        What SciPy takes for the method "gust".

    Returns
    -------
    array
        The result, of the shape of x.

    Raises
    ------
    ValueError
        If a word is another one, or x is too short.
    UnsupportedError
        If the method is "gust" and something is recorded.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import signal
    >>> signal.filtfilt([0.5, 0.5], [1.0], np.ones(10))[:3]
    array([1., 1., 1.])

    See Also
    --------
    tapec.scipy.signal.lfilter : in one direction
    tapec.scipy.signal.sosfiltfilt : by filters of second order
    """
    if method == "gust":
        if any([isinstance(z, ArrayLike) for z in (b, a, x)]):
            raise UnsupportedError(at_user_line("filtfilt of tensors has the method 'pad'. Fix: method='pad'"))
        return _signal.filtfilt(b, a, x, axis, padtype, padlen, method, irlen)
    if method != "pad":
        raise ValueError(at_user_line(f"method is 'pad' or 'gust', got {method!r}"))
    b, a = _taps(b, "b"), _taps(a, "a")
    state = lfilter_zi(b, a)

    def run(z: Any) -> Any:
        return lfilter(b, a, z, -1, state * z[..., :1])[0]

    return _there_and_back(run, x, axis, padtype, padlen, max(a.shape[0], b.shape[0]))


def _there_and_back(run: Any, x: Any, axis: int, padtype: str | None, padlen: int | None, taps: int) -> Any:
    x = as_array(x)
    if padtype not in (None, *_ENDS):
        raise ValueError(at_user_line(f"padtype is None or one of {', '.join(map(repr, _ENDS))}, got {padtype!r}"))
    edge = 0 if padtype is None else 3 * taps if padlen is None else int(plain_number(padlen))
    axis = normalize_axis(axis, x.ndim)
    x = np.moveaxis(x, axis, -1)
    n = x.shape[-1]
    if n <= edge:
        raise ValueError(at_user_line(f"x must be longer than padlen, which is {edge}, but has the length {n}"))
    if edge and padtype is not None:
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(edge, edge)], **_ENDS[padtype])
    y = run(run(x)[..., ::-1])[..., ::-1]
    return np.moveaxis(y[..., edge : edge + n], -1, axis)


_ENDS: dict[str, Any] = {
    "odd": {"mode": "reflect", "reflect_type": "odd"},
    "even": {"mode": "reflect"},
    "constant": {"mode": "edge"},
}


def _sections(sos: Any) -> Any:
    sos = np.atleast_2d(as_array(sos))
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ValueError(at_user_line(f"sections are rows of six coefficients, got an array of shape {sos.shape}"))
    if holds(np.any(sos[:, 3] != 1)):
        raise ValueError(at_user_line("the first coefficient of each denominator, sos[:, 3], must be 1"))
    return sos


def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter data by filters of second order, one after the other.

    Parameters
    ----------
    sos : array
        A row of six coefficients for each filter: three of the numerator, three of the denominator, the first of
        which is 1.
    x : array
        The data.
    axis : int, default -1
        The axis along which to filter.
    zi : array, default None
        The states to start from. None is rest.

    Returns
    -------
    y : array
        The result, of the shape of x.
    zf : array
        The states at the end, only where `zi` is given.

    Raises
    ------
    ValueError
        If the coefficients are no such rows, or the states have another shape.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import signal
    >>> signal.sosfilt([[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]], np.ones(3))
    array([0.5, 1. , 1. ])

    See Also
    --------
    tapec.scipy.signal.lfilter : by one filter of any order
    tapec.scipy.signal.sosfilt_zi : states for `zi`
    """
    sos, x = _sections(sos), as_array(x)
    axis = normalize_axis(axis, x.ndim)
    if zi is None:
        for row in sos:
            x = lfilter(row[:3], row[3:], x, axis)
        return x
    zi = as_array(zi)
    wanted = (sos.shape[0], *[2 if k == axis else m for k, m in enumerate(x.shape)])
    if zi.shape != wanted:
        raise ValueError(at_user_line(f"the states zi have the shape {wanted}, got {zi.shape}"))
    x, left = _one_by_one(sos, x, axis, zi)
    return x, np.stack(left)


def _one_by_one(sos: Any, x: Any, axis: int, states: Iterable[Any]) -> tuple[Any, list[Any]]:
    """The filters, each from a state, and the states that are left."""
    left = []
    for row, state in zip(sos, states):
        x, state = lfilter(row[:3], row[3:], x, axis, state)
        left.append(state)
    return x, left


def sosfilt_zi(sos: Any) -> Any:
    """Return the states in which the filters give their answer to 1, 1, 1, ... from the beginning.

    Parameters
    ----------
    sos : array
        A row of six coefficients for each filter, as in `sosfilt`.

    Returns
    -------
    array
        The states, a row for each filter.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import signal
    >>> signal.sosfilt_zi([[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]])
    array([[0.5, 0. ]])

    See Also
    --------
    tapec.scipy.signal.sosfilt : takes them
    """
    states, scale = [], 1
    for row in _sections(sos):
        states.append(scale * lfilter_zi(row[:3], row[3:]))
        scale = scale * (np.sum(row[:3]) / np.sum(row[3:]))
    return np.stack(states)


def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None) -> Any:
    """Filter data forwards and backwards, by filters of second order.

    Parameters
    ----------
    sos : array
        A row of six coefficients for each filter, as in `sosfilt`.
    x : array
        The data.
    axis : int, default -1
        The axis along which to filter.
    padtype : str or None, default 'odd'
        How x goes on at its ends: "odd", "even", "constant", or not at all.
    padlen : int or None, default None
        By how many numbers it goes on. None follows the number of filters.

    Returns
    -------
    array
        The result, of the shape of x.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import signal
    >>> signal.sosfiltfilt([[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]], np.ones(10))[:3]
    array([1., 1., 1.])

    See Also
    --------
    tapec.scipy.signal.filtfilt : by one filter of any order
    """
    sos = _sections(sos)
    states = sosfilt_zi(sos)

    def run(z: Any) -> Any:
        return _one_by_one(sos, z, -1, [state * z[..., :1] for state in states])[0]

    idle = 0 if padlen is not None else min([int(plain_number(np.sum(sos[:, k] == 0))) for k in (2, 5)])
    return _there_and_back(run, x, axis, padtype, padlen, 2 * sos.shape[0] + 1 - idle)


def hilbert(x: Any, N: Any = None, axis: int = -1) -> Any:
    """Return the analytic signal: x with no negative frequencies, and twice the positive ones.

    Parameters
    ----------
    x : array
        Real data.
    N : int or None, default None
        How many numbers are transformed: x is cut, or filled up by zeros. None is all.
    axis : int, default -1
        The axis of the signal.

    Returns
    -------
    complex array
        The signal, whose real part is x.

    Raises
    ------
    ValueError
        If x is complex, or N is not positive.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import signal
    >>> np.abs(signal.hilbert(np.cos(np.arange(4) * np.pi / 2)))
    array([1., 1., 1., 1.])

    See Also
    --------
    tapec.scipy.fft.fft : the transform
    """
    x = as_array(x)
    if x.dtype.kind == "c":
        raise ValueError(at_user_line(f"x must be real, got {x.dtype}"))
    axis = normalize_axis(axis, x.ndim)
    n = x.shape[axis] if N is None else int(plain_number(N))
    if n <= 0:
        raise ValueError(at_user_line(f"N must be positive, got {n}"))
    spectrum = np.fft.fft(x, n, axis)
    weights = np.zeros(n, real_dtype(spectrum.dtype))
    weights[1 : (n + 1) // 2] = 2
    weights[[0, n // 2] if n % 2 == 0 else 0] = 1
    return np.fft.ifft(spectrum * weights.reshape((-1,) + (1,) * (x.ndim - 1 - axis)), axis=axis)


def detrend(data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False) -> Any:
    """Subtract the mean from data, or the line that fits them best.

    Parameters
    ----------
    data : array
        The data.
    axis : int, default -1
        The axis along which they lie.
    type : str, default 'linear'
        "linear" subtracts lines, "constant" the mean.
    bp : int or array of int, default 0
        Places between which lines are fitted one by one.
    overwrite_data : bool, default False
        Has no effect; it is here since SciPy has it.

    Returns
    -------
    array
        What is left, of the shape of the data.

    Raises
    ------
    ValueError
        If the type is another word, or a place is not among the data.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import signal
    >>> signal.detrend(np.array([1.0, 2.0, 3.0]), type="constant")
    array([-1.,  0.,  1.])

    See Also
    --------
    tapec.scipy.signal.savgol_filter : fits around each number
    """
    if type not in ("linear", "l", "constant", "c"):
        raise ValueError(at_user_line(f"type is 'linear' or 'constant', got {type!r}"))
    data = as_array(data)
    if type in ("constant", "c"):
        return data - np.mean(data, axis, keepdims=True)
    data = data if data.dtype.char in "fdFD" else data.astype(float)
    axis = normalize_axis(axis, data.ndim)
    n = data.shape[axis]
    points = sorted({0, n, *np.atleast_1d(np.asarray(bp)).tolist()})
    if points[-1] > n or points[0] < 0:
        raise ValueError(at_user_line(f"breakpoints are numbers from 0 to {n}, got {bp}"))
    data = np.moveaxis(data, axis, -1)
    parts = [_less_line(data[..., start:stop]) for start, stop in itertools.pairwise(points)]
    return np.moveaxis(np.concatenate(parts, data.ndim - 1) if len(parts) > 1 else parts[0], -1, axis)


def _less_line(x: Any) -> Any:
    n = x.shape[-1]
    lines = np.linalg.qr(np.stack([np.arange(1.0, n + 1) / n, np.ones(n)], 1))[0].astype(real_dtype(x.dtype))
    return x - (x @ lines) @ lines.T


_PADS: dict[str, Any] = {"mirror": "reflect", "constant": "constant", "nearest": "edge", "wrap": "wrap"}


def savgol_filter(
    x: Any,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: Any = 0.0,
) -> Any:
    """Replace each number by the value, or a derivative, of the polynomial that fits the window around it.

    Parameters
    ----------
    x : array
        The data.
    window_length : int
        How many numbers a window has.
    polyorder : int
        The degree of the polynomials, less than the length.
    deriv : int, default 0
        The order of the derivative. 0 is the value.
    delta : float, default 1.0
        The distance of two numbers, for derivatives.
    axis : int, default -1
        The axis along which to filter.
    mode : str, default 'interp'
        What is done at the ends: "interp" takes the last polynomial, "mirror", "constant", "nearest" and "wrap" go
        on.
    cval : number, default 0.0
        The number beyond the ends for "constant".

    Returns
    -------
    array
        The result, of the shape of x.

    Raises
    ------
    ValueError
        If the mode is another word, or the window is longer than the data.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import signal
    >>> signal.savgol_filter(np.arange(5.0) ** 2, 3, 2, deriv=1)
    array([0., 2., 4., 6., 8.])

    See Also
    --------
    tapec.scipy.signal.detrend : one line for all
    """
    if mode not in (*_PADS, "interp"):
        raise ValueError(at_user_line(f"mode is one of {', '.join(map(repr, _PADS))}, 'interp', got {mode!r}"))
    window, order, deriv = [int(plain_number(k)) for k in (window_length, polyorder, deriv)]
    delta = plain_number(delta)
    x = as_array(x)
    x = x if x.dtype.char in "fd" else x.astype(float)
    axis = normalize_axis(axis, x.ndim)
    taps = _signal.savgol_coeffs(window, order, deriv=deriv, delta=delta).astype(x.dtype)
    before, after = (window - 1) // 2, window // 2
    if mode != "interp":
        return along_axis(x, taps, axis, before, _PADS[mode], cval)
    x = np.moveaxis(x, axis, -1)
    if window > x.shape[-1]:
        raise ValueError(at_user_line(f"a window of {window} is longer than {x.shape[-1]}. Fix: another mode"))
    fit = _fit(window, order, deriv, delta).astype(x.dtype)
    middle = convolve_rows(x, taps, "valid")[..., after - before :]
    first, last = x[..., :window] @ fit[:after].T, x[..., x.shape[-1] - window :] @ fit[window - after :].T
    return np.moveaxis(np.concatenate([first, middle, last], x.ndim - 1), -1, axis)


def _fit(window: int, order: int, deriv: int, delta: float) -> np.ndarray:
    """The matrix from the numbers in a window to the derivative, at each of them, of the polynomial that fits."""
    if deriv > order:
        return np.zeros((window, window))
    half = max(window - 1, 1) / 2
    t = np.arange(window) / half - 1
    slopes = legendre.legvander(t, order - deriv) @ legendre.legder(np.eye(order + 1), deriv)
    return slopes @ np.linalg.pinv(legendre.legvander(t, order)) / (half * delta) ** deriv
