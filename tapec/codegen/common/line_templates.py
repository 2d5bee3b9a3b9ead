"""Define templates of lines that several kinds of code share."""

from __future__ import annotations

from typing import Any

from tapec.codegen.common.expressions import Expr, Expression, parse_template
from tapec.ir import Node
from tapec.ir.types import Type

__all__ = ["APPEND", "COPY", "EMPTY_LIST", "EQUAL", "NOT", "WHOLE", "condition_of", "new_array"]

COPY = parse_template("_0.copy()", 1)
WHOLE = parse_template("_0[...]", 1)
EMPTY_LIST = Expr(parse_template("[]", 0), ())
APPEND = parse_template("_0.append(_1)", 2)
EQUAL = parse_template("_0 == _1", 2)
NOT = parse_template("not _0", 1)
UNEQUAL = parse_template("_0 != _1", 2)
TO_INT = parse_template("int(_0)", 1)


def new_array(function: str, t: Type, shape: str | None = None) -> Expr:
    """Write a call that makes an array: `np.zeros((3, 4))`, `np.empty(x.shape, dtype=np.float32)`."""
    found = shape if shape is not None else t.shape[0] if t.ndim == 1 else t.shape
    dtype = "" if t.dtype == float else f", dtype=np.{t.dtype.name}"
    return Expr(parse_template(f"{function}({found}{dtype})", 0), ())


def condition_of(text: Expression, test: Node, value: Any, negated: bool) -> Expression:
    """Write the condition that a test, whose expression is `text`, is this value; negated, that it is another one."""
    if type(value) is bool:
        return Expr(NOT, (text,)) if value is negated else text
    if type(value) is int and test.type.dtype.kind in "fc":
        text = Expr(TO_INT, (text,))
    return Expr(UNEQUAL if negated else EQUAL, (text, value))
