"""A table names the rules about one subject, and imports them when a graph needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tapec.locks import computed_once
from tapec.passes.engine.rule import Rule

__all__ = ["Table"]


class Table:
    """A named tuple of rules: `source` is the tuple, or a function that imports and returns it.

    `about` names ops, as "where scatter", or an op on another, as "sum(matmul)": each rule of the table needs one of
    these. As long as no graph has one, and no rule makes one, the table is not imported. Without `about` a table is
    always needed.
    """

    def __init__(self, name: str, source: tuple[Rule, ...] | Callable[[], tuple[Rule, ...]], about: str = ""):
        self.name = name
        self.source = source
        self.about = frozenset(about.split())

    @computed_once
    def rules(self) -> tuple[Rule, ...]:
        return self.source() if callable(self.source) else self.source

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __repr__(self) -> str:
        return f"<rules {self.name}>"
