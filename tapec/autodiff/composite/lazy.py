"""Import the composites on first use: many programs have nothing that they are about.

`settings.composite = False` turns all of them off: those that reverse mode asks for by the functions here, and all that
`find_composites.shortcut` and the predicates of `composite_rule.py` answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from tapec.autodiff.composite.composite_rule import Shortcut
from tapec.config import settings
from tapec.ir import Node

if TYPE_CHECKING:
    from tapec.autodiff.composite.shared_products import Pairs

__all__ = [
    "cancelling_shifts",
    "end_of_exponentials",
    "end_of_roots",
    "is_exponential",
    "root_of_exponentials",
    "shared_pairs",
]


def end_of_roots(node: Node) -> Shortcut | None:
    from tapec.autodiff.composite.roots_and_powers import end_of_roots

    return end_of_roots(node)


def root_of_exponentials(node: Node) -> Shortcut | None:
    from tapec.autodiff.composite.roots_of_exponentials import root_of_exponentials

    return root_of_exponentials(node)


def end_of_exponentials(node: Node) -> Shortcut | None:
    from tapec.autodiff.composite.exp_and_log import end_of_exponentials

    return end_of_exponentials(node)


def is_exponential(node: Node) -> bool:
    from tapec.autodiff.composite.overflow_safe_exp import is_exponential

    return is_exponential(node)


def shared_pairs(
    nodes: Sequence[Node], active: set[Node], sources: Collection[Node], is_apart: Callable[[Node], bool]
) -> Pairs | None:
    if not settings.composite:
        return None
    from tapec.autodiff.composite.shared_products import shared_pairs

    return shared_pairs(nodes, active, sources, is_apart)


def cancelling_shifts(nodes: Sequence[Node], targets: Collection[Node], sources: Collection[Node]) -> frozenset[Node]:
    if not settings.composite:
        return frozenset()
    from tapec.autodiff.composite.stabilising_shift import cancelling_shifts

    return cancelling_shifts(nodes, targets, sources)
