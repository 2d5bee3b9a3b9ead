"""Make functions of graph text: commands treat graphs as they treat functions."""

from __future__ import annotations

import inspect
from typing import Any

from tapec.codegen.common.naming import Names, identifier
from tapec.ir import Graph
from tapec.ir.checks.interpreter import interpret
from tapec.ir.checks.sample_values import sample_values
from tapec.ops import ArrayLike
from tapec.ops.control.select_and_call import CALL
from tapec.trace.perform import perform

__all__ = ["GraphFunction"]


class GraphFunction:
    """Computes what a graph does, and records it when it is traced.

    Names of inputs that Python does not take stand in its signature as they do in generated code.
    """

    def __init__(self, graph: Graph):
        self.graph = graph
        self.__name__, self.__doc__ = graph.name, None
        names = Names()
        self.__signature__ = inspect.Signature(
            [
                inspect.Parameter(names.take(identifier(i.name or f"x{k}")), inspect.Parameter.POSITIONAL_OR_KEYWORD)
                for k, i in enumerate(graph.inputs)
            ]
        )

    def __call__(self, *values: Any) -> Any:
        recorded = any(isinstance(x, ArrayLike) for x in values)
        out = perform(CALL, values, (("bodies", (self.graph,)),)) if recorded else tuple(interpret(self.graph, *values))
        return out if len(out) > 1 else out[0]

    def __repr__(self) -> str:
        return f"<graph {self.__name__}>"

    def example_args(self) -> tuple[Any, ...]:
        return tuple(sample_values(self.graph))
