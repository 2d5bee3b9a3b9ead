"""Add up after the loops of a gradient what turns add to derivatives of matrices: as one product of collected rows."""

from __future__ import annotations

from functools import reduce

from tapec.autodiff.bodies.sums_after import SumsAfter
from tapec.ir import CT, ITEM, Builder, Graph, Node, ops, prune
from tapec.ops import Symbol
from tapec.ops.control.loop import LOOP, operands_of

__all__ = ["with_sums_after"]


def with_sums_after(graph: Graph) -> Graph:
    """Return the program in which sums of products wait until the loops have ended to which they belong."""
    builder = Builder()
    new: dict[Node, Node] = {i: i for i in graph.inputs}
    results: dict[Node, list[Node]] = {}  # of loops, in their new places
    for node in graph.nodes:
        if node.op is ITEM and node.inputs[0] in results:
            new[node] = results[node.inputs[0]][node.param("index")]
            new[node].name = new[node].name or node.name
            continue
        inputs = tuple([new[i] for i in node.inputs])
        builder.role = node.role
        if node.op is LOOP and node.param("count"):
            results[node] = _summed_after(builder, node, inputs)
        else:
            new[node] = builder.add(node.with_inputs(inputs))
    return prune(Graph(graph.inputs, builder.nodes, [new[o] for o in graph.outputs], graph.name))


def _summed_after(builder: Builder, loop: Node, inputs: tuple[Node, ...]) -> list[Node]:
    """Perform a loop without the sums that can wait, and then these; return its results."""
    body, of = with_sums_after(loop.bodies[0]), operands_of(inputs, **dict(loop.given))
    fixed, carried = len(of.constants), len(of.carried)
    states, ends = body.inputs[fixed : fixed + carried], body.outputs[:carried]
    rows = dict(zip(body.inputs[fixed + carried :], [Symbol(x, builder) for x in of.rows], strict=True))
    later = SumsAfter(rows, body.inputs[:fixed], loop.param("count"), body.outputs[carried:])
    within = Builder()
    within.nodes.extend(body.nodes)
    within.role = CT
    added = [_added(within, body, state, end) for state, end in zip(states, ends, strict=True)]
    matrices_first = sorted(range(carried), key=lambda k: -states[k].type.ndim)  # vectors may be added up of their rows
    waiting = {k for k in matrices_first if (part := added[k]) is not None and later.take(k, part)}
    on = [k for k in range(carried) if k not in waiting]
    new = within.graph(
        [i for i in body.inputs if i not in {states[k] for k in waiting}],
        [*[ends[k] for k in on], *later.collected],
        body.name,
    )
    params = ("count", loop.param("count")), ("constants", fixed), ("carried", len(on)), ("bodies", (prune(new),))
    operands = (*of.constants, *[of.carried[k] for k in on], *of.rows)
    found = builder.items(builder.emit(LOOP, operands, params, loop.origin))
    collected = dict(zip(later.collected, found[len(on) :], strict=True))
    for value, whole in collected.items():
        whole.name = f"{value.name}s" if value.name else None
    sums = later.sums({value: Symbol(whole, builder) for value, whole in collected.items()})
    results = dict(zip(on, found))
    results |= {k: (Symbol(of.carried[k], builder) + total).node for k, total in sums.items()}
    return [*[results[k] for k in range(carried)], *[collected[o] for o in body.outputs[carried:]]]


def _added(within: Builder, body: Graph, state: Node, end: Node) -> Node | None:
    """Return what each turn adds to a carried value that nothing else reads; None for any other carried value."""
    readers: dict[Node, list[Node | None]] = {}
    for node in body.nodes:
        for i in node.inputs:
            readers.setdefault(i, []).append(node)
    for o in body.outputs:
        readers.setdefault(o, []).append(None)
    parts: list[Node] = []
    now = state
    while now is not end:
        (reader, *others) = readers.get(now) or [None]
        if others or reader is None or reader.op is not ops.add or reader.role is not CT or reader.type != state.type:
            return None
        parts += [i for i in reader.inputs if i is not now]
        now = reader
    if not parts or readers[end] != [None] or any([p.type != state.type for p in parts]):
        return None
    return reduce(lambda total, part: within.emit(ops.add, (total, part)), parts)
