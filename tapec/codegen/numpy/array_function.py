"""Turn a graph into a function on arrays."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tapec.codegen.branches.decision_tree_code import basic_blocks_of, items_of, results_of
from tapec.codegen.common.block_items import is_block_loop, items_of_path
from tapec.codegen.common.expressions import Expr, parse_template
from tapec.codegen.common.loader import Space
from tapec.codegen.common.module_constants import name_constants
from tapec.codegen.common.module_layout import Function
from tapec.codegen.common.named_numbers import with_numbers_named
from tapec.codegen.common.naming import Names, name_inputs
from tapec.codegen.common.statements import With
from tapec.codegen.numpy.lowering import Lowering
from tapec.codegen.numpy.pipeline import Program, prepare
from tapec.codegen.numpy.shape_texts import Shapes
from tapec.codegen.schedule.buffers import Buffers
from tapec.codegen.schedule.emitted_cost import Cost, flops_of
from tapec.codegen.schedule.inlining import Plan
from tapec.config import settings
from tapec.ir import Graph, Node
from tapec.ir.bare_graph import all_nodes
from tapec.ir.checks.step_observer import StepObserver
from tapec.ir.decision_tree import Tree
from tapec.progress import at

__all__ = ["array_function"]


def array_function(
    graph: Graph,
    name: str,
    tree: Tree | None,
    space: Space,
    silenced: tuple[str, ...] = (),
    donated: Collection[Node] = (),
    observer: StepObserver | None = None,
    floats: bool = False,
) -> Function:
    """Write the function on arrays, ready to be laid out. Constants and helpers go into the namespace."""
    checked = settings.check_nan
    if checked or tree is not None:
        donated = ()
    whole, program = graph, Program(tree, donated, floats)
    graph = prepare(graph, program, observer=observer)
    at("writing code", len(graph.nodes))
    names = Names((name,))
    called = name_inputs(graph, names)
    params = tuple(called[i] for i in graph.inputs)
    plan, items = planned(graph, program)
    kept = [called[i] for i in graph.inputs if i not in plan.donated]
    names.fixed.update(kept)  # a parameter stays what it is, to the end: so it can be looked at, and passed on
    arrays = [i for i in graph.inputs if i not in plan.donated and i.type.shape and not i.type.weak]
    space.arguments = {} if checked else {i.name: (called[i], i.type) for i in arrays if i.name is not None}
    space.given = {i.name: space.given[i.name] for i in graph.inputs if i.name in space.given and called[i] == i.name}
    space.shapes = Shapes(graph, {} if checked else {i: called[i] for i in arrays if i.name is not None})
    functions: dict[tuple[str, Graph], Function] = {}
    for each in program.functions:  # of equal ones, as in the bodies of two loops, one is enough
        if (each.name, each) not in functions:
            functions[each.name, each] = called_function(each, names.fix(each.name), space, program.forms)
        space.called[id(each)] = functions[each.name, each]
    constants = name_constants(all_nodes(plan.nodes, is_block_loop), names, called)
    space.constants.update(constants)
    space.names.update(constants)
    lowering = Lowering(Buffers(plan, names, called), space)
    body = with_numbers_named(lowering.block(items), params, space)
    if silenced:
        body = with_errors(silenced, body)
    cost = Cost(flops_of(whole), lowering.memory.use.moved, lowering.memory.use.peak)
    donations = tuple([called[i] for i in graph.inputs if i in plan.donated])
    made = tuple(functions.values())
    return Function(name, params, body, constants, cost, donations, program.errors, before=made)


def called_function(graph: Graph, name: str, space: Space, forms: Collection[str]) -> Function:
    """Write a function that another one calls: it leaves its arguments as they are, and returns arrays of its own."""
    names = Names((name,))
    called = name_inputs(graph, names)
    names.fixed.update(called.values())
    plan = Plan(graph.nodes, graph.outputs, forms=forms)
    shapes, arguments, given = space.shapes, space.arguments, space.given
    space.shapes, space.arguments, space.given = Shapes(graph, {}), {}, {}
    lowering = Lowering(Buffers(plan, names, called), space)
    lines = lowering.block(items_of_path(graph, plan))
    space.shapes, space.arguments, space.given = shapes, arguments, given
    last: Any = lines.pop()
    whole = last.values if len(last.values) > 1 else Expr(parse_template("_0", 1), last.values)
    cost = Cost(flops_of(graph), lowering.memory.use.moved, lowering.memory.use.peak)
    return Function(name, tuple([called[i] for i in graph.inputs]), [*lines, last._replace(values=whole)], {}, cost)


def planned(graph: Graph, program: Program) -> tuple[Plan, list[Any]]:
    """Return the plan and the items of a program."""
    checked = settings.check_nan
    if program.tree is not None:
        blocks = basic_blocks_of(program.tree, graph.outputs)
        plan = Plan(graph.nodes, results_of(blocks), checked=checked, forms=program.forms)
        return plan, items_of(graph, plan, blocks)
    plan = Plan(graph.nodes, graph.outputs, checked=checked, donated=program.donated, forms=program.forms)
    return plan, items_of_path(graph, plan)


def with_errors(silenced: tuple[str, ...], body: list[Any]) -> list[Any]:
    """Wrap a body in `np.errstate`, which silences these errors."""
    kinds = ("all",) if len(silenced) == 4 else silenced  # NumPy knows four kinds of floating point errors
    silent = ", ".join([f"{kind}='ignore'" for kind in kinds])
    return [With(Expr(parse_template(f"np.errstate({silent})", 0), ()), body)]
