"""Use counts say how often each node is used by the part of a graph that is still needed, while nodes come and go."""

from __future__ import annotations

from collections import Counter
from itertools import chain

from tapec.ir import Graph, Node

__all__ = ["Uses"]


class Uses:
    """Counts of the uses of each node; a node that loses its last use no longer uses its operands, until it is used
    again.

    While a rule makes the replacement of a node, that node and the nodes of the pattern below it are suspended: they do
    not count, but their operands are not dropped before it is known what the replacement uses. So each node is dropped
    once.
    """

    __slots__ = ("_count", "_unused")

    def __init__(self, graph: Graph):
        operands = chain.from_iterable([node.inputs for node in graph.nodes])
        self._count: dict[Node, int] = Counter(chain(operands, graph.outputs))
        self._unused: set[Node] = set()

    def of(self, node: Node) -> int:
        return self._count.get(node, 0)

    def add(self, node: Node, n: int) -> None:
        """Add n uses of a node."""
        self._count[node] = self._count.get(node, 0) + n
        if node in self._unused:
            self._unused.remove(node)
            self.use_operands(node)

    def use_operands(self, node: Node) -> None:
        """Let a node begin to use its operands, and those again theirs."""
        count, unused = self._count, self._unused
        stack = [node]
        while stack:
            for i in stack.pop().inputs:
                count[i] = count.get(i, 0) + 1
                if i in unused:
                    unused.remove(i)
                    stack.append(i)

    def drop_operands(self, node: Node) -> None:
        """Let a node no longer use its operands; an operand without another use drops its own."""
        count, unused = self._count, self._unused
        stack = [node]
        while stack:
            for i in stack.pop().inputs:
                count[i] -= 1
                if not count[i]:
                    unused.add(i)
                    stack.append(i)

    def drop_if_unused(self, node: Node) -> None:
        """Drop a node that was made and is not wanted, if nothing uses it."""
        if not self.of(node) and node not in self._unused:
            self._unused.add(node)
            self.drop_operands(node)

    # -- while a rule fires -----------------------------------------------------------------------------------------
    def suspend(self, pattern: list[Node]) -> list[Node]:
        """Take the nodes of a pattern, the root first, out of the count; return those that only the pattern used."""
        suspended: list[Node] = []
        for node in pattern:
            if not suspended or not (self._count[node] or node in self._unused):
                self._unused.add(node)
                suspended.append(node)
                for i in node.inputs:
                    self._count[i] -= 1
        return suspended

    def restore(self, suspended: list[Node]) -> None:
        """Undo `suspend`, since the rule did not fire."""
        for node in suspended:
            self._unused.discard(node)
            for i in node.inputs:
                self._count[i] += 1

    def replace(self, suspended: list[Node], result: Node) -> None:
        """Drop what a rule that fired left without use, but not the result of the rule, nor what the result uses."""
        count = self._count
        count[result] = count.get(result, 0) + 1
        for node in suspended:
            for i in node.inputs:
                if not count[i] and i not in self._unused:
                    self._unused.add(i)
                    self.drop_operands(i)
        count[result] -= 1
