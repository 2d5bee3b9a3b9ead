"""Decide which forms of operations pay in a program: faster ones that are less plain than NumPy's own.

    np.ones(len(x)) @ x             for  x.sum(axis=0)          of short rows
    x.T.copy().max(axis=0)[:, None] for  x.max(axis=1, ...)     of short rows
    x.dot(w), x.sum() / x.size      for  x @ w, x.mean()        where calls take most of the time
    masked(x, mask)                 for  np.where(mask, x, 0)   of large arrays
    rows_at(x, rows)                for  x[rows]                of many short rows
    x *= y                          for  x = x * y              of arrays of some hundred kB

Each is written only where it alone saves a good share of the time of the whole program, by an estimate of both.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapec.codegen import tuning
from tapec.ir import CONSTANT, INPUT, Node, OpSet, ops
from tapec.ir.cost import bytes_of, elements, length
from tapec.ir.flops import flops

__all__ = [
    "BITS",
    "BUFFERS",
    "CALLS",
    "EXTREMES",
    "ROWS",
    "SUMS",
    "extreme_of_short_rows",
    "forms_that_pay",
    "is_small_mean",
    "is_small_product",
    "sum_of_short_rows",
]

FORMS = BITS, BUFFERS, CALLS, EXTREMES, ROWS, SUMS = ("bits", "buffers", "calls", "extremes", "rows", "sums")

FUNCTIONS = OpSet(
    "exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2 sigmoid power float_power cbrt hypot "
    "sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh"
)


def forms_that_pay(nodes: Sequence[Node]) -> frozenset[str]:
    """Return the forms that pay in a program."""
    saved = dict.fromkeys(FORMS, 0.0)
    for node in nodes:
        if is_in_memory_of_operand(node):
            saved[BUFFERS] += tuning.NEW_BYTE_COST * bytes_of(node)
        if is_small_product(node):
            saved[CALLS] += tuning.DOT_SAVES
        elif sum_of_short_rows(node):
            saved[SUMS] += tuning.SUM_OF_ROW_SAVES * rows_of(node)
        elif is_small_mean(node):
            saved[CALLS] += tuning.DIVIDED_SUM_SAVES
        elif extreme_of_short_rows(node):
            saved[EXTREMES] += tuning.EXTREME_OF_ROW_SAVES * rows_of(node)
        elif node.op is ops.where and elements(node) >= tuning.MASKED_MIN_ELEMENTS:
            saved[BITS] += tuning.MASKED_ELEMENT_SAVES * elements(node)
        elif node.op is ops.getitem and len(node.inputs) == 2:
            saved[ROWS] += tuning.ROW_AT_SAVES * elements(node.inputs[1])
    if not any(saved.values()):
        return frozenset()
    least = tuning.FORM_MIN_SHARE_OF_TIME * sum(map(microseconds, nodes))
    return frozenset([form for form, time in saved.items() if time > least])


def microseconds(node: Node) -> float:
    """Estimate how long an operation takes."""
    if node.op is INPUT or node.op is CONSTANT or node.op.view:
        return 0.0
    size = 0 if node.op.multi else bytes_of(node)
    memory = tuning.NEW_BYTE_COST * size if size >= tuning.BUFFER_MIN_BYTES else 0.0
    return tuning.CALL_COSTS.get(node.op.kind, tuning.CALL_COST) + cost_of_flop(node) * flops(node) + memory


def cost_of_flop(node: Node) -> float:
    """Return the microseconds that an operation takes for each of its elements, or of its multiplications."""
    if node.op.kind == "product":
        return tuning.PRODUCT_FLOP_COST
    if node.op.kind == "linalg":
        return tuning.LINALG_FLOP_COST
    return tuning.FUNCTION_COST if node.op in FUNCTIONS else tuning.ELEMENT_COST


def is_in_memory_of_operand(node: Node) -> bool:
    """Return whether a node may be computed in the memory of an operand, which is large enough for that to count."""
    if node.op.kind != "elementwise" or node.op.multi or bytes_of(node) < tuning.BUFFER_MIN_BYTES:
        return False
    return any([i.type == node.type and i.op is not INPUT for i in node.inputs])


def is_small_product(node: Node) -> bool:
    """Return whether a node is a small product of vectors and matrices: `x.dot(w)` is called faster."""
    if node.op is not ops.matmul:
        return column_and_row(node) is not None
    a, b = (i.type for i in node.inputs)
    if a.dtype != b.dtype or a.dtype.kind not in "fc" or not 0 < a.ndim < 3 or not 0 < b.ndim < 3:
        return False
    return elements(a) * (b.shape[1] if b.ndim == 2 else 1) <= tuning.DOT_MAX_MULTIPLICATIONS


def is_small_mean(node: Node) -> bool:
    """Return whether a node is a mean in which the call counts; NumPy adds half precision up in single precision."""
    t = node.inputs[0].type if node.op is ops.mean else node.type
    of_floats = node.op is ops.mean and t.dtype.kind in "fc" and t.dtype.itemsize >= 4
    return of_floats and node.type.size > 0 and 0 < elements(t) <= tuning.DIVIDED_MEAN_MAX_ELEMENTS


def column_and_row(node: Node) -> int | None:
    """Return which operand of a product of a gradient is a column, where the other is a row; None for others.

    A gradient's zeros may lose a sign when these are multiplied as matrices.
    """
    t = node.type
    if node.op is not ops.multiply or node.role is None or t.ndim != 2 or t.dtype.char not in "fdFD" or 1 in t.shape:
        return None
    n, m = t.shape
    for k, (u, v) in enumerate((node.inputs, node.inputs[::-1])):
        if u.type.shape == (n, 1) and v.type.shape == (1, m) and u.type.dtype == v.type.dtype:
            return k if v.op in (ops.transpose, ops.reshape) and v.inputs[0].type.shape == (m, 1) else None
    return None


def sum_of_short_rows(node: Node) -> bool:
    """Return whether a sum runs along the first or last axis of many short rows: BLAS adds them up faster."""
    if node.op not in (ops.sum, ops.mean):
        return False
    t, axis = node.inputs[0].type, node.param("axis")
    if node.type.dtype != t.dtype or t.dtype.char not in "fd" or t.ndim < 2 or 1 in t.shape or not t.size:
        return False
    along = axis == (t.ndim - 1,) or (t.ndim == 2 and axis == (0,))
    return along and length(t, -1) <= tuning.SHORT_ROW_MAX_ELEMENTS and rows_of(node) >= tuning.SHORT_ROWS_MIN


def extreme_of_short_rows(node: Node) -> bool:
    """Return whether a node is the extreme of each of many short rows: NumPy is fast along columns."""
    if node.op not in (ops.max, ops.min):
        return False
    t = node.inputs[0].type
    of_rows = t.ndim == 2 and node.param("axis") == (1,) and t.dtype.char in "fd"
    short = of_rows and 1 < length(t, 1) <= tuning.COLUMN_EXTREMES_MAX_ROW_ELEMENTS
    return short and rows_of(node) >= tuning.SHORT_ROWS_MIN


def rows_of(node: Node) -> int:
    """Count the rows over which NumPy's inner loop runs one by one."""
    t = node.inputs[0].type
    return t.size // t.shape[-1] if t.shape[-1] else 0
