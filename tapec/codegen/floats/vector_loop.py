"""Write programs on small vectors as a loop over their elements, on Python floats.

    for x_k in x.tolist():
        y = math.sin(x_k)
        s += y * y
        d_x.append(2.0 * y * math.cos(x_k))

This is done where all arrays are vectors of one length, and writing each element out would be long. Numbers that the
elements need are computed before the loop, those that depend on sums of elements after it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.common.block_items import Deferred, Results, no_run
from tapec.codegen.common.block_lowering import BlockLowering
from tapec.codegen.common.expressions import Expr, parse_template
from tapec.codegen.common.line_templates import APPEND, EMPTY_LIST
from tapec.codegen.common.loader import Space
from tapec.codegen.common.made_names import wished_name
from tapec.codegen.common.module_layout import Function
from tapec.codegen.common.named_numbers import with_numbers_named
from tapec.codegen.common.naming import Names, identifier, name_inputs
from tapec.codegen.common.statements import Assign, Augment, Do, For
from tapec.codegen.floats.elementwise_expansion import rule_of
from tapec.codegen.floats.float_function import function_of, to_python
from tapec.codegen.floats.float_plan import FloatPlan
from tapec.codegen.floats.packing import PACK, packing
from tapec.codegen.floats.profitability import numpy_costs_more
from tapec.codegen.floats.scalar_ops import FLOAT, Elements, element_type, spelled
from tapec.codegen.schedule.inlining import inner_nodes
from tapec.codegen.schedule.lifetimes import Lifetimes
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, Graph, Node, Op, OpSet, input_node, is_literal, ops
from tapec.ir.decision_tree import Tree

__all__ = ["Rolled", "as_loop", "loop_function"]

BEFORE, EACH, AFTER = range(3)  # where a value is computed
WHOLE = OpSet("full broadcast_to copy positive")  # the same number for each element, or the element as it is
ARRAY = Op(name="array of a list", run=no_run, rule=no_run, kind="creation", source="np.array({0})")


class Rolled(NamedTuple):
    """A rolled program has three parts: before the loop, for each element, and after the loop.

    `inputs` has the number that stands for each input, one element of a vector; `sums` each total with its addend;
    `lists` the elements of results with their names; `results` what is returned, made of totals and lists.
    """

    nodes: tuple[list[Node], list[Node], list[Node]]
    inputs: list[Node]
    sums: list[tuple[Node, Any]]
    lists: list[tuple[Node, Any]]
    results: list[Node]
    errors: tuple[type[Exception], ...]

    def function(self, graph: Graph, name: str, tree: Tree | None, space: Space) -> Function:
        return loop_function(self, graph, name, space)

    def whole_graph(self, graph: Graph) -> Graph:
        """Return the program as it was: the loop over elements stands beside the graph, until it can hold one."""
        return Graph(graph.inputs, graph.nodes, graph.outputs, graph.name)


def as_loop(graph: Graph, shapes: set[tuple[int, ...]]) -> Rolled | None:
    """Return the program as a loop over elements, or None unless all its values have one small shape."""
    if len(shapes) != 1 or any(o.type.dtype.char != "d" for o in graph.outputs):
        return None
    (shape,) = shapes
    if len(shape) != 1 or not tuning.VECTOR_LOOP_MIN_ELEMENTS <= shape[0] <= tuning.VECTOR_LOOP_MAX_ELEMENTS:
        return None
    steps = sum([n.op.kind == "elementwise" for n in graph.nodes]) * shape[0]
    if steps <= tuning.WRITTEN_OUT_MAX_STEPS or not numpy_costs_more(graph, tuning.FLOAT_COST * steps):
        return None
    return _Roller(graph).rolled()


class _Roller:
    """Takes the operations one by one; `stage` tells whether a number is computed before, in or after the loop."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.made = Elements()
        self.stage: dict[Any, int] = {}
        self.value: dict[Node, Any] = {}
        self.sums: list[tuple[Node, Any]] = []

    def rolled(self) -> Rolled | None:
        graph, made, value = self.graph, self.made, self.value
        for i in graph.inputs:
            value[i] = input_node("", element_type(i.type))
            self.stage[value[i]] = EACH if i.type.shape else BEFORE
        for node in graph.nodes:
            before = len(made.nodes)
            if not self.take(node):
                return None
            for n in made.nodes[before:]:
                self.stage[n] = max([self.stage.get(i, BEFORE) for i in n.inputs])
        lists: list[tuple[Node, Any]] = []
        results = [self.result(o, lists) for o in graph.outputs]
        self.name_elements()
        parts: tuple[list[Node], ...] = ([], [], [])
        for n in made.nodes:
            parts[self.stage[n]].append(n)
        literals = [n for n in made.known.values() if n.op is CONSTANT]
        if not any(self.stage.get(i) == EACH and i.op is not CONSTANT for n in parts[EACH] for i in n.inputs):
            return None
        nodes = ([*literals, *parts[BEFORE]], parts[EACH], [*parts[AFTER], *dict.fromkeys(results)])
        return Rolled(nodes, [value[i] for i in graph.inputs], self.sums, lists, results, made.raised)

    def take(self, node: Node) -> bool:
        """Take one operation; False when it cannot be done element by element."""
        op, xs = node.op, [self.value.get(i) for i in node.inputs]
        self.made.origin, self.made.role = node.origin, node.role
        if node.op is CONSTANT:
            self.value[node] = self.made.literal(node) if is_literal(node) else None
            return is_literal(node)
        vectors = [bool(i.type.shape) for i in node.inputs]
        if not node.type.shape and any(vectors):
            return node.type.dtype.kind == "f" and self.total(node, xs)
        if op not in WHOLE and op.scalar is None:
            return False
        if node.type.shape and any(self.stage.get(x) == AFTER for x in xs):
            return False  # the sum is known after the loop: this would take another one
        if op in WHOLE and op is not ops.full:
            self.value[node] = xs[0]
        elif op is ops.full:
            self.value[node] = rule_of(op)(self.made, node, [])[0]  # type: ignore[misc, index]
        else:
            self.value[node] = self.made.apply(op, *xs)
        return True

    def total(self, node: Node, xs: list[Any]) -> bool:
        """Take a sum over the elements; False when its addend is not computed for each element."""
        if node.op is ops.matmul:
            addend = self.made.apply(ops.multiply, *xs)
            if addend.__class__ is Node and addend not in self.stage:
                self.stage[addend] = max([self.stage.get(i, BEFORE) for i in addend.inputs])
        elif node.op in (ops.sum, ops.mean):
            addend = xs[0]
        else:
            return False
        if self.stage.get(addend) != EACH:
            return False
        total = input_node("", FLOAT)
        self.stage[total] = AFTER
        self.sums.append((total, addend))
        size = node.inputs[0].type.size
        self.value[node] = total if node.op is not ops.mean else self.made.apply(ops.divide, total, float(size))
        return True

    def result(self, output: Node, lists: list[tuple[Node, Any]]) -> Node:
        """Return the node of a result: an array of a list, one element of which each step appends, or a scalar."""
        t, value = output.type, self.value[output]
        if t.shape:
            made = input_node(output.name or (wished_name(output) or ""), FLOAT)
            lists.append((made, value))
            return Node(ARRAY, (made,), (), t, output.origin, None, output.role)
        number = value if value.__class__ is Node else self.made.number(spelled(value))
        return Node(PACK, (number,), packing(t), t, output.origin, None, output.role)

    def name_elements(self) -> None:
        """Name numbers as the user called them; elements of a result leave its name to the result."""
        inner = inner_nodes(self.graph.nodes)
        taken = {o for o in self.graph.outputs if o.type.shape}
        for node in self.graph.nodes:
            e = self.value[node]
            if node not in inner and node not in taken and e.__class__ is Node and e.op is not CONSTANT and not e.name:
                e.name = wished_name(node) or ""


# ---------------------------------------------------------------------------------------------------------------
# the code
# ---------------------------------------------------------------------------------------------------------------
def loop_function(program: Rolled, graph: Graph, name: str, space: Space) -> Function:
    """Write the function with a loop over elements."""
    names = Names((name,))
    params = tuple(name_inputs(graph, names).values())
    names.fixed.update(params)
    before, each, after = program.nodes
    steps = [*program.sums, *program.lists]
    own = {*before, *program.inputs}
    shared = dict.fromkeys([i for n in (*each, *after) for i in n.inputs if i in own and i.op is not CONSTANT])
    ends = [*program.results, *[e for _, e in steps if e.__class__ is Node], *shared]
    plan = FloatPlan([*before, *each, *after], ends)
    called: dict[Node, str] = {}
    lines: list[Any] = []
    values, targets = [], []
    for node, param, number in zip(graph.inputs, params, program.inputs):
        if number not in plan.uses:
            continue
        called[number] = names.fix(identifier(f"{param}_k")) if node.type.shape else param
        if node.type.shape:
            values.append(param)
            targets.append(called[number])
        elif not node.type.weak:
            lines.append(to_python(node, param))
    items: list[Any] = [n for n in before if n in plan.uses and n not in plan.nested and n.op is not CONSTANT]
    loop = _ElementLoop(program, tuple(targets) if len(targets) > 1 else targets[0], values)
    items.append(Deferred(loop.open, ()))
    sums = [Deferred(partial(_step, total, e, True), _leaves(plan, e)) for total, e in program.sums]
    lists = [Deferred(partial(_step, made, e, False), _leaves(plan, e)) for made, e in program.lists]
    items += [n for n in each if n in plan.uses and n not in plan.nested]
    items += [*sums, *lists, Deferred(loop.close, tuple(shared))]
    results = Results(tuple(program.results), plan.nest_results(program.results))
    items += [*[n for n in after if n in plan.uses and n not in plan.nested], results]
    lines += BlockLowering(Lifetimes(plan, names, called), space).block(items)
    lines = with_numbers_named(lines, params, space)
    flops = len(each) * max(i.type.size for i in graph.inputs)
    return function_of(graph, name, params, lines, flops, program.errors)


def _leaves(plan: FloatPlan, e: Any) -> tuple[Node, ...]:
    """Return the leaves of an element's line; the element is nested there when nothing else reads it."""
    if e.__class__ is not Node or e.op is CONSTANT:
        return ()
    if plan.uses[e] == 1 and e in plan.templates and e not in plan.wishes:
        plan.nested.add(e)
        return plan.leaves[e]
    return (e,)


class _ElementLoop:
    """Writes the loop around the lines of an element, for arrays whose elements have names (`target`)."""

    def __init__(self, program: Rolled, target: Any, arrays: list[str]):
        self.program = program
        self.target = target
        self.arrays = arrays
        self.begin = 0

    def open(self, low: BlockLowering) -> None:
        """Begin sums at zero, and lists without elements."""
        for total, _ in self.program.sums:
            name = low.name[total] = low.names.take(identifier(total.name or "s"))
            low.out.append(Assign(name, 0.0))
        for made, _ in self.program.lists:
            name = low.name[made] = low.names.take(identifier(made.name or "g"))
            low.out.append(Assign(name, EMPTY_LIST))
        self.begin = len(low.out)

    def close(self, low: BlockLowering) -> None:
        """Put the lines of an element into the loop."""
        lists = [f"_{k}.tolist()" for k in range(len(self.arrays))]
        text = f"zip({', '.join(lists)})" if len(lists) > 1 else lists[0]
        along = Expr(parse_template(text, len(lists)), tuple(self.arrays))
        low.out[self.begin :] = [For(self.target, along, low.out[self.begin :])]


def _step(target: Node, e: Any, added: bool, low: BlockLowering) -> None:
    """Add an element to a sum, or append it to a list."""
    value = low.operand(e) if e.__class__ is Node else spelled(e)
    origin = e.origin if e.__class__ is Node else None
    name = low.name[target]
    low.out.append(Augment(name, "+", value, origin) if added else Do(Expr(APPEND, (name, value)), origin))
