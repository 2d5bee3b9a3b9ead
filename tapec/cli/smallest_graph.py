"""`smallest` makes a graph on which a step goes wrong as small as it can be: nothing can be left out of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, ITEM, Graph, Node, input_node, is_literal, prune
from tapec.ir.dead_code import with_inputs_read
from tapec.ir.source_location import variable_for
from tapec.runtime.observed.trials import Step
from tapec.runtime.observed.value_checks import computed

__all__ = ["Shown", "smallest"]


class Shown(NamedTuple):
    """Holds a graph with values of its inputs, and what is wrong when the step is done to it."""

    graph: Graph
    values: Sequence[Any]
    wrong: str


def smallest(step: Step) -> Shown:
    """Leave out operations, whose results become inputs with the values that they have, and outputs.

    What is left goes wrong in the same way: it fails with the same error, or changes a value.
    """
    parts = _Parts(step)
    nodes = [n for n in step.graph.nodes if not is_literal(n)]
    found = parts.shown(nodes, step.graph.outputs)
    if found is None:  # it takes the decision tree, or values that the caller has
        return Shown(step.graph, step.values, step.wrong)
    kept = _fewest(nodes, lambda some: parts.shown(some, step.graph.outputs) is not None)
    outputs = _fewest(parts.outputs(kept, step.graph.outputs), lambda some: parts.shown(kept, some, True) is not None)
    return parts.shown(kept, outputs, True) or parts.shown(kept, step.graph.outputs) or found


def _fewest(items: Sequence[Any], still_wrong: Callable[[list[Any]], bool]) -> list[Any]:
    """Leave out as many items as can be: halves of them first, then smaller parts, then one by one until all count.

    The last items, which nothing depends on, are tried first.
    """
    left = list(reversed(items))
    size = len(left)
    while size:
        at, before = 0, len(left)
        while at < len(left) and len(left) > 1:
            fewer = left[:at] + left[at + size :]
            if fewer and still_wrong(fewer[::-1]):
                left = fewer
            else:
                at += size
        size = 1 if size == 1 and len(left) < before else size // 2
    return left[::-1]


class _Parts:
    """Makes graphs of some of a graph's nodes, and does the step to them."""

    def __init__(self, step: Step):
        self.step = step
        self.known, _ = computed(step.graph, step.values)
        self.kind = _kind(step.wrong)

    def outputs(self, nodes: Sequence[Node], wanted: Sequence[Node]) -> list[Node]:
        """Return the outputs of a part: those that are wanted, and results that nothing in it reads."""
        there, read = set(nodes), {i for n in nodes for i in n.inputs}
        found = [n for n in nodes if n in wanted or n not in read]
        return [n for n in found if not n.op.multi and n.op is not CONSTANT and n in there]

    def shown(self, nodes: Sequence[Node], outputs: Sequence[Node], exactly: bool = False) -> Shown | None:
        """Return the part, if the step still goes wrong on it; `exactly` these are its outputs, not those besides."""
        outputs = list(outputs) if exactly else self.outputs(nodes, outputs)
        graph, values = self._part(set(nodes), outputs)
        if graph is None or not outputs:
            return None
        wrong = self.step.trial.wrong(graph, values)
        return Shown(graph, values, wrong) if wrong is not None and _kind(wrong) == self.kind else None

    def _part(self, kept: set[Node], outputs: Sequence[Node]) -> tuple[Graph | None, list[Any]]:
        new: dict[Node, Node] = {}
        inputs: dict[Node, Any] = {}

        def operand(node: Node) -> Node:
            if node in new:
                return new[node]
            if is_literal(node):
                made.append(node)
                new[node] = node
            elif node in self.known and not node.op.multi:  # it is left out
                new[node] = node if node in self.step.graph.inputs else input_node(_name(node, len(inputs)), node.type)
                inputs[new[node]] = self.known[node]
            return new[node]

        made: list[Node] = []
        try:
            for node in self.step.graph.nodes:
                if node in kept and (node.op is not ITEM or node.inputs[0] in new):
                    moved = tuple([operand(i) for i in node.inputs])
                    new[node] = node if moved == node.inputs else node.with_inputs(moved)
                    made.append(new[node])
            results = [operand(o) for o in outputs]
        except KeyError:  # a value that cannot be computed, or one of several results without the others
            return None, []
        graph = with_inputs_read(prune(Graph(inputs, made, results, self.step.graph.name)))
        return graph, [inputs[i] for i in graph.inputs]


def _name(node: Node, count: int) -> str:
    """Return what the user calls a value, or else `x0`."""
    return (variable_for(node) if node.role is None else None) or node.name or f"x{count}"


def _kind(wrong: str) -> str:
    """Return what is the same for all graphs on which a step goes wrong in one way: `fails: KeyError`, or `changes`."""
    words = wrong.split(":")
    return ":".join(words[:2]) if wrong.startswith("fails") else wrong.partition(" ")[0]
