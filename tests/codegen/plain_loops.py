"""A region target in the small: plain Python loops over scalars, as a compiler for kernels would be given them."""

from __future__ import annotations

from typing import Any

from tapec.codegen.common.explicit_dtypes import with_explicit_dtypes
from tapec.codegen.common.expressions import Expr, Expression, parse_template, slots
from tapec.codegen.common.line_templates import new_array
from tapec.codegen.common.module_layout import Function
from tapec.codegen.common.statements import Assign, Augment, For, Return, Store
from tapec.codegen.pure_lines import PureLines
from tapec.codegen.target import Job, Lowered, Target
from tapec.ir import CONSTANT, ITEM, Builder, Graph, Node, Op, OpSet, get_op, input_node
from tapec.ops.control.loop import LOOP
from tapec.passes.listed_pass import Pass

AT = parse_template("_0[_1]", 2)
FLOAT = parse_template("np.float64(_0)", 1)
NUMBERS = OpSet("add subtract multiply divide negative greater less greater_equal less_equal power")


def spelled(op: Op, n: int) -> str | None:
    """How an op is written on numbers."""
    text = op.source if op in NUMBERS else op.scalar
    return None if text is None else text.format(*slots(n))


def scalar(node: Node) -> bool:
    return node.op.kind == "elementwise" and spelled(node.op, len(node.inputs)) is not None


def of_numbers(loop: Node) -> bool:
    return all([n.type.shape == () for body in loop.bodies for n in (*body.inputs, *body.nodes)])


def taken(graph: Graph) -> list[Node]:
    """The nodes of one loop over the elements of vectors of one length, and of the sums of these."""
    found: dict[Node, None] = {}
    later: set[Node] = set()  # what needs a sum cannot be in the same loop
    length = None
    for node in [n for n in graph.nodes if not n.op.multi and n.op is not ITEM]:
        late = any([i in later or (i in found and i.op is get_op("sum")) for i in node.inputs])
        shape = node.inputs[0].type.shape if node.op is get_op("sum") and node.inputs[0] in found else node.type.shape
        fits = len(shape) == 1 and shape[0] > 1 and length in (None, shape) and node.type.dtype == float
        fits = fits and all([i.type.shape in ((), shape) for i in node.inputs])
        if late:
            later.add(node)
        elif fits and (scalar(node) or (node.op is get_op("sum") and not node.type.shape)):
            found[node], length = None, shape
    return list(found)


def as_region(graph: Graph, nodes: list[Node], name: str) -> Graph:
    """Put nodes into a region, which is where the first of them stood that others wait for."""
    inside = set(nodes) | {n for n in graph.nodes if n.op is CONSTANT}
    read = dict.fromkeys([i for n in nodes for i in n.inputs if i not in inside])
    used = {i for n in graph.nodes if n not in nodes for i in n.inputs} | set(graph.outputs)
    results = [n for n in nodes if n in used]
    own = {i: input_node(i.name, i.type) for i in read}
    inner = Builder()
    for node in nodes:
        for i in node.inputs:
            if i.op is CONSTANT:
                own[i] = inner.constant(i.value)
        own[node] = inner.add(node.with_inputs(tuple([own[i] for i in node.inputs])))
    body = inner.graph([own[i] for i in read], [own[n] for n in results], name)
    outer = Builder()
    new: dict[Node, Node] = {i: i for i in graph.inputs}
    waiting = [n for n in graph.nodes if n not in nodes]
    while waiting or results[0] not in new:
        if results[0] not in new and all([i in new for i in read]):
            region = outer.emit(get_op("region"), tuple([new[i] for i in read]), (("bodies", (body,)),))
            new |= zip(results, outer.items(region), strict=True)
        for node in [n for n in waiting if all([i in new for i in n.inputs])]:
            moved = node.with_inputs(tuple([new[i] for i in node.inputs]))
            new[node] = outer.constant(node.value) if node.op is CONSTANT else outer.add(moved)
            waiting.remove(node)
    return outer.graph(graph.inputs, [new[o] for o in graph.outputs], graph.name)


class Scalars(PureLines):
    """Statements on numbers, for the body of a loop over elements, and for loops over numbers that are carried."""

    def text(self, node: Node) -> str | None:
        return spelled(node.op, len(node.inputs))

    def constant(self, node: Node) -> Expression:
        return node.value.item()

    def rows(self, t: Any) -> str:
        return "np.array(_0)"

    def result(self, node: Node) -> Expression:
        return self.operand(node) if node.type.shape else Expr(FLOAT, (self.operand(node),))


def loops(graph: Graph) -> Graph:
    """Compute in the dtypes that NumPy computes in."""
    return with_explicit_dtypes(graph, NUMBERS)


class PlainLoops(Target):
    """Takes one fused loop over elements, or one loop over numbers; both become Python's own loops."""

    name, version = "plain_loops", 1
    passes = (Pass("loops", loops, is_needed=True),)

    def refusal(self, node: Node) -> str | None:
        known = scalar(node) or node.op in (LOOP, get_op("sum"))
        return None if known else "it has loops over numbers alone"

    def partition(self, graph: Graph) -> Graph:
        while loop := next((n for n in graph.nodes if n.op is LOOP and of_numbers(n)), None):
            items = [n for n in graph.nodes if n.op is ITEM and n.inputs[0] is loop]
            graph = as_region(graph, [loop, *items], "loop")
        nodes = taken(graph)
        return as_region(graph, nodes, "fused") if len(nodes) > 1 else graph

    def lower(self, job: Job) -> Lowered | None:
        graph = self.prepared(job.graph)
        lines = Scalars(graph, None, (job.name, "np", "math"))
        if any([n.op is LOOP for n in graph.nodes]):
            body = lines.body()
            body[-1] = Return(tuple(map(lines.result, graph.outputs)))
        else:
            body = self.fused(graph, lines)
        return Lowered(self.name, Function(job.name, lines.params, body, {}, lines.cost(graph)))

    def fused(self, graph: Graph, lines: Scalars) -> list[Any]:
        """Write `for k in range(n)` with a line for each value; sums are added up, results stored."""
        sums = [n for n in graph.nodes if n.op is get_op("sum")]
        nodes = [n for n in graph.nodes if n not in sums and n.op is not CONSTANT]
        size = sums[0].inputs[0].type if sums else nodes[0].type
        names = {n: lines.names.take("total" if n in sums else "out") for n in graph.outputs}
        before = [Assign(name, 0.0 if n in sums else new_array("np.empty", n.type)) for n, name in names.items()]
        for i in graph.inputs:
            lines.called[i] = Expr(AT, (lines.called[i], "k")) if i.type.shape else lines.called[i]
        lines.plan(nodes, [*[n.inputs[0] for n in sums], *[n for n in graph.outputs if n not in sums]], {})
        inner = lines.lines(nodes)
        for node, name in names.items():
            if node in sums:
                inner.append(Augment(name, "+", lines.operand(node.inputs[0])))
            else:
                inner.append(Store(Expr(AT, (name, "k")), "", lines.operand(node)))
        loop = For("k", Expr(parse_template(f"range({size.shape[0]})", 0), ()), inner)
        results = [Expr(FLOAT, (names[o],)) if o in sums else names[o] for o in graph.outputs]
        return [*before, loop, Return(tuple(results))]
