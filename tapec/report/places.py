"""Where nodes come from: the user's line of each."""

from __future__ import annotations

import linecache
import os
from typing import Any, NamedTuple

from tapec.ir import Node

__all__ = ["Place", "place_of"]


class Place(NamedTuple):
    """A line of the user's source."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}"

    @property
    def text(self) -> str:
        """The line as the user wrote it, without indentation; empty when the file is gone."""
        return linecache.getline(self.file, self.line).strip()


def place_of(node: Node) -> Place | None:
    """The user's line that made a node; None when nobody knows."""
    if not isinstance(node.origin, tuple):
        return None
    code, offset = node.origin[:2]
    lines = _LINES.get(code)
    if lines is None:
        lines = _LINES[code] = [position[0] for position in code.co_positions()]
    index = offset // 2
    line = lines[index] if 0 <= index < len(lines) else None
    return Place(code.co_filename, line) if line is not None else None


_LINES: dict[Any, list[int | None]] = {}
