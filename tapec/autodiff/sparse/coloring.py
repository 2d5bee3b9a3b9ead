"""Colour the columns (or rows) of a sparse matrix that can be computed together and told apart again.

All patterns are boolean CSR matrices. Colours are numbered from 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.autodiff import tuning

__all__ = ["column_colors", "recovery", "star_colors"]


def column_colors(pattern: Any) -> np.ndarray:
    """A colour for each column, so that no row has two entries of one colour.

    Each row remembers the colours it has as the bits of a number; a column takes the lowest bit free in all its rows.
    """
    best = _greedy(pattern, np.arange(pattern.shape[1]))
    bound = int(np.diff(pattern.indptr).max(initial=0))
    if best.max(initial=-1) + 1 > bound:
        lengths = np.diff(pattern.tocsc().indptr)
        other = _greedy(pattern, np.argsort(-lengths, kind="stable"))
        if other.max(initial=-1) < best.max(initial=-1):
            return other
    return best


def _greedy(pattern: Any, order: np.ndarray) -> np.ndarray:
    by_column = pattern.tocsc()
    pointers, rows = by_column.indptr.tolist(), by_column.indices.tolist()
    used = [0] * pattern.shape[0]
    colors = np.zeros(pattern.shape[1], int)
    for j in order.tolist():
        own = rows[pointers[j] : pointers[j + 1]]
        taken = 0
        for i in own:
            taken |= used[i]
        bit = ~taken & (taken + 1)
        colors[j] = bit.bit_length() - 1
        for i in own:
            used[i] |= bit
    return colors


def star_colors(pattern: Any) -> np.ndarray:
    """Return colours of a symmetric pattern that need not keep every row apart.

    Each entry, or its mirror image, stands alone among the products.
    """
    lengths = np.diff(pattern.indptr).astype(float)
    if float(np.sum(lengths**2)) > tuning.STAR_COLORING_MAX_PAIRS:
        return column_colors(pattern)
    pointers, columns = pattern.indptr.tolist(), pattern.indices.tolist()
    n = pattern.shape[0]
    neighbours = [[j for j in columns[pointers[i] : pointers[i + 1]] if j != i] for i in range(n)]
    colors = [-1] * n
    for v in range(n):
        forbidden = _forbidden(v, neighbours, colors)
        c = 0
        while c in forbidden:
            c += 1
        colors[v] = c
    return np.array(colors, int)


def _forbidden(v: int, neighbours: list[list[int]], colors: list[int]) -> set[int]:
    found = set()
    for w in neighbours[v]:
        own = colors[w]
        if own >= 0:
            found.add(own)
        for x in neighbours[w]:
            c = colors[x]
            if c < 0 or x == v:
                continue
            if own < 0 or any(colors[y] == own and y != w for y in neighbours[x]):
                found.add(c)
    return found


def recovery(pattern: Any, colors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each entry of a symmetric pattern is among the products with the colours: (colour, element).

    Entry (i, j) is element i of the product with j's colour, if j is the only neighbour of i that has it; otherwise it
    is taken from the mirror image.
    """
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    columns = pattern.indices.astype(int)
    shades = int(colors.max(initial=-1)) + 1
    key = rows * shades + colors[columns]
    alone = np.bincount(key, minlength=pattern.shape[0] * shades)[key] == 1
    mirrored = columns * shades + colors[rows]
    counts = np.bincount(key, minlength=pattern.shape[0] * shades)
    if not np.all(alone | (counts[mirrored] == 1)):
        raise ValueError("these colours do not tell the entries apart")
    return np.where(alone, colors[columns], colors[rows]), np.where(alone, rows, columns)
