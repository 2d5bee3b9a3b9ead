"""Define products of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir import Type, broadcast_shapes, register
from tapec.ir.flops import flops_of_product
from tapec.ir.op import Op
from tapec.ops.core.define import conj, ndim_of, shape_of, ufunc_dtypes
from tapec.ops.core.op_helpers import aligned_behind_batch, as_array, both, drawn, flat
from tapec.ops.core.stand_in import UFUNCS, apply, implements, method
from tapec.ops.layout.reshape_and_transpose import unbroadcast

__all__ = ["MATMUL", "transposed"]


def transposed(x: Any) -> Any:
    """Return x with its last two axes swapped."""
    return np.swapaxes(x, -1, -2)


# -- matmul -----------------------------------------------------------------------------------------------------------
def _matmul_rule(a: Type, b: Type) -> Type:
    if not a.shape or not b.shape:
        raise ValueError("matmul: Input operand does not have enough dimensions (0-d)")
    left = a.shape if a.ndim > 1 else (1, *a.shape)
    right = b.shape if b.ndim > 1 else (*b.shape, 1)
    if left[-1] != right[-2]:
        raise ValueError(f"matmul: shapes {a.shape} and {b.shape} do not fit: {left[-1]} is not {right[-2]}")
    shape = broadcast_shapes(left[:-2], right[:-2])
    shape += (left[-2],) if a.ndim > 1 else ()
    shape += (right[-1],) if b.ndim > 1 else ()
    return Type(shape, ufunc_dtypes(np.add, (a, b))[0])


def _rows(x: Any) -> Any:
    """Return all rows of a stack of matrices as one matrix. Rows may have no elements, so they are counted."""
    return np.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


def _matmul_vjp(ct: Any, y: Any, a: Any, b: Any) -> Any:
    """Return the cotangents of a product: of vectors, of matrices, of stacks with one matrix, and of stacks that
    broadcast.
    """
    ac, bc = conj(a), conj(b)
    if a.ndim == 1 and b.ndim == 1:
        return ct * bc, ct * ac
    if a.ndim == 1:
        return _vector_matrix(ct, bc), ac[:, None] * ct[..., None, :]
    if b.ndim == 1:
        return ct[..., None] * bc, np.ravel(ct) @ _rows(ac)
    if a.ndim > b.ndim == 2:  # all examples at once: one big product
        return ct @ bc.T, _rows(ac).T @ _rows(ct)
    return unbroadcast(ct @ transposed(bc), a.shape), unbroadcast(transposed(ac) @ ct, b.shape)


def _vector_matrix(ct: Any, bc: Any) -> Any:
    """The cotangent of a vector that was multiplied by matrices from the right."""
    return bc @ ct if bc.ndim == 2 else (bc @ ct[..., None])[..., 0]


def _matmul_batch(batched: tuple[bool, ...], a: Any, b: Any) -> Any:
    """Multiply a batch: without new axes where `@` does that already, vectors by vectors element by element, and else
    with vectors as matrices of one row or column.
    """
    rank = a.ndim - batched[0], b.ndim - batched[1]
    if not batched[1] and rank[1] <= 2:
        return a @ b
    if not batched[0] and rank[1] == 1 and rank[0] <= 2:
        return b @ np.transpose(a)
    if rank == (1, 1) and a.dtype.kind in "fc" and b.dtype.kind in "fc":
        return np.sum(a * b, axis=-1)
    a = a[..., None, :] if rank[0] == 1 else a
    b = b[..., None] if rank[1] == 1 else b
    a, b = aligned_behind_batch(batched, (a, b), (2, 2))
    y = a @ b
    if rank[1] == 1:
        y = y[..., 0]
    return y if rank[0] > 1 else y[..., 0] if rank[1] == 1 else y[..., 0, :]


MATMUL = register(
    Op(
        name="matmul",
        run=np.matmul,
        rule=_matmul_rule,
        kind="product",
        vjp=_matmul_vjp,
        linear=(0, 1),
        batch=_matmul_batch,
        source="{0} @ {1}",
        out=True,
        sample=both(
            drawn((2, 3), (3, 4)),
            drawn((3,), (3,)),
            drawn((2, 3), (3,)),
            drawn((3,), (3, 2)),
            drawn((3,), (2, 3, 2)),
            drawn((2, 2, 3), (3,)),
            drawn((2, 2, 3), (3, 2)),
            drawn((2, 3), (2, 3, 2)),
            drawn((2, 1, 2, 3), (3, 3, 2)),
            drawn((2, 0), (0, 3)),
            drawn((2, 3), (3, 2), complex=True),
        ),
        numpy=np.matmul,
        flops=flops_of_product,
    )
)
UFUNCS[np.matmul] = MATMUL


@implements(np.linalg.matmul)
def linalg_matmul(x1: Any, x2: Any, /) -> Any:
    return apply(MATMUL, (as_array(x1), as_array(x2)))


# -- vecdot, matvec, vecmat -------------------------------------------------------------------------------------------
def _gufunc(ufunc: Any, core: tuple[int, int], vjp: Any) -> Op:
    """Define a product over the last axes that broadcasts over all others."""

    def rule(a: Type, b: Type) -> Type:
        if a.ndim < core[0] or b.ndim < core[1]:
            raise ValueError(f"{ufunc.__name__}: Input operand does not have enough dimensions")
        if a.shape[-1] != b.shape[-core[1]]:
            raise ValueError(f"{ufunc.__name__}: shapes {a.shape} and {b.shape} do not fit")
        loops = broadcast_shapes(a.shape[: a.ndim - core[0]], b.shape[: b.ndim - core[1]])
        rest = (a.shape[-2],) if core == (2, 1) else (b.shape[-1],) if core == (1, 2) else ()
        return Type((*loops, *rest), ufunc_dtypes(np.add, (a, b))[0])

    shapes = {1: (3,), 2: (3, 3)}
    a, b = shapes[core[0]], shapes[core[1]]
    op = register(
        Op(
            name=ufunc.__name__,
            run=ufunc,
            rule=rule,
            kind="product",
            vjp=vjp,
            linear=(0, 1),
            batch=lambda batched, a, b: ufunc(*aligned_behind_batch(batched, (a, b), core)),
            source=f"np.{ufunc.__name__}({{0}}, {{1}})",
            out=True,
            sample=both(drawn(a, b), drawn((2, *a), b), drawn((2, 1, *a), (3, *b)), drawn(a, b, complex=True)),
            numpy=ufunc,
            flops=flops_of_product,
        )
    )
    UFUNCS[ufunc] = op
    return op


VECDOT = _gufunc(np.vecdot, (1, 1), lambda ct, y, a, b: (conj(ct)[..., None] * b, ct[..., None] * a))
if hasattr(np, "matvec"):  # np.matvec and np.vecmat came with NumPy 2.2
    MATVEC = _gufunc(
        np.matvec,
        (2, 1),
        lambda ct, y, a, b: (ct[..., None] * conj(b)[..., None, :], np.matvec(transposed(conj(a)), ct)),
    )
    VECMAT = _gufunc(
        np.vecmat,
        (1, 2),
        lambda ct, y, a, b: (np.matvec(b, conj(ct)), a[..., None] * ct[..., None, :]),
    )


@implements(np.linalg.vecdot)
def linalg_vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x1, x2 = as_array(x1), as_array(x2)
    if axis != -1:
        x1, x2 = np.moveaxis(x1, axis, -1), np.moveaxis(x2, axis, -1)
    return apply(VECDOT, (x1, x2))


# -- dot and its kin --------------------------------------------------------------------------------------------------
@method("dot")
@implements(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    a, b = as_array(a), as_array(b)
    m, n = ndim_of(a), ndim_of(b)
    if not m or not n:
        return a * b
    return a @ b if n <= 2 else np.tensordot(a, b, (-1, -2))


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    return conj(flat(as_array(a))) @ flat(as_array(b))


@implements(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    a, b = as_array(a), as_array(b)
    m, n = ndim_of(a), ndim_of(b)
    if not m or not n:
        return a * b
    return a @ np.transpose(b) if n <= 2 else np.tensordot(a, b, (-1, -1))


@implements(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    return np.reshape(as_array(a), (-1, 1)) * flat(as_array(b))


@implements(np.linalg.outer)
def linalg_outer(x1: Any, x2: Any, /) -> Any:
    if ndim_of(x1) != 1 or ndim_of(x2) != 1:
        raise ValueError(
            at_user_line(
                f"Input arrays must be one-dimensional, but they are x1.ndim={ndim_of(x1)}, x2.ndim={ndim_of(x2)}"
            )
        )
    return outer(x1, x2)


# -- chains -----------------------------------------------------------------------------------------------------------
@implements(np.linalg.matrix_power, gives_views=True)
def matrix_power(a: Any, n: int) -> Any:
    """Return a power as squares and products, as many as the binary digits of n ask for."""
    a = as_array(a)
    _square(a)
    if n != int(n):
        raise TypeError(at_user_line("exponent must be an integer"))
    if n == 0:
        return np.zeros_like(a) + np.eye(shape_of(a)[-1], dtype=a.dtype)
    if n < 0:
        a, n = np.linalg.inv(a), -n
    result = None
    while n:
        n, bit = divmod(n, 2)
        if bit:
            result = a if result is None else result @ a
        if n:
            a = a @ a
    return result


def _square(a: Any) -> None:
    if ndim_of(a) < 2:
        message = f"{ndim_of(a)}-dimensional array given. Array must be at least two-dimensional"
        raise np.linalg.LinAlgError(at_user_line(message))
    if shape_of(a)[-1] != shape_of(a)[-2]:
        raise np.linalg.LinAlgError(at_user_line("Last 2 dimensions of the array must be square"))


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """The product of a chain of matrices, in the order that takes the fewest multiplications."""
    parts = [as_array(a) for a in arrays]
    if len(parts) < 2:
        raise ValueError(at_user_line("Expecting at least two arrays."))
    inside = parts[1:-1]
    if any(ndim_of(p) != 2 for p in inside) or any(ndim_of(p) not in (1, 2) for p in (parts[0], parts[-1])):
        raise np.linalg.LinAlgError(at_user_line("multi_dot takes matrices; the first and the last may be vectors"))
    sizes = [1 if ndim_of(parts[0]) == 1 else shape_of(parts[0])[0]]
    sizes += [shape_of(p)[0] for p in parts[1:]]
    sizes += [1 if ndim_of(parts[-1]) == 1 else shape_of(parts[-1])[1]]
    return _chain(parts, _cheapest(sizes), 0, len(parts) - 1)


def _cheapest(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Return the factor after which to cut each part (i, j) of a chain; factor k is sizes[k] by sizes[k + 1]."""
    n = len(sizes) - 1
    cost: dict[tuple[int, int], float] = {(i, i): 0.0 for i in range(n)}
    cut: dict[tuple[int, int], int] = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j] = math.inf
            for k in range(i, j):
                c = cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if c < cost[i, j]:
                    cost[i, j], cut[i, j] = c, k
    return cut


def _chain(parts: list[Any], cut: dict[tuple[int, int], int], i: int, j: int) -> Any:
    if i == j:
        return parts[i]
    k = cut[i, j]
    return _chain(parts, cut, i, k) @ _chain(parts, cut, k + 1, j)
