"""The ends of paths as programs of their own: what comes after the last test may have loops, as a whole program may."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tapec.codegen.branches import Segment, placement
from tapec.codegen.items import Asked, Repeat, Rest
from tapec.ir import CONSTANT, ITEM, Graph, Node, input_node

__all__ = ["rests_in", "rests_of"]

Looped = Callable[[Graph], tuple[Any, Any, list[Any]] | None]  # what lowers a program, by which plan, and from what


def rests_of(graph: Graph, segments: list[Segment], least: int, looped: Looped) -> dict[Segment, Rest]:
    """The ends of more operations than that for which `looped` finds loops; the program is parted already."""
    if len(graph.nodes) <= least:
        return {}
    place = placement(graph, segments)
    own: dict[Segment, list[Node]] = {s: [] for s in segments if s.test is None}
    for node in graph.nodes:
        if node.op is not CONSTANT and place.get(node) in own:
            own[place[node]].append(node)
    found = {s: _rest(graph, s, nodes, looped) for s, nodes in own.items() if len(nodes) > least}
    return {s: rest for s, rest in found.items() if rest is not None}


def rests_in(items: Iterable[Any]) -> Iterator[Rest]:
    """What begins at questions of a program with loops, in steps and between them, and at those in there."""
    for item in items:
        if type(item) is Repeat:
            ends = [end for found in item.block.ends.values() for end in found]
        else:
            ends = item.ends if type(item) is Asked else []
        for _, rest in ends:
            yield rest
            yield from rests_in(rest.items)


def _rest(graph: Graph, end: Segment, nodes: Sequence[Node], looped: Looped) -> Rest | None:
    """The end of a path, whose inputs are what was computed before."""
    given: dict[Node, Node] = {}
    constants: dict[Node, None] = {}
    new = {i: i for i in graph.inputs}

    def seen(node: Node) -> Node:
        if node.op is CONSTANT:
            constants[node] = None
            return node
        if node not in new:
            new[node] = made = input_node(node.name or "", node.type)
            given[made] = node
        return new[node]

    inside = set(nodes)
    own = [n for n in nodes if n.op is not ITEM or n.inputs[0] in inside]  # else it stands where the others are
    for node in own:
        inputs = tuple(map(seen, node.inputs))
        new[node] = node if inputs == node.inputs else node.with_inputs(inputs)
    outputs = tuple(map(seen, end.read))
    found = looped(Graph([*graph.inputs, *given], [*constants, *map(seen, own)], outputs, graph.name))
    if found is None:
        return None
    kind, plan, items = found
    return Rest(kind, plan, items, given, tuple(given.values()))
