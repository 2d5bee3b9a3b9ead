"""Define what only scipy.linalg has: triangular and banded systems, functions of matrices, Sylvester's equation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir import Type
from tapec.ir.param_types import BOOL, INTEGER, SIZES
from tapec.ops.core.define import conj, define
from tapec.ops.core.op_helpers import adjoint, as_array, both, drawn, lapack_dtype, plain_number, real_dtype, regular
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import apply

__all__ = ["EXPM", "LOGM", "SOLVEH_BANDED", "SOLVE_BANDED", "SOLVE_SYLVESTER", "SOLVE_TRIANGULAR", "SQRTM"]

FACTS = {"imports": "scipy.linalg"}


def _linalg(name: str) -> Any:
    """Return a function of scipy.linalg, which is imported when it runs."""

    def call(*args: Any, **kwargs: Any) -> Any:
        import scipy.linalg

        return getattr(scipy.linalg, name)(*args, **kwargs)

    return call


# -- triangular systems -------------------------------------------------------------------------------------------
_ADJOINT = {0: 2, 1: 0, 2: 0}  # solving with Aᴴ: for trans=1, on the conjugate


def _triangular_run(a: Any, b: Any, trans: int, lower: bool, unit_diagonal: bool) -> Any:
    return _linalg("solve_triangular")(a, b, trans, lower, unit_diagonal)


def _system_rule(a: Type, b: Type, **params: Any) -> Type:
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError("expected square matrix")
    if b.ndim not in (1, 2) or a.shape[0] != b.shape[0]:
        raise ValueError(f"shapes of a {a.shape} and b {b.shape} are incompatible")
    return Type(b.shape, lapack_dtype(a, b))


def _triangular_vjp(ct: Any, y: Any, a: Any, b: Any, trans: int, lower: bool, unit_diagonal: bool) -> Any:
    """Return the cotangents of a system; only the triangle that is read has a gradient."""
    inner = conj(a) if trans == 1 else a
    gb = solve_triangular(inner, ct, _ADJOINT[trans], lower, unit_diagonal)
    if trans == 0:
        ga = _outer(gb, conj(y))
    else:
        ga = _outer(conj(y), gb) if trans == 1 else _outer(y, conj(gb))
    keep = 1 if unit_diagonal else 0
    return -(np.tril(ga, -keep) if lower else np.triu(ga, keep)), gb


def _outer(u: Any, v: Any) -> Any:
    """The sum of the outer products of columns."""
    return u[:, None] * v if u.ndim == 1 else u @ np.transpose(v)


def _triangular_source(args: tuple[str, ...], node: Any) -> str:
    given = {"trans": 0, "lower": False, "unit_diagonal": False}
    more = [f", {k}={node.param(k)!r}" for k, default in given.items() if node.param(k) != default]
    return f"scipy.linalg.solve_triangular({args[0]}, {args[1]}{''.join(more)})"


def _triangular_cases(rng: np.random.Generator) -> list[Case]:
    a = regular(3, 3)(rng)[0].inputs[0] + 2 * np.eye(3)
    z = a + 1j * rng.standard_normal((3, 3))
    plain = {"trans": 0, "lower": False, "unit_diagonal": False}
    cases = [Case((a, rng.standard_normal(3)), plain), Case((a, rng.standard_normal((3, 2))), {**plain, "lower": True})]
    cases += [Case((a, rng.standard_normal(3)), {**plain, "trans": 1, "unit_diagonal": True})]
    return cases + [Case((z, z[0]), {**plain, "trans": t, "lower": True}) for t in (0, 1, 2)]


SOLVE_TRIANGULAR = define(
    "scipy.linalg.solve_triangular",
    _triangular_run,
    _system_rule,
    "linalg",
    params={"trans": INTEGER, "lower": BOOL, "unit_diagonal": BOOL},
    vjp=_triangular_vjp,
    source=_triangular_source,
    sample=_triangular_cases,
    facts=FACTS,
)


def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve a x = b for a triangular matrix.

    Parameters
    ----------
    a : array
        The matrix, of which one triangle is read.
    b : array
        The right-hand side, or several as columns.
    trans : int or str, default 0
        0 or "N" for a x = b, 1 or "T" for aᵀ x = b, 2 or "C" for aᴴ x = b.
    lower : bool, default False
        Whether the lower triangle is read.
    unit_diagonal : bool, default False
        Whether the diagonal counts as ones, whatever it holds.
    overwrite_b : bool, default False
        Has no effect; it is here since SciPy has it.
    check_finite : bool, default True
        Has no effect; it is here since SciPy has it.

    Returns
    -------
    array
        The solution, of the shape of b.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> linalg.solve_triangular(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([2.0, 2.0]), lower=True)
    array([1., 1.])

    See Also
    --------
    tapec.scipy.linalg.solve : of any matrix
    tapec.scipy.linalg.cho_solve : of two factors
    """
    trans = plain_number(trans)
    trans = {"N": 0, "T": 1, "C": 2}.get(trans, trans)
    params = (("trans", int(trans)), ("lower", bool(lower)), ("unit_diagonal", bool(unit_diagonal)))
    return apply(SOLVE_TRIANGULAR, (as_array(a), as_array(b)), params)


# -- banded systems -----------------------------------------------------------------------------------------------
def _banded_run(ab: Any, b: Any, l_and_u: tuple[int, int]) -> Any:
    return _linalg("solve_banded")(l_and_u, ab, b)


def _banded_rule(ab: Type, b: Type, l_and_u: tuple[int, int]) -> Type:
    if ab.shape[-1] != b.shape[0]:
        raise ValueError("shapes of ab and b are not compatible.")
    if sum(l_and_u) + 1 != ab.shape[0]:
        raise ValueError("invalid values for the number of lower and upper diagonals: l+u+1 does not equal ab.shape[0]")
    return Type(b.shape, lapack_dtype(ab, b))


def _bands(l_and_u: tuple[int, int], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the row of the matrix for each place of the bands ab, in that place's column, and the mask of places that
    count.
    """
    lower, upper = l_and_u
    rows = np.arange(n) - upper + np.arange(lower + upper + 1)[:, None]
    return np.clip(rows, 0, n - 1), (rows >= 0) & (rows < n)


def _mirrored(ab: Any, l_and_u: tuple[int, int]) -> Any:
    """Return the bands of the transpose: those of the matrix from the last to the first, each moved along."""
    n = ab.shape[1]
    rows, there = _bands(l_and_u[::-1], n)
    band = np.arange(ab.shape[0])[::-1][:, None]
    return np.where(there, ab[np.broadcast_to(band, rows.shape), rows], 0)


def _banded_vjp(ct: Any, y: Any, ab: Any, b: Any, l_and_u: tuple[int, int]) -> Any:
    gb = solve_banded(l_and_u[::-1], conj(_mirrored(ab, l_and_u)), ct)
    rows, there = _bands(l_and_u, ab.shape[1])
    met = gb[rows] * conj(y) if y.ndim == 1 else np.sum(gb[rows] * conj(y), axis=-1)
    return np.where(there, -met, 0), gb


def _banded_cases(rng: np.random.Generator) -> list[Case]:
    ab = rng.standard_normal((3, 5)) + np.array([[0.0], [4.0], [0.0]])
    wide = rng.standard_normal((4, 5)) + np.array([[0.0], [0.0], [5.0], [0.0]])
    cases = [Case((ab, rng.standard_normal(5)), {"l_and_u": (1, 1)})]
    cases += [Case((wide, rng.standard_normal((5, 2))), {"l_and_u": (1, 2)})]
    return [*cases, Case((ab + 0.5j, rng.standard_normal(5) + 1j), {"l_and_u": (1, 1)})]


SOLVE_BANDED = define(
    "scipy.linalg.solve_banded",
    _banded_run,
    _banded_rule,
    "linalg",
    params={"l_and_u": SIZES},
    vjp=_banded_vjp,
    source=lambda args, node: f"scipy.linalg.solve_banded({node.param('l_and_u')}, {args[0]}, {args[1]})",
    sample=_banded_cases,
    facts=FACTS,
)


def solve_banded(
    l_and_u: Any, ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve a x = b for a banded matrix.

    Parameters
    ----------
    l_and_u : pair of int
        How many diagonals there are below the main one, and above.
    ab : array
        The diagonals as rows, the upper ones first: `ab[u + i - j, j]` is `a[i, j]`.
    b : array
        The right-hand side, or several as columns.
    overwrite_ab : bool, default False
        Has no effect; it is here since SciPy has it.
    overwrite_b : bool, default False
        Has no effect; it is here since SciPy has it.
    check_finite : bool, default True
        Has no effect; it is here since SciPy has it.

    Returns
    -------
    array
        The solution, of the shape of b.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> linalg.solve_banded((0, 0), np.array([[2.0, 4.0]]), np.array([2.0, 2.0]))
    array([1. , 0.5])

    See Also
    --------
    tapec.scipy.linalg.solveh_banded : of Hermitian matrices
    """
    lower, upper = l_and_u
    return apply(SOLVE_BANDED, (as_array(ab), as_array(b)), (("l_and_u", (int(lower), int(upper))),))


# -- Hermitian ones, from half of the bands ---------------------------------------------------------------------------
def _hermitian_banded_rule(ab: Type, b: Type, lower: bool) -> Type:
    if ab.ndim != 2 or b.ndim not in (1, 2) or ab.shape[-1] != b.shape[0]:
        raise ValueError("shapes of ab and b are not compatible.")
    return Type(b.shape, lapack_dtype(ab, b))


def _hermitian_banded_vjp(ct: Any, y: Any, ab: Any, b: Any, lower: bool) -> Any:
    """Return cotangents; an element beside the diagonal stands for itself and, conjugated, for the one across."""
    gb = solveh_banded(ab, ct, lower=lower)
    above = ab.shape[0] - 1
    rows, there = _bands((above, 0) if lower else (0, above), ab.shape[1])
    met = gb[rows] * conj(y) + y[rows] * conj(gb)
    met = met if y.ndim == 1 else np.sum(met, axis=-1)
    shares = np.where(rows == np.arange(ab.shape[1]), 0.5, 1.0).astype(real_dtype(ab.dtype))
    return np.where(there, -met * shares, 0), gb


def _hermitian_banded_source(args: tuple[str, ...], node: Any) -> str:
    return f"scipy.linalg.solveh_banded({args[0]}, {args[1]}{', lower=True' if node.param('lower') else ''})"


def _hermitian_banded_cases(rng: np.random.Generator) -> list[Case]:
    two, three = rng.standard_normal((2, 4)) + [[0.0], [5.0]], rng.standard_normal((3, 4)) + [[7.0], [0.0], [0.0]]
    turned = 1j * rng.standard_normal((3, 4)) * [[0.0], [1.0], [1.0]]
    b = rng.standard_normal((4, 2))
    cases = [Case((two, b[:, 0]), {"lower": False}), Case((two[::-1], b), {"lower": True})]
    cases += [Case((three, b), {"lower": True}), Case((three[::-1], b[:, 1]), {"lower": False})]
    return [*cases, Case((three + turned, b + 1j), {"lower": True})]


SOLVEH_BANDED = define(
    "scipy.linalg.solveh_banded",
    lambda ab, b, lower: _linalg("solveh_banded")(ab, b, lower=lower),
    _hermitian_banded_rule,
    "linalg",
    params={"lower": BOOL},
    vjp=_hermitian_banded_vjp,
    source=_hermitian_banded_source,
    sample=_hermitian_banded_cases,
    facts=FACTS,
)


def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve a x = b for a banded matrix that is Hermitian and positive definite.

    Parameters
    ----------
    ab : array
        The diagonals of one half as rows: the upper ones first, or with `lower` the main one and those below it.
    b : array
        The right-hand side, or several as columns.
    overwrite_ab : bool, default False
        Has no effect; it is here since SciPy has it.
    overwrite_b : bool, default False
        Has no effect; it is here since SciPy has it.
    lower : bool, default False
        Which half it is.
    check_finite : bool, default True
        Has no effect; it is here since SciPy has it.

    Returns
    -------
    array
        The solution, of the shape of b.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> linalg.solveh_banded(np.array([[2.0, 4.0]]), np.array([2.0, 2.0]))
    array([1. , 0.5])

    See Also
    --------
    tapec.scipy.linalg.solve_banded : of any banded matrix
    """
    return apply(SOLVEH_BANDED, (as_array(ab), as_array(b)), (("lower", bool(lower)),))


# -- Sylvester's equation -----------------------------------------------------------------------------------------
def _sylvester_vjp(ct: Any, y: Any, a: Any, b: Any, q: Any) -> Any:
    """Return the cotangents of a y + y b = q, where that of q solves the adjoint equation."""
    gq = solve_sylvester(adjoint(a), adjoint(b), ct)
    return -(gq @ adjoint(y)), -(adjoint(y) @ gq), gq


def _sylvester_cases(rng: np.random.Generator) -> list[Case]:
    a, b = rng.standard_normal((3, 3)) + 3 * np.eye(3), rng.standard_normal((2, 2)) + 3 * np.eye(2)
    q = rng.standard_normal((3, 2))
    return [Case((a, b, q)), Case((a + 0.5j, b - 0.3j, q + 1j * q[::-1]))]


SOLVE_SYLVESTER = define(
    "scipy.linalg.solve_sylvester",
    lambda a, b, q: _linalg("solve_sylvester")(a, b, q),
    lambda a, b, q: Type((a.shape[0], b.shape[0]), lapack_dtype(a, b, q)),
    "linalg",
    vjp=_sylvester_vjp,
    source="scipy.linalg.solve_sylvester({0}, {1}, {2})",
    sample=_sylvester_cases,
    facts=FACTS,
)


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Solve the equation a x + x b = q of Sylvester.

    Parameters
    ----------
    a : array
        A square matrix.
    b : array
        A square matrix.
    q : array
        The right-hand side, with as many rows as a and columns as b.

    Returns
    -------
    array
        The solution, of the shape of q.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> linalg.solve_sylvester(np.array([[1.0]]), np.array([[3.0]]), np.array([[8.0]]))
    array([[2.]])

    See Also
    --------
    tapec.scipy.linalg.solve : linear systems
    """
    return apply(SOLVE_SYLVESTER, (as_array(a), as_array(b), as_array(q)))


# -- functions of matrices ----------------------------------------------------------------------------------------
def _derivative(f: Any, a: Any, e: Any) -> Any:
    """Return Df(A) E, by f([[A, E], [0, A]]) = [[f(A), Df(A) E], [0, f(A)]]."""
    n = a.shape[-1]
    block = np.concatenate([np.concatenate([a, e], -1), np.concatenate([np.zeros_like(e), a], -1)], -2)
    return f(block)[..., :n, n:]


def _sqrtm_vjp(ct: Any, y: Any, a: Any) -> Any:
    yh = adjoint(y)
    return (solve_sylvester(yh, yh, ct),)


def logm_of(a):
    """The logarithm of a matrix; SciPy draws vectors for it, and the random numbers of others stay as they are."""
    import scipy.linalg

    state = np.random.get_state(legacy=False)
    try:
        y = scipy.linalg.logm(a)
    finally:
        np.random.set_state(state)
    if np.iscomplexobj(y) and not np.iscomplexobj(a):
        raise ValueError("logm of this matrix is complex. Fix: logm(a.astype(complex))")
    return y


def sqrtm_of(a):
    """The square root of a matrix, which is real where the matrix is."""
    import scipy.linalg

    y = scipy.linalg.sqrtm(a)
    if np.iscomplexobj(y) and not np.iscomplexobj(a):
        raise ValueError("sqrtm of this matrix is complex. Fix: sqrtm(a.astype(complex))")
    return y


def _of_matrix(name: str, sample: Any, helper: Any = None, **derivative: Any) -> Any:
    """Define a function of a matrix, such as `expm`, whose result has the matrix' own dtype.

    A helper is what generated code calls in the place of SciPy's function.
    """
    of, written = (_linalg(name), f"scipy.linalg.{name}") if helper is None else (helper, helper.__name__)

    def source(args: tuple[str, ...], node: Any) -> str:
        # some functions give a wider dtype than their argument has
        exact = f".astype(np.{node.type.dtype})" if node.type.dtype != np.dtype(float) else ""
        return f"{written}({args[0]}){exact}"

    return define(
        f"scipy.linalg.{name}",
        lambda a: np.asarray(of(a), lapack_dtype(Type(a.shape, a.dtype))),
        lambda a: Type(a.shape, lapack_dtype(a)),
        "linalg",
        source=source,
        sample=sample,
        facts=FACTS if helper is None else {"helper": helper},
        **derivative,
    )


def _by_blocks(f: Any) -> dict[str, Any]:
    """Return the derivative rules of f; the adjoint of the derivative is the derivative at the adjoint."""
    return {
        "vjp": lambda ct, y, a: (_derivative(f, adjoint(a), ct),),
        "jvp": lambda ts, y, a: _derivative(f, a, ts[0]),
    }


def _positive(rng: np.random.Generator) -> list[Case]:
    m = rng.standard_normal((2, 2)) * 0.4
    a = m @ m.T + np.eye(2) + 0.1 * m
    return [Case((a,)), Case((a + 0.1j * m,))]


def expm(a: Any) -> Any:
    """Return the exponential of a matrix, or of each of a stack of matrices.

    Parameters
    ----------
    a : array
        Square matrices, in the last two axes.

    Returns
    -------
    array
        The exponentials.

    Raises
    ------
    ValueError
        If they are not square.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> linalg.expm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[1., 1.],
           [0., 1.]])

    See Also
    --------
    tapec.scipy.linalg.logm : the inverse function
    """
    a = as_array(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(at_user_line("expected a square matrix, or a stack of them"))
    return apply(EXPM, (a,))


def logm(a: Any) -> Any:
    """Return the logarithm of a matrix.

    Parameters
    ----------
    a : array
        A square matrix.

    Returns
    -------
    array
        The logarithm.

    Raises
    ------
    ValueError
        If the matrix is not square, or real with a logarithm that is complex.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> np.abs(linalg.logm(np.eye(2)))
    array([[0., 0.],
           [0., 0.]])

    See Also
    --------
    tapec.scipy.linalg.expm : the inverse function
    """
    return apply(LOGM, (_square(a),))


def sqrtm(a: Any) -> Any:
    """Return the principal square root of a matrix.

    Parameters
    ----------
    a : array
        A square matrix.

    Returns
    -------
    array
        The root.

    Raises
    ------
    ValueError
        If the matrix is not square, or real with a root that is complex.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import linalg
    >>> linalg.sqrtm(np.array([[4.0, 0.0], [0.0, 9.0]]))
    array([[2., 0.],
           [0., 3.]])

    See Also
    --------
    tapec.scipy.linalg.cholesky : a root of another kind
    """
    return apply(SQRTM, (_square(a),))


def _square(a: Any) -> Any:
    a = as_array(a)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(at_user_line("expected a square matrix"))
    return a


EXPM = _of_matrix("expm", both(drawn((3, 3)), drawn((2, 2, 2)), drawn((2, 2), complex=True)), **_by_blocks(expm))
LOGM = _of_matrix("logm", lambda rng: _positive(rng)[:1], logm_of, **_by_blocks(logm))
SQRTM = _of_matrix("sqrtm", _positive, sqrtm_of, vjp=_sqrtm_vjp)
