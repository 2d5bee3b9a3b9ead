"""Import what writes programs on Python floats; programs on larger arrays do without it."""

from __future__ import annotations

from typing import Any

from tapec.ir import Graph, Op
from tapec.ir.op import FAMILIES

__all__ = ["as_floats", "as_loop", "lower_float_loop", "on_floats"]


def _op(name: str) -> Op | None:
    from tapec.codegen.floats import scalar_ops

    return scalar_ops.op_of(name)


FAMILIES["float_"] = _op


def as_floats(graph: Graph, *options: Any) -> Any:
    from tapec.codegen.floats import float_function

    return float_function.as_floats(graph, *options)


def as_loop(graph: Graph, *options: Any) -> Any:
    from tapec.codegen.floats import vector_loop

    return vector_loop.as_loop(graph, *options)


def on_floats(graph: Graph) -> Any:
    from tapec.codegen.floats import loop_bodies

    return loop_bodies.on_floats(graph)


def lower_float_loop(*what: Any) -> None:
    from tapec.codegen.floats import float_loop_lines

    float_loop_lines.lower_float_loop(*what)
