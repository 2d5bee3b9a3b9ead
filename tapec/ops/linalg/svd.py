"""Define singular values and vectors, and the rank of a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir import Type
from tapec.ir.flops import cubic_flops
from tapec.ir.param_types import BOOL, NUMBER, optional
from tapec.ops.core.define import define, ndim_of
from tapec.ops.core.op_helpers import adjoint, as_array, both, lapack_dtype, real_dtype, regular, result_class, stacked
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import apply, implements
from tapec.ops.linalg.eigen import Spectrum, directions, quotient, scaled_columns, skew, turned

__all__ = ["MATRIX_RANK", "SVD", "SVDVALS", "svdvals_vjp"]


# -- decomposition ----------------------------------------------------------------------------------------------------
def _svd_rule(t: Type, full_matrices: bool) -> Any:
    *rest, m, n = stacked(t, square=False)
    k, dtype = min(m, n), lapack_dtype(t)
    rows, columns = (m, n) if full_matrices else (k, k)
    return Type((*rest, m, rows), dtype), Type((*rest, k), real_dtype(dtype)), Type((*rest, columns, n), dtype)


def _svd_vjp(ct: Any, y: Any, a: Any, full_matrices: bool, slopes: Sequence[Any] = ()) -> Any:
    """Return the cotangent of an SVD, in which skew matrices p and q turn u and v.

    Turning both in the same way is divided by gaps of the values, turning one against the other by sums:

        (p s_k + s_j q) / (s_k² - s_j²) = (p + q) / (s_k - s_j) / 2 + (p - q) / (s_k + s_j) / 2
    """
    (_, gs, _), (u, s, vh) = ct, y
    m, n = a.shape[-2:]
    k = s.shape[-1]
    v, u1, v1h = adjoint(vh), u[..., :k], vh[..., :k, :]
    speeds = directions(k).astype(s.dtype)
    moves = [_moves(u, v, gu, adjoint(gvh), k) for gu, _, gvh in (ct, *slopes)]
    alike, against, out_u, out_v = zip(*moves, strict=True)
    inner = turned(alike, s) + _over(against, s[..., None, :] + s[..., None], speeds + speeds[:, None], s)
    g = scaled_columns(u1, gs) + u1 @ inner
    if m > k:
        g = g + _over(out_u, s[..., None, :], speeds, s)
    g = g @ v1h
    if n > k:
        g = g + u1 @ adjoint(_over(out_v, s[..., None, :], speeds, s))
    return (g,)


def _moves(u: Any, v: Any, gu: Any, gv: Any, k: int) -> tuple[Any, Any, Any, Any]:
    """Return cotangents that turn the first vectors of both kinds alike, against each other, and out of their space."""
    turn_u, turn_v = [adjoint(x[..., :k]) @ g[..., :k] for x, g in ((u, gu), (v, gv))]
    return skew(turn_u + turn_v), skew(turn_u - turn_v), _outside(u, gu, turn_u), _outside(v, gv, turn_v)


def _outside(u: Any, gu: Any, turn: Any) -> Any:
    """The part of a cotangent that moves the first vectors out of the space they span."""
    k = turn.shape[-1]
    if u.shape[-1] == k:
        return gu - u @ turn
    u1, u2, gu1, gu2 = u[..., :k], u[..., k:], gu[..., :k], gu[..., k:]
    return u2 @ (adjoint(u2) @ gu1 - adjoint(gu2) @ u1)


def _over(xs: Sequence[Any], sums: Any, speeds: Any, s: Any) -> Any:
    """Return x divided by sums of values s; where the sums vanish, up to rounding, the limit from the slopes, or
    zero.
    """
    if len(xs) == 1:
        return np.where(sums > 0, xs[0] / np.where(sums > 0, sums, 1.0), 0.0)
    # LAPACK sorts the values, so the first is the largest
    rounded = 8 * s.shape[-1] * float(np.finfo(s.dtype).eps) * s[..., None, :1]
    return quotient(xs, sums, speeds, sums <= rounded)


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
    params={"full_matrices": BOOL},
    multi=True,
    vjp=_svd_vjp,
    batch=lambda batched, a, full_matrices: tuple(np.linalg.svd(a, full_matrices)),
    source=_svd_source,
    facts={"spectrum": Spectrum(1, {0: -1, 2: -2})},
    sample=both(  # real only: the phase of complex vectors is free, and so are the vectors beyond the rank
        _spread_out(3, 3, full_matrices=True),
        _spread_out(3, 2, full_matrices=False),
        _spread_out(2, 2, 4, full_matrices=False),
        _spread_out(3, 2, full_matrices=True),
    ),
    numpy=np.linalg.svd,
    flops=cubic_flops(14),
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
    facts={"values_of": (0, "svd", (("full_matrices", False),))},
    source="np.linalg.svd({0}, compute_uv=False)",
    sample=both(_spread_out(3, 3), _spread_out(2, 2, 3), _spread_out(3, 2, complex=True)),
    numpy=np.linalg.svdvals,
    flops=cubic_flops(14),
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
    """Return the SVD of a Hermitian matrix from its eigenvalues, the largest first."""
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
    params={"tol": optional(NUMBER), "hermitian": BOOL},
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
