"""Import each module of ops that need SciPy when one of its ops is first needed."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tapec.ir import Op
from tapec.ops.core.lazy import ops_of_prefix

__all__ = ["sparse_product"]


def sparse_product(op: Op, x: Any, matrix: Any, swapped: bool) -> Any:
    """Apply an operator to a tensor and a matrix of scipy.sparse, see `sparse_products.product`."""
    from tapec.ops.scipy.sparse_products import product

    return product(op, x, matrix, swapped)


def _convolve_nd() -> ModuleType:
    from tapec.ops.scipy import convolve_nd

    return convolve_nd


def _cosine_transforms() -> ModuleType:
    from tapec.ops.scipy import cosine_transforms

    return cosine_transforms


def _lu() -> ModuleType:
    from tapec.ops.scipy import lu

    return lu


def _matrix_functions() -> ModuleType:
    from tapec.ops.scipy import matrix_functions

    return matrix_functions


def _recursive_filter() -> ModuleType:
    from tapec.ops.scipy import recursive_filter

    return recursive_filter


def _sparse_products() -> ModuleType:
    from tapec.ops.scipy import sparse_products

    return sparse_products


ops_of_prefix("scipy.sparse.", _sparse_products)
ops_of_prefix("scipy.fft.", _cosine_transforms)
ops_of_prefix("scipy.linalg.", _matrix_functions, _lu)
ops_of_prefix("scipy.signal.", _convolve_nd, _recursive_filter)
