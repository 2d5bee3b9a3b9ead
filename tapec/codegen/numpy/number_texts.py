"""Write numbers that come from sizes: `2.0 / y.size`, where an argument y tells the size."""

from __future__ import annotations

import cmath
from collections.abc import Mapping
from typing import Any

from tapec.codegen.common.expressions import Expr, Expression, parse_template
from tapec.ir.sizes import sizes_in, tells_size
from tapec.ir.types import Type

__all__ = ["number_text"]


def number_text(value: Any, name: str, arguments: Mapping[str, tuple[str, Type]]) -> Expression:
    """Write a number whose name says how it comes from sizes; as it is where the arguments do not tell these."""
    if not tells_size(name) or not cmath.isfinite(value):  # inf / n is inf for any n, and inf is no name
        return value
    text = digits = name
    for whole, source, axis in sizes_in(name):
        if source not in arguments:
            return value
        argument, t = arguments[source]
        read = f"{argument}.size" if axis is None else f"{argument}.shape[{axis}]" if axis else f"len({argument})"
        text = text.replace(whole, read)
        digits = digits.replace(whole, str(t.size if axis is None else t.shape[axis]))
    numerator, _, divisor = digits.partition(" / ")
    exact = float(numerator) / int(divisor) == value if divisor else int(numerator) == value
    return Expr(parse_template(text, 0), ()) if exact else value
