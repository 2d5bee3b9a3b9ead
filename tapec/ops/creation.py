"""Creation: arrays made of nothing but a shape, a dtype and a number."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Type
from tapec.ops.define import define


def _full_source(args: tuple[str, ...], node: Any) -> str:
    from tapec.ops.layout import dtype_source

    shape, value, dtype = node.param("shape"), node.param("value"), node.param("dtype")
    written = shape[0] if len(shape) == 1 else shape
    tail = "" if dtype == np.dtype(float) else f", dtype={dtype_source(dtype)}"
    if not shape:
        return f"np.{dtype.name}({value!r})"
    if value == 0:
        return f"np.zeros({written}{tail})"
    if value == 1:
        return f"np.ones({written}{tail})"
    return f"np.full({written}, {value!r}{tail})"


FULL = define(
    "full",
    lambda shape, value, dtype: np.full(shape, value, dtype)[()],
    lambda shape, value, dtype: Type(shape, dtype),
    "creation",
    source=_full_source,
    numpy=np.full,
)
