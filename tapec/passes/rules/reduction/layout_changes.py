"""These rules compose, drop or move changes of shape, order and dtype; no element changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Node, broadcast_shapes, ops
from tapec.ir.pattern import Some, number, params, variables
from tapec.ir.static_index import Slice
from tapec.ops import Symbol, apply
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE, GETITEM
from tapec.ops.layout.creation import FULL
from tapec.ops.layout.diagonals import eye
from tapec.passes.engine.node_facts import takes_everything
from tapec.passes.engine.rule import Rule

__all__ = ["LAYOUT_CHANGES", "reshaped"]

b, c, x = variables("b c x")
k = number("k")
ELEMENTWISE = ("elementwise",)


# -- elementwise operations on what was only spread out ---------------------------------------------------------------
def _before_broadcast(y: Node) -> list[Node]:
    """Return the operands as they were before a `broadcast_to`.

    A Python number stays spread out, since an array of it is not weak, unless another operand decides the dtype.
    """
    decided = any([i.type.dtype == y.type.dtype and not _is_weak(i) for i in y.inputs])
    return [i.inputs[0] if i.op is ops.broadcast_to and (decided or not _is_weak(i)) else i for i in y.inputs]


def _is_weak(node: Node) -> bool:
    """Return whether a node is a Python number, spread out or not."""
    return node.type.weak or (node.op is ops.broadcast_to and node.inputs[0].type.weak)


def _has_broadcast(y: Node) -> bool:
    """Return whether an operand was spread out.

    Powers do not count: NumPy's `x ** 0.5` is a root for arrays, and something else for scalars.
    """
    return y.op is not ops.power and any([n is not i for n, i in zip(_before_broadcast(y), y.inputs)])


def without_broadcasts(y: Symbol) -> Any:
    """Write an operation on operands before they were spread out.

    NumPy broadcasts operands by itself; where all were spread out, the result is spread out instead.
    """
    return _op_on(y, _before_broadcast(y.node))


def _is_larger_than_others(y: Node) -> bool:
    """Return whether an operand is one number everywhere, and larger than the others, which are no Python numbers."""
    if y.op is ops.power or any([i.type.dtype != y.type.dtype for i in y.inputs]):
        return False
    others = [i for i in y.inputs if i.op is not FULL]
    if y.type.dtype != np.float64 and any([i.type.weak for i in others]):
        return False
    return 0 < len(others) < len(y.inputs) and broadcast_shapes(*[i.type.shape for i in others]) != y.type.shape


def with_number(y: Symbol) -> Any:
    """Write every operand that is one number as a Python number, and spread out the result."""
    inputs = [y.builder.constant(float(i.param("value"))) if i.op is FULL else i for i in y.node.inputs]
    return np.broadcast_to(_op_on(y, inputs), y.shape)


def _without_ones(node: Node) -> Node:
    """Return the value of which a node is a reshape that only adds axes of length one in front; else the node."""
    if node.op is not ops.reshape:
        return node
    inner = node.inputs[0]
    ones = node.type.ndim - inner.type.ndim
    return inner if ones > 0 and not inner.type.weak and node.type.shape == (1,) * ones + inner.type.shape else node


def _has_leading_ones(y: Node) -> bool:
    """Return whether an operand has such axes in front, and the shape of the result does not depend on them."""
    new = [_without_ones(i) for i in y.inputs]
    if all([n is i for n, i in zip(new, y.inputs)]):
        return False
    return broadcast_shapes(*[n.type.shape for n in new]) == y.type.shape


def without_leading_ones(y: Symbol) -> Any:
    """Write an operation on operands without axes of length one in front, which broadcast just the same."""
    return _op_on(y, [_without_ones(i) for i in y.node.inputs])


def _op_on(y: Symbol, inputs: list[Node]) -> Any:
    """Return the op of y on other operands."""
    return apply(y.node.op, tuple([Symbol(i, y.builder) for i in inputs]), y.node.params)


def same_op_on(y: Symbol, x: Symbol) -> Any:
    """Return the op of y on x, or x when it has that type already."""
    return x if x.node.type == y.node.type else apply(y.node.op, (x,), y.node.params)


# -- facts ------------------------------------------------------------------------------------------------------------
def _keeps_type(y: Node) -> bool:
    return y.type == y.inputs[0].type


def _keeps_order(y: Node) -> bool:
    axes = y.param("axes")
    return axes == tuple(range(len(axes)))


def _is_strong(x: Node) -> bool:
    return not x.type.weak


def _only_adds_ones(y: Node, x: Node) -> bool:
    return _without_ones(y.inputs[0]) is x


def _is_lossless(y: Node, x: Node) -> bool:
    """Return whether the dtype in the middle of two casts holds every value of the first, so that it can be left
    out.
    """
    middle = y.inputs[0].type.dtype
    if x.type.weak or not np.can_cast(x.type.dtype, middle, "safe"):
        return False
    return middle.kind == x.type.dtype.kind or y.type.dtype == middle


def _moves_only_ones(y: Node) -> bool:
    """Return whether a transpose keeps the axes that are longer than one in their order."""
    shape = y.inputs[0].type.shape
    long = [k for k in y.param("axes") if shape[k] != 1]
    return 1 in shape and long == sorted(long)


def _same_size(y: Node, x: Node) -> bool:
    return not x.type.weak and x.type.size == y.type.size


def reshaped(y: Symbol, x: Symbol) -> Any:
    return np.reshape(x, y.shape)


def _is_multiple(y: Node, x: Node, b: Node) -> bool:
    """Return whether a product is by one number, so that its factor may be reshaped instead.

    Where the reshape only adds axes of length one, the product stays, since others may read it without these axes.
    """
    shape, wanted = y.inputs[0].type.shape, y.type.shape
    spread = len(wanted) > len(shape) and [n for n in wanted if n != 1] == [n for n in shape if n != 1]
    return not b.type.shape and not x.type.weak and (x.type.shape == wanted or not spread)


def multiple_reshaped(y: Symbol, x: Symbol, b: Symbol) -> Any:
    """Return the multiple of x in the shape of y, which x may have already."""
    return x * b if x.shape == y.shape else np.reshape(x * b, y.shape)


def _is_identity(y: Node, c: Node) -> bool:
    """Return whether a condition is true on a diagonal only, perhaps with axes of length one."""
    return c.type.shape == y.type.shape and _without_axes(c).op is ops.eye


def _without_axes(c: Node) -> Node:
    return c.inputs[0] if c.op is ops.reshape else c


def identity(y: Symbol, c: Symbol) -> Any:
    """Return an array of numbers that is one where the condition is true."""
    matrix = _without_axes(c.node)
    rows, columns = matrix.type.shape
    return np.reshape(eye(y, rows, columns, matrix.param("k")), y.shape)


def _is_full(y: Node) -> bool:
    return y.inputs[0].op is ops.full


def _is_one_number(x: Node) -> bool:
    return x.type.size == 1 and not x.type.weak


def number_spread(y: Symbol, x: Symbol) -> Any:
    """Spread out one number to the new shape."""
    return np.broadcast_to(np.reshape(x, ()), y.shape)


def _long_axes(shape: tuple[int, ...]) -> list[int]:
    """Return the axes that are longer than one."""
    return [k for k, n in enumerate(shape) if n != 1]


def _sets_only_ones(y: Node, x: Node) -> bool:
    """Return whether both shapes are the same but for axes of length one."""
    spread, shape = y.inputs[0].type.shape, y.type.shape
    return not x.type.weak and [spread[k] for k in _long_axes(spread)] == [shape[k] for k in _long_axes(shape)]


def reshaped_before_spread(y: Symbol, x: Symbol) -> Any:
    """Write a reshape before the value is spread out."""
    spread = y.node.inputs[0].type.shape
    own = (1,) * (len(spread) - x.ndim) + x.shape
    shape = [1] * y.ndim
    for k, i in zip(_long_axes(y.shape), _long_axes(spread)):
        shape[k] = own[i]
    return np.broadcast_to(np.reshape(x, shape), y.shape)


def _drops_transposed_ones(y: Node, x: Node) -> bool:
    """Return whether a reshape only drops axes of length one, or moves those that another reshape had added."""
    shape, wanted = y.inputs[0].type.shape, y.type.shape
    long = tuple([shape[k] for k in _long_axes(shape)])
    if not 0 < len(long) < len(shape):
        return False
    return wanted == long or (x.op is ops.reshape and long == tuple([wanted[k] for k in _long_axes(wanted)]))


def transposed_without(y: Symbol, x: Symbol) -> Any:
    """Return the transpose of x without axes of length one."""
    long = _long_axes(x.shape)
    axes = [long.index(k) for k in y.node.inputs[0].param("axes") if k in long]
    return np.reshape(np.transpose(np.reshape(x, [x.shape[k] for k in long]), axes), y.shape)


def _drops_ones(y: Node, uses: Any) -> bool:
    """Return whether a reshape drops axes of length one in front of an elementwise result, which operands need not
    have.
    """
    whole = y.inputs[0]
    if whole.op.kind != "elementwise" or whole.op.multi or whole.op is ops.power:
        return False
    shape, wanted = whole.type.shape, y.type.shape
    extra = len(shape) - len(wanted)
    return extra > 0 and shape == (1,) * extra + wanted and (uses(whole) == 1 or whole.role is not None)


def reshaped_before(y: Symbol) -> Any:
    """Write the elementwise operation on operands without these axes."""
    whole, n = y.node.inputs[0], y.ndim
    operands = [Symbol(i, y.builder) for i in whole.inputs]
    inner = [o if o.ndim <= n else np.reshape(o, o.shape[o.ndim - n :]) for o in operands]
    return apply(whole.op, tuple(inner), whole.params)


def transpose_of_transpose(y: Symbol, x: Symbol) -> Any:
    inner, outer = y.node.inputs[0].param("axes"), y.node.param("axes")
    return np.transpose(x, [inner[k] for k in outer])


def _is_turned_back(y: Node) -> bool:
    """Return whether axes that were moved for slices are moved back."""
    part = y.inputs[0]
    inner, outer = part.inputs[0].param("axes"), y.param("axes")
    return all([type(s) is Slice for s in part.param("index")]) and [inner[k] for k in outer] == [*range(y.type.ndim)]


def part_in_own_order(y: Symbol, x: Symbol) -> Any:
    """Take slices of an array along its own axes."""
    part = y.node.inputs[0]
    index = dict(zip(part.inputs[0].param("axes"), part.param("index")))
    slices = [index.get(k, FULL_SLICE) for k in range(max(index, default=-1) + 1)]
    while slices and slices[-1] == FULL_SLICE:
        slices.pop()
    return apply(GETITEM, (x,), (("index", tuple(slices)),))


def spread_transposed(y: Symbol, x: Symbol) -> Any:
    """Write a transpose before the value is spread out."""
    whole = np.reshape(x, (1,) * (y.ndim - x.ndim) + x.shape)
    return np.broadcast_to(np.transpose(whole, y.node.param("axes")), y.shape)


def _layout(name: str, pattern: Any, replacement: Any, when: Any = None, **more: Any) -> Rule:
    return Rule(name, pattern, replacement, when, kinds="fciub", **more)


SPREAD = Some(kinds=ELEMENTWISE, of=("broadcast_to",))
FILLED = Some(kinds=ELEMENTWISE, of=("full",))
RESHAPED = Some(kinds=ELEMENTWISE, of=("reshape",))
RESHAPED_SPREAD = np.reshape(np.broadcast_to(x, params), params)
REDUCED = Some("reshape")
RESHAPE_TWICE = np.reshape(np.reshape(x, params), params)
MULTIPLE_RESHAPED = np.reshape(np.reshape(x, params) * b, params)
SPREAD_TRANSPOSED = np.transpose(np.broadcast_to(x, params))
RESHAPE_TRANSPOSED = np.reshape(np.transpose(x), params)
BROADCAST_TWICE = np.broadcast_to(np.broadcast_to(x, params), params)
BROADCAST_RESHAPED = np.broadcast_to(np.reshape(x, params), params)
CAST_TWICE = np.astype(np.astype(x, params), params)

LAYOUT_CHANGES = (
    _layout("reshape-to-itself", np.reshape(x, params), x, _keeps_type),
    _layout("reshape-of-reshape", RESHAPE_TWICE, same_op_on),
    _layout("reshape-of-multiple", MULTIPLE_RESHAPED, multiple_reshaped, _is_multiple, once=True),
    _layout("transpose-to-itself", np.transpose(x), x, _keeps_order),
    _layout("transpose-of-transpose", np.transpose(np.transpose(x)), transpose_of_transpose),
    _layout("slices-between-transposes", np.transpose(np.transpose(x)[...]), part_in_own_order, _is_turned_back),
    _layout("transpose-of-broadcast", SPREAD_TRANSPOSED, spread_transposed, lambda x: not x.type.weak),
    _layout("reshape-of-full", np.reshape(k, params), lambda y, k: np.full_like(y, k), _is_full),
    _layout("reshape-of-spread-number", RESHAPED_SPREAD, number_spread, _is_one_number),
    _layout("ones-dropped-before-transpose", RESHAPE_TRANSPOSED, transposed_without, _drops_transposed_ones),
    _layout("reshape-of-broadcast", RESHAPED_SPREAD, reshaped_before_spread, _sets_only_ones),
    _layout("ones-dropped-before", REDUCED, reshaped_before, _drops_ones),
    _layout("transpose-of-ones", np.transpose(x), reshaped, _moves_only_ones),
    _layout("index-of-everything", x[...], reshaped, takes_everything),
    _layout("broadcast-of-same-size", np.broadcast_to(x, params), reshaped, _same_size),
    _layout("broadcast-to-itself", np.broadcast_to(x, params), x, _keeps_type),
    _layout("broadcast-of-broadcast", BROADCAST_TWICE, same_op_on, _is_strong),
    _layout("broadcast-of-leading-ones", BROADCAST_RESHAPED, same_op_on, _only_adds_ones),
    _layout("diagonal-of-ones", np.diag(k), lambda y: eye(y, len(y), k=y.node.param("k")), lambda k: k == 1),
    Rule("identity-chosen", np.where(c, 1, 0), identity, _is_identity, kinds="fc"),
    _layout("cast-to-itself", np.astype(x, params), x, _keeps_type),
    _layout("cast-of-cast", CAST_TWICE, same_op_on, _is_lossless),
    _layout("copy", np.copy(x), x),
    # NumPy's loops over one element and over many may differ in the last digit of a transcendental function
    _layout("operand-of-broadcast", SPREAD, without_broadcasts, _has_broadcast, changes="rounding"),
    Rule("operand-of-one-number", FILLED, with_number, _is_larger_than_others, changes="rounding"),
    _layout("operand-with-leading-ones", RESHAPED, without_leading_ones, _has_leading_ones),
)
