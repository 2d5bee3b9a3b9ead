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

from tapec.errors import place_name
from tapec.ir import CONSTANT, CT, Graph, Node, Type
from tapec.ir.bare_graph import all_nodes
from tapec.ir.checks.step_observer import StepObserver
from tapec.ir.source_location import line_of, remembered
from tapec.ir.types import is_differentiable
from tapec.passes.engine.rewrite import Rewrite
from tapec.passes.engine.value_numbering import key_of_node

__all__ = [
    "CodeOrigins",
    "Lines",
    "MergedOrigin",
    "lines_after",
    "lines_in_gradient",
    "lines_of_node",
    "lines_of_origin",
    "with_merged_origins",
]

Lines = Mapping[Node, tuple[str, ...]]  # of nodes that stand for other lines, too


class MergedOrigin(tuple[Any, ...]):
    """An origin that stands for other lines, too; everybody else takes it for an ordinary one."""

    others: tuple[str, ...] = ()


# steps that write each operation with others, which have its origin: there is nothing to align
TRANSLATIONS = frozenset({"floats"})


@remembered
def line_name(origin: Any) -> str:
    """Return what the page calls a line, in which there is no blank: `model.py:6`; empty where nobody knows it."""
    number = line_of(origin)
    return place_name(origin[0].co_filename, number).replace(" ", "") if number else ""


def lines_of_origin(origin: Any) -> tuple[str, ...]:
    """Return the lines that an origin stands for, its own first."""
    if not isinstance(origin, tuple):
        return ()
    own = line_name(origin)
    others = origin.others if isinstance(origin, MergedOrigin) else ()
    return (own, *others) if own else others


def lines_of_node(node: Node, known: Lines) -> tuple[str, ...]:
    """Return all lines of a node, that of its own origin first."""
    own, more = lines_of_origin(node.origin), known.get(node, ())
    if node.bodies:
        more = (*more, *[line for n in all_nodes([node]) for line in lines_of_origin(n.origin)])
    return tuple(dict.fromkeys([*own, *more])) if more else own


def with_merged_origins(graph: Graph, known: Lines) -> Graph:
    """Return the graph on nodes whose origins stand for all lines that are known of them."""
    new: dict[Node, Node] = {}
    for node in graph.nodes:
        inputs = tuple([new.get(i, i) for i in node.inputs])
        more = lines_of_node(node, known)[1:] if node in known or node.bodies else ()
        if inputs != node.inputs or (more and node.origin is not None):
            made = new[node] = node.with_inputs(inputs)
            if more and node.origin is not None:
                made.origin = MergedOrigin(node.origin)
                made.origin.others = more
    outputs = [new.get(o, o) for o in graph.outputs]
    merged = Graph(graph.inputs, [new.get(n, n) for n in graph.nodes], outputs, graph.name)
    merged.past = graph.past
    return merged


class CodeOrigins(StepObserver):
    """Runs the steps of code generation, and merges origins after each."""

    def step(self, name: str, run: Callable[[Graph], Graph], graph: Graph) -> Graph:
        after = run(graph)
        if after is graph or name in TRANSLATIONS:
            return after
        return with_merged_origins(after, lines_after(graph, after, {}, ()))


def lines_in_gradient(forward: Graph, gradient: Graph) -> dict[Node, tuple[str, ...]]:
    """Return the further lines of derivatives: of operations that hand their cotangent on, or only scale it.

    The derivative of `y` in `0.5 * y + 1.0` is a number, which goes into the first product on the way to the inputs.
    """
    derivatives: dict[Any, dict[Node, None]] = defaultdict(dict)
    for node in gradient.nodes:
        if node.role == CT and node.inputs and node.origin is not None:
            own = derivatives[_instruction(node)]
            for i in node.inputs:  # the last of them are the products with what is handed on
                own.pop(i, None)
            own[node] = None
    handed_on: dict[Node, dict[str, None]] = defaultdict(dict)
    gained: dict[Any, dict[str, None]] = defaultdict(dict)
    for node in reversed(forward.nodes):
        if node.origin is None or not any(map(is_differentiable, _parts(node))):
            continue
        lines = handed_on.get(node, {})
        instruction = _instruction(node)
        if instruction in derivatives:
            gained[instruction].update(lines)
        else:
            for i in node.inputs:
                handed_on[i].update({**lines, line_name(node.origin): None})
    return {node: tuple(lines) for key, lines in gained.items() if lines for node in derivatives[key]}


def _parts(node: Node) -> Sequence[Type]:
    return node.type if isinstance(node.type, tuple) else (node.type,)


def _instruction(node: Node) -> tuple[int, int]:
    return id(node.origin[0]), node.origin[1]


def lines_after(before: Graph, after: Graph, known: Lines, rewrites: Sequence[Rewrite]) -> dict[Node, tuple[str, ...]]:
    """Return the further lines of nodes after a step, from those before it and the rules that fired in it."""
    became = alignment(before, after, rewrites)
    kept, results = set(after.nodes), set(after.outputs)
    gained: dict[Node, dict[str, None]] = {}
    on_the_way: dict[Node, dict[str, None]] = {}
    for node in before.nodes:
        lines = dict.fromkeys(lines_of_node(node, known))
        for i in node.inputs:
            if i in on_the_way:
                lines.update(on_the_way[i])
        result = became.get(node)
        if result is not None and ((result in kept and result.op is not CONSTANT) or result in results):
            gained.setdefault(result, {}).update(lines)
        elif node.op is not CONSTANT:
            on_the_way[node] = lines
    images = set(became.values())
    for node in reversed(after.nodes):  # what a rule makes besides its result has gone the same way
        lines = gained.get(node, {})
        for i in node.inputs if len(lines) > 1 else ():
            if i not in images and i in kept and i.op is not CONSTANT:
                gained.setdefault(i, {}).update(lines)
    own = lines_of_origin
    return {
        node: tuple([line for line in lines if line not in own(node.origin)])
        for node, lines in gained.items()
        if len(lines) > 1 or node in results
    }


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
