"""Add rolled arrays in two parts, where they belong, without an array for the roll.

    t += np.roll(x, 1)                      t[:1] += x[-1:]; t[1:] += x[:-1]

Not where the sum had better be computed in a loop over blocks, which reads a rolled array as any other.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapec.codegen import tuning
from tapec.codegen.schedule.inlining import count_uses, is_view, readers_of
from tapec.ir import Graph, Node, cost, get_op, ops, replaced
from tapec.ir.static_index import Slice
from tapec.ir.types import Type

__all__ = ["wrapped"]


def wrapped(graph: Graph) -> Graph:
    """Return the program with rolled summands as scatters of two parts; the same graph when there are none."""
    found = _rolled_summands(graph)
    if not found:
        return graph
    return replaced(graph, found, lambda node, moved, nodes: _added_in_parts(moved, found[node], nodes))


def _is_long(node: Node) -> bool:
    """Return whether a roll moves whole rows, many of them; parts of rows are added no faster than they are copied."""
    return cost.bytes_of(node) >= tuning.ROLLED_SUMMAND_MIN_BYTES and node.param("axis") == (0,)


def _rolled_summands(graph: Graph) -> dict[Node, int]:
    """Return the sums, each with the number of its operand that is rolled."""
    uses = count_uses(graph.nodes, graph.outputs)
    readers = readers_of(graph.nodes)
    inside = set(graph.nodes)
    found: dict[Node, int] = {}
    for node in reversed(graph.nodes):
        if node.op not in (ops.add, ops.subtract) or not _is_apart(node, readers.get(node, ()), found):
            continue
        for k in (1, 0) if node.op is ops.add else (1,):
            summand, other = node.inputs[k], node.inputs[1 - k]
            ours = other in inside and bool(other.inputs) and uses.get(other) == 1 and not is_view(other)
            alike = summand.type == node.type == other.type
            if ours and alike and summand.op is ops.roll and uses[summand] == 1 and _is_long(summand):
                found[node] = k
                break
    return found


def _is_apart(node: Node, readers: Sequence[Node], found: dict[Node, int]) -> bool:
    """Return whether a sum is in no block loop: it is too small for one, or no elementwise operation reads it."""
    small = cost.bytes_of(node) < tuning.LARGE_MIN_BYTES
    return small or not any([r.op.kind == "elementwise" and r not in found for r in readers])


def _added_in_parts(node: Node, k: int, nodes: list[Node]) -> Node:
    """Make the sum that adds both parts of the rolled array."""
    rolled, total = node.inputs[k], node.inputs[1 - k]
    (x,), (shift,) = rolled.inputs, rolled.param("shift")
    shape = x.type.shape
    shift %= shape[0]
    rest = shape[0] - shift
    for length, source, target in (
        (shift, Slice(rest, None, None), Slice(None, shift, None)),
        (rest, Slice(None, rest, None), Slice(shift, None, None)),
    ):
        t = Type((length, *shape[1:]), x.type.dtype)
        part = Node(get_op("getitem"), (x,), (("index", (source,)),), t, rolled.origin, None, node.role)
        params = (("shape", shape), ("index", (target,)))
        placed = Node(get_op("scatter"), (part,), params, node.type, rolled.origin, None, node.role)
        total = Node(node.op, (total, placed), (), node.type, node.origin, None, node.role)
        nodes.extend([part, placed, total])
    total.name = node.name
    return total
