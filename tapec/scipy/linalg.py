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
    """Return the inverse of a matrix, or of each of a stack of matrices.

    Parameters
    ----------
    a : array
        Square matrices, in the last two axes.
    overwrite_a : bool, default False
        Has no effect; it is here since SciPy has it.
    check_finite : bool, default True
        Has no effect; it is here since SciPy has it.

    Returns
    -------
    array
        The inverses.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> linalg.inv(np.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])

    See Also
    --------
    tapec.scipy.linalg.solve : solves a system without the inverse
    """
    return np.linalg.inv(a)


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the determinant of a matrix, or of each of a stack of matrices.

    Parameters
    ----------
    a : array
        Square matrices, in the last two axes.
    overwrite_a : bool, default False
        Has no effect; it is here since SciPy has it.
    check_finite : bool, default True
        Has no effect; it is here since SciPy has it.

    Returns
    -------
    array
        The determinants.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> tapec.grad(linalg.det)(np.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[4., 0.],
           [0., 2.]])

    See Also
    --------
    tapec.scipy.linalg.inv : what its derivative is made of
    """
    return np.linalg.det(a)


def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    """Return a norm of a matrix or a vector.

    Parameters
    ----------
    a : array
        The matrix or vector.
    ord : None, int, float or str, default None
        Which norm, as in `numpy.linalg.norm`. None is the root of the sum of squares.
    axis : None, int or pair of int, default None
        The axis of vectors, or the two of matrices. None is all.
    keepdims : bool, default False
        Whether these axes stay, with length one.
    check_finite : bool, default True
        Has no effect; it is here since SciPy has it.

    Returns
    -------
    array
        The norms.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> tapec.value_and_grad(linalg.norm)(np.array([3.0, 4.0]))
    (np.float64(5.0), array([0.6, 0.8]))

    See Also
    --------
    tapec.scipy.linalg.svdvals : singular values
    """
    return np.linalg.norm(a, ord, axis, keepdims)


def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the singular values of a matrix, or of each of a stack of matrices.

    Parameters
    ----------
    a : array
        The matrices, in the last two axes.
    overwrite_a : bool, default False
        Has no effect; it is here since SciPy has it.
    check_finite : bool, default True
        Has no effect; it is here since SciPy has it.

    Returns
    -------
    array
        The values, the largest first.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> linalg.svdvals(np.array([[3.0, 0.0], [0.0, 4.0]]))
    array([4., 3.])

    See Also
    --------
    tapec.scipy.linalg.svd : with the vectors
    """
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
    """Solve the linear system a x = b.

    Parameters
    ----------
    a : array
        A square matrix.
    b : array
        The right-hand side, or several as columns.
    lower : bool, default False
        Which triangle of a symmetric or Hermitian matrix is read: the lower one, or the upper.
    overwrite_a : bool, default False
        Has no effect; it is here since SciPy has it.
    overwrite_b : bool, default False
        Has no effect; it is here since SciPy has it.
    check_finite : bool, default True
        Has no effect; it is here since SciPy has it.
    assume_a : str or None, default None
        "sym", "her" or "pos" (or "symmetric", "hermitian", "positive definite") takes the matrix from one of its
        triangles; others, and None, have no effect.
    transposed : bool, default False
        Whether to solve with the transpose of the matrix.

    Returns
    -------
    array
        The solution, of the shape of b.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> linalg.solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0]))
    array([1. , 0.5])

    See Also
    --------
    tapec.scipy.linalg.solve_triangular : of triangular matrices
    tapec.scipy.linalg.cho_solve : of factored ones
    tapec.custom_linear_solve : without a matrix
    """
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
    """Return the pseudo-inverse of a matrix.

    Parameters
    ----------
    a : array
        The matrix.
    rtol : float or None, default None
        Below which part of the largest singular value others count as zero. None follows size and precision.
    check_finite : bool, default True
        Has no effect; it is here since SciPy has it.

    Returns
    -------
    array
        The pseudo-inverse.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> linalg.pinv(np.array([[2.0], [0.0]]))
    array([[0.5, 0. ]])

    See Also
    --------
    tapec.scipy.linalg.inv : of square matrices
    """
    return np.linalg.pinv(inexact(a), rtol=rtol)


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the Cholesky factor of a positive definite matrix.

    Parameters
    ----------
    a : array
        The matrix.
    lower : bool, default False
        Whether to return the lower factor l with l lᴴ = a, or the upper one u with uᴴ u = a.
    overwrite_a : bool, default False
        Has no effect; it is here since SciPy has it.
    check_finite : bool, default True
        Has no effect; it is here since SciPy has it.

    Returns
    -------
    array
        The factor, with zeros in the other triangle.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> linalg.cholesky(np.array([[4.0, 0.0], [0.0, 9.0]]))
    array([[2., 0.],
           [0., 3.]])

    See Also
    --------
    tapec.scipy.linalg.cho_factor : for `cho_solve`
    """
    return np.linalg.cholesky(a, upper=not lower)


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, bool]:
    """Return the Cholesky factor of a positive definite matrix, for `cho_solve`.

    Parameters
    ----------
    a : array
        The matrix.
    lower : bool, default False
        Whether to return the lower factor or the upper one.
    overwrite_a : bool, default False
        Has no effect; it is here since SciPy has it.
    check_finite : bool, default True
        Has no effect; it is here since SciPy has it.

    Returns
    -------
    c : array
        The factor. The other triangle holds zeros, where that of SciPy holds anything.
    lower : bool
        Which one it is.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> factor = linalg.cho_factor(np.array([[4.0, 0.0], [0.0, 9.0]]))
    >>> linalg.cho_solve(factor, np.array([4.0, 9.0]))
    array([1., 1.])

    See Also
    --------
    tapec.scipy.linalg.cho_solve : takes it
    """
    return cholesky(a, lower), lower


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Solve a x = b, with the Cholesky factor of a.

    Parameters
    ----------
    c_and_lower : tuple
        The factor, and which one it is, from `cho_factor`.
    b : array
        The right-hand side, or several as columns.
    overwrite_b : bool, default False
        Has no effect; it is here since SciPy has it.
    check_finite : bool, default True
        Has no effect; it is here since SciPy has it.

    Returns
    -------
    array
        The solution, of the shape of b.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> linalg.cho_solve((np.array([[2.0, 0.0], [0.0, 3.0]]), True), np.array([4.0, 9.0]))
    array([1., 1.])

    See Also
    --------
    tapec.scipy.linalg.cho_factor : makes the factor
    """
    c, lower = c_and_lower
    first, second = (0, 2) if lower else (2, 0)
    return solve_triangular(c, solve_triangular(c, b, first, lower), second, lower)


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """Factor a matrix into triangular ones, with pivoting, for `lu_solve`.

    Parameters
    ----------
    a : array
        The matrix.
    overwrite_a : bool, default False
        Has no effect; it is here since SciPy has it.
    check_finite : bool, default True
        Has no effect; it is here since SciPy has it.

    Returns
    -------
    lu : array
        Both factors in one matrix.
    piv : array of int
        The row that each row changes places with.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> linalg.lu_factor(np.array([[2.0, 1.0], [1.0, 2.0]]))[0]
    array([[2. , 1. ],
           [0.5, 1.5]])

    See Also
    --------
    tapec.scipy.linalg.lu_solve : takes it
    tapec.scipy.linalg.lu : the factors apart
    """
    return _lu_factor(a)


def lu_solve(
    lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve a x = b, or with the transpose of a, with the triangular factors of a.

    Parameters
    ----------
    lu_and_piv : tuple
        The factors and pivots, from `lu_factor`.
    b : array
        The right-hand side, or several as columns.
    trans : int, default 0
        0 for a x = b, 1 for aᵀ x = b, 2 for aᴴ x = b.
    overwrite_b : bool, default False
        Has no effect; it is here since SciPy has it.
    check_finite : bool, default True
        Has no effect; it is here since SciPy has it.

    Returns
    -------
    array
        The solution, of the shape of b.

    Raises
    ------
    ValueError
        If `trans` is another number, or the shapes do not fit.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> linalg.lu_solve(linalg.lu_factor(np.array([[2.0, 0.0], [0.0, 4.0]])), np.array([2.0, 2.0]))
    array([1. , 0.5])

    See Also
    --------
    tapec.scipy.linalg.lu_factor : makes the factors
    """
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
    """Factor a matrix into a permutation, a lower and an upper triangular matrix: a = p l u.

    Parameters
    ----------
    a : array
        The matrix.
    permute_l : bool, default False
        Whether to return p l in one, and u.
    overwrite_a : bool, default False
        Has no effect; it is here since SciPy has it.
    check_finite : bool, default True
        Has no effect; it is here since SciPy has it.
    p_indices : bool, default False
        Whether to return indices for p, with a = l[p] u.

    Returns
    -------
    tuple of arrays
        p, l and u; with `permute_l` p l and u.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> p, l, u = linalg.lu(np.array([[1.0, 2.0], [2.0, 1.0]]))
    >>> p @ l @ u
    array([[1., 2.],
           [2., 1.]])

    See Also
    --------
    tapec.scipy.linalg.lu_factor : both factors in one matrix
    """
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
    """Factor a matrix into a unitary and an upper triangular one: a = q r.

    Parameters
    ----------
    a : array
        The matrix.
    overwrite_a : bool, default False
        Has no effect; it is here since SciPy has it.
    lwork : object, default None
        Has no effect; it is here since SciPy has it.
    mode : str, default 'full'
        "full" gives a square q, "economic" one with as many columns as needed, "r" gives r alone, in a tuple.
    pivoting : bool, default False
        Must be False: columns do not change places.
    check_finite : bool, default True
        Has no effect; it is here since SciPy has it.

    Returns
    -------
    tuple of arrays
        q and r, or r alone.

    Raises
    ------
    UnsupportedError
        If `pivoting` or the mode "raw" is asked for.
    ValueError
        If the mode is another word.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> q, r = linalg.qr(np.array([[3.0], [4.0]]), mode="economic")
    >>> np.abs(r)
    array([[5.]])

    See Also
    --------
    tapec.scipy.linalg.svd : singular values
    """
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
    """Return eigenvalues and eigenvectors of a Hermitian matrix, or of a pair of them.

    Parameters
    ----------
    a : array
        The matrix, of which one triangle is read.
    b : array, default None
        A positive definite matrix, for the equation a v = w b v.
    lower : bool, default True
        Whether the lower triangle is read.
    eigvals_only : bool, default False
        Whether to return the eigenvalues alone.
    overwrite_a : bool, default False
        Has no effect; it is here since SciPy has it.
    overwrite_b : bool, default False
        Has no effect; it is here since SciPy has it.
    type : int, default 1
        The equation: 1 for a v = w b v, 2 for a b v = w v, 3 for b a v = w v.
    check_finite : bool, default True
        Has no effect; it is here since SciPy has it.
    subset_by_index : pair of int, default None
        The first and the last of the eigenvalues to return, counted from 0. None is all.
    driver : str or None, default None
        Has no effect; it is here since SciPy has it.

    Returns
    -------
    w : array
        The eigenvalues, the smallest first.
    v : array
        The eigenvectors as columns, unless `eigvals_only`.

    Raises
    ------
    ValueError
        If shapes, `type` or `subset_by_index` do not fit.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> linalg.eigh(np.array([[2.0, 0.0], [0.0, 1.0]]), eigvals_only=True)
    array([1., 2.])

    See Also
    --------
    tapec.scipy.linalg.eigvalsh : the eigenvalues alone
    """
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
    """Return the eigenvalues of a Hermitian matrix, or of a pair of them.

    Parameters
    ----------
    a : array
        The matrix, of which one triangle is read.
    b : array, default None
        A positive definite matrix, for the equation a v = w b v.
    **more : object
        What else `eigh` takes.

    Returns
    -------
    array
        The eigenvalues, the smallest first.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> tapec.jacobian(linalg.eigvalsh)(np.array([[2.0, 0.0], [0.0, 1.0]]))[0]
    array([[0., 0.],
           [0., 1.]])

    See Also
    --------
    tapec.scipy.linalg.eigh : with eigenvectors
    """
    return eigh(a, b, **more, eigvals_only=True)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Return the singular value decomposition of a matrix.

    Parameters
    ----------
    a : array
        The matrix, or a stack of them.
    full_matrices : bool, default True
        Whether the matrices of vectors are square.
    compute_uv : bool, default True
        Whether to return the vectors, too.
    overwrite_a : bool, default False
        Has no effect; it is here since SciPy has it.
    check_finite : bool, default True
        Has no effect; it is here since SciPy has it.
    lapack_driver : str, default 'gesdd'
        Has no effect; it is here since SciPy has it.

    Returns
    -------
    tuple of arrays, or array
        u, s and vᴴ; s alone where the vectors are not asked for.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> linalg.svd(np.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
    array([4., 3.])

    See Also
    --------
    tapec.scipy.linalg.svdvals : the singular values alone
    """
    found: Any = np.linalg.svd(a, full_matrices, compute_uv)  # type: ignore[call-overload]
    return tuple(found) if compute_uv else found


def block_diag(*arrs: Any) -> Any:
    """Return a matrix with these along its diagonal, and zeros elsewhere.

    Parameters
    ----------
    *arrs : array
        The matrices; vectors are rows.

    Returns
    -------
    array
        The matrix.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> linalg.block_diag(np.ones((1, 2)), 3.0)
    array([[1., 1., 0.],
           [0., 0., 3.]])

    See Also
    --------
    tapec.scipy.linalg.toeplitz : constant along diagonals
    """
    blocks = [np.atleast_2d(as_array(a)) for a in arrs]
    columns = [b.shape[1] for b in blocks]
    around = [(sum(columns[:k]), sum(columns[k + 1 :])) for k in range(len(columns))]
    return np.concatenate([np.pad(b, ((0, 0), beside)) for b, beside in zip(blocks, around)])


def toeplitz(c: Any, r: Any = None) -> Any:
    """Return a matrix that is constant along its diagonals.

    Parameters
    ----------
    c : array
        The first column.
    r : array, default None
        The first row, of which the first number is not read. None is the conjugate of c.

    Returns
    -------
    array
        The matrix.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> linalg.toeplitz([1.0, 2.0], [1.0, 3.0])
    array([[1., 3.],
           [2., 1.]])

    See Also
    --------
    tapec.scipy.linalg.hankel : constant along rising diagonals
    tapec.scipy.linalg.circulant : whose columns go round
    """
    c = np.ravel(as_array(c))
    r = conj(c) if r is None else np.ravel(as_array(r))
    line = np.concatenate([c[::-1], r[1:]])
    n, m = c.shape[0], r.shape[0]
    return line[n - 1 - np.arange(n)[:, None] + np.arange(m)]


def circulant(c: Any) -> Any:
    """Return a matrix whose columns are the first one, turned by one place more each.

    Parameters
    ----------
    c : array
        The first column, along the last axis.

    Returns
    -------
    array
        The matrix, or a stack of them.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> linalg.circulant([1.0, 2.0])
    array([[1., 2.],
           [2., 1.]])

    See Also
    --------
    tapec.scipy.linalg.toeplitz : constant along diagonals
    """
    c = np.atleast_1d(as_array(c))
    k = np.arange(c.shape[-1])
    return c[..., (k[:, None] - k) % len(k)]


def hankel(c: Any, r: Any = None) -> Any:
    """Return a matrix that is constant along its rising diagonals.

    Parameters
    ----------
    c : array
        The first column.
    r : array, default None
        The last row, of which the first number is not read. None is zeros.

    Returns
    -------
    array
        The matrix.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> linalg.hankel([1.0, 2.0])
    array([[1., 2.],
           [2., 0.]])

    See Also
    --------
    tapec.scipy.linalg.toeplitz : constant along falling diagonals
    """
    c = np.ravel(as_array(c))
    r = np.zeros_like(c) if r is None else np.ravel(as_array(r))
    line = np.concatenate([c, r[1:]])
    return line[np.arange(c.shape[0])[:, None] + np.arange(r.shape[0])]
