"""`StableNumbers` writes several graphs so that a value that more than one of them computes has one number in all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tapec.ir.bare_graph import BareGraph
from tapec.ir.node import CONSTANT, Node, is_literal
from tapec.ir.text.printer import print_graph

__all__ = ["StableNumbers"]


class StableNumbers:
    """Gives numbers to values without a name; texts of the graphs before and after a pass then differ where it was."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}  # what computes a value -> a key for it
        self._numbers: dict[int, int] = {}  # that key -> the number in the texts
        self._next = 0

    def text(self, graph: BareGraph) -> str:
        """The text of a graph, which reads back as the one that `print_graph` writes."""
        table: list[int] = []
        used: set[int] = set()
        for key in self._unnamed(graph):
            number = self._numbers.get(key)
            if number is None or number in used:  # values that are equal twice in one graph need two numbers
                number, self._next = self._next, self._next + 1
                self._numbers.setdefault(key, number)
            used.add(number)
            table.append(number)
        text = print_graph(graph)
        start = text.rfind("\ngraph") + 1  # graphs that are called stand before it, with numbers of their own
        return text[:start] + re.sub(r"%(\d+)\b", lambda m: f"%{table[int(m.group(1))]}", text[start:])

    def _unnamed(self, graph: BareGraph) -> Iterator[int]:
        """Yield a key for each node without a name, in the order of the text; equal values have equal keys."""
        known = self._known
        value: dict[Node, int] = {}
        for position, node in enumerate(graph.inputs):
            value[node] = known.setdefault(("input", node.name or position), len(known))
            if node.name is None:
                yield value[node]
        for node in graph.nodes:
            what = repr(node.value) if node.op is CONSTANT else repr(node.given)
            key = (node.op.name, what, str(node.type), *[value.get(i) for i in node.inputs])
            value[node] = known.setdefault(key, len(known))
            if not is_literal(node) and node.name is None:
                yield value[node]
