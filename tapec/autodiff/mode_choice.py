"""Choose the way of derivatives of one result: backwards through the program, or forwards, by few numbers."""

from __future__ import annotations

from collections.abc import Sequence

from tapec.autodiff import tuning
from tapec.autodiff.lazy import less_work, values_and_tangents
from tapec.autodiff.reverse import value_and_grad_graph
from tapec.ir import Graph

__all__ = ["goes_forwards", "gradient_graph"]


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
    if len(graph.nodes) < tuning.FORWARD_MIN_OPS:
        return False
    return sum([graph.inputs[w].type.size for w in wrt]) <= tuning.FORWARD_MAX_NUMBERS
