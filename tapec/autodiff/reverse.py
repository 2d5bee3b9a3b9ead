"""Reverse mode: a graph's gradient as more graph.

Accumulation, symbolic zeros, un-broadcasting, dtypes and complex conjugation happen here, once; rules know nothing of
them. Complex gradients follow TensorFlow: the cotangent of x is ct * conj(dy/dx), so that `x - lr * grad` descends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapec.autodiff.inline import copy_into
from tapec.ir import CONSTANT, ITEM, Builder, Graph, Node, Type, input_node
from tapec.ir.types import is_differentiable
from tapec.ops import Symbol, apply
from tapec.ops.creation import FULL
from tapec.ops.define import conj
from tapec.ops.layout import unbroadcast

__all__ = ["backward", "dependents", "filled", "value_and_grad_graph", "vjp_graph"]


def filled(builder: Builder, t: Type, value: float) -> Symbol:
    """A symbol of one number everywhere."""
    return Symbol(builder.emit(FULL, (), (("shape", t.shape), ("value", value), ("dtype", t.dtype))), builder)


def dependents(nodes: Sequence[Node], sources: Sequence[Node]) -> set[Node]:
    """The nodes through which a derivative with respect to the sources can flow, sources included."""
    active = set(sources)
    for node in nodes:
        if node.op.gradient != "none" and any(i in active for i in node.inputs) and _has_gradient(node.type):
            active.add(node)
    return active


def _has_gradient(t: Any) -> bool:
    return any(map(is_differentiable, t)) if isinstance(t, tuple) else is_differentiable(t)


def backward(
    builder: Builder,
    nodes: Sequence[Node],
    targets: Sequence[Node],
    seeds: Sequence[Any],
    sources: Sequence[Node],
    lift: Callable[[Node], Node],
) -> list[Symbol | None]:
    """Cotangents of the sources, None where no path leads from a target.

    `nodes` is the forward program in order; `lift` gives the node that stands for a forward value in `builder`.
    """
    active = dependents(nodes, sources)
    pending: dict[Node, Any] = {}
    for target, seed in zip(targets, seeds, strict=True):
        if is_differentiable(target.type):
            _accumulate(pending, target, seed)
    keep = builder.origin
    for node in reversed(nodes):
        if node in pending and node in active and node.inputs:
            builder.origin = node.origin
            _step(builder, node, pending, active, lift)
    builder.origin = keep
    return [pending.get(s) for s in sources]


def _step(
    builder: Builder, node: Node, pending: dict[Node, Any], active: set[Node], lift: Callable[[Node], Node]
) -> None:
    """Carry the cotangent of one node to its inputs."""
    ct = pending[node]
    if node.op is ITEM:
        slots = pending.setdefault(node.inputs[0], [None] * len(node.inputs[0].type))
        k = node.param("index")
        slots[k] = ct if slots[k] is None else slots[k] + ct
        return
    wanted = [i in active for i in node.inputs]
    if not any(wanted):
        return
    xs = [Symbol(lift(i), builder) for i in node.inputs]
    if node.op.gradient == "zero":
        for x, i, want in zip(xs, node.inputs, wanted, strict=True):
            if want:
                _accumulate(pending, i, filled(builder, x.node.type, 0.0))
        return
    y: Any
    if node.op.multi:
        whole = lift(node)
        y = tuple(Symbol(n, builder) for n in builder.items(whole))
        ct = tuple(filled(builder, t, 0.0) if c is None else c for c, t in zip(ct, node.type, strict=True))
    else:
        y = Symbol(lift(node), builder)
    for i, want, part in zip(node.inputs, wanted, input_cotangents(node, ct, y, xs), strict=True):
        if want and part is not None:
            _accumulate(pending, i, _fit(builder, part, i.type))


def input_cotangents(node: Node, ct: Any, y: Any, xs: Sequence[Symbol]) -> Sequence[Any]:
    """Apply an op's rule: the cotangent of each input, still broadcast and in the dtype it came out in."""
    op = node.op
    params = dict(node.params)
    if op.vjp is not None:
        return op.vjp(ct, y, *xs, **params)
    if op.partials is None:
        raise NotImplementedError(f"op {op.name} has no derivative rule")
    return [None if p is None else scaled(ct, p) for p in op.partials(y, *xs, **params)]


def scaled(ct: Any, partial: Any) -> Any:
    """ct * conj(partial), without a multiplication by one."""
    if isinstance(partial, (int, float)):
        if partial == 1:
            return ct
        return -ct if partial == -1 else ct * partial
    return ct * conj(partial)


def _fit(builder: Builder, ct: Any, t: Type) -> Any:
    """A cotangent in the shape and dtype of the input it belongs to."""
    if not isinstance(ct, Symbol):
        ct = Symbol(builder.constant(ct), builder)
    ct = unbroadcast(ct, t.shape) if len(ct.shape) >= len(t.shape) else np.broadcast_to(ct, t.shape)
    if ct.shape != t.shape:
        ct = np.broadcast_to(ct, t.shape)
    if ct.dtype != t.dtype or ct.weak:
        if ct.dtype.kind == "c" and t.dtype.kind == "f":
            ct = np.real(ct)
        if ct.dtype != t.dtype or ct.weak:
            ct = ct.astype(t.dtype) if not ct.weak else filled_like(builder, ct, t)
    return ct


def filled_like(builder: Builder, ct: Any, t: Type) -> Symbol:
    """A literal cotangent as an array of the type it must have."""
    if ct.node.op is CONSTANT:
        return filled(builder, t, ct.node.value)
    return ct.astype(t.dtype)


def _accumulate(pending: dict[Node, Any], node: Node, ct: Any) -> None:
    known = pending.get(node)
    pending[node] = ct if known is None else known + ct


# ---------------------------------------------------------------------------------------------------------------
# whole graphs
# ---------------------------------------------------------------------------------------------------------------
def value_and_grad_graph(graph: Graph, wrt: Sequence[int]) -> Graph:
    """All outputs of a graph, and then the gradients of the first with respect to these inputs.

    An input to which no path leads gets zeros.
    """
    builder = Builder()
    outputs = copy_into(builder, graph, graph.inputs)
    seed = filled(builder, plain(outputs[0].type), 1.0)
    grads = pullback(builder, outputs[:1], [seed], [graph.inputs[k] for k in wrt])
    return builder.graph(graph.inputs, [*outputs, *grads], graph.name)


def vjp_graph(graph: Graph, wrt: Sequence[int]) -> Graph:
    """The cotangents of these inputs; each differentiable output gives one more input: its cotangent."""
    builder = Builder()
    targets = [o for o in copy_into(builder, graph, graph.inputs) if is_differentiable(o.type)]
    seeds = [input_node(f"ct{k}", plain(o.type)) for k, o in enumerate(targets)]
    grads = pullback(builder, targets, [Symbol(s, builder) for s in seeds], [graph.inputs[k] for k in wrt])
    return builder.graph([*graph.inputs, *seeds], grads, graph.name)


def pullback(builder: Builder, targets: Sequence[Node], seeds: Sequence[Any], sources: Sequence[Node]) -> list[Node]:
    """Cotangents of sources of the program that the builder holds; zeros where no path leads."""
    found = backward(builder, tuple(builder.nodes), targets, seeds, sources, lambda node: node)
    return [(filled(builder, plain(s.type), 0.0) if c is None else c).node for s, c in zip(sources, found, strict=True)]


def plain(t: Type) -> Type:
    """The type of an array that stands for a weak scalar."""
    return Type(t.shape, t.dtype) if t.weak else t


__all__ += ["apply", "input_cotangents", "plain", "pullback", "scaled"]
