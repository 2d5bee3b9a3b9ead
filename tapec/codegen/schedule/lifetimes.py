"""Find the last reader of each value: after its line the name of the value is free again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tapec.codegen.common.naming import RESULT, Names, identifier, value_of, wishes_inside
from tapec.codegen.schedule.inlining import Plan
from tapec.ir import Node

__all__ = ["Lifetimes"]


class Lifetimes:
    """The names of the values of one block, while its lines are written; enough for numbers, which share no memory.

    `name` has the name of each value, `last_read` the item that reads it last; `here` is the item whose line is being
    written. `main_value` is the value of the function whose gradient is computed along.
    """

    def __init__(self, plan: Plan, names: Names, name: dict[Node, str]):
        self.plan = plan
        self.names = names
        self.name = name
        names.wished.update(map(identifier, plan.wishes.values()), wishes_inside(plan.nodes))
        self.items: list[Any] = []
        self.main_value: Node | None = None
        self.last_read: dict[Node, int] = {}
        self.here = 0

    def start(self, items: list[Any]) -> None:
        """Find the last reader of each value."""
        self.items = items
        self.main_value = value_of(items)
        leaves, last = self.plan.leaves, self.last_read
        for k, item in enumerate(items):
            for leaf in leaves[item] if type(item) is Node else item.leaves:
                last[leaf] = k

    def free_dead(self, leaves: Sequence[Node], victims: Collection[Node] = ()) -> None:
        """Free the names of values read for the last time."""
        here, last_read = self.here, self.last_read
        for leaf in leaves:
            if last_read.get(leaf) == here:
                last_read[leaf] = -1
                name = self.name.get(leaf)
                if name is not None and name not in self.names.fixed:
                    self.names.release(name)

    def call(self, node: Node) -> str:
        """Name a new value: as the user called it, or by what it is."""
        wish = self.plan.wishes.get(node) or (RESULT if node is self.main_value else None)
        names = self.names
        name = names.take(identifier(wish)) if wish else names.name_value(node, self.name)
        self.name[node] = name
        return name

    def deletions(self) -> Sequence[str]:
        """Return the names that the next line is to `del`: those of large arrays alone."""
        return ()

    def branch(self) -> Lifetimes:
        """Return the state for a path that branches off, and ends by itself."""
        return type(self)(self.plan, self.names.branch(), self.name)

    def join(self, path: Lifetimes) -> None:
        """Add the cost of a path that branched off."""
