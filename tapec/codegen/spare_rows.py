"""Memory for what steps keep, in rows of an array that a loop goes along.

A product for all steps was computed before the loop. Step k is the last to read its row k: what it keeps is written
there, and has no memory of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapec.codegen.expressions import Expr, parse_template
from tapec.codegen.feeds import Block
from tapec.codegen.plan import is_view
from tapec.codegen.statements import Assign
from tapec.ir import Node
from tapec.ir.index import Slot
from tapec.ops.indexing import FULL_SLICE

if TYPE_CHECKING:
    from tapec.codegen.array_steps import ArrayStep

__all__ = ["SpareRow", "spare_rows"]


class SpareRow:
    """A row of `array`. Behind an item of the step it is free, for as many values of one type as it has room for."""

    def __init__(self, step: ArrayStep, row: Node, behind: int):
        self.step, self.row, self.behind = step, row, behind
        self.array = step.root_of(row)
        self.held: list[Node] = []
        self.name = ""

    def has_room(self, node: Node) -> bool:
        t, row = node.type, self.row.type
        if self.behind >= self.step.here or t.dtype != row.dtype or t.size == 0 or row.size % t.size:
            return False
        return not self.held or (self.held[0].type == t and len(self.held) < row.size // t.size)

    def place(self, node: Node) -> Expr:
        """Where in the row the value is computed."""
        self.held.append(node)
        row, t = self.step.express(self.row), node.type
        if t == self.row.type:
            return row
        if not self.name:
            self.name = self.step.names.take_new("room")
            parts = (self.row.type.size // t.size, *t.shape)
            self.step.out.append(Assign(self.name, Expr(parse_template(f"_0.reshape{parts}", 1), (row,))))
        return Expr(parse_template(f"_0[{len(self.held) - 1}]", 1), (self.name,))


def spare_rows(step: ArrayStep, block: Block) -> list[SpareRow]:
    """The rows that each step is the last to read, of arrays that are over after the loop, while lists stay."""
    outer = step.outer
    if not block.kept:
        return []
    read = list(map(outer.root_of, block.read))
    found = []
    for node in (*block.again, *block.body):
        if node not in step.plan.uses or not is_row(node, step) or node.inputs[0] not in block.read:
            continue
        array = step.root_of(node)
        over = array in outer.owned and outer.last.get(array) == outer.here and read.count(array) == 1
        if over and lies_in_rows(node.inputs[0], outer.in_rows):
            last = last_reader(step, array)
            if last is not None:
                found.append(SpareRow(step, node, last))
    return found


def is_row(node: Node, step: ArrayStep) -> bool:
    """Is it `x[k]` for the number of the step?"""
    if node.op.name != "getitem" or not is_view(node) or len(node.inputs) != 2 or node.inputs[1] not in step.ranges:
        return False
    first, *rest = node.param("index")
    return type(first) is Slot and set(rest) <= {FULL_SLICE}


def lies_in_rows(node: Node, in_rows: set[Node]) -> bool:
    """Does one row surely follow the other in memory?"""
    while node.op.name == "reshape" and is_view(node):
        node = node.inputs[0]
    return node in in_rows


def last_reader(step: ArrayStep, array: Node) -> int | None:
    """The last item of a step that looks into an array; None where anything but an operation does."""
    items: list[Any] = step.items[:-1]  # the last one has all that the next step needs
    readers = [
        (k, item)
        for k, item in enumerate(items)
        if array in map(step.root_of, step.plan.leaves[item] if type(item) is Node else item.leaves)
    ]
    return readers[-1][0] if readers and all([type(item) is Node for _, item in readers]) else None
