"""Add to a part of an array where the part plus something is written over it.

    u[1:-1] = u[1:-1] + k * v       u[1:-1] += k * v

A sum with values among zeros is written so. Loops on Python floats come before: there an element is an element.
"""

from __future__ import annotations

from collections.abc import Mapping

from tapec.codegen.common.made_names import wished_name
from tapec.codegen.numpy.scatter_forms import has_repeats, is_part_read, is_write
from tapec.codegen.schedule.inlining import count_uses
from tapec.ir import Graph, Node, get_op, ops, replaced
from tapec.ops.control.loop import LOOP

__all__ = ["with_parts_added"]


def with_parts_added(graph: Graph) -> Graph:
    """Return the program, and the bodies of its loops, with sums in place of such writes; else the same graph."""
    uses = count_uses(graph.nodes, graph.outputs)
    found = {n: k for n in graph.nodes if (k := _operand_read(n, uses)) is not None}
    bodies = {n: tuple(map(with_parts_added, n.bodies)) for n in graph.nodes if n.op is LOOP}
    changed = {n for n, made in bodies.items() if made != n.bodies}
    if not found and not changed:
        return graph

    def make(node: Node, moved: Node, nodes: list[Node]) -> Node:
        if node in found:
            return _added(moved, found[node], nodes)
        made = moved.with_inputs(moved.inputs)
        made.bodies = bodies[node]
        nodes.append(made)
        return made

    return replaced(graph, {*found, *changed}, make)


def _operand_read(write: Node, uses: Mapping[Node, int]) -> int | None:
    """Return which operand of the sum that is written is what stands there already; None for other writes."""
    if not is_write(write) or has_repeats(write):
        return None
    total = write.inputs[1]
    if total.op not in (ops.add, ops.subtract) or uses[total] != 1:
        return None
    for k in (0, 1) if total.op is ops.add else (0,):
        read, other = total.inputs[k], total.inputs[1 - k]
        if is_part_read(read, write) and read.type == total.type and other.type.dtype == write.type.dtype:
            return k
    return None


def _added(write: Node, k: int, nodes: list[Node]) -> Node:
    """Make the sum of an array and values among zeros."""
    base, total, *arrays = write.inputs
    params = (("shape", write.type.shape), *write.params)
    part = Node(get_op("scatter"), (total.inputs[1 - k], *arrays), params, write.type, write.origin, None, write.role)
    made = Node(total.op, (base, part), (), write.type, write.origin, wished_name(write), write.role)
    made.of = write.of
    nodes += [part, made]
    return made
