"""Find the expressions that the user wrote for numbers: `0.5 * n * math.log(2.0 * math.pi)` for 183.78770664093454.

Python has computed such a number before it meets an array, so that a graph has nothing but its value:

    r = x @ w - y
    n = len(y)
    return 0.5 * (r @ r) + 0.5 * n * math.log(2.0 * math.pi)

The instruction that read the number tells where it stands in the source. What stands there is taken for its expression
if it is made of literals, sizes of arguments and functions of `math` alone, and gives the number bit for bit.
"""

from __future__ import annotations

import ast
import linecache
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType
from typing import Any

from tapec.ir import CONSTANT, Builder, Node, OpSet, constant
from tapec.ir.sizes import number_of, shape_sizes, size_name, size_text, tells_size
from tapec.ir.source_location import place_of, stored_names, variable_for
from tapec.trace import tuning

__all__ = ["name_written_numbers", "operands_of"]

LINEAR = OpSet("add subtract multiply divide")  # whose derivatives read the number itself, never one computed from it
SIZE_WORDS = frozenset({"len", "shape", "size"})
MODULES = frozenset({"math", "np", "numpy"})
CONSTANTS = frozenset({"pi", "e", "tau"})
FUNCTIONS = frozenset(
    {
        *("log", "log2", "log10", "log1p", "exp", "expm1", "sqrt", "cbrt", "gamma", "lgamma", "erf", "erfc"),
        *("sin", "cos", "tan", "sinh", "cosh", "tanh", "radians", "degrees"),
    }
)


def name_written_numbers(builder: Builder, inputs: Iterable[Node]) -> None:
    """Give numbers that the nodes of a new program read the expressions for names that the user wrote for them.

    Numbers whose expressions have sizes differ from equal numbers without from here on.
    """
    if not _may_be_written(builder.nodes):
        return
    shapes = {i.name: i.type.shape for i in inputs if i.name is not None}
    sources: dict[int, _Source] = {}  # by the identity of code objects, whose hash takes in all their instructions
    named: dict[Any, Node] = {}
    for node in builder.nodes[:]:
        if node.origin is None or node.op not in LINEAR:
            continue
        if not any([i.op is CONSTANT and not i.type.shape for i in node.inputs]):
            continue
        code = node.origin[0]
        source = sources.get(id(code)) or sources.setdefault(id(code), _Source(code, shapes, builder.nodes))
        found = source.expressions(node.origin)
        if found:
            node.inputs = tuple([_named(named, i, found) for i in node.inputs])
    builder.nodes[:0] = named.values()


def _may_be_written(nodes: list[Node]) -> bool:
    """Return whether some numbers may have expressions: long ones, and others where the user's code asks for sizes."""
    numbers = [n.params[0][1] for n in nodes if n.op is CONSTANT and not n.type.shape]
    if any([isinstance(v, float) and len(float.__repr__(v)) >= tuning.LONG_NUMBER_MIN_CHARACTERS for v in numbers]):
        return True
    codes = {id(n.origin[0]): n.origin[0] for n in nodes if n.origin is not None} if numbers else {}
    return any([not SIZE_WORDS.isdisjoint(code.co_names) for code in codes.values()])


def _named(named: dict[Any, Node], number: Node, expressions: Mapping[str, str]) -> Node:
    """Return the number with the name of its expression, if it has one that is worth writing: one of those `named`."""
    if number.op is not CONSTANT or number.type.shape:
        return number
    digits = _digits(number.value)
    text = expressions.get(digits)
    if text is None or (len(digits) < tuning.LONG_NUMBER_MIN_CHARACTERS and not tells_size(text)):
        return number
    key = (type(number.value), text)
    return named.get(key) or named.setdefault(key, constant(number.value, text))


def _digits(number: Any) -> str:
    """Return the digits of a number, which are equal for those that are equal bit for bit."""
    return repr(number.item() if hasattr(number, "item") else number)


class _Source:
    """Reads the expressions in the source of one code object."""

    def __init__(self, code: CodeType, shapes: Mapping[str, tuple[int, ...]], nodes: list[Node]):
        self.code = code
        self.nodes = nodes
        self.arrays: dict[str, list[Node]] | None = None  # those that local variables stand for, one after the other
        self.known: dict[int, dict[str, str]] = {}
        self.stored = stored_names(code)
        self.defined: dict[str, ast.expr] | None = None
        parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        own = {*code.co_varnames, *code.co_names, *code.co_freevars}
        # a helper that is given other values than the arguments of the program has other names for some
        same = own.issuperset(shapes)
        self.shapes = {p: shapes[p] for p in parameters if same and p in shapes and p not in self.stored}
        self.sizes = shape_sizes(shapes)

    def expressions(self, origin: tuple[CodeType, int]) -> dict[str, str]:
        """Return the expressions of the numbers that an operation reads, by the digits of the numbers."""
        found = self.known.get(origin[1])
        if found is None:
            found = self.known[origin[1]] = {}
            for tree in operands_of(place_of(origin).text):
                text = self.text(tree)
                value = None if text is None else number_of(text, self.sizes)
                if text is not None and value is not None:
                    found[repr(value)] = text
        return found

    def text(self, tree: ast.expr) -> str | None:
        """Return an expression in terms of sizes and functions of `math`; None for what is more, or only a literal."""
        try:
            made = self.made(tree, tuning.WRITTEN_MAX_DEPTH)
        except LookupError:
            return None
        if isinstance(made, ast.Constant) or (isinstance(made, ast.UnaryOp) and isinstance(made.operand, ast.Constant)):
            return None
        text = ast.unparse(made)
        return text if len(text) <= tuning.WRITTEN_MAX_CHARACTERS else None

    def made(self, tree: ast.expr, depth: int) -> ast.expr:
        """Return an expression in terms of sizes and functions of `math`; raise LookupError for what is more."""
        if not depth:
            raise LookupError
        match tree:
            case ast.Constant(value=int() | float()):
                return tree
            case ast.Name(id=name):
                return self.made(self.definition(name), depth - 1)
            case ast.UnaryOp(op=ast.USub() as sign, operand=operand):
                return ast.UnaryOp(sign, self.made(operand, depth - 1))
            case ast.BinOp(left=left, op=op, right=right):
                return ast.BinOp(self.made(left, depth - 1), op, self.made(right, depth - 1))
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in MODULES and name in CONSTANTS:
                return _of_math(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=name), args=args, keywords=[]) if (
                module in MODULES and name in FUNCTIONS
            ):
                return ast.Call(_of_math(name), [self.made(a, depth - 1) for a in args], [])
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)], keywords=[]):
                return self.size(name, ast.Constant(0))
            case ast.Attribute(value=ast.Name(id=name), attr="size"):
                return self.size(name, None)
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=axis):
                return self.size(name, axis)
        raise LookupError

    def size(self, name: str, axis: ast.expr | None) -> ast.expr:
        """Return the size of an array as that of an argument, along an axis or as a whole."""
        if name in self.shapes:
            return _parsed(size_text(name, None if axis is None else _axis(len(self.shapes[name]), axis)))
        if self.arrays is None:
            self.arrays = {}
            for node in self.nodes:
                if node.origin is not None and node.origin[0] is self.code and not node.op.multi:
                    self.arrays.setdefault(variable_for(node) or "", []).append(node)
        found = self.arrays[name]
        is_parameter = name in self.code.co_varnames[: self.code.co_argcount + self.code.co_kwonlyargcount]
        if is_parameter or len({node.origin for node in found}) < self.stored.count(name):
            raise LookupError  # it may stand for something else, that nobody records
        texts = set()
        for node in found:
            ndim = node.type.ndim
            texts.add(size_name(node, tuple(range(ndim)) if axis is None else (_axis(ndim, axis),)))
        (text, *others) = texts
        if others or text is None:
            raise LookupError
        return _parsed(text)

    def definition(self, name: str) -> ast.expr:
        """Return what is assigned to a local variable, where only one statement assigns to it."""
        if self.stored.count(name) != 1 or name in self.code.co_cellvars:
            raise LookupError
        if self.defined is None:
            self.defined = dict(_definitions(self.code))
        return self.defined[name]


def _axis(ndim: int, tree: ast.expr) -> int:
    """Return the number of an axis, counted from the first."""
    match tree:
        case ast.Constant(value=int() as axis) if axis < ndim:
            return axis
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as axis)) if 0 < axis <= ndim:
            return ndim - axis
    raise LookupError


def _of_math(name: str) -> ast.expr:
    return ast.Attribute(ast.Name("math"), name)


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def operands_of(text: str, function: str | None = None) -> list[ast.expr]:
    """Return the operands of an operation, from its text; those of a call only if it is of that function."""
    try:
        statement = ast.parse(text if len(text) <= tuning.READ_MAX_CHARACTERS else "").body[0]
    except (SyntaxError, ValueError, IndexError):  # of a line that nobody can read, or a part of one
        return []
    match statement:
        case ast.AugAssign(value=value):
            return [value]
        case ast.Expr(value=ast.BinOp(left=left, right=right)):
            return [left, right]
        case ast.Expr(value=ast.Compare(left=left, comparators=others)):
            return [left, *others]
        case ast.Expr(value=ast.Call(func=called, args=args)):
            return args if function in (None, getattr(called, "attr", None)) else []
    return []


def _definitions(code: CodeType) -> Iterator[tuple[str, ast.expr]]:
    """Give the variables that statements of a function assign to, and what they assign: `n, d = x.shape`, too."""
    last = max([end or 0 for _, end, _, _ in code.co_positions()])
    lines = [linecache.getline(code.co_filename, n) for n in range(code.co_firstlineno, last + 1)]
    try:
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except SyntaxError:  # a lambda is a part of a statement
        return
    for node in _statements(tree.body[0].body if isinstance(tree.body[0], ast.FunctionDef) else tree.body):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                yield from [(t.id, v) for t, v in zip(targets, values) if isinstance(t, ast.Name)]
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                parts = [ast.Subscript(value, ast.Constant(k)) for k in range(len(targets))]
                yield from [(t.id, v) for t, v in zip(targets, parts) if isinstance(t, ast.Name)]


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Give the statements of a function, also those inside of others, but none of functions inside of it."""
    for statement in body:
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            for part in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(statement, part, []))
