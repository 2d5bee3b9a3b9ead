"""Tables of rules, each in a module that is imported when a graph has an operation that the table is about."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from importlib import import_module

from tapec.passes.engine.rule import Rule

__all__ = ["Table"]


class Table:
    """The rules called `name` in a module of `tapec.passes.rules`.

    `about` are ops of which each of the rules asks for one, or for one of another, `outer(inner)`: where a graph has
    none of these, and no rule makes one, nobody needs the table. One that is about nothing is always needed.
    """

    def __init__(self, module: str, name: str, about: str = ""):
        self.module = module
        self.name = name
        self.about = frozenset(about.split())

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        found: tuple[Rule, ...] = getattr(import_module(f"tapec.passes.rules.{self.module}"), self.name)
        return found

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __repr__(self) -> str:
        return f"<rules {self.name}>"
