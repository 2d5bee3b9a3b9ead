"""Emit code: from a graph to a Python function that a person can read."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import numpy as np

from tapec.codegen import tuning
from tapec.codegen.branches.decision_tree_code import given_first, leaves_of, tests_of
from tapec.codegen.common.line_templates import condition_of
from tapec.codegen.common.module_layout import Function
from tapec.codegen.common.naming import identifier
from tapec.codegen.common.statements import If, Return
from tapec.codegen.compiled import Compiled
from tapec.codegen.floats.lazy import as_floats, as_loop
from tapec.codegen.floats.profitability import cost_of_step, numpy_costs_more, packing_cost
from tapec.codegen.kernels import with_kernels
from tapec.codegen.list_inputs import Lists, with_elements, with_lists
from tapec.codegen.numpy.array_function import array_function
from tapec.codegen.portable.lazy import portable
from tapec.codegen.target import Job, Lowered, Target, register_target, target_of
from tapec.config import settings
from tapec.errors import UnsupportedError, VerifyError
from tapec.ir import CONSTANT, Graph, Node, OpSet
from tapec.ir.bare_graph import all_nodes
from tapec.ir.checks.step_observer import StepObserver
from tapec.ir.cost import elements
from tapec.ir.decision_tree import Tree
from tapec.ir.op import wrong_bodies, wrong_params

__all__ = ["compile_graph"]

PLAIN = {np.dtype(t).char for t in (np.float64, np.int64, bool)}  # what floats, whole numbers and bools stand for

ELEMENTS = OpSet("getitem scatter setitem full add subtract")  # what may be done to long arrays all the same


def facts(graph: Graph, name: str) -> list[Any]:
    """Collect facts of a graph's ops: `imports`, the modules, or `helper`, our functions that they are written with."""
    ops = dict.fromkeys([n.op for n in all_nodes(graph.nodes)])
    return [op.facts[name] for op in ops if name in op.facts]


def check_params(graph: Graph) -> None:
    """Refuse parameters that ops do not declare: what is written into source goes through here, whoever made it."""
    for node in all_nodes(graph.nodes):
        wrong = wrong_params(node.op, node.params) or wrong_bodies(node.op, node.bodies)
        if wrong:
            raise VerifyError(f"graph {graph.name}: {node!r} {wrong}")


def small_shapes(graph: Graph) -> set[tuple[int, ...]] | None:
    """Return the shapes of all values; None unless all are small, and float64, int64, bool or Python numbers."""
    several = [n for n in graph.nodes if n.op.multi]
    if any([n.op.kind != "linalg" for n in several]):
        return None
    types = [n.type for n in (*graph.inputs, *graph.nodes) if not n.op.multi] + [t for n in several for t in n.type]
    kinds = {(t.shape, t.dtype.char, t.weak) for t in types}
    if any(dtype not in PLAIN and not weak for _, dtype, weak in kinds):
        return None
    shapes = {shape for shape, *_ in kinds if shape}
    sizes = [math.prod(shape) for shape in shapes]
    if any([not 0 < size <= tuning.FLOATS_MAX_ELEMENTS for size in sizes]) and (
        several or not 0 < min(sizes) <= max(sizes) <= tuning.FLOATS_LONG_MAX_ELEMENTS or works_on_all(graph)
    ):
        return None
    return shapes


def works_on_all(graph: Graph) -> bool:
    """Return whether a long array goes through more than a loop does that reads and writes element by element."""
    most = tuning.FLOATS_MAX_ELEMENTS
    long = [n for n in graph.nodes if any([elements(v) > most for v in (n, *n.inputs)]) and n.op is not CONSTANT]
    reads = sum([elements(n) <= tuning.FLOATS_LONG_READ_MAX_ELEMENTS for n in long])
    if (
        reads < tuning.FLOATS_LONG_MIN_READS
        or sum([elements(n) for n in long]) > tuning.FLOATS_LONG_MAX_ELEMENTS_IN_ALL
    ):
        return True
    return any([n.op.kind not in ("indexing", "layout", "creation") and n.op not in ELEMENTS for n in long])


def on_floats(graph: Graph, tree: Tree | None) -> Any:
    """Write the program on Python floats, in a loop over elements or element by element; None if it stays on arrays."""
    shapes = small_shapes(graph)
    if shapes is None:
        return None
    if tree is None and len(shapes) == 1:
        loop = as_loop(graph, shapes)
        if loop is not None:
            return loop
    cost = cost_of_step(graph, shapes)
    given: Collection[int] = range(len(graph.outputs))
    asked: Collection[int] = ()
    if tree is not None:
        given, asked = leaves_of(tree), tests_of(tree)
    if cost is None or not numpy_costs_more(graph, packing_cost(graph, given)):
        return None
    return as_floats(graph, cost, given, asked)


def guarded(function: Function, graph: Graph, guards: Sequence[tuple[Node, Any]]) -> Function:
    """Add a prologue to the function, which returns None unless these inputs are what its path relies on."""
    param = dict(zip(graph.inputs, function.params[len(function.params) - len(graph.inputs) :]))
    lines = [If(condition_of(param[i], i, value, True), [Return(None)], i.origin) for i, value in guards]
    return function._replace(body=[*lines, *function.body])


class Floats(Target):
    """Writes programs on Python floats: scalars and tiny arrays, element by element. It takes all of one or nothing."""

    name = "floats"
    takes_programs = takes_lists = True

    def lower(self, job: Job) -> Lowered | None:
        leaves = settings.check_nan or not settings.optimize
        program = None if leaves else on_floats(job.graph, job.tree)
        if program is None:
            return None
        watch = job.observer
        if watch is not None and watch.step(self.name, program.whole_graph, job.graph) is job.graph:
            return None  # it leaves this step out
        return Lowered(self.name, program.function(job.graph, job.name, job.tree, job.space))


class Numpy(Target):
    """Writes whole functions on arrays, but for what its region targets take: all of a program, or regions of it."""

    takes_lists = True

    def __init__(self, *regions: Target, name: str = "numpy"):
        self.regions, self.name = regions, name

    def lower(self, job: Job) -> Lowered:
        graph, name = job.graph, job.name
        for target in self.regions:
            whole = target.lower(job) if target.takes_programs else None
            if whole is not None:
                return whole
        for target in self.regions if job.tree is None else ():  # before a test only what all paths need is computed
            graph = with_kernels(graph, target, name, compile_graph)
        options = job.space, job.silenced, job.donated, job.observer, FLOATS in self.regions
        return Lowered("numpy", array_function(graph, name, job.tree, *options))


FLOATS, NUMPY = Floats(), Numpy()
RUNS = Numpy(FLOATS)  # what is called: on floats where that pays
register_target("numpy", lambda: NUMPY)
register_target("floats", lambda: FLOATS)
register_target("portable", portable)


def compile_graph(
    graph: Graph,
    name: str = "function",
    tree: Tree | None = None,
    silenced: tuple[str, ...] = (),
    donated: Collection[Node] = (),
    observer: StepObserver | None = None,
    target: str | Target | None = None,
    lists: Lists = (),
) -> Compiled:
    """Compile one Python function of the graph's inputs that returns the tuple of its outputs.

    With a decision tree it returns the outputs of the leaf that is reached, and None where no path is known.
    `silenced` are the kinds of floating point errors that it ignores, `donated` the inputs that the caller needs no
    more: their memory may be written. `observer` runs the steps that change the graph. Without a `target`, or the
    name of one, it is what runs: NumPy, or Python floats where that pays. Some inputs are the elements of `lists`,
    which may be parameters in their place.
    """
    name = identifier(name)
    check_params(graph)
    compiled = Compiled(graph, name)
    space, layout = compiled.space, compiled._layout
    for module in facts(graph, "imports"):
        space.names[module.partition(".")[0]] = __import__(module)
    for helper in facts(graph, "helper"):
        space.helper(helper.__name__, helper)
    guards: list[tuple[Node, Any]] = []
    on_arrays = partial(compile_graph, graph, name, tree, silenced, target="numpy", lists=lists)
    writer = RUNS if target is None else target_of(target) if isinstance(target, str) else target
    if writer.takes_lists:
        graph, compiled.lists = with_lists(graph, lists)
    if tree is not None:
        guards, graph, tree = given_first(graph, tree)
        space.given = {i.name: value for i, value in guards if i.name is not None and type(value) is int}
    if compiled.lists and tree is None:
        graph = with_elements(graph)
    lowered = writer.lower(Job(graph, name, space, tree, silenced, donated, observer))
    if lowered is None:
        raise UnsupportedError(f"{name} cannot be written for the target {writer.name}: it takes no such programs")
    function = lowered.function
    for tree_of in layout.add(guarded(function, graph, guards) if guards else function, lowered.target):
        space.define(tree_of)
    compiled.target = lowered.target
    compiled.leading = function.params[: len(function.params) - len(graph.inputs)]
    compiled.cost = layout.cost
    compiled.complete(function.errors, on_arrays, writer.load)
    return compiled
