"""Turn a graph into a function on arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.branches.decision_tree_code import basic_blocks_of, items_of, parted, results_of
from tapec.codegen.common.block_items import items_of_path
from tapec.codegen.common.expressions import Expr, parse_template
from tapec.codegen.common.loader import Space
from tapec.codegen.common.module_constants import name_constants
from tapec.codegen.common.module_layout import Function
from tapec.codegen.common.naming import Names, name_inputs
from tapec.codegen.common.statements import Do, With
from tapec.codegen.loops.lazy import in_loops
from tapec.codegen.numpy.checked_lowering import CheckedLowering
from tapec.codegen.numpy.lazy import in_blocks, with_short_axes_moved, with_small_parts
from tapec.codegen.numpy.lowering import Lowering
from tapec.codegen.numpy.passes.flat_indices import flattened
from tapec.codegen.numpy.passes.split_broadcast_product import factored
from tapec.codegen.numpy.passes.split_roll import wrapped
from tapec.codegen.numpy.passes.split_slow_ops import expanded
from tapec.codegen.numpy.passes.sum_of_products import contracted
from tapec.codegen.numpy.passes.unpack_short_vector import unpacked
from tapec.codegen.schedule.emitted_cost import Cost, flops_of
from tapec.codegen.schedule.inlining import Plan
from tapec.codegen.schedule.order import scheduled
from tapec.codegen.schedule.ufunc_buffer_size import buffer_size
from tapec.config import settings
from tapec.ir import CONSTANT, Graph, Node, ops
from tapec.ir.checks.step_observer import StepObserver
from tapec.ir.decision_tree import Tree
from tapec.ops.indexing.getitem_and_scatter import GETITEM

__all__ = ["array_function"]

Step = tuple[str, Callable[[Graph], Graph]]


def array_function(
    graph: Graph,
    name: str,
    tree: Tree | None,
    space: Space,
    silenced: tuple[str, ...] = (),
    donated: Collection[Node] = (),
    observer: StepObserver | None = None,
) -> Function:
    """Write the function on arrays, ready to be laid out. Constants and helpers go into the namespace."""
    checked = settings.check_nan
    if checked or tree is not None:
        donated = ()
    whole = graph
    if not checked:
        graph = run_steps([*STEPS, ("broadcast products", partial(factored, donated=donated))], graph, observer)
    names = Names((name,))
    called = name_inputs(graph, names)
    params = tuple(called[i] for i in graph.inputs)
    kind, plan, items = planned(graph, tree, donated, observer)
    kept = [called[i] for i in graph.inputs if i not in plan.donated]
    names.fixed.update(kept)  # a parameter stays what it is, to the end: so it can be looked at, and passed on
    constants = name_constants(plan.nodes, names, called)
    space.constants.update(constants)
    space.names.update(constants)
    lowering = kind(plan, names, called, space)
    lowering.owned.update(plan.donated)
    body = lowering.block(items)
    size = None if checked else buffer_size(whole.nodes)
    if size is not None or silenced:
        body = with_errors(silenced, size, body)
    cost = Cost(flops_of(whole), lowering.moved, lowering.peak)
    return Function(name, params, body, constants, cost, tuple([called[i] for i in graph.inputs if i in plan.donated]))


def with_flat_places(graph: Graph) -> Graph:
    """Compute places that several index arrays name only once."""
    if not any([len(n.inputs) > 2 and n.op.kind == "indexing" for n in graph.nodes]):
        return graph
    return flattened(graph)


def with_rolled_summands(graph: Graph) -> Graph:
    """Add rolled arrays in two parts."""
    if not any([n.op is ops.roll for n in graph.nodes]):
        return graph
    return wrapped(graph)


STEPS: tuple[Step, ...] = (
    ("short axes", with_short_axes_moved),
    ("flat places", with_flat_places),
    ("sums of products", contracted),
    ("rolled summands", with_rolled_summands),
    ("slow operations", expanded),
)
SMALL_PARTS: Step = ("small parts", with_small_parts)


def run_steps(steps: Sequence[Step], graph: Graph, observer: StepObserver | None) -> Graph:
    """Return the graph after these steps; `observer` runs each of them."""
    for name, run in steps:
        graph = run(graph) if observer is None else observer.step(name, run, graph)
    return graph


def planned(
    graph: Graph, tree: Tree | None, donated: Collection[Node] = (), observer: StepObserver | None = None
) -> tuple[type[Lowering], Plan, list[Any]]:
    """Return the lowering that writes a program, its plan, and its items; loops have a lowering of their own."""
    checked = settings.check_nan
    if tree is not None:
        return planned_with_tests(graph, tree, checked, observer)
    order: Step = ("order", partial(in_order, donated=donated))
    graph = run_steps([order] if checked else [("blocks", in_blocks), order, SMALL_PARTS], graph, observer)
    try_loops = not checked and (observer is None or observer.allows("loops"))
    looped = with_loops(graph) if try_loops else None
    if looped is not None:
        return looped
    if not checked and sum([n.op is GETITEM and not n.type.shape for n in graph.nodes]) >= tuning.UNPACKED_MIN_READS:
        graph = run_steps([("short vectors", unpacked)], graph, observer)
    plan = Plan(graph.nodes, graph.outputs, nesting=not checked, donated=donated)
    return lowering_for(checked), plan, items_of_path(graph, plan)


def in_order(graph: Graph, donated: Collection[Node]) -> Graph:
    """Return the graph with its nodes in the order in which they are written."""
    return Graph(graph.inputs, scheduled(graph.nodes, donated), graph.outputs, graph.name)


def planned_with_tests(
    graph: Graph, tree: Tree, checked: bool, observer: StepObserver | None
) -> tuple[type[Lowering], Plan, list[Any]]:
    """Return lowering, plan and items of a program whose paths depend on tests."""
    graph, tree = parted(graph, tree)
    graph = graph if checked else run_steps([("blocks", partial(in_blocks, tree=tree))], graph, observer)
    blocks = basic_blocks_of(tree, graph.outputs)
    plan = Plan(graph.nodes, results_of(blocks), nesting=not checked)
    return lowering_for(checked), plan, items_of(graph, plan, blocks)


def lowering_for(checked: bool) -> type[Lowering]:
    if not checked:
        return Lowering
    return CheckedLowering


def with_loops(graph: Graph) -> tuple[type[Lowering], Plan, list[Any]] | None:
    """Return lowering, plan and items of a program with loops; None where it is short, or has none."""
    least = tuning.ARRAY_LOOPS_MIN_SPARED_OPS
    return in_loops(graph, least) if may_spare(graph, least) else None


def may_spare(graph: Graph, least: int) -> bool:
    """Return whether loops might spare `least` operations, each of the op and the type of another one."""
    if len(graph.nodes) <= least:
        return False
    alike = Counter([(n.op, n.type) for n in graph.nodes if n.op is not CONSTANT])
    return sum([count for count in alike.values() if count > 1]) >= least


def with_errors(silenced: tuple[str, ...], size: int | None, body: list[Any]) -> list[Any]:
    """Wrap a body in `np.errstate`, which silences these errors and restores the size of buffers at the end."""
    kinds = ("all",) if len(silenced) == 4 else silenced  # NumPy knows four kinds of floating point errors
    silent = ", ".join([f"{kind}='ignore'" for kind in kinds])
    setting = Do(Expr(parse_template(f"np.setbufsize({size})", 0), ()), note="so rows are not copied to be broadcast")
    return [With(Expr(parse_template(f"np.errstate({silent})", 0), ()), [setting, *body] if size else body)]
