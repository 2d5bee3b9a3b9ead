"""Write numbers that have expressions: `2.0 / y.size`, where an argument y tells the size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tapec.codegen.common.expressions import Expr, Expression, parse_template
from tapec.ir.sizes import number_of, shape_sizes, sizes_in
from tapec.ir.types import Type

__all__ = ["number_text"]


def number_text(value: Any, name: str, arguments: Mapping[str, tuple[str, Type]]) -> Expression:
    """Write a number by the expression that is its name; as it is where that does not give the number, bit for bit."""
    found = number_of(name, shape_sizes({source: t.shape for source, (_, t) in arguments.items()}))
    if type(found) is not type(value) or found != value:  # as where the arguments do not tell the sizes
        return value
    text = name
    for whole, source, axis in sizes_in(name):
        argument, t = arguments[source]
        if axis is None and t.ndim == 1:
            axis = 0
        read = f"{argument}.size" if axis is None else f"{argument}.shape[{axis}]" if axis else f"len({argument})"
        text = text.replace(whole, read)
    return Expr(parse_template(text, 0), ())
