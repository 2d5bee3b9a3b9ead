"""Give scipy.special, with those of its functions that are no ufuncs written for tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special as _special

from tapec.ops.control.custom_gradients import stop_gradient
from tapec.ops.core.op_helpers import as_array, inexact
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
    """Return log sum b exp(a), without overflow; -inf, with zero gradient, where nothing is left to sum."""
    a = inexact(a)
    if b is not None:
        b = as_array(b)
        a = np.where(b == 0, -np.inf, a)
    parts, top = exponentials(a, axis, b)
    total = np.sum(parts, axis=axis, keepdims=keepdims)
    y = log_of_sum(np.abs(total) if return_sign else total, top)
    return (y, np.sign(total)) if return_sign else y


def softmax(x: Any, axis: Any = None) -> Any:
    x = inexact(x)
    e = np.exp(x - _largest(x, axis))
    return e / np.sum(e, axis=axis, keepdims=True)


def log_softmax(x: Any, axis: Any = None) -> Any:
    x = inexact(x)
    away = x - _largest(x, axis)
    return away - np.log(np.sum(np.exp(away), axis=axis, keepdims=True))


def softplus(x: Any) -> Any:
    return np.logaddexp(0, x)


def zeta(x: Any, q: Any = None) -> Any:
    """Return Hurwitz' zeta function; differentiable in q."""
    return _special.zeta(x, q)


def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of digamma; n is an integer, or an array of them."""
    x = as_array(x)
    if not np.ndim(n):
        n = int(n)
        return _special.psi(x) if n == 0 else (-1.0) ** (n + 1) * math.factorial(n) * _special.zeta(n + 1, x)
    n = np.asarray(n)
    scale = np.where(n % 2 == 0, -1.0, 1.0) * _special.gamma(n + 1.0)
    return np.where(n == 0, _special.psi(x), scale * _special.zeta(np.maximum(n, 1) + 1, x))


def multigammaln(a: Any, d: int) -> Any:
    """The log of the gamma function of dimension d."""
    a = as_array(a)
    steps = 0.5 * np.arange(d)
    return d * (d - 1) * 0.25 * math.log(math.pi) + np.sum(_special.gammaln(a[..., None] - steps), axis=-1)


# -- counting -----------------------------------------------------------------------------------------------------
def factorial(n: Any, exact: bool = False) -> Any:
    """Return gamma(n + 1), and zero left of zero."""
    if exact:
        return _special.factorial(n, exact=True)
    n = inexact(n)
    return np.where(n < 0, 0, _special.gamma(np.where(n < 0, 0, n) + 1))


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """Return how many ways there are to choose k of N; numbers in between are interpolated by the gamma function."""
    if exact:
        return _special.comb(N, k, exact=True, repetition=repetition)
    N, k = inexact(N), inexact(k)
    if repetition:
        return np.where((k == 0) & (N >= 0), 1, _special.binom(N + k - 1, k))
    return np.where(_countable(N, k), _special.binom(N, k), 0)


def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """The same in order."""
    if exact:
        return _special.perm(N, k, exact=True)
    N, k = inexact(N), inexact(k)
    return np.where(_countable(N, k), _special.poch(N - k + 1, k), 0)


def _countable(N: Any, k: Any) -> Any:
    return (k >= 0) & (k <= N)


# -- on spheres ---------------------------------------------------------------------------------------------------
def spherical_jn(n: Any, z: Any, derivative: bool = False) -> Any:
    return _spherical("jn", n, z, derivative)


def spherical_yn(n: Any, z: Any, derivative: bool = False) -> Any:
    return _spherical("yn", n, z, derivative)


def spherical_in(n: Any, z: Any, derivative: bool = False) -> Any:
    return _spherical("in", n, z, derivative)


def spherical_kn(n: Any, z: Any, derivative: bool = False) -> Any:
    return _spherical("kn", n, z, derivative)


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
    """The spherical harmonic of degree n and order m, which are integers, at a polar angle and an azimuth."""
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
