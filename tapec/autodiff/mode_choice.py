"""Which way derivatives of one result go: backwards through the program, or forwards, by few numbers of a long one."""

from __future__ import annotations

from collections.abc import Sequence

from tapec.autodiff.reverse import value_and_grad_graph
from tapec.ir import Graph

__all__ = ["FEW", "LONG", "goes_forwards", "gradient_graph"]

FEW = 3  # numbers, from which on it is hardly ever less work to go forwards
LONG = 24  # operations; shorter programs have no loops in which going backwards would keep lists


def gradient_graph(graph: Graph, wrt: Sequence[int], holomorphic: bool = False) -> Graph:
    """All outputs of a graph, and then the gradients of the first with respect to these inputs, in the way that is
    less work."""
    if not holomorphic and _may_go_forwards(graph, wrt):
        from tapec.autodiff.forward_gradient import (  # few programs are long, by few numbers
            less_work,
            values_and_tangents,
        )

        numbers = less_work(graph, wrt)
        if numbers is not None:
            return values_and_tangents(graph, wrt, numbers)
    return value_and_grad_graph(graph, wrt, holomorphic)


def goes_forwards(graph: Graph, wrt: Sequence[int]) -> bool:
    """Are derivatives by these inputs carried forwards, beside the values?"""
    if not _may_go_forwards(graph, wrt):
        return False
    from tapec.autodiff.forward_gradient import less_work

    return less_work(graph, wrt) is not None


def _may_go_forwards(graph: Graph, wrt: Sequence[int]) -> bool:
    return len(graph.nodes) >= LONG and sum([graph.inputs[w].type.size for w in wrt]) <= FEW
