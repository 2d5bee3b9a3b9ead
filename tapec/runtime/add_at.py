"""This module adds values at an index in which a position may come more than once.

Needs NumPy alone, so that an exported function can carry it along.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["scatter_add"]


def scatter_add(shape: tuple[int, ...], dtype: Any, index: Any, values: Any) -> Any:
    """Zeros of this shape, with values added at `index`; a position named twice gets both.

    >>> scatter_add((4,), float, np.array([0, 2, 2]), np.array([1.0, 2.0, 3.0]))
    array([1., 0., 5., 0.])
    """
    out = np.zeros(shape, dtype)
    values = np.asarray(values, dtype)
    parts = index if isinstance(index, tuple) else (index,)
    large = values.size > 256 and out.ndim > 1 and all([isinstance(i, np.ndarray) for i in parts])
    if large and len(parts) == 1:
        # whole rows: position by position in the flat array, for which np.add.at has a fast loop
        width = out[0].size
        places = (parts[0].reshape(-1, 1) * width + np.arange(width)).ravel()
        np.add.at(out.reshape(-1), places, values.ravel())
    elif large and len(parts) == out.ndim:
        # single elements of a matrix: their places in the flat array
        places = parts[0]
        for i, n in zip(parts[1:], shape[1:]):
            places = places * n + i % n
        np.add.at(out.reshape(-1), places, values)
    else:
        np.add.at(out, index, values)
    return out
