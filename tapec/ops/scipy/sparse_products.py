"""Multiply sparse matrices with tensors. A matrix is three arrays in the graph, so its entries have gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import UnsupportedError, at_user_line
from tapec.ir import Op, Type, ops
from tapec.ir.param_types import BOOL, SIZES
from tapec.ops.core.define import as_operand, conj, define, ndim_of, ufunc_dtypes
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import apply

__all__ = ["MATMUL", "is_matrix", "left_product", "product", "right_product"]


def is_matrix(x: Any) -> bool:
    """Return whether x is of the older kind, as `scipy.sparse.csr_matrix` is, for which `*` is the matrix product."""
    from scipy import sparse

    return isinstance(x, sparse.spmatrix)


def _matrix(data: Any, indices: Any, indptr: Any, shape: tuple[int, int], transposed: bool) -> Any:
    """Return the matrix from its rows, or its transpose, of which they are the columns."""
    from scipy import sparse

    if transposed:
        return sparse.csc_array((data, indices, indptr), shape[::-1])
    return sparse.csr_array((data, indices, indptr), shape)


def _run(data: Any, indices: Any, indptr: Any, x: Any, shape: tuple[int, int], transposed: bool) -> Any:
    return _matrix(data, indices, indptr, shape, transposed) @ x


def _rule(data: Type, indices: Type, indptr: Type, x: Type, shape: tuple[int, int], transposed: bool) -> Type:
    rows, columns = shape[::-1] if transposed else shape
    if x.ndim not in (1, 2) or x.shape[0] != columns:
        raise ValueError(f"matmul: a sparse matrix of shape {(rows, columns)} does not fit an array of shape {x.shape}")
    return Type((rows, *x.shape[1:]), ufunc_dtypes(np.multiply, (data, x))[0])


def _vjp(
    ct: Any, y: Any, data: Any, indices: Any, indptr: Any, x: Any, shape: tuple[int, int], transposed: bool
) -> Any:
    """Return the adjoint product for x; for each entry of the matrix the product of the two numbers that it joins."""
    params = (("shape", shape), ("transposed", not transposed))
    back = apply(MATMUL, (conj(data), indices, indptr, ct), params)
    rows = np.searchsorted(indptr, np.arange(data.shape[0]), side="right") - 1
    entries = ct[indices] * conj(x)[rows] if transposed else ct[rows] * conj(x)[indices]
    return (np.sum(entries, axis=1) if x.ndim == 2 else entries), None, None, back


def _batch(batched: Any, data: Any, indices: Any, indptr: Any, x: Any, **params: Any) -> Any:
    """Return one product for all examples, which stand side by side as columns."""
    if any(batched[:3]):
        return NotImplemented
    if ndim_of(x) == 2:
        return np.transpose(apply(MATMUL, (data, indices, indptr, np.transpose(x)), tuple(params.items())))
    size, n, k = x.shape
    wide = np.reshape(np.transpose(x, (1, 0, 2)), (n, size * k))
    y = apply(MATMUL, (data, indices, indptr, wide), tuple(params.items()))
    return np.transpose(np.reshape(y, (y.shape[0], size, k)), (1, 0, 2))


def _source(args: tuple[str, ...], node: Any) -> str:
    shape, kind = node.param("shape"), "csr"
    if node.param("transposed"):
        shape, kind = shape[::-1], "csc"
    return f"scipy.sparse.{kind}_array(({', '.join(args[:3])}), shape={shape}) @ {args[3]}"


def _cases(rng: np.random.Generator) -> list[Case]:
    indices, indptr = np.array([0, 2, 1, 0, 2]), np.array([0, 2, 3, 3, 5])
    found = []
    for x, transposed in ((3, False), ((3, 2), False), (4, True), ((4, 2), True)):
        inputs = (rng.standard_normal(5), indices, indptr, rng.standard_normal(x))
        found.append(Case(inputs, {"shape": (4, 3), "transposed": transposed}))
    data, x = found[0].inputs[0] + 1j, found[0].inputs[3] - 0.5j
    return [*found, Case((data, indices, indptr, x), found[0].params)]


MATMUL = define(
    "scipy.sparse.matmul",
    _run,
    _rule,
    "product",
    params={"shape": SIZES, "transposed": BOOL},
    vjp=_vjp,
    linear=(0, 3),
    batch=_batch,
    source=_source,
    sample=_cases,
    facts={"imports": "scipy.sparse"},
)


def _product(matrix: Any, x: Any, transposed: bool) -> Any:
    """Return the matrix, or its transpose, times x. Rows and columns that are compressed already are taken as they
    stand.
    """
    matrix = getattr(matrix, "_tapec_matrix", matrix)  # of the stand-in for a captured one
    columns = matrix.format == "csc"
    stored = matrix if columns else matrix.tocsr()
    shape = tuple(map(int, stored.shape))
    params = (("shape", shape[::-1] if columns else shape), ("transposed", columns != transposed))
    return apply(MATMUL, (stored.data, stored.indices, stored.indptr, as_operand(x)), params)


def left_product(matrix: Any, x: Any) -> Any:
    """Return matrix @ x."""
    return _product(matrix, x, False)


def right_product(x: Any, matrix: Any) -> Any:
    """Return x @ matrix."""
    x = as_operand(x)
    return _product(matrix, x, True) if ndim_of(x) < 2 else np.transpose(_product(matrix, np.transpose(x), True))


def product(op: Op, x: Any, matrix: Any, swapped: bool) -> Any:
    """Return x @ matrix, or matrix @ x if swapped; arrays times the older kind of matrix may be written with `*`."""
    if op is not ops.matmul and not (op is ops.multiply and is_matrix(matrix) and x.ndim):
        raise UnsupportedError(
            at_user_line(
                f"{op.name} of a tensor and a sparse matrix. Fix: use matrix.toarray(), or matrix @ x: "
                f"`(a * matrix) @ x` is `a * (matrix @ x)`"
            )
        )
    return left_product(matrix, x) if swapped else right_product(x, matrix)
