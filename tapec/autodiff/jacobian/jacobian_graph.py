"""Write Jacobians as graphs: every output by every input, row by row or column by column, whichever is less work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.autodiff.bodies.recomputation import inline_checkpoints
from tapec.autodiff.compose.inline_graph import copy_into
from tapec.autodiff.forward import jvp_graph
from tapec.autodiff.jacobian.basis import Basis, Rows
from tapec.autodiff.jacobian.basis_pushforward import along_basis
from tapec.autodiff.jacobian.parameter_blocks import Part, taken_apart
from tapec.autodiff.jacobian.rowwise_hessian import hessian_by_rows
from tapec.autodiff.reverse import backward, value_and_grad_graph
from tapec.autodiff.rule_application import plain
from tapec.autodiff.symbolic.symbolic_zeros import Zero, matched
from tapec.ir import CT, Builder, Graph, Node, Type, input_node, prune
from tapec.ir.types import is_differentiable
from tapec.ops import Symbol, apply
from tapec.ops.indexing.getitem_and_scatter import SCATTER

__all__ = ["best_mode", "hessian_graph", "jacobian_graph"]


def jacobian_graph(graph: Graph, wrt: Sequence[int], mode: str = "reverse", holomorphic: bool = False) -> Graph:
    """The Jacobians of all differentiable outputs by the inputs `wrt`, output by output.

    Each has the output's shape followed by the input's. `mode` is "reverse", "forward" or "auto".
    """
    if mode == "auto":
        mode = best_mode(graph, wrt)
    builder = Builder()
    parts = (_by_rows if mode == "reverse" else _by_columns)(builder, graph, wrt, holomorphic)
    return prune(builder.graph(graph.inputs, [p.node for p in parts], graph.name))


def hessian_graph(graph: Graph, wrt: Sequence[int]) -> Graph:
    """Return the second derivatives of the first output with respect to each pair of inputs, forward over reverse.

    The gradient with respect to x_j along the unit vectors of x_i has the shape x_i + x_j: by symmetry it is the block
    wanted, and with its axes exchanged that of x_j and x_i. Inputs that are read in parts have a block for each pair of
    parts.
    """
    if len(wrt) == 1:
        by_rows = hessian_by_rows(graph, wrt[0])
        if by_rows is not None:
            return by_rows
    apart, parts = taken_apart(graph, wrt)
    n = len(graph.inputs)
    own = range(n, n + len(parts))
    joint = value_and_grad_graph(apart, own)
    first = len(graph.outputs)
    stated = any(node.op.kind == "custom" for node in inline_checkpoints(apart).nodes)
    mirrored = not stated  # a gradient that is stated may have no loss
    builder = Builder()
    given = [Symbol(i, builder) for i in graph.inputs]
    given += [Symbol(part.read(builder, graph.inputs[part.of]), builder) for part in parts]
    blocks: dict[tuple[int, int], Any] = {}
    for i, k in enumerate(own):
        least = i if mirrored else 0
        gradient = prune(Graph(joint.inputs, joint.nodes, joint.outputs[first + least :], graph.name))
        basis, found = _tangents_along(builder, gradient, k, 1, given)
        for j, block in enumerate(found, least):
            blocks[i, j] = block
            if mirrored and i != j:
                blocks[j, i] = _columns_last(basis, block)
    builder.role = CT  # blocks of zeros add nothing
    wholes = [_assembled(graph, blocks, parts, w, v).node for w in wrt for v in wrt]
    return prune(builder.graph(graph.inputs, wholes, graph.name))


def _assembled(graph: Graph, blocks: dict[tuple[int, int], Any], parts: list[Part], w: int, v: int) -> Any:
    """Return second derivatives with respect to two inputs, from those with respect to their parts."""
    rows, columns = [_of_input(parts, k) for k in (w, v)]
    shape, other = [graph.inputs[k].type.shape for k in (w, v)]
    whole = Type(shape + other, graph.inputs[v].type.dtype)
    if len(rows) == len(columns) == 1:
        return matched(blocks[rows[0], columns[0]], whole)
    total = None
    for i in rows:
        for j in columns:
            index = parts[i].place(shape) + parts[j].place(other)
            block = np.reshape(blocks[i, j], parts[i].body(shape) + parts[j].body(other))
            part = apply(SCATTER, (block,), (("shape", whole.shape), ("index", index)))
            total = part if total is None else total + part
    return matched(total, whole)


def _of_input(parts: list[Part], k: int) -> list[int]:
    """The numbers of the parts of an input, in the order of its elements."""
    return sorted([i for i, p in enumerate(parts) if p.of == k], key=lambda i: parts[i].elements.start)


def best_mode(graph: Graph, wrt: Sequence[int]) -> str:
    """Return reverse mode when there are no more outputs than inputs, in numbers."""
    rows = sum(o.type.size for o in graph.outputs if is_differentiable(o.type))
    return "reverse" if rows <= sum(graph.inputs[k].type.size for k in wrt) else "forward"


# -- by rows ----------------------------------------------------------------------------------------------------------
def _by_rows(builder: Builder, graph: Graph, wrt: Sequence[int], holomorphic: bool) -> list[Any]:
    parts = []
    for k, output in enumerate(graph.outputs):
        if is_differentiable(output.type):
            parts += _rows_of(builder, graph, wrt, k, holomorphic)
    return parts


def _rows_of(builder: Builder, graph: Graph, wrt: Sequence[int], k: int, holomorphic: bool) -> list[Any]:
    """The Jacobians of one output: its pullback along every unit cotangent."""
    t = plain(graph.outputs[k].type)
    back, connected = _pullback_of(graph, wrt, k)
    basis = Basis(builder, t.shape)
    inputs = [*[Symbol(i, builder) for i in graph.inputs], basis.seed(t)]
    found = iter(along_basis(basis, back, inputs))
    parts = []
    for w, is_connected in zip(wrt, connected, strict=True):
        s = plain(graph.inputs[w].type)
        part = _whole(basis, next(found), s) if is_connected else Zero(Type(t.shape + s.shape, s.dtype), builder)
        parts.append(np.conjugate(part) if holomorphic and is_connected else part)
    return parts


def _whole(basis: Basis, value: Any, t: Type) -> Any:
    shape = (*basis.shape, *t.shape)
    x: Any = basis.full(value) if isinstance(value, Rows) else np.broadcast_to(value, shape)
    return matched(x, Type(shape, t.dtype))  # a number of Python's, where 0-d is by 0-d


def _pullback_of(graph: Graph, wrt: Sequence[int], k: int) -> tuple[Graph, list[bool]]:
    """Return a graph from the inputs and a cotangent of the k-th output to the cotangents of inputs that a path leads
    to."""
    builder = Builder()
    target = copy_into(builder, graph, graph.inputs)[k]
    seed = input_node("ct", plain(target.type))
    sources = [graph.inputs[w] for w in wrt]
    found = backward(builder, tuple(builder.nodes), [target], [Symbol(seed, builder)], sources, _same)
    outputs = [c.node for c in found if c is not None]
    return prune(builder.graph([*graph.inputs, seed], outputs, graph.name)), [c is not None for c in found]


def _same(node: Node) -> Node:
    return node


# -- by columns -------------------------------------------------------------------------------------------------------
def _by_columns(builder: Builder, graph: Graph, wrt: Sequence[int], holomorphic: bool) -> list[Any]:
    columns = [_columns_of(builder, graph, w, holomorphic) for w in wrt]
    return [part for row in zip(*columns, strict=True) for part in row]


def _columns_of(builder: Builder, graph: Graph, w: int, holomorphic: bool) -> list[Any]:
    """The Jacobians by one input: every differentiable output's tangent along every unit tangent."""
    basis, first = _tangents_along(builder, graph, w, 1)
    if not holomorphic:
        if graph.inputs[w].type.dtype.kind == "c":
            second = _tangents_along(builder, graph, w, 1j)[1]
            first = [np.real(p) + 1j * np.real(q) for p, q in zip(first, second, strict=True)]
        else:  # the gradient of the real part, as reverse mode has it
            first = [np.real(p) for p in first]
    dtype = graph.inputs[w].type.dtype
    return [_columns_last(basis, matched(p, Type(p.shape, dtype))) for p in first]


def _tangents_along(
    builder: Builder, graph: Graph, w: int, scale: complex, given: Sequence[Any] = ()
) -> tuple[Basis, list[Any]]:
    """Return tangents of all differentiable outputs along every unit vector of one input, times a scale: its axes
    first."""
    s = plain(graph.inputs[w].type)
    moved = jvp_graph(graph, [w])
    push = Graph(moved.inputs, moved.nodes, moved.outputs[len(graph.outputs) :], graph.name)
    basis = Basis(builder, s.shape)
    seed = basis.seed(s)
    seed = Rows(seed.data * scale, seed.pairs) if scale != 1 else seed
    given = given or [Symbol(i, builder) for i in graph.inputs]
    found = along_basis(basis, push, [*given, seed])
    return basis, [_whole(basis, f, plain(o.type)) for f, o in zip(found, push.outputs, strict=True)]


def _columns_last(basis: Basis, x: Any) -> Any:
    n, k = len(x.shape), basis.rank
    return np.transpose(x, (*range(k, n), *range(k)))
