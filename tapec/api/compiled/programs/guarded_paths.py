"""Define the paths of a function: their guards, their graphs, and the decision tree that they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapec.autodiff.compose.inline_graph import copy_into
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Builder, Graph, Node, prune
from tapec.ir.decision_tree import Branch, Leaf, Tree
from tapec.ops.control.select_and_call import NUMBER_KIND
from tapec.trace.capture.counters import Increment, adder

__all__ = ["Guard", "TracedPath", "Trie", "same_guards"]


class Guard(NamedTuple):
    """Describes a fact that a path relies on: `kind(node)` was `value`, at this place in the user's code."""

    node: Node
    kind: type
    value: Any
    origin: Any


class TracedPath:
    """Holds one path as graphs: the forward program, its guards, and what the transform made of it.

    `template` is the structure of the caller's result, `pack` the function that builds it from the outputs.
    `increments` are what a call on this path adds to captured counters, and `count` adds them.
    `unchecked` says why the path was not compared with plain NumPy, `depends_on_order` that it is right only for arrays
    whose axes lie in memory as those of the arguments did.
    """

    unchecked: str | None = None
    depends_on_order = False
    increments: tuple[Increment, ...] = ()
    count: Callable[[], None] | None = None

    def __init__(self, forward: Graph, guards: list[Guard], info: Any, target: Graph, template: Any = None):
        self.forward = forward
        self.guards = guards
        self.info = info
        self.target = target
        self.template = template
        self.pack: Any = None
        met = _met(forward, target, [g.node for g in guards])
        self.tests = [g for g in guards if g.node not in met]  # the guards that code asks for

    def counts(self, increments: list[Increment]) -> None:
        """Let each call on this path add these increments from now on."""
        self.increments = tuple(increments)
        self.count = adder(increments) if increments else None

    def conditions(self) -> Graph:
        """Return the part of the forward program that computes the values of the guards."""
        return prune(Graph(self.forward.inputs, self.forward.nodes, [g.node for g in self.tests]))


def _met(forward: Graph, target: Graph, guards: list[Node]) -> set[Node]:
    """Return the guards that code of the target need not ask for: it computes the value, and so raises the error that
    Python raises; then the function is recorded again."""
    asked = [g for g in guards if g.op is NUMBER_KIND and g.param("sure")]
    if not asked:
        return set()
    builder = Builder()  # in which equal nodes are one
    values = copy_into(builder, Graph(forward.inputs, forward.nodes, [g.inputs[0] for g in asked]), forward.inputs)
    outputs = copy_into(builder, target, target.inputs)
    live = set(prune(builder.graph(target.inputs, outputs)).nodes)
    return {g for g, value in zip(asked, values) if value in live}


def same_guards(a: TracedPath, b: TracedPath) -> bool:
    """Return whether two runs took the same turns."""
    return [(g.kind, g.value) for g in a.guards] == [(g.kind, g.value) for g in b.guards]


class Trie:
    """Takes in paths by their guards; `tree` turns them into the decision tree that codegen reads."""

    def __init__(self) -> None:
        self.root: dict[str, Any] | None = None
        self.made: list[dict[str, Any]] = []

    def node(self) -> dict[str, Any]:
        new: dict[str, Any] = {"output": None, "test": None, "cases": {}, "leaf": None}
        self.made.append(new)
        return new

    def insert(self, steps: list[tuple[int, Any, Any]], leaf: tuple[int, ...]) -> None:
        here = self.root = self.root or self.node()
        for output, test, value in steps:
            if here["test"] is None:
                here["output"], here["test"] = output, test
            elif here["test"] != test:  # the run did not do again what it did before: the newer knowledge wins
                here["output"], here["test"], here["cases"] = output, test, {}
            here["leaf"] = None
            child = here["cases"].get(value)
            if child is None:
                child = here["cases"][value] = self.node()
            here = child
        here["leaf"], here["cases"], here["test"] = leaf, {}, None

    def tree(self) -> Tree:
        done: dict[int, Tree] = {}
        for node in reversed(self.made):  # children were made after their parents
            if node["leaf"] is not None:
                done[id(node)] = Leaf(node["leaf"])
            else:
                done[id(node)] = Branch(node["output"], tuple((v, done[id(c)]) for v, c in node["cases"].items()))
        return done[id(self.root)]
