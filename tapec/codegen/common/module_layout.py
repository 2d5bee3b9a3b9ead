"""Lay functions of a generated module out on lines, as `ast` at once and as text when somebody looks.

The line numbers of the syntax tree are those of the text: a simple statement takes one line, and one that may be too
wide is printed at once, to see how many it takes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.common.ast_nodes import placed_ast
from tapec.codegen.common.astor_printer import to_text, wrapped
from tapec.codegen.common.expressions import Expr, parse_template, to_ast
from tapec.codegen.common.line_templates import COPY
from tapec.codegen.common.module_constants import describe
from tapec.codegen.common.source_text import Page
from tapec.codegen.common.statements import (
    SIMPLE,
    Assign,
    Blank,
    Def,
    Do,
    For,
    If,
    Statement,
    While,
    With,
    def_ast,
    line_width,
    origins_of,
    statement_ast,
    target_ast,
    with_ast,
)
from tapec.codegen.schedule.emitted_cost import Cost, cost_text
from tapec.fast_namedtuple import NamedTuple

__all__ = ["Function", "Layout"]


class Function(NamedTuple):
    """Describes a function before it is laid out.

    `donated` are the parameters that it may write over, `errors` the classes of errors that it raises where NumPy would
    give inf or nan; `doc` is its docstring. The functions `before` it are those that it calls.
    """

    name: str
    params: tuple[str, ...]
    body: list[Statement]
    constants: Mapping[str, Any] = {}
    cost: Cost = Cost(0, 0, 0)
    donated: tuple[str, ...] = ()
    errors: tuple[type[Exception], ...] = ()
    doc: str = ""
    before: tuple[Any, ...] = ()


class Line(NamedTuple):
    """One statement as laid out; `text` is given when it had to be printed already.

    `statement` is what it was made of, of whose expressions the origins are asked when somebody looks.
    """

    indent: int
    tree: Any
    origin: Any
    note: str
    text: tuple[str, ...]
    statement: Any = None


class Layout:
    """The laid-out lines of a module, in order; `cost` is that of its last function, with those that it calls."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.next = 1
        self.cost = Cost(0, 0, 0)

    def add(self, function: Function, target: str) -> list[ast.FunctionDef]:
        """Lay out a function, which a target wrote, below those that it calls, and return the syntax trees of all."""
        self.cost = function.cost
        self._text(0, (f"# {target}: {cost_text(function.cost)}",))
        trees: list[ast.FunctionDef] = []
        for one in (*function.before, function):
            if trees:
                self._text(0, ("", ""))
            trees.append(self._function(one))
        return trees

    def _function(self, function: Function) -> ast.FunctionDef:
        if function.donated:
            them = "it" if len(function.donated) == 1 else "them"
            self._text(0, (f"# may write over {', '.join(function.donated)}: nobody else needs {them}",))
        if function.errors:
            self._text(0, ("# where Python's floats raise an error, NumPy computes instead: inf and nan",))
        for name, value in function.constants.items():
            self._text(0, (f"# {describe(name, value)}",))
        line = self.next
        self._text(0, tuple(signature(function.name, function.params)))
        body = self._block([Do(Expr(parse_template(repr(function.doc), 0), ()))], 4) if function.doc else []
        body += self._block(function.body, 4)
        return def_ast(function.name, function.params, body, line)

    def _text(self, indent: int, text: tuple[str, ...]) -> None:
        self.lines.append(Line(indent, None, None, "", text))
        self.next += len(text)

    def _block(self, statements: list[Statement], indent: int) -> list[Any]:
        """Lay out statements and return their trees.

        A statement with a body has a line for its header; its body has others.
        """
        trees: list[Any] = []
        for s in spaced(statements):
            line = self.next
            if type(s) is Blank:
                self._text(0, ("",))
            elif type(s) in SIMPLE:
                tree = statement_ast(s, line)
                trees.append(tree)
                text = printed(tree, indent) if line_width(s) + indent > tuning.LINE_MAX_CHARACTERS else ()
                self.lines.append(Line(indent, tree, s.origin, s.note, text, s))
                self.next += len(text) or 1
            elif type(s) is If:
                test = to_ast(s.test, line)
                self.lines.append(Line(indent, ast.If(test, [], []), s.origin, s.note, (), s))
                self.next += 1
                body = self._block(s.body, indent + 4)
                otherwise: list[Any] = []
                if s.otherwise:
                    self._text(indent, ("else:",))
                    otherwise = self._block(s.otherwise, indent + 4)
                trees.append(placed_ast(ast.If, line, test=test, body=body, orelse=otherwise))
            elif type(s) is While:
                test = to_ast(s.test, line)
                self.lines.append(Line(indent, ast.While(test, [], []), s.origin, s.note, (), s))
                self.next += 1
                body = self._block(s.body, indent + 4)
                trees.append(placed_ast(ast.While, line, test=test, body=body, orelse=[]))
            elif type(s) is Def:
                self.lines.append(Line(indent, None, s.origin, s.note, tuple(signature(s.name, s.params))))
                self.next += len(self.lines[-1].text)
                trees.append(def_ast(s.name, s.params, self._block(s.body, indent + 4), line))
            elif type(s) is With:
                value = to_ast(s.value, line)
                self.lines.append(Line(indent, ast.With([ast.withitem(value)], []), s.origin, s.note, (), s))
                self.next += 1
                trees.append(with_ast(value, self._block(s.body, indent + 4), line))
            else:
                assert type(s) is For
                values = to_ast(s.values, line)
                target = target_ast(s.target, line, len(s.target))
                self.lines.append(Line(indent, ast.For(target, values, [], []), s.origin, s.note, (), s))
                self.next += 1
                body = self._block(s.body, indent + 4)
                trees.append(placed_ast(ast.For, line, target=target, iter=values, body=body, orelse=[]))
        return trees

    def origins(self) -> list[tuple[int, Any]]:
        """Return the first line of each statement, and where the user wrote it."""
        return [(line, entry.origin) for line, entry in self._numbered()]

    def all_origins(self) -> list[tuple[int, tuple[Any, ...]]]:
        """Return the first line of each statement, and the origins of all that it computes."""
        return [(line, origins_of(entry.statement)) for line, entry in self._numbered()]

    def _numbered(self) -> Iterator[tuple[int, Line]]:
        line = 1
        for entry in self.lines:
            yield line, entry
            line += len(entry.text) or 1

    def page(self) -> Page:
        """Return the text, with the comments that may stand beside it."""
        return Page(self.lines)


BLANK = Blank()
LOOPS = frozenset({For, While})


def spaced(statements: list[Statement]) -> list[Statement]:
    """Return statements with empty lines around loops: before what a loop begins with, and after it."""
    if not any([type(s) is Blank or type(s) in LOOPS for s in statements]):
        return statements
    rows: list[Statement] = []
    for s in statements:
        if type(s) in LOOPS:
            k = len(rows)
            while k and begins(rows[k - 1]):
                k -= 1
            if k and type(rows[k - 1]) is not Blank:
                rows.insert(k, BLANK)
            rows += [s, BLANK]
        elif type(s) is not Blank or (rows and type(rows[-1]) is not Blank):
            rows.append(s)
    if type(rows[-1]) is Blank:
        rows.pop()
    elif len(rows) > 1 and type(rows[-2]) is Blank and type(rows[-3]) in LOOPS:
        del rows[-2]  # the one line behind a loop is its result
    return rows


def begins(s: Statement) -> bool:
    """Return whether a statement sets what a loop begins with: a number, a name, a copy, an empty list or array."""
    if type(s) is not Assign:
        return False
    if type(s.value) is not Expr or s.value.template is COPY:
        return True
    return s.value.template.text.startswith(("[]", "np.zeros(", "np.empty("))


def signature(name: str, params: Sequence[str]) -> list[str]:
    """Write `def f(a, b):`, on several lines when it is long."""
    text = f"def {name}({', '.join(params)}):"
    if len(text) <= tuning.LINE_MAX_CHARACTERS:
        return [text]
    return wrapped(text, 0)


def printed(tree: Any, indent: int) -> tuple[str, ...]:
    """Print a statement that may be wider than a line, on several lines."""
    return tuple(wrapped(to_text(tree), indent))
