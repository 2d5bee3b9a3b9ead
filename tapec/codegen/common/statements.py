"""Define statements: a function body as small data, before it becomes `ast`.

Each simple statement is one line of source. `origin` is the user's line it belongs to, `note` a remark of our own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.common.ast_nodes import (
    LOAD,
    OPPOSITE,
    STORE,
    assign_ast,
    augmented_ast,
    constant_ast,
    placed_ast,
    stored_name_ast,
    without_minus,
)
from tapec.codegen.common.expressions import Expr, Expression, parse_template, slots, to_ast, width
from tapec.fast_namedtuple import NamedTuple

__all__ = [
    "SIMPLE",
    "Assign",
    "Augment",
    "Def",
    "Delete",
    "Do",
    "Break",
    "For",
    "While",
    "If",
    "Return",
    "Statement",
    "Store",
    "With",
    "def_ast",
    "in_place",
    "line_width",
    "names_read",
    "replaced_names",
    "origins_of",
    "statement_ast",
    "target_ast",
    "target_width",
    "with_ast",
]

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


AUGMENTED = {f"_0 {op} _1": op for op in ("+", "-", "*", "/")}  # by the text of a template


class Assign(NamedTuple):
    """`target = value`; several targets unpack, in tuples of tuples if need be. `more` names get the same value."""

    target: str | tuple[Any, ...]
    value: Expression
    origin: Any = None
    note: str = ""
    more: tuple[str, ...] = ()


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
    """A call made for its effect: `np.tanh(h, out=h)`."""

    value: Expression
    origin: Any = None
    note: str = ""


class Delete(NamedTuple):
    """`del a, b`: their arrays are free for what follows."""

    names: tuple[str, ...]
    origin: Any = None
    note: str = ""


class Blank(NamedTuple):
    """An empty line between parts of a block."""

    origin: Any = None
    note: str = ""


class Return(NamedTuple):
    """`return (a, b)`, or one expression that is the whole result; None returns None."""

    values: tuple[Expression, ...] | Expr | None
    origin: Any = None
    note: str = ""


class If(NamedTuple):
    """`if test: body`, `else: otherwise`; what follows an `if` that returns needs no `else`."""

    test: Expression
    body: list[Any]
    origin: Any = None
    note: str = ""
    otherwise: list[Any] = []


class While(NamedTuple):
    """`while test: body`."""

    test: Expression
    body: list[Any]
    origin: Any = None
    note: str = ""


class Break(NamedTuple):
    """`break`."""

    origin: Any = None
    note: str = ""


class With(NamedTuple):
    """`with value: body`."""

    value: Expression
    body: list[Any]
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


SIMPLE = frozenset({Assign, Augment, Store, Do, Delete, Return, Break})
Statement = Assign | Augment | Store | Do | Delete | Return | Break | Blank | If | While | With | Def | For


def line_width(s: Any) -> int:
    """Return an upper bound of the number of characters on the (first) line of a statement."""
    kind = type(s)
    if kind is Assign:
        return target_width(s.target) + 3 + width(s.value) + sum([len(name) + 3 for name in s.more])
    if kind is Augment:
        return len(s.target) + 4 + width(s.value)
    if kind is Store:
        return width(s.target) + 4 + width(s.value)
    if kind is Do:
        return width(s.value)
    if kind is Delete:
        return 4 + target_width(s.names)
    if kind is Return:
        return 10 + (width(s.values) if type(s.values) is Expr else sum(width(v) + 2 for v in s.values or ()))
    if kind is Break:
        return 5
    return 6 + width(s.test if kind is If or kind is While else s.values)


def origins_of(s: Any) -> tuple[Any, ...]:
    """Return the origins of all that a statement computes, its own first; of one with a body, those of its header."""
    found: dict[Any, None] = {}
    if s is not None:
        if s.origin is not None:
            found[s.origin] = None
        _collect(tuple([part for part in s if type(part) is not list]), found)
    return tuple(found)


def _collect(part: Any, found: dict[Any, None]) -> None:
    if type(part) is Expr:
        if part.origin is not None:
            found[part.origin] = None
        part = part.args
    if type(part) is tuple:
        for p in part:
            _collect(p, found)


def target_width(target: Any) -> int:
    return len(target) if type(target) is str else sum([target_width(t) + 2 for t in target])


def statement_ast(s: Any, line: int) -> Any:
    """Build the syntax tree of one simple statement on a line."""
    kind = type(s)
    if kind is Assign:
        targets = [target_ast(t, line) for t in (s.target, *s.more)]
        return assign_ast(targets, to_ast(s.value, line), line)
    if kind is Augment:
        return _augmented(stored_name_ast(s.target, line), OPERATORS[s.op], to_ast(s.value, line), line)
    if kind is Do:
        return placed_ast(ast.Expr, line, value=to_ast(s.value, line))
    if kind is Store:
        target = to_ast(s.target, line)
        target.ctx = STORE
        value = to_ast(s.value, line)
        return _augmented(target, OPERATORS[s.op], value, line) if s.op else assign_ast([target], value, line)
    if kind is Break:
        return placed_ast(ast.Break, line)
    if kind is Delete:
        return placed_ast(ast.Delete, line, targets=[placed_ast(ast.Name, line, id=n, ctx=ast.Del()) for n in s.names])
    return placed_ast(ast.Return, line, value=_returned(s.values, line))


def _augmented(target: Any, op: ast.operator, value: Any, line: int) -> Any:
    opposite, positive = OPPOSITE.get(type(op)), without_minus(value)
    if opposite is None or positive is None:
        return augmented_ast(target, op, value, line)
    return augmented_ast(target, opposite, positive, line)  # `x += -2.0` is `x -= 2.0`


def _returned(values: Any, line: int) -> Any:
    if values is None:
        return constant_ast(None, line)
    if type(values) is Expr:
        return to_ast(values, line)
    return placed_ast(ast.Tuple, line, elts=[to_ast(v, line) for v in values], ctx=LOAD)


def with_ast(value: Any, body: list[Any], line: int) -> ast.With:
    made: ast.With = placed_ast(ast.With, line, items=[ast.withitem(value)], body=body)
    return made


def def_ast(name: str, params: Sequence[str], body: list[Any], line: int) -> ast.FunctionDef:
    tree = ast.parse(f"def {name}(): pass").body[0]
    assert isinstance(tree, ast.FunctionDef)
    tree.args.args = [placed_ast(ast.arg, line, arg=p) for p in params]
    tree.body = body
    tree.lineno = tree.end_lineno = line
    tree.col_offset = tree.end_col_offset = -1
    return tree


def target_ast(target: Any, line: int, most: int | None = None) -> Any:
    """Return the tree of a target; brackets go around more names than `most`, by default than a line should have."""
    if type(target) is str:
        return stored_name_ast(target, line)
    # many targets get brackets, inside which a line can be broken
    kind = ast.Tuple if len(target) <= (tuning.BARE_TARGETS_MAX if most is None else most) else ast.List
    return placed_ast(kind, line, elts=[target_ast(t, line, len(t)) for t in target], ctx=STORE)


def in_place(s: Any) -> Any:
    """Return `x = x + y` of Python's numbers as `x += y`, and other statements as they are."""
    if type(s) is not Assign or type(s.target) is not str or s.more or type(s.value) is not Expr:
        return s
    op = AUGMENTED.get(s.value.template.text)
    if op is None:
        return s
    first, second = s.value.args
    if op == "+" and second == s.target:
        first, second = second, first
    return Augment(s.target, op, second, s.origin, s.note) if first == s.target else s


def replaced_names(x: Any, new: dict[str, Expr]) -> Any:
    """Return a statement, or a part of one, with these expressions for the names that it reads."""
    if type(x) is str:
        return new.get(x, x)
    if type(x) is Expr:
        return Expr(x.template, tuple([replaced_names(a, new) for a in x.args]))
    if isinstance(x, (list, tuple)):
        made = [replaced_names(a, new) for a in x]
        return type(x)(*made) if type(x) in _KINDS else type(x)(made)
    return x


def names_read(x: Any) -> Iterator[str]:
    """Give the names in a statement, or a part of one, each as often as it stands there."""
    if type(x) is str:
        yield x
    elif type(x) is Expr:
        for a in x.args:
            yield from names_read(a)
    elif isinstance(x, (list, tuple)):
        for a in x:
            yield from names_read(a)


_KINDS = SIMPLE | {Blank, If, With, Def, For}


def together(moved: Sequence[tuple[str, Expression, Any]]) -> list[Assign]:
    """Give names their new values at once: one after the other, if there is an order in which none reads a name that
    has its new value already."""
    left = [(name, value, origin) for name, value, origin in moved if name != value]
    lines: list[Assign] = []
    while left:
        ready = next(
            (x for x in left if not any([reads(value, x[0]) for name, value, _ in left if name != x[0]])), None
        )
        if ready is None:
            text = ", ".join(slots(len(left)))
            values = tuple([value for _, value, _ in left])
            return [*lines, Assign(tuple([name for name, _, _ in left]), Expr(parse_template(text, len(left)), values))]
        left.remove(ready)
        lines.append(Assign(*ready))
    return lines


def reads(value: Expression, name: str) -> bool:
    """Return whether an expression reads a name."""
    return any([reads(a, name) for a in value.args]) if type(value) is Expr else value == name and type(value) is str
