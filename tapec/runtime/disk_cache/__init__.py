"""This package keeps generated code on disk from one process to the next.

This file is the gate: the first build that has a folder imports the rest, which most programs never need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tapec.runtime.compile import Build

__all__ = ["load_or_build"]


def load_or_build(build: Build) -> None:
    """Load the code of a build from the folder; or generate it, and keep it for others."""
    from tapec.runtime.disk_cache.store import load_or_build

    load_or_build(build)
