"""Define the pseudo-inverse and least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir import Type
from tapec.ir.flops import cubic_flops
from tapec.ir.param_types import BOOL, NUMBER, optional
from tapec.ops.core.define import define
from tapec.ops.core.op_helpers import (
    adjoint,
    as_array,
    both,
    lapack_dtype,
    real_dtype,
    regular,
    source_of_value,
    stacked,
)
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import apply, implements
from tapec.ops.layout.diagonals import eye
from tapec.ops.linalg.eigen import onto_triangle
from tapec.ops.linalg.svd import svdvals_vjp

__all__ = ["LSTSQ", "PINV"]


# -- pseudo-inverse ---------------------------------------------------------------------------------------------------
def _pinv_vjp(ct: Any, y: Any, a: Any, rcond: float | None, hermitian: bool) -> Any:
    """Return the cotangent by Golub and Pereyra's formula.

    It holds for changes that keep the rank; for others there is no derivative.
    """
    if hermitian:  # NumPy reads the lower triangle only, so only that has a gradient
        below = np.tril(a, -1)
        whole = below + adjoint(below) + np.real(np.diagonal(a, axis1=-2, axis2=-1))[..., None] * eye(a, a.shape[-1])
        return (onto_triangle(_pinv_vjp(ct, y, whole, rcond, False)[0], "L"),)
    ph = adjoint(y)
    gh = adjoint(ct)
    left = gh @ y @ ph
    right = ph @ y @ gh
    return (-(ph @ ct @ ph) + (left - a @ y @ left) + (right - right @ y @ a),)


def _pinv_rule(t: Type, rcond: float | None, hermitian: bool) -> Type:
    *rest, m, n = stacked(t, square=False)
    return Type((*rest, n, m), lapack_dtype(t))


def _pinv_run(a: Any, rcond: float | None, hermitian: bool) -> Any:
    bound = {} if rcond is None else {"rcond": rcond}
    return np.linalg.pinv(a, hermitian=hermitian, **bound)


def _pinv_source(args: tuple[str, ...], node: Any) -> str:
    tail = ", hermitian=True" if node.param("hermitian") else ""
    return f"np.linalg.pinv({args[0]}{_rcond(node.param('rcond'))}{tail})"


PINV = define(
    "pinv",
    _pinv_run,
    _pinv_rule,
    "linalg",
    params={"rcond": optional(NUMBER), "hermitian": BOOL},
    vjp=_pinv_vjp,
    batch=lambda batched, a, **params: _pinv_run(a, **params),
    source=_pinv_source,
    sample=both(
        regular(3, 3, rcond=None, hermitian=False),
        regular(3, 2, rcond=1e-10, hermitian=False),
        regular(2, 2, 3, rcond=None, hermitian=False),
        regular(2, 3, rcond=None, hermitian=False, complex=True),
        regular(3, 3, rcond=None, hermitian=True, symmetric=True),
        regular(2, 2, rcond=None, hermitian=True, symmetric=True, complex=True),
    ),
    numpy=np.linalg.pinv,
    flops=cubic_flops(14),
)


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Any:
    """Return the pseudo-inverse. Without a bound NumPy takes its own; `rtol=None` is the bound of the array API."""
    a = as_array(a)
    if rtol is not np._NoValue:
        if rcond is not None:
            raise ValueError(at_user_line("`rtol` and `rcond` can't be both set."))
        rcond = max(a.shape[-2:]) * np.finfo(a.dtype).eps if rtol is None else rtol
    params = (("rcond", None if rcond is None else float(rcond)), ("hermitian", bool(hermitian)))
    return apply(PINV, (a,), params)


# -- least squares ----------------------------------------------------------------------------------------------------
def _lstsq_rule(a: Type, b: Type, rcond: float | None) -> Any:
    """Return the types of the results for a matrix of full rank; otherwise there are no residuals."""
    m, n = stacked(a, square=False)
    dtype = lapack_dtype(a, b)
    if b.ndim not in (1, 2):
        raise np.linalg.LinAlgError(at_user_line(f"{b.ndim}-dimensional array given. Array must be two-dimensional"))
    if b.shape[0] != m:
        raise np.linalg.LinAlgError(at_user_line("Incompatible dimensions"))
    count = (b.shape[1] if b.ndim == 2 else 1) if m > n else 0
    real = real_dtype(dtype)
    return Type((n, *b.shape[1:]), dtype), Type((count,), real), Type((), np.int32), Type((min(m, n),), real)


def _lstsq_vjp(ct: Any, y: Any, a: Any, b: Any, rcond: float | None) -> Any:
    """Return cotangents of x = a⁺ b, which moves as the pseudo-inverse does; the residuals |b - a x|² do not move with
    x.
    """
    (gx, gr, _, gs), (x, residuals, _, _) = ct, y
    if b.ndim == 1:
        ga, gb = _lstsq_columns(gx[:, None], gr, x[:, None], residuals, a, b[:, None], rcond)
        gb = gb[:, 0]
    else:
        ga, gb = _lstsq_columns(gx, gr, x, residuals, a, b, rcond)
    return ga + svdvals_vjp(gs, None, a)[0], gb


def _lstsq_columns(gx: Any, gr: Any, x: Any, residuals: Any, a: Any, b: Any, rcond: float | None) -> Any:
    """Return the cotangents of a and b for right-hand sides in columns, from those of the solution and of the
    residuals.
    """
    p = apply(PINV, (a,), (("rcond", rcond), ("hermitian", False)))
    ph = adjoint(p)
    gb = ph @ gx
    rest = b - a @ x
    spread = adjoint(gx) @ p @ ph
    back = ph @ x @ adjoint(gx)
    ga = -(gb @ adjoint(x)) + rest @ spread + (back - back @ p @ a)
    if residuals.shape[0]:
        pull = 2.0 * rest * gr
        ga, gb = ga - pull @ adjoint(x), gb + pull
    return ga, gb


def _lstsq_run(a: Any, b: Any, rcond: float | None) -> Any:
    x, residuals, rank, s = np.linalg.lstsq(a, b, rcond)
    return x, residuals, np.int32(rank), s


def _lstsq_sample(rng: np.random.Generator) -> list[Case]:
    def draw(*shape: int) -> Any:
        return rng.standard_normal(shape)

    return [
        Case((draw(4, 2), draw(4)), {"rcond": None}),
        Case((draw(4, 2), draw(4, 3)), {"rcond": None}),
        Case((draw(2, 4), draw(2)), {"rcond": None}),
        Case((draw(3, 3) + 3 * np.eye(3), draw(3, 2)), {"rcond": 1e-9}),
        Case((draw(4, 2) + 1j * draw(4, 2), draw(4, 2) + 1j * draw(4, 2)), {"rcond": None}),
    ]


LSTSQ = define(
    "lstsq",
    _lstsq_run,
    _lstsq_rule,
    "linalg",
    params={"rcond": optional(NUMBER)},
    multi=True,
    vjp=_lstsq_vjp,
    source=lambda args, node: f"np.linalg.lstsq({args[0]}, {args[1]}{_rcond(node.param('rcond'))})",
    facts={"values_of": (3, "svd", (("full_matrices", False),))},
    sample=_lstsq_sample,
    numpy=np.linalg.lstsq,
    flops=cubic_flops(14),
)


def _rcond(value: float | None) -> str:
    return "" if value is None else f", rcond={source_of_value(value)}"


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    return apply(LSTSQ, (as_array(a), as_array(b)), (("rcond", None if rcond is None else float(rcond)),))
