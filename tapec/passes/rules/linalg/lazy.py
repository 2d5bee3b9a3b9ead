"""The gate to the rules about matrix products and factorisations: each function imports one table."""

from __future__ import annotations

from tapec.passes.engine.rule import Rule

__all__ = [
    "chains",
    "cholesky_gradients",
    "lines_added",
    "products",
    "singles",
    "symmetries",
    "systems",
    "triangles",
    "weights",
]


def chains() -> tuple[Rule, ...]:
    from tapec.passes.rules.linalg.sums_of_matmul import CHAINS

    return CHAINS


def cholesky_gradients() -> tuple[Rule, ...]:
    from tapec.passes.rules.linalg.cholesky_gradient import CHOLESKY_GRADIENTS

    return CHOLESKY_GRADIENTS


def lines_added() -> tuple[Rule, ...]:
    from tapec.passes.rules.linalg.sums_of_matmul import LINES_ADDED

    return LINES_ADDED


def products() -> tuple[Rule, ...]:
    from tapec.passes.rules.linalg.scaled_matmul import PRODUCTS

    return PRODUCTS


def singles() -> tuple[Rule, ...]:
    from tapec.passes.rules.linalg.small_matrices import SINGLES

    return SINGLES


def symmetries() -> tuple[Rule, ...]:
    from tapec.passes.rules.linalg.symmetric_cotangents import SYMMETRIES

    return SYMMETRIES


def systems() -> tuple[Rule, ...]:
    from tapec.passes.rules.linalg.many_right_hand_sides import SYSTEMS

    return SYSTEMS


def triangles() -> tuple[Rule, ...]:
    from tapec.passes.rules.linalg.triangular_inverses import TRIANGLES

    return TRIANGLES


def weights() -> tuple[Rule, ...]:
    from tapec.passes.rules.linalg.weighted_products import WEIGHTS

    return WEIGHTS
