"""Decide which rows that a loop collects stay in a Python list: those that only other loops read, row by row.

slopes = []
for x in xs:
    slope = 1.0 - np.tanh(w * x)
    slopes.append(slope)                 nothing is copied, and no array for all of them has to be made
...
for slope in reversed(slopes):
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tapec.codegen.numpy.scatter_forms import is_scatter, is_write
from tapec.codegen.schedule.inlining import Plan, is_view
from tapec.ir import CONSTANT, INPUT, Node, ops
from tapec.ir.static_index import Slice
from tapec.ops.control.loop import LOOP, operands_of

__all__ = ["listed_rows"]


def listed_rows(plan: Plan, loop: Node, collected: Mapping[int, Node], changed: Collection[int]) -> set[int]:
    """Return which of the values that a loop collects may be kept in lists.

    `collected` are the arrays that are read outside, by their place among the results; `changed` are the places of
    carried arrays that the loop changes in place.
    """
    if plan.checked:
        return set()
    body = loop.bodies[0]
    types = [body.outputs[k].type for k in changed]
    return {
        k
        for k, whole in collected.items()
        if _is_safe_to_keep(plan, body.outputs[k], types) and _is_read_by_rows(plan, whole)
    }


def _is_safe_to_keep(plan: Plan, row: Node, changed: Collection[Any]) -> bool:
    """Return whether nothing writes to a row later on: the loop has made it, and it is no view of what the loop was
    given, nor of an array of a type that is `changed`."""
    if row.type.weak or plan.is_big(row.type):
        return False
    while is_view(row):
        row = row.inputs[0]
    is_made = row.op is not INPUT and row.op is not CONSTANT
    return is_made and row.type not in changed and not is_write(row) and not is_scatter(row)


def _is_read_by_rows(plan: Plan, whole: Node) -> bool:
    """Return whether all that read an array are loops that go through its rows, from either end."""
    reads = 0
    for node in plan.nodes:
        count = node.inputs.count(whole)
        if not count:
            continue
        reads += count
        if _is_part(node):
            readers = [n for n in plan.nodes if node in n.inputs]
            if plan.uses[node] != sum([_rows(n).count(node) for n in readers]):
                return False
        elif _rows(node).count(whole) != count:
            return False
    return reads == plan.uses[whole]


def _is_part(node: Node) -> bool:
    """Return whether a value is a stretch of the rows of another one."""
    index: Any = node.param("index") if node.op is ops.getitem and len(node.inputs) == 1 else ()
    return len(index) == 1 and type(index[0]) is Slice


def _rows(node: Node) -> tuple[Node, ...]:
    """Return what a loop goes through row by row; nothing for other operations."""
    return tuple(operands_of(node.inputs, **dict(node.given)).rows) if node.op is LOOP else ()
