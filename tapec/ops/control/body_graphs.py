"""Make bodies of functions of symbols, check operands against bodies, and run these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapec.ir import Builder, Graph, Type, input_node, interpret, type_of
from tapec.ops.core.symbol import Symbol

__all__ = ["body_of", "check_operands", "run_body"]


def body_of(name: str, function: Callable[..., Any], types: Sequence[Type]) -> Graph:
    """Return the graph of a function of symbols of these types, which gives a tuple of symbols or numbers."""
    builder = Builder()
    inputs = [input_node(f"x{k}", t) for k, t in enumerate(types)]
    found = function(*[Symbol(i, builder) for i in inputs])
    outputs = [y.node if isinstance(y, Symbol) else builder.constant(y) for y in found]
    return builder.graph(inputs, outputs, name)


def check_operands(body: Graph, types: Sequence[Type]) -> None:
    """Raise an error for operands of other types than the inputs of a body."""
    wanted = tuple([i.type for i in body.inputs])
    if wanted != tuple(types):
        raise TypeError(f"graph {body.name} takes {list(wanted)}, not {list(types)}")


def run_body(body: Graph, values: Sequence[Any]) -> tuple[Any, ...]:
    """Run a body on values of the types of its inputs."""
    check_operands(body, list(map(type_of, values)))
    return tuple(interpret(body, *values))
