"""Write operations as others: an op's record says how, in NumPy, as its derivative is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tapec.ir import ITEM, Builder, Graph, Node, Type, get_op, rebuilt
from tapec.ops import Symbol
from tapec.ops.decompositions import decomposition
from tapec.passes.whole_graph.lean_bodies import lean_bodies

__all__ = ["decomposed"]


def decomposed(graph: Graph, writes: Callable[[Node], bool]) -> Graph:
    """Return the graph without the operations that a target does not write, as far as their records help."""
    graph = lean_bodies(graph, partial(decomposed, writes=writes), False)
    unknown: set[Node] = set()

    while True:
        found = [n for n in graph.nodes if decomposition(n.op) is not None and n not in unknown and not writes(n)]
        if not found:
            return graph
        graph = taken_apart(graph, found, unknown)


def taken_apart(graph: Graph, found: list[Node], unknown: set[Node]) -> Graph:
    """Replace these operations by what they are made of; those of which that is not known become `unknown`."""
    results: dict[Node, list[Node]] = {}

    def in_parts(builder: Builder, node: Node, new: Mapping[Node, Node]) -> Node:
        if node.op is ITEM and node.inputs[0] in results:
            return results[node.inputs[0]][node.param("index")]
        moved = node.with_inputs(tuple([new.get(i, i) for i in node.inputs]))
        made = None if node.op is ITEM else parts_of(moved, builder)
        if made is not None:
            results[node] = made
            return moved if node.op.multi else made[0]
        unknown.add(moved)
        return builder.add(moved)

    items = [n for n in graph.nodes if n.op is ITEM and n.inputs[0] in found]
    return rebuilt(graph, {*found, *items}, in_parts)


def parts_of(node: Node, builder: Builder) -> list[Node] | None:
    """Return the results of a node, each made of other operations; None where the record cannot say."""
    rule = decomposition(node.op)
    assert rule is not None
    before = builder.origin, builder.role
    builder.origin, builder.role = node.origin, node.role
    try:
        found = rule(*[Symbol(i, builder) for i in node.inputs], **dict(node.params))
        if found is None:
            return None
        types = node.type if node.op.multi else (node.type,)
        made = [fitted(builder, x, t) for x, t in zip(found if node.op.multi else (found,), types, strict=True)]
    finally:
        builder.origin, builder.role = before
    if not node.op.multi and made[0].name is None and made[0] not in node.inputs:
        made[0].name = node.name
    return made


def fitted(builder: Builder, x: Any, t: Type) -> Node:
    """Return a value as a node of a type."""
    node = x.node if isinstance(x, Symbol) else builder.constant(x)
    if node.type == t:
        return node
    if node.type.shape != t.shape:
        node = builder.emit(get_op("broadcast_to"), (node,), (("shape", t.shape),))
    if node.type.dtype != t.dtype or node.type.weak != t.weak:
        node = builder.emit(get_op("number" if t.weak else "cast"), (node,), (("dtype", t.dtype),))
    return node
