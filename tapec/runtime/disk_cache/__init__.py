"""This package keeps generated code on disk from one process to the next.

This file is the gate: the first compilation that has a folder imports the rest, which most programs never need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tapec.runtime.compile import CompiledGraph

__all__ = ["load_or_generate"]


def load_or_generate(wanted: CompiledGraph) -> None:
    """Load the code that is wanted from the folder; or generate it, and keep it for others."""
    from tapec.runtime.disk_cache.store import load_or_generate

    load_or_generate(wanted)
