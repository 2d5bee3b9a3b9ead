"""Sums of products without the product: `a.dot(b)`, `np.vdot(a, b)`, `np.vecdot(a, b)`, or an einsum.

A sum of terms is taken apart when each term is such a product, perhaps with a factor:
`(100.0 * (t * t) + e * e).sum()` is `100.0 * t.dot(t) + e.dot(e)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapec.codegen.items import no_run
from tapec.codegen.plan import count_uses, is_view
from tapec.ir import CONSTANT, Graph, Node, Op, constant, get_op, is_literal

__all__ = ["SUM_OF_PRODUCTS", "contracted"]

MOST = 4  # terms of a sum that is taken apart
COLUMNS = 4096  # elements from which einsum beats a product and its sum along the first axis


def _source(args: Sequence[str], node: Node) -> str:
    a, b = args
    axis, keepdims = node.param("axis"), node.param("keepdims")
    ndim = node.inputs[0].type.ndim
    if len(axis) == ndim:
        return f"{a}.dot({b})" if ndim == 1 else f"np.vdot({a}, {b})"
    if axis == (ndim - 1,):
        return f"np.vecdot({a}, {b}{', keepdims=True' if keepdims else ''})"
    return f'np.einsum("ij,ij->j", {a}, {b}){"[None]" if keepdims else ""}'


SUM_OF_PRODUCTS = Op(name="sum of products", run=no_run, rule=no_run, kind="reduction", source=_source)


def contracted(graph: Graph) -> Graph:
    """The program with sums of products of arrays of one shape as single operations."""
    if not any(n.op.name in ("sum", "mean") for n in graph.nodes):
        return graph
    uses = count_uses(graph.nodes, graph.outputs)
    new: dict[Node, Node] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        terms = _terms_of(node, uses)
        if terms is not None:
            new[node] = _summed(node, [(f, (new.get(a, a), new.get(b, b))) for f, (a, b) in terms], nodes)
            continue
        inputs = tuple([new.get(i, i) for i in node.inputs])
        if inputs != node.inputs:
            new[node] = node = node.with_inputs(inputs)
        nodes.append(node)
    return Graph(graph.inputs, nodes, [new.get(o, o) for o in graph.outputs], graph.name) if new else graph


def _summed(node: Node, terms: list[tuple[float, tuple[Node, Node]]], nodes: list[Node]) -> Node:
    """The nodes that compute a sum or mean from its terms; the last of them is called like it."""

    def made(op: Op, *inputs: Node, params: Any = ()) -> Node:
        nodes.extend(i for i in inputs if i.op is CONSTANT)
        nodes.append(Node(op, inputs, params, node.type, node.origin, None, node.role))
        return nodes[-1]

    total: Node | None = None
    for factor, (a, b) in terms:
        term = made(SUM_OF_PRODUCTS, a, b, params=node.params)
        if factor not in (1, -1):
            term = made(get_op("multiply"), constant(abs(factor) if total is not None else factor), term)
        if total is None:
            total = made(get_op("negative"), term) if factor == -1 else term
        else:
            total = made(get_op("subtract" if factor < 0 else "add"), total, term)
    assert total is not None
    if node.op.name == "mean":
        total = made(get_op("divide"), total, constant(node.inputs[0].type.size // node.type.size))
    total.name = node.name
    return total


def _terms_of(node: Node, uses: dict[Node, int]) -> list[tuple[float, tuple[Node, Node]]] | None:
    """The products that a sum or mean adds up, each with its factor."""
    if node.op.name not in ("sum", "mean") or [k for k, _ in node.params] != ["axis", "keepdims"]:
        return None
    t = node.inputs[0].type
    axis, keepdims = node.param("axis"), node.param("keepdims")
    if node.type.dtype != t.dtype or t.dtype.char not in "fd" or not node.type.size:
        return None
    whole = len(axis) == t.ndim
    if not (t.ndim > 0 and not keepdims if whole else _has_form(axis, t)):
        return None
    terms: list[tuple[float, tuple[Node, Node]]] = []
    stack = [(1.0, node.inputs[0])]
    while stack:
        factor, term = stack.pop()
        if uses.get(term) != 1 or term.type != t or term.params or len(terms) == MOST:
            return None
        found = _product(term, factor)
        if found is not None:
            if whole and any(map(_is_scattered, found[1])):
                return None
            terms.append(found)
        elif term.op.name in ("add", "subtract") and whole:
            a, b = term.inputs
            stack += [(-factor if term.op.name == "subtract" else factor, b), (factor, a)]
        elif term.op.name == "multiply" and is_literal(term.inputs[0]) and whole:
            stack.append((factor * term.inputs[0].value, term.inputs[1]))
        else:
            return None
    return terms


def _has_form(axis: tuple[int, ...], t: Any) -> bool:
    """Is there a way to write the sum of products along these axes that beats the product and its sum?"""
    return axis == (t.ndim - 1,) or (t.ndim == 2 and axis == (0,) and t.size >= COLUMNS)


def _product(term: Node, factor: float) -> tuple[float, tuple[Node, Node]] | None:
    """The two arrays of one shape that a term multiplies."""
    if term.op.name == "square":
        return factor, (term.inputs[0], term.inputs[0])
    if term.op.name == "multiply" and all(i.type == term.type for i in term.inputs):
        return factor, (term.inputs[0], term.inputs[1])
    return None


def _is_scattered(node: Node) -> bool:
    """May its elements lie apart, so that a flat product would have to copy them?"""
    return is_view(node) and node.type.ndim > 1
