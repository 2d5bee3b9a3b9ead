"""Make nodes of syntax trees quickly; most of the time of emission goes into them.

The classes are `ast`'s own with columns that say "nowhere", since on a line that was never text the interpreter has
nothing to underline. What is the same for all nodes stands in the class, and no constructor looks at keywords.
"""

from __future__ import annotations

import ast
from typing import Any

__all__ = [
    "KINDS",
    "LOAD",
    "OPPOSITE",
    "STORE",
    "assign_ast",
    "attribute_ast",
    "augmented_ast",
    "bin_op_ast",
    "call_ast",
    "constant_ast",
    "without_minus",
    "name_ast",
    "negative_ast",
    "placed_ast",
    "stored_name_ast",
]

LOAD = ast.Load()
STORE = ast.Store()
OPPOSITE: dict[type, ast.operator] = {ast.Add: ast.Sub(), ast.Sub: ast.Add()}


def _nowhere(kind: type, **common: Any) -> Any:
    """Derive a class of the same name whose nodes all have columns that say "nowhere", and the `common` fields."""
    return type(kind.__name__, (kind,), {"col_offset": -1, "end_col_offset": -1, **common})


_Name = _nowhere(ast.Name, ctx=LOAD)
_StoredName = _nowhere(ast.Name, ctx=STORE)
_Constant = _nowhere(ast.Constant)
_Attribute = _nowhere(ast.Attribute, ctx=LOAD)
_BinOp = _nowhere(ast.BinOp)
_Negative = _nowhere(ast.UnaryOp, op=ast.USub())
_Call = _nowhere(ast.Call, keywords=[])
_Assign = _nowhere(ast.Assign)
_AugAssign = _nowhere(ast.AugAssign)
KINDS: tuple[Any, ...] = (_Name, _StoredName, _Constant, _Attribute, _BinOp, _Negative, _Call, _Assign, _AugAssign)
_new = ast.AST.__new__


def name_ast(name: str, line: int) -> Any:
    node = _new(_Name)
    node.id = name
    node.lineno = line
    return node


def stored_name_ast(name: str, line: int) -> Any:
    node = _new(_StoredName)
    node.id = name
    node.lineno = line
    return node


def constant_ast(value: Any, line: int) -> Any:
    node = _new(_Constant)
    node.value = value
    node.lineno = line
    return node


def attribute_ast(value: Any, attr: str, line: int) -> Any:
    node = _new(_Attribute)
    node.value = value
    node.attr = attr
    node.lineno = line
    return node


def bin_op_ast(left: Any, op: ast.operator, right: Any, line: int) -> Any:
    node = _new(_BinOp)
    node.left = left
    node.op = op
    node.right = right
    node.lineno = line
    return node


def negative_ast(value: Any, line: int) -> Any:
    """Make a negative number, `-2.0`: in Python's grammar the sign is an operator."""
    node = _new(_Negative)
    node.operand = constant_ast(value, line)
    node.lineno = line
    return node


def without_minus(node: Any) -> Any:
    """Return what stands behind a minus sign, or that of a number in a quotient; None where there is no such sign.

    >>> import ast
    >>> ast.unparse(without_minus(ast.parse("-2.0 / n").body[0].value))
    '2.0 / n'
    """
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return node.operand
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div) or not isinstance(node.left, ast.UnaryOp):
        return None
    sign = node.left
    of_number = isinstance(sign.op, ast.USub) and isinstance(sign.operand, ast.Constant)
    return bin_op_ast(sign.operand, node.op, node.right, node.lineno) if of_number else None


def call_ast(func: Any, args: list[Any], line: int) -> Any:
    node = _new(_Call)
    node.func = func
    node.args = args
    node.lineno = line
    return node


def assign_ast(targets: list[Any], value: Any, line: int) -> Any:
    node = _new(_Assign)
    node.targets = targets
    node.value = value
    node.lineno = line
    return node


def augmented_ast(target: Any, op: ast.operator, value: Any, line: int) -> Any:
    node = _new(_AugAssign)
    node.target = target
    node.op = op
    node.value = value
    node.lineno = line
    return node


def placed_ast(kind: Any, line: int, **fields: Any) -> Any:
    """Make a node of a kind that has no function of its own here."""
    return kind(**fields, lineno=line, col_offset=-1, end_col_offset=-1)
