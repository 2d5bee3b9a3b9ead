"""The gate from lower packages to upper ones: what the lower ones may call, registered without importing it yet."""

from __future__ import annotations

from typing import Any

from tapec.ir.notebook_hooks import register_views

__all__ = ["show"]


def show(kind: str, x: Any) -> Any:
    """Return what a notebook shows of `x`, made by the function `kind` of `tapec.report.notebook`."""
    from tapec.report import notebook

    return getattr(notebook, kind)(x)


register_views(show)
