"""The gate to the rules about sums, means, variances and layout: each function imports one table."""

from __future__ import annotations

from tapec.passes.engine.rule import Rule

__all__ = ["contractions", "diagonals", "layout", "reductions", "spreads", "twins"]


def contractions() -> tuple[Rule, ...]:
    from tapec.passes.rules.reduction.sums_as_matmul import CONTRACTIONS

    return CONTRACTIONS


def diagonals() -> tuple[Rule, ...]:
    from tapec.passes.rules.reduction.diagonals_and_traces import DIAGONALS

    return DIAGONALS


def layout() -> tuple[Rule, ...]:
    from tapec.passes.rules.reduction.layout_changes import LAYOUT

    return LAYOUT


def reductions() -> tuple[Rule, ...]:
    from tapec.passes.rules.reduction.sums_of_sums import REDUCTIONS

    return REDUCTIONS


def spreads() -> tuple[Rule, ...]:
    from tapec.passes.rules.reduction.variance import SPREADS

    return SPREADS


def twins() -> tuple[Rule, ...]:
    from tapec.passes.rules.reduction.sums_of_sums import TWINS

    return TWINS
