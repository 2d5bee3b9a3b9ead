"""Import, on first use, the gradient with respect to few numbers: few long programs have that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapec.ir import Graph

__all__ = ["less_work", "values_and_tangents"]


def less_work(graph: Graph, wrt: Sequence[int]) -> Any:
    from tapec.autodiff.forward_gradient import less_work

    return less_work(graph, wrt)


def values_and_tangents(graph: Graph, wrt: Sequence[int], numbers: Any) -> Graph:
    from tapec.autodiff.forward_gradient import values_and_tangents

    return values_and_tangents(graph, wrt, numbers)
