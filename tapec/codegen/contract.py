"""Sums of products without the product: `a.dot(b)`, `np.vdot(a, b)`, `np.vecdot(a, b)`, or an einsum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapec.codegen.plan import count_uses, is_view
from tapec.ir import Graph, Node, Op, constant, get_op

__all__ = ["SUM_OF_PRODUCTS", "contracted"]

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


def _no_run(*values: Any, **params: Any) -> Any:
    raise TypeError("sums of products are made of sums by emission")


SUM_OF_PRODUCTS = Op(name="sum of products", run=_no_run, rule=_no_run, kind="reduction", source=_source)


def contracted(graph: Graph) -> Graph:
    """The program with sums of products of arrays of one shape as single operations."""
    if not any(n.op.name in ("sum", "mean") for n in graph.nodes):
        return graph
    uses = count_uses(graph.nodes, graph.outputs)
    new: dict[Node, Node] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        factors = _factors(node, uses)
        inputs = tuple([new.get(i, i) for i in factors or node.inputs])
        if factors is not None:
            whole = node.op.name == "sum"
            name = node.name if whole else None
            made = Node(SUM_OF_PRODUCTS, inputs, node.params, node.type, node.origin, name, node.role)
            nodes.append(made)
            if not whole:
                count = constant(node.inputs[0].type.size // node.type.size)
                made = Node(get_op("divide"), (made, count), (), node.type, node.origin, node.name, node.role)
                nodes += [count, made]
            new[node] = made
        elif inputs != node.inputs:
            new[node] = Node(node.op, inputs, node.params, node.type, node.origin, node.name, node.role)
            nodes.append(new[node])
        else:
            nodes.append(node)
    return Graph(graph.inputs, nodes, [new.get(o, o) for o in graph.outputs], graph.name) if new else graph


def _factors(node: Node, uses: dict[Node, int]) -> tuple[Node, Node] | None:
    """The two arrays whose products a sum or mean adds up."""
    if node.op.name not in ("sum", "mean") or [k for k, _ in node.params] != ["axis", "keepdims"]:
        return None
    product = node.inputs[0]
    if uses.get(product) != 1 or product.op.name not in ("multiply", "square") or product.params:
        return None
    a, b = product.inputs if len(product.inputs) == 2 else product.inputs * 2
    t = product.type
    if a.type != t or b.type != t or node.type.dtype != t.dtype or t.dtype.char not in "fd" or not node.type.size:
        return None
    axis, keepdims = node.param("axis"), node.param("keepdims")
    if len(axis) == t.ndim:
        fits = t.ndim > 0 and not keepdims and not any(map(_is_scattered, (a, b)))
    else:
        fits = axis == (t.ndim - 1,) or (t.ndim == 2 and axis == (0,) and t.size >= COLUMNS)
    return (a, b) if fits else None


def _is_scattered(node: Node) -> bool:
    """May its elements lie apart, so that a flat product would have to copy them?"""
    return is_view(node) and node.type.ndim > 1
