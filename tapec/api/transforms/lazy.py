"""This gate imports, when first used, sparse Jacobians, which bring colouring and scipy.sparse."""

from __future__ import annotations

from typing import Any

__all__ = ["sparse_hessian", "sparse_jacobian"]


def sparse_jacobian(function: Any, *options: Any) -> Any:
    from tapec.api.transforms import sparse_jacobians

    return sparse_jacobians.sparse_jacobian(function, *options)


def sparse_hessian(function: Any, *options: Any) -> Any:
    from tapec.api.transforms import sparse_jacobians

    return sparse_jacobians.sparse_hessian(function, *options)
