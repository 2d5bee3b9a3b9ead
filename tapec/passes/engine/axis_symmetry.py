"""This module tells whether a value stays, or changes its sign, when its first two axes are swapped.

Distances and kernels are symmetric, differences of all pairs are antisymmetric, and so are the cotangents that come
back through them. The parity is known from how a value was made, up to rounding: `x @ x.T`, `a + a.T`,
`v[:, None] + v`, inverses, products, and matrices filled part by part, as stiffness matrices are. On the diagonal of an
antisymmetric value there are zeros, of one sign, or what they were divided into.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.ir import CONSTANT, Node, OpSet, OpTable, ops
from tapec.ir.static_index import Slot
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE
from tapec.passes import tuning
from tapec.passes.engine.node_facts import uniform_value

__all__ = ["swap_parity"]


# the parity of op(v[:, None], v) and op(a, a.T)
MIRRORED = OpTable({"add multiply maximum minimum": 1, "subtract": -1})
EVEN = OpSet("absolute square cos cosh")
ODD = OpSet("negative positive sin tan tanh sinh arcsin arctan arcsinh cbrt sign cast copy")


class _Known(dict[Node, int]):
    """The parities found so far, and how many nodes may still be looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.left = tuning.SYMMETRY_MAX_NODES


def swap_parity(node: Node) -> int:
    """Return 1 for a symmetric value, -1 for an antisymmetric one, 0 where neither is known."""
    return _parity(node, _Known())


def _parity(node: Node, known: _Known) -> int:
    """Return the parity of a node, from the dictionary or from how it was made.

    A node counts as unknown (0) while its operands are looked at, and when no more nodes may be looked at.
    """
    found = known.get(node)
    if found is None and known.left > 0:
        known.left -= 1
        known[node] = 0
        shape: Any = getattr(node.type, "shape", ())
        if len(shape) > 1 and shape[0] == shape[1]:
            found = known[node] = _of(node, known)
    return found or 0


def _of(node: Node, known: _Known) -> int:
    if uniform_value(node) is not None:
        return 1
    if node.op.kind == "elementwise" or node.op in (ops.cast, ops.copy):
        return 0 if node.op.multi else _elementwise(node, known)
    rule = _RULES.get(node.op)
    return 0 if rule is None else rule(node, known)


# -- elementwise ------------------------------------------------------------------------------------------------------
def _elementwise(node: Node, known: _Known) -> int:
    """Return the parity of an elementwise node from the parities of its operands, or from operands that mirror each
    other.
    """
    op, inputs = node.op, node.inputs
    if op in MIRRORED and (_are_mirrored(inputs[0], inputs[1], node.type.ndim) or _is_transpose(*inputs)):
        return MIRRORED[op]
    parts = [_operand(i, node.type.ndim, known) for i in inputs]
    if 0 in parts:
        return 0
    if op in (ops.multiply, ops.divide):
        return parts[0] * parts[1]
    if op in (ops.add, ops.subtract):
        return parts[0] if parts[0] == parts[1] else 0
    # unsigned integers and booleans lose the sign
    if op in ODD and not (op is ops.cast and node.type.dtype.kind in "bu"):
        return parts[0]
    if op in EVEN:
        return 1
    if op is ops.power:
        exponent = uniform_value(inputs[1])
        return 1 if parts == [1, 1] or exponent in (2, 4, 6) else 0
    return 1 if all([p == 1 for p in parts]) else 0


def _operand(node: Node, ndim: int, known: _Known) -> int:
    """Return the parity of an operand that is broadcast to so many axes."""
    shape = node.type.shape
    if len(shape) <= ndim - 2 or (len(shape) == ndim and shape[:2] == (1, 1)):
        return 1
    return _parity(node, known) if len(shape) == ndim else 0


def _are_mirrored(a: Node, b: Node, ndim: int) -> bool:
    """Return whether a and b are one array, spread along the first axis once and along the second once."""
    v, w = _source(a), _source(b)
    if v is not w or v.type.ndim != ndim - 1:
        return False
    n, *rest = v.type.shape
    rows = [(1, n, *rest), (n, *rest)]
    shapes = [a.type.shape, b.type.shape]
    return any([s == (n, 1, *rest) and t in rows and t != s for s, t in (shapes, shapes[::-1])])


def _source(node: Node) -> Node:
    return node.inputs[0] if node.op is ops.reshape else node


# -- others -----------------------------------------------------------------------------------------------------------
def _kept(node: Node, known: _Known) -> int:
    """Return the parity of the operand of an op that keeps the first two axes as they are."""
    shape, inner = node.type.shape, node.inputs[0]
    return _parity(inner, known) if inner.type.ndim > 1 and inner.type.shape[:2] == shape[:2] else 0


def _reduction(node: Node, known: _Known) -> int:
    return _kept(node, known) if min(node.param("axis"), default=0) > 1 else 0


def _transpose(node: Node, known: _Known) -> int:
    return _parity(node.inputs[0], known) if set(node.param("axes")[:2]) == {0, 1} else 0


def _broadcast(node: Node, known: _Known) -> int:
    return _operand(node.inputs[0], node.type.ndim, known)


def _product(node: Node, known: _Known) -> int:
    """Return the parity of a product: 1 for a @ a.T, and that of s for a @ s @ a.T."""
    a, b = node.inputs
    if a.type.ndim != 2 or b.type.ndim != 2:
        return 0
    if _is_transpose(a, b):
        return 1
    for outer, inner in ((b, a), (a, b)):
        if inner.op is ops.matmul:
            first, last = inner.inputs
            end, middle = (first, last) if inner is a else (last, first)
            if _is_transpose(end, outer):
                return _parity(middle, known)
    return 0


def _is_transpose(a: Node, b: Node) -> bool:
    """Return whether one of a and b is the transpose of the other."""
    return any([x.op is ops.transpose and x.inputs[0] is y and x.param("axes") == (1, 0) for x, y in ((a, b), (b, a))])


def _cofactors(node: Node, known: _Known) -> int:
    """Return the parity of cofactors, which are products of n - 1 elements: for an antisymmetric matrix of odd n, 1."""
    parity = _kept(node, known) if node.type.ndim == 2 else 0
    return parity ** (node.type.shape[0] - 1)


def _constant(node: Node, known: _Known) -> int:
    value: Any = node.value
    return int(value.size <= tuning.SYMMETRY_MAX_ELEMENTS and np.array_equal(value, np.swapaxes(value, 0, 1)))


# -- parts ------------------------------------------------------------------------------------------------------------
def _part(node: Node, known: _Known) -> int:
    """Return the parity of a part x[i, i], or of zeros with such a part."""
    x = node.inputs[0]
    return _parity(x, known) if x.type.ndim == node.type.ndim == 2 and _is_square(node, node.inputs[1:]) else 0


def _filled(node: Node, known: _Known) -> int:
    """Return the parity of x after x[i, i] = part, and after what was written before that.

    The parts are looked at from the first on, in a loop: a stiffness matrix is filled with hundreds, too many to
    recurse.
    """
    parts = [node]
    while (x := parts[-1].inputs[0]).op is node.op and len(parts) < tuning.SYMMETRY_MAX_PARTS and x not in known:
        parts.append(x)
    parity = _parity(x, known) if node.type.ndim == 2 else 0
    while parts and parity:
        known.left = tuning.SYMMETRY_MAX_NODES
        part = parts.pop()
        if parts and _are_a_cross(part, parts[-1]):
            part = parts.pop()
        elif not _is_square(part, part.inputs[2:]) or _operand(part.inputs[1], 2, known) != parity:
            return 0
        known[part] = parity
    return parity


def _is_square(node: Node, places: Sequence[Node]) -> bool:
    """Return whether an index takes the same places along both axes."""
    index = node.param("index")
    if len(index) != 2:
        return False
    if not places:
        return bool(index[0] == index[1])
    if len(places) != 2 or not all([type(i) is Slot for i in index]):
        return False
    rows, columns = places
    n = max(rows.type.shape, default=1)
    if rows.type.shape != (n, 1) or columns.type.shape not in [(1, n), (n,)]:
        return False
    return _source(rows) is _source(columns) or (
        rows.op is columns.op is CONSTANT and np.array_equal(np.ravel(rows.value), np.ravel(columns.value))
    )


def _are_a_cross(first: Node, second: Node) -> bool:
    """Return whether two writes put zeros in rows, and then in the same columns, or the other way round."""
    (_, v, *places), (_, w, *more) = first.inputs, second.inputs
    if places or more or uniform_value(v) != 0 or uniform_value(w) != 0:
        return False
    rows, columns = [(*n.param("index"), FULL_SLICE)[:2] for n in (first, second)]
    return rows == columns[::-1]


_RULES: OpTable[Any] = OpTable(
    {
        CONSTANT.name: _constant,
        "eye": lambda node, known: int(node.param("k") == 0),
        "diag": lambda node, known: int(node.param("k") == 0),
        "inv": lambda node, known: _kept(node, known) if node.type.ndim == 2 else 0,
        "cofactors": _cofactors,
        "matmul": _product,
        "transpose": _transpose,
        "reshape": _kept,
        "getitem": _part,
        "scatter": _part,
        "setitem": _filled,
        "broadcast_to": _broadcast,
        "sum mean": _reduction,
        **dict.fromkeys(["max", "min"], lambda node, known: int(_reduction(node, known) == 1)),
    }
)
