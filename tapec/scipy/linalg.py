"""Give scipy.linalg on tensors: what NumPy has is NumPy's, the rest are ops of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg as _linalg

from tapec.errors import UnsupportedError, at_user_line
from tapec.ops.core.define import conj
from tapec.ops.core.op_helpers import adjoint, as_array, inexact, plain_number, real_dtype
from tapec.ops.scipy.lu import factors, swapped
from tapec.ops.scipy.lu import lu_factor as _lu_factor
from tapec.ops.scipy.matrix_functions import (
    expm,
    logm,
    solve_banded,
    solve_sylvester,
    solve_triangular,
    solveh_banded,
    sqrtm,
)

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "circulant",
    "det",
    "eigh",
    "eigvalsh",
    "expm",
    "hankel",
    "inv",
    "logm",
    "lu",
    "lu_factor",
    "lu_solve",
    "norm",
    "pinv",
    "qr",
    "solve",
    "solve_banded",
    "solve_sylvester",
    "solve_triangular",
    "solveh_banded",
    "sqrtm",
    "svd",
    "svdvals",
    "toeplitz",
]


def __getattr__(name: str) -> Any:
    return getattr(_linalg, name)


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return np.linalg.inv(a)


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return np.linalg.det(a)


def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    return np.linalg.norm(a, ord, axis, keepdims)


def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return np.linalg.svdvals(a)


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Any:
    """Solve a x = b, as np.linalg.solve; a matrix said to be symmetric or Hermitian is taken from one of its
    triangles."""
    a = as_array(a)
    if assume_a in ("sym", "symmetric"):
        half = _beside_diagonal(a, lower)
        a = half + np.transpose(half) + np.diag(np.diagonal(a))
    elif assume_a in ("her", "pos", "hermitian", "positive definite"):
        a = _hermitian(a, lower)
    return np.linalg.solve(np.transpose(a) if transposed else a, as_array(b))


def _beside_diagonal(a: Any, lower: bool) -> Any:
    return np.tril(a, -1) if lower else np.triu(a, 1)


def _hermitian(a: Any, lower: bool) -> Any:
    """The Hermitian matrix of which one triangle is given."""
    half = _beside_diagonal(a, lower)
    return half + adjoint(half) + np.diag(np.real(np.diagonal(a)))


def pinv(a: Any, *, rtol: Any = None, check_finite: bool = True) -> Any:
    """Return the pseudo-inverse, as np.linalg.pinv, with SciPy's bound for what counts as zero."""
    return np.linalg.pinv(inexact(a), rtol=rtol)


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return np.linalg.cholesky(a, upper=not lower)


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, bool]:
    """The factor and which triangle it is; the other triangle holds zeros."""
    return cholesky(a, lower), lower


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Solve two triangular systems, one with the factor and one with its adjoint."""
    c, lower = c_and_lower
    first, second = (0, 2) if lower else (2, 0)
    return solve_triangular(c, solve_triangular(c, b, first, lower), second, lower)


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """Return both factors in one matrix, and the row that each row changes places with."""
    return _lu_factor(a)


def lu_solve(
    lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve two triangular systems; rows change places before them, or after those of the transpose."""
    factor, piv = map(as_array, lu_and_piv)
    b, trans = as_array(b), plain_number(trans)
    if trans not in (0, 1, 2):
        raise ValueError(at_user_line(f"trans is 0, 1 or 2, got {trans!r}"))
    if b.ndim not in (1, 2) or factor.shape[0] != b.shape[0]:
        raise ValueError(at_user_line(f"factors of shape {factor.shape} meet b of shape {b.shape}"))
    x = b[:, None] if b.ndim == 1 else b
    if not trans:
        x = solve_triangular(factor, swapped(x, piv), lower=True, unit_diagonal=True)
        x = solve_triangular(factor, x)
    else:
        x = solve_triangular(factor, x, trans)
        x = swapped(solve_triangular(factor, x, trans, True, True), piv, back=True)
    return x[:, 0] if b.ndim == 1 else x


def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> tuple[Any, ...]:
    """Factor a = p l u; return p, l, u; or p l and u; or, for `p_indices`, a = l[p] u."""
    both, piv = _lu_factor(a)
    l, u = factors(both)
    if permute_l:
        return swapped(l, piv, back=True), u
    m, dtype = both.shape[0], real_dtype(both.dtype)
    if p_indices:
        rows = swapped(np.arange(m, dtype=dtype)[:, None], piv, back=True)
        return rows[:, 0].astype(np.int32), l, u
    return swapped(np.eye(m, dtype=dtype), piv, back=True), l, u


_MODES: dict[str, Any] = {"full": "complete", "qr": "complete", "economic": "reduced", "r": "r"}


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]:
    """Factor a matrix, as np.linalg.qr, with SciPy's names for the results: for "r" that one factor, with rows of
    zeros."""
    if pivoting or mode == "raw":
        what = "pivoting" if pivoting else 'mode="raw"'
        raise UnsupportedError(at_user_line(f"qr of tensors takes no {what}. Fix: leave that out."))
    if mode not in _MODES:
        raise ValueError(at_user_line(f"mode is one of {', '.join(map(repr, _MODES))}, got {mode!r}"))
    found: Any = np.linalg.qr(a, _MODES[mode])
    if mode != "r":
        return tuple(found)
    missing = np.shape(a)[0] - found.shape[0]
    return (np.pad(found, ((0, missing), (0, 0))) if missing else found,)


def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    driver: str | None = None,
) -> Any:
    """Return eigenvalues and vectors, as np.linalg.eigh; with a positive definite b of a v = w b v, or as `type` has
    it."""
    a = as_array(a)
    uplo: Any = "L" if lower else "U"
    factor = None
    if b is not None:
        a, factor, uplo = *_reduced(a, as_array(b), lower, type), "L"
    chosen = _chosen(subset_by_index, a.shape[-1])
    if eigvals_only:
        return np.linalg.eigvalsh(a, uplo)[chosen]
    w, v = np.linalg.eigh(a, uplo)
    w, v = w[chosen], v[:, chosen]
    if factor is not None:
        v = factor @ v if type == 3 else solve_triangular(factor, v, 2, lower=True)
    return w, v


def _reduced(a: Any, b: Any, lower: bool, type: int) -> tuple[Any, Any]:
    """The Hermitian matrix with the eigenvalues of the pair, and the factor of b that leads back to its vectors."""
    if b.shape != a.shape:
        raise ValueError(at_user_line(f"b has the shape {b.shape}, but a has {a.shape}"))
    if type not in (1, 2, 3):
        raise ValueError(at_user_line(f"type is 1, 2 or 3, got {type!r}"))
    factor = np.linalg.cholesky(b) if lower else adjoint(np.linalg.cholesky(b, upper=True))
    a = _hermitian(a, lower)
    if type > 1:
        return adjoint(factor) @ a @ factor, factor
    half = solve_triangular(factor, a, lower=True)
    return adjoint(solve_triangular(factor, adjoint(half), lower=True)), factor


def _chosen(subset: Any, n: int) -> slice:
    """The eigenvalues from one index to another."""
    if subset is None:
        return slice(None)
    low, high = map(int, subset)
    if not 0 <= low <= high < n:
        what = f"the first and the last of {n} eigenvalues, counted from 0"
        raise ValueError(at_user_line(f"subset_by_index is {what}, got ({low}, {high})"))
    return slice(low, high + 1)


def eigvalsh(a: Any, b: Any = None, **more: Any) -> Any:
    """The values that `eigh` gives; it takes the same."""
    return eigh(a, b, **more, eigvals_only=True)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    found: Any = np.linalg.svd(a, full_matrices, compute_uv)  # type: ignore[call-overload]
    return tuple(found) if compute_uv else found


def block_diag(*arrs: Any) -> Any:
    """The matrices along the diagonal, zeros elsewhere."""
    blocks = [np.atleast_2d(as_array(a)) for a in arrs]
    columns = [b.shape[1] for b in blocks]
    around = [(sum(columns[:k]), sum(columns[k + 1 :])) for k in range(len(columns))]
    return np.concatenate([np.pad(b, ((0, 0), beside)) for b, beside in zip(blocks, around)])


def toeplitz(c: Any, r: Any = None) -> Any:
    """Return the matrix of constant diagonals: c is the first column, r the first row."""
    c = np.ravel(as_array(c))
    r = conj(c) if r is None else np.ravel(as_array(r))
    line = np.concatenate([c[::-1], r[1:]])
    n, m = c.shape[0], r.shape[0]
    return line[n - 1 - np.arange(n)[:, None] + np.arange(m)]


def circulant(c: Any) -> Any:
    """Return the matrix with c as first column; each column is the one before it, turned by one place."""
    c = np.atleast_1d(as_array(c))
    k = np.arange(c.shape[-1])
    return c[..., (k[:, None] - k) % len(k)]


def hankel(c: Any, r: Any = None) -> Any:
    """Return the matrix of constant rising diagonals: c is the first column, r the last row; zeros where there is no
    r."""
    c = np.ravel(as_array(c))
    r = np.zeros_like(c) if r is None else np.ravel(as_array(r))
    line = np.concatenate([c, r[1:]])
    return line[np.arange(c.shape[0])[:, None] + np.arange(r.shape[0])]
