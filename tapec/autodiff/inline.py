"""A graph written out inside of another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tapec.ir import CONSTANT, Builder, Graph, Node

__all__ = ["copy_into"]


def copy_into(
    builder: Builder,
    graph: Graph,
    inputs: tuple[Node, ...],
    merge: bool = True,
    turns: Mapping[Node, Any] | None = None,
) -> list[Node]:
    """Add a graph's nodes to a builder with these nodes in place of its inputs; gives its outputs.

    With `merge`, nodes that the builder has already are found again, if the same `turns` were taken before those whose
    shapes hang on values; without, every one is new.
    """
    known: dict[Node, Node] = dict(zip(graph.inputs, inputs, strict=True))
    for node in graph.nodes:
        if node.op is CONSTANT:
            known[node] = builder.constant(node.value, node.name)
            continue
        new = tuple([known[i] for i in node.inputs])
        moved = node if new == node.inputs else node.with_inputs(new)
        known[node] = builder.add(moved, turns and turns.get(node)) if merge else builder.append(moved)
    return [known[o] for o in graph.outputs]
