"""What stays within the fence, and tables that show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

__all__ = ["CALLS", "MEMORY", "TIMES", "Cell", "Limit", "beyond", "decimal", "markdown", "number", "size"]


class Limit(NamedTuple):
    """How much worse NEW may be: a share of OLD, or `least` in the unit of the measure, whichever is more."""

    share: float
    least: float = 0.0


CALLS = Limit(0.05)
MEMORY = Limit(0.20, 2048.0)  # bytes: a dictionary that grows is no peak
TIMES = Limit(0.20)


class Cell(NamedTuple):
    """One measure in both commits; None where it failed."""

    old: float | None
    new: float | None
    limit: Limit

    def change(self) -> float:
        """By which share NEW is more than OLD, where that is more than the limit allows; else 0."""
        if self.old is None or self.new is None:
            return 0.0
        more = self.new - self.old
        if abs(more) <= max(self.limit.share * self.old, self.limit.least):
            return 0.0
        return more / self.old if self.old else float("inf")

    @property
    def beyond(self) -> bool:
        """Is NEW worse than the limit allows? A measure that fails in OLD allows everything."""
        return self.old is not None and (self.new is None or self.change() > 0.0)


def number(value: float) -> str:
    return f"{value:.0f}"


def size(value: float) -> str:
    """Bytes, to three digits.

    >>> size(812), size(38_400), size(8_000_000)
    ('812 B', '38.4 kB', '8 MB')
    """
    for unit, bytes_each in (("MB", 1e6), ("kB", 1e3)):
        if value >= bytes_each:
            return f"{value / bytes_each:.3g} {unit}"
    return f"{value:.0f} B"


def decimal(value: float) -> str:
    """Three digits, and no power of ten for numbers of the size that is measured."""
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def beyond(rows: Mapping[str, Sequence[Cell]]) -> list[str]:
    """The names of the rows of which a cell is beyond its limit."""
    return [name for name, cells in rows.items() if any([c.beyond for c in cells])]


def _text(cell: Cell, show: Callable[[float], str]) -> str:
    old, new = ["fails" if v is None else show(v) for v in (cell.old, cell.new)]
    both = old if old == new else f"{old} → {new}"
    change = cell.change()
    if change:
        both += f" ({change:+.0%})"
    return f"**{both}**" if cell.beyond else both


def markdown(title: str, columns: dict[str, Callable[[float], str]], rows: Mapping[str, Sequence[Cell]]) -> str:
    """A table of cells: OLD → NEW, or one number for both; bold where NEW is beyond its limit.

    >>> rows = {"square": [Cell(100, 110, CALLS)], "sine": [Cell(7, 7, CALLS)]}
    >>> print(markdown("calls", {"first": number}, rows))
    | calls | first |
    | --- | ---: |
    | square | **100 → 110 (+10%)** |
    | sine | 7 |
    """
    lines = [f"| {' | '.join([title, *columns])} |", f"| --- |{' ---: |' * len(columns)}"]
    for name, cells in rows.items():
        texts = [_text(cell, show) for cell, show in zip(cells, columns.values(), strict=True)]
        lines.append(f"| {' | '.join([name.replace('|', '/'), *texts])} |")
    return "\n".join(lines)
