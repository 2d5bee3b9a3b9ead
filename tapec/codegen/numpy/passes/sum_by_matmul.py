"""Sum along some axes by products with ones: BLAS adds up to twenty times as fast as `x.sum(axis)`.

Axes that follow each other are one axis of an array in another shape. The first axis may be shorter when the code runs,
as in the last of some blocks, so no text says how long it is.
"""

from __future__ import annotations

import math

from tapec.codegen import tuning
from tapec.ir import Node
from tapec.ir.types import Type

__all__ = ["is_short", "sum_text"]


def sum_text(x: str, t: Type, node: Node, rows: str) -> str | None:
    """Write the sum of x, of type t, along the axes of a node; None where there is no faster way than NumPy's own.

    `rows` has as many rows as x.
    """
    axis, keepdims = node.param("axis"), node.param("keepdims")
    least = tuning.SUM_BY_PRODUCT_MIN_ELEMENTS
    if node.type.dtype != t.dtype or t.dtype.char not in "fd" or t.ndim < 2 or 1 in t.shape or t.size < least:
        return None
    if not 0 < len(axis) < t.ndim or axis[-1] - axis[0] >= len(axis):
        return None
    dtype = "" if t.dtype.char == "d" else ", np.float32"
    before, after = t.shape[: axis[0]], t.shape[axis[-1] + 1 :]
    n = math.prod(t.shape[axis[0] : axis[-1] + 1])
    if after or n <= tuning.SUM_BY_PRODUCT_MAX_ROW_ELEMENTS:
        if t.ndim == 2 and after:
            return f"np.ones({f'(1, len({rows}))' if keepdims else f'len({rows})'}{dtype}).dot({x})"
        if t.ndim == 2:
            return f"{x}.dot(np.ones({(n, 1) if keepdims else n}{dtype}))"
        if axis == (t.ndim - 1,) and t.shape[-2] >= tuning.SUM_OF_STACK_MIN_ROWS and t.shape[-2] * n >= least:
            return f"{x} @ np.ones({(n, 1) if keepdims else n}{dtype})"
        if t.size >= tuning.RESHAPED_SUM_MIN_ELEMENTS:
            return _of_lines(x, rows, t, node.type, before, after, dtype)
    return None


def _of_lines(
    x: str, rows: str, t: Type, result: Type, before: tuple[int, ...], after: tuple[int, ...], dtype: str
) -> str:
    """Write the sum of an array in the shape of a matrix, or of a stack of matrices."""
    columns = math.prod(after)
    n = t.size // (math.prod(before) * columns)
    if not after:
        text, ndim = f"{x}.reshape(-1, {n}).dot(np.ones({n}{dtype}))", 1
    elif not before:
        times = f" * {n // t.shape[0]}" if n > t.shape[0] else ""
        text, ndim = f"np.ones(len({rows}){times}{dtype}).dot({x}.reshape(-1, {columns}))", 1
    else:
        stack = x if t.ndim == 3 else f"{x}.reshape(-1, {n}, {columns})"
        text, ndim = f"np.ones({n}{dtype}) @ {stack}", 2
    if result.ndim == ndim:
        return text
    shape = ", ".join(map(str, (-1 if before else result.shape[0], *result.shape[1:])))
    return f"({text}).reshape({shape})" if "@" in text else f"{text}.reshape({shape})"


def is_short(t: Type) -> bool:
    """Return whether a product is so small, and its rows are so short, that it had better be made and then added up."""
    small = t.size >= tuning.SHORT_ROWS_MIN_ELEMENTS and t.nbytes <= tuning.SHORT_ROWS_MAX_BYTES
    return small and t.shape[-1] <= tuning.SHORT_ROWS_MAX_ROW_ELEMENTS
