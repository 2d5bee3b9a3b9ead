"""Tell in which order the axes of an array lie in memory, on which it depends whether a reshape is a view or a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["memory_order"]


def memory_order(array: np.ndarray) -> Any:
    """Return True for an array in the order of C, without gaps; for any other a key that says how its axes lie.

    NumPy keeps the order of axes in most results, and `reshape` and `ravel` share memory with their operand where this
    order allows it. So a function that changes such a result in place does another thing for arrays that lie otherwise.
    """
    if array.flags.c_contiguous:
        return True
    strides = array.strides
    return array.flags.f_contiguous, tuple(sorted(range(array.ndim), key=lambda k: -abs(strides[k])))
