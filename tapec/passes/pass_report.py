"""A report says what the passes did: nodes before and after, seconds, and which rules fired how often and where."""

from __future__ import annotations

from collections import Counter

from tapec.passes.engine.rewrite import Rewrite

__all__ = ["PassReport", "Report"]


class PassReport:
    """The record of one run of one pass. `rewrites` is empty unless the report was asked to keep them."""

    def __init__(self, name: str, before: int):
        self.name = name
        self.before = self.after = before  # nodes
        self.seconds = 0.0
        self.hits: Counter[str] = Counter()
        self.rewrites: list[Rewrite] = []

    def __str__(self) -> str:
        fired = ", ".join([f"{rule} {n}" for rule, n in self.hits.most_common()])
        return f"{self.name:<10} {self.before:>7} -> {self.after:<7} {1e3 * self.seconds:8.2f} ms  {fired}".rstrip()


class Report:
    """A report is filled by `optimize(graph, report=Report())`; printed, it is a line for each pass.

    `keep=True` keeps each firing of a rule, with the node before and after.
    """

    def __init__(self, keep: bool = False):
        self.keep = keep
        self.passes: list[PassReport] = []

    @property
    def hits(self) -> Counter[str]:
        """Return how often each rule fired, in all passes."""
        return sum([p.hits for p in self.passes], Counter())

    def __str__(self) -> str:
        return "\n".join(map(str, self.passes))
