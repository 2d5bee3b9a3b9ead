"""Use counts say how often each node is used by what will be left of a graph, while nodes come and go."""

from __future__ import annotations

from collections import Counter
from itertools import chain

from tapec.ir import Graph, Node

__all__ = ["Uses"]


class Uses:
    """Counts of uses. What loses its last use no longer uses its own operands; what is used again does.

    While a rule makes the replacement of a node, that node and what the pattern saw below it are loosened: they do not
    count, but nothing below the pattern goes before it is known what the replacement uses. So each node goes once.
    """

    __slots__ = ("_count", "_gone")

    def __init__(self, graph: Graph):
        operands = chain.from_iterable([node.inputs for node in graph.nodes])
        self._count: dict[Node, int] = Counter(chain(operands, graph.outputs))
        self._gone: set[Node] = set()

    def of(self, node: Node) -> int:
        return self._count.get(node, 0)

    def add(self, node: Node, n: int) -> None:
        """A node gets n more uses."""
        self._count[node] = self._count.get(node, 0) + n
        if node in self._gone:
            self._gone.remove(node)
            self.take(node)

    def take(self, node: Node) -> None:
        """A node begins to use its operands."""
        count, gone = self._count, self._gone
        stack = [node]
        while stack:
            for i in stack.pop().inputs:
                count[i] = count.get(i, 0) + 1
                if i in gone:
                    gone.remove(i)
                    stack.append(i)

    def drop(self, node: Node) -> None:
        """A node no longer uses its operands."""
        count, gone = self._count, self._gone
        stack = [node]
        while stack:
            for i in stack.pop().inputs:
                count[i] -= 1
                if not count[i]:
                    gone.add(i)
                    stack.append(i)

    def forget(self, node: Node) -> None:
        """A node that was made and is not wanted."""
        if not self.of(node) and node not in self._gone:
            self._gone.add(node)
            self.drop(node)

    # -- while a rule fires -----------------------------------------------------------------------------------------
    def loosen(self, pattern: list[Node]) -> list[Node]:
        """Take the nodes of a pattern, the root first, out of the count; gives those that only the pattern used."""
        loose: list[Node] = []
        for node in pattern:
            if not loose or not (self._count[node] or node in self._gone):
                self._gone.add(node)
                loose.append(node)
                for i in node.inputs:
                    self._count[i] -= 1
        return loose

    def tighten(self, loose: list[Node]) -> None:
        """The rule did not fire: all is as it was."""
        for node in loose:
            self._gone.discard(node)
            for i in node.inputs:
                self._count[i] += 1

    def let_go(self, loose: list[Node], result: Node) -> None:
        """The rule fired: what it left without use goes, but not the result, nor all that stands below it."""
        count = self._count
        count[result] = count.get(result, 0) + 1
        for node in loose:
            for i in node.inputs:
                if not count[i] and i not in self._gone:
                    self._gone.add(i)
                    self.drop(i)
        count[result] -= 1
