"""Write a graph as pure statements: each value has one name, and nothing is written in place.

A target says how its ops, numbers and constants are spelled; blocks of decision trees become `if`s that return, and
bodies are written where they are run: `cond` as `if` and `else`, `loop` as `for` or `while`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.branches.decision_tree_code import BasicBlock, basic_blocks_of, parted, placement, results_of
from tapec.codegen.common.expressions import Expr, Expression, parse_template, slots
from tapec.codegen.common.line_templates import APPEND, EMPTY_LIST, NOT, condition_of
from tapec.codegen.common.made_names import wished_name
from tapec.codegen.common.naming import Names, generic_name, identifier, name_inputs
from tapec.codegen.common.statements import Assign, Break, Do, For, If, Return, Statement, While
from tapec.codegen.schedule.emitted_cost import Cost, bytes_of, flops_of
from tapec.codegen.schedule.inlining import count_uses, inner_nodes
from tapec.ir import CONSTANT, INPUT, ITEM, Graph, Node, OpSet, is_literal
from tapec.ir.decision_tree import Tree
from tapec.ir.types import Type
from tapec.ops.control.cond import COND
from tapec.ops.control.loop import LOOP, operands_of

__all__ = ["BODIES", "PureLines"]

BODIES = OpSet("call checkpoint cond loop region")  # ops with bodies that are written here

RANGE = parse_template("range(_0)", 1)
TRUE = Expr(parse_template("True", 0), ())


class PureLines:
    """Writes statements; `inside` has what is written in the line of its reader, with its number of characters."""

    def __init__(self, graph: Graph, tree: Tree | None, fixed: Sequence[str]):
        if tree is not None:
            graph, tree = parted(graph, tree)
        self.graph, self.tree = graph, tree
        self.names = Names(fixed)
        self.called: dict[Node, Expression] = dict(name_inputs(graph, self.names))
        self.params = tuple([str(self.called[i]) for i in graph.inputs])
        self.inside: dict[Node, int] = {}
        self.parts: dict[Node, dict[int, Node]] = {}
        self.wishes: dict[Node, str | None] = {}

    # -- what a target says -----------------------------------------------------------------------------------------
    def text(self, node: Node) -> str | None:
        """Return the source of an operation, in which `_0`, `_1`, ... stand for its operands."""
        raise NotImplementedError

    def constant(self, node: Node) -> Expression:
        """Write a constant that is no plain number."""
        raise NotImplementedError

    def number(self, value: Any) -> Expression:
        """Write a number of Python's."""
        return value

    def row(self, t: Type) -> str:
        """Return the source of one row: of `_0` the one with the number `_1`."""
        return "_0[_1]"

    def rows(self, t: Type) -> str:
        """Return the source of the array of rows that a loop has collected in the list `_0`."""
        return "_0"

    # -- functions ----------------------------------------------------------------------------------------------------
    def body(self) -> list[Statement]:
        """Write the statements of the whole function."""
        graph = self.graph
        if self.tree is None:
            block = BasicBlock(None, 0)
            block.read = graph.outputs
            blocks = [block]
        else:
            blocks = basic_blocks_of(self.tree, graph.outputs)
        place = placement(graph, blocks)
        results = results_of(blocks)
        self.plan(graph.nodes, results, place)
        for node in graph.nodes:
            if node in place:
                place[node].nodes.append(node)
        return self.block(blocks[0])

    def cost(self, graph: Graph) -> Cost:
        """Return what the statements of a graph cost: all that has a name stays in memory."""
        values = [n for n in self.graph.nodes if n.op is not CONSTANT]
        moved = bytes_of([*values, *[i for n in values for i in n.inputs]])
        return Cost(flops_of(graph), moved, bytes_of([n for n in values if n not in self.inside]))

    def plan(self, nodes: Sequence[Node], results: Iterable[Node], place: Mapping[Node, Any]) -> None:
        """Decide what has a line of its own."""
        uses = count_uses(nodes, results)
        used = [n for n in nodes if n in uses]
        inner = inner_nodes(used)
        self.wishes |= {n: wished_name(n) for n in uses if n not in inner and n.op is not INPUT}
        for node in used:
            if node.op is ITEM:
                self.parts.setdefault(node.inputs[0], {})[node.param("index")] = node
            elif node.op is not CONSTANT:
                self._nest(node, uses, place)
            elif uses[node] == 1:
                self.inside[node] = 8

    def _nest(self, node: Node, uses: dict[Node, int], place: Mapping[Node, Any]) -> None:
        """Write operands that only this node reads inside its line, as long as that is short."""
        template = None if node.bodies else parse_template(self.text(node) or "", len(node.inputs))
        width = 0 if template is None else template.width
        for k, i in enumerate(node.inputs):
            own = self.inside.get(i, 0)
            ok = own and template is not None and uses[i] == template.counts[k] == 1
            if ok and place.get(i) is place.get(node) and width + own <= tuning.NESTED_MAX_CHARACTERS:
                width += own
            else:
                self.inside.pop(i, None)
                width += tuning.NAME_CHARACTERS
        if uses[node] == 1 and not self.wishes.get(node) and not node.op.multi:
            self.inside[node] = width

    def block(self, block: BasicBlock) -> list[Statement]:
        """Write a block and all that follow it: each case but the last, the largest, becomes an `if` that returns."""
        lines: list[Statement] = []
        while True:
            lines += self.lines(block.nodes)
            test = block.test
            if test is None:
                return [*lines, Return(tuple(map(self.operand, block.read)))]
            for value, case in block.cases[:-1]:
                lines.append(If(condition_of(self.operand(test), test, value, False), self.block(case), test.origin))
            value, rest = block.cases[-1]
            if not block.complete:
                lines.append(If(condition_of(self.operand(test), test, value, True), [Return(None)], test.origin))
            block = rest

    # -- statements -------------------------------------------------------------------------------------------------
    def lines(self, nodes: Iterable[Node]) -> list[Statement]:
        """Write the lines of nodes, but of those that are written inside of others."""
        found: list[Statement] = []
        for node in nodes:
            if node in self.inside or node.op is ITEM or is_literal(node):
                continue
            if node.bodies:
                found += self._bodies(node)
            elif node.op.multi:
                parts, value = self.parts[node], self.express(node)
                targets = [self.name(parts[k]) if k in parts else "_" for k in range(len(node.type))]
                found.append(Assign(tuple(targets), value, node.origin))
            else:
                value = self.express(node)
                found.append(Assign(self.name(node), value, node.origin))
        return found

    def name(self, node: Node) -> str:
        name = self.names.take(identifier(self.wishes.get(node) or generic_name(node)))
        self.called[node] = name
        return name

    def operand(self, node: Node) -> Expression:
        if node in self.called:
            return self.called[node]
        return self.number(node.value) if is_literal(node) else self.express(node)

    def express(self, node: Node) -> Expression:
        if node.op is CONSTANT:
            return self.constant(node)
        text = self.text(node)
        assert text is not None, node
        return Expr(parse_template(text, len(node.inputs)), tuple(map(self.operand, node.inputs)))

    # -- bodies -----------------------------------------------------------------------------------------------------
    def _bodies(self, node: Node) -> list[Statement]:
        parts = dict(sorted(self.parts.get(node, {}).items()))
        if node.op is LOOP:
            return self._loop(node, parts)
        test, operands = (node.inputs[0], node.inputs[1:]) if node.op is COND else (None, node.inputs)
        given = list(map(self.operand, operands))
        targets = [self.name(part) for part in parts.values()]
        written = [self._run(body, given, list(parts), targets) for body in node.bodies]
        if test is None:
            return written[0]
        return [If(self.operand(test), written[0], node.origin, "", written[1])]

    def _run(self, body: Any, given: Sequence[Expression], wanted: Sequence[int], targets: list[str]) -> list[Any]:
        """Write a body, and give those of its results that are wanted their names."""
        lines, values = self._values(body, given, wanted)
        together = Expr(parse_template(", ".join(slots(len(values))), len(values)), tuple(values)) if values else None
        return [
            *lines,
            *([] if together is None else [Assign(targets[0] if len(values) == 1 else tuple(targets), together)]),
        ]

    def _values(self, body: Any, given: Sequence[Expression], wanted: Sequence[int]) -> tuple[list[Any], list[Any]]:
        """Return the lines of a body whose inputs are given, and its results."""
        self.called |= zip(body.inputs, given, strict=True)
        results = [body.outputs[k] for k in wanted]
        self.plan(body.nodes, results, {})
        used = count_uses(body.nodes, results)
        lines = self.lines([n for n in body.nodes if n in used])
        return lines, list(map(self.operand, results))

    def _loop(self, node: Node, parts: dict[int, Node]) -> list[Statement]:
        """Write a loop; rows that it collects go into lists."""
        of = operands_of(node.inputs, **dict(node.given))
        body, count, carried = node.bodies[0], node.param("count"), node.param("carried")
        states = body.inputs[len(of.constants) : len(of.constants) + carried]
        constants = list(map(self.operand, of.constants))
        values = list(map(self.operand, of.carried))
        names = [self.name(parts.get(k, state)) for k, state in enumerate(states)]
        before: list[Statement] = [Assign(name, value) for name, value in zip(names, values, strict=True)]
        collected = {k: self.names.take("rows") for k in parts if k >= carried}
        before += [Assign(name, EMPTY_LIST) for name in collected.values()]
        turn = self.names.take("k") if of.rows else "_"
        rows = [Expr(parse_template(self.row(x.type), 2), (self.operand(x), turn)) for x in of.rows]
        heads = [self.names.take("row") for _ in rows]
        lines: list[Statement] = [Assign(name, row) for name, row in zip(heads, rows, strict=True)]
        inner, results = self._values(body, [*constants, *names, *heads], [*range(carried), *collected])
        lines += inner
        appended = zip(collected.values(), results[carried:], strict=True)
        lines += [Do(Expr(APPEND, (name, value))) for name, value in appended]
        moved = [(name, value) for name, value in zip(names, results) if name != value]
        if moved:
            together = Expr(parse_template(", ".join(slots(len(moved))), len(moved)), tuple([v for _, v in moved]))
            lines.append(Assign(moved[0][0] if len(moved) == 1 else tuple([n for n, _ in moved]), together))
        if len(node.bodies) == 2:
            asked, [test] = self._values(node.bodies[1], [*constants, *names], [0])
            loop: Statement = While(TRUE, [*asked, If(Expr(NOT, (test,)), [Break()]), *lines], node.origin)
        else:
            turns = self.operand(of.turns[0]) if of.turns else count
            loop = For(turn, Expr(RANGE, (turns,)), lines or [Assign("_", turns)], node.origin)
        after = []
        for k, name in collected.items():
            value = Expr(parse_template(self.rows(node.type[k]), 1), (name,))
            after.append(Assign(self.name(parts[k]), value))
        return [*before, loop, *after]
