"""A lazy pass calls its transform, and so imports it, only for graphs whose ops give the transform something to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapec.ir import Graph, Op
from tapec.passes.engine.value_numbering import heads

__all__ = ["Head", "LazyPass"]

Head = tuple[bool, tuple[Op, ...]]  # whether it is a cotangent; its op, and the ops of its operands


class LazyPass:
    """A pass that leaves graphs without any of the ops `about` as they are, and calls `transform` for the others.

    `transform` is a gate: it imports the module that does the work when it is called. Two further conditions may save
    the call: `on(head)` holds of some operation with one of these ops, and `of(graph)` holds.
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
