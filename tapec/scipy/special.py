"""Give scipy.special, with those of its functions that are no ufuncs written for tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special as _special

from tapec.ops.control.custom_gradients import stop_gradient
from tapec.ops.core.op_helpers import as_array, inexact, without_empty_shape
from tapec.ops.reductions.logsumexp import exponentials, log_of_sum
from tapec.ops.special.bessel_family import spherical_slope
from tapec.ops.special.rule_helpers import chosen

__all__ = [
    "comb",
    "factorial",
    "log_softmax",
    "logsumexp",
    "multigammaln",
    "perm",
    "polygamma",
    "softmax",
    "softplus",
    "sph_harm_y",
    "spherical_in",
    "spherical_jn",
    "spherical_kn",
    "spherical_yn",
    "zeta",
]


def __getattr__(name: str) -> Any:
    return getattr(_special, name)


def _largest(a: Any, axis: Any) -> Any:
    """The largest element, for shifting by it: no gradient, and zero where it is infinite."""
    top = stop_gradient(np.max(a, axis=axis, keepdims=True))
    return np.where(np.isfinite(top), top, 0.0)


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """Return log(sum(b * exp(a))), without overflow.

    Where nothing is left to sum it is -inf, with zero gradient.

    Parameters
    ----------
    a : array
        The exponents.
    axis : None, int or tuple of int, default None
        The axes to sum over. None is all.
    b : array, default None
        Factors of the exponentials. None is ones.
    keepdims : bool, default False
        Whether the axes that are summed over stay, with length one.
    return_sign : bool, default False
        Whether to return the log of the absolute value, and the sign.

    Returns
    -------
    array, or a pair of arrays
        The log; with `return_sign` also the sign.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import special
    >>> tapec.value_and_grad(special.logsumexp)(np.array([1000.0, 1000.0]))
    (np.float64(1000.6931471), array([0.5, 0.5]))

    See Also
    --------
    tapec.scipy.special.softmax : its gradient
    """
    a = inexact(a)
    if b is not None:
        b = as_array(b)
        a = np.where(b == 0, -np.inf, a)
    parts, top = exponentials(a, axis, b)
    total = np.sum(parts, axis=axis, keepdims=keepdims)
    y = log_of_sum(np.abs(total) if return_sign else total, top)
    return (y, np.sign(total)) if return_sign else y


def softmax(x: Any, axis: Any = None) -> Any:
    """Return exp(x) / sum(exp(x)), without overflow.

    Parameters
    ----------
    x : array
        The exponents.
    axis : None, int or tuple of int, default None
        The axes to sum over. None is all.

    Returns
    -------
    array
        Shares of one, of the shape of x.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import special
    >>> special.softmax(np.array([0.0, 0.0]))
    array([0.5, 0.5])

    See Also
    --------
    tapec.scipy.special.log_softmax : its log
    tapec.scipy.special.logsumexp : the log of the sum
    """
    x = inexact(x)
    e = np.exp(x - _largest(x, axis))
    return e / np.sum(e, axis=axis, keepdims=True)


def log_softmax(x: Any, axis: Any = None) -> Any:
    """Return the log of `softmax`, without overflow.

    Parameters
    ----------
    x : array
        The exponents.
    axis : None, int or tuple of int, default None
        The axes to sum over. None is all.

    Returns
    -------
    array
        The logs, of the shape of x.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import special
    >>> special.log_softmax(np.array([1000.0, 0.0]))
    array([    0., -1000.])

    See Also
    --------
    tapec.scipy.special.softmax : the shares
    """
    x = inexact(x)
    away = x - _largest(x, axis)
    return away - np.log(np.sum(np.exp(away), axis=axis, keepdims=True))


def softplus(x: Any) -> Any:
    """Return log(1 + exp(x)), without overflow.

    Parameters
    ----------
    x : array
        The argument.

    Returns
    -------
    array
        The values.

    Examples
    --------
    >>> import tapec
    >>> from tapec.scipy import special
    >>> tapec.grad(special.softplus)(0.0)
    np.float64(0.5)

    See Also
    --------
    tapec.scipy.special.logsumexp : of many terms
    """
    return np.logaddexp(0, x)


def zeta(x: Any, q: Any = None) -> Any:
    """Return the zeta function of Riemann, or with q that of Hurwitz.

    It is differentiable with respect to q alone.

    Parameters
    ----------
    x : array
        The exponent.
    q : array, default None
        The first number that is summed from. None is one.

    Returns
    -------
    array
        The sum of (q + k)**-x over k = 0, 1, 2, ...

    Examples
    --------
    >>> import tapec
    >>> from tapec.scipy import special
    >>> tapec.grad(lambda q: special.zeta(2.0, q))(1.0).round(4)
    np.float64(-2.4041)

    See Also
    --------
    tapec.scipy.special.polygamma : sums of this kind
    """
    return _special.zeta(x, q)


def polygamma(n: Any, x: Any) -> Any:
    """Return the derivative of order n of the digamma function.

    Parameters
    ----------
    n : int or array of int
        The order.
    x : array
        The argument.

    Returns
    -------
    array
        The values.

    Examples
    --------
    >>> import tapec
    >>> from tapec.scipy import special
    >>> special.polygamma(1, 1.0), tapec.grad(lambda x: special.polygamma(0, x))(1.0)
    (np.float64(1.6449340668), np.float64(1.6449340668))

    See Also
    --------
    tapec.scipy.special.zeta : what it is made of
    """
    x = as_array(x)
    if not np.ndim(n):
        n = int(n)
        return _special.psi(x) if n == 0 else (-1.0) ** (n + 1) * math.factorial(n) * _special.zeta(n + 1, x)
    n = np.asarray(n)
    scale = np.where(n % 2 == 0, -1.0, 1.0) * _special.gamma(n + 1.0)
    return np.where(n == 0, _special.psi(x), scale * _special.zeta(np.maximum(n, 1) + 1, x))


def multigammaln(a: Any, d: int) -> Any:
    """Return the log of the gamma function of dimension d.

    Parameters
    ----------
    a : array
        The argument, greater than (d - 1) / 2.
    d : int
        The dimension.

    Returns
    -------
    array
        The values.

    Examples
    --------
    >>> from tapec.scipy import special
    >>> special.multigammaln(2.0, 1)
    np.float64(0.0)

    See Also
    --------
    tapec.scipy.special.polygamma : derivatives of the log of the gamma function
    """
    a = as_array(a)
    steps = 0.5 * np.arange(d)
    return d * (d - 1) * 0.25 * math.log(math.pi) + np.sum(_special.gammaln(a[..., None] - steps), axis=-1)


# -- counting -----------------------------------------------------------------------------------------------------
def factorial(n: Any, exact: bool = False) -> Any:
    """Return gamma(n + 1), and zero left of zero.

    Parameters
    ----------
    n : array
        The argument; numbers between integers are interpolated by the gamma function.
    exact : bool, default False
        Whether to return exact integers, by SciPy itself: for plain integers alone.

    Returns
    -------
    array, or int
        The values.

    Examples
    --------
    >>> from tapec.scipy import special
    >>> special.factorial([3.0, 4.0])
    array([ 6., 24.])

    See Also
    --------
    tapec.scipy.special.comb : choices
    tapec.scipy.special.perm : choices in order
    """
    if exact:
        return _special.factorial(n, exact=True)
    n = inexact(n)
    return without_empty_shape(np.where(n < 0, 0, _special.gamma(np.where(n < 0, 0, n) + 1)))


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """Return how many ways there are to choose k of N.

    Numbers between integers are interpolated by the gamma function.

    Parameters
    ----------
    N : array
        How many there are.
    k : array
        How many are chosen.
    exact : bool, default False
        Whether to return an exact integer, by SciPy itself: for plain integers alone.
    repetition : bool, default False
        Whether each may be chosen more than once.

    Returns
    -------
    array, or int
        The values.

    Examples
    --------
    >>> from tapec.scipy import special
    >>> special.comb([5.0, 6.0], 2.0)
    array([10., 15.])

    See Also
    --------
    tapec.scipy.special.perm : in order
    """
    if exact:
        return _special.comb(N, k, exact=True, repetition=repetition)
    N, k = inexact(N), inexact(k)
    if repetition:
        return without_empty_shape(np.where((k == 0) & (N >= 0), 1, _special.binom(N + k - 1, k)))
    return without_empty_shape(np.where(_countable(N, k), _special.binom(N, k), 0))


def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """Return how many ways there are to choose k of N in order.

    Numbers between integers are interpolated by the gamma function.

    Parameters
    ----------
    N : array
        How many there are.
    k : array
        How many are chosen.
    exact : bool, default False
        Whether to return an exact integer, by SciPy itself: for plain integers alone.

    Returns
    -------
    array, or int
        The values.

    Examples
    --------
    >>> from tapec.scipy import special
    >>> special.perm([5.0, 6.0], 2.0)
    array([20., 30.])

    See Also
    --------
    tapec.scipy.special.comb : whatever the order
    """
    if exact:
        return _special.perm(N, k, exact=True)
    N, k = inexact(N), inexact(k)
    return without_empty_shape(np.where(_countable(N, k), _special.poch(N - k + 1, k), 0))


def _countable(N: Any, k: Any) -> Any:
    return (k >= 0) & (k <= N)


# -- on spheres ---------------------------------------------------------------------------------------------------
def spherical_jn(n: Any, z: Any, derivative: bool = False) -> Any:
    """Return the spherical Bessel function of the first kind, or its derivative.

    Parameters
    ----------
    n : int or array of int
        The order.
    z : array
        The argument, real or complex.
    derivative : bool, default False
        Whether to return the derivative with respect to z.

    Returns
    -------
    array
        The values.

    Examples
    --------
    >>> import tapec
    >>> from tapec.scipy import special
    >>> special.spherical_jn(1, 1.0, derivative=True).round(6)
    np.float64(0.239134)
    >>> tapec.grad(lambda z: special.spherical_jn(1, z))(1.0).round(6)
    np.float64(0.239134)

    See Also
    --------
    tapec.scipy.special.spherical_yn : of the second kind
    tapec.scipy.special.spherical_in : the modified one
    """
    return _spherical("jn", n, z, derivative)


def spherical_yn(n: Any, z: Any, derivative: bool = False) -> Any:
    """Return the spherical Bessel function of the second kind, or its derivative.

    Parameters
    ----------
    n : int or array of int
        The order.
    z : array
        The argument, real or complex.
    derivative : bool, default False
        Whether to return the derivative with respect to z.

    Returns
    -------
    array
        The values.

    Examples
    --------
    >>> import tapec
    >>> from tapec.scipy import special
    >>> special.spherical_yn(0, 1.0).round(6)
    np.float64(-0.540302)

    See Also
    --------
    tapec.scipy.special.spherical_jn : of the first kind
    """
    return _spherical("yn", n, z, derivative)


def spherical_in(n: Any, z: Any, derivative: bool = False) -> Any:
    """Return the modified spherical Bessel function of the first kind, or its derivative.

    Parameters
    ----------
    n : int or array of int
        The order.
    z : array
        The argument, real or complex.
    derivative : bool, default False
        Whether to return the derivative with respect to z.

    Returns
    -------
    array
        The values.

    Examples
    --------
    >>> import tapec
    >>> from tapec.scipy import special
    >>> special.spherical_in(0, 1.0).round(6)
    np.float64(1.175201)

    See Also
    --------
    tapec.scipy.special.spherical_kn : of the second kind
    """
    return _spherical("in", n, z, derivative)


def spherical_kn(n: Any, z: Any, derivative: bool = False) -> Any:
    """Return the modified spherical Bessel function of the second kind, or its derivative.

    Parameters
    ----------
    n : int or array of int
        The order.
    z : array
        The argument, real or complex.
    derivative : bool, default False
        Whether to return the derivative with respect to z.

    Returns
    -------
    array
        The values.

    Examples
    --------
    >>> import tapec
    >>> from tapec.scipy import special
    >>> special.spherical_kn(0, 1.0).round(6)
    np.float64(0.577864)

    See Also
    --------
    tapec.scipy.special.spherical_in : of the first kind
    """
    return without_empty_shape(_spherical("kn", n, z, derivative))


def _spherical(kind: str, n: Any, z: Any, derivative: bool) -> Any:
    n, z = _whole(n), inexact(z)

    def f(n: Any, z: Any) -> Any:
        return getattr(_special._ufuncs, f"_spherical_{kind}")(n, z)

    def everywhere(n: Any, z: Any) -> Any:
        """Negative real numbers are mirrored, which SciPy does in double precision for all but k."""
        if z.dtype.kind == "c":
            return f(n, z)
        if kind != "kn":
            z = _double(z)
            side = np.copysign(1, z)
            return chosen(n % 2 == (kind == "yn"), 1, side) * f(n, side * z)
        left, y = z < 0, f(n, np.abs(z))
        beside = _special._ufuncs._spherical_in(n, _double(np.where(left, -z, 0)))
        return np.where(left, (-math.pi * beside - (-1.0) ** n * y).astype(y.dtype), y)

    return spherical_slope(kind, everywhere, n, z) if derivative else everywhere(n, z)


def _double(z: Any) -> Any:
    return z if z.dtype == float else z.astype(float)


def _whole(n: Any) -> Any:
    """Return integers that say which function is meant, as SciPy's loops take them."""
    return np.asarray(n, dtype=np.dtype("long"))[()]


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any) -> Any:
    """Return the spherical harmonic of degree n and order m.

    Parameters
    ----------
    n : int or array of int
        The degree.
    m : int or array of int
        The order.
    theta : array
        The polar angle.
    phi : array
        The azimuth.

    Returns
    -------
    complex array
        The values, differentiable with respect to both angles.

    Examples
    --------
    >>> import tapec
    >>> from tapec.scipy import special
    >>> special.sph_harm_y(0, 0, 0.0, 0.0).round(6)
    np.complex128(0.282095+0j)

    See Also
    --------
    tapec.scipy.special.spherical_jn : the part along the radius of a wave
    """
    n, m = _whole(n), _whole(m)
    size = np.abs(m)
    rest = n - size
    log_scale = 0.5 * (
        np.log((2 * n + 1) / (4 * math.pi)) + _special.gammaln(rest + 1) + _special.gammaln(n + size + 1)
    )
    scale = np.exp(log_scale - size * math.log(2) - _special.gammaln(n + 1))
    scale = np.where(rest < 0, 0, np.where(m < 0, 1, (-1.0) ** size) * scale)[()]
    theta, phi = inexact(theta), inexact(phi)
    zonal = np.sin(theta) ** size * _special.eval_jacobi(np.maximum(rest, 0), size, size, np.cos(theta))
    return scale * zonal * np.exp(1j * m * phi)
