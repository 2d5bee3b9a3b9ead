"""These rules compute constants at compile time, and write them as Python numbers where that is the same.

An array that is one number everywhere is a `full` node, never an array of equal elements.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.ir import CONSTANT, Node, OpSet, compute, is_literal, ops
from tapec.ir.cost import elements
from tapec.ir.pattern import Some
from tapec.ops import Symbol, apply
from tapec.ops.core.op_helpers import real_dtype
from tapec.ops.layout.creation import FULL
from tapec.passes import tuning
from tapec.passes.engine.node_facts import uniform_value
from tapec.passes.engine.rule import Rule

__all__ = ["CONSTANT_FOLDING", "filled_like"]

ANY = "fciub"
ELEMENTWISE = ("elementwise",)
PURE = ("elementwise", "reduction", "layout", "indexing", "product")
UNIFORM = ("full", "constant")
_UNIFORM = (FULL, CONSTANT)
ARITHMETIC = OpSet("add subtract multiply divide")
WHOLE = OpSet("add subtract multiply negative")
EXACT_FACTOR_MAX = 1 << 26  # up to which the products of two Python integers are exact as floats, too
LAYOUTS = ("reshape", "transpose", "broadcast_to", "getitem", "cast")


def filled_like(y: Symbol, value: Any) -> Any:
    """Return an array of one number, of the type of y; None where that would lose a sign or the number itself."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value == 0 and math.copysign(1.0, value) < 0:
        return None  # parameters are compared by ==, which takes -0.0 for 0.0
    if not np.isfinite(value):
        return None  # left to run time, where NumPy warns
    return apply_full(y, value)


def apply_full(y: Symbol, value: Any) -> Symbol:
    node = y.builder.emit(FULL, (), (("shape", y.shape), ("value", value), ("dtype", y.dtype)))
    return Symbol(node, y.builder)


def computed(y: Symbol, *values: Any) -> Any:
    """Return the op of y on values; None when it fails, or makes a nan or infinity that should be met at run time."""
    node = y.node
    with np.errstate(all="ignore"):
        try:
            value = np.asarray(compute(node, values))
        except (ValueError, TypeError, ArithmeticError):
            return None
    return value[()] if value.dtype.kind in ANY and np.all(np.isfinite(value)) else None


def fold_constants(y: Symbol) -> Any:
    """Compute a node whose operands are constants; an array that one number is spread out to is filled with it."""
    if y.node.op is ops.broadcast_to and y.node.inputs[0].type.size == 1:
        return filled_like(y, y.node.inputs[0].value.item())
    value = computed(y, *[i.value for i in y.node.inputs])
    return value.item() if value is not None and y.weak else value


def _are_constants(y: Node) -> bool:
    """Return whether all operands are constants, and the result is small enough to be one."""
    if (
        y.type.weak and y.type.dtype.kind == "i"
    ):  # NumPy, which computes the constant, would let a Python integer overflow
        return y.op in WHOLE and all([i.op is CONSTANT and abs(i.value) <= EXACT_FACTOR_MAX for i in y.inputs])
    if y.op is ops.broadcast_to and uniform_value(y.inputs[0]) is not None:
        return False
    return elements(y) <= tuning.FOLD_MAX_ELEMENTS and all([i.op is CONSTANT for i in y.inputs])


def fold_uniform(y: Symbol) -> Any:
    """Compute an elementwise node whose operands are one number each, as an array of one number."""
    values = [i.value if is_literal(i) else i.type.dtype.type(uniform_value(i)) for i in y.node.inputs]
    value = computed(y, *values)
    return None if value is None else filled_like(y, value)


def _are_uniform(y: Node) -> bool:
    """Return whether all operands are one number each, and the result is an array.

    A Python number must stay one: an array scalar in its place decides dtypes.
    """
    return y.type.size > 0 and not y.type.weak and all([uniform_value(i) is not None for i in y.inputs])


def literal_operands(y: Symbol) -> Any:
    """Write operands that are one number as Python numbers, where another operand decides the dtype anyway."""
    inputs = y.node.inputs
    strong = [i.type.dtype for i in inputs if uniform_value(i) is None]
    new = [_literal(i, strong) if _gives_way(y.node, i, strong) else Symbol(i, y.builder) for i in inputs]
    return apply(y.node.op, tuple(new), y.node.params)


def _gives_way(y: Node, node: Node, strong: list[np.dtype]) -> bool:
    """Return whether an operand that is one number can be a Python number without a change of dtype."""
    if is_literal(node) or uniform_value(node) is None or y.op is ops.power:
        return False  # NumPy takes special ways for powers whose exponent is one number: `x ** 0.5` is a root
    dtype = node.type.dtype
    if dtype == np.float64 and all([other.kind in "iu" for other in strong]):
        return y.op in ARITHMETIC  # integers times a Python float are double precision in any case
    return any([np.can_cast(dtype, other, "safe") for other in strong])


def _some_give_way(y: Node) -> bool:
    """Return whether some operand that is one number can be written as a Python number, and is not yet."""
    if all([is_literal(i) or i.op not in _UNIFORM for i in y.inputs]):
        return False
    strong = [i.type.dtype for i in y.inputs if uniform_value(i) is None and not i.type.weak]
    return bool(strong) and any([_gives_way(y, i, strong) for i in y.inputs])


def _literal(node: Node, strong: list[np.dtype]) -> Any:
    """Return the Python number, in its shortest form, that converts to the same value of the dtype that is computed
    in.
    """
    value, dtype = uniform_value(node), real_dtype(np.result_type(node.type.dtype, *strong))
    if type(value) is float and dtype != np.float64:
        short = float(str(dtype.type(value)))
        return short if dtype.type(short) == dtype.type(value) else value
    return value


def uniform_sum(y: Symbol) -> Any:
    (x,) = y.node.inputs
    value = uniform_value(x)
    return filled_like(y, value * (x.type.size // y.node.type.size)) if y.node.type.size else None


def _is_uniform(y: Node) -> bool:
    """Return whether a node has one operand, and that is one number.

    Index arrays beside it would have to be checked when the code runs.
    """
    x = y.inputs[0]
    return len(y.inputs) == 1 and uniform_value(x) is not None and y.type.size > 0 and x.type.size > 0


def _same_number(y: Symbol) -> Any:
    """Return the number of the operand, in the dtype of the result."""
    value = uniform_value(y.node.inputs[0])
    with np.errstate(all="ignore"):
        return filled_like(y, np.asarray(value).astype(y.dtype)[()]) if np.isfinite(value) else None


CONSTANT_FOLDING = (
    Rule("fold-constants", Some(kinds=PURE, of=("constant",), every=True), fold_constants, _are_constants, kinds=ANY),
    Rule("fold-uniform", Some(kinds=ELEMENTWISE, of=UNIFORM, every=True), fold_uniform, _are_uniform, kinds=ANY),
    Rule("literal-operand", Some(kinds=ELEMENTWISE, of=UNIFORM), literal_operands, _some_give_way, kinds=ANY),
    Rule("layout-of-uniform", Some(*LAYOUTS, of=UNIFORM), _same_number, _is_uniform, kinds=ANY),
    Rule("sum-of-uniform", Some("sum", of=UNIFORM), uniform_sum, _is_uniform, kinds="fc", changes="rounding"),
    Rule("mean-of-uniform", Some("mean", "max", "min", of=UNIFORM), _same_number, _is_uniform, changes="rounding"),
)
