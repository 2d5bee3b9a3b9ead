"""Gates to the ops that need SciPy: each function here imports its family when it is first called."""

from __future__ import annotations

from typing import Any

from tapec.ir import Op

__all__ = ["sparse_product"]


def sparse_product(op: Op, x: Any, matrix: Any, swapped: bool) -> Any:
    """Apply an operator to a tensor and a matrix of scipy.sparse, see `sparse_products.product`."""
    from tapec.ops.scipy.sparse_products import product

    return product(op, x, matrix, swapped)
