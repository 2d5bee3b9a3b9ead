"""Singular values and vectors, and the rank they tell."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir import Type
from tapec.ops.array import apply, implements
from tapec.ops.define import define, ndim_of, shape_of
from tapec.ops.diagonals import eye
from tapec.ops.eigen import scaled_columns
from tapec.ops.kit import adjoint, as_array, both, lapack_dtype, real_dtype, regular, result_class, stacked
from tapec.ops.samples import Case

__all__ = ["MATRIX_RANK", "SVD", "SVDVALS", "svdvals_vjp"]


# -- decomposition ----------------------------------------------------------------------------------------------------
def _svd_rule(t: Type, full_matrices: bool) -> Any:
    *rest, m, n = stacked(t, square=False)
    k, dtype = min(m, n), lapack_dtype(t)
    rows, columns = (m, n) if full_matrices else (k, k)
    return Type((*rest, m, rows), dtype), Type((*rest, k), real_dtype(dtype)), Type((*rest, columns, n), dtype)


def _svd_vjp(ct: Any, y: Any, a: Any, full_matrices: bool) -> Any:
    """With u, v moved by skew matrices; what turns equal singular vectors among themselves is left out."""
    (gu, gs, gvh), (u, s, vh) = ct, y
    k = s.shape[-1]
    u1, v1h, gu1, gv1h = u, vh, gu, gvh
    if full_matrices:
        u1, v1h, gu1, gv1h = u[..., :k], vh[..., :k, :], gu[..., :k], gvh[..., :k, :]
    turn_u, turn_v = adjoint(u1) @ gu1, v1h @ adjoint(gv1h)
    gap = _reciprocal_differences(s)
    inner = gap * (turn_u - adjoint(turn_u)) * s[..., None, :] + s[..., None] * gap * (turn_v - adjoint(turn_v))
    one = eye(s, k)
    inner = inner + one * gs[..., None, :]
    over = _reciprocal(s)
    if a.dtype.kind == "c":  # the common phase of a pair of vectors is free, its difference is not
        inner = inner + 1j * (one * np.imag(turn_u) * over[..., None, :])
    g = u1 @ inner @ v1h
    m, n = a.shape[-2:]
    if m > k:
        out_u = _outside(u, gu, u1, gu1, turn_u, k, full_matrices)
        g = g + scaled_columns(out_u, over) @ v1h
    if n > k:
        v, gv = adjoint(vh), adjoint(gvh)
        out_v = _outside(v, gv, adjoint(v1h), adjoint(gv1h), turn_v, k, full_matrices)
        g = g + scaled_columns(u1, over) @ adjoint(out_v)
    return (g,)


def _outside(u: Any, gu: Any, u1: Any, gu1: Any, turn: Any, k: int, full: bool) -> Any:
    """The part of a cotangent that moves the first k vectors out of the space they span."""
    if not full:
        return gu1 - u1 @ turn
    u2, gu2 = u[..., k:], gu[..., k:]
    return u2 @ (adjoint(u2) @ gu1 - adjoint(gu2) @ u1)


def _reciprocal_differences(s: Any) -> Any:
    """1 / (s_k² - s_j²) at (j, k); zero where the two are equal, up to rounding."""
    if not s.shape[-1]:
        return s[..., None, :] - s[..., None]
    row, column = s[..., None, :], s[..., None]
    differences = (row - column) * (row + column)
    tiny = 8 * s.shape[-1] * float(np.finfo(s.dtype).eps)
    apart = np.abs(differences) > tiny * np.max(s, axis=-1)[..., None, None] ** 2
    return np.where(apart, 1.0 / np.where(apart, differences, 1.0), 0.0)


def _reciprocal(s: Any) -> Any:
    """1 / s, zero where s vanishes."""
    return np.where(s > 0, 1.0 / np.where(s > 0, s, 1.0), 0.0)


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
    m, n = stacked(Type(shape_of(a), a.dtype), square=False)[-2:]
    full = bool(full_matrices) and m != n
    return result_class(np.linalg.svd)(*apply(SVD, (a,), (("full_matrices", full or bool(full_matrices)),)))


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
