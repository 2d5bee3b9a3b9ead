"""Structural zeros are places of a cotangent that are zero because nothing of the value was read or selected there.

They are followed from node to node, as far as shapes, constant indices and the ops tell. The values of masks and of
index arrays are never looked at. So it is often known along which axes there may be such zeros, but not at which
places. A node of which no such zeros are known has None.

    np.where(c, g, 0)   c: bool[8, 1], the user's   StructuralZeros(axes=0b01, chosen=0b01, lines=0b01)
    scatter at x[2:4]   of 8 places                 StructuralZeros(axes=1, chosen=1, axis=-1, filled=0b1100, lines=1)
"""

from __future__ import annotations

from collections.abc import Callable

from tapec.ir import ITEM, Node, OpTable
from tapec.ops.linalg.named_axes import axis_names
from tapec.passes.zero_safety.zero_places import (
    Given,
    StructuralZeros,
    laid_out,
    permuted,
    somewhere,
    with_filled,
    zeros_of_product,
)
from tapec.passes.zero_safety.zeros_of_reshapes import zeros_of_reshape, zeros_of_transpose
from tapec.passes.zero_safety.zeros_of_selections import (
    zeros_of_getitem,
    zeros_of_matrix,
    zeros_of_scatter,
    zeros_of_setitem,
    zeros_of_where,
)

__all__ = ["structural_zeros"]


def structural_zeros(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of a node from those of its operands; None for a node without any."""
    found = _RULES.get(node.op, _linear)(node, given)
    return found if found is not None and found.axes else None


def _product(node: Node, given: Given) -> StructuralZeros | None:
    return zeros_of_product([laid_out(node, k, part) for k, part in enumerate(given)])


def _quotient(node: Node, given: Given) -> StructuralZeros | None:
    return laid_out(node, 0, given[0])


def _sum(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of a sum, which is zero where all terms are."""
    a, b = [laid_out(node, k, part) for k, part in enumerate(given)]
    if a is None or b is None:
        return None
    chosen = a.chosen | b.chosen if a.chosen and b.chosen else 0
    both = StructuralZeros(a.axes | b.axes, chosen, lines=a.lines & b.lines)
    if not (a.filled and b.filled and a.axis == b.axis):
        return both
    return with_filled(both._replace(axis=a.axis), a.filled | b.filled, node.type.shape[a.axis])


def _reduction(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of a sum over axes, which is zero where a whole line is.

    Where the user chose elements of lines, each line is taken to have some.
    """
    part = given[0]
    if part is None:
        return None
    axes, ndim = node.param("axis"), node.inputs[0].type.ndim
    kept = [k for k in range(ndim) if node.param("keepdims") or k not in axes]
    left = [k for k in kept if part.axes >> k & 1 and k not in axes]
    bits = sum([1 << k for k in left])
    if any([bits | t == t for t in part.touched]):
        return None
    return _added_up(part, {k: kept.index(k) for k in left}, ndim, len(kept))


def _added_up(part: StructuralZeros, places: dict[int, int], old: int, new: int) -> StructuralZeros:
    """Return what is left when axes without a new place are summed over.

    Where the user chose places along one of those, each line is taken to have some, so only chosen lines are left.
    """
    left = permuted(part, places, old, new)
    if any([part.chosen >> k & 1 for k in range(old) if k not in places]):
        return left._replace(chosen=left.lines)
    return left


def _contraction(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of a sum of products, along the axes of the result.

    Lines of which the user chose single elements may be zero as a whole.
    """
    names = axis_names(node)
    if names is None:
        return _linear(node, given)
    operands, out = names
    found: list[StructuralZeros | None] = []
    for part, own in zip(given, operands, strict=True):
        if part is None:
            continue
        places = {k: out.index(name) for k, name in enumerate(own) if name in out}
        lines = any([part.axes >> k & 1 for k in range(len(own)) if k not in places])
        if part.chosen or not lines:
            left = _added_up(part, places, len(own), len(out))
            found.append(left if left.axes else None)
    return zeros_of_product(found)


def _recurrence(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of s[i] = b[i] + a[i] * s[i - 1], which is zero up to the first place where b is
    not.
    """
    return somewhere(node, given[1])


def _loop(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of the result of one op in a loop over examples, or in several loops."""
    if node.param("carried") or len(node.type) != 1:
        return None
    known = dict(zip(node.bodies[0].inputs, given, strict=True))
    made = [n for n in node.bodies[0].nodes if n.inputs]
    found = structural_zeros(made[0], tuple([known.get(i) for i in made[0].inputs])) if made else None
    if found is None or not all([n.op is ITEM for n in made[1:]]):
        return None
    axes = (1 << node.type[0].ndim) - 1
    return StructuralZeros(axes, axes if found.chosen else 0)


def _first_of(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of the result of a loop that has one."""
    return given[0]


def _first(node: Node, given: Given) -> StructuralZeros | None:
    return somewhere(node, given[0])


def _linear(node: Node, given: Given) -> StructuralZeros | None:
    """Return the structural zeros of any other linear op: somewhere, if a linear operand has some."""
    op = node.op
    return somewhere(
        node, zeros_of_product(given if op.kind == "layout" else [given[k] for k in op.linear if k < len(given)])
    )


_RULES: OpTable[Callable[[Node, Given], StructuralZeros | None]] = OpTable(
    {
        "where": zeros_of_where,
        "scatter": zeros_of_scatter,
        "tril triu diag eye": zeros_of_matrix,
        "multiply": _product,
        "divide": _quotient,
        "add subtract": _sum,
        "negative positive conjugate real imag cast copy": _quotient,
        "broadcast_to": _quotient,
        "sum mean": _reduction,
        "cumsum": _quotient,
        "reshape": zeros_of_reshape,
        "transpose": zeros_of_transpose,
        "matmul einsum tensordot": _contraction,
        "recurrence": _recurrence,
        "loop": _loop,
        "item": _first_of,
        "setitem": zeros_of_setitem,
        "getitem": zeros_of_getitem,
        "pad": _first,
    }
)
