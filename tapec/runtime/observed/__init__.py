"""This package looks at compilations step by step: it writes graphs to a folder, and compares what they compute.

This file is the gate: the first compilation that somebody looks at imports the rest, which most programs never need.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tapec.ir import Graph, Node
    from tapec.runtime.compile import CompiledGraph

__all__ = ["generate_observed"]


def generate_observed(wanted: CompiledGraph, recorded: Graph | None, at_hand: Mapping[Node, Any]) -> None:
    """Generate the code that is wanted as `settings.dump` and `settings.verify` ask for; none comes from disk."""
    from tapec.runtime.observed.compilation import generate_observed

    generate_observed(wanted, recorded, at_hand)
