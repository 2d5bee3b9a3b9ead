"""Show the functions of the user that a program came from, and find out what each of their lines stands for.

A line of a statement that goes over several stands for all of them, the head of a loop for its body, and that of a
branch for its test.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable
from html import escape
from typing import Any

from tapec.errors import place_name
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Graph
from tapec.ir.bare_graph import all_nodes
from tapec.ir.source_location import line_of
from tapec.report.explorer.lines import code_line, pre
from tapec.report.highlight import html_lines

__all__ = ["SourceFile", "source_files", "user_code"]


class SourceFile(NamedTuple):
    """Names a file of the user's; `shown` are the lines of functions that made operations, `made` those that made
    them."""

    file: str
    shown: tuple[int, ...]
    made: frozenset[int]

    @property
    def name(self) -> str:
        """`model.py`, or `In [3]`."""
        return place_name(self.file, 1).rpartition(":")[0] or place_name(self.file, 1).rpartition(",")[0]

    def key(self, line: int) -> str:
        """Return what the page calls a line: `model.py:6`."""
        return place_name(self.file, line).replace(" ", "")


def source_files(graphs: Iterable[Graph]) -> list[SourceFile]:
    """Return the files of the user that made the nodes of these graphs."""
    made: dict[str, set[int]] = {}
    codes: dict[int, Any] = {}
    nodes = [n for g in graphs for n in all_nodes(g.nodes) if isinstance(n.origin, tuple)]
    origins = {(id(n.origin[0]), n.origin[1]): n.origin for n in nodes}
    for code, offset in origins.values():
        if line := line_of((code, offset)):
            codes[id(code)] = code
            made.setdefault(code.co_filename, set()).add(line)
    shown: dict[str, set[int]] = {file: set(lines) for file, lines in made.items()}
    for code in codes.values():
        if code.co_name != "<module>":  # of a module, the lines that made something are enough
            last = max([line for _, _, line in code.co_lines() if line], default=code.co_firstlineno)
            shown[code.co_filename].update(range(code.co_firstlineno, last + 1))
    return [SourceFile(file, tuple(sorted(shown[file])), frozenset(made[file])) for file in sorted(made)]


def user_code(files: Iterable[SourceFile]) -> str:
    """Return the panel of the user's code. What a line lights when it is pointed at may be more than what lights it."""
    return "".join([_file(f) for f in files])


def _file(f: SourceFile) -> str:
    text = [linecache.getline(f.file, n).rstrip("\n") for n in f.shown]
    stands_for = lines_of_statements(f)
    lines, before = [], f.shown[0] - 1
    for n, content in zip(f.shown, html_lines("\n".join(text))):
        if n != before + 1:
            lines.append(code_line("", gutter="⋮"))
        lights = [f.key(k) for k in sorted(stands_for.get(n, {n} & f.made))]
        lines.append(code_line(content, [f.key(n)] if n in f.made else (), gutter=str(n), lights=lights))
        before = n
    return f'<div class="file">{escape(f.name)}</div>{pre(lines)}'


def lines_of_statements(f: SourceFile) -> dict[int, set[int]]:
    """Return the lines that made operations, of the statement that each line belongs to."""
    try:
        tree = ast.parse("".join(linecache.getlines(f.file)))
    except (SyntaxError, ValueError):
        return {}
    found: dict[int, set[int]] = {}
    for node in ast.walk(tree):  # what is deeper comes later
        if not isinstance(node, ast.stmt) or isinstance(node, ast.ClassDef):
            continue
        body = getattr(node, "body", None)
        last = node.end_lineno or node.lineno
        inside = {n for n in f.made if node.lineno <= n <= last}
        header = range(node.lineno, (body[0].lineno if body else last + 1))
        if isinstance(node, ast.If) and not f.made.isdisjoint(header):
            inside = {*f.made.intersection(header)}  # its test alone
        found.update(dict.fromkeys(header, inside))
    return found
