"""The verifier checks a graph: after each pass when `settings.verify` is on, always in tests."""

from __future__ import annotations

from typing import Any

from tapec.errors import UnsupportedError, VerifyError
from tapec.ir import tuning
from tapec.ir.bare_graph import BareGraph
from tapec.ir.graph import Graph
from tapec.ir.node import CONSTANT, INPUT, ITEM, Node
from tapec.ir.op import OPS, wrong_bodies, wrong_params
from tapec.ir.param_types import AXES, AXIS, INDEX
from tapec.ir.source_location import place_of
from tapec.ir.static_index import Slot
from tapec.ir.text.printer import print_graph
from tapec.ir.types import Type, type_of

__all__ = ["verify"]


def verify(graph: Graph) -> Graph:
    """Check that a graph keeps the rules of graphs, and return it.

    Nodes stand after what they use and once only, their ops are known, parameters are hashable and of the types that
    the ops declare, and each result's type is what the op's rule gives. Outputs are among the nodes. An op has as many
    bodies as it declares, and these are graphs that keep all rules, too: closed ones, that reach for no value outside.

    Parameters
    ----------
    graph : Graph
        The graph.

    Returns
    -------
    Graph
        The graph itself.

    Raises
    ------
    VerifyError
        If it breaks one of the rules. The message shows the place.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> graph = tapec.compile(np.sin).ir(1.0)
    >>> tapec.ir.verify(graph) is graph
    True

    See Also
    --------
    tapec.ir.interpret : runs it
    """
    left: list[BareGraph] = [graph]
    seen = {id(graph)}
    while left:
        one = left.pop()
        _check(one)
        for body in [body for node in one.nodes for body in node.bodies]:
            if id(body) not in seen:
                seen.add(id(body))
                left.append(body)
    return graph


def _check(graph: BareGraph) -> None:
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
        if isinstance(node.type, tuple):
            raise VerifyError(f"graph {graph.name}: output {graph.outputs.index(node)} has several parts: {node!r}")
        if node not in known:
            raise VerifyError(f"graph {graph.name}: output {graph.outputs.index(node)} is {_missing(graph, node)}")


def _wrong(node: Node) -> str | None:
    """Return what is wrong with a node taken by itself; None if nothing is."""
    op = node.op
    if OPS.get(op.name) is not op or op is INPUT:
        return f"has the unknown op {op.name!r}"
    if any([not isinstance(body, BareGraph) for body in node.bodies]):
        return "has a body that is no graph"
    wrong = wrong_params(op, node.params) or wrong_bodies(op, node.bodies) or _misfit(node)
    if wrong:
        return wrong
    if op is CONSTANT:
        expected: Any = type_of(node.value)
    else:
        try:
            hash(node.params)
            expected = op.rule(*[i.type for i in node.inputs], **dict(node.given))
        except Exception as e:  # whatever a type rule does with operands that do not fit
            if op.kind != "dynamic" or not isinstance(e, UnsupportedError):
                return f"does not fit its operands: {e}"
            expected = node.type
    # the shape of a dynamic result depends on values: no rule knows it
    if node.type != expected and op.kind != "dynamic":
        return f"should have the type {expected!r}"
    if isinstance(node.type, tuple) != op.multi and op is not ITEM:
        return f"should have {'several results' if op.multi else 'one result'}"
    return None if _well_typed(node.type) else "has a type that is no type"


def _misfit(node: Node) -> str | None:
    """Return which parameter names an axis, or an index array, that the operands do not have."""
    for name, value in node.params:
        t = node.op.params[name]
        if t is AXIS or t is AXES:
            axes = (value,) if t is AXIS else value
            shape = getattr(node.inputs[0].type, "shape", None) if node.inputs else None
            if shape is not None and (not set(axes) <= set(range(len(shape))) or len(set(axes)) < len(axes)):
                return f"has {value!r} as {name}, which should be {t.what}: the array has {len(shape)} axes"
        elif t is INDEX:
            slots = [part.k for part in value if type(part) is Slot]
            arrays = node.inputs[len(node.inputs) - len(slots) :]
            if sorted(slots) != list(range(len(slots))) or len(arrays) != len(slots) or len(slots) == len(node.inputs):
                return f"has {value!r} as {name}, which names other index arrays than there are"
            if any([isinstance(a.type, tuple) or a.type.dtype.kind not in "iub" for a in arrays]):
                return f"has {value!r} as {name}, whose index arrays should have integers"
    return None


def _well_typed(t: Any) -> bool:
    return all(type(part) is Type and min(part.shape, default=0) >= 0 for part in (t if isinstance(t, tuple) else (t,)))


def _missing(graph: BareGraph, node: Node) -> str:
    """Return the complaint about an input that should have come before the node."""
    where = "that comes later" if node in graph.nodes else "that is not in the graph"
    return f"a value {where}: {node!r}"


def _error(graph: BareGraph, node: Node, what: str) -> VerifyError:
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
