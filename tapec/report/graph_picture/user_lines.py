"""Find the line of the user's that a node comes from."""

from __future__ import annotations

import linecache

from tapec.errors import place_name
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node
from tapec.ir.source_location import line_of

__all__ = ["Line", "user_line_of"]


class Line(NamedTuple):
    """Names a line of the user's source."""

    file: str
    number: int

    def __str__(self) -> str:
        return place_name(self.file, self.number)

    @property
    def text(self) -> str:
        """The line as the user wrote it, without indentation; empty when the file is gone."""
        return linecache.getline(self.file, self.number).strip()


def user_line_of(node: Node) -> Line | None:
    """The user's line that made a node; None when nobody knows."""
    if not isinstance(node.origin, tuple):
        return None
    number = line_of(node.origin)
    return Line(node.origin[0].co_filename, number) if number else None
