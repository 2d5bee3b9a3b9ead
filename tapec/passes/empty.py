"""Where cotangents may be empty: zero because nothing flows there, since nothing of that place was read or selected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapec.ir import CONSTANT, Node, get_op
from tapec.ir.index import Slice, Slot
from tapec.ops.indexing import completed
from tapec.ops.named_axes import axis_names
from tapec.passes.facts import is_zero

__all__ = ["SOURCES", "Empty", "may_be_empty"]

SOURCES = frozenset({"where", "scatter", "tril", "triu", "diag", "eye", "setitem"})  # without these nothing is empty
WHOLE = Slice(None, None, None)
SHORT, LONG = 64, 1 << 24  # axes along which any places are told apart, and only runs of them


class Empty(NamedTuple):
    """Along which axes that differs, as bits from the first; whether the user chose the places, or a derivative rule.

    Where constant indices chose along one axis (counted from the last), `filled` are the places that are not empty.
    Where they chose along several, `touched` are those along which no line is empty as a whole: of `x[rows, labels]`,
    with all rows, the first.
    """

    axes: int
    chosen: bool
    axis: int = 0
    filled: int = 0
    touched: int = 0


Given = Sequence[Empty | None]


def may_be_empty(node: Node, given: Given) -> Empty | None:
    """What is known of a node from what is known of its operands; None for one that is full."""
    found = _RULES.get(node.op.name, _linear)(node, given)
    return found if found is not None and found.axes else None


def _all_axes(node: Node) -> int:
    return sum([1 << k for k, n in enumerate(node.type.shape) if n != 1])


def _varies(node: Node, ndim: int) -> int:
    """The axes, among the last `ndim`, along which a value may differ."""
    while node.op.name == "broadcast_to":
        node = node.inputs[0]
    shape = node.type.shape
    return sum([1 << (ndim - len(shape) + k) for k, n in enumerate(shape) if n != 1])


def _joined(parts: Given) -> Empty | None:
    """Empty where any of these is."""
    known = [p for p in parts if p is not None]
    if len(known) < 2:
        return known[0] if known else None
    axes = 0
    for p in known:
        axes |= p.axes
    return Empty(axes, any([p.chosen for p in known]))


def _laid(node: Node, k: int, part: Empty | None) -> Empty | None:
    """What is known of an operand, by the axes of the result to which it broadcasts."""
    shift = node.type.ndim - node.inputs[k].type.ndim
    return part if part is None or not shift else part._replace(axes=part.axes << shift, touched=part.touched << shift)


def _moved(part: Empty, axes: int) -> Empty:
    """What is left of it where axes change their places."""
    return Empty(axes, part.chosen)


# -- where it begins --------------------------------------------------------------------------------------------------
def _where(node: Node, given: Given) -> Empty | None:
    condition, a, b = node.inputs
    parts = [_laid(node, 1, given[1]), _laid(node, 2, given[2])]
    if is_zero(a) or is_zero(b):
        parts.append(Empty(_varies(condition, node.type.ndim), _is_chosen(condition)))
    return _joined(parts)


def _is_chosen(condition: Node, depth: int = 8) -> bool:
    """Is it the user's, as it is or in another layout, or of integers? Derivative rules compare numbers.

    Nor did the user choose the unit vectors along which Jacobians are taken.
    """
    if condition.type.dtype.kind not in "biu" or condition.op.name == "eye" or not depth:
        return False
    return condition.role is None or all([_is_chosen(i, depth - 1) for i in condition.inputs])


def _scatter(node: Node, given: Given) -> Empty | None:
    index, shape = node.param("index"), node.type.shape
    if given[0] is not None:
        return _moved(given[0], _all_axes(node))
    if None in index:
        return Empty(_all_axes(node), True)
    parts = [part for part in completed(len(shape), index) if part is not Ellipsis]
    picked = [k for k, part in enumerate(parts) if part != WHOLE and (type(part) is not int or shape[k] != 1)]
    axes = sum([1 << k for k in picked])
    if len(picked) != 1:
        return Empty(axes, True, touched=sum([1 << k for k in picked if _names_all(node, parts[k], k)]))
    return Empty(axes, True, picked[0] - len(shape), _places(parts[picked[0]], shape[picked[0]]))


def _names_all(node: Node, part: Any, axis: int) -> bool:
    """Is it a constant array that names every place of an axis?"""
    if type(part) is not Slot or node.inputs[1 + part.k].op is not CONSTANT:
        return False
    return len(np.unique(node.inputs[1 + part.k].value)) == node.type.shape[axis]


def _places(part: Any, n: int) -> int:
    """The places along an axis that an index names, as bits; 0 when that is too long to tell."""
    if n > LONG or type(part) not in (int, Slice):
        return 0
    if type(part) is int:
        return 1 << part % n
    return sum([1 << i for i in range(*slice(*part).indices(n))]) if n <= SHORT else _run(part, n)


def _run(part: Slice, n: int) -> int:
    start, stop, step = slice(*part).indices(n)
    return (1 << stop) - (1 << start) if step == 1 and stop > start else 0


def _matrix(node: Node, given: Given) -> Empty | None:
    return Empty(_all_axes(node), node.op.name != "eye")


def _setitem(node: Node, given: Given) -> Empty | None:
    """Zeros are written where nothing of an array was left."""
    if is_zero(node.inputs[1]):
        return Empty(_all_axes(node), True)
    return _first(node, given)


# -- where it goes ----------------------------------------------------------------------------------------------------
def _product(node: Node, given: Given) -> Empty | None:
    return _joined([_laid(node, k, part) for k, part in enumerate(given)])


def _quotient(node: Node, given: Given) -> Empty | None:
    return _laid(node, 0, given[0])


def _sum(node: Node, given: Given) -> Empty | None:
    """Empty where all terms are."""
    a, b = [_laid(node, k, part) for k, part in enumerate(given)]
    if a is None or b is None:
        return None
    if not (a.filled and b.filled and a.axis == b.axis):
        return Empty(a.axes | b.axes, a.chosen and b.chosen)
    filled = a.filled | b.filled
    return a._replace(filled=filled) if filled.bit_count() < node.type.shape[a.axis] else None


def _reduction(node: Node, given: Given) -> Empty | None:
    """Empty where all of a line is. The user chose elements of lines, and takes it that each has some."""
    part = given[0]
    if part is None:
        return None
    axes = node.param("axis")
    kept = [k for k in range(node.inputs[0].type.ndim) if node.param("keepdims") or k not in axes]
    lines = any([part.axes >> k & 1 for k in axes])
    left = [k for k in kept if part.axes >> k & 1 and k not in axes]
    if lines and len(left) == 1 and part.touched >> left[0] & 1:
        return None
    return Empty(sum([1 << kept.index(k) for k in left]), part.chosen and not lines)


def _reshape(node: Node, given: Given) -> Empty | None:
    part = given[0]
    if part is None:
        return None
    old, new = node.inputs[0].type.shape, node.type.shape
    if [n for n in old if n != 1] != [n for n in new if n != 1]:
        return _moved(part, _all_axes(node))
    differs = iter([part.axes >> k & 1 for k, n in enumerate(old) if n != 1])
    return _moved(part, sum([next(differs) << k for k, n in enumerate(new) if n != 1]))


def _transpose(node: Node, given: Given) -> Empty | None:
    part = given[0]
    if part is None:
        return None
    return _moved(part, sum([1 << i for i, k in enumerate(node.param("axes")) if part.axes >> k & 1]))


def _contraction(node: Node, given: Given) -> Empty | None:
    """Empty along the axes that stay. Rows whose elements the user chose one by one may be empty as a whole."""
    names = axis_names(node)
    if names is None:
        return _linear(node, given)
    operands, out = names
    found: list[Empty | None] = []
    for part, own in zip(given, operands, strict=True):
        if part is None:
            continue
        differs = [name for k, name in enumerate(own) if part.axes >> k & 1]
        lines = any([name not in out for name in differs])
        if part.chosen or not lines:
            axes = sum([1 << out.index(name) for name in differs if name in out])
            found.append(Empty(axes, part.chosen and not lines) if axes else None)
    return _joined(found)


def _recurrence(node: Node, given: Given) -> Empty | None:
    """Of s[i] = b[i] + a[i] * s[i - 1], the places before anything flows."""
    return _somewhere(node, given[1])


def _map(node: Node, given: Given) -> Empty | None:
    """An op in a loop over examples, or in several."""
    turn = dict(node.params)
    while turn["op"] == "map":
        turn = dict(turn["params"])
    if turn["op"] == "recurrence":
        return _recurrence(node, given)
    return _somewhere(node, _joined([given[k] for k in get_op(turn["op"]).linear]))


def _somewhere(node: Node, part: Empty | None) -> Empty | None:
    """In places of the result that nobody knows."""
    return None if part is None or isinstance(node.type, tuple) else _moved(part, _all_axes(node))


def _first(node: Node, given: Given) -> Empty | None:
    return _somewhere(node, given[0])


def _linear(node: Node, given: Given) -> Empty | None:
    """Any other linear op."""
    op = node.op
    return _somewhere(node, _joined(given if op.kind == "layout" else [given[k] for k in op.linear if k < len(given)]))


_RULES: dict[str, Callable[[Node, Given], Empty | None]] = {
    "where": _where,
    "scatter": _scatter,
    **dict.fromkeys(["tril", "triu", "diag", "eye"], _matrix),
    "multiply": _product,
    "divide": _quotient,
    **dict.fromkeys(["add", "subtract"], _sum),
    **dict.fromkeys(["negative", "positive", "conjugate", "real", "imag", "cast", "copy"], _quotient),
    "broadcast_to": _quotient,
    **dict.fromkeys(["sum", "mean"], _reduction),
    "cumsum": _quotient,
    "reshape": _reshape,
    "transpose": _transpose,
    **dict.fromkeys(["matmul", "einsum", "tensordot"], _contraction),
    "recurrence": _recurrence,
    "map": _map,
    "setitem": _setitem,
    "pad": _first,
}
