"""Emission: from a graph to a Python function that a person can read."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.autodiff.inline import inline_calls
from tapec.codegen.branches import items_of, results_of, segments_of
from tapec.codegen.load import load
from tapec.codegen.lower import Lowering, Results
from tapec.codegen.module import Function, Layout
from tapec.codegen.names import Names, identifier
from tapec.codegen.plan import Plan
from tapec.ir import CONSTANT, ITEM, Graph, Node, is_literal
from tapec.ir.origin import variable_of
from tapec.ir.tree import Tree

__all__ = ["WATCHERS", "Compiled", "compile_graph"]

WATCHERS: list[Callable[[Compiled], None]] = []  # told of everything that is compiled: `tapec run` lists it


class Compiled:
    """A generated function and the graph it came from; `source` is its text, made when somebody looks."""

    __slots__ = ("__weakref__", "_layout", "_origins", "_text", "constants", "function", "graph", "name")

    function: Callable[..., Any]

    def __init__(self, graph: Graph, name: str, layout: Layout, constants: dict[str, Any]):
        self.graph = graph
        self.name = name
        self.constants = constants
        self._layout: Layout | None = layout
        self._text: str | None = None
        self._origins: list[tuple[int, Any]] | None = None

    @property
    def source(self) -> str:
        """The generated source."""
        if self._text is None:
            assert self._layout is not None
            self._text = self._layout.text()
            self._origins = self._layout.origins()
            self._layout = None
        return self._text

    def origin_at(self, line: int) -> Any:
        """The user's line that a line of the source came from; None when there is none."""
        if self._origins is None:
            assert self._layout is not None
            self._origins = self._layout.origins()
        at = bisect_right(self._origins, line, key=lambda entry: entry[0]) - 1
        return self._origins[at][1] if at >= 0 else None

    def __repr__(self) -> str:
        return f"<compiled {self.name}>"


def compile_graph(graph: Graph, name: str = "function", tree: Tree | None = None) -> Compiled:
    """One Python function of the graph's inputs that returns the tuple of its outputs."""
    graph = inline_calls(graph)
    name = identifier(name)
    names = Names((name,))
    space: dict[str, Any] = {"np": np, "math": math}
    called = name_inputs(graph, names)
    constants = name_constants(graph, names, called)
    space.update(constants)
    plan, items = straight(graph) if tree is None else branching(graph, tree)
    params = tuple(called[i] for i in graph.inputs)
    body = Lowering(plan, names, called, space).block(items)
    layout = Layout()
    layout.add(Function(name, params, body))
    compiled = Compiled(graph, name, layout, constants)
    compiled.function = load(layout.module(), name, space, _source_of(compiled))
    for watch in WATCHERS:
        watch(compiled)
    return compiled


def straight(graph: Graph) -> tuple[Plan, list[Any]]:
    """The items of a program without choices."""
    plan = Plan(graph.nodes, graph.outputs)
    results = Results(graph.outputs, plan.nest_results(graph.outputs))
    items = [n for n in plan.nodes if n not in plan.nested and n.op is not CONSTANT and n.op is not ITEM]
    return plan, [*items, results]


def branching(graph: Graph, tree: Tree) -> tuple[Plan, list[Any]]:
    """The items of a program with a decision tree over it."""
    segments = segments_of(tree, graph.outputs)
    plan = Plan(graph.nodes, results_of(segments))
    return plan, items_of(graph, plan, segments)


def _source_of(compiled: Compiled) -> Callable[[], str]:
    return lambda: compiled.source


def name_inputs(graph: Graph, names: Names) -> dict[Node, str]:
    """Inputs keep their names; a recorded value is called as the user called it."""
    called = {}
    for node in graph.inputs:
        wish = (variable_of(node.origin) if node.origin is not None else None) or node.name or "x"
        called[node] = names.take(identifier(wish))
    return called


def name_constants(graph: Graph, names: Names, called: dict[Node, str]) -> dict[str, Any]:
    """Arrays in the program become named constants of the module; numbers are written where they are used."""
    constants = {}
    for node in graph.nodes:
        if node.op is CONSTANT and not is_literal(node):
            called[node] = fixed = names.fix(identifier(node.name or "c"))
            constants[fixed] = node.value
    return constants
