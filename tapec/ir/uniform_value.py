"""Tell whether a value is one number everywhere, as far as its node says."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir.node import CONSTANT, Node
from tapec.ir.op import ops
from tapec.ir.types import NUMBERS

__all__ = ["uniform_value"]


def uniform_value(node: Node) -> Any:
    """Return the number that a node is everywhere, of a Python number, a scalar constant, or a `full`; None for
    others.
    """
    if node.inputs:
        return None
    op = node.op
    if op is CONSTANT:
        value = node.params[0][1]
        if type(value) in NUMBERS:
            return value
        return value.item() if isinstance(value, np.generic) and value.dtype.char not in "gG" else None
    if op is ops.full:
        value = node.param("value")
        dtype = node.type.dtype
        if dtype == np.float64 and type(value) is float:
            return value
        try:
            return dtype.type(value).item() if dtype.char not in "gG" else None
        except OverflowError:
            return None  # the dtype does not hold the number: NumPy says so when the code runs
    return None
