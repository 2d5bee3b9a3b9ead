"""`tf.linalg`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.compat.tensorflow.arrays import eye
from tapec.compat.tensorflow.elementwise import pair
from tapec.compat.tensorflow.nn import l2_normalize
from tapec.compat.tensorflow.plain_values import InvalidArgumentError
from tapec.compat.tensorflow.tf_tensor import constant
from tapec.errors import at_user_line

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
    **_: Any,
) -> Any:
    a, b = pair(a, b)
    a = matrix_transpose(a, conjugate=adjoint_a) if transpose_a or adjoint_a else a
    b = matrix_transpose(b, conjugate=adjoint_b) if transpose_b or adjoint_b else b
    if min(len(a.shape), len(b.shape)) < 2:
        text = f"matmul takes matrices, not shapes {a.shape} and {b.shape}. Fix: tf.linalg.matvec or tf.tensordot"
        raise InvalidArgumentError(at_user_line(text))
    return np.matmul(a, b)


def matvec(a: Any, b: Any, transpose_a: bool = False, **_: Any) -> Any:
    a, b = pair(a, b)
    return np.matmul(matrix_transpose(a) if transpose_a else a, b[..., None])[..., 0]


def tensordot(a: Any, b: Any, axes: Any, name: Any = None) -> Any:
    return np.tensordot(*pair(a, b), axes=axes)


def einsum(equation: str, *inputs: Any, **_: Any) -> Any:
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


def diag_part(input: Any, **_: Any) -> Any:
    return np.diagonal(constant(input), axis1=-2, axis2=-1)


def diag(diagonal: Any, **_: Any) -> Any:
    x = constant(diagonal)
    return x[..., None] * eye(x.shape[-1], dtype=x.dtype)


def band_part(input: Any, num_lower: int, num_upper: int, name: Any = None) -> Any:
    x = constant(input)
    rows, columns = np.arange(x.shape[-2])[:, None], np.arange(x.shape[-1])
    kept = ((num_lower < 0) | (rows - columns <= num_lower)) & ((num_upper < 0) | (columns - rows <= num_upper))
    return np.where(kept, x, 0)


def norm(tensor: Any, ord: Any = "euclidean", axis: Any = None, keepdims: bool = False, name: Any = None) -> Any:
    x = constant(tensor)
    axis = tuple(axis) if isinstance(axis, list) else axis
    order = None if ord in ("euclidean", "fro") else ord
    if axis is None and not keepdims:
        x = np.reshape(x, -1)
        order = 2 if order is None else order
    return np.linalg.norm(x, order, axis, keepdims)


# -- clipping ---------------------------------------------------------------------------------------------------------
def global_norm(t_list: Any, name: Any = None) -> Any:
    """The norm of all tensors of a list together; None does not count."""
    return np.sqrt(sum(np.sum(np.square(constant(t))) for t in t_list if t is not None))


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: Any = None) -> Any:
    x = constant(t)
    size = np.sqrt(np.sum(x * x, axis=axes, keepdims=True))
    return x * clip_norm / np.maximum(size, clip_norm)


def clip_by_global_norm(t_list: Any, clip_norm: Any, use_norm: Any = None, name: Any = None) -> Any:
    """The tensors, all scaled alike, and the norm they had."""
    size = global_norm(t_list) if use_norm is None else use_norm
    scale = clip_norm / np.maximum(size, clip_norm)
    return [None if t is None else constant(t) * scale for t in t_list], size
