"""scipy.special, with those of its functions that are no ufuncs written anew for tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special as _special

from tapec.ops.custom import stop_gradient
from tapec.ops.exponentials import exponentials, log_of_sum
from tapec.ops.kit import as_array, inexact

__all__ = ["log_softmax", "logsumexp", "multigammaln", "polygamma", "softmax", "softplus", "zeta"]


def __getattr__(name: str) -> Any:
    return getattr(_special, name)


def _largest(a: Any, axis: Any) -> Any:
    """The largest element, for shifting by it: no gradient, and zero where it is infinite."""
    top = stop_gradient(np.max(a, axis=axis, keepdims=True))
    return np.where(np.isfinite(top), top, 0.0)


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """log sum b exp(a), without overflow; -inf, with zero gradient, where nothing is left to sum."""
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
    """Hurwitz' zeta function; differentiable in q."""
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
