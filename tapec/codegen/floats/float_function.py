"""Turn programs on scalars and tiny arrays into plain Python floats: unpack, arithmetic, `math.*`, pack.

A whole program is turned, when every value in it is small, float64 and known element by element, and when it pays. A
program that mostly computes many elements at once stays with NumPy; loops over `x[i]` may take apart larger arrays.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from tapec.codegen import tuning
from tapec.codegen.branches.decision_tree_code import basic_blocks_of, items_of, parted, results_of
from tapec.codegen.common.block_items import items_of_path
from tapec.codegen.common.block_lowering import BlockLowering
from tapec.codegen.common.expressions import Expr, parse_template
from tapec.codegen.common.line_templates import TO_PYTHON, few_numbers_of
from tapec.codegen.common.loader import Space
from tapec.codegen.common.made_names import wished_name
from tapec.codegen.common.module_layout import Function
from tapec.codegen.common.named_numbers import with_numbers_named
from tapec.codegen.common.naming import Names, element_names, identifier, is_by_rows, name_inputs
from tapec.codegen.common.statements import Assign
from tapec.codegen.floats.elementwise_expansion import MOVES, ON_NUMBERS, rule_of, tell_derivatives
from tapec.codegen.floats.float_plan import FloatPlan
from tapec.codegen.floats.matrix_islands import KINDS, Islands, least_cost, multiplies_matrix
from tapec.codegen.floats.packing import COPY, NUMBER_OF, PACK, packing
from tapec.codegen.floats.profitability import numpy_costs_more, packing_cost
from tapec.codegen.floats.scalar_ops import FLOAT, PYTHON_POWER, Elements, element_type, is_elementwise, spelled
from tapec.codegen.numpy.target_ops import UNPACK
from tapec.codegen.schedule.emitted_cost import Cost, bytes_of
from tapec.codegen.schedule.inlining import inner_nodes
from tapec.codegen.schedule.lifetimes import Lifetimes
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, INPUT, ITEM, Graph, Node, by_python, input_node, ops, prune
from tapec.ir.decision_tree import Tree
from tapec.ir.flops import flops
from tapec.ir.source_location import variable_for
from tapec.ir.types import Type

if TYPE_CHECKING:
    from tapec.codegen.branches.decision_tree_code import BasicBlock

__all__ = ["FloatProgram", "as_floats", "float_function", "function_of", "to_python"]


class FloatProgram(NamedTuple):
    """A float program does on floats what a graph does on arrays.

    `inputs` has, for each input of the original, the nodes of its elements, None for those that nothing reads; `tests`
    the element of each output, to branch on; `errors` has what the code may raise where NumPy would not.
    """

    graph: Graph
    inputs: tuple[tuple[Node | None, ...], ...]
    tests: tuple[Node, ...]
    errors: tuple[type[Exception], ...]

    def function(self, graph: Graph, name: str, tree: Tree | None, space: Space) -> Function:
        return float_function(self, graph, name, tree, space)

    def whole_graph(self, graph: Graph) -> Graph:
        """Return the program as a graph of the inputs of the original, which takes them apart first.

        It has no outputs that no path gives or asks for.
        """
        nodes: list[Node] = []
        new: dict[Node, Node] = {}
        for i, group in zip(graph.inputs, self.inputs):
            if i.type.weak and group[0] is not None:
                new[group[0]] = i
            elif not i.type.shape and group[0] is not None:
                nodes.append(Node(NUMBER_OF, (i,), (), group[0].type, i.origin, group[0].name or None, group[0].role))
                new[group[0]] = nodes[-1]
            elif any(group):
                whole = Node(UNPACK, (i,), (), (element_type(i.type),) * i.type.size, i.origin)
                nodes.append(whole)
                for k, e in enumerate(group):
                    if e is not None:
                        nodes.append(Node(ITEM, (whole,), (("index", k),), e.type, None, e.name or None, e.role))
                        new[e] = nodes[-1]
        for node in self.graph.nodes:
            inputs = tuple([new.get(i, i) for i in node.inputs])
            made = new[node] = node.with_inputs(inputs)
            made.name = node.name or None
            nodes.append(made)
        outputs = [new.get(o, o) for o in self.graph.outputs if o.op is not INPUT or o in new]
        return prune(Graph(graph.inputs, nodes, outputs, graph.name))


def as_floats(graph: Graph, cost: float, given: Collection[int], asked: Collection[int]) -> FloatProgram | None:
    """Return the program on floats, each step of it at this cost, or None where it would not pay.

    `given` are the indices of the outputs that are returned, `asked` those of tests.
    """
    packing = sum([least_cost(n) for n in graph.nodes if n.op.kind in KINDS])
    least = packing + tuning.LEAST_FLOAT_COST * sum(map(flops, graph.nodes)) if packing else 0.0
    if packing and not numpy_costs_more(graph, tuning.PACKING_MIN_SPEEDUP * least):
        return None
    made = Elements()
    islands = Islands(made)
    elements: dict[Node, list[Any]] = {
        i: [input_node("", element_type(i.type)) for _ in range(i.type.size)] for i in graph.inputs
    }
    for node in graph.nodes:
        before = len(made.nodes)
        found = _values(made, node, elements, islands)
        if found is None or len(made.nodes) - before > tuning.EXPANDED_MAX_OPS:
            return None
        tell_derivatives(node, found)
        elements[node] = found
    tests = tuple([_node(made, elements[o][0]) for o in graph.outputs])
    whole = {tuple(elements[i]): i for i in graph.inputs if i.type.shape}
    outputs = [_packed(made, o, elements[o], whole) if k in given else tests[k] for k, o in enumerate(graph.outputs)]
    packs = list(dict.fromkeys(outputs[k] for k in sorted(given)))
    nodes = [*made.nodes, *packs]
    total = cost * sum([n.op.kind == "float" for n in nodes]) + islands.cost + packing_cost(graph, given)
    if not numpy_costs_more(graph, tuning.PACKING_MIN_SPEEDUP * total if islands.cost else total):
        return None
    _name_elements(graph, elements)
    literals = [n for n in made.known.values() if n.op is CONSTANT]
    leaves = set(chain.from_iterable([elements[i] for i in graph.inputs]))
    read = leaves.intersection([tests[k] for k in asked])
    read |= leaves.intersection(chain.from_iterable([n.inputs for n in nodes]))
    inputs = tuple([tuple([e if e in read else None for e in elements[i]]) for i in graph.inputs])
    flat = [e for group in inputs for e in group if e is not None]
    return FloatProgram(Graph(flat, [*literals, *nodes], outputs, graph.name), inputs, tests, made.raised)


def _values(made: Elements, node: Node, elements: dict[Node, list[Any]], islands: Islands) -> list[Any] | None:
    """Return the elements of a node; None where it cannot be computed on floats."""
    op, t, inputs = node.op, node.type, node.inputs
    if is_elementwise(op) and not t.shape and t.dtype.kind == "f":  # the most frequent case, mostly of two operands
        made.origin, made.role = node.origin, node.role
        if op is ops.power and by_python(node):
            return [made.make(PYTHON_POWER, FLOAT, elements[inputs[0]][0], elements[inputs[1]][0])]
        if len(inputs) == 2:
            return [made.apply(op, elements[inputs[0]][0], elements[inputs[1]][0])]
        return [made.apply(op, *[elements[i][0] for i in inputs])]
    rule = None if node.op.kind == "product" and multiplies_matrix(node) else rule_of(op)
    if rule is None and node.op is not CONSTANT:
        made.origin, made.role = node.origin, node.role
        return islands.values(node, elements)
    kind = node.type.dtype.kind
    if node.op is CONSTANT and kind != "c":
        return [made.literal(node)] if not node.type.shape else np.asarray(node.value).ravel().tolist()
    if rule is None or kind not in "fbi":
        return None
    if kind == "b" and (op in ON_NUMBERS or any([i.type.dtype.kind == "c" for i in node.inputs])):
        return None  # NumPy does something else for sums of bools, and `math` takes no complex
    if kind == "i" and op not in MOVES:
        return None  # Python's integers do not overflow, NumPy's do
    made.origin, made.role = node.origin, node.role
    return rule(made, node, [elements[i] for i in node.inputs])


def _node(made: Elements, element: Any) -> Node:
    return element if isinstance(element, Node) else made.number(spelled(element))


# ---------------------------------------------------------------------------------------------------------------
# names, packing, unpacking
# ---------------------------------------------------------------------------------------------------------------
def _name_elements(graph: Graph, elements: dict[Node, list[Any]]) -> None:
    """Name elements after the arrays they belong to, or as the user called them: `h`, `y0`, `y1`, `d_prey`."""
    inner = inner_nodes(graph.nodes)
    own = {f"d_{variable_for(i) or i.name}": elements[i] for i in graph.inputs}
    for node in graph.nodes:
        wish = None if node in inner or node.op is CONSTANT else wished_name(node)
        if wish:
            names = element_names(wish, node.type)
            for name, e, source in zip(names, elements[node], own.get(wish, names)):
                if isinstance(e, Node) and e.name == "" and (node.role is None or e.op is not INPUT):
                    e.name = f"d_{source.name}" if isinstance(source, Node) and source.name else name


def _packed(made: Elements, output: Node, values: list[Any], whole: dict[Any, Node]) -> Node:
    """Pack elements into an array, or a NumPy scalar; into a copy of an input where they are just its elements."""
    t = output.type
    same = whole.get(tuple(values))
    if same is not None and same.type == t:
        return Node(COPY, (same,), (), t, output.origin, output.name, output.role)
    inputs = tuple([_node(made, v) for v in values])
    name = output.name if t.shape else None
    return Node(PACK, inputs, packing(t), Type(t.shape, t.dtype), output.origin, name, output.role)


def float_function(program: FloatProgram, graph: Graph, name: str, tree: Tree | None, space: Space) -> Function:
    """Write the function on floats."""
    names = Names((name,))
    params = tuple(name_inputs(graph, names).values())
    names.fixed.update(params)
    called: dict[Node, str] = dict(zip(graph.inputs, params))  # for inputs that are returned as they are
    body = unpack(program, graph, params, names, called)
    plan, items, blocks = planned(program, tree)
    body += BlockLowering(Lifetimes(plan, names, called), space).block(items)
    body = with_numbers_named(body, params, space)
    return function_of(graph, name, params, body, len(program.graph.nodes), program.errors, blocks)


def planned(program: FloatProgram, tree: Tree | None) -> tuple[FloatPlan, list[Any], list[BasicBlock] | None]:
    """Return the plan and the items of a program, and the basic blocks of its tree."""
    graph = program.graph
    if tree is None:
        plan = FloatPlan(graph.nodes, graph.outputs)
        return plan, items_of_path(graph, plan), None
    graph, tree = parted(graph, tree, program.tests)
    blocks = basic_blocks_of(tree, graph.outputs)
    plan = FloatPlan(graph.nodes, results_of(blocks))
    return plan, items_of(graph, plan, blocks), blocks


def function_of(
    graph: Graph,
    name: str,
    params: tuple[str, ...],
    body: list[Any],
    flops: int,
    errors: tuple[type[Exception], ...],
    blocks: Sequence[BasicBlock] | None = None,
) -> Function:
    """Make the function of a body, which may raise these errors."""
    ends = [graph.outputs] if blocks is None else [b.read for b in blocks if b.test is None]
    results = [bytes_of(end) for end in ends]
    cost = Cost(flops, bytes_of(graph.inputs) + sum(results), max(results))
    return Function(name, params, body, cost=cost, errors=errors)


def to_python(node: Node, param: str) -> Assign:
    """Write `x = float(x)`."""
    return Assign(param, Expr(TO_PYTHON[node.type.dtype.kind], (param,)))


def _is_scalar(node: Node) -> bool:
    return not node.type.shape and not node.type.weak


def unpack(
    program: FloatProgram, graph: Graph, params: Sequence[str], names: Names, called: dict[Node, str]
) -> list[Any]:
    """Write the first lines, which turn arrays into floats. Python numbers need none."""
    lines: list[Any] = []
    for node, param, group in zip(graph.inputs, params, program.inputs, strict=True):
        if not any(group):
            continue
        if not node.type.shape:
            called[group[0]] = param  # type: ignore[index]
            if _is_scalar(node):
                lines.append(to_python(node, param))
            continue
        targets = []
        for e, wish in zip(group, element_names(param, node.type)):
            targets.append("_" if e is None else names.fix(identifier(e.name or wish)))
            if e is not None:
                called[e] = targets[-1]
        few = few_numbers_of(targets, param, node.type, None)
        if few is not None:
            lines.append(few)
            continue
        text = "_0.tolist()" if node.type.ndim == 1 or is_by_rows(node.type) else "_0.ravel().tolist()"
        lines.append(Assign(_in_rows(targets, node.type), Expr(parse_template(text, 1), (param,))))
    return lines


def _in_rows(targets: list[str], t: Type) -> tuple[Any, ...]:
    """Nest the targets of a matrix by rows: `(a, b), (c, d)`."""
    if not is_by_rows(t):
        return tuple(targets)
    columns = t.shape[1]
    return tuple([tuple(targets[k : k + columns]) for k in range(0, len(targets), columns)])
