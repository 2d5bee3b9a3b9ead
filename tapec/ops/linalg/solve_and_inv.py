"""Define inverses and linear systems."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir import Type, broadcast_shapes
from tapec.ir.flops import cubic_flops
from tapec.ops.core.define import conj, define, ndim_of, shape_of
from tapec.ops.core.op_helpers import (
    adjoint,
    aligned_behind_batch,
    as_array,
    batch_as_stack,
    both,
    lapack_dtype,
    regular,
    stacked,
)
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import apply, implements

__all__ = ["INV", "SOLVE"]


# -- inverse ----------------------------------------------------------------------------------------------------------
def _inv_vjp(ct: Any, y: Any, a: Any) -> Any:
    """Return the cotangent by d(a⁻¹) = -a⁻¹ da a⁻¹."""
    yh = adjoint(y)
    return (-(yh @ ct @ yh),)


INV = define(
    "inv",
    np.linalg.inv,
    lambda t: Type(stacked(t), lapack_dtype(t)),
    "linalg",
    vjp=_inv_vjp,
    jvp=lambda ts, y, a: -(y @ ts[0] @ y),
    batch=batch_as_stack(np.linalg.inv),
    source="np.linalg.inv({0})",
    sample=both(regular(3, 3), regular(2, 2, 2), regular(2, 2, complex=True), regular(1, 1)),
    numpy=np.linalg.inv,
    flops=cubic_flops(2),
)


@implements(np.linalg.inv)
def inv(a: Any) -> Any:
    return apply(INV, (as_array(a),))


# -- solve ------------------------------------------------------------------------------------------------------------
def _solve_rule(a: Type, b: Type) -> Type:
    """Return the type of a solution; a right-hand side of one axis is a vector, any other a stack of matrices."""
    shape = stacked(a)
    dtype = lapack_dtype(a, b)
    n = shape[-1]
    if not b.shape or b.shape[-1 if b.ndim == 1 else -2] != n:
        raise ValueError(at_user_line(f"solve: a right-hand side of shape {b.shape} does not fit {n} unknowns"))
    if b.ndim == 1:
        return Type(shape[:-1], dtype)
    return Type((*broadcast_shapes(shape[:-2], b.shape[:-2]), n, b.shape[-1]), dtype)


def _solve_vjp(ct: Any, y: Any, a: Any, b: Any) -> Any:
    """Return the cotangents of a y = b: that of b solves the adjoint system, that of a is the product of that with
    y.
    """
    ah = adjoint(a)
    if b.ndim > 1:
        gb = np.linalg.solve(ah, ct)
        return -(gb @ adjoint(y)), gb
    gb = np.linalg.solve(ah, ct) if a.ndim == 2 else np.linalg.solve(ah, ct[..., None])[..., 0]
    return -(gb[..., None] * conj(y)[..., None, :]), gb


def _solve_batch(batched: tuple[bool, ...], a: Any, b: Any) -> Any:
    """Solve for many right-hand sides of one system at once."""
    rank = ndim_of(b) - batched[1]
    if not batched[0] and a.ndim == 2 and rank == 1:
        return np.transpose(np.linalg.solve(a, np.transpose(b)))
    if rank > 1:
        return np.linalg.solve(*aligned_behind_batch(batched, (a, b), (2, 2)))
    return np.linalg.solve(*aligned_behind_batch(batched, (a, b[..., None]), (2, 2)))[..., 0]


def systems(*shapes: tuple[tuple[int, ...], tuple[int, ...]], complex: bool = False) -> Any:
    """Return cases of a regular matrix, or a stack of them, and a right-hand side."""

    def sample(rng: np.random.Generator) -> list[Case]:
        cases = []
        for m, v in shapes:
            a = regular(*m, complex=complex)(rng)[0].inputs[0]
            b = rng.standard_normal(v)
            cases.append(Case((a, b + 1j * rng.standard_normal(v) if complex else b), {}))
        return cases

    return sample


SOLVE = define(
    "solve",
    np.linalg.solve,
    _solve_rule,
    "linalg",
    vjp=_solve_vjp,
    batch=_solve_batch,
    source="np.linalg.solve({0}, {1})",
    sample=both(
        systems(((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3,)), ((2, 2, 2), (2, 3)), ((2, 2), (3, 2, 1))),
        systems(((2, 2), (2,)), ((2, 2), (2, 2)), complex=True),
    ),
    numpy=np.linalg.solve,
    flops=cubic_flops(2 / 3),
)


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    return apply(SOLVE, (as_array(a), as_array(b)))


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    a, b = as_array(a), as_array(b)
    if axes is not None:
        order = [k for k in range(ndim_of(a)) if k not in axes]
        a = np.transpose(a, (*order, *axes))
    rest = shape_of(a)[ndim_of(b) :]
    n = math.prod(rest)
    if a.size != n * n:
        message = "Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        raise np.linalg.LinAlgError(at_user_line(message))
    return np.reshape(np.linalg.solve(np.reshape(a, (n, n)), np.ravel(b)), rest)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    a = as_array(a)
    if ind <= 0:
        raise ValueError(at_user_line("Invalid ind argument."))
    old = shape_of(a)
    rows = math.prod(old[:ind])
    return np.reshape(np.linalg.inv(np.reshape(a, (rows, -1))), (*old[ind:], *old[:ind]))
