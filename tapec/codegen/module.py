"""A generated module: functions laid out on lines, as `ast` at once and as text when somebody looks.

The line numbers of the syntax tree are those of the text: a simple statement takes one line, and one that may be too
wide is printed at once, to see how many it takes.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from tapec.codegen.constants import describe
from tapec.codegen.cost import Cost, cost_text
from tapec.codegen.expressions import to_ast
from tapec.codegen.statements import (
    SIMPLE,
    Def,
    For,
    If,
    Statement,
    Try,
    With,
    def_ast,
    line_width,
    statement_ast,
    target_ast,
    try_ast,
    with_ast,
)
from tapec.codegen.syntax import placed_ast
from tapec.codegen.text import LIMIT, to_text, wrapped
from tapec.ir.origin import Place, line_of, place_of
from tapec.tuples import NamedTuple

__all__ = ["Function", "Layout"]

COMMENT_COLUMN = 44  # where comments stand, when the lines are short enough
WIDEST_COMMENT, LEAST_COMMENT = 72, 32


class Function(NamedTuple):
    """A function before it is laid out."""

    name: str
    params: tuple[str, ...]
    body: list[Statement]
    constants: Mapping[str, Any] = {}
    cost: Cost = Cost(0, 0, 0)


class Line(NamedTuple):
    """One statement as laid out; `text` when it had to be printed already."""

    indent: int
    tree: Any
    origin: Any
    note: str
    text: tuple[str, ...]


class Layout:
    """Lines in order; `cost` is that of the first function."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.next = 1
        self.cost = Cost(0, 0, 0)

    def add(self, function: Function) -> ast.FunctionDef:
        """Lay out a function after what is there; gives its syntax tree."""
        if self.lines:
            self._text(0, ("", ""))
        else:
            self.cost = function.cost
            self._text(0, (f"# {cost_text(function.cost)}",))
        for name, value in function.constants.items():
            self._text(0, (f"# {describe(name, value)}",))
        line = self.next
        self._text(0, tuple(signature(function.name, function.params)))
        body = self._block(function.body, 4)
        return def_ast(function.name, function.params, body, line)

    def _text(self, indent: int, text: tuple[str, ...]) -> None:
        self.lines.append(Line(indent, None, None, "", text))
        self.next += len(text)

    def _block(self, statements: list[Statement], indent: int) -> list[Any]:
        trees: list[Any] = []
        for s in statements:
            line = self.next
            if type(s) in SIMPLE:
                tree = statement_ast(s, line)
                trees.append(tree)
                text = tuple(wrapped(to_text(tree), indent)) if line_width(s) + indent > LIMIT else ()
                self.lines.append(Line(indent, tree, s.origin, s.note, text))
                self.next += len(text) or 1
            elif type(s) is If:
                test = to_ast(s.test, line)
                self.lines.append(Line(indent, ast.If(test, [], []), s.origin, s.note, ()))
                self.next += 1
                body = self._block(s.body, indent + 4)
                trees.append(placed_ast(ast.If, line, test=test, body=body, orelse=[]))
            elif type(s) is Def:
                self.lines.append(Line(indent, None, s.origin, s.note, tuple(signature(s.name, s.params))))
                self.next += len(self.lines[-1].text)
                trees.append(def_ast(s.name, s.params, self._block(s.body, indent + 4), line))
            elif type(s) is Try:
                self._text(indent, ("try:",))
                body = self._block(s.body, indent + 4)
                errors = self.next
                self._text(indent, (f"except ({', '.join(s.errors)}):",))
                handler = self._block(s.handler, indent + 4)
                trees.append(try_ast(body, s.errors, handler, line, errors))
            elif type(s) is With:
                value = to_ast(s.value, line)
                self.lines.append(Line(indent, ast.With([ast.withitem(value)], []), s.origin, s.note, ()))
                self.next += 1
                trees.append(with_ast(value, self._block(s.body, indent + 4), line))
            else:
                assert type(s) is For
                values = to_ast(s.values, line)
                target = target_ast(s.target, line, len(s.target))
                self.lines.append(Line(indent, ast.For(target, values, [], []), s.origin, s.note, ()))
                self.next += 1
                body = self._block(s.body, indent + 4)
                trees.append(placed_ast(ast.For, line, target=target, iter=values, body=body, orelse=[]))
        return trees

    def origins(self) -> list[tuple[int, Any]]:
        """The first line of each statement, and where the user wrote it."""
        found = []
        line = 1
        for entry in self.lines:
            found.append((line, entry.origin))
            line += len(entry.text) or 1
        return found

    # -- text -------------------------------------------------------------------------------------------------------
    def text(self) -> str:
        """The source, with the user's lines beside it."""
        rows: list[tuple[str, str]] = []
        comments = group_comments(self.lines)
        for line, comment in zip(self.lines, comments, strict=True):
            texts = line.text or (header(line.tree),)
            pad = " " * line.indent
            rows.append((pad + texts[0] if texts[0] else "", comment))
            rows.extend((f"{pad}    {t}" if t else "", "") for t in texts[1:])
        widest = max((len(t) for t, c in rows if c and len(t) < COMMENT_COLUMN), default=0)
        return "".join([f"{_beside(t.ljust(widest), c)}\n" if c else f"{t}\n" for t, c in rows])


def _beside(line: str, comment: str) -> str:
    """A line with its comment, shortened when the two are too long together."""
    room = max(LEAST_COMMENT, LIMIT - len(line))
    return f"{line}  # {comment if len(comment) <= room else comment[: room - 4] + ' ...'}"


def header(tree: Any) -> str:
    """The text of a simple statement, or the first line of one with a body."""
    if isinstance(tree, ast.If):
        return f"if {to_text(tree.test)}:"
    if isinstance(tree, ast.With):
        return f"with {to_text(tree.items[0].context_expr)}:"
    if isinstance(tree, ast.For):
        return f"for {to_text(tree.target)} in {to_text(tree.iter)}:"
    return to_text(tree)


def group_comments(lines: list[Line]) -> list[str]:
    """What stands beside each line: the user's line once for each run of lines that come from it, and our own notes."""
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
                break  # what comes next is another path
            end += 1
        places = [place_of(lines[k].origin) for k in range(start, end)]
        own = f"{user_comment(max(places, key=lambda p: len(p.text)))}"
        comments[start] = f"{own}  {comments[start]}".rstrip()
        start = end
    return comments


def _same_line(a: Any, b: Any) -> bool:
    return a is not None and a[0] is b[0] and (a[1] == b[1] or line_of(a) == line_of(b))


def user_comment(place: Place) -> str:
    """`model.py:7   np.tanh(x @ w)`."""
    text = place.text
    if len(text) > WIDEST_COMMENT:
        text = text[: WIDEST_COMMENT - 4] + " ..."
    return f"{place.short}   {text}" if text else place.short


def signature(name: str, params: Sequence[str]) -> list[str]:
    """`def f(a, b):`, on several lines when it is long."""
    text = f"def {name}({', '.join(params)}):"
    return [text] if len(text) <= LIMIT else wrapped(text, 0)
