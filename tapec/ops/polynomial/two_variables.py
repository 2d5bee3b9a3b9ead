"""Define polynomials of two variables by their coefficients, the lowest power first, as `numpy.polynomial` has them.

What else is there NumPy does not dispatch: it passes through as arithmetic. NumPy imports that package when it is asked
for, so this is imported when the first call meets it (`tapec.ops.core.lazy`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ops.core.define import ndim_of, shape_of
from tapec.ops.core.op_helpers import as_array
from tapec.ops.core.stand_in import implements

__all__ = ["polygrid2d", "polyval2d"]


def _horner(x: Any, c: Any, grid: bool) -> Any:
    """Return a polynomial in x for each column of c: at every x for every column, or at the x of that column."""
    if grid:
        c = np.reshape(c, (*shape_of(c), *(1,) * ndim_of(x)))
    y = c[-1] + x * 0
    for k in range(shape_of(c)[0] - 2, -1, -1):
        y = c[k] + y * x
    return y


@implements(np.polynomial.polynomial.polyval2d)
def polyval2d(x: Any, y: Any, c: Any) -> Any:
    x, y, c = as_array(x), as_array(y), as_array(c)
    return _horner(y, _horner(x, c, True), False)


@implements(np.polynomial.polynomial.polygrid2d)
def polygrid2d(x: Any, y: Any, c: Any) -> Any:
    x, y, c = as_array(x), as_array(y), as_array(c)
    return _horner(y, _horner(x, c, True), True)
