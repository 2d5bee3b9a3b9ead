"""Apply a linear program to every vector of a basis at once: this is how Jacobians are made.

Batching over one-hot vectors would multiply zeros. Here a batched value remembers that it is diagonal in some of its
axes, `V[b, a] = data[b, a] · δ(b_i, a_j)`, which elementwise operations keep and contractions resolve: the Jacobian of
`tanh(w @ x)` comes out as `(1 - y²)[:, None] * w`, and no identity matrix is ever multiplied.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapec.autodiff.batching import batch_node
from tapec.autodiff.jacobian.banded import Bands, banded, written_out
from tapec.autodiff.jacobian.basis import Basis, Rows
from tapec.autodiff.jacobian.basis_rules import FACTORED, RULES
from tapec.ir import CONSTANT, ITEM, Graph, Node
from tapec.ops import Symbol

__all__ = ["along_basis"]


def along_basis(basis: Basis, graph: Graph, inputs: Sequence[Any]) -> list[Any]:
    """Run a graph with `Rows` among its inputs; an output that depends on none of them is a symbol."""
    builder = basis.builder
    known: dict[Node, Any] = dict(zip(graph.inputs, inputs, strict=True))
    keep = builder.origin, builder.role
    for node in graph.nodes:
        builder.origin, builder.role = node.origin, node.role
        xs = [known[i] for i in node.inputs]
        if node.op is CONSTANT:
            known[node] = Symbol(builder.constant(node.value, node.name), builder)
        elif node.op is ITEM and isinstance(xs[0], tuple) and not isinstance(xs[0], Rows):
            known[node] = xs[0][node.param("index")]
        elif not any(isinstance(x, (Rows, Bands)) for x in xs):
            new = tuple([x.node for x in xs])
            known[node] = Symbol(builder.add(node if new == node.inputs else node.with_inputs(new)), builder)
        else:
            y = banded(basis, node, xs)
            if y is None:
                xs = [written_out(basis, x) if isinstance(x, Bands) else x for x in xs]
                rule = RULES.get(node.op)
                if node.op not in FACTORED:
                    xs = [x.product if isinstance(x, Rows) else x for x in xs]
                y = None if rule is None else rule(basis, node, xs)
            known[node] = _in_general(basis, node, xs) if y is None else y
    builder.origin, builder.role = keep
    found = [known[o] for o in graph.outputs]
    return [written_out(basis, x) if isinstance(x, Bands) else x for x in found]


def _in_general(basis: Basis, node: Node, xs: list[Any]) -> Any:
    """Apply the op's batching rule, on arrays with all their zeros."""
    flags = tuple([isinstance(x, Rows) for x in xs])
    flat = [basis.flat(x) if f else x for x, f in zip(xs, flags, strict=True)]
    y = batch_node(basis.builder, node, flat, flags, math.prod(basis.shape))
    return tuple([basis.rows(p) for p in y]) if isinstance(y, tuple) else basis.rows(y)
