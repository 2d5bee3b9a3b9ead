"""Define the ops between arrays and Python's numbers: numbers become arrays, and NumPy's numbers Python's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.ir import Node, Op, register
from tapec.ir.param_types import DTYPE, SIZES
from tapec.ir.types import Type, weak_type
from tapec.ops.core.sample_domains import Case

__all__ = ["COPY", "FLOAT_OF", "ISLAND", "NUMBER_OF", "PACK", "packing"]

KINDS: dict[str, type] = {"f": float, "i": int, "b": bool}


def packing(t: Type) -> tuple[tuple[str, Any], ...]:
    """Return the parameters with which numbers are packed to this type."""
    return ("shape", t.shape), ("dtype", t.dtype)


def _packed(*values: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return np.array(values, dtype).reshape(shape)[()]


def _type(*_: Type, shape: tuple[int, ...], dtype: Any) -> Type:
    return Type(shape, dtype)


def _source(args: Sequence[str], node: Node) -> str:
    """Write `np.array([[a, b], [c, d]])`, or `np.float64(a)`, or `np.zeros((0, 3))` where there are no numbers."""
    shape = node.param("shape")
    if not shape:
        return f"np.{node.param('dtype').name}({args[0]})"
    if not args:
        dtype = node.param("dtype")
        return f"np.zeros({shape})" if dtype.char == "d" else f"np.zeros({shape}, dtype=np.{dtype.name})"
    parts = list(args)
    if len(shape) == 2:
        rows, columns = shape
        parts = [f"[{', '.join(parts[r * columns : (r + 1) * columns])}]" for r in range(rows)]
    return f"np.array([{', '.join(parts)}])" + (f".reshape({shape})" if len(shape) > 2 else "")


def _packs(name: str, kind: str) -> Op:
    params = {"shape": SIZES, "dtype": DTYPE}
    op = Op(name=name, run=_packed, rule=_type, kind=kind, source=_source, params=params, gradient="none")
    op.sample = lambda rng: [
        Case(tuple(rng.standard_normal(n)), {"shape": shape, "dtype": np.dtype(np.float64)})
        for n, shape in ((1, ()), (3, (3,)), (6, (2, 3)), (4, (2, 2, 1)), (0, (0, 3)))
    ]
    return register(op)


PACK = _packs("pack", "creation")  # a result
ISLAND = _packs("pack_operand", "pack")  # an operand of an operation on matrices, inside


def _number(name: str, source: str | None, run: Any, rule: Any) -> Op:
    return register(Op(name=name, run=run, rule=rule, kind="unpack", source=source, gradient="none"))


FLOAT_OF = _number("float_of_array", "float({0})", float, lambda x: weak_type(float))
# of an argument; it is written as the first line, with the name of the argument
NUMBER_OF = _number(
    "number_of", None, lambda x: KINDS[np.asarray(x).dtype.kind](x), lambda x: weak_type(KINDS[x.dtype.kind])
)
COPY = register(
    Op(
        name="pack_again",
        run=np.copy,
        rule=lambda x: x,
        kind="creation",
        source="{0}.copy()",
        gradient="none",
        sample=lambda rng: [Case((rng.standard_normal(3),), {})],
    )
)
