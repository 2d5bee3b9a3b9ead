"""Write the items of a block in order, for values that share no memory, such as Python's floats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tapec.codegen import tuning
from tapec.codegen.common.block_items import UNKNOWN, Deferred, Fork, Results
from tapec.codegen.common.derivative_notes import derivative_note
from tapec.codegen.common.expressions import Expr, Expression
from tapec.codegen.common.line_templates import COPY, condition_of
from tapec.codegen.common.loader import Space
from tapec.codegen.common.naming import generic_name, identifier
from tapec.codegen.common.number_texts import number_text
from tapec.codegen.common.statements import Assign, Blank, Delete, If, Return, Statement, in_place
from tapec.ir import CONSTANT, Node
from tapec.ir.source_location import line_of

if TYPE_CHECKING:
    from tapec.codegen.schedule.lifetimes import Lifetimes

__all__ = ["BlockLowering"]


class BlockLowering:
    """Turns the items of a block into statements: a line for each value that is not written inside another's line.

    `memory` has the names of values, and tells when they are free again.
    """

    def __init__(self, memory: Lifetimes, space: Space):
        self.memory = memory
        self.plan = memory.plan
        self.names = memory.names
        self.name = memory.name
        self.space = space
        self.out: list[Statement] = []

    def block(self, items: list[Any]) -> list[Statement]:
        """Write the statements of a block."""
        memory = self.memory
        memory.start(items)
        parts: list[int] = []  # for each statement 1, where it is of the user's computation, -1 of derivatives, else 0
        for memory.here, item in enumerate(items):
            kind = type(item)
            if kind is Node:
                self.value(item, self.plan.leaves[item])
            elif kind is Fork:
                self.fork(item)
            elif kind is Deferred:
                item.write(self)
                memory.free_dead(item.leaves if not item.open else ())
            else:
                self.results(item)
            names = memory.deletions()
            if names and type(self.out[-1]) is Delete:
                self.out[-1] = Delete((*self.out[-1].names, *names))
            elif names:
                self.out.append(Delete(tuple(names)))
            parts += [part_of(item)] * (len(self.out) - len(parts))
        part_at = parting(parts)
        if part_at:
            self.out.insert(part_at, Blank())
        return self.out

    def value(self, node: Node, leaves: Sequence[Node]) -> None:
        """Write the one or few lines that compute a value."""
        value = self.express(node)
        self.memory.free_dead(leaves)
        if node.op.multi:
            self.out.append(Assign(self.unpacked(node), value, node.origin))
            return
        self.out.append(in_place(Assign(self.memory.call(node), value, node.origin, self.note(node))))

    def unpacked(self, node: Node) -> tuple[str, ...]:
        """Name the parts that are read, and return the targets of the assignment."""
        parts = [self.plan.parts[node].get(k) for k in range(len(node.type))]
        for part in parts:
            if part is not None:
                self.name[part] = self.names.take(identifier(self.plan.wishes.get(part) or generic_name(part)))
        return tuple(["_" if part is None else self.name[part] for part in parts])

    def express(self, node: Node) -> Expr:
        """Return the expression that computes a value."""
        name, express = self.name, self.express
        template = self.plan.templates[node]
        assert template is not None
        args = [name[i] if i in name else self.number(i) if i.op is CONSTANT else express(i) for i in node.inputs]
        return Expr(template, tuple(args), node.origin)

    def operand(self, node: Node, as_object: bool = False) -> Expression:
        """Return a value as a line reads it: a number, a name, or the whole expression."""
        found = self.name.get(node)
        if found is not None:
            return found
        return self.number(node) if node.op is CONSTANT else self.express(node)

    def number(self, node: Node) -> Expression:
        """Return a Python number as a line reads it: as it is, or by the expression that it comes from."""
        return node.value if node.name is None else self.number_told(node.value, node.name)

    def number_told(self, value: Any, name: str) -> Expression:
        """Write a number by the expression that is its name, and remember that it was written."""
        found = number_text(value, name, self.space.arguments)
        if type(found) is Expr:
            self.space.numbers[found.template] = None
        return found

    def results(self, item: Results) -> None:
        """Write `return (a, b)`: all arrays are made here, so only one that is returned twice needs a copy."""
        nodes = item.nodes or ()
        values = [Expr(COPY, (self.operand(n),)) if n in nodes[:k] else self.operand(n) for k, n in enumerate(nodes)]
        self.out.append(Return(None if item.nodes is None else tuple(values), self.common_origin(nodes)))

    def fork(self, fork: Fork) -> None:
        """Write a path that branches off. It ends by itself, so it may use up everything, names too."""
        condition = condition_of(self.operand(fork.test), fork.test, fork.value, fork.negated)
        if fork.items == [UNKNOWN]:
            self.out.append(If(condition, [Return(None)], fork.test.origin))
        else:
            inner = type(self)(self.memory.branch(), self.space)
            self.out.append(If(condition, inner.block(fork.items), fork.test.origin))
            self.memory.join(inner.memory)
        self.memory.free_dead(fork.leaves)

    def note(self, node: Node) -> str:
        """Return why a line has its form, or what it comes to in mathematics, where that is not plain."""
        found = self.own_note(node)
        for i in node.inputs:
            found = found or (self.note(i) if i in self.plan.nested else "")
        return found

    def own_note(self, node: Node) -> str:
        """Return the same of one operation, without what is written inside it."""
        return derivative_note(node)

    def common_origin(self, nodes: Sequence[Node]) -> Any:
        """Return the user's line from which all comes that one line of ours computes; None if there are several."""
        origins = [n.origin for n in nodes if n in self.plan.nested and n.origin is not None]
        lines = {(o[0], line_of(o)) for o in origins}
        return origins[0] if len(lines) == 1 else None


def part_of(item: Any) -> int:
    """Return 1 for an item of the user's computation, -1 for one of derivatives, 0 for others."""
    node = item.moved if type(item) is Deferred else item
    return 0 if type(node) is not Node else 1 if node.role is None else -1


def parting(parts: Sequence[int]) -> int:
    """Return where the derivatives begin, so that the least lines are on the wrong side; 0 where either part is short.

    Each statement is 1, of the user's computation, -1, of derivatives, or 0.
    """
    ahead, best, found = 0, 0, 0
    for k, part in enumerate(parts, 1):
        ahead += part
        if ahead >= best:
            best, found = ahead, k
    least = tuning.PART_MIN_STATEMENTS
    return found if parts[:found].count(1) >= least and parts[found:].count(-1) >= least else 0
