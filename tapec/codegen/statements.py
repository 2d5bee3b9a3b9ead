"""Statements: a function body as small data, before it becomes `ast`.

Each simple statement is one line of source. `origin` is the user's line it belongs to, `note` a remark of our own.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple

from tapec.codegen.expressions import LOAD, NO_COLUMN, Expr, Expression, to_ast, width

__all__ = [
    "STORE",
    "Assign",
    "Augment",
    "Def",
    "Do",
    "For",
    "If",
    "Return",
    "Statement",
    "Store",
    "Try",
    "def_ast",
    "line_width",
    "statement_ast",
    "target_ast",
    "try_ast",
]

STORE = ast.Store()
OPERATORS = {
    "+": ast.Add(),
    "-": ast.Sub(),
    "*": ast.Mult(),
    "/": ast.Div(),
    "@": ast.MatMult(),
    "**": ast.Pow(),
    "//": ast.FloorDiv(),
    "%": ast.Mod(),
    "&": ast.BitAnd(),
    "|": ast.BitOr(),
    "^": ast.BitXor(),
    "<<": ast.LShift(),
    ">>": ast.RShift(),
}


class Assign(NamedTuple):
    """`target = value`; several targets unpack."""

    target: str | tuple[str, ...]
    value: Expression
    origin: Any = None
    note: str = ""


class Augment(NamedTuple):
    """`target *= value`."""

    target: str
    op: str
    value: Expression
    origin: Any = None
    note: str = ""


class Store(NamedTuple):
    """`target[index] = value`, or `target[index] += value` when there is an op; `index` is a template of its arrays."""

    target: Expr
    op: str
    value: Expression
    origin: Any = None
    note: str = ""


class Do(NamedTuple):
    """A call for what it does: `np.tanh(h, out=h)`."""

    value: Expression
    origin: Any = None
    note: str = ""


class Return(NamedTuple):
    """`return (a, b)`, or one expression that is the whole result; None returns None."""

    values: tuple[Expression, ...] | Expr | None
    origin: Any = None
    note: str = ""


class If(NamedTuple):
    """`if test: body`; what follows an `if` that returns needs no `else`."""

    test: Expression
    body: list[Any]
    origin: Any = None
    note: str = ""


class Try(NamedTuple):
    """`try: body`, `except (...): handler`."""

    body: list[Any]
    errors: tuple[str, ...]
    handler: list[Any]
    origin: Any = None
    note: str = ""


class Def(NamedTuple):
    """`def name(params): body`, inside a function."""

    name: str
    params: tuple[str, ...]
    body: list[Any]
    origin: Any = None
    note: str = ""


class For(NamedTuple):
    """`for target in values: body`; several targets unpack."""

    target: str | tuple[str, ...]
    values: Expression
    body: list[Any]
    origin: Any = None
    note: str = ""


Statement = Assign | Augment | Store | Do | Return | If | Try | Def | For


def line_width(s: Any) -> int:
    """At most so many characters on the (first) line of a statement."""
    kind = type(s)
    if kind is Assign:
        target = s.target if type(s.target) is str else ", ".join(s.target)
        return len(target) + 3 + width(s.value)
    if kind is Augment:
        return len(s.target) + 4 + width(s.value)
    if kind is Store:
        return width(s.target) + 4 + width(s.value)
    if kind is Do:
        return width(s.value)
    if kind is Return:
        return 10 + (width(s.values) if type(s.values) is Expr else sum(width(v) + 2 for v in s.values or ()))
    return 6 + width(s.test if kind is If else s.values)


def statement_ast(s: Any, line: int) -> Any:
    """The syntax tree of one simple statement on a line."""
    kind = type(s)
    if kind is Assign:
        return ast.Assign([target_ast(s.target, line)], to_ast(s.value, line), lineno=line, **NO_COLUMN)
    if kind is Augment:
        target = ast.Name(s.target, STORE, lineno=line, **NO_COLUMN)
        return ast.AugAssign(target, OPERATORS[s.op], to_ast(s.value, line), lineno=line, **NO_COLUMN)
    if kind is Do:
        return ast.Expr(to_ast(s.value, line), lineno=line, **NO_COLUMN)
    if kind is Store:
        target = to_ast(s.target, line)
        target.ctx = STORE
        if s.op:
            return ast.AugAssign(target, OPERATORS[s.op], to_ast(s.value, line), lineno=line, **NO_COLUMN)
        return ast.Assign([target], to_ast(s.value, line), lineno=line, **NO_COLUMN)
    if s.values is None:
        return ast.Return(ast.Constant(None, lineno=line, **NO_COLUMN), lineno=line, **NO_COLUMN)
    if type(s.values) is Expr:
        return ast.Return(to_ast(s.values, line), lineno=line, **NO_COLUMN)
    values = ast.Tuple([to_ast(v, line) for v in s.values], LOAD, lineno=line, **NO_COLUMN)
    return ast.Return(values, lineno=line, **NO_COLUMN)


def try_ast(body: list[Any], errors: tuple[str, ...], handler: list[Any], line: int, errors_line: int) -> ast.Try:
    """The syntax tree of a `try` with one handler."""
    kinds = ast.Tuple([to_ast(e, errors_line) for e in errors], LOAD, lineno=errors_line, **NO_COLUMN)
    caught = ast.ExceptHandler(kinds, None, handler, lineno=errors_line, **NO_COLUMN)
    return ast.Try(body, [caught], [], [], lineno=line, **NO_COLUMN)


def def_ast(name: str, params: Sequence[str], body: list[Any], line: int) -> ast.FunctionDef:
    """The syntax tree of a function."""
    tree = ast.parse(f"def {name}(): pass").body[0]
    assert isinstance(tree, ast.FunctionDef)
    tree.args.args = [ast.arg(p, lineno=line, **NO_COLUMN) for p in params]
    tree.body = body
    tree.lineno = tree.end_lineno = line
    tree.col_offset = tree.end_col_offset = -1
    return tree


def target_ast(target: Any, line: int) -> Any:
    if type(target) is str:
        return ast.Name(target, STORE, lineno=line, **NO_COLUMN)
    names: list[ast.expr] = [ast.Name(t, STORE, lineno=line, **NO_COLUMN) for t in target]
    return ast.Tuple(names, STORE, lineno=line, **NO_COLUMN)
