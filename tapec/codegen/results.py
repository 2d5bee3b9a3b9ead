"""What a function gives back: fresh arrays and NumPy scalars of exactly the types of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tapec.codegen.expressions import Expr, Expression, parse_template
from tapec.codegen.idioms import is_weak
from tapec.codegen.plan import is_view
from tapec.codegen.templates import COPY
from tapec.ir import CONSTANT, INPUT, Node

if TYPE_CHECKING:
    from tapec.codegen.lower import Lowering

__all__ = ["result"]

TO_SCALAR = parse_template("_0[()]", 1)
WRITABLE_VIEWS = {"reshape", "transpose", "getitem"}


def result(low: Lowering, node: Node, given: set[Node]) -> Expression:
    """An output's expression; a copy where the memory is not its own. `given` are the memories given out already."""
    value = low.operand(node)
    t = node.type
    if node.op.kind == "starred":
        return value  # arrays that a loop has made, one by one
    if not t.shape:
        if is_weak(node) or node.op is CONSTANT:
            return Expr(parse_template(f"np.{t.dtype.name}(_0)", 1), (value,))
        return value if _gives_scalar(node) else Expr(TO_SCALAR, (value,))
    root = low.root_of(node)
    if root.op is not INPUT and node not in given and _spells_out(node):
        low.allocate(t)
        given.add(node)
        return value
    fresh = (root in low.owned or root in low.plan.nested) and root not in given
    if fresh and node is not root:
        fresh = root.type.nbytes == t.nbytes and _is_writable(node)
    if not fresh or node in low.plan.nested:
        low.allocate(t)  # here, in the line of the return
    if not fresh:
        return Expr(COPY, (value,))
    given.add(root)
    return value


def _gives_scalar(node: Node) -> bool:
    """Does its source give a NumPy scalar by itself, not an array of no dimensions?"""
    return isinstance(node.op.numpy, np.ufunc) or node.op.kind in ("reduction", "creation", "input", "item")


def _spells_out(node: Node) -> bool:
    """Does a reshape join an axis along which something was spread out with one along which it was not?

    No strides could describe that: it makes an array of its own.
    """
    spread = node.inputs[0] if node.op.name == "reshape" else node
    if spread.op.name != "broadcast_to" or not node.type.size:
        return False
    shape, source = spread.type.shape, spread.inputs[0].type.shape
    own = (1,) * (len(shape) - len(source)) + source
    axes = iter([(n, n != m) for n, m in zip(shape, own) if n != 1])
    for n in node.type.shape:
        joined, kinds = 1, set()
        while joined < n:
            size, equal = next(axes)
            joined *= size
            kinds.add(equal)
        if joined > n:
            return False  # an axis is parted: strides may do
        if len(kinds) > 1:
            return True
    return False


def _is_writable(node: Node) -> bool:
    """Is it, down to its memory, made of views that can be written?"""
    while is_view(node):
        if node.op.name not in WRITABLE_VIEWS:
            return False
        node = node.inputs[0]
    return True
