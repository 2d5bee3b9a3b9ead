"""Fill in the source templates of ops, which are parsed once, as `ast`.

An expression is small data: a name (str), a Python number, or an `Expr`, a template with its arguments. `to_ast` builds
the syntax tree on a given line; parentheses need no thought, since they are the printer's business.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any
from weakref import WeakValueDictionary

from tapec.codegen.common.ast_nodes import (
    OPPOSITE,
    attribute_ast,
    bin_op_ast,
    call_ast,
    constant_ast,
    name_ast,
    negative_ast,
    placed_ast,
    stored_name_ast,
    without_minus,
)
from tapec.fast_namedtuple import NamedTuple
from tapec.ops.core.op_helpers import source_of_value

__all__ = ["Expr", "Expression", "Template", "literal", "parse_template", "slots", "to_ast", "width"]

Build = Callable[[Sequence[ast.expr], int], Any]


class Template:
    """A source template builds `ast` from its arguments' `ast` and a line number.

    `counts[k]` tells how often argument k is read, `objects` which arguments have an attribute or an item taken,
    `width` how many characters the template adds at most to those of its arguments, `compact` whether it binds tighter
    than any operator. The text is parsed when one of these is first read: a program needs few of all templates.
    """

    __slots__ = ("__weakref__", "build", "compact", "counts", "objects", "slots", "text", "width")

    build: Build
    counts: tuple[int, ...]
    objects: frozenset[int]
    width: int
    compact: bool

    def __init__(self, text: str, slots: int):
        self.text, self.slots = text, slots

    def __getattr__(self, name: str) -> Any:
        if name not in Template.__slots__:
            raise AttributeError(name)
        parse(self)
        return getattr(self, name)


class Expr(NamedTuple):
    """A template with its arguments filled in; `origin` is that of the node that it computes, if it computes one."""

    template: Template
    args: tuple[Any, ...]
    origin: Any = None


Expression = Any  # str: a name; float, int, bool, complex: a number; Expr

_SLOTS = tuple([f"_{k}" for k in range(64)])


def slots(n: int) -> tuple[str, ...]:
    """Return the names that stand for the arguments in a template."""
    return _SLOTS[:n] if n <= 64 else tuple([f"_{k}" for k in range(n)])


@lru_cache(maxsize=8192)
def parse_template(text: str, n: int) -> Template:
    """Return the template of source text in which `_0`, `_1`, ... stand for `n` arguments.

    Equal texts give the same object for as long as anybody holds it: some templates are recognised by identity, such as
    those that call helpers.
    """
    found = _TEMPLATES.get((text, n))
    if found is None:
        found = _TEMPLATES[text, n] = Template(text, n)
    return found


_TEMPLATES: WeakValueDictionary[tuple[str, int], Template] = WeakValueDictionary()


def parse(template: Template) -> None:
    """Parse the text of a template, and fill in its counts, width and builder."""
    text, n = template.text, template.slots
    # `*values` is no expression by itself, but inside brackets
    tree: Any = ast.parse(f"[{text}]" if text[0] == "*" else text, mode="eval").body
    if text[0] == "*":
        tree = tree.elts[0]
    number = {name: k for k, name in enumerate(slots(n))}
    counts = [0] * n
    objects = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in number:
            counts[number[node.id]] += 1
        elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.value, ast.Name):
            objects.add(number.get(node.value.id, -1))
    objects.discard(-1)
    spare = sum(counts[k] * len(name) for name, k in number.items())
    compact = isinstance(tree, (ast.Call, ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.List))
    extra = 0 if compact else 2 * sum(counts)
    template.build, template.counts, template.objects = _builder(tree, number), tuple(counts), frozenset(objects)
    template.width, template.compact = len(text) - spare + extra, compact


# ---------------------------------------------------------------------------------------------------------------
# from a parsed template to a function that builds it anew
# ---------------------------------------------------------------------------------------------------------------
def _builder(tree: Any, number: dict[str, int]) -> Build:
    """Return a function (arguments, line) -> syntax tree for one node of a template; frequent kinds have their own."""
    if isinstance(tree, ast.Name):
        if tree.id in number:
            k = number[tree.id]
            return lambda args, line: args[k]
        name, make = tree.id, name_ast if isinstance(tree.ctx, ast.Load) else stored_name_ast
        return lambda args, line: make(name, line)
    if isinstance(tree, ast.Constant):
        constant = tree.value
        return lambda args, line: constant_ast(constant, line)
    if isinstance(tree, ast.BinOp):
        return _bin_op_builder(tree, number)
    if isinstance(tree, ast.Attribute):
        value, attr = _builder(tree.value, number), tree.attr
        return lambda args, line: attribute_ast(value(args, line), attr, line)
    if isinstance(tree, ast.Call) and not tree.keywords:
        func, parts = _builder(tree.func, number), [_builder(a, number) for a in tree.args]
        return lambda args, line: call_ast(func(args, line), [p(args, line) for p in parts], line)
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        return _not_builder(_builder(tree.operand, number))
    return _any_builder(tree, number)


def _not_builder(operand: Build) -> Build:
    def build(args: Sequence[ast.expr], line: int) -> Any:
        of = operand(args, line)
        if isinstance(of, ast.Compare) and isinstance(of.ops[0], ast.Is):  # `not x is y` is `x is not y`
            return placed_ast(ast.Compare, line, left=of.left, ops=[ast.IsNot()], comparators=of.comparators)
        return placed_ast(ast.UnaryOp, line, op=ast.Not(), operand=of)

    return build


def _bin_op_builder(tree: ast.BinOp, number: dict[str, int]) -> Build:
    op = tree.op
    opposite = OPPOSITE.get(type(op))
    if opposite is not None:  # `x + -2.0` is `x - 2.0`
        left, right = _builder(tree.left, number), _builder(tree.right, number)

        def signed(args: Sequence[ast.expr], line: int) -> Any:
            other = right(args, line)
            positive = without_minus(other)
            if positive is not None:
                return bin_op_ast(left(args, line), opposite, positive, line)
            return bin_op_ast(left(args, line), op, other, line)

        return signed
    if isinstance(tree.left, ast.Name) and isinstance(tree.right, ast.Name):
        a, b = number.get(tree.left.id), number.get(tree.right.id)
        if a is not None and b is not None:
            return lambda args, line: bin_op_ast(args[a], op, args[b], line)
    left, right = _builder(tree.left, number), _builder(tree.right, number)
    return lambda args, line: bin_op_ast(left(args, line), op, right(args, line), line)


def _any_builder(tree: Any, number: dict[str, int]) -> Build:
    kind = type(tree)
    placed = "lineno" in tree._attributes
    fields = []
    for name, value in ast.iter_fields(tree):
        if isinstance(value, ast.AST):
            fields.append((name, _builder(value, number)))
        elif isinstance(value, list):
            fields.append((name, _list_builder([_builder(v, number) for v in value])))
        else:
            fields.append((name, _same(value)))

    def build(args: Sequence[ast.expr], line: int) -> Any:
        made = {name: part(args, line) for name, part in fields}
        return placed_ast(kind, line, **made) if placed else kind(**made)

    return build


def _list_builder(parts: list[Build]) -> Build:
    return lambda args, line: [p(args, line) for p in parts]


def _same(value: Any) -> Build:
    return lambda args, line: value


# ---------------------------------------------------------------------------------------------------------------
# from expressions to ast
# ---------------------------------------------------------------------------------------------------------------
def to_ast(expression: Expression, line: int) -> Any:
    """Build the syntax tree of an expression. Nesting is bounded where expressions are made, so recursion is safe."""
    kind = type(expression)
    if kind is str:
        return name_ast(expression, line)
    if kind is Expr:
        template, args, _ = expression
        return template.build([name_ast(a, line) if type(a) is str else to_ast(a, line) for a in args], line)
    return to_ast(literal(expression), line) if _awkward(expression) else _constant(expression, line)


def _constant(value: Any, line: int) -> Any:
    if type(value) in (float, int) and (value < 0 or (value == 0 and math.copysign(1.0, value) < 0)):
        return negative_ast(-value, line)
    return constant_ast(value, line)


def _awkward(value: Any) -> bool:
    return type(value) is complex or (type(value) is float and not math.isfinite(value))


def literal(value: Any) -> Expression:
    """Write a Python number as an expression; one without a literal (`inf`, `nan`) is spelled with NumPy's names."""
    if type(value) is complex:
        if f"{value.real:+}" == f"{math.copysign(0.0, value.imag):+}" and math.isfinite(value.imag):
            return Expr(parse_template(f"{value.imag!r}j", 0), ())  # a minus sign applies to the real part, a zero, too
        return Expr(parse_template("complex(_0, _1)", 2), (value.real, value.imag))
    if type(value) is float and not math.isfinite(value):
        return Expr(parse_template(source_of_value(value), 0), ())
    return value


def width(expression: Expression) -> int:
    """Return an upper bound of the number of characters of an expression."""
    if type(expression) is str:
        return len(expression)
    if type(expression) is Expr:
        template, args, _ = expression
        total = template.width
        for n, a in zip(template.counts, args):
            total += n * (len(a) if type(a) is str else width(a))
        return total
    return len(repr(expression))
