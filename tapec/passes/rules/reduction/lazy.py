"""The gate to the rules about sums, means, variances and layout: each function imports one table."""

from __future__ import annotations

from tapec.passes.engine.rule import Rule

__all__ = [
    "sums_as_matmul",
    "diagonals_and_traces",
    "layout_changes",
    "sums_of_sums",
    "variances",
    "sums_with_other_keepdims",
]


def sums_as_matmul() -> tuple[Rule, ...]:
    from tapec.passes.rules.reduction.sums_as_matmul import SUMS_AS_MATMUL

    return SUMS_AS_MATMUL


def diagonals_and_traces() -> tuple[Rule, ...]:
    from tapec.passes.rules.reduction.diagonals_and_traces import DIAGONALS_AND_TRACES

    return DIAGONALS_AND_TRACES


def layout_changes() -> tuple[Rule, ...]:
    from tapec.passes.rules.reduction.layout_changes import LAYOUT_CHANGES

    return LAYOUT_CHANGES


def sums_of_sums() -> tuple[Rule, ...]:
    from tapec.passes.rules.reduction.sums_of_sums import SUMS_OF_SUMS

    return SUMS_OF_SUMS


def variances() -> tuple[Rule, ...]:
    from tapec.passes.rules.reduction.variance import VARIANCES

    return VARIANCES


def sums_with_other_keepdims() -> tuple[Rule, ...]:
    from tapec.passes.rules.reduction.sums_of_sums import SUMS_WITH_OTHER_KEEPDIMS

    return SUMS_WITH_OTHER_KEEPDIMS
