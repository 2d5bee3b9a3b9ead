"""Find the axes of an array that are along eigenvalues: there place k belongs to w_k, and to the vector of that.

Where they are summed over, on all sides, what is left is a function of the whole matrix, for which it does not matter
which vectors were found. Nothing is lost where a node is not understood: what comes of it is followed to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapec.autodiff.jacobian.basis_rules import same_axis, spelled_out
from tapec.ir import Node, OpTable, ops
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE
from tapec.ops.layout.creation import FULL
from tapec.ops.linalg.named_axes import axis_names

__all__ = ["EVERYWHERE", "Axes", "carried"]

# Axes of an array that depends on values or vectors: those along them. A function of the whole matrix has none, and
# nothing is known of one that depends on them everywhere.
Axes = frozenset[int]
EVERYWHERE: Axes = frozenset([-1])

Rule = Callable[[Node, Sequence[Axes]], Axes]


def carried(node: Node, known: Sequence[Axes]) -> Axes:
    """The axes of a node's result, from those of its operands."""
    rule = _RULES.get(node.op) or _KINDS.get(node.op.kind)
    if EVERYWHERE in known or rule is None or isinstance(node.type, tuple):
        return EVERYWHERE
    return rule(node, known)


def _by_names(node: Node, known: Sequence[Axes], names: Sequence[Sequence[Any]], out: Sequence[Any]) -> Axes:
    """Equal names are equal places, which nothing else may tell apart; what is not in the result is summed over."""
    along = {operand[a] for operand, axes in zip(names, known, strict=True) for a in axes}
    for i, operand, axes in zip(node.inputs, names, known, strict=True):
        apart = [name in along and a not in axes for a, name in enumerate(operand)]
        if any(apart) and i.op is not FULL:
            return EVERYWHERE
    return EVERYWHERE if None in along else frozenset([k for k, name in enumerate(out) if name in along])


def _elementwise(node: Node, known: Sequence[Axes]) -> Axes:
    """An axis of length one that becomes longer has no name: its only place is in all of the result."""
    rank, shape = node.type.ndim, node.type.shape
    names = []
    for i in node.inputs:
        start = rank - i.type.ndim
        names.append([start + a if n == shape[start + a] else None for a, n in enumerate(i.type.shape)])
    return _by_names(node, known, names, range(rank))


def _product(node: Node, known: Sequence[Axes]) -> Axes:
    if node.op is ops.einsum:
        *names, out = node.param("subscripts").replace("->", ",").split(",")
        return _by_names(node, known, names, out)
    found = axis_names(node)
    return EVERYWHERE if found is None else _by_names(node, known, *found)


def _reduction(node: Node, known: Sequence[Axes]) -> Axes:
    params = dict(node.params)
    gone = params.get("axis")
    if gone is None or len(known) > 1:
        return EVERYWHERE
    gone = gone if isinstance(gone, tuple) else (gone,)
    kept = params.get("keepdims", False)
    return frozenset([a if kept else a - sum([g < a for g in gone]) for a in known[0] if a not in gone])


# -- layout -----------------------------------------------------------------------------------------------------------
def _moved(place: Callable[[Node, int], int | None]) -> Rule:
    """Make a rule from a function that tells where an axis of the operand is found again."""

    def rule(node: Node, known: Sequence[Axes]) -> Axes:
        found = [place(node, a) for a in known[0]]
        return EVERYWHERE if None in found else frozenset(found)  # type: ignore[arg-type]  # none is None

    return rule


def _transposed(node: Node, a: int) -> int:
    return node.param("axes").index(a)


def _reshaped(node: Node, a: int) -> int | None:
    return same_axis(node.inputs[0].type.shape, node.type.shape, a)


def _taken(node: Node, a: int) -> int | None:
    """Return where an axis of the operand is in the result of an index, if it is taken whole."""
    index = spelled_out(node.param("index"), node.inputs[0].type.ndim)
    axes = [k for k, p in enumerate(index) if p is not None]
    if len(node.inputs) > 1 or index[axes[a]] != FULL_SLICE:
        return None
    return sum([not isinstance(p, int) for p in index[: axes[a]]])


def _diag(node: Node, known: Sequence[Axes]) -> Axes:
    """Return both axes: in a diagonal matrix a place is a row, and a column."""
    return frozenset([0, 1]) if node.type.ndim == 2 and not node.param("k") else EVERYWHERE


_KINDS: dict[str, Rule] = {"elementwise": _elementwise, "reduction": _reduction}
_RULES: OpTable[Rule] = OpTable(
    {
        "cast copy broadcast_to": _elementwise,
        "matmul matvec vecmat vecdot einsum tensordot": _product,
        "transpose": _moved(_transposed),
        "reshape": _moved(_reshaped),
        "getitem": _moved(_taken),
        "diag": _diag,
        "norm": _reduction,
    }
)
