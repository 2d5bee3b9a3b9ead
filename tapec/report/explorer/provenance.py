"""Follow origins through the steps of a compilation: what a step merges keeps the origins of all that went into it.

A node has one origin, that of the instruction which made it, and so has what a rewrite rule puts in the place of
several. That is enough for comments, but not for who points at a line and asks what became of it. So nobody keeps more
while functions are compiled for use; here the steps run once more, and the graph after each is aligned with the one
before:

    %1 = subtract %h, %y     model.py:6            %1 = subtract %h, %y      model.py:6
    %2 = multiply 2.0, %1    model.py:7     ->     %5 = multiply 0.5, %1     model.py:8 and model.py:7
    %3 = divide %2, 4.0      model.py:8

A node that is no longer there, or that has become a number, goes into what its users have become.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tapec.ir import CONSTANT, CT, Graph, Node
from tapec.ir.checks.step_observer import StepObserver
from tapec.ir.types import is_differentiable
from tapec.passes.engine.rewrite import Rewrite
from tapec.passes.engine.value_numbering import key_of_node

__all__ = [
    "CodeOrigins",
    "MergedOrigin",
    "Origins",
    "origins_after",
    "origins_in_gradient",
    "origins_of_node",
    "with_merged_origins",
]

Origin = tuple[Any, int]
Origins = Mapping[Node, tuple[Origin, ...]]  # of nodes that have more than their own origin


class MergedOrigin(tuple[Any, ...]):
    """An origin that stands for others, too; everybody else takes it for the first one."""

    others: tuple[Origin, ...]


def origins_of_node(node: Node, known: Origins) -> tuple[Origin, ...]:
    """Return all origins of a node, its own first."""
    own = flat(node.origin)
    return tuple(dict.fromkeys([*own, *known.get(node, ())]))


def flat(origin: Any) -> tuple[Origin, ...]:
    """Return the origins that an origin stands for."""
    if not isinstance(origin, tuple):
        return ()
    return (tuple(origin), *origin.others) if isinstance(origin, MergedOrigin) else (origin,)


def with_merged_origins(graph: Graph, known: Origins) -> Graph:
    """Return the graph on nodes whose origins stand for all that are known of them."""
    new: dict[Node, Node] = {}
    for node in graph.nodes:
        inputs = tuple([new.get(i, i) for i in node.inputs])
        origin = merged(node, known)
        if origin is not node.origin or inputs != node.inputs:
            new[node] = node.with_inputs(inputs)
            new[node].origin = origin
    made = Graph(graph.inputs, [new.get(n, n) for n in graph.nodes], [new.get(o, o) for o in graph.outputs], graph.name)
    made.past = graph.past
    return made


def merged(node: Node, known: Origins) -> Any:
    own = flat(node.origin)
    more = tuple([o for o in origins_of_node(node, known) if o not in own])
    if not more or not own:
        return node.origin
    origin = MergedOrigin(own[0])
    origin.others = (*own[1:], *more)
    return origin


class CodeOrigins(StepObserver):
    """Runs the steps of code generation, and merges origins after each."""

    def step(self, name: str, run: Callable[[Graph], Graph], graph: Graph) -> Graph:
        after = run(graph)
        return after if after is graph else with_merged_origins(after, origins_after(graph, after, {}, ()))


def origins_in_gradient(forward: Graph, gradient: Graph) -> dict[Node, tuple[Origin, ...]]:
    """Return the further origins of derivatives: of operations that hand their cotangent on, or only scale it.

    The derivative of `y` in `0.5 * y + 1.0` is a number, which goes into the first product on the way to the inputs.
    """
    derivatives: dict[Origin, dict[Node, None]] = defaultdict(dict)
    for node in gradient.nodes:
        if node.role == CT and node.inputs and node.origin is not None:
            own = derivatives[node.origin]
            for i in node.inputs:  # the last of them are the products with what is handed on
                own.pop(i, None)
            own[node] = None
    handed_on: dict[Node, dict[Origin, None]] = defaultdict(dict)
    gained: dict[Node, dict[Origin, None]] = defaultdict(dict)
    for node in reversed(forward.nodes):
        if node.origin is None or not is_differentiable(node.type):
            continue
        if node.origin in derivatives:
            for derivative in derivatives[node.origin]:
                gained[derivative].update(handed_on[node])
        else:
            for i in node.inputs:
                handed_on[i].update({**handed_on[node], node.origin: None})
    return {node: tuple(origins) for node, origins in gained.items() if origins}


def origins_after(before: Graph, after: Graph, known: Origins, rewrites: Sequence[Rewrite]) -> dict[Node, Any]:
    """Return the further origins of nodes after a step, from those before it and the rules that fired in it."""
    became = alignment(before, after, rewrites)
    kept, results = set(after.nodes), set(after.outputs)
    gained: dict[Node, dict[Origin, None]] = defaultdict(dict)
    on_the_way: dict[Node, dict[Origin, None]] = {}
    for node in before.nodes:
        found = dict.fromkeys(origins_of_node(node, known))
        for i in node.inputs:
            found.update(on_the_way.get(i, ()))
        result = became.get(node)
        if result is not None and ((result in kept and result.op is not CONSTANT) or result in results):
            gained[result].update(found)
        elif node.op is not CONSTANT:
            on_the_way[node] = found
    images = set(became.values())
    for node in reversed(after.nodes):  # what a rule makes besides its result has gone the same way
        if node in gained:
            for i in node.inputs:
                if i not in images and i in kept and i.op is not CONSTANT:
                    gained[i].update(gained[node])
    more = {node: tuple([o for o in origins if o not in flat(node.origin)]) for node, origins in gained.items()}
    return {node: origins for node, origins in more.items() if origins}


def alignment(before: Graph, after: Graph, rewrites: Iterable[Rewrite]) -> dict[Node, Node]:
    """Return what nodes have become in a step; nodes that are no longer there, in any form, are left out."""
    kept, known = set(after.nodes), {key_of_node(n): n for n in after.nodes}
    replaced = {key_of_node(r.before): r.after for r in rewrites}
    became: dict[Node, Node] = dict(zip(before.inputs, before.inputs))
    alike = Copies(after, set(before.nodes))
    results = dict(zip(before.outputs, after.outputs))
    for node in before.nodes:
        if node in kept:
            found: Node | None = node
        else:
            inputs = tuple([became.get(i, i) for i in node.inputs])
            moved = node if inputs == node.inputs else node.with_inputs(inputs)
            found = known.get(key_of_node(moved)) or last_result(moved, replaced, known) or results.get(node)
            found = alike.take(node) if found is None else found
        if found is not None:
            became[node] = found
    return became


def last_result(node: Node, replaced: Mapping[Any, Node], known: Mapping[Any, Node]) -> Node | None:
    """Return what rules have made of a node, one after the other."""
    found, key = None, key_of_node(node)
    seen = set()
    while key in replaced and key not in seen:
        seen.add(key)
        found = replaced[key]
        key = key_of_node(found)
    return known.get(key, found)


class Copies:
    """Has the nodes that a step has made, by what copies have in common with the nodes that they are copies of."""

    def __init__(self, after: Graph, old: set[Node]):
        self.free: dict[Any, deque[Node]] = defaultdict(deque)
        for node in after.nodes:
            if node not in old:
                self.free[self.key(node)].append(node)

    def key(self, node: Node) -> Any:
        params = id(node.params) if node.params else 0
        return node.op, params, id(node.type), id(node.origin), node.role, len(node.inputs)

    def take(self, node: Node) -> Node | None:
        """Return the next copy of a node, which is nobody else's then."""
        free = self.free.get(self.key(node))
        return free.popleft() if free else None
