"""Define determinants. Those of singular matrices have derivatives too: polynomials in the elements.

The first derivative is the matrix of cofactors, `det(a) inv(a)ᵀ` where there is an inverse. With a = u diag(s) vh it is
det(u) det(vh) conj(u diag(r) vh), where r_i is the product of all singular values but s_i; the second derivative takes
products of all but two. So both hold for any matrix; the third is known where there is an inverse.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Type
from tapec.ir.flops import cubic_flops
from tapec.ops.core.define import conj, define
from tapec.ops.core.op_helpers import (
    adjoint,
    as_array,
    batch_as_stack,
    batch_axis_first,
    both,
    lapack_dtype,
    real_dtype,
    regular,
    result_class,
    stacked,
)
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import apply, implements

__all__ = ["COFACTORS", "DET", "SECOND_COFACTORS", "SLOGDET", "cofactors", "second_cofactors"]


# -- for generated code: NumPy alone ----------------------------------------------------------------------------------
def cofactors(a: Any) -> Any:
    """The derivative of the determinant by each element, of singular matrices too.

    >>> cofactors(np.array([[1.0, 2.0], [2.0, 4.0]])).round(12)
    array([[ 4., -2.],
           [-2.,  1.]])
    """
    det = np.linalg.det(a)
    if np.all(det != 0):
        return det[..., None, None] * np.swapaxes(np.linalg.inv(a), -1, -2)
    u, s, vh = np.linalg.svd(a)
    others = np.prod(np.where(np.eye(s.shape[-1], dtype=bool), 1, s[..., None, :]), axis=-1)
    turn = np.linalg.det(u) * np.linalg.det(vh)
    return turn[..., None, None] * np.conj(u * others[..., None, :] @ vh)


def second_cofactors(a: Any, e: Any) -> Any:
    """Return how the cofactors of `a` change along `e`."""
    u, s, vh = np.linalg.svd(a)
    n = s.shape[-1]
    if np.all(s > 0):
        others = np.prod(s, axis=-1)[..., None, None] / (s[..., None] * s[..., None, :])
    else:  # products of all but two
        two = np.eye(n, dtype=bool)[:, None] | np.eye(n, dtype=bool)
        others = np.prod(np.where(two, 1, s[..., None, None, :]), axis=-1)
    others = np.where(np.eye(n, dtype=bool), 0, others)
    inside = np.conj(np.swapaxes(u, -1, -2)) @ e @ np.conj(np.swapaxes(vh, -1, -2))
    on = others @ np.diagonal(inside, axis1=-2, axis2=-1)[..., None]
    change = np.where(np.eye(n, dtype=bool), on, -others * np.swapaxes(inside, -1, -2))
    turn = np.linalg.det(u) * np.linalg.det(vh)
    return turn[..., None, None] * (np.conj(u) @ change @ np.conj(vh))


# -- determinant ------------------------------------------------------------------------------------------------------
def _first(a: Any) -> Any:
    return apply(COFACTORS, (a,))


def _second(a: Any, e: Any) -> Any:
    return apply(SECOND_COFACTORS, (a, e))


DET = define(
    "det",
    np.linalg.det,
    lambda t: Type(stacked(t)[:-2], lapack_dtype(t)),
    "linalg",
    vjp=lambda ct, y, a: (ct[..., None, None] * conj(_first(a)),),
    jvp=lambda ts, y, a: np.sum(_first(a) * ts[0], axis=(-2, -1)),
    batch=batch_as_stack(np.linalg.det),
    source="np.linalg.det({0})",
    sample=both(regular(3, 3), regular(2, 2, 2), regular(2, 2, complex=True)),
    numpy=np.linalg.det,
    flops=cubic_flops(2 / 3),
)


COFACTORS = define(
    "cofactors",
    cofactors,
    lambda t: Type(stacked(t), lapack_dtype(t)),
    "linalg",
    vjp=lambda ct, y, a: (conj(_second(a, conj(ct))),),
    jvp=lambda ts, y, a: _second(a, ts[0]),
    batch=lambda batched, a: _first(a),
    source="cofactors({0})",
    facts={"helper": cofactors},
    sample=both(regular(3, 3), regular(2, 2, 2), regular(2, 2, complex=True), regular(1, 1)),
    flops=cubic_flops(8 / 3),
)


def _third(a: Any, e: Any, f: Any) -> Any:
    """The derivative of `sum(second_cofactors(a, e) * f)` by the elements of a."""
    x = np.linalg.inv(a)
    p, q = x @ e, x @ f
    tp, tq = (np.trace(m, axis1=-2, axis2=-1)[..., None, None] for m in (p, q))
    pq = p @ q
    one = np.eye(a.shape[-1], dtype=real_dtype(a.dtype))
    both_traces = tp * tq - np.trace(pq, axis1=-2, axis2=-1)[..., None, None]
    inside = both_traces * one - tp * q - tq * p + pq + q @ p
    return np.linalg.det(a)[..., None, None] * np.swapaxes(inside @ x, -1, -2)


def _second_vjp(ct: Any, y: Any, a: Any, e: Any) -> Any:
    return conj(_third(a, e, conj(ct))), conj(_second(a, conj(ct)))


def _pairs(*shapes: tuple[int, ...], complex: bool = False) -> Any:
    def sample(rng: np.random.Generator) -> list[Case]:
        return [Case(tuple(regular(*s, complex=complex)(rng)[0].inputs[0] for _ in "ae"), {}) for s in shapes]

    return sample


SECOND_COFACTORS = define(
    "second_cofactors",
    second_cofactors,
    lambda a, e: Type(stacked(a), lapack_dtype(a, e)),
    "linalg",
    vjp=_second_vjp,
    batch=lambda batched, *xs: _second(*batch_axis_first(batched, xs)),
    source="second_cofactors({0}, {1})",
    facts={"helper": second_cofactors},
    sample=both(_pairs((3, 3), (2, 2, 2)), _pairs((2, 2), complex=True)),
)


@implements(np.linalg.det)
def det(a: Any) -> Any:
    return apply(DET, (as_array(a),))


# -- its sign and logarithm -------------------------------------------------------------------------------------------
def _slogdet_rule(t: Type) -> Any:
    shape, dtype = stacked(t)[:-2], lapack_dtype(t)
    return Type(shape, dtype), Type(shape, real_dtype(dtype))


def _slogdet_vjp(ct: Any, y: Any, a: Any) -> Any:
    """Return the cotangent by d log det a = tr(a⁻¹ da): its real part moves the logarithm, its imaginary part turns the
    sign.
    """
    ct_sign, ct_log = ct
    weight = ct_log
    if a.dtype.kind == "c":
        weight = weight + 1j * np.imag(ct_sign * conj(y[0]))
    return (weight[..., None, None] * adjoint(np.linalg.inv(a)),)


SLOGDET = define(
    "slogdet",
    np.linalg.slogdet,
    _slogdet_rule,
    "linalg",
    multi=True,
    vjp=_slogdet_vjp,
    batch=lambda batched, a: tuple(np.linalg.slogdet(a)),
    source="np.linalg.slogdet({0})",
    sample=both(regular(3, 3), regular(2, 2, 2), regular(2, 2, complex=True)),
    numpy=np.linalg.slogdet,
    flops=cubic_flops(2 / 3),
)


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    return result_class(np.linalg.slogdet)(*apply(SLOGDET, (as_array(a),)))
