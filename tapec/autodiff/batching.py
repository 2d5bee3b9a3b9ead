"""Batching makes a graph of many examples from a graph of one, without a loop wherever NumPy can do it.

A batched value has its batch axis first. What depends on no batched input stays as it is, and is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapec.autodiff.bodies.recomputation import AGAIN
from tapec.autodiff.rule_application import fit
from tapec.autodiff.symbolic.symbolic_zeros import filled
from tapec.errors import GraphError, UnsupportedError
from tapec.ir import CONSTANT, INPUT, ITEM, Builder, Graph, Node, Type, input_node, is_literal, prune
from tapec.ops import Symbol, apply
from tapec.ops.control.loop import loop
from tapec.ops.core.batch_rules import batched_by_rule

__all__ = ["batch_graph", "batch_into"]

Value = tuple[Any, bool]  # a symbol (or a tuple of them), and whether it has a batch axis


def batch_graph(graph: Graph, in_batched: Sequence[bool], size: int) -> tuple[Graph, tuple[bool, ...]]:
    """The graph that does this one for a whole batch, and which of its outputs have a batch axis.

    Inputs marked in `in_batched` get one, in front.
    """
    builder = Builder()
    inputs = [
        input_node(i.name or f"x{k}", Type((size, *i.type.shape), i.type.dtype), i.origin) if b else i
        for k, (i, b) in enumerate(zip(graph.inputs, in_batched, strict=True))
    ]
    given = [(Symbol(i, builder), b) for i, b in zip(inputs, in_batched, strict=True)]
    results = batch_into(builder, graph, given, size)
    batched = builder.graph(inputs, [y.node for y, _ in results], graph.name)
    return prune(batched), tuple([b for _, b in results])


def batch_into(builder: Builder, graph: Graph, inputs: Sequence[Value], size: int) -> list[Value]:
    """Add a graph's batched program to a builder; gives its outputs."""
    known: dict[Node, Value] = dict(zip(graph.inputs, inputs, strict=True))
    keep = builder.origin, builder.role
    for node in graph.nodes:
        builder.origin, builder.role = node.origin, node.role
        known[node] = _batched(builder, node, [known[i] for i in node.inputs], size)
    builder.origin, builder.role = keep
    return [known[o] for o in graph.outputs]


def _batched(builder: Builder, node: Node, inputs: list[Value], size: int) -> Value:
    if node.op is CONSTANT:
        return Symbol(builder.constant(node.value, node.name), builder), False
    if node.op is ITEM and isinstance(inputs[0][0], tuple):
        return inputs[0][0][node.param("index")], inputs[0][1]
    flags = tuple([b for _, b in inputs])
    if not any(flags):
        new = tuple([x.node for x, _ in inputs])
        return Symbol(builder.add(node if new == node.inputs else node.with_inputs(new)), builder), False
    if node.op is AGAIN:  # a value that waits for a cotangent is batched when it is itself
        return apply(AGAIN, tuple([x for x, _ in inputs])), flags[0]
    return batch_node(builder, node, [x for x, _ in inputs], flags, size), True


def batch_node(builder: Builder, node: Node, xs: list[Any], flags: tuple[bool, ...], size: int) -> Any:
    """Apply one operation to batched inputs: by its own rule, by the rule of its kind, or in a loop."""
    op = node.op
    y: Any = batched_by_rule(node, xs, flags)
    if y is NotImplemented and op.batch is None and op.kind == "dynamic" and (flags[0] or not _is_as_asked(node)):
        raise UnsupportedError(
            f"the shape of {op.name}'s result depends on values, which differ from example to example under vmap. "
            f"Fix: use np.where with a condition instead of selecting, or a loop over the examples."
        )
    if y is NotImplemented:
        y = _looped(builder, node, xs, flags, size)
    if op.multi:
        return tuple([_checked(builder, node, p, t, size) for p, t in zip(y, node.type, strict=True)])
    return _checked(builder, node, y, node.type, size)


def _is_as_asked(node: Node) -> bool:
    """Return whether a node has the shape that its parameters ask for.

    Counts of places in bins have it, whatever their weights are.
    """
    return node.op.rule(*[i.type for i in node.inputs], **dict(node.params)) == node.type


def _checked(builder: Builder, node: Node, y: Any, t: Type, size: int) -> Symbol:
    """A batched result, in the type it must have."""
    if y.shape != (size, *t.shape):
        raise GraphError(f"the batching rule of op {node.op.name} gave shape {y.shape}, not {(size, *t.shape)}")
    return y if y.dtype == t.dtype else fit(builder, y, Type(y.shape, t.dtype))


# ---------------------------------------------------------------------------------------------------------------
# the loop
# ---------------------------------------------------------------------------------------------------------------
def _looped(builder: Builder, node: Node, xs: list[Any], flags: tuple[bool, ...], size: int) -> Any:
    op = node.op
    if size == 0:
        types = node.type if op.multi else (node.type,)
        empty = [filled(builder, Type((0, *t.shape), t.dtype), 0) for t in types]
        return tuple(empty) if op.multi else empty[0]
    inner = Builder()
    inner.role = node.role
    inputs = [_turn_operand(inner, x.node, b) for x, b in zip(xs, flags, strict=True)]
    made = inner.emit(op, tuple(inputs), node.given)
    kinds = [(i, x, b) for i, x, b in zip(inputs, xs, flags, strict=True) if i.op is INPUT]
    kinds.sort(key=lambda kind: kind[2])
    body = inner.graph([i for i, _, _ in kinds], inner.items(made) if op.multi else [made], op.name)
    found = loop((body,), [x for _, x, b in kinds if not b], (), [x for _, x, b in kinds if b], size)
    return found if op.multi else found[0]


def _turn_operand(inner: Builder, x: Node, is_row: bool) -> Node:
    """Return what stands in a turn for an operand: a row of it, itself, or the number that it is."""
    if is_literal(x):
        return inner.constant(x.value)
    return input_node(None, Type(x.type.shape[1:], x.type.dtype) if is_row else x.type)
