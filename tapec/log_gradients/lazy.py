"""Import on first use what only gradients with loops need."""

from __future__ import annotations

from collections.abc import Collection

from tapec.ir import Graph, Node

__all__ = ["on_arrays"]


def on_arrays(
    graph: Graph, past: Graph | None, slots: dict[Node, int], recorded: Collection[Node]
) -> tuple[Graph, list[int | tuple[int, ...]]]:
    """Return a gradient whose loops go through arrays of recorded values, and where the values of its inputs are."""
    from tapec.log_gradients.arrays_of_rounds import ArraysOfRounds
    from tapec.log_gradients.sums_after_loops import with_sums_after

    return ArraysOfRounds(with_sums_after(graph), past, slots, recorded).program()
