"""Explain why no gradient flows: find where the paths from a source to the targets die."""

from __future__ import annotations

from collections.abc import Sequence

from tapec.autodiff.rule_application import dependents
from tapec.ir import Node

__all__ = ["ancestors", "dead_ends"]


def dead_ends(nodes: Sequence[Node], source: Node, targets: Sequence[Node]) -> list[Node]:
    """The nodes that read something differentiable by the source and pass no derivative on, on a way to a target.

    Empty when a path does exist, and when the targets do not use the source at all: `uses` tells these apart.
    """
    active = dependents(nodes, [source])
    if any(t in active for t in targets):
        return []
    needed = ancestors(nodes, targets)
    return [n for n in nodes if n in needed and n not in active and any(i in active for i in n.inputs)]


def ancestors(nodes: Sequence[Node], targets: Sequence[Node]) -> set[Node]:
    """Return everything that the targets are computed from, themselves included."""
    needed = set(targets)
    for node in reversed(nodes):
        if node in needed:
            needed.update(node.inputs)
    return needed
