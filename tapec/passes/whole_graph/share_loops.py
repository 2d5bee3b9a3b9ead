"""Let one loop do what two do that carry the same values: the user's, and that of a gradient, which collects more."""

from __future__ import annotations

from tapec.ir import CONSTANT, ITEM, Builder, Graph, Node, input_node
from tapec.ops.control.loop import LOOP, operands_of

__all__ = ["shared_loops"]


def shared_loops(graph: Graph) -> Graph:
    """Return the graph in which a loop does, too, what a later one does beyond it."""
    loops = [n for n in graph.nodes if n.op is LOOP and n.param("count") is not None and n.param("carried")]
    for place, first in enumerate(loops):
        for second in loops[place + 1 :]:
            found = _shared(graph, first, second)
            if found is not None:
                return shared_loops(found)
    return graph


def _shared(graph: Graph, first: Node, second: Node) -> Graph | None:
    """Return the graph with one loop, where the first stands, for both; None where they do not carry the same."""
    if first.param("count") != second.param("count"):
        return None
    ours, theirs = operands_of(second.inputs, **dict(second.given)), operands_of(first.inputs, **dict(first.given))
    ends = len(ours.constants), len(ours.constants) + len(ours.carried)
    builder, body = Builder(), second.bodies[0]
    inner = list(body.inputs)
    constants = dict(zip(ours.constants, inner[: ends[0]], strict=True))
    rows = dict(zip(ours.rows, inner[ends[1] :], strict=True))
    known: dict[Node, Node] = {i: i for i in inner}
    _copy(builder, body, known)
    places: list[int] = []  # of what the first loop carries, in the second
    other = first.bodies[0]
    split = len(theirs.constants), len(theirs.constants) + len(theirs.carried)
    mapped: dict[Node, Node] = {}
    for i, x in zip(other.inputs, (*theirs.constants, *theirs.carried, *theirs.rows), strict=True):
        k = len(mapped)
        if split[0] <= k < split[1]:
            free = [j for j, y in enumerate(ours.carried) if y is x and j not in places]
            if not free:
                return None
            places.append(free[0])
            mapped[i] = inner[ends[0] + free[0]]
        else:
            table = constants if k < split[0] else rows
            mapped[i] = table[x] if x in table else table.setdefault(x, input_node(i.name, i.type))
    _copy(builder, other, mapped)
    outputs = [known[o] for o in body.outputs]
    theirs_out = [mapped[o] for o in other.outputs]
    carried = len(theirs.carried)
    if any([theirs_out[k] is not outputs[j] for k, j in enumerate(places)]):
        return None
    inputs = (*constants, *ours.carried, *rows)
    both = builder.graph(
        [*constants.values(), *inner[ends[0] : ends[1]], *rows.values()],
        [*outputs, *theirs_out[carried:]],
        body.name,
    )
    ordered = _before(graph, first, second)
    if ordered is None:
        return None
    params = ("count", first.param("count")), ("constants", len(constants)), ("carried", len(ours.carried))
    t = LOOP.rule(*[i.type for i in inputs], **dict(params), bodies=(both,))
    role = None if None in (first.role, second.role) else first.role
    loop = Node(LOOP, inputs, params, t, first.origin, first.name, role, (both,))
    index = {first: [*places, *range(len(outputs), len(both.outputs))], second: list(range(len(outputs)))}
    return _replaced(ordered, loop, index)


def _before(graph: Graph, first: Node, second: Node) -> Graph | None:
    """Return the graph in which all that a loop reads stands before another one; None where it reads that one."""
    at = graph.nodes.index(first)
    after = graph.nodes[at + 1 : graph.nodes.index(second)]
    needed = set(second.inputs)
    for node in reversed(after):
        if node in needed:
            needed.update(node.inputs)
    if first in needed:
        return None
    moved = [n for n in after if n in needed]
    if not moved:
        return graph
    rest = [n for n in graph.nodes[at:] if n not in needed]
    return Graph(graph.inputs, [*graph.nodes[:at], *moved, *rest], graph.outputs, graph.name)


def _copy(builder: Builder, body: Graph, known: dict[Node, Node]) -> None:
    for n in body.nodes:
        inputs = tuple([known[i] for i in n.inputs])
        known[n] = builder.constant(n.value, n.name) if n.op is CONSTANT else builder.add(n.with_inputs(inputs))


def _replaced(graph: Graph, loop: Node, index: dict[Node, list[int]]) -> Graph:
    """Return the graph with the results of one loop in the place of those of others, which `index` lists."""
    new: dict[Node, Node] = {}
    nodes: list[Node] = []
    items: dict[int, Node] = {}
    for node in graph.nodes:
        if node in index:
            if loop not in nodes:
                nodes.append(loop)
            continue
        if node.op is ITEM and node.inputs[0] in index:
            k = index[node.inputs[0]][node.param("index")]
            if k not in items:
                items[k] = Node(ITEM, (loop,), (("index", k),), node.type, node.origin, node.name, node.role)
                nodes.append(items[k])
            elif node.role is None:
                items[k].role = None
            new[node] = items[k]
            continue
        if not new.keys().isdisjoint(node.inputs):
            new[node] = node.with_inputs(tuple([new.get(i, i) for i in node.inputs]))
        nodes.append(new.get(node, node))
    return Graph(graph.inputs, nodes, [new.get(o, o) for o in graph.outputs], graph.name)
