"""This gate leads to what shows progress, which is imported when a job has taken a second."""

from __future__ import annotations

from typing import Any

__all__ = ["display_for"]


def display_for(is_notebook: bool) -> Any:
    """Return what shows a job here."""
    from tapec.progress.displays import display

    return display(is_notebook)
