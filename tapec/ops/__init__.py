"""This package defines the ops: one definition says everything about one operation.

Comes in: `tapec.ir`.  Goes out: the table `OPS`, the meaning of NumPy's functions on stand-ins, `Symbol`.
Families that few programs need are imported on first use: each package lists its own in `lazy.py`.
Must not be imported here: autodiff, passes, or anything above.
"""

from tapec.ops.control import cond, custom_gradients, loop, select_and_call
from tapec.ops.core import value_checks
from tapec.ops.core.stand_in import FUNCTIONS, METHODS, UFUNCS, ArrayLike, apply, implements, method
from tapec.ops.core.symbol import Symbol
from tapec.ops.elementwise import activations, arithmetic, casting, comparison, complex_parts, minmax, powers, rounding
from tapec.ops.elementwise import lazy as elementwise_gate
from tapec.ops.indexing import (
    getitem_and_scatter,
    index_encoding,
    segment_sum,
    select_and_interp,
    setitem,
    sort_and_search,
    take,
)
from tapec.ops.indexing import lazy as indexing_gate
from tapec.ops.layout import (
    concatenate,
    copies,
    creation,
    diagonals,
    reshape_and_transpose,
    roll_flip_repeat,
    split_and_insert,
)
from tapec.ops.layout import lazy as layout_gate
from tapec.ops.linalg import lazy as linalg_gate
from tapec.ops.linalg import matmul, triangular_blocks
from tapec.ops.numpy_calls import lazy as numpy_calls_gate
from tapec.ops.numpy_calls import operators, shape_queries, ufunc_methods
from tapec.ops.polynomial import lazy as polynomial_gate
from tapec.ops.reductions import cumulative, predicates, running_minmax, statistics, sums_and_extremes
from tapec.ops.reductions import lazy as reductions_gate
from tapec.ops.scipy import lazy as scipy_gate
from tapec.ops.signal import lazy as signal_gate
from tapec.ops.special import lazy as special_gate

__all__ = [
    "ArrayLike",
    "FUNCTIONS",
    "METHODS",
    "Symbol",
    "UFUNCS",
    "apply",
    "implements",
    "method",
]
