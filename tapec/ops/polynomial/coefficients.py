"""Define polynomials by their coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import UnsupportedError, at_user_line
from tapec.ir import Type
from tapec.ops.core.define import conj, define, ndim_of, shape_of, ufunc_dtypes
from tapec.ops.core.op_helpers import as_array, both, drawn
from tapec.ops.core.stand_in import apply, implements
from tapec.ops.core.symbol import holds, is_batch_example, is_symbol
from tapec.ops.linalg.eigen import all_real

__all__ = ["POLYVAL"]


# -- values -----------------------------------------------------------------------------------------------------------
def _polyval_rule(p: Type, x: Type) -> Type:
    return Type(x.shape, ufunc_dtypes(np.add, (p, x))[0] if p.shape[0] else x.dtype)


def _polyval_vjp(ct: Any, y: Any, p: Any, x: Any) -> Any:
    """Return cotangents: the derivative polynomial for x, and powers of x for the coefficients, each made of the one
    before.
    """
    n = p.shape[0]
    slope = p[:-1] * np.arange(n - 1, 0, -1).astype(y.dtype) if n > 1 else None
    gx = None if slope is None else ct * conj(np.polyval(slope, x))
    parts, base = [ct], conj(x)
    for _ in range(n - 1):
        parts.append(parts[-1] * base)
    return np.stack([np.sum(part) for part in reversed(parts)]) if n else np.sum(ct) * p, gx


def _polyval_batch(batched: tuple[bool, ...], p: Any, x: Any) -> Any:
    """Evaluate by Horner's rule with a row of coefficients for each example."""
    if not batched[0]:
        return np.polyval(p, x)
    ones = (1,) * (ndim_of(x) - batched[1])
    y = np.zeros((p.shape[0], *shape_of(x)[batched[1] :]), x.dtype)
    for k in range(p.shape[1]):
        y = y * x + np.reshape(p[:, k], (-1, *ones))
    return y


POLYVAL = define(
    "polyval",
    lambda p, x: np.polyval(p, x)[()],
    _polyval_rule,
    "polynomial",
    vjp=_polyval_vjp,
    batch=_polyval_batch,
    source="np.polyval({0}, {1})",
    sample=both(
        drawn((4,), (3,)), drawn((3,), (2, 2)), drawn((1,), (2,)), drawn((3,), ()), drawn((3,), (2,), complex=True)
    ),
    numpy=np.polyval,
)


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    if isinstance(x, np.poly1d):
        raise UnsupportedError(at_user_line("np.polyval of a poly1d in a polynomial. Fix: multiply it out yourself."))
    p, x = as_array(p), as_array(x)
    if ndim_of(p) == 1:
        return apply(POLYVAL, (p, x))
    if not ndim_of(p):
        raise TypeError(at_user_line("the coefficients of a polynomial are an array of one axis, or of more"))
    y = np.zeros_like(x)
    for coefficients in p:  # several polynomials, one for each x
        y = y * x + coefficients
    return y


# -- calculus ---------------------------------------------------------------------------------------------------------
@implements(np.polyder, gives_views=True)
def polyder(p: Any, m: int = 1) -> Any:
    if int(m) < 0:
        raise ValueError(at_user_line("Order of derivative must be positive (see polyint)"))
    p = as_array(p)
    for _ in range(int(m)):
        p = p[:-1] * np.arange(shape_of(p)[0] - 1, 0, -1)
    return p


@implements(np.polyint, gives_views=True)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    m = int(m)
    if m < 0:
        raise ValueError(at_user_line("Order of integral must be positive (see polyder)"))
    k = np.zeros(m) if k is None else np.atleast_1d(as_array(k))
    if shape_of(k)[0] == 1 and m > 1:
        k = np.broadcast_to(k, (m,))
    if shape_of(k)[0] < m:
        raise ValueError(at_user_line("k must be a scalar or a rank-1 array of length 1 or >m."))
    p = as_array(p)
    for i in range(m):
        p = np.concatenate([p / np.arange(shape_of(p)[0], 0, -1), k[i : i + 1]])
    return p


# -- arithmetic -------------------------------------------------------------------------------------------------------
def _aligned(a: Any, b: Any) -> tuple[Any, Any]:
    """Return both polynomials with as many coefficients, by zeros in front."""
    a, b = np.atleast_1d(as_array(a)), np.atleast_1d(as_array(b))
    missing = shape_of(b)[0] - shape_of(a)[0]
    if missing > 0:
        a = np.concatenate([np.zeros(missing, a.dtype), a])
    elif missing < 0:
        b = np.concatenate([np.zeros(-missing, b.dtype), b])
    return a, b


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    a, b = _aligned(a1, a2)
    return a + b


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    a, b = _aligned(a1, a2)
    return a - b


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    return np.convolve(_trimmed(a1), _trimmed(a2))


def _trimmed(p: Any) -> Any:
    """Return a polynomial without leading zeros."""
    p = np.atleast_1d(as_array(p))
    while shape_of(p)[0] > 1 and holds(p[0] == 0):
        p = p[1:]
    return p


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> Any:
    """Divide two polynomials by long division; return quotient and remainder."""
    u, v = np.atleast_1d(as_array(u)) + 0.0, np.atleast_1d(as_array(v)) + 0.0
    m, n = shape_of(u)[0], shape_of(v)[0]
    dtype = np.result_type(u.dtype, v.dtype)
    scale = 1.0 / v[0]
    rest = u.astype(dtype)
    quotient = []
    for k in range(m - n + 1):
        d = scale * rest[k]
        quotient.append(d)
        rest = np.concatenate([rest[:k], rest[k : k + n] - d * v, rest[k + n :]])
    if is_batch_example(rest):  # one length for all examples: only the places that division empties are zero in each
        rest = rest[min(len(quotient), shape_of(rest)[0] - 1) :]
    else:
        while shape_of(rest)[0] > 1 and not is_symbol(rest) and bool(np.allclose(rest[0], 0, rtol=1e-14)):
            rest = rest[1:]
    return np.stack(quotient) if quotient else np.zeros(1, dtype), rest


# -- roots ------------------------------------------------------------------------------------------------------------
@implements(np.roots)
def roots(p: Any) -> Any:
    """The eigenvalues of the companion matrix; zeros at the end of p are roots at zero."""
    p = np.atleast_1d(as_array(p))
    if ndim_of(p) != 1:
        raise ValueError(at_user_line("Input must be a rank-1 array."))
    p = _trimmed(p)
    count = 0
    while shape_of(p)[0] > 1 and holds(p[-1] == 0):
        p, count = p[:-1], count + 1
    if p.dtype.kind not in "fc":
        p = p.astype(float)
    n = shape_of(p)[0]
    if n < 2:
        return np.zeros(count)
    below = np.eye(n - 2, n - 1, dtype=p.dtype)
    found = np.linalg.eigvals(np.concatenate([(-p[1:] / p[0])[None], below]))
    if all_real(p, found):  # np.roots gives real roots as real numbers, in every NumPy
        found = np.real(found)
    return np.concatenate([found, np.zeros(count, found.dtype)]) if count else found


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """Multiply out the factors of a polynomial, one root after the other."""
    given = zeros = np.atleast_1d(as_array(seq_of_zeros))
    shape = shape_of(zeros)
    if len(shape) == 2 and shape[0] == shape[1] != 0:
        zeros = np.linalg.eigvals(zeros)
    elif len(shape) != 1:
        raise ValueError(at_user_line("input must be 1d or non-empty square 2d array."))
    zeros = zeros.astype(np.mintypecode(zeros.dtype.char))
    a = np.ones(1, zeros.dtype)
    nothing = np.zeros(1, zeros.dtype)
    for k in range(shape_of(zeros)[0]):
        a = np.concatenate([a, nothing]) - zeros[k] * np.concatenate([nothing, a])
    if zeros.dtype.kind == "c" and given.dtype.kind != "c":
        return np.real(a)  # the characteristic polynomial of a real matrix is real
    if zeros.dtype.kind == "c" and not is_symbol(zeros) and not is_batch_example(zeros):
        if bool(np.all(np.sort(zeros) == np.sort(np.conjugate(zeros)))):
            return np.real(a)
    return a


# -- fitting ----------------------------------------------------------------------------------------------------------
@implements(np.polyfit)
def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """Fit by least squares in the powers of x, each scaled to length one, as NumPy does it."""
    order = int(deg) + 1
    x, y = as_array(x) + 0.0, as_array(y) + 0.0
    _check_points(x, y, order)
    powers, values = np.vander(x, order), y
    if w is not None:
        w = as_array(w) + 0.0
        if ndim_of(w) != 1 or shape_of(w) != shape_of(x):
            raise TypeError(at_user_line("expected a 1-d array of weights of the same length as y"))
        powers, values = powers * w[:, None], values * (w[:, None] if ndim_of(y) == 2 else w)
    if rcond is None:
        rcond = shape_of(x)[0] * float(np.finfo(x.dtype).eps)
    scale = np.sqrt(np.sum(powers * powers, axis=0))
    powers = powers / scale
    c, residuals, rank, s = np.linalg.lstsq(powers, values, rcond)
    c = np.transpose(np.transpose(c) / scale)
    if full:
        return c, residuals, rank, s, rcond
    if not cov:
        return c
    base = np.linalg.inv(powers.T @ powers) / (scale[:, None] * scale)
    if cov != "unscaled":
        if shape_of(x)[0] <= order:
            message = "the number of data points must exceed order to scale the covariance matrix"
            raise ValueError(at_user_line(message))
        residuals = residuals / (shape_of(x)[0] - order)
        return c, base * residuals if ndim_of(y) == 1 else base[:, :, None] * residuals
    return c, base if ndim_of(y) == 1 else base[:, :, None]


def _check_points(x: Any, y: Any, order: int) -> None:
    """Raise NumPy's error for points that no polynomial can be fitted to."""
    for wrong, kind, message in (
        (order < 1, ValueError, "expected deg >= 0"),
        (ndim_of(x) != 1, TypeError, "expected 1D vector for x"),
        (not x.size, TypeError, "expected non-empty vector for x"),
        (ndim_of(y) not in (1, 2), TypeError, "expected 1D or 2D array for y"),
        (shape_of(x)[:1] != shape_of(y)[:1], TypeError, "expected x and y to have same length"),
    ):
        if wrong:
            raise kind(at_user_line(message))
