"""Find the arrays that a loop carries and each turn may write in place.

for _ in range(10):
    u[1:-1] += 0.1 * u[2:]         changes parts of u, and reads nothing of the old u afterwards
    v = 2.0 * v                    makes another array in each turn
"""

from __future__ import annotations

from collections.abc import Mapping

from tapec.codegen.numpy.scatter_forms import fused_operand, is_write
from tapec.codegen.schedule.inlining import count_uses, is_view
from tapec.ir import ITEM, Graph, Node
from tapec.ops.control.loop import LOOP, operands_of

__all__ = ["is_written"]


def is_written(body: Graph, state: Node, end: Node) -> bool:
    """Return whether a turn makes `end`, the next value of a carried array, by writing parts of that array, and reads
    nothing of it, nor through views, after the first write."""
    if not state.type.shape or state.type != end.type or end is state:
        return False
    uses = count_uses(body.nodes, body.outputs)
    writer, value = end, _before(end, uses)
    while value is not None and value is not state:
        writer, value = value, _before(value, uses)
    return value is state and _is_read_before(body, state, writer, uses)


def _before(node: Node, uses: Mapping[Node, int]) -> Node | None:
    """Return the array of which a value is a copy with some parts changed; None for other values."""
    if is_write(node):
        return node.inputs[0]
    if node.op is ITEM and node.inputs[0].op is LOOP:
        return _carried_before(node.inputs[0], node.param("index"))
    scattered = fused_operand(node, dict(uses))
    return None if scattered is None else node.inputs[1 - scattered]


def _carried_before(loop: Node, k: int) -> Node | None:
    """Return what a loop begins to write parts of, where the k-th result is such an array."""
    of, body = operands_of(loop.inputs, **dict(loop.given)), loop.bodies[0]
    if k >= len(of.carried):
        return None
    state = body.inputs[len(of.constants) + k]
    return of.carried[k] if is_written(body, state, body.outputs[k]) else None


def _is_read_before(body: Graph, state: Node, writer: Node, uses: Mapping[Node, int]) -> bool:
    """Return whether all that read an array, or look into it, come before its first writer."""
    views, is_written_now = {state}, False
    for node in body.nodes:
        if node is writer:
            is_written_now = True
        elif node in uses and not views.isdisjoint(node.inputs):
            if is_view(node):
                views.add(node)
            elif is_written_now:
                return False
    return views.isdisjoint(body.outputs)
