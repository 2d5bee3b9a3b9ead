"""Define templates of lines that several kinds of code share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapec.codegen.common.expressions import Expr, Expression, parse_template
from tapec.codegen.common.statements import Assign
from tapec.ir import Node
from tapec.ir.types import Type

__all__ = [
    "APPEND",
    "COPY",
    "EMPTY_LIST",
    "EQUAL",
    "NOT",
    "TO_PYTHON",
    "WHOLE",
    "condition_of",
    "few_numbers_of",
    "new_array",
]

COPY = parse_template("_0.copy()", 1)
WHOLE = parse_template("_0[...]", 1)
EMPTY_LIST = Expr(parse_template("[]", 0), ())
APPEND = parse_template("_0.append(_1)", 2)
EQUAL = parse_template("_0 == _1", 2)
NOT = parse_template("not _0", 1)
UNEQUAL = parse_template("_0 != _1", 2)
ONLY_NUMBER = parse_template("_0.item()", 1)
TO_INT = parse_template("int(_0)", 1)
TO_PYTHON = {k: parse_template(f"{t}(_0)", 1) for k, t in (("f", "float"), ("i", "int"), ("b", "bool"))}


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


def few_numbers_of(targets: Sequence[str], x: Expression, t: Type, origin: Any) -> Assign | None:
    """Write a line that reads a few of an array's numbers; None where these are many, or stand in several rows.

    `last = float(x[8])`, `a, b, c = x[2].tolist()`, `a, b = x[3:5].tolist()`, and `a = x.item()` of an array of one
    number. The targets are names for all numbers; `_` stands for one that is not read.
    """
    read = [k for k, target in enumerate(targets) if target != "_"]
    if len(read) == len(targets) == 1:
        return Assign(targets[0], Expr(ONLY_NUMBER, (x,)), origin)
    columns = t.shape[-1]
    if not read or t.ndim > 2 or 2 * len(read) > len(targets) or read[0] // columns != read[-1] // columns:
        return None
    row, start, stop = read[0] // columns, read[0] % columns, read[-1] % columns + 1
    at = [str(row)] * (t.ndim - 1)
    if len(read) == 1 and t.dtype.kind in TO_PYTHON:
        element = Expr(parse_template(f"_0[{', '.join([*at, str(start)])}]", 1), (x,))
        return Assign(targets[read[0]], Expr(TO_PYTHON[t.dtype.kind], (element,)), origin)
    if t.ndim == 2 and 2 * len(read) > columns:
        start, stop = 0, columns
    else:
        at.append(f"{start or ''}:{stop if stop < columns else ''}")
    value = Expr(parse_template(f"_0[{', '.join(at)}].tolist()", 1), (x,))
    return Assign(tuple(targets[row * columns + start : row * columns + stop]), value, origin)
