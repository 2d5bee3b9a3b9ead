"""A graph is a whole pure program in SSA form, with its text, its picture, and what the passes keep with it.

Graphs never change once made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tapec.ir.bare_graph import BareGraph
from tapec.ir.node import Node
from tapec.ir.text.notebook_hooks import rich
from tapec.ir.text.printer import print_graph

__all__ = ["Graph"]


class Graph(BareGraph):
    """A pure program: input nodes, all other nodes in an order that can run, output nodes.

    Where inputs are values of another program, `past` is that one: its outputs are what computes them, each in turn.
    """

    __slots__ = ("_heads", "_numbering", "_uses", "past")

    def __init__(self, inputs: Iterable[Node], nodes: Sequence[Node], outputs: Iterable[Node], name: str = "graph"):
        self.inputs = tuple(inputs)  # as `BareGraph` does; a call would cost more, and graphs are made often
        self.nodes = tuple(nodes)
        self.outputs = tuple(outputs)
        self.name = name
        self._fingerprint: str | None = None
        self.past: Graph | None = None
        self._numbering: dict[Any, Node] | None = None  # kept by the passes while they are at work
        self._heads: dict[Any, list[int]] | None = None  # likewise
        self._uses: Any = None  # likewise: `passes.engine.use_counts`

    def __str__(self) -> str:
        return print_graph(self)

    def _repr_svg_(self) -> str:
        return rich("graph_svg", self)

    def __repr__(self) -> str:
        return f"<graph {self.name}: {len(self.inputs)} inputs, {len(self.nodes)} nodes, {len(self.outputs)} outputs>"
