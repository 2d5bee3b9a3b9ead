"""Define templates of lines that several kinds of code share."""

from __future__ import annotations

from tapec.codegen.common.expressions import Expr, parse_template
from tapec.ir.types import Type

__all__ = ["APPEND", "COPY", "EMPTY_LIST", "EQUAL", "WHOLE", "aligned_array", "new_array"]

COPY = parse_template("_0.copy()", 1)
WHOLE = parse_template("_0[...]", 1)
EMPTY_LIST = Expr(parse_template("[]", 0), ())
APPEND = parse_template("_0.append(_1)", 2)
EQUAL = parse_template("_0 == _1", 2)


def new_array(function: str, t: Type) -> Expr:
    """Write a call that makes an array: `np.zeros((3, 4))`, `np.empty(5, dtype=np.float32)`."""
    shape = t.shape[0] if t.ndim == 1 else t.shape
    return Expr(parse_template(f"{function}({', '.join([str(shape), *_typed(t)])})", 0), ())


def aligned_array(t: Type) -> Expr:
    """Write a call of the helper `aligned`: `aligned(3, 4)`, `aligned(5, dtype=np.float32)`."""
    return Expr(parse_template(f"aligned({', '.join([*map(str, t.shape), *_typed(t)])})", 0), ())


def _typed(t: Type) -> list[str]:
    return [] if t.dtype == float else [f"dtype=np.{t.dtype.name}"]
