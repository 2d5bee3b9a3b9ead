"""Define the Cholesky and QR factorisations."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir import Type
from tapec.ir.flops import cubic_flops
from tapec.ir.param_types import BOOL, maybe
from tapec.ops.core.define import define, shape_of
from tapec.ops.core.op_helpers import adjoint, as_array, both, lapack_dtype, regular, result_class, stacked
from tapec.ops.core.stand_in import apply, implements
from tapec.ops.layout.diagonals import embed
from tapec.ops.linalg.householder_qr import complete, raw

__all__ = ["CHOLESKY", "QR"]


def halved_diagonal(x: Any) -> Any:
    """The lower triangle with half the diagonal: with its adjoint it makes up a Hermitian matrix."""
    n = x.ndim
    if n == 2:
        return np.tril(x) - np.diag(0.5 * np.diagonal(x))
    return np.tril(x) - embed(0.5 * np.diagonal(x, 0, n - 2, n - 1), x.shape, 0, n - 2, n - 1)


# -- Cholesky ---------------------------------------------------------------------------------------------------------
def _cholesky_vjp(ct: Any, y: Any, a: Any, upper: bool = False) -> Any:
    """Return the symmetric gradient: half of L⁻ᴴ (h + hᴴ) L⁻¹, where h is the lower triangle of Lᴴ ct with half the
    diagonal.

    `passes/rules/linalg/cholesky_gradient.py` knows this form, and makes less of it for the cotangents that are most
    common.
    """
    factor, ct = (adjoint(y), adjoint(ct)) if upper else (y, ct)
    back = np.linalg.inv(factor)
    half = halved_diagonal(adjoint(factor) @ ct)
    return (0.5 * (adjoint(back) @ (half + adjoint(half)) @ back),)


def _cholesky_source(args: tuple[str, ...], node: Any) -> str:
    upper = any(k == "upper" and v for k, v in node.params)
    return f"np.linalg.cholesky({args[0]}{', upper=True' if upper else ''})"


def _cholesky_sample(*shape: int, complex: bool = False, **params: Any) -> Any:
    return regular(*shape, complex=complex, symmetric=True, **params)


CHOLESKY = define(
    "cholesky",
    np.linalg.cholesky,
    lambda t, upper=False: Type(stacked(t), lapack_dtype(t)),
    "linalg",
    params={"upper": maybe(BOOL)},
    vjp=_cholesky_vjp,
    batch=lambda batched, a, upper=False: np.linalg.cholesky(a, upper=upper),
    source=_cholesky_source,
    facts={"hermitian": True},  # reads one triangle of what is taken to be a Hermitian matrix
    sample=both(
        _cholesky_sample(3, 3),
        _cholesky_sample(2, 2, 2),
        _cholesky_sample(3, 3, upper=True),
        _cholesky_sample(2, 2, complex=True),
        _cholesky_sample(2, 2, complex=True, upper=True),
    ),
    numpy=np.linalg.cholesky,
    flops=cubic_flops(1 / 3),
)


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    return apply(CHOLESKY, (as_array(a),), (("upper", True),) if upper else ())


# -- QR ---------------------------------------------------------------------------------------------------------------
def _qr_rule(t: Type) -> Any:
    *rest, m, n = stacked(t, square=False)
    k, dtype = min(m, n), lapack_dtype(t)
    return Type((*rest, m, k), dtype), Type((*rest, k, n), dtype)


def _tall(gq: Any, gr: Any, q: Any, r: Any) -> Any:
    """Return the gradient for at least as many rows as columns: (gq + q sym(r grᴴ - gqᴴ q)) r⁻ᴴ.

    Here sym(x) is the Hermitian matrix made of the lower triangle of x.
    """
    m = halved_diagonal(r @ adjoint(gr) - adjoint(gq) @ q)
    inner = gq + q @ (m + adjoint(m))
    return inner @ np.linalg.inv(adjoint(r))


def _qr_vjp(ct: Any, y: Any, a: Any) -> Any:
    """Return the cotangent of a QR factorisation.

    A wide matrix is taken apart as [x | z] with x = q u and r = [u | qᴴ z].
    """
    (gq, gr), (q, r) = ct, y
    m, n = a.shape[-2:]
    if m >= n:
        return (_tall(gq, gr, q, r),)
    z = a[..., m:]
    gu, gv = gr[..., :m], gr[..., m:]
    gx = _tall(gq + z @ adjoint(gv), gu, q, r[..., :m])
    return (np.concatenate([gx, q @ gv], axis=a.ndim - 1),)


QR = define(
    "qr",
    np.linalg.qr,
    _qr_rule,
    "linalg",
    multi=True,
    vjp=_qr_vjp,
    batch=lambda batched, a: tuple(np.linalg.qr(a)),
    source="np.linalg.qr({0})",
    sample=both(
        regular(3, 3), regular(4, 2), regular(2, 2, 4), regular(3, 2, complex=True), regular(2, 3, complex=True)
    ),
    numpy=np.linalg.qr,
    flops=cubic_flops(2),
)


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    a = as_array(a)
    m, n = shape_of(a)[-2:] if len(shape_of(a)) > 1 else stacked(Type(shape_of(a), a.dtype))
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(at_user_line(f"Unrecognized mode '{mode}'"))
    if min(m, n) and mode == "raw":
        return raw(a)
    if min(m, n) and mode == "complete" and m > n:
        return result_class(np.linalg.qr)(*complete(a))
    q, r = apply(QR, (a,))
    return r if mode == "r" else result_class(np.linalg.qr)(q, r)
