"""Fold what a loop did again and again: operations that one instruction of the user's made are one box with a count.

Each round of a Python loop runs the same instructions, so the operations of all rounds have the same origins. A value
that one round hands on to the next would be an arrow back to a box above; it is told by a mark on the box instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Graph, Node, is_literal
from tapec.report import tuning

__all__ = ["Folded", "folded_repeats"]


class Folded(NamedTuple):
    """A graph in which repeated operations are one node; `members` are the nodes that each stands for, `carried` the
    nodes that read what they, or later ones, computed in the round before."""

    graph: Graph
    members: dict[Node, tuple[Node, ...]]
    carried: frozenset[Node]


def folded_repeats(graph: Graph) -> Folded:
    """Fold the repeated operations of a graph; one that is small, or repeats nothing, comes out as it is."""
    groups = _groups(graph.nodes) if len(graph.nodes) >= tuning.FOLDED_MIN_NODES else {}
    repeated = [nodes for nodes in groups.values() if len(nodes) >= tuning.FOLDED_MIN_REPEATS]
    if not repeated:
        return Folded(graph, {}, frozenset())
    first = {node: nodes[0] for nodes in repeated for node in nodes}
    given = set(graph.inputs)
    members = {nodes[0]: tuple(nodes) for nodes in repeated}
    new: dict[Node, Node] = {}
    found: dict[Node, tuple[Node, ...]] = {}
    carried = set()
    nodes = []
    for node in graph.nodes:
        if first.get(node, node) is not node:
            continue
        together = members.get(node, (node,))
        operands = dict.fromkeys([first.get(i, i) for n in together for i in n.inputs])
        inputs = [new.get(i, i) for i in operands if i in new or i in given or is_literal(i)]
        made = node if tuple(inputs) == node.inputs else node.with_inputs(tuple(inputs))
        new[node] = made
        nodes.append(made)
        if node in members:
            found[made] = together
        if len(inputs) < len(operands):
            carried.add(made)
    outputs = [new.get(first.get(o, o), o) for o in graph.outputs]
    return Folded(Graph(graph.inputs, nodes, outputs, graph.name), found, frozenset(carried))


def _groups(nodes: Sequence[Node]) -> dict[Any, list[Node]]:
    """Return the nodes of each instruction that do the same."""
    groups: dict[Any, list[Node]] = {}
    for node in nodes:
        if node.inputs and isinstance(node.origin, tuple):
            groups.setdefault(_key(node), []).append(node)
    return groups


def _key(node: Node) -> Any:
    """A key equal for nodes that do the same in different rounds: where operands come from makes no difference, unless
    the same instruction made them."""
    own = tuple([i.op if i.origin == node.origin and i.role == node.role else None for i in node.inputs])
    return tuple(node.origin), node.op, node.role, node.type, own
