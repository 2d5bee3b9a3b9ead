"""A graph whose paths hang on tests as a function on arrays."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tapec.codegen.arrays import lowering_for, with_loops
from tapec.codegen.asked import course_of, may_repeat
from tapec.codegen.branches import items_of, parted, results_of, segments_of
from tapec.codegen.items import Rest
from tapec.codegen.large import in_blocks, with_small_parts
from tapec.codegen.lower import Lowering
from tapec.codegen.plan import Plan
from tapec.codegen.rests import rests_in, rests_of
from tapec.codegen.schedule import scheduled, views_late
from tapec.config import settings
from tapec.ir import Graph
from tapec.ir.tree import Tree

__all__ = ["planned_with_tests"]


def planned_with_tests(
    graph: Graph, tree: Tree, least: int
) -> tuple[type[Lowering], Plan, list[Any], Collection[Rest]]:
    """What makes statements of a program, by which plan, from what, and its ends that have loops: these spare at least
    so many operations."""
    checked = settings.check_nan
    looped = None if checked else across_tests(graph, tree, least)
    if looped is not None:
        return *looped, list(rests_in(looped[2]))
    graph, tree = parted(graph, tree)
    graph = graph if checked else in_blocks(graph, tree)
    segments = segments_of(tree, graph.outputs)
    ends = lambda g: with_loops(with_small_parts(Graph(g.inputs, scheduled(g.nodes), g.outputs, g.name)))
    rests = {} if checked else rests_of(graph, segments, least, ends)
    plan = Plan(graph.nodes, results_of(segments, rests), nesting=not checked)
    return lowering_for(checked), plan, items_of(graph, plan, segments, rests), rests.values()


def across_tests(graph: Graph, tree: Tree, least: int) -> tuple[type[Lowering], Plan, list[Any]] | None:
    """The same of a program whose loops go across its tests; None where there are none."""
    if len(graph.nodes) <= least or not may_repeat(tree):
        return None
    from tapec.codegen.array_loops import in_loops  # short programs do without
    from tapec.codegen.lifted import lifted

    graph, tree = parted(graph, tree, early=False)
    graph = lifted(in_blocks(graph, tree))
    course = course_of(graph, segments_of(tree, graph.outputs), lambda nodes: views_late(scheduled(nodes)))
    return None if course is None else in_loops(course, least)
