"""`tf.linalg`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.compat.tensorflow.arrays import eye
from tapec.compat.tensorflow.elementwise import pair
from tapec.compat.tensorflow.nn import l2_normalize
from tapec.compat.tensorflow.plain_values import axes as axes_of
from tapec.compat.tensorflow.plain_values import invalid, sizes
from tapec.compat.tensorflow.tf_tensor import constant

__all__ = [
    "adjoint",
    "band_part",
    "cholesky",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eigh",
    "eigvalsh",
    "einsum",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "logdet",
    "matmul",
    "matrix_transpose",
    "matvec",
    "norm",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "tensordot",
    "trace",
]


def matrix_transpose(a: Any, name: Any = None, conjugate: bool = False) -> Any:
    x = np.swapaxes(constant(a), -1, -2)
    return np.conj(x) if conjugate else x


def adjoint(matrix: Any, name: Any = None) -> Any:
    return matrix_transpose(matrix, conjugate=True)


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: Any = None,
) -> Any:
    """Multiply matrices. Whether they have many zeros is no matter here."""
    a, b = pair(a, b)
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b):
        raise invalid("only one of transpose and adjoint can be true of a matrix")
    a = matrix_transpose(a, conjugate=adjoint_a) if transpose_a or adjoint_a else a
    b = matrix_transpose(b, conjugate=adjoint_b) if transpose_b or adjoint_b else b
    if min(len(a.shape), len(b.shape)) < 2:
        text = f"matmul takes matrices, not shapes {a.shape} and {b.shape}. Fix: tf.linalg.matvec or tf.tensordot"
        raise invalid(text)
    return np.matmul(a, b)


def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: Any = None,
) -> Any:
    """Multiply matrices by vectors. Whether they have many zeros is no matter here."""
    a, b = pair(a, b)
    return matmul(a, b[..., None], transpose_a=transpose_a, adjoint_a=adjoint_a)[..., 0]


def tensordot(a: Any, b: Any, axes: Any, name: Any = None) -> Any:
    if isinstance(axes, (list, tuple)):
        return np.tensordot(*pair(a, b), axes=tuple(map(axes_of, axes)))
    found = np.asarray(axes)
    return np.tensordot(*pair(a, b), axes=tuple(map(axes_of, found)) if found.ndim else axes_of(found))


def einsum(equation: str, *inputs: Any, name: Any = None) -> Any:
    return np.einsum(equation, *[constant(x) for x in inputs])


def cross(a: Any, b: Any, name: Any = None) -> Any:
    return np.cross(*pair(a, b))


# -- one matrix ------------------------------------------------------------------------------------------------------
def inv(input: Any, adjoint: bool = False, name: Any = None) -> Any:
    y = np.linalg.inv(constant(input))
    return matrix_transpose(y, conjugate=True) if adjoint else y


def det(input: Any, name: Any = None) -> Any:
    return np.linalg.det(constant(input))


def slogdet(input: Any, name: Any = None) -> Any:
    sign, log = np.linalg.slogdet(constant(input))
    return sign, log


def logdet(matrix: Any, name: Any = None) -> Any:
    """Return the logarithm of the determinant of a positive definite matrix."""
    return 2.0 * np.sum(np.log(np.real(diag_part(cholesky(matrix)))), axis=-1)


def solve(matrix: Any, rhs: Any, adjoint: bool = False, name: Any = None) -> Any:
    a, b = pair(matrix, rhs)
    return np.linalg.solve(matrix_transpose(a, conjugate=True) if adjoint else a, b)


def cholesky(input: Any, name: Any = None) -> Any:
    return np.linalg.cholesky(constant(input))


def eigh(tensor: Any, name: Any = None) -> Any:
    values, vectors = np.linalg.eigh(constant(tensor))
    return values, vectors


def eigvalsh(tensor: Any, name: Any = None) -> Any:
    return np.linalg.eigvalsh(constant(tensor))


def qr(input: Any, full_matrices: bool = False, name: Any = None) -> Any:
    q, r = np.linalg.qr(constant(input), "complete" if full_matrices else "reduced")
    return q, r


def svd(tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: Any = None) -> Any:
    """Return s, u, v, in TensorFlow's order; v is not transposed."""
    if not compute_uv:
        return np.linalg.svd(constant(tensor), compute_uv=False)
    u, s, vh = np.linalg.svd(constant(tensor), full_matrices=full_matrices)
    return s, u, adjoint(vh)


def trace(x: Any, name: Any = None) -> Any:
    return np.trace(constant(x), axis1=-2, axis2=-1)


def _band(k: Any) -> tuple[int, int]:
    """Return the lowest and the highest of the diagonals that a number, or two, stand for."""
    low, high = (*sizes(k), *sizes(k))[:2]
    if low > high:
        raise invalid(f"k={k} stands for no diagonals: the first is above the last")
    return low, high


def diag_part(input: Any, name: Any = "diag_part", k: Any = 0, padding_value: Any = 0) -> Any:
    """Return diagonal k, or those from the second to the first of two; shorter ones are filled up at their ends."""
    x, (low, high) = constant(input), _band(k)
    rows, columns = x.shape[-2:]
    if not (-rows < low and high < columns):
        raise invalid(f"there are no diagonals k={k} in matrices of shape {(rows, columns)}")
    parts = [np.diagonal(x, d, axis1=-2, axis2=-1) for d in range(high, low - 1, -1)]
    if low == high:
        return parts[0]
    longest, ahead = max(p.shape[-1] for p in parts), [(0, 0)] * (len(x.shape) - 2)
    fill = constant(padding_value, x.dtype)
    return np.stack([np.pad(p, [*ahead, (0, longest - p.shape[-1])], constant_values=fill) for p in parts], axis=-2)


def diag(
    diagonal: Any,
    name: Any = "diag",
    k: Any = 0,
    num_rows: int = -1,
    num_cols: int = -1,
    padding_value: Any = 0,
) -> Any:
    """Return matrices with diagonal k, or those from the second to the first of two: the inverse of `diag_part`."""
    x, (low, high) = constant(diagonal), _band(k)
    longest = x.shape[-1]
    least_rows, least_columns = longest - min(high, 0), longest + max(low, 0)
    rows, columns = int(num_rows), int(num_cols)
    if rows == columns == -1:
        rows = columns = max(least_rows, least_columns)
    rows, columns = least_rows if rows == -1 else rows, least_columns if columns == -1 else columns
    fits = rows >= least_rows and columns >= least_columns and (rows == least_rows or columns == least_columns)
    if not fits or (low < high and x.shape[-2:-1] != (high - low + 1,)):
        raise invalid(f"diagonals of shape {x.shape} with k={k} do not make matrices of shape {(rows, columns)}")
    row, column = np.arange(rows)[:, None], np.arange(columns)
    place, band = np.minimum(row, column), high - (column - row)
    inside = (band >= 0) & (band <= high - low)
    index = (np.where(inside, place, 0),) if low == high else (np.where(inside, band, 0), np.where(inside, place, 0))
    return np.where(inside, x[None][(..., *index)][0], constant(padding_value, x.dtype))


def band_part(input: Any, num_lower: int, num_upper: int, name: Any = None) -> Any:
    x = constant(input)
    rows, columns = np.arange(x.shape[-2])[:, None], np.arange(x.shape[-1])
    num_lower, num_upper = int(num_lower), int(num_upper)
    kept = ((num_lower < 0) | (rows - columns <= num_lower)) & ((num_upper < 0) | (columns - rows <= num_upper))
    return np.where(kept, x, 0)


def norm(tensor: Any, ord: Any = "euclidean", axis: Any = None, keepdims: bool | None = None, name: Any = None) -> Any:
    """The norm of vectors along an axis, of matrices along two; of all elements as one vector without an axis."""
    x, axis = constant(tensor), axes_of(axis)
    if isinstance(axis, tuple) and len(axis) == 1:
        axis = axis[0]
    if isinstance(axis, tuple) and len(axis) != 2:
        raise invalid(f"norm takes no axis, one or two, not {axis}. Fix: tf.reshape, so that they are one")
    of_matrices, order = isinstance(axis, tuple), None if ord in ("euclidean", "fro") else ord
    if order is not None and (order not in (1, 2, np.inf) if of_matrices else isinstance(order, str) or order <= 0):
        raise invalid(f"norm has no ord={ord!r} of {'matrices' if of_matrices else 'vectors'}")
    if axis is None:
        size = np.linalg.norm(np.reshape(x, -1), 2 if order is None else order)
        return np.reshape(size, (1,) * len(x.shape)) if keepdims else size
    return np.linalg.norm(x, order, axis, bool(keepdims))


# -- clipping ---------------------------------------------------------------------------------------------------------
def global_norm(t_list: Any, name: Any = None) -> Any:
    """The norm of all tensors of a list together; None does not count."""
    return np.sqrt(sum(np.sum(np.square(constant(t))) for t in t_list if t is not None))


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: Any = None) -> Any:
    x = constant(t)
    size = np.sqrt(np.sum(x * x, axis=axes_of(axes), keepdims=True))
    return x * clip_norm / np.maximum(size, clip_norm)


def clip_by_global_norm(t_list: Any, clip_norm: Any, use_norm: Any = None, name: Any = None) -> Any:
    """The tensors, all scaled alike, and the norm they had."""
    size = global_norm(t_list) if use_norm is None else use_norm
    scale = clip_norm / np.maximum(size, clip_norm)
    return [None if t is None else constant(t) * scale for t in t_list], size
