"""This gate leads from lower packages to upper ones: functions of upper packages are imported when first called."""

from __future__ import annotations

from typing import Any

from tapec.ir.text.notebook_hooks import register_views

__all__ = ["show"]


def show(kind: str, x: Any) -> Any:
    """Return what a notebook shows of `x`, made by the function `kind` of `tapec.report.notebook`."""
    from tapec.report import notebook

    return getattr(notebook, kind)(x)


register_views(show)
