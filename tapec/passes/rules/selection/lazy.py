"""The gate to the rules about indexing, slicing, scattering and masks: each function imports one table."""

from __future__ import annotations

from tapec.passes.engine.rule import Rule

__all__ = ["chosen_sums", "ends", "indexing", "lines", "masks", "parts", "places", "selections", "slices"]


def chosen_sums() -> tuple[Rule, ...]:
    from tapec.passes.rules.selection.sums_of_selected import CHOSEN_SUMS

    return CHOSEN_SUMS


def ends() -> tuple[Rule, ...]:
    from tapec.passes.rules.selection.cumsum_ends import ENDS

    return ENDS


def indexing() -> tuple[Rule, ...]:
    from tapec.passes.rules.selection.read_after_write import INDEXING

    return INDEXING


def lines() -> tuple[Rule, ...]:
    from tapec.passes.rules.selection.cumsum_ends import LINES

    return LINES


def masks() -> tuple[Rule, ...]:
    from tapec.passes.rules.selection.masks import MASKS

    return MASKS


def parts() -> tuple[Rule, ...]:
    from tapec.passes.rules.selection.slices import PARTS

    return PARTS


def places() -> tuple[Rule, ...]:
    from tapec.passes.rules.selection.scatter_products import PLACES

    return PLACES


def selections() -> tuple[Rule, ...]:
    from tapec.passes.rules.selection.bounds_and_where import SELECTIONS

    return SELECTIONS


def slices() -> tuple[Rule, ...]:
    from tapec.passes.rules.selection.slices import SLICES

    return SLICES
