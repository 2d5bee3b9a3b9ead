"""Singular values and vectors, and the rank they tell."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir import Type
from tapec.ops.array import apply, implements
from tapec.ops.define import define, ndim_of
from tapec.ops.eigen import Spectrum, along_columns, scaled_columns, turned
from tapec.ops.kit import adjoint, as_array, both, lapack_dtype, real_dtype, regular, result_class, stacked
from tapec.ops.samples import Case

__all__ = ["MATRIX_RANK", "SVD", "SVDVALS", "svdvals_vjp"]


# -- decomposition ----------------------------------------------------------------------------------------------------
def _svd_rule(t: Type, full_matrices: bool) -> Any:
    *rest, m, n = stacked(t, square=False)
    k, dtype = min(m, n), lapack_dtype(t)
    rows, columns = (m, n) if full_matrices else (k, k)
    return Type((*rest, m, rows), dtype), Type((*rest, k), real_dtype(dtype)), Type((*rest, columns, n), dtype)


def _svd_vjp(ct: Any, y: Any, a: Any, full_matrices: bool, slopes: Any = None) -> Any:
    """With u and v moved by skew matrices p and q: what turns both alike goes by gaps, one against the other by sums.

    (p s_k + s_j q) / (s_k² - s_j²) = (p + q) / (s_k - s_j) / 2 + (p - q) / (s_k + s_j) / 2
    """
    (gu, gs, gvh), (u, s, vh) = ct, y
    v, gv = adjoint(vh), adjoint(gvh)
    m, n = a.shape[-2:]
    k = s.shape[-1]
    u1, v1 = u[..., :k], v[..., :k]
    turn_u, turn_v = _turn(u1, gu), _turn(v1, gv)
    slope: Any = None
    against: Any = 0.0
    out_u: Any = 0.0
    out_v: Any = 0.0
    if slopes is not None:
        su, sv = slopes[0], adjoint(slopes[2])
        slope_u, slope_v = _turn(u1, su), _turn(v1, sv)
        slope, against = slope_u + slope_v, 0.5 * _against(slope_u, slope_v)
        out_u, out_v = _outside(u, su, slope_u), _outside(v, sv, slope_v)
        gs = gs - along_columns(u1, su) - along_columns(v1, sv)
    inner = turned(turn_u + turn_v, slope, s)
    inner = inner + _over(_against(turn_u, turn_v), s[..., None, :] + s[..., None], against)
    g = scaled_columns(u1, gs) + u1 @ inner
    if m > k:
        g = g + _over(_outside(u, gu, turn_u), s[..., None, :], out_u)
    g = g @ adjoint(v1)
    if n > k:
        g = g + u1 @ adjoint(_over(_outside(v, gv, turn_v), s[..., None, :], out_v))
    return (g,)


def _turn(u1: Any, gu: Any) -> Any:
    """The part of a cotangent that turns the first vectors among themselves."""
    return adjoint(u1) @ gu[..., : u1.shape[-1]]


def _against(turn_u: Any, turn_v: Any) -> Any:
    turn = turn_u - turn_v
    return 0.5 * (turn - adjoint(turn))


def _outside(u: Any, gu: Any, turn: Any) -> Any:
    """The part of a cotangent that moves the first vectors out of the space they span."""
    k = turn.shape[-1]
    if u.shape[-1] == k:
        return gu - u @ turn
    u1, u2, gu1, gu2 = u[..., :k], u[..., k:], gu[..., :k], gu[..., k:]
    return u2 @ (adjoint(u2) @ gu1 - adjoint(gu2) @ u1)


def _over(x: Any, s: Any, limit: Any) -> Any:
    """x / s, its limit where s vanishes."""
    return np.where(s > 0, x / np.where(s > 0, s, 1.0), limit)


def _spread_out(*shape: int, complex: bool = False, **params: Any) -> Any:
    """A matrix with singular values well apart."""

    def sample(rng: np.random.Generator) -> list[Case]:
        a = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if complex else 0.0)
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return [Case((u * (1.0 + np.arange(s.shape[-1])) @ vh,), params)]

    return sample


def _svd_source(args: tuple[str, ...], node: Any) -> str:
    return f"np.linalg.svd({args[0]}{'' if node.param('full_matrices') else ', full_matrices=False'})"


SVD = define(
    "svd",
    np.linalg.svd,
    _svd_rule,
    "linalg",
    multi=True,
    vjp=_svd_vjp,
    batch=lambda batched, a, full_matrices: tuple(np.linalg.svd(a, full_matrices)),
    source=_svd_source,
    facts={"spectrum": Spectrum(1, {0: -1, 2: -2})},
    sample=both(  # the phase of complex vectors is free, and so are the vectors beyond the rank
        _spread_out(3, 3, full_matrices=True),
        _spread_out(3, 2, full_matrices=False),
        _spread_out(2, 2, 4, full_matrices=False),
        _spread_out(3, 2, full_matrices=True),
    ),
    numpy=np.linalg.svd,
)


def svdvals_vjp(ct: Any, y: Any, a: Any) -> Any:
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return (scaled_columns(u, ct) @ vh,)


SVDVALS = define(
    "svdvals",
    lambda a: np.linalg.svd(a, compute_uv=False),
    lambda t: _svd_rule(t, False)[1],
    "linalg",
    vjp=svdvals_vjp,
    batch=lambda batched, a: np.linalg.svd(a, compute_uv=False),
    facts={"values_of": ("svd", (("full_matrices", False),))},
    source="np.linalg.svd({0}, compute_uv=False)",
    sample=both(_spread_out(3, 3), _spread_out(2, 2, 3), _spread_out(3, 2, complex=True)),
    numpy=np.linalg.svdvals,
)


@implements(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    a = as_array(a)
    if hermitian:
        return _hermitian_svd(a, compute_uv)
    if not compute_uv:
        return apply(SVDVALS, (a,))
    return result_class(np.linalg.svd)(*apply(SVD, (a,), (("full_matrices", bool(full_matrices)),)))


def _hermitian_svd(a: Any, compute_uv: bool) -> Any:
    """From the eigenvalues, the largest first."""
    if not compute_uv:
        return np.flip(np.sort(np.abs(np.linalg.eigvalsh(a)), axis=-1), -1)
    w, v = np.linalg.eigh(a)
    order = np.flip(np.argsort(np.abs(w), axis=-1), -1)
    sign = np.take_along_axis(np.sign(w), order, -1)
    u = np.take_along_axis(v, order[..., None, :], -1)
    s = np.take_along_axis(np.abs(w), order, -1)
    return result_class(np.linalg.svd)(u, s, adjoint(u * sign[..., None, :]))


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    return apply(SVDVALS, (as_array(x),))


# -- rank -------------------------------------------------------------------------------------------------------------
MATRIX_RANK = define(
    "matrix_rank",
    lambda a, tol, hermitian: np.linalg.matrix_rank(a, tol, hermitian),
    lambda t, tol, hermitian: Type(t.shape[:-2], np.int64),
    "linalg",
    batch=lambda batched, a, tol, hermitian: np.linalg.matrix_rank(a, tol, hermitian),
    source="np.linalg.matrix_rank({0}, {tol}, {hermitian})",
    sample=both(regular(3, 3, tol=None, hermitian=False), regular(2, 3, 2, tol=0.5, hermitian=False)),
    numpy=np.linalg.matrix_rank,
)


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    A = as_array(A)
    if tol is not None and rtol is not None:
        raise ValueError(at_user_line("`tol` and `rtol` can't be both set."))
    if ndim_of(A) < 2:
        return np.any(A != 0).astype(int)
    if rtol is not None:
        s = np.linalg.svd(A, compute_uv=False, hermitian=hermitian)
        return np.sum(s > np.max(s, axis=-1, keepdims=True) * rtol, axis=-1)
    return apply(MATRIX_RANK, (A,), (("tol", None if tol is None else float(tol)), ("hermitian", bool(hermitian))))
