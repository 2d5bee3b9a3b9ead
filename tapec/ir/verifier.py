"""The verifier checks a graph: after each pass when `settings.verify` is on, always in tests."""

from __future__ import annotations

from typing import Any

from tapec.errors import VerifyError
from tapec.ir import tuning
from tapec.ir.graph import Graph
from tapec.ir.node import CONSTANT, INPUT, Node
from tapec.ir.op import OPS
from tapec.ir.printer import print_graph
from tapec.ir.source_location import place_of
from tapec.ir.types import Type, type_of

__all__ = ["verify"]


def verify(graph: Graph) -> Graph:
    """The graph itself if it keeps the rules of graphs; `VerifyError` that shows the place otherwise.

    Nodes stand after what they use and once only, their ops are known, parameters are hashable, and each type is what
    the op's rule gives. Outputs are among the nodes.
    """
    known: set[Node] = set()
    for node in graph.inputs:
        if node.op is not INPUT or node in known:
            raise _error(graph, node, "is no input" if node.op is not INPUT else "is an input twice")
        known.add(node)
    for node in graph.nodes:
        if node in known:
            raise _error(graph, node, "stands twice in the graph")
        for i in node.inputs:
            if i not in known:
                raise _error(graph, node, f"uses {_missing(graph, i)}")
        wrong = _wrong(node)
        if wrong:
            raise _error(graph, node, wrong)
        known.add(node)
    for node in graph.outputs:
        if node not in known:
            raise VerifyError(f"graph {graph.name}: output {graph.outputs.index(node)} is {_missing(graph, node)}")
    return graph


def _wrong(node: Node) -> str | None:
    """Return what is wrong with a node taken by itself; None if nothing is."""
    op = node.op
    if OPS.get(op.name) is not op or op is INPUT:
        return f"has the unknown op {op.name!r}"
    if op is CONSTANT:
        expected: Any = type_of(node.value)
    elif op.kind == "dynamic":  # the shape of the result depends on values: no rule knows it
        expected = node.type
    else:
        try:
            hash(node.params)
            expected = op.rule(*[i.type for i in node.inputs], **dict(node.params))
        except Exception as e:  # whatever a type rule does with operands that do not fit
            return f"does not fit its operands: {e}"
    if node.type != expected:
        return f"should have the type {expected!r}"
    return None if _well_typed(node.type) else "has a type that is no type"


def _well_typed(t: Any) -> bool:
    return all(type(part) is Type and min(part.shape, default=0) >= 0 for part in (t if isinstance(t, tuple) else (t,)))


def _missing(graph: Graph, node: Node) -> str:
    """Return the complaint about an input that should have come before the node."""
    where = "that comes later" if node in graph.nodes else "that is not in the graph"
    return f"a value {where}: {node!r}"


def _error(graph: Graph, node: Node, what: str) -> VerifyError:
    marked = f"<- {what}"
    lines = print_graph(graph, lambda n: marked if n is node else "").splitlines()
    at = next((k for k, line in enumerate(lines) if line.endswith(marked)), 0)
    shown = "\n".join(lines[max(0, at - tuning.EXCERPT_LINES) : at + tuning.EXCERPT_LINES + 1])
    line = _user_line(node)
    place = f" (from {line})" if line else ""
    return VerifyError(f"graph {graph.name}: {node!r}{place} {what}\n{shown}")


def _user_line(node: Node) -> str:
    """Return where the user wrote what the node does, `file.py:7: expression`; empty when that is not known."""
    if node.origin is None:
        return ""
    place = place_of(node.origin)
    return f"{place.short}: {place.text}" if place.text else place.short
