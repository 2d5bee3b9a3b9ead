"""Return fresh arrays and NumPy scalars of exactly the types of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tapec.codegen.common.expressions import Expr, Expression, parse_template
from tapec.codegen.common.line_templates import COPY
from tapec.codegen.numpy.idioms import is_weak
from tapec.codegen.schedule.inlining import is_view, spells_out
from tapec.ir import CONSTANT, INPUT, Node, OpSet, ops
from tapec.ir.cost import bytes_of

if TYPE_CHECKING:
    from tapec.codegen.numpy.lowering import Lowering

__all__ = ["result"]

TO_SCALAR = parse_template("_0[()]", 1)
WRITABLE_VIEWS = OpSet("reshape transpose getitem")


def result(low: Lowering, node: Node, given: set[Node]) -> Expression:
    """Return an output's expression, a copy where the memory is not its own; `given` are memories returned already."""
    value = low.operand(node)
    t = node.type
    if node.op.kind == "starred":
        return value  # numbers of NumPy's
    if not t.shape:
        if is_weak(node) or node.op is CONSTANT:
            return Expr(parse_template(f"np.{t.dtype.name}(_0)", 1), (value,))
        return value if _gives_scalar(node) else Expr(TO_SCALAR, (value,))
    root = low.memory.root_of(node)
    if root.op is not INPUT and node not in given and spells_out(node):
        low.memory.use.allocate(t)
        given.add(node)
        return value
    fresh = (root in low.memory.owned or root in low.plan.nested) and root not in given
    if fresh and node is not root:
        fresh = root.type.nbytes == t.nbytes and _is_writable(node)
    if not fresh or node in low.plan.nested:
        low.memory.use.allocate(t)  # the array is made in the line of the return
    if not fresh:
        low.memory.use.moved += 2 * bytes_of(t)
        return Expr(COPY, (value,))
    given.add(root)
    return value


def _gives_scalar(node: Node) -> bool:
    """Return whether the source of a node gives a NumPy scalar by itself, not an array of no dimensions."""
    if node.op is ops.cast and is_weak(node.inputs[0]):
        return True  # `np.float64(x)`
    return isinstance(node.op.numpy, np.ufunc) or node.op.kind in ("reduction", "creation", "input", "item")


def _is_writable(node: Node) -> bool:
    """Return whether a value is made, down to its memory, of views that can be written."""
    while is_view(node):
        if node.op not in WRITABLE_VIEWS:
            return False
        node = node.inputs[0]
    return True
