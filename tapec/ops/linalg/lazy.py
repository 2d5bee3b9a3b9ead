"""Import the rarely used families of this package on first use; list the NumPy functions that each one defines."""

from types import ModuleType

from tapec.ops.core.lazy import family

__all__ = [
    "cholesky_qr",
    "determinants",
    "eigen",
    "einsum",
    "least_squares",
    "norms",
    "solve_and_inv",
    "svd",
    "tensordot",
]


@family("cholesky qr")
def cholesky_qr() -> ModuleType:
    from tapec.ops.linalg import cholesky_qr

    return cholesky_qr


@family("det slogdet")
def determinants() -> ModuleType:
    from tapec.ops.linalg import determinants

    return determinants


@family("eig eigh eigvals eigvalsh")
def eigen() -> ModuleType:
    from tapec.ops.linalg import eigen

    return eigen


@family("einsum einsum_path")
def einsum() -> ModuleType:
    from tapec.ops.linalg import einsum

    return einsum


@family("lstsq pinv")
def least_squares() -> ModuleType:
    from tapec.ops.linalg import least_squares

    return least_squares


@family("cond matrix_norm norm vector_norm")
def norms() -> ModuleType:
    from tapec.ops.linalg import norms

    return norms


@family("inv solve tensorinv tensorsolve")
def solve_and_inv() -> ModuleType:
    from tapec.ops.linalg import solve_and_inv

    return solve_and_inv


@family("matrix_rank svd svdvals")
def svd() -> ModuleType:
    from tapec.ops.linalg import svd

    return svd


@family("tensordot")
def tensordot() -> ModuleType:
    from tapec.ops.linalg import tensordot

    return tensordot
