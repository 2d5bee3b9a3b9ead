"""The pass `bodies` shares loops, drops what nobody reads of bodies, moves work out of loops, and optimises bodies.

y, rows = loop w, x0, xs @body       a forward loop, and one that collects more for the gradient, become one
cond p, x, y @f, @g                  results, operands and carried values that nothing needs are dropped
loop w, x0 @body: w.T each turn      what depends on constants alone is computed before the loop
loop d_loss @body: d_loss stays      a carried value that no turn changes is a constant, a number stands in the body
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tapec.ir import CONSTANT, ITEM, Builder, Graph, Node, OpSet, input_node, ops, prune
from tapec.ops.control.cond import COND
from tapec.ops.control.loop import LOOP, Operands, operands_of
from tapec.passes.whole_graph.share_loops import shared_loops

__all__ = ["copied", "lean_bodies", "loop_params", "rebuilt", "with_bodies"]

SHRUNK = OpSet("call cond loop region")


def lean_bodies(graph: Graph, optimize: Callable[[Graph], Graph], is_full: bool) -> Graph:
    """Return the graph with the bodies that `optimize` makes; with `is_full` after the other changes, too."""
    if is_full:
        graph = _shrunk_graph(_with_work_hoisted(shared_loops(graph)))
    graph = _with_bodies_optimized(graph, optimize)
    return _shrunk_graph(graph) if is_full else graph


def rebuilt(graph: Graph, change: Callable[[list[Node], Node, Node], Node]) -> Graph:
    """Return the graph with what `change(nodes, node, moved)` makes of each node, which may append others before it."""
    nodes: list[Node] = []
    new: dict[Node, Node] = {}
    for node in graph.nodes:
        moved = node
        if not new.keys().isdisjoint(node.inputs):
            moved = node.with_inputs(tuple([new.get(i, i) for i in node.inputs]))
        moved = change(nodes, node, moved)
        if moved is not node:
            new[node] = moved
        nodes.append(moved)
    return Graph(graph.inputs, nodes, [new.get(o, o) for o in graph.outputs], graph.name) if new else graph


def _with_bodies_optimized(graph: Graph, optimize: Callable[[Graph], Graph]) -> Graph:
    known: dict[int, tuple[Graph, Graph]] = {}  # bodies by identity, held so that it stays theirs

    def change(nodes: list[Node], node: Node, moved: Node) -> Node:
        for body in node.bodies:
            if id(body) not in known:
                known[id(body)] = body, optimize(body)
        bodies = tuple([known[id(body)][1] for body in node.bodies])
        if all([a is b for a, b in zip(bodies, node.bodies, strict=True)]):
            return moved
        return with_bodies(moved, moved.inputs, moved.params, bodies)

    return rebuilt(graph, change)


def _with_work_hoisted(graph: Graph) -> Graph:
    def change(nodes: list[Node], node: Node, moved: Node) -> Node:
        return _hoisted(nodes, _with_states_fixed(_with_static_count(moved))) if node.op is LOOP else moved

    return rebuilt(graph, change)


def _shrunk_graph(graph: Graph) -> Graph:
    """Return the graph without what its bodies do not need, and then what nodes before them gave for that alone."""
    while True:
        used: dict[Node, set[int]] = {node: set() for node in graph.nodes if node.bodies}
        for node in graph.nodes:
            if node.op is ITEM and node.inputs[0] in used:
                used[node.inputs[0]].add(node.param("index"))
        smaller = prune(_shrunk_once(graph, used))
        if smaller is graph:
            return graph
        graph = smaller


def _shrunk_once(graph: Graph, used: dict[Node, set[int]]) -> Graph:
    places: dict[Node, dict[int, int]] = {}  # of results, in nodes that have fewer than before

    def change(nodes: list[Node], node: Node, moved: Node) -> Node:
        if node.op in SHRUNK:
            moved, places[node] = _shrunk(moved, used[node])
        elif node.op is ITEM and node.inputs[0] in places:
            index = places[node.inputs[0]][node.param("index")]
            if index != node.param("index"):
                return Node(ITEM, moved.inputs, (("index", index),), node.type, node.origin, node.name, node.role)
        return moved

    return rebuilt(graph, change)


def with_bodies(node: Node, inputs: tuple[Node, ...], params: Any, bodies: Any) -> Node:
    t = node.op.rule(*[i.type for i in inputs], **dict(params), bodies=bodies)
    return Node(node.op, inputs, params, t, node.origin, node.name, node.role, bodies)


def loop_params(count: int | None, constants: int, carried: int) -> Any:
    return ("count", count), ("constants", constants), ("carried", carried)


# -- what nothing needs --------------------------------------------------------------------------------------------
def _shrunk(node: Node, used: set[int]) -> tuple[Node, dict[int, int]]:
    """Return a node without results and operands that nobody needs, and the places that the other results have now."""
    given = operands_of(node.inputs, **dict(node.given)) if node.op is LOOP else None
    ahead = len(given.turns) if given is not None else int(node.op is COND)  # what bodies have no input for
    if given is not None:
        used = _carried_for(node, given, used)
    kept = sorted(used)
    results, tests = (node.bodies[:1], node.bodies[1:]) if given is not None else (node.bodies, ())
    bodies = [prune(Graph(b.inputs, b.nodes, [b.outputs[k] for k in kept], b.name)) for b in results]
    bodies += [prune(Graph(b.inputs, b.nodes, b.outputs, b.name)) for b in tests]
    operands = node.inputs[ahead:]
    read = [any([k < len(b.inputs) and b.inputs[k] in seen for b, seen in _seen(bodies)]) for k in range(len(operands))]
    params = node.params
    if given is not None:
        first, last = len(given.constants), len(given.constants) + len(given.carried)
        read[first:last] = [k in used for k in range(last - first)]
        params = loop_params(node.param("count"), sum(read[:first]), sum(read[first:last]))
    if all(read) and len(kept) == len(node.type):
        return node, {k: k for k in kept}
    lean = [Graph([i for i, r in zip(b.inputs, read) if r], b.nodes, b.outputs, b.name) for b in bodies]
    inputs = (*node.inputs[:ahead], *[x for x, r in zip(operands, read, strict=True) if r])
    return with_bodies(node, inputs, params, tuple(lean)), {k: j for j, k in enumerate(kept)}


def _seen(bodies: Iterable[Graph]) -> list[tuple[Graph, set[Node]]]:
    return [(b, {i for n in b.nodes for i in n.inputs} | set(b.outputs)) for b in bodies]


def _carried_for(node: Node, given: Operands, used: set[int]) -> set[int]:
    """Return the results that are used, and the carried values that they, or a condition, are computed from."""
    body, first = node.bodies[0], len(given.constants)
    while True:
        lean = prune(Graph(body.inputs, body.nodes, [body.outputs[k] for k in sorted(used)]))
        asked = [prune(Graph(b.inputs, b.nodes, b.outputs)) for b in node.bodies[1:]]
        more = {
            k for b, seen in _seen([lean, *asked]) for k in range(len(given.carried)) if b.inputs[first + k] in seen
        }
        if more <= used:
            return used
        used = used | more


def _with_static_count(node: Node) -> Node:
    """Return a loop whose count is a constant with that as a parameter."""
    given = operands_of(node.inputs, **dict(node.given))
    if not given.turns or given.turns[0].op is not CONSTANT:
        return node
    count = max(0, int(given.turns[0].value))
    params = loop_params(count, len(given.constants), len(given.carried))
    return with_bodies(node, node.inputs[1:], params, node.bodies)


def _with_states_fixed(node: Node) -> Node:
    """Return a loop whose body reads carried values that no turn changes as constants, or as the numbers they are."""
    given = operands_of(node.inputs, **dict(node.given))
    body, first = node.bodies[0], len(given.constants)
    states = body.inputs[first : first + len(given.carried)]
    read = {i for n in body.nodes for i in n.inputs}
    fixed = {s: x for s, o, x in zip(states, body.outputs, given.carried) if o is s and s in read}
    if not fixed or len(node.bodies) > 1:
        return node
    within = Builder()
    more: dict[Node, Node] = {}
    known = {i: i for i in body.inputs}
    for state, x in fixed.items():
        if x.op is ops.full:
            known[state] = within.add(x)
        elif x.op is CONSTANT and not x.type.shape:
            known[state] = within.constant(x.value, x.name)
        else:
            known[state] = input_node(state.name, state.type, state.origin)
            more[known[state]] = x
    inside = copied(within, body.nodes, known)
    inputs = [*body.inputs[:first], *more, *body.inputs[first:]]
    outputs = [o if o in fixed else inside[o] for o in body.outputs]
    params = loop_params(node.param("count"), first + len(more), len(given.carried))
    operands = (*given.turns, *given.constants, *more.values(), *given.carried, *given.rows)
    return with_bodies(node, operands, params, (Graph(inputs, within.nodes, outputs, body.name),))


# -- what each turn computes anew ------------------------------------------------------------------------------------
def _hoisted(nodes: list[Node], node: Node) -> Node:
    """Compute what depends on constants of a loop alone before it: where there is a turn that would compute it."""
    given = operands_of(node.inputs, **dict(node.given))
    body, first = node.bodies[0], len(given.constants)
    fixed = set(body.inputs[:first])
    for n in body.nodes:
        if fixed.issuperset(n.inputs):
            fixed.add(n)
    late = [n for n in body.nodes if n not in fixed]
    read = {i for n in late for i in n.inputs} | set(body.outputs)
    ready = [n for n in body.nodes if n in fixed and n in read and n.inputs]
    if not ready or not node.param("count"):
        return node
    before = Builder()
    outside = copied(before, prune(Graph((), body.nodes, ready)).nodes, dict(zip(body.inputs, given.constants)))
    nodes += before.nodes
    inner = [input_node(n.name, n.type, n.origin) for n in ready]
    within = Builder()
    new = copied(within, body.nodes, {i: i for i in body.inputs} | dict(zip(ready, inner, strict=True)))
    inputs = [*body.inputs[:first], *inner, *body.inputs[first:]]
    lean = prune(Graph(inputs, within.nodes, [new[o] for o in body.outputs], body.name))
    params = loop_params(node.param("count"), first + len(ready), len(given.carried))
    return with_bodies(
        node, (*given.constants, *[outside[n] for n in ready], *given.carried, *given.rows), params, (lean,)
    )


def copied(builder: Builder, nodes: Iterable[Node], known: dict[Node, Node]) -> dict[Node, Node]:
    """Copy nodes, but those that are known, into a builder; return what stands for each."""
    for n in nodes:
        if n not in known:
            inputs = tuple([known[i] for i in n.inputs])
            known[n] = builder.constant(n.value, n.name) if n.op is CONSTANT else builder.add(n.with_inputs(inputs))
    return known
