"""Compute QR factors by Householder's reflections, as LAPACK makes them, one column after the other.

What `np.linalg.qr` gives beyond the reduced factors, the other columns of a complete q and the reflectors themselves,
is defined by these steps alone; put together from them it has derivatives of every order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ops.core.define import conj
from tapec.ops.core.op_helpers import adjoint, lapack_dtype
from tapec.ops.layout.diagonals import eye

__all__ = ["complete", "raw"]


def _reflectors(a: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """The rows of r from the diagonal on, and the reflections 1 - t v vᴴ as vectors v, which begin with 1, and t."""
    rows, vectors, scales = [], [], []
    for _ in range(min(a.shape[-2:])):
        v, t = _reflector(a[..., 0])
        a = a - conj(t)[..., None, None] * (v[..., None] * (adjoint(v[..., None]) @ a))
        rows.append(a[..., 0, :])
        vectors.append(v)
        scales.append(t)
        a = a[..., 1:, 1:]
    return rows, vectors, scales


def _reflector(column: Any) -> tuple[Any, Any]:
    """Return the vector and the scale of the reflection that takes a column to a multiple of its first unit vector.

    The scale is 0 for a column that is such a multiple, and real.
    """
    first, rest = column[..., 0], column[..., 1:]
    below = np.sum(np.square(np.abs(rest)), axis=-1)
    flat = (below == 0) & (np.imag(first) == 0)
    length = np.sqrt(np.where(flat, 1, np.square(np.abs(first)) + below))
    target = -np.copysign(length, np.real(first))
    t = np.where(flat, 0, (target - first) / target)
    rest = rest / np.where(flat, 1, first - target)[..., None]
    return np.concatenate([np.ones_like(column[..., :1]), rest], axis=-1), t


def _padded(x: Any, before: int) -> Any:
    """Return x with zeros before its last axis."""
    return np.pad(x, ((0, 0),) * (x.ndim - 1) + ((before, 0),)) if before else x


def complete(a: Any) -> tuple[Any, Any]:
    """Return q with all columns, and r with rows of zeros."""
    a = a.astype(lapack_dtype(a))
    m = a.shape[-2]
    rows, vectors, scales = _reflectors(a)
    q = np.broadcast_to(eye(a, m), (*a.shape[:-2], m, m))
    for k in range(len(vectors) - 1, -1, -1):
        v = _padded(vectors[k], k)[..., None]
        q = q - scales[k][..., None, None] * (v * (adjoint(v) @ q))
    upper = np.stack([_padded(row, k) for k, row in enumerate(rows)], axis=-2)
    return q, np.pad(upper, ((0, 0),) * (a.ndim - 2) + ((0, m - len(rows)), (0, 0)))


def raw(a: Any) -> tuple[Any, Any]:
    """Return LAPACK's array, transposed, and the scales.

    r is in its upper triangle, the vectors without their 1 below.
    """
    a = a.astype(lapack_dtype(a))
    m, n = a.shape[-2:]
    rows, vectors, scales = _reflectors(a)
    upper = np.stack([_padded(row, k) for k, row in enumerate(rows)], axis=-2)
    upper = np.pad(upper, ((0, 0),) * (a.ndim - 2) + ((0, m - len(rows)), (0, 0)))
    lower = np.stack([_padded(v[..., 1:], k + 1) for k, v in enumerate(vectors)], axis=-1)
    lower = np.pad(lower, ((0, 0),) * (a.ndim - 1) + ((0, n - len(vectors)),))
    return np.swapaxes(upper + lower, -1, -2), np.stack(scales, axis=-1)
