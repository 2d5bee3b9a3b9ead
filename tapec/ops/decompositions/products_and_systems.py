"""Make products, linear systems and interpolation of other ops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.ops.decompositions.elementwise import Decompose, are_bools
from tapec.ops.decompositions.layout_and_indexing import windows

__all__ = ["TABLE"]


def _einsum(*xs: Any, subscripts: str) -> Any:
    """Sum the products of two operands at a time: as a matrix product over the axes that both have."""
    given, result = subscripts.split("->")
    terms = list(zip(given.split(","), xs))
    while len(terms) > 1:
        (a, x), (b, y) = terms[0], terms[1]
        later = set(result).union(*[t for t, _ in terms[2:]])
        terms[:2] = [_product(a, x, b, y, later)]
    (names, x) = terms[0]
    names, x = _summed(names, x, set(result))
    return np.transpose(x, [names.index(c) for c in result])


def _summed(names: str, x: Any, kept: set[str]) -> tuple[str, Any]:
    """Take the diagonal of a name that comes twice, and sum over those that nobody needs."""
    while len(set(names)) < len(names):
        c = next(c for c in names if names.count(c) > 1)
        i, j = [k for k, d in enumerate(names) if d == c][:2]
        names = "".join([d for k, d in enumerate(names) if k not in (i, j)]) + c
        x = np.diagonal(x, 0, i, j)
    gone = tuple([k for k, c in enumerate(names) if c not in kept])
    return "".join([c for c in names if c in kept]), np.sum(x, axis=gone) if gone else x


def _product(a: str, x: Any, b: str, y: Any, later: set[str]) -> tuple[str, Any]:
    a, x = _summed(a, x, later | set(b))
    b, y = _summed(b, y, later | set(a))
    both = [c for c in a if c in b]
    batch, summed = [c for c in both if c in later], [c for c in both if c not in later]
    rows, columns = [c for c in a if c not in b], [c for c in b if c not in a]
    size = {**dict(zip(b, y.shape)), **{c: n for c, n in zip(a, x.shape) if n != 1 or c not in b}}
    x = _wide(x, a, size)
    y = _wide(y, b, size)

    def arranged(x: Any, names: str, *groups: list[str]) -> Any:
        order = [names.index(c) for group in groups for c in group]
        kept = [size[c] for c in groups[0]]
        return np.reshape(np.transpose(x, order), (*kept, *[math.prod([size[c] for c in g]) for g in groups[1:]]))

    z = arranged(x, a, batch, rows, summed) @ arranged(y, b, batch, summed, columns)
    names = [*batch, *rows, *columns]
    return "".join(names), np.reshape(z, [size[c] for c in names])


def _wide(x: Any, names: str, size: dict[str, int]) -> Any:
    shape = tuple([size[c] for c in names])
    return x if x.shape == shape else np.broadcast_to(x, shape)


def _cross(a: Any, b: Any) -> Any:
    def parts(x: Any) -> list[Any]:
        return [x[..., k] for k in range(x.shape[-1])]

    p, q = parts(a), parts(b)
    z = p[0] * q[1] - p[1] * q[0]
    if len(p) == len(q) == 2:
        return z
    p, q = [*p, 0 * p[0]][:3], [*q, 0 * q[0]][:3]
    return np.stack(np.broadcast_arrays(p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], z), axis=-1)


def _convolve(a: Any, b: Any, mode: str) -> Any:
    if a.shape[0] < b.shape[0]:
        a, b = b, a
    k = b.shape[0]
    side = {"full": k - 1, "same": k // 2, "valid": 0}[mode]
    other = {"full": k - 1, "same": k - 1 - k // 2, "valid": 0}[mode]
    wide = np.pad(a, (side, other))
    return windows(wide, k, 0) @ b[::-1]


def _upper(run: Decompose) -> Decompose:
    return lambda a, UPLO: run(np.conj(np.swapaxes(a, -1, -2))) if UPLO == "U" else None


def _solve_lower(a: Any, b: Any, transposed: bool) -> Any:
    a = np.tril(a)
    return np.linalg.solve(np.swapaxes(a, -1, -2) if transposed else a, b)


def _norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    if ord == 2:
        return np.sqrt(np.sum(np.abs(x) ** 2, axis=axis, keepdims=keepdims))
    return None


def _interp(x: Any, xp: Any, fp: Any, left: Any, right: Any) -> Any:
    n = xp.shape[0]
    k = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, max(n - 2, 0))
    x0, y0 = np.take(xp, k), np.take(fp, k)
    x1, y1 = np.take(xp, np.minimum(k + 1, n - 1)), np.take(fp, np.minimum(k + 1, n - 1))
    slope = (y1 - y0) / np.where(x1 == x0, 1.0, x1 - x0)
    y = y0 + slope * (x - x0)
    y = np.where(np.isnan(y), y1 + slope * (x - x1), y)  # from the other end, where one end is infinite
    y = np.where(np.isnan(y) & (y0 == y1), y0, y)
    y = np.where(x == x0, y0, np.where(x == x1, y1, y))
    y = np.where(x < xp[0], fp[0] if left is None else left, y)
    return np.where(np.isnan(x), np.nan, np.where(x > xp[-1], fp[-1] if right is None else right, y))


TABLE: dict[str, Decompose] = {
    "matmul": lambda x, y: (x.astype(int) @ y.astype(int)) != 0 if are_bools(x, y) else None,
    "vecdot": lambda x, y: np.any(x & y, axis=-1) if are_bools(x, y) else None,
    "matvec": lambda a, v: (a @ v[..., None])[..., 0],
    "vecmat": lambda v, a: (np.conj(v)[..., None, :] @ a)[..., 0, :],
    "einsum": _einsum,
    "cross": _cross,
    "convolve": _convolve,
    "eigh": _upper(np.linalg.eigh),
    "eigvalsh": _upper(np.linalg.eigvalsh),
    "inv_lower": lambda a: np.linalg.inv(np.tril(a)),
    "solve_lower": _solve_lower,
    "interp": _interp,
}
