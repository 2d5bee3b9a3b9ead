"""The ops: one definition each says everything about an operation.

Comes in: `tapec.ir`.  Goes out: the table `OPS`, the meaning of NumPy's functions on stand-ins, `Symbol`.
Must not be imported here: autodiff, passes, or anything above.
"""

from tapec.ops import (
    comparison,
    complex,
    control,
    creation,
    cumulative,
    differences,
    elementwise,
    extremes,
    indexing,
    layout,
    linalg,
    loop,
    nan,
    powers,
    quantiles,
    queries,
    reductions,
    repeating,
    rounding,
    sorting,
    stacking,
    statistics,
)
from tapec.ops.array import FUNCTIONS, METHODS, UFUNCS, ArrayLike, apply, implements, method
from tapec.ops.symbol import Symbol

__all__ = [
    "FUNCTIONS",
    "METHODS",
    "UFUNCS",
    "ArrayLike",
    "Symbol",
    "apply",
    "comparison",
    "complex",
    "control",
    "creation",
    "cumulative",
    "differences",
    "elementwise",
    "extremes",
    "implements",
    "indexing",
    "layout",
    "linalg",
    "statistics",
    "sorting",
    "quantiles",
    "queries",
    "nan",
    "method",
    "powers",
    "reductions",
    "repeating",
    "stacking",
    "rounding",
]
