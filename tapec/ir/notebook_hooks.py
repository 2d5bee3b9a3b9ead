"""How things show themselves in a notebook: pictures and highlighted text are made in `tapec.report`, when asked for.

That room stands above all others and is not imported from below; it is looked up by name when a notebook asks.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["Source", "rich"]


def rich(kind: str, x: Any) -> Any:
    """`kind` names a function of `tapec.report.notebook`."""
    return getattr(import_module("tapec.report.notebook"), kind)(x)


class Source(str):
    """Generated source: a string that notebooks show highlighted."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return rich("source_html", self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))
