"""Choose the way of derivatives of one result: backwards through the program, or forwards, by few numbers."""

from __future__ import annotations

from collections.abc import Sequence

from tapec.autodiff.lazy import less_work, values_and_tangents
from tapec.autodiff.modes import LONG
from tapec.autodiff.reverse import value_and_grad_graph
from tapec.ir import Graph

__all__ = ["FEW", "goes_forwards", "gradient_graph"]

FEW = 3  # numbers, from which on it is hardly ever less work to go forwards


def gradient_graph(graph: Graph, wrt: Sequence[int], holomorphic: bool = False) -> Graph:
    """Return a graph of all outputs, and then the gradients of the first with respect to these inputs.

    The gradients are computed forwards or backwards, whichever is less work.
    """
    if not holomorphic and _may_go_forwards(graph, wrt):
        numbers = less_work(graph, wrt)
        if numbers is not None:
            return values_and_tangents(graph, wrt, numbers)
    return value_and_grad_graph(graph, wrt, holomorphic)


def goes_forwards(graph: Graph, wrt: Sequence[int]) -> bool:
    """Return whether derivatives with respect to these inputs are carried forwards, beside the values."""
    if not _may_go_forwards(graph, wrt):
        return False
    return less_work(graph, wrt) is not None


def _may_go_forwards(graph: Graph, wrt: Sequence[int]) -> bool:
    return len(graph.nodes) >= LONG and sum([graph.inputs[w].type.size for w in wrt]) <= FEW
