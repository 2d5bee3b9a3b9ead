"""A table names rules about one subject, and holds or imports them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from tapec.passes.engine.rule import Rule

__all__ = ["Table"]


class Table:
    """The rules called `name`: `source` is a tuple of them, or a function that imports and returns it.

    `about` are ops of which each of the rules asks for one, or for one of another, `outer(inner)`: where a graph has
    none of these, and no rule makes one, nobody needs the table. One that is about nothing is always needed.
    """

    def __init__(self, name: str, source: tuple[Rule, ...] | Callable[[], tuple[Rule, ...]], about: str = ""):
        self.name = name
        self.source = source
        self.about = frozenset(about.split())

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        return self.source() if callable(self.source) else self.source

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __repr__(self) -> str:
        return f"<rules {self.name}>"
