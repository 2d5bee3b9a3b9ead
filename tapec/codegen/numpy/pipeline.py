"""The pipeline of NumPy as a target: passes on the graph, in one tuple, which prepare it for NumPy's functions.

They come after the passes of `tapec.passes.pipeline`, which are the same for all targets, and are run as these are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.branches.decision_tree_code import parted
from tapec.codegen.floats.lazy import on_floats
from tapec.codegen.numpy.lazy import (
    in_blocks,
    name_inputs_of_bodies,
    with_helpers,
    with_short_axes_moved,
    with_small_parts,
)
from tapec.codegen.numpy.passes.add_to_parts import with_parts_added
from tapec.codegen.numpy.passes.flat_indices import flattened
from tapec.codegen.numpy.passes.remake_constants import remade
from tapec.codegen.numpy.passes.split_broadcast_product import factored
from tapec.codegen.numpy.passes.split_roll import wrapped
from tapec.codegen.numpy.passes.split_slow_ops import expanded
from tapec.codegen.numpy.passes.sum_of_products import contracted
from tapec.codegen.numpy.passes.unpack_short_vector import unpacked
from tapec.codegen.numpy.what_pays import forms_that_pay
from tapec.codegen.schedule.order import scheduled
from tapec.config import settings
from tapec.ir import Graph, Node, ops, prune
from tapec.ir.checks.step_observer import StepObserver
from tapec.ir.decision_tree import Tree
from tapec.ops.control.loop import LOOP, operands_of
from tapec.ops.indexing.getitem_and_scatter import GETITEM
from tapec.passes.listed_pass import Pass, in_force, named, run_all
from tapec.passes.pass_report import Report

__all__ = ["PIPELINE", "Program", "prepare", "run_passes"]


class Program:
    """Holds what passes of this target know of a program besides its graph, and what they find.

    `donated` are the inputs whose memory may be written, `tree` the decision tree over the graph's outputs. `forms` are
    forms of operations, less plain ones, that pay in the whole program; `functions` are bodies of calls that become
    functions, and `names` those that values have in them, by the code of the user's.
    """

    def __init__(self, tree: Tree | None = None, donated: Collection[Node] = (), floats: bool = False):
        self.tree = tree
        self.donated = donated
        self.forms: Collection[str] = ()
        self.functions: Sequence[Graph] = ()
        self.names: dict[Any, Any] = {}
        self.floats = floats
        self.errors: tuple[type[Exception], ...] = ()


def bodies(graph: Graph, _: Program) -> Graph:
    """Prepare bodies by those of these passes that only rewrite a graph."""
    return with_bodies(graph, lambda body: run_passes(body, IN_BODIES))


def with_bodies(graph: Graph, change: Callable[[Graph], Graph]) -> Graph:
    """Return the graph with what `change` makes of the bodies that are written where they are run."""
    new: dict[Node, Node] = {}
    for node in graph.nodes:
        if node.bodies and node.op.kind in ("body", "call"):
            made = node.with_inputs(tuple([new.get(i, i) for i in node.inputs]))
            made.bodies = tuple([change(body) for body in node.bodies])
            new[node] = made
        elif new and not new.keys().isdisjoint(node.inputs):
            new[node] = node.with_inputs(tuple([new.get(i, i) for i in node.inputs]))
    if not new:
        return graph
    nodes, outputs = [new.get(n, n) for n in graph.nodes], [new.get(o, o) for o in graph.outputs]
    return Graph(graph.inputs, nodes, outputs, graph.name)


def short_axes(graph: Graph, _: Program) -> Graph:
    """Move a short last axis before a longer one."""
    return with_short_axes_moved(graph)


def flat_places(graph: Graph, _: Program) -> Graph:
    """Compute places that several index arrays name only once."""
    if not any([len(n.inputs) > 2 and n.op.kind == "indexing" for n in graph.nodes]):
        return graph
    return flattened(graph)


def sums_of_products(graph: Graph, _: Program) -> Graph:
    """Sum products without making the products."""
    return contracted(graph)


def rolled_summands(graph: Graph, _: Program) -> Graph:
    """Add rolled arrays in two parts."""
    if not any([n.op is ops.roll for n in graph.nodes]):
        return graph
    return wrapped(graph)


def slow_operations(graph: Graph, _: Program) -> Graph:
    """Take large operations that have no fast loop in NumPy apart."""
    return expanded(graph)


def broadcast_products(graph: Graph, program: Program) -> Graph:
    """Multiply by a product of small arrays factor by factor."""
    return factored(graph, program.donated)


def unread(graph: Graph, _: Program) -> Graph:
    """Drop what the passes before have left without a reader."""
    return prune(graph)


def forms(graph: Graph, program: Program) -> Graph:
    """Choose faster forms of operations that are less plain, where they pay. The graph stays as it is."""
    program.forms = forms_that_pay(graph.nodes)
    return graph


def paths(graph: Graph, program: Program) -> Graph:
    """Give each path below a test nodes of its own: nothing is computed before a test that need not be."""
    if program.tree is None:
        return graph
    graph, program.tree = parted(graph, program.tree)
    return graph


def blocks(graph: Graph, program: Program) -> Graph:
    """Compute large arrays block by block of their rows."""
    return in_blocks(graph, program.tree)


def constants(graph: Graph, program: Program) -> Graph:
    """Make identity matrices and ranges as large as an argument is, in place of constants."""
    return graph if program.tree is not None else remade(graph)


def order(graph: Graph, program: Program) -> Graph:
    """Order operations so that few large arrays live at one time."""
    if program.tree is not None:
        return graph
    return Graph(graph.inputs, scheduled(graph.nodes, program.donated), graph.outputs, graph.name)


def small_parts(graph: Graph, program: Program) -> Graph:
    """Copy small parts of large arrays, so that the rest is freed."""
    return graph if program.tree is not None else with_small_parts(graph)


def helpers(graph: Graph, program: Program) -> Graph:
    """Keep helpers of the user's that are called several times as functions, with derivatives beside them."""
    if program.tree is not None:
        return graph

    def in_body(body: Graph) -> Graph:
        name_inputs_of_bodies(graph, program.names)
        return helpers(body, program)

    whole = with_bodies(graph, in_body)
    graph, found = with_helpers(whole, program.names)
    program.functions = [*program.functions, *found]
    return graph


def float_loops(graph: Graph, program: Program) -> Graph:
    """Compute loops over a few numbers with Python's floats; each loop has arrays of its own to start with."""
    if not any([n.op is LOOP for n in graph.nodes]):
        return graph
    graph = with_starts(graph)
    if program.floats and not program.donated:
        graph, program.errors = on_floats(graph)
    return graph


def with_starts(graph: Graph) -> Graph:
    """Give each loop new arrays to start with, where it starts with one number everywhere."""
    nodes: list[Node] = []
    new: dict[Node, Node] = {}
    for node in graph.nodes:
        inputs = [new.get(i, i) for i in node.inputs]
        if node.op is LOOP:
            of = operands_of(inputs, **dict(node.given))
            first = len(of.turns) + len(of.constants)
            for k, x in enumerate(of.carried, first):
                if x.op is ops.full:
                    inputs[k] = Node(x.op, (), x.params, x.type, x.origin, None, x.role)
                    nodes.append(inputs[k])
        if tuple(inputs) != node.inputs:
            new[node] = node.with_inputs(tuple(inputs))
        nodes.append(new.get(node, node))
    return prune(Graph(graph.inputs, nodes, [new.get(o, o) for o in graph.outputs], graph.name))


def short_vectors(graph: Graph, program: Program) -> Graph:
    """Read the numbers of a short vector as Python's, all at once."""
    if program.tree is not None:
        return graph
    if sum([n.op is GETITEM and not n.type.shape for n in graph.nodes]) < tuning.UNPACKED_MIN_READS:
        return graph
    return unpacked(graph)


def updates(graph: Graph, _: Program) -> Graph:
    """Add to parts of arrays where these are written with something added."""
    if not any([n.op is ops.setitem or n.op is LOOP for n in graph.nodes]):
        return graph
    return with_parts_added(graph)


PIPELINE: tuple[Pass, ...] = (
    Pass("bodies", bodies),
    Pass("short-axes", short_axes),
    Pass("flat-places", flat_places),
    Pass("sums-of-products", sums_of_products),
    Pass("rolled-summands", rolled_summands),
    Pass("slow-operations", slow_operations),
    Pass("broadcast-products", broadcast_products),
    Pass("forms", forms),
    Pass("paths", paths, is_needed=True),
    Pass("blocks", blocks),
    Pass("constants", constants),
    Pass("order", order),
    Pass("unread", unread),
    Pass("small-parts", small_parts),
    Pass("float-loops", float_loops),
    Pass("helpers", helpers),
    Pass("short-vectors", short_vectors),
    Pass("updates", updates),
)

IN_BODIES = "bodies", "flat-places", "sums-of-products", "rolled-summands", "slow-operations", "order", "unread"


def prepare(
    graph: Graph, program: Program, report: Report | None = None, observer: StepObserver | None = None
) -> Graph:
    """Return the graph from which code is written; what else there is to know of it stands in `program`.

    With `check_nan` code does what the graph says, operation by operation: only passes that are needed run.
    """
    passes = [p for p in PIPELINE if p.is_needed] if settings.check_nan else in_force(PIPELINE)
    return run_all(passes, graph, report, observer, (program,))


def run_passes(graph: Graph, names: Iterable[str]) -> Graph:
    """Return the graph after the passes of these names, in this order; raise KeyError for a name that is no pass."""
    return run_all(named(PIPELINE, names), graph, about=(Program(),))
