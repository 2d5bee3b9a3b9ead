"""These rules move factors into selections among cotangents: `where(c, a, 0) * b` becomes `where(c, a * b, 0)`.

Where `c` is false the cotangent is zero because nothing flows there, so an infinity or nan in `b`, which belongs to the
branch that was not taken, must not turn it into nan. The selection moves outwards to the end of each product. Without
these rules gradients would not be right, so they run even when nothing else is optimised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tapec.ir import Node, ops
from tapec.ir.pattern import Pattern, Some, params, variables
from tapec.ir.static_index import Slot
from tapec.ops import Symbol, apply
from tapec.ops.core.define import reduced_shape
from tapec.passes.engine.node_facts import is_zero, uniform_value
from tapec.passes.engine.rule import Rule

__all__ = ["EITHER", "MASKS", "SUMS", "rule_for_two_selections"]

a, b, c, w, z = variables("a b c w z")

# Operations that map zero to zero, as functions of the selection; they serve as pattern and as replacement.
OUTWARDS: dict[str, Callable[[Any], Any]] = {
    "multiply": lambda s: s * b,
    "divide": lambda s: s / b,
    "negate": lambda s: -s,
    "conjugate": np.conjugate,
    "real": np.real,
    "imag": np.imag,
}
# Changes of layout and dtype, likewise; they have parameters, and the first three change the condition, too.
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda s: np.reshape(s, params),
    "transpose": lambda s: np.transpose(s, params),
    "index": lambda s: s[...],
    "broadcast": lambda s: np.broadcast_to(s, params),
    "cast": lambda s: np.astype(s, params),
}
SELECTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "then": lambda c, a, z: np.where(c, a, z),
    "else": lambda c, a, z: np.where(c, z, a),
}


def _rules() -> Iterator[Rule]:
    """Yield the rules that move a selection outwards, for zeros on either side of it."""
    for side, select in SELECTIONS.items():
        selection = select(c, a, z)
        for what, f in OUTWARDS.items():
            yield _rule(f"select-{side}-{what}", f(selection), select(c, f(a), 0))
        for what, f in LAYOUTS.items():
            rule = _rule(f"select-{side}-{what}", f(selection), _outside(select), _fits)
            # a transpose that others read, too, would be selected twice; the pass `guards` does as well there
            yield rule.with_single_use() if what == "transpose" else rule
        yield _rule(f"select-{side}-sum", np.sum(selection), _outside_sum(select), _is_same_along_axes)
        yield _rule(f"some-{side}-sum", np.reshape(np.sum(selection), params), _where_any(select), _keeps_axes)
        yield _rule(f"some-{side}-times", np.sum(selection) * b, _times_where_any(select), _meets_infinity)
        yield _rule(f"some-{side}-over", np.sum(selection) / b, _times_where_any(select), _meets_infinity)
        yield _rule(f"select-{side}-vector-matrix", selection @ b, _without_rows(select), _picks_rows)
        yield _rule(f"select-{side}-matrix-vector", b @ selection, _without_columns(select), _picks_columns)


def _rule(name: str, pattern: Any, replacement: Any, fits: Callable[[Node], bool] = lambda y: True) -> Rule:
    when = lambda y, z: is_zero(z) and fits(y)
    return Rule(name, pattern, replacement, when, only="cotangents", changes="zeros", kinds="fc")


def _sums() -> Iterator[Rule]:
    for side, select in SELECTIONS.items():
        yield rule_for_two_selections(f"select-{side}-add", select(c, a, z) + select(c, b, w), select(c, a + b, 0))
        yield rule_for_two_selections(f"select-{side}-subtract", select(c, a, z) - select(c, b, w), select(c, a - b, 0))


def rule_for_two_selections(name: str, pattern: Pattern, replacement: Any) -> Rule:
    """Return a rule about two selections by one condition, each with zeros on one side."""
    when = lambda z, w: is_zero(z) and is_zero(w)
    return Rule(name, pattern, replacement, when, only="cotangents", changes="zeros", kinds="fc")


def _fits(y: Node) -> bool:
    """Return whether a condition can go through the change of layout y with its selection.

    It cannot where it is smaller than the selection, unless a reshape only adds and drops axes of length one. It must
    not where it would be read at index arrays a second time.
    """
    selection = y.inputs[0]
    if y.op in (ops.broadcast_to, ops.cast) or not selection.inputs[0].type.shape:
        return True
    if y.op is ops.getitem and any(type(p) is Slot for p in y.param("index")):
        return False
    whole = selection.inputs[0].type.shape == selection.type.shape
    return whole or (y.op is ops.reshape and _condition_shape(selection.inputs[0], y) is not None)


def _outside(select: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """Return a replacement: the selection of a value that has gone through the change of layout."""

    def replacement(y: Any, c: Any, a: Any) -> Any:
        node = y.node
        if node.op not in (ops.broadcast_to, ops.cast):
            a = np.broadcast_to(a, node.inputs[0].type.shape)
            c = _condition(node, c) if c.ndim else c
        return select(c, apply(node.op, (a,), node.params), 0)

    return replacement


def _condition(y: Node, c: Any) -> Any:
    """Return the condition in the layout of the result.

    If a condition was reshaped before, and the original has that shape, it is the original.
    """
    shape = _condition_shape(c.node, y) if y.op is ops.reshape else None
    if shape is None:
        return apply(y.op, (c,), y.params)
    while c.node.op is ops.reshape:
        c = Symbol(c.node.inputs[0], c.builder)
    return c if c.shape == shape else np.reshape(c, shape)


def _condition_shape(condition: Node, reshape: Node) -> tuple[int, ...] | None:
    """Return the shape in which a condition broadcasts to a selection that is reshaped; None if it cannot.

    It can where only axes of length one come and go.
    """
    old, new = reshape.inputs[0].type.shape, reshape.type.shape
    sizes = [n for n, whole in zip(_padded(condition.type, len(old)), old) if whole != 1]
    if [n for n in old if n != 1] != [n for n in new if n != 1]:
        return None
    rest = iter(sizes)
    shape = [1 if n == 1 else next(rest) for n in new]
    while shape and shape[0] == 1:
        del shape[0]
    return tuple(shape)


def _padded(x: Any, ndim: int) -> tuple[int, ...]:
    """Return the shape of x with ones in front."""
    return (1,) * (ndim - len(x.shape)) + x.shape


def _is_same_along_axes(y: Node) -> bool:
    """Return whether a condition is the same for all elements that are added up, so that it selects sums."""
    selection = y.inputs[0]
    shape = _padded(selection.inputs[0].type, selection.type.ndim)
    return all([shape[k] == 1 for k in y.param("axis")])


def _outside_sum(select: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """Return a replacement: the selection of sums, by the condition without the summed axes."""

    def replacement(y: Any, c: Any, a: Any) -> Any:
        axis, keepdims = y.node.param("axis"), y.node.param("keepdims")
        shape = y.node.inputs[0].type.shape
        condition = np.reshape(c, reduced_shape(_padded(c, len(shape)), axis, keepdims))
        return select(condition, np.sum(np.broadcast_to(a, shape), axis=axis, keepdims=keepdims), 0)

    return replacement


# -- all or nothing ---------------------------------------------------------------------------------------------------
def _selected(y: Node) -> tuple[int, int] | None:
    """Return the operand of a linear op that is selected as a whole or is zero, and its place in the selection; else
    None.

    Places of a scatter do not count, since in these it is not linear.
    """
    for k, part in enumerate(y.inputs[:1] if y.op is ops.scatter else y.inputs):
        if part.op is ops.where and part.role is not None and not part.inputs[0].type.shape:
            for side in (1, 2):
                if is_zero(part.inputs[3 - side]):
                    return k, side
    return None


def _whole_outside(y: Symbol, fact: tuple[int, int]) -> Any:
    """Write a linear operation of all or nothing as a selection of the operation."""
    k, side = fact
    selection = y.node.inputs[k]
    inputs: list[Any] = [Symbol(i, y.builder) for i in y.node.inputs]
    inputs[k] = np.broadcast_to(Symbol(selection.inputs[side], y.builder), selection.type.shape)
    found = apply(y.node.op, tuple(inputs), y.node.params)
    c = Symbol(selection.inputs[0], y.builder)
    return np.where(c, found, 0) if side == 1 else np.where(c, 0, found)


LINEAR = ("scatter", "matmul", "einsum", "tensordot", "cumsum", "diag", "tril", "triu")
WHOLE = (
    Rule(
        "one-condition",
        np.where(c, a, b),
        lambda c, a, b: np.where(np.reshape(c, ()), a, b),
        lambda c: c.type.size == 1 and bool(c.type.shape),
        only="cotangents",
        kinds="fcb",
    ),
    Rule(
        "select-whole",
        Some(*LINEAR, of=("where",)),
        _whole_outside,
        _selected,
        only="cotangents",
        changes="zeros",
        kinds="fc",
    ),
)


# -- sums in which some are selected ----------------------------------------------------------------------------------
def _keeps_axes(y: Node) -> bool:
    """Return whether a sum keeps its axes, and adds up a selection whose condition, the user's, differs along them."""
    total = y.inputs[0]
    selection = total.inputs[0]
    kept = reduced_shape(selection.type.shape, total.param("axis"), True)
    return y.type.shape == kept and selection.inputs[0].role is None and not _is_same_along_axes(total)


def _where_any(select: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """Return a replacement: zero where nothing was selected, whatever the sum will be multiplied by, and the sum
    elsewhere.
    """

    def replacement(y: Any, c: Any) -> Any:
        total = y.node.inputs[0]
        selection, axis = Symbol(total.inputs[0], y.builder), total.param("axis")
        return np.where(_any(select, c, total, True), np.sum(selection, axis=axis, keepdims=True), 0)

    return replacement


def _any(select: Callable[[Any, Any, Any], Any], c: Any, total: Node, keepdims: Any) -> Any:
    """Return the mask of the sums that add up a selected element."""
    there = c if select is SELECTIONS["then"] else ~c if c.dtype == bool else c == 0
    there = np.broadcast_to(there, total.inputs[0].type.shape)
    return np.any(there, axis=total.param("axis"), keepdims=keepdims)


def _meets_infinity(y: Node) -> bool:
    """Return whether a sum of a selection by the user's condition is multiplied or divided by what may be infinite."""
    total, other = _sum_and_other(y)
    condition = total.inputs[0].inputs[0]
    if y.op is ops.divide:
        infinite = other.type.size > 1 and other.op is not ops.where and uniform_value(other) is None
    else:
        infinite = other.op in (ops.divide, ops.power, ops.reciprocal)
    return infinite and condition.role is None and not _is_same_along_axes(total)


def _sum_and_other(y: Node) -> tuple[Node, Node]:
    a, b = y.inputs
    return (a, b) if a.op is ops.sum else (b, a)


def _times_where_any(select: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """Return a replacement: the sum times the other factor where something was selected, and times one elsewhere.

    Not times zero, since a rule would move that selection outwards again.
    """

    def replacement(y: Any, c: Any) -> Any:
        total, other = _sum_and_other(y.node)
        there = _any(select, c, total, total.param("keepdims"))
        return apply(y.node.op, (Symbol(total, y.builder), np.where(there, Symbol(other, y.builder), 1)))

    return replacement


def _picks_rows(y: Node) -> bool:
    """Return whether a condition of the user's selects whole rows of the matrix on the right."""
    return _picks(y.inputs[0], y.inputs[1])


def _picks_columns(y: Node) -> bool:
    """Return whether a condition of the user's selects whole columns of the matrix on the left."""
    return _picks(y.inputs[1], y.inputs[0])


def _picks(selection: Node, matrix: Node) -> bool:
    condition = selection.inputs[0]
    one = selection.type.ndim == 1 and condition.type.shape == selection.type.shape and condition.role is None
    return one and matrix.type.ndim == 2 and matrix.op is not ops.where


def _without_rows(select: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """Return a replacement: the product with zeros in the rows that no branch reads, in which there may be a nan."""
    return lambda y, b, c: Symbol(y.node.inputs[0], y.builder) @ select(c[:, None], b, 0)


def _without_columns(select: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    return lambda y, b, c: select(c, b, 0) @ Symbol(y.node.inputs[1], y.builder)


SUMS = tuple(_sums())
EITHER = rule_for_two_selections("select-either-add", np.where(c, a, z) + np.where(c, w, b), np.where(c, a, b))
MASKS = (*_rules(), *SUMS, EITHER, *WHOLE)
