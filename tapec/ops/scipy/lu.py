"""Define LU factors with row exchanges, of which lu, lu_factor and lu_solve of scipy.linalg are composed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir import Type
from tapec.ir.param_types import BOOL
from tapec.ops.core.define import define
from tapec.ops.core.op_helpers import adjoint, as_array, both, drawn, lapack_dtype, real_dtype, regular
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import apply
from tapec.ops.scipy.matrix_functions import FACTS, solve_triangular

__all__ = ["LASWP", "LU_FACTOR", "factors", "lu_factor", "swapped"]


# -- rows that change places ------------------------------------------------------------------------------------------
_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}


def _laswp_run(x: Any, piv: Any, back: bool) -> Any:
    from scipy.linalg import lapack

    routine = getattr(lapack, f"{_LETTERS[lapack_dtype(Type(x.shape, x.dtype)).char]}laswp")
    return routine(x, piv, inc=-1 if back else 1)


def _laswp_source(args: tuple[str, ...], node: Any) -> str:
    back = ", inc=-1" if node.param("back") else ""
    return f"scipy.linalg.lapack.{_LETTERS[node.type.dtype.char]}laswp({args[0]}, {args[1]}{back})"


def _laswp_cases(rng: np.random.Generator) -> list[Case]:
    x, piv = rng.standard_normal((4, 2)), np.array([2, 1, 3], np.int32)
    return [Case((x, piv), {"back": False}), Case((x + 1j * x[::-1], piv), {"back": True})]


LASWP = define(
    "scipy.linalg.lapack.laswp",
    _laswp_run,
    lambda x, piv, back: Type(x.shape, lapack_dtype(x)),
    "linalg",
    params={"back": BOOL},
    vjp=lambda ct, y, x, piv, back: (swapped(ct, piv, not back), None),
    linear=(0,),
    source=_laswp_source,
    sample=_laswp_cases,
    facts=FACTS,
)


def swapped(x: Any, piv: Any, back: bool = False) -> Any:
    """Return the rows of a matrix after the k-th was swapped with row piv[k] for each k in turn; or the rows swapped
    back.
    """
    return apply(LASWP, (x, piv), (("back", back),)) if piv.shape[0] else x  # LAPACK refuses an empty piv


# -- factors ----------------------------------------------------------------------------------------------------------
def _factor_run(a: Any) -> Any:
    import scipy.linalg

    return scipy.linalg.lu_factor(a, check_finite=False)


def _factor_rule(a: Type) -> Any:
    return Type(a.shape, lapack_dtype(a)), Type((min(a.shape),), np.dtype(np.int32))


def factors(lu: Any) -> tuple[Any, Any]:
    """The lower factor, with its diagonal of ones, and the upper one."""
    m, n = lu.shape
    k = min(m, n)
    return np.tril(lu[:, :k], -1) + np.eye(m, k, dtype=real_dtype(lu.dtype)), np.triu(lu[:k])


def _factor_vjp(ct: Any, y: Any, a: Any) -> Any:
    """Return the cotangent of a = l u, for the first k rows and columns: l⁻ᴴ (s + t) u⁻ᴴ.

    Here s is the lower triangle of lᴴ ct, and t the upper one of ct uᴴ. Further rows of l are x u⁻¹, further columns of
    u are l⁻¹ x.
    """
    (lu, piv), g = y, ct[0]
    m, n = a.shape
    k = min(m, n)
    l, u = factors(lu)
    l, u, core, to_l, to_u, rest = l[:k], u[:, :k], lu[:k, :k], g[:k, :k], g[:k, :k], []
    if m > n:
        below = _by_upper(g[k:], core)
        to_u, rest = to_u - adjoint(lu[k:]) @ below, [below]
    if n > m:
        beside = solve_triangular(core, g[:, k:], 2, True, True)
        to_l, rest = to_l - beside @ adjoint(lu[:, k:]), [beside]
    inner = np.tril(adjoint(l) @ to_l, -1) + np.triu(to_u @ adjoint(u))
    inner = _by_upper(solve_triangular(core, inner, 2, True, True), core)
    whole = np.concatenate([inner, *rest], 1 if n > m else 0) if rest else inner
    return (swapped(whole, piv, back=True),)


def _by_upper(x: Any, u: Any) -> Any:
    """Return x u⁻ᴴ."""
    return adjoint(solve_triangular(u, adjoint(x)))


LU_FACTOR = define(
    "scipy.linalg.lu_factor",
    _factor_run,
    _factor_rule,
    "linalg",
    multi=True,
    vjp=_factor_vjp,
    source="scipy.linalg.lu_factor({0}, check_finite=False)",
    sample=both(regular(3, 3), regular(4, 2), regular(2, 3), regular(3, 3, complex=True), drawn((1, 1))),
    facts=FACTS,
)


def lu_factor(a: Any) -> tuple[Any, Any]:
    a = as_array(a)
    if a.ndim != 2:
        raise ValueError(at_user_line(f"expected a matrix, got an array of shape {a.shape}. Fix: tapec.vmap for more"))
    return apply(LU_FACTOR, (a,))
