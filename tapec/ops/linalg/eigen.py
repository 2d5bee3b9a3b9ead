"""Define eigenvalues and eigenvectors.

Where eigenvalues coincide, the vectors that belong to them are free to turn among themselves. A loss that does not
depend on that has no cotangent along it, and the term that would be divided by the vanishing gap is a limit: a slope of
the cotangents by the eigenvalues, which `tapec.autodiff.eigen.degenerate_vectors` finds in the program. Without one it
is zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Type
from tapec.ir.flops import cubic_flops
from tapec.ir.param_types import one_of
from tapec.ops.core.define import conj, define
from tapec.ops.core.op_helpers import adjoint, as_array, both, lapack_dtype, real_dtype, result_class, stacked
from tapec.ops.core.sample_domains import Case, any_real
from tapec.ops.core.stand_in import apply, implements
from tapec.ops.core.symbol import is_batch_example, is_symbol
from tapec.ops.layout.diagonals import eye

__all__ = [
    "EIG",
    "EIGH",
    "EIGVALS",
    "EIGVALSH",
    "FINITE",
    "Spectrum",
    "all_real",
    "directions",
    "onto_triangle",
    "quotient",
    "scaled_columns",
    "skew",
    "turned",
]


def reciprocal_gaps(w: Any) -> Any:
    """Return 1 / (w_k - w_j) at (j, k); zero where the two are equal, up to rounding."""
    gaps = differences(w)
    n = w.shape[-1]
    if not n:
        return gaps
    scale = np.max(np.abs(w), axis=-1)[..., None, None]
    apart = np.abs(gaps) > 8 * n * float(np.finfo(w.dtype).eps) * scale
    return np.where(apart, 1.0 / np.where(apart, gaps, 1.0), 0.0)


class Spectrum(NamedTuple):
    """The result of an op that has the values, and the results that have their vectors, each with the axis of its
    vectors.

    The vjp of such an op takes `slopes` of the cotangents of its results by the values, where there are any, and their
    slopes: each as the cotangents are, where the values move in their `directions`.
    """

    values: int
    vectors: dict[int, int]


def directions(n: int) -> np.ndarray:
    """Return how fast each of n values moves: numbers from 1 to 2, those m places apart 0.38 / m apart or more."""
    return 1.0 + 0.6180339887498949 * np.arange(n) % 1.0


def differences(w: Any) -> Any:
    """Return w_k - w_j at (j, k)."""
    return w[..., None, :] - w[..., None]


def alike(w: Any) -> Any:
    """Return where two values are so close that the limit of a quotient by their difference is nearer than the
    quotient.

    By rounding, the quotient has an error of eps / gap; from two slopes, the limit has one of gap². Gaps are measured
    on the values beside them, over which functions such as 1/w change, and on what rounding makes of equal values. No
    wider: a loss that tells the vectors of close values apart has its quotient, and no limit.
    """
    sizes, eps = np.abs(w), float(np.finfo(w.dtype).eps)
    reach = eps**0.5 * sizes + 8 * w.shape[-1] * eps * np.max(sizes, axis=-1, keepdims=True)
    return np.abs(differences(w)) <= np.maximum(reach[..., None, :], reach[..., None])


# Second slopes, which count only as far as there is a gap: at two zeros w ** 1.5 has none, and yet a limit.
FINITE = define(
    "finite",
    lambda x: np.where(np.isfinite(x), x, 0.0),
    lambda t: t,
    "elementwise",
    partials=lambda y, x: (1,),
    source="np.where(np.isfinite({0}), {0}, 0.0)",
    sample=(any_real,),
)


def quotient(xs: Sequence[Any], gaps: Any, steps: Any, small: Any) -> Any:
    """Return x / gap; where the gap is small, the limit from one or two slopes, for an x that vanishes with the gap.

    Where the gaps move by their steps, x at -gap / step is 0 = x - x' gap / step + x'' (gap / step)² / 2.
    """
    x, slope, *second = xs
    if second:
        slope = slope - gaps * (0.5 * apply(FINITE, tuple(second)) / steps)
    return np.where(small, slope / steps, x / np.where(small, 1.0, gaps))


def turned(turns: Sequence[Any], w: Any) -> Any:
    """Return cotangents that turn vectors, divided by the gaps of the values: turn_jk by w_k - w_j.

    Where values are alike the quotients are limits, which the slopes give.
    """
    n = w.shape[-1]
    if len(turns) == 1 or not n:
        return conj(reciprocal_gaps(w)) * turns[0]
    steps = differences(directions(n)) + np.eye(n)
    return quotient(turns, conj(differences(w)), steps.astype(real_dtype(w.dtype)), alike(w))


def skew(x: Any) -> Any:
    """Return the skew-Hermitian part of x, which is the part that a rotation has."""
    return 0.5 * (x - adjoint(x))


def scaled_columns(v: Any, w: Any) -> Any:
    """Return v diag(w)."""
    return v * w[..., None, :]


# -- Hermitian matrices -----------------------------------------------------------------------------------------------
def _spectrum_rule(t: Type, UPLO: str) -> Any:
    shape, dtype = stacked(t), lapack_dtype(t)
    return Type(shape[:-1], real_dtype(dtype)), Type(shape, dtype)


def _eigh_vjp(ct: Any, y: Any, a: Any, UPLO: str, slopes: Sequence[Any] = ()) -> Any:
    (gw, _), (w, v) = ct, y
    vh = adjoint(v)
    turns = [skew(vh @ gv) for _, gv in (ct, *slopes)]
    return (onto_triangle((scaled_columns(v, gw) + v @ turned(turns, w)) @ vh, UPLO),)


def onto_triangle(g: Any, UPLO: str) -> Any:
    """The gradient of a function of one triangle: an element off the diagonal stands for two."""
    both_sides = g + adjoint(g)
    triangle = np.tril(both_sides) if UPLO == "L" else np.triu(both_sides)
    return triangle * (1.0 - 0.5 * eye(g, g.shape[-1], dtype=real_dtype(g.dtype)))


def _uplo(args: tuple[str, ...], node: Any) -> str:
    upper = ', UPLO="U"' if node.param("UPLO") == "U" else ""
    return f"np.linalg.{node.op.name}({args[0]}{upper})"


def _hermitian(*shape: int, complex: bool = False, UPLO: str = "L") -> Any:
    """A Hermitian matrix with eigenvalues well apart."""

    def sample(rng: np.random.Generator) -> list[Case]:
        a = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if complex else 0.0)
        a = 0.3 * (a + np.conj(a.swapaxes(-1, -2))) + np.diag(2.0 * np.arange(shape[-1]))
        return [Case((a,), {"UPLO": UPLO})]

    return sample


_REAL = both(_hermitian(3, 3), _hermitian(2, 2, 2), _hermitian(3, 3, UPLO="U"), _hermitian(1, 1))
EIGH = define(
    "eigh",
    np.linalg.eigh,
    _spectrum_rule,
    "linalg",
    params={"UPLO": one_of("L", "U")},
    multi=True,
    vjp=_eigh_vjp,
    batch=lambda batched, a, UPLO: tuple(np.linalg.eigh(a, UPLO)),
    source=_uplo,
    facts={"spectrum": Spectrum(0, {1: -1})},
    sample=_REAL,  # real only: the phase of complex vectors is free
    numpy=np.linalg.eigh,
    flops=cubic_flops(9),
)


def _eigvalsh_vjp(ct: Any, y: Any, a: Any, UPLO: str) -> Any:
    _, v = apply(EIGH, (a,), (("UPLO", UPLO),))
    return (onto_triangle(scaled_columns(v, ct) @ adjoint(v), UPLO),)


EIGVALSH = define(
    "eigvalsh",
    np.linalg.eigvalsh,
    lambda t, UPLO: _spectrum_rule(t, UPLO)[0],
    "linalg",
    params={"UPLO": one_of("L", "U")},
    vjp=_eigvalsh_vjp,
    batch=lambda batched, a, UPLO: np.linalg.eigvalsh(a, UPLO),
    facts={"values_of": (0, "eigh", ())},
    source=_uplo,
    sample=both(_REAL, _hermitian(3, 3, complex=True)),
    numpy=np.linalg.eigvalsh,
    flops=cubic_flops(9),
)


def _checked_uplo(UPLO: str) -> str:
    if UPLO.upper() not in ("L", "U"):
        raise ValueError(at_user_line("UPLO argument must be 'L' or 'U'"))
    return UPLO.upper()


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    return result_class(np.linalg.eigh)(*apply(EIGH, (as_array(a),), (("UPLO", _checked_uplo(UPLO)),)))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    return apply(EIGVALSH, (as_array(a),), (("UPLO", _checked_uplo(UPLO)),))


# -- general matrices -------------------------------------------------------------------------------------------------
def _complex_dtype(t: Type) -> np.dtype:
    return np.result_type(lapack_dtype(t), np.complex64)


def _eig_run(a: Any) -> Any:
    """Always complex, so that the type does not hang on values."""
    w, v = np.linalg.eig(a)
    return (w, v) if a.dtype.kind == "c" else (w + 0j, v + 0j)


def _eig_vjp(ct: Any, y: Any, a: Any, slopes: Sequence[Any] = ()) -> Any:
    """Return the cotangent of eig, whose vectors have length one and any phase."""
    (gw, _), (w, v) = ct, y
    vh = adjoint(v)
    products = vh @ v
    turns = [_at_length_one(vh @ gv, products) for _, gv in (ct, *slopes)]
    inner = turned(turns, w) + eye(w, w.shape[-1], dtype=real_dtype(w.dtype)) * gw[..., None, :]
    return (np.linalg.solve(vh, inner @ vh),)


def _at_length_one(turn: Any, products: Any) -> Any:
    return turn - products * np.real(np.diagonal(turn, axis1=-2, axis2=-1))[..., None, :]


def _as_complex(name: str) -> Any:
    def source(args: tuple[str, ...], node: Any) -> str:
        call = f"np.linalg.{name}({args[0]})"
        if node.inputs[0].type.dtype.kind == "c":
            return call
        return f"[x + 0j for x in {call}]" if name == "eig" else f"{call} + 0j"

    return source


def _general(*shape: int, complex: bool = False) -> Any:
    """A matrix with eigenvalues well apart."""

    def sample(rng: np.random.Generator) -> list[Case]:
        a = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if complex else 0.0)
        return [Case((0.2 * a + np.diag(2.0 * np.arange(shape[-1])),), {})]

    return sample


def _spin(rng: np.random.Generator) -> list[Case]:
    """A real matrix with a pair of complex eigenvalues."""
    return [Case((np.array([[0.3, -1.2], [1.5, 0.1]]) + 0.1 * rng.standard_normal((2, 2)),), {})]


def _eig_batch(batched: tuple[bool, ...], a: Any) -> Any:
    return apply(EIG, (a,))


def _eigvals_batch(batched: tuple[bool, ...], a: Any) -> Any:
    return apply(EIGVALS, (a,))


EIG = define(
    "eig",
    _eig_run,
    lambda t: (Type(stacked(t)[:-1], _complex_dtype(t)), Type(stacked(t), _complex_dtype(t))),
    "linalg",
    multi=True,
    vjp=_eig_vjp,
    batch=_eig_batch,
    source=_as_complex("eig"),
    facts={"spectrum": Spectrum(0, {1: -1})},
    sample=both(_general(3, 3), _general(2, 2, 2)),
    numpy=np.linalg.eig,
    flops=cubic_flops(9),
)


def _eigvals_vjp(ct: Any, y: Any, a: Any) -> Any:
    _, v = apply(EIG, (a,))
    vh = adjoint(v)
    return (np.linalg.solve(vh, ct[..., None] * vh),)


EIGVALS = define(
    "eigvals",
    lambda a: np.linalg.eigvals(a) if a.dtype.kind == "c" else np.linalg.eigvals(a) + 0j,
    lambda t: Type(stacked(t)[:-1], _complex_dtype(t)),
    "linalg",
    vjp=_eigvals_vjp,
    batch=_eigvals_batch,
    source=_as_complex("eigvals"),
    facts={"values_of": (0, "eig", ())},
    sample=both(_general(3, 3), _spin, _general(2, 2, 2), _general(3, 3, complex=True)),
    numpy=np.linalg.eigvals,
    flops=cubic_flops(9),
)


_ALWAYS_COMPLEX = np.linalg.eigvals(np.eye(1)).dtype.kind == "c"  # since NumPy 2.5 np.linalg.eigvals is always complex


def all_real(a: Any, w: Any) -> bool:
    """Return whether all eigenvalues of a real matrix are real, which is a fact about values.

    For a batch the answer is no: complex numbers hold the eigenvalues of all examples.
    """
    return a.dtype.kind != "c" and not is_symbol(w) and not is_batch_example(w) and bool(np.all(np.imag(w) == 0))


@implements(np.linalg.eig)
def eig(a: Any) -> Any:
    a = as_array(a)
    w, v = apply(EIG, (a,))
    if not _ALWAYS_COMPLEX and all_real(a, w):
        w, v = np.real(w), np.real(v)
    return result_class(np.linalg.eig)(w, v)


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    a = as_array(a)
    w = apply(EIGVALS, (a,))
    return np.real(w) if not _ALWAYS_COMPLEX and all_real(a, w) else w
