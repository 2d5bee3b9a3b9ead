"""Split large operations for which NumPy has no fast loop into several that have one.

`np.logaddexp` calls the C library for each element. With a number for one operand it is
max(k, x) + log1p(exp(-|x - k|)), which is what the C loop computes, too; all of these run in vector registers, ten
times as fast. Of two arrays it is max(a, b) + log1p(exp(min(a, b) - max(a, b))), four times as fast. Infinities have no
difference, so these are kept within bounds beyond which log(2) is less than a rounding.

`np.roll` is Python code, which takes longer than copying a small array: two slices change places ten times as fast.

Sums and extremes along a short last axis and others, as those of squares of pixels, loop over a few elements at a time.
Slices are added up, or compared, twenty times as fast. (Sums along the last axis alone are written in another way that
is nearly as fast.) This is done where it saves a good share of the program's time.

`np.convolve(t, x[::-1], "valid")`, the gradient of a convolution by its filter, copies the signal twice when it is the
longer: NumPy turns the shorter round, and what is turned has to lie in order. `np.correlate(x, t)` does neither.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.numpy.target_ops import CORRELATION
from tapec.codegen.numpy.what_pays import microseconds
from tapec.ir import Graph, Node, Op, OpTable, constant, get_op, is_literal, ops, replaced
from tapec.ir.cost import bytes_of, elements, length
from tapec.ir.static_index import Slice
from tapec.ir.types import Type
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE

__all__ = ["expanded"]

BEYOND = 1e20  # adding log(2) changes nothing from here on

Make = Callable[..., Node]


def expanded(graph: Graph) -> Graph:
    """Return the program with such operations taken apart; the same graph when there are none."""
    slow = {n for n in graph.nodes if n.op in _SLOW and _SLOW[n.op][0](n)}
    joined = {n for n in slow if n.op in _JOINED}
    if joined and not _pays(joined, graph):
        slow -= joined
    if not slow:
        return graph
    return replaced(graph, slow, _in_parts)


def _pays(joined: set[Node], graph: Graph) -> bool:
    """Return whether reductions of a few elements each take a good share of the program's time."""
    saved = tuning.EXTREME_OF_ROW_SAVES * sum(map(elements, joined))
    return saved > tuning.FORM_MIN_SHARE_OF_TIME * (saved + sum(map(microseconds, graph.nodes)))


def _in_parts(_: Node, node: Node, nodes: list[Node]) -> Node:
    """Make nodes that do the same as a slow operation; the last of them has its name."""

    def made(what: str | Op, *inputs: Node, shape: tuple[int, ...] = node.type.shape, params: Any = ()) -> Node:
        op = get_op(what) if isinstance(what, str) else what
        t = node.type if shape == node.type.shape else Type(shape, node.type.dtype)
        nodes.extend([i for i in inputs if is_literal(i) and i not in node.inputs])
        nodes.append(Node(op, inputs, params, t, node.origin, None, node.role))
        return nodes[-1]

    found = _SLOW[node.op][1](node, made)
    found.name = node.name
    return found


# -- logaddexp --------------------------------------------------------------------------------------------------------
def _adds_exponentials(node: Node) -> bool:
    """Return whether a large `logaddexp` has two arrays of its dtype, or one and a finite number written out."""
    if elements(node) < tuning.SLOW_OP_MIN_ELEMENTS or node.type.dtype.char not in "fd":
        return False
    alike = all([i.type.dtype == node.type.dtype and not is_literal(i) for i in node.inputs])
    return alike or _number(node) is not None


def _number(node: Node) -> int | None:
    """Return which operand is a finite number written out, beside an array as large as the result; None for neither."""
    for k, i in enumerate(node.inputs):
        if is_literal(i) and math.isfinite(i.value) and node.inputs[1 - k].type == node.type:
            return k
    return None


def _softened_maximum(node: Node, made: Make) -> Node:
    """Write max(k, x) + log1p(exp(-|x - k|)), or max(a, b) + log1p(exp(min(a, b) - max(a, b)))."""
    at = _number(node)
    if at is None:
        most, least = made("maximum", *node.inputs), made("minimum", *node.inputs)
        bounded = [made("clip", x, constant(-BEYOND), constant(BEYOND)) for x in (least, most)]
        return made("add", made("log1p", made("exp", made("subtract", *bounded))), most)
    k, x = node.inputs[at], node.inputs[1 - at]
    apart = made("absolute", made("subtract", x, k) if k.value else x)
    return made("add", made("log1p", made("exp", made("negative", apart))), made("maximum", x, k))


# -- reductions of a few elements each --------------------------------------------------------------------------------
_JOINED = OpTable({"sum mean": "add", "max": "maximum", "min": "minimum"})


def _joins_few(node: Node) -> bool:
    """Return whether a reduction joins a few neighbours for each of many results, and no other form of a sum does."""
    t, axis = node.inputs[0].type, node.param("axis")
    if t.dtype.char not in "fd" or elements(node) < tuning.SLOW_OP_MIN_ELEMENTS or t.ndim - 1 not in axis:
        return False
    if len(axis) == 1 and (t.ndim == 2 or node.op in (ops.sum, ops.mean)):
        return False
    return 1 < math.prod([length(t, k) for k in axis]) <= tuning.JOINED_MAX_ELEMENTS


def _slices_joined(node: Node, made: Make) -> Node:
    """Write x[..., 0] + x[..., 1], for one axis after the other."""
    (x,) = node.inputs
    count = x.type.size // node.type.size
    for axis in sorted(node.param("axis"), reverse=True):
        shape = (*x.type.shape[:axis], *x.type.shape[axis + 1 :])
        index = (FULL_SLICE,) * axis
        parts = [made("getitem", x, shape=shape, params=(("index", (*index, i)),)) for i in range(x.type.shape[axis])]
        x = parts[0]
        for part in parts[1:]:
            x = made(_JOINED[node.op], x, part, shape=shape)
    if node.param("keepdims"):
        x = made("reshape", x, params=(("shape", node.type.shape),))
    return made("divide", x, constant(count)) if node.op is ops.mean else x


# -- roll -------------------------------------------------------------------------------------------------------------
def _rolls_little(node: Node) -> bool:
    moves = [shift % max(node.type.shape[axis], 1) for axis, shift in zip(node.param("axis"), node.param("shift"))]
    return any(moves) and bytes_of(node) <= tuning.SLICED_ROLL_MAX_BYTES


def _slices_in_turn(node: Node, made: Make) -> Node:
    """Write np.concatenate([x[-1:], x[:-1]]), for one axis after the other."""
    (x,) = node.inputs
    for axis, shift in zip(node.param("axis"), node.param("shift")):
        shape, index = x.type.shape, (FULL_SLICE,) * axis
        shift %= max(shape[axis], 1)
        if not shift:
            continue
        rest = shape[axis] - shift
        cut = rest if rest < shift else -shift  # as in np.roll(x, -1) and np.roll(x, 1)
        parts = [
            made("getitem", x, shape=(*shape[:axis], n, *shape[axis + 1 :]), params=(("index", (*index, part)),))
            for n, part in ((shift, Slice(cut, None, None)), (rest, Slice(None, cut, None)))
        ]
        x = made("concatenate", *parts, shape=shape, params=(("axis", axis),))
    return x


# -- convolution with what is turned round ----------------------------------------------------------------------------
TURNED = (("index", (Slice(None, None, -1),)),)


def _turned_operand(node: Node) -> int | None:
    """Return which operand is a reversed vector, no shorter than the other, if both are real; None for neither."""
    if node.param("mode") != "valid" or node.type.dtype.char not in "fd":
        return None
    for k, i in enumerate(node.inputs):
        other = node.inputs[1 - k]
        if i.op is ops.getitem and i.params == TURNED and elements(i) >= elements(other):
            return k if i.type.dtype == other.type.dtype == node.type.dtype else None
    return None


def _turns_the_longer(node: Node) -> bool:
    return _turned_operand(node) is not None


def _correlated(node: Node, made: Make) -> Node:
    """Write np.correlate(x, t)[::-1]."""
    k = _turned_operand(node) or 0
    return made("getitem", made(CORRELATION, node.inputs[k].inputs[0], node.inputs[1 - k]), params=TURNED)


_SLOW: OpTable[tuple[Callable[[Node], Any], Callable[[Node, Make], Node]]] = OpTable(
    {
        "roll": (_rolls_little, _slices_in_turn),
        "convolve": (_turns_the_longer, _correlated),
        "logaddexp": (_adds_exponentials, _softened_maximum),
        "sum mean max min": (_joins_few, _slices_joined),
    }
)
