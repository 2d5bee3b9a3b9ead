"""Write a graph as pure statements: each value has one name, and nothing is written in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.codegen import tuning
from tapec.codegen.branches.decision_tree_code import BasicBlock, basic_blocks_of, parted, placement, results_of
from tapec.codegen.common.decompose import decomposed
from tapec.codegen.common.explicit_dtypes import with_explicit_dtypes
from tapec.codegen.common.expressions import Expr, Expression, parse_template
from tapec.codegen.common.module_constants import is_eye, is_range
from tapec.codegen.common.module_layout import Function
from tapec.codegen.common.naming import Names, generic_name, identifier, name_inputs, wished_name
from tapec.codegen.common.statements import Assign, Do, If, Return, Statement
from tapec.codegen.numpy.lowering import condition_of
from tapec.codegen.portable.added_at import added_at
from tapec.codegen.portable.forms import OPERATORS, REASONS, array_text, dtype_text, form, number_text
from tapec.codegen.schedule.emitted_cost import Cost, bytes_of, flops_of
from tapec.codegen.schedule.inlining import count_uses, inner_nodes
from tapec.codegen.target import Job, Lowered, Target
from tapec.ir import CONSTANT, INPUT, ITEM, Graph, Node, is_literal, ops
from tapec.passes.listed_pass import Pass

__all__ = ["PORTABLE", "Portable"]

DOC = "xp: the array API of the arrays, such as numpy, jax.numpy or array_api_compat.torch"


def known_ops(graph: Graph) -> Graph:
    """Make what the array API has no function for of what it has."""
    return decomposed(graph, lambda node: node.op is CONSTANT or node.op is ITEM or form(node) is not None)


def explicit_dtypes(graph: Graph) -> Graph:
    """Convert operands where NumPy promotes: the array API leaves much of that to its libraries."""
    return with_explicit_dtypes(graph, OPERATORS)


class Portable(Target):
    """A host target that writes `f(xp, *args)`: each function is looked up in the namespace `xp` of the array API."""

    name = "portable"
    passes = (
        Pass("known-ops", known_ops, is_needed=True),
        Pass("explicit-dtypes", explicit_dtypes, is_needed=True),
    )

    def refusal(self, node: Node) -> str | None:
        if form(node) is not None:
            return None
        kinds = [i.type for i in node.inputs] + list(node.type if node.op.multi else (node.type,))
        odd = [t.dtype.name for t in kinds if t.dtype.kind not in "biufc" or t.dtype.name in ("float16", "longdouble")]
        return f"the array API has no {odd[0]}" if odd else REASONS.get(node.op, "the array API has no such function")

    def lower(self, job: Job) -> Lowered:
        graph, tree = self.prepared(job.graph, job.observer), job.tree
        if tree is None:
            block = BasicBlock(None, 0)
            block.read = graph.outputs
            blocks = [block]
        else:
            graph, tree = parted(graph, tree)
            blocks = basic_blocks_of(tree, graph.outputs)
        return Lowered(self.name, Writer(job, graph, blocks).function())


class Writer:
    """Writes the blocks of a program; `place` has the block of each value, `inside` what is written in another line."""

    def __init__(self, job: Job, graph: Any, blocks: list[BasicBlock]):
        self.job, self.graph, self.first = job, graph, blocks[0]
        self.names = Names((job.name, "xp", "added_at"))
        self.called: dict[Node, str] = name_inputs(graph, self.names)
        self.params = ("xp", *[self.called[i] for i in graph.inputs])
        self.place = placement(graph, blocks)
        self.constants: dict[str, Any] = {}
        uses = count_uses(graph.nodes, results_of(blocks))
        self.inside: dict[Node, int] = {}  # with the number of characters
        self.parts: dict[Node, dict[int, Node]] = {}
        inner = inner_nodes([n for n in graph.nodes if n in uses])
        for node in graph.nodes:
            if node in uses and not is_literal(node):
                self.place[node].nodes.append(node)
                if node.op is ITEM:
                    self.parts.setdefault(node.inputs[0], {})[node.param("index")] = node
        self.wishes = {n: wished_name(n) for n in uses if n not in inner and n.op is not INPUT}
        for node in graph.nodes:
            if node in uses:
                self.nest(node, uses)

    def nest(self, node: Node, uses: dict[Node, int]) -> None:
        """Write operands that only this node reads inside its line, as long as that is short."""
        if node.op is CONSTANT or node.op is ITEM:
            return
        template = parse_template(form(node) or "", len(node.inputs))
        width = template.width
        for k, i in enumerate(node.inputs):
            own = self.inside.get(i, 0)
            ok = uses[i] == 1 and own and template.counts[k] == 1 and self.place.get(i) is self.place[node]
            if ok and width + own <= tuning.NESTED_MAX_CHARACTERS:
                width += own
            else:
                self.inside.pop(i, None)
                width += tuning.NAME_CHARACTERS
        if uses[node] == 1 and not self.wishes.get(node) and not node.op.multi:
            self.inside[node] = width

    def function(self) -> Function:
        body: list[Statement] = [Do(Expr(parse_template(repr(DOC), 0), ())), *self.block(self.first)]
        values = [n for n in self.place if n.op is not CONSTANT]
        moved = bytes_of([*values, *[i for n in values for i in n.inputs]])
        cost = Cost(flops_of(self.job.graph), moved, bytes_of([n for n in values if n not in self.inside]))
        return Function(self.job.name, self.params, body, self.constants, cost)

    def block(self, block: BasicBlock) -> list[Statement]:
        """Write a block and all that follow it: each case but the last, the largest, becomes an `if` that returns."""
        lines: list[Statement] = []
        while True:
            lines += [self.line(n) for n in block.nodes if n not in self.inside and n.op is not ITEM]
            test = block.test
            if test is None:
                return [*lines, Return(tuple(map(self.operand, block.read)))]
            for value, case in block.cases[:-1]:
                lines.append(If(condition_of(self.operand(test), test, value, False), self.block(case), test.origin))
            value, block = block.cases[-1]
            if not block.parent.complete:  # type: ignore[union-attr]
                lines.append(If(condition_of(self.operand(test), test, value, True), [Return(None)], test.origin))

    def line(self, node: Node) -> Statement:
        value = self.express(node)
        if not node.op.multi:
            return Assign(self.name(node), value, node.origin)
        parts = self.parts[node]
        return Assign(tuple([self.name(parts[k]) if k in parts else "_" for k in range(len(node.type))]), value)

    def name(self, node: Node) -> str:
        self.called[node] = name = self.names.take(identifier(self.wishes.get(node) or generic_name(node)))
        return name

    def operand(self, node: Node) -> Expression:
        if node in self.called:
            return self.called[node]
        if not is_literal(node):
            return self.express(node)
        text = number_text(node.value)
        return Expr(parse_template(text, 0), ()) if "n" in text else node.value

    def express(self, node: Node) -> Expr:
        if node.op is CONSTANT:
            return Expr(parse_template(self.array(node), 0), ())
        if node.op is ops.scatter:
            self.job.space.helper("added_at", added_at)
        text = form(node)
        assert text is not None
        return Expr(parse_template(text, len(node.inputs)), tuple(map(self.operand, node.inputs)))

    def array(self, node: Node) -> str:
        """Write a constant array: from its elements, or from a list that is a constant of the module."""
        value: Any = np.asarray(node.value)
        dtype = dtype_text(value.dtype)
        if is_range(value) or is_eye(value):
            return f"xp.{'eye' if value.ndim == 2 else 'arange'}({len(value)}, dtype={dtype})"
        if value.size > 1 and np.array_equal(value, np.broadcast_to(value.flat[0], value.shape), equal_nan=True):
            return array_text(value.shape, value.flat[0], value.dtype)
        text = repr(value.tolist()) if value.ndim else number_text(value)
        if value.ndim and (value.size > tuning.SHOWN_MAX_ELEMENTS or "n" in text):
            text = self.names.fix(identifier(node.name or "c").upper())
            self.constants[text] = self.job.space.constants[text] = self.job.space.names[text] = value.tolist()
        return f"xp.asarray({text}, dtype={dtype})"


PORTABLE = Portable()
