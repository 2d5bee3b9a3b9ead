"""Multiply two arrays with named axes as an expert would write it: by a broadcast multiplication or one `@`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["contract"]


def contract(a: Any, left: list[str], b: Any, right: list[str], out: list[str]) -> Any:
    """Sum over the names that are not in `out`; each of them is in both operands, each in `out` in one or both."""
    summed = [n for n in left if n not in out]
    if not summed:
        return _spread(a, left, out) * _spread(b, right, out)
    size = {**dict(zip(left, a.shape, strict=True)), **dict(zip(right, b.shape, strict=True))}
    shared = [n for n in out if n in left and n in right]
    rows = [n for n in out if n in left and n not in right]
    columns = [n for n in out if n in right and n not in left]
    x = _grouped(a, left, (shared, rows, summed), size)
    y = _grouped(b, right, (shared, summed, columns), size)
    z = np.reshape(x @ y, [size[n] for n in (*shared, *rows, *columns)])
    return _ordered(z, [*shared, *rows, *columns], out)


def _spread(x: Any, names: list[str], out: list[str]) -> Any:
    """The axes in the order of `out`, length one where there is none."""
    order = [n for n in out if n in names]
    x = _ordered(x, names, order)
    size = dict(zip(order, x.shape, strict=True))
    return np.reshape(x, [size.get(n, 1) for n in out])


def _ordered(x: Any, names: list[str], order: list[str]) -> Any:
    return np.transpose(x, [names.index(n) for n in order])


def _grouped(x: Any, names: list[str], groups: Any, size: dict[str, int]) -> Any:
    """A matrix, or a stack of them, from three groups of axes; without the stack when nothing is shared."""
    x = _ordered(x, names, [n for g in groups for n in g])
    lengths = [math.prod(size[n] for n in g) for g in groups]
    return np.reshape(x, lengths if groups[0] else lengths[1:])
