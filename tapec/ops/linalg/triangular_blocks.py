"""Invert triangular matrices and solve systems with them by products of blocks.

LAPACK's triangular routines are not in NumPy: `np.linalg.inv` and `np.linalg.solve` factor what is a factor already.
By blocks an inverse costs a third of that, a system with one right-hand side a fifth (n = 300). Passes put these ops
where a matrix is known to be lower triangular.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Type
from tapec.ir.flops import cubic_flops
from tapec.ir.param_types import BOOL, maybe
from tapec.ops.core.define import define
from tapec.ops.core.op_helpers import both
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import apply

__all__ = ["INV_LOWER", "SOLVE_LOWER", "inv_lower", "solve_lower"]


# -- what generated code calls ----------------------------------------------------------------------------------------
def inv_lower(l):
    """The inverse of a lower triangular matrix, from blocks on its diagonal to blocks twice as large."""
    n = block = len(l)
    while block > 48:
        block = -(-block // 2)
    inverse = np.zeros_like(l)
    for i in range(0, n, block):
        inverse[i : i + block, i : i + block] = np.linalg.inv(l[i : i + block, i : i + block])
    while block < n:
        for i in range(0, n - block, 2 * block):  # [[a, 0], [b, c]] has the inverse [[A, 0], [-C b A, C]]
            m, j = i + block, i + 2 * block
            np.negative(inverse[m:j, m:j] @ (l[m:j, i:m] @ inverse[i:m, i:m]), out=inverse[m:j, i:m])
        block *= 2
    return inverse


def solve_lower(l, b, transposed=False):
    """The solution of l @ x = b, or of l.T @ x = b, for a lower triangular l: one block of rows after the other."""
    n, x = len(l), np.array(b)
    many = b.ndim == 2 and b.shape[1] > 32  # then a product is faster than LAPACK's substitution
    block = -(-n // -(-n // 48))
    for i in reversed(range(0, n, block)) if transposed else range(0, n, block):
        j = min(i + block, n)
        a = l[i:j, i:j]
        x[i:j] -= l[j:, i:j].T @ x[j:] if transposed else l[i:j, :i] @ x[:i]
        a = a.T if transposed else a
        x[i:j] = np.linalg.inv(a) @ x[i:j] if many else np.linalg.solve(a, x[i:j])
    return x


# -- the ops ----------------------------------------------------------------------------------------------------------
def _sample(*right: int, **params: Any) -> Any:
    """A well conditioned lower triangular matrix, of which nothing but that triangle matters."""

    def sample(rng: np.random.Generator) -> list[Case]:
        l = np.tril(0.3 * rng.standard_normal((4, 4))) + 2.0 * np.eye(4)
        return [Case((l, rng.standard_normal(right)) if right else (l,), params)]

    return sample


INV_LOWER = define(
    "inv_lower",
    inv_lower,
    lambda l: Type(l.shape, l.dtype),
    "linalg",
    vjp=lambda ct, y, l: (-(y.T @ ct @ y.T),),
    source="inv_lower({0})",
    facts={"helper": inv_lower},
    sample=_sample(),
    flops=cubic_flops(1 / 3),
)


def _solve_vjp(ct: Any, y: Any, l: Any, b: Any, transposed: bool) -> Any:
    """Return the cotangents of `solve` for a triangular matrix.

    Elements above the diagonal need no mask, since the next step back reads none.
    """
    gb = apply(SOLVE_LOWER, (l, ct), (("transposed", not transposed),))
    left, right = (y, gb) if transposed else (gb, y)
    outer = left @ right.T if b.ndim == 2 else left[:, None] * right
    return -outer, gb


SOLVE_LOWER = define(
    "solve_lower",
    solve_lower,
    lambda l, b, transposed: Type(b.shape, b.dtype),
    "linalg",
    params={"transposed": maybe(BOOL)},
    vjp=_solve_vjp,
    source=lambda args, node: f"solve_lower({', '.join(args)}{', transposed=True' * node.param('transposed')})",
    facts={"helper": solve_lower},
    sample=both(*[_sample(*shape, transposed=t) for shape in ((4,), (4, 2)) for t in (False, True)]),
    flops=lambda node: node.inputs[0].type.size * (node.type.size // node.type.shape[0]),
)
