"""The ops: one definition each says everything about an operation.

Comes in: `tapec.ir`.  Goes out: the table `OPS`, the meaning of NumPy's functions on stand-ins, `Symbol`.
Must not be imported here: autodiff, passes, or anything above.
"""

from tapec.ops import control, creation, elementwise, indexing, layout, linalg, reductions
from tapec.ops.array import FUNCTIONS, METHODS, UFUNCS, ArrayLike, apply, implements, method
from tapec.ops.symbol import Symbol

__all__ = [
    "FUNCTIONS",
    "METHODS",
    "UFUNCS",
    "ArrayLike",
    "Symbol",
    "apply",
    "control",
    "creation",
    "elementwise",
    "implements",
    "indexing",
    "layout",
    "linalg",
    "method",
    "reductions",
]
