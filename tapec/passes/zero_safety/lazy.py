"""The gate to the pass that guards products, which few programs need."""

from __future__ import annotations

from tapec.ir import Graph

__all__ = ["guards", "multiplies_structural_zeros"]


def guards(graph: Graph) -> Graph:
    from tapec.passes.zero_safety.guard_products import guards

    return guards(graph)


def multiplies_structural_zeros(graph: Graph) -> bool:
    from tapec.passes.zero_safety.guard_products import multiplies_structural_zeros

    return multiplies_structural_zeros(graph)
