"""The gate to the rules about matrix products and factorisations: each function imports one table."""

from __future__ import annotations

from tapec.passes.engine.rule import Rule

__all__ = [
    "gram_products",
    "cholesky_gradient",
    "sums_of_matmul",
    "scaled_matmul",
    "small_matrices",
    "symmetric_cotangents",
    "many_right_hand_sides",
    "triangular_inverses",
    "weighted_products",
]


def gram_products() -> tuple[Rule, ...]:
    from tapec.passes.rules.linalg.sums_of_matmul import GRAM_PRODUCTS

    return GRAM_PRODUCTS


def cholesky_gradient() -> tuple[Rule, ...]:
    from tapec.passes.rules.linalg.cholesky_gradient import CHOLESKY_GRADIENT

    return CHOLESKY_GRADIENT


def sums_of_matmul() -> tuple[Rule, ...]:
    from tapec.passes.rules.linalg.sums_of_matmul import SUMS_OF_MATMUL

    return SUMS_OF_MATMUL


def scaled_matmul() -> tuple[Rule, ...]:
    from tapec.passes.rules.linalg.scaled_matmul import SCALED_MATMUL

    return SCALED_MATMUL


def small_matrices() -> tuple[Rule, ...]:
    from tapec.passes.rules.linalg.small_matrices import SMALL_MATRICES

    return SMALL_MATRICES


def symmetric_cotangents() -> tuple[Rule, ...]:
    from tapec.passes.rules.linalg.symmetric_cotangents import SYMMETRIC_COTANGENTS

    return SYMMETRIC_COTANGENTS


def many_right_hand_sides() -> tuple[Rule, ...]:
    from tapec.passes.rules.linalg.many_right_hand_sides import MANY_RIGHT_HAND_SIDES

    return MANY_RIGHT_HAND_SIDES


def triangular_inverses() -> tuple[Rule, ...]:
    from tapec.passes.rules.linalg.triangular_inverses import TRIANGULAR_INVERSES

    return TRIANGULAR_INVERSES


def weighted_products() -> tuple[Rule, ...]:
    from tapec.passes.rules.linalg.weighted_products import WEIGHTED_PRODUCTS

    return WEIGHTED_PRODUCTS
