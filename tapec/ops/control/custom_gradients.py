"""Define ops whose gradient the user states: `stop_gradient`, and functions with a gradient function of their own.

A call of such a function is a node whose inputs are its arguments, then its results as they were computed, then what
the gradient function captured; its results are those results. So the node is transparent forward, and derivatives go
through it to the arguments alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import CONSTANT, ITEM, Graph, Type
from tapec.ir.param_types import SIZE, optional, tuple_of
from tapec.ir.types import WEAK_NUMBERS
from tapec.ops.core.define import as_operand, define, dtype_of
from tapec.ops.core.sample_domains import any_real
from tapec.ops.core.stand_in import apply
from tapec.ops.core.symbol import Symbol

__all__ = ["CUSTOM", "CUSTOM_GRAPH", "STOP_GRADIENT", "stop_gradient"]

STOP_GRADIENT = define(
    "stop_gradient",
    lambda x: x if type(x) in WEAK_NUMBERS else np.positive(x),
    lambda t: t,
    "elementwise",
    gradient="none",
    source="+{0}",
    sample=(any_real,),
)


def stop_gradient(x: Any) -> Any:
    """Return an array, or a number, as a constant for derivatives: no gradient flows through it."""
    x = as_operand(x)
    return x if dtype_of(x).kind == "b" else apply(STOP_GRADIENT, (x,))


def _results(*values: Any, args: int, results: int, **_: Any) -> tuple[Any, ...]:
    return values[args : args + results]


# The gradient is Python code, to be run when a tape has the cotangents: its log holds it. No graph is differentiated
# through such a node; the tape cuts its program there.
CUSTOM = define(
    "custom", _results, _results, "custom", params={"args": SIZE, "results": SIZE}, gradient="yes", multi=True
)


def _custom_rule(
    *types: Type, args: int, results: int, gives: tuple[Any, ...], bodies: tuple[Graph]
) -> tuple[Any, ...]:
    (backward,) = bodies
    given, found = len(types) - args, len(backward.outputs)
    if len(backward.inputs) != given or len(gives) != args or any([k is not None and k >= found for k in gives]):
        raise ValueError(f"the gradient of {args} arguments does not fit graph {backward.name}")
    return _results(*types, args=args, results=results)


def _custom_vjp(
    ct: Any,
    y: Any,
    *xs: Any,
    args: int,
    results: int,
    gives: tuple[Any, ...],
    bodies: tuple[Graph],
) -> Any:
    found = evaluate(bodies[0], [*ct, *xs[args + results :]])
    return tuple([None if k is None else found[k] for k in gives]) + (None,) * (len(xs) - args)


# The gradient is a body from the cotangents and what it captured; `gives` says which of its outputs belongs to which
# argument.
CUSTOM_GRAPH = define(
    "custom_graph",
    _results,
    _custom_rule,
    "custom",
    params={"args": SIZE, "results": SIZE, "gives": tuple_of(optional(SIZE))},
    bodies=(1,),
    vjp=_custom_vjp,
    multi=True,
)


def evaluate(graph: Graph, values: list[Any]) -> list[Any]:
    """Perform the operations of a graph on stand-ins, and return its outputs."""
    known: dict[Any, Any] = dict(zip(graph.inputs, values, strict=True))
    for node in graph.nodes:
        if node.op is CONSTANT:
            known[node] = node.value
        elif node.op is ITEM:
            known[node] = known[node.inputs[0]][node.param("index")]
        elif node.inputs:
            known[node] = apply(node.op, tuple([known[i] for i in node.inputs]), node.given)
        else:
            builder = next(v.builder for v in values if hasattr(v, "builder"))
            known[node] = Symbol(builder.emit(node.op, (), node.params), builder)
    return [known[o] for o in graph.outputs]
