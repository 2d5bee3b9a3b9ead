"""Products and linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Type, broadcast_shapes, register
from tapec.ir.op import Op
from tapec.ops.array import UFUNCS
from tapec.ops.define import conj, ufunc_dtypes
from tapec.ops.layout import unbroadcast
from tapec.ops.samples import any_real


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


def _matmul_vjp(ct: Any, y: Any, a: Any, b: Any) -> Any:
    ac, bc = conj(a), conj(b)
    if a.ndim == 1 and b.ndim == 1:
        return ct * bc, ct * ac
    if a.ndim == 1:
        return unbroadcast(bc @ ct[..., None], (*b.shape[:-2], *a.shape, 1))[..., 0] if b.ndim == 2 else unbroadcast(
            (bc @ ct[..., None])[..., 0], a.shape
        ), unbroadcast(ac[:, None] * ct[..., None, :], b.shape)
    if b.ndim == 1:
        return unbroadcast(ct[..., None] * bc, a.shape), unbroadcast(
            (np.swapaxes(ac, -1, -2) @ ct[..., None])[..., 0], b.shape
        )
    return unbroadcast(ct @ np.swapaxes(bc, -1, -2), a.shape), unbroadcast(np.swapaxes(ac, -1, -2) @ ct, b.shape)


MATMUL = register(
    Op(
        name="matmul",
        run=np.matmul,
        rule=_matmul_rule,
        kind="product",
        vjp=_matmul_vjp,
        linear=(0, 1),
        source="{0} @ {1}",
        out=True,
        sample=(any_real, any_real),
        numpy=np.matmul,
    )
)
UFUNCS[np.matmul] = MATMUL
