"""scipy.linalg on tensors: what NumPy has is NumPy's, the rest are ops of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg as _linalg

from tapec.ops.define import conj
from tapec.ops.kit import adjoint, as_array, inexact
from tapec.ops.scipy_linalg import expm, logm, solve_banded, solve_sylvester, solve_triangular, sqrtm

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "det",
    "eigh",
    "expm",
    "inv",
    "logm",
    "norm",
    "pinv",
    "solve",
    "solve_banded",
    "solve_sylvester",
    "solve_triangular",
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
    """As np.linalg.solve; a matrix said to be symmetric or Hermitian is taken from one of its triangles."""
    a = as_array(a)
    if assume_a in ("sym", "her", "pos", "symmetric", "hermitian", "positive definite"):
        half, diagonal = np.tril(a, -1) if lower else np.triu(a, 1), np.diagonal(a)
        if assume_a in ("sym", "symmetric"):
            a = half + np.transpose(half) + np.diag(diagonal)
        else:
            a = half + adjoint(half) + np.diag(np.real(diagonal))
    return np.linalg.solve(np.transpose(a) if transposed else a, as_array(b))


def pinv(a: Any, *, rtol: Any = None, check_finite: bool = True) -> Any:
    """As np.linalg.pinv, with SciPy's bound for what counts as zero."""
    return np.linalg.pinv(inexact(a), rtol=rtol)


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return np.linalg.cholesky(a, upper=not lower)


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, bool]:
    """The factor and which triangle it is; the other triangle holds zeros."""
    return cholesky(a, lower), lower


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Two triangular systems, one with the factor and one with its adjoint."""
    c, lower = c_and_lower
    first, second = (0, 2) if lower else (2, 0)
    return solve_triangular(c, solve_triangular(c, b, first, lower), second, lower)


def eigh(
    a: Any, *, lower: bool = True, eigvals_only: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    uplo: Any = "L" if lower else "U"
    return np.linalg.eigvalsh(a, uplo) if eigvals_only else tuple(np.linalg.eigh(a, uplo))


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
    rows = []
    for k, block in enumerate(blocks):
        before = np.zeros((block.shape[0], sum(columns[:k])), block.dtype)
        after = np.zeros((block.shape[0], sum(columns[k + 1 :])), block.dtype)
        rows.append(np.concatenate([before, block, after], axis=1))
    return np.concatenate(rows, axis=0)


def toeplitz(c: Any, r: Any = None) -> Any:
    """Constant diagonals: c is the first column, r the first row."""
    c = np.ravel(as_array(c))
    r = conj(c) if r is None else np.ravel(as_array(r))
    line = np.concatenate([c[::-1], r[1:]])
    n, m = c.shape[0], r.shape[0]
    return line[n - 1 - np.arange(n)[:, None] + np.arange(m)]
