"""Write a generated module as text, with comments beside its lines; made when somebody looks."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tapec.codegen import tuning
from tapec.codegen.common.astor_printer import to_text
from tapec.ir.source_location import Place, line_of, place_of

if TYPE_CHECKING:
    from tapec.codegen.common.module_layout import Line

__all__ = ["Page"]


class Page:
    """The lines of a module, each with the comments that may stand beside it.

    `text()` has the reasons of ours, and the user's line where a statement begins to serve another one, once in each
    part between empty lines. `text(lines=True)` has, and quotes, the user's line wherever it changes.
    """

    __slots__ = ("rows",)

    def __init__(self, lines: Sequence[Line]):
        self.rows: list[tuple[str, str, str]] = []
        for line, some, every in zip(lines, part_comments(lines), line_comments(lines), strict=True):
            texts = line.text or (header(line.tree),)
            pad = " " * line.indent
            self.rows.append((pad + texts[0] if texts[0] else "", some, every))
            self.rows.extend([(f"{pad}    {t}" if t else "", "", "") for t in texts[1:]])

    def text(self, lines: bool = False) -> str:
        """Return the text with its comments."""
        rows = [(text, every if lines else some) for text, some, every in self.rows]
        widest = max((len(t) for t, c in rows if c and len(t) < tuning.COMMENT_MAX_COLUMN), default=0)
        return "".join([f"{_beside(t.ljust(widest), c)}\n" if c else f"{t}\n" for t, c in rows])


def _beside(line: str, comment: str) -> str:
    """Join a line with its comment, which is shortened when the two are too long together."""
    room = max(tuning.COMMENT_MIN_CHARACTERS, tuning.LINE_MAX_CHARACTERS - len(line))
    return f"{line}  # {comment if len(comment) <= room else comment[: room - 4] + ' ...'}"


def header(tree: Any) -> str:
    """Return the text of a simple statement, or the first line of one with a body."""
    if isinstance(tree, ast.If):
        return f"if {to_text(tree.test)}:"
    if isinstance(tree, ast.While):
        return f"while {to_text(tree.test)}:"
    if isinstance(tree, ast.With):
        return f"with {to_text(tree.items[0].context_expr)}:"
    if isinstance(tree, ast.For):
        return f"for {to_text(tree.target)} in {to_text(tree.iter)}:"
    return to_text(tree)


def part_comments(lines: Sequence[Line]) -> list[str]:
    """Return the comment of each line: our own notes, and where a user's line is first served in a part."""
    comments = []
    said: set[tuple[Any, int]] = set()
    ever: set[tuple[Any, int]] = set()
    for line in lines:
        comment, origin = line.note, line.origin
        if line.text == ("",):
            said.clear()
        known = ever if isinstance(line.tree, ast.Return) else said  # a result needs no second word
        if origin is not None and (key := (origin[0], line_of(origin))) not in known:
            said.add(key)
            ever.add(key)
            place = " ".join(place_of(origin).short.split())
            comment = f"{comment}   {place}" if comment else place
        if isinstance(line.tree, ast.Return) and line.tree.value.__class__ is not ast.Constant:
            said.clear()  # the next line is on another path
        comments.append(comment)
    return comments


def line_comments(lines: Sequence[Line]) -> list[str]:
    """Return the comment of each line: the user's line, once for each run of lines from it, and our own notes."""
    comments = [line.note for line in lines]
    start = 0
    while start < len(lines):
        origin = lines[start].origin
        if origin is None:
            start += 1
            continue
        end = start + 1
        while end < len(lines) and _same_line(lines[end].origin, origin):
            if isinstance(lines[end - 1].tree, ast.Return):
                break  # the next line is on another path
            end += 1
        places = [place_of(lines[k].origin) for k in range(start, end)]
        own = f"{user_comment(max(places, key=lambda p: len(p.text)))}"
        comments[start] = f"{own}  {comments[start]}".rstrip()
        start = end
    return comments


def _same_line(a: Any, b: Any) -> bool:
    return a is not None and a[0] is b[0] and (a[1] == b[1] or line_of(a) == line_of(b))


def user_comment(place: Place) -> str:
    """Describe a place in the user's code: `model.py:7 np.tanh(x @ w)`."""
    text, file = place.text, " ".join(place.short.split())  # a comment ends with its line, whatever a file is called
    if len(text) > tuning.QUOTED_MAX_CHARACTERS:
        text = text[: tuning.QUOTED_MAX_CHARACTERS - 4] + " ..."
    return f"{file}   {text}" if text else file
