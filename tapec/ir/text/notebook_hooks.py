"""`rich` shows graphs, tensors, functions and source in a notebook by what the package `report` has put in here.

That package stands above all others and is not imported from below: `tapec/lazy.py` brings the two together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Source", "register_views", "rich"]

_views: list[Callable[[str, Any], Any]] = []  # the last counts


def register_views(show: Callable[[str, Any], Any]) -> None:
    """Let `show(kind, x)` make what notebooks show; `kind` names a function of `tapec.report.notebook`."""
    _views.append(show)


def rich(kind: str, x: Any) -> Any:
    """Return what a notebook shows of `x`; None, for which notebooks show `repr(x)`, where nobody registered views."""
    return _views[-1](kind, x) if _views else None


class Source(str):
    """Generated source: a string that notebooks show highlighted."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return rich("source_html", self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))
