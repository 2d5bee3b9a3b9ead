"""A lazy pass looks at the ops of a graph, and calls its transform only where that could find something to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapec.ir import Graph, Op
from tapec.passes.engine.value_numbering import heads

__all__ = ["Head", "LazyPass"]

Head = tuple[bool, tuple[Op, ...]]  # of cotangents? the op, and those of its operands


class LazyPass:
    """The pass `transform`, which leaves graphs without the ops `about` as they are.

    `transform` is a gate: it imports the module that does the work when it is called. `on` tells more of an operation
    of these ops, `of` of a graph that has some.
    """

    def __init__(
        self,
        does: str,
        transform: Callable[[Graph], Graph],
        about: str,
        on: Callable[[Head], bool] | None = None,
        of: Callable[[Graph], Any] | None = None,
    ):
        self.__doc__ = does
        self.transform = transform
        self.about = frozenset(about.split())
        self.on = on
        self.of = of

    def __call__(self, graph: Graph) -> Graph:
        about, on = self.about, self.on
        if not any([head[1][0].name in about and (on is None or on(head)) for head in heads(graph)]):
            return graph
        if self.of is not None and not self.of(graph):
            return graph
        return self.transform(graph)
