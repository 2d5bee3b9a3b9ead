"""The gate to the rules about indexing, slicing, scattering and masks: each function imports one table."""

from __future__ import annotations

from tapec.passes.engine.rule import Rule

__all__ = [
    "sums_of_selected",
    "cleared_parts",
    "cumsum_ends",
    "read_after_write",
    "scattered_lines",
    "masks",
    "part_updates",
    "sums_of_parts",
    "scatter_products",
    "bounds_and_where",
    "slices",
]


def sums_of_selected() -> tuple[Rule, ...]:
    from tapec.passes.rules.selection.sums_of_selected import SUMS_OF_SELECTED

    return SUMS_OF_SELECTED


def cumsum_ends() -> tuple[Rule, ...]:
    from tapec.passes.rules.selection.cumsum_ends import CUMSUM_ENDS

    return CUMSUM_ENDS


def read_after_write() -> tuple[Rule, ...]:
    from tapec.passes.rules.selection.read_after_write import READ_AFTER_WRITE

    return READ_AFTER_WRITE


def part_updates() -> tuple[Rule, ...]:
    from tapec.passes.rules.selection.part_updates import PART_UPDATES

    return PART_UPDATES


def cleared_parts() -> tuple[Rule, ...]:
    from tapec.passes.rules.selection.part_updates import CLEARED_PARTS

    return CLEARED_PARTS


def scattered_lines() -> tuple[Rule, ...]:
    from tapec.passes.rules.selection.cumsum_ends import SCATTERED_LINES

    return SCATTERED_LINES


def masks() -> tuple[Rule, ...]:
    from tapec.passes.rules.selection.masks import MASKS

    return MASKS


def sums_of_parts() -> tuple[Rule, ...]:
    from tapec.passes.rules.selection.slices import SUMS_OF_PARTS

    return SUMS_OF_PARTS


def scatter_products() -> tuple[Rule, ...]:
    from tapec.passes.rules.selection.scatter_products import SCATTER_PRODUCTS

    return SCATTER_PRODUCTS


def bounds_and_where() -> tuple[Rule, ...]:
    from tapec.passes.rules.selection.bounds_and_where import BOUNDS_AND_WHERE

    return BOUNDS_AND_WHERE


def slices() -> tuple[Rule, ...]:
    from tapec.passes.rules.selection.slices import SLICES

    return SLICES
