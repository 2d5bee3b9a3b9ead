"""A graph as a function on arrays."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any

from tapec.codegen.asked import alone, course_of, may_repeat
from tapec.codegen.axes import short_axes_moved
from tapec.codegen.blocks import in_blocks
from tapec.codegen.branches import NO_RESTS, Rests, Segment, items_of, parted, results_of, segments_of
from tapec.codegen.constants import name_constants
from tapec.codegen.contract import contracted
from tapec.codegen.cost import Cost, flops_of
from tapec.codegen.expand import expanded
from tapec.codegen.expressions import Expr, parse_template
from tapec.codegen.items import Rest, Results
from tapec.codegen.load import Space
from tapec.codegen.lower import Lowering
from tapec.codegen.module import Function
from tapec.codegen.names import Names, identifier
from tapec.codegen.plan import Plan
from tapec.codegen.rests import rests_in, rests_of
from tapec.codegen.schedule import scheduled, views_late
from tapec.codegen.spread import factored
from tapec.codegen.statements import Do, With
from tapec.codegen.strides import buffer_size
from tapec.config import settings
from tapec.ir import CONSTANT, ITEM, Graph, Node
from tapec.ir.origin import variable_for
from tapec.ir.tree import Tree

__all__ = ["array_function", "items_for", "name_inputs", "read_at_ends"]

LEAST = 40  # operations that loops must spare: fewer are as easily read as a loop


def array_function(graph: Graph, name: str, tree: Tree | None, space: Space, quiet: tuple[str, ...] = ()) -> Function:
    """The function on arrays, ready to be laid out. Constants and helpers go into the namespace."""
    checked = settings.check_nan
    whole = graph
    if not checked:
        graph = factored(expanded(contracted(short_axes_moved(graph))))
    names = Names((name,))
    called = name_inputs(graph, names)
    params = tuple(called[i] for i in graph.inputs)
    names.fixed.update(params)  # a parameter stays what it is, to the end: so it can be looked at, and passed on
    kind, plan, items, rests = planned(graph, tree)
    known = dict.fromkeys(chain(plan.nodes, *[rest.plan.nodes for rest in rests]))
    constants = name_constants(known, names, called)
    space.constants.update(constants)
    space.names.update(constants)
    lowering = kind(plan, names, called, space)
    body = lowering.block(items)
    size = None if checked else buffer_size(whole.nodes)
    if size is not None or quiet:
        body = with_errors(quiet, size, body)
    return Function(name, params, body, constants, Cost(flops_of(whole), lowering.moved, lowering.peak))


def planned(graph: Graph, tree: Tree | None) -> tuple[type[Lowering], Plan, list[Any], Collection[Rest]]:
    """What makes statements of a program, by which plan, and from what: from its loops, where it has some. The last are
    the programs in which its paths end that have loops."""
    checked = settings.check_nan
    looped = None if checked or tree is None else across_tests(graph, tree)
    if looped is not None:
        return *looped, list(rests_in(looped[2]))
    graph, tree = in_segments(graph, tree, blocks=not checked)
    looped = None if checked or tree is not None else with_loops(graph)
    if looped is not None:
        return *looped, ()
    segments = None if tree is None else segments_of(tree, graph.outputs)
    ends = lambda g: with_loops(Graph(g.inputs, scheduled(g.nodes), g.outputs, g.name))
    rests = {} if checked or segments is None else rests_of(graph, segments, LEAST, ends)
    plan = Plan(graph.nodes, read_at_ends(graph, segments, rests), nesting=not checked)
    return _lowering(checked), plan, items_for(plan, graph, segments, rests), rests.values()


def _lowering(checked: bool) -> type[Lowering]:
    if not checked:
        return Lowering
    from tapec.codegen.checked import CheckedLowering

    return CheckedLowering


def in_segments(graph: Graph, tree: Tree | None, blocks: bool) -> tuple[Graph, Tree | None]:
    """The program with operations of its own for each stretch between tests, and loops over blocks in these."""
    if tree is not None:
        graph, tree = parted(graph, tree)
    if blocks:
        graph = in_blocks(graph, tree)
    if tree is None:
        graph = Graph(graph.inputs, scheduled(graph.nodes), graph.outputs, graph.name)
    return graph, tree


def with_loops(graph: Graph) -> tuple[type[Lowering], Plan, list[Any]] | None:
    """The same of a program on one path; None where it is short, or has no loops."""
    if len(graph.nodes) <= LEAST:
        return None
    from tapec.codegen.array_loops import in_loops  # short programs do without
    from tapec.codegen.lifted import lifted

    return in_loops(alone(lifted(graph)), LEAST)


def across_tests(graph: Graph, tree: Tree) -> tuple[type[Lowering], Plan, list[Any]] | None:
    """The same of a program whose loops go across its tests; None where there are none."""
    if len(graph.nodes) <= LEAST or not may_repeat(tree):
        return None
    from tapec.codegen.array_loops import in_loops
    from tapec.codegen.lifted import lifted

    graph, tree = parted(graph, tree, early=False)
    graph = lifted(in_blocks(graph, tree))
    course = course_of(graph, segments_of(tree, graph.outputs), lambda nodes: views_late(scheduled(nodes)))
    return None if course is None else in_loops(course, LEAST)


def with_errors(quiet: tuple[str, ...], size: int | None, body: list[Any]) -> list[Any]:
    """The same without a word about these kinds of errors, and with buffers of another size, until its end."""
    kinds = ("all",) if len(quiet) == 4 else quiet  # NumPy knows four
    silent = ", ".join([f"{kind}='ignore'" for kind in kinds])
    setting = Do(Expr(parse_template(f"np.setbufsize({size})", 0), ()), note="so rows are not copied to be broadcast")
    return [With(Expr(parse_template(f"np.errstate({silent})", 0), ()), [setting, *body] if size else body)]


def read_at_ends(graph: Graph, segments: list[Segment] | None, rests: Rests = NO_RESTS) -> Sequence[Node]:
    """What returns and branches read, as often as they do; `segments` are those of a decision tree, if there is one."""
    return graph.outputs if segments is None else results_of(segments, rests)


def items_for(plan: Plan, graph: Graph, segments: list[Segment] | None, rests: Rests = NO_RESTS) -> list[Any]:
    """What is to be lowered, in order."""
    if segments is not None:
        return items_of(graph, plan, segments, rests)
    results = Results(graph.outputs, plan.nest_results(graph.outputs))
    items = [n for n in plan.nodes if n not in plan.nested and n.op is not CONSTANT and n.op is not ITEM]
    return [*items, results]


def name_inputs(graph: Graph, names: Names) -> dict[Node, str]:
    """Inputs keep their names; a recorded value is called as the user called it. Others come after these."""
    wishes = {node: variable_for(node) or node.name for node in graph.inputs}
    called = {node: names.take(identifier(wish)) for node, wish in wishes.items() if wish}
    called |= {node: names.take("x" if node.origin is None else "t") for node, wish in wishes.items() if not wish}
    return {node: called[node] for node in graph.inputs}
