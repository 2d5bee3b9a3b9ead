"""Write loops whose bodies are on Python floats.

for y_k, (f, v) in zip(y.tolist(), reversed(steps)):        sequences are lists, which other loops have made, or arrays
    a = a + f * v
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tapec.codegen.common.block_items import Deferred
from tapec.codegen.common.block_lowering import BlockLowering
from tapec.codegen.common.expressions import Expr, Expression, parse_template, slots
from tapec.codegen.common.line_templates import APPEND, EMPTY_LIST
from tapec.codegen.common.made_names import made_name
from tapec.codegen.common.naming import Names, element_names, generic_name, identifier
from tapec.codegen.common.statements import Assign, Do, For, in_place, together
from tapec.codegen.floats.float_plan import FloatPlan
from tapec.codegen.floats.packing import NUMBER_OF, PACK
from tapec.codegen.floats.scalar_ops import float_op
from tapec.codegen.list_inputs import is_list
from tapec.codegen.numpy.target_ops import FLOAT_LOOP, UNPACK
from tapec.codegen.schedule.inlining import count_uses
from tapec.codegen.schedule.lifetimes import Lifetimes
from tapec.ir import CONSTANT, ITEM, Graph, Node, OpSet, ops
from tapec.ir.source_location import variable_for
from tapec.ir.static_index import Slice
from tapec.ops.control.loop import operands_of

if TYPE_CHECKING:
    from tapec.codegen.numpy.lowering import Lowering

__all__ = ["lower_float_loop"]

RANGE = parse_template("range(_0)", 1)
REVERSED = parse_template("reversed(_0)", 1)
TO_LIST = parse_template("_0.tolist()", 1)
PARTS, BACKWARDS = OpSet("getitem part_of_list"), Slice(None, None, -1)
SUMS = (float_op(ops.add), float_op(ops.subtract))
AS_ARRAY = parse_template("np.array(_0)", 1)


def lower_float_loop(outer: Lowering, node: Node, parts: dict[int, Node]) -> None:
    """Write the loop; `parts` are its results that are read."""
    _Loop(outer, node, parts).write()


class _Loop:
    """One loop while its lines are written.

    A carried value has one name before, in and after the loop. What is collected goes into a list as soon as it is
    known, so that a carried value may get its new value where that is computed; a loop that goes through the list calls
    its numbers by the names that they had.
    """

    def __init__(self, outer: Lowering, node: Node, parts: dict[int, Node]):
        self.outer, self.node, self.parts = outer, node, parts
        self.of = operands_of(node.inputs, **{k: v for k, v in node.given if k != "lists"})
        self.body, self.carried = node.bodies[0], node.param("carried")
        first = len(self.of.constants)
        self.states = self.body.inputs[first : first + self.carried]
        self.rows = self.body.inputs[first + self.carried :]
        self.packs = dict(enumerate(self.body.outputs[self.carried :], self.carried))
        self.changed = [k for k, state in enumerate(self.states) if self.body.outputs[k] is not state]
        self.called: dict[Node, Any] = dict(zip(self.body.inputs, map(outer.operand, self.of.constants)))
        self.taken: list[str] = []  # names that are free after the loop
        self.names: list[str] = []
        self.ended: set[str] = set()  # names of what carried values begin with, which nothing reads later
        self.lists: dict[int, str] = {}

    def write(self) -> None:
        outer, node = self.outer, self.node
        self.begin()
        inside = outer.names.branch()
        for name in self.ended:
            inside.release(name)
        inside.fixed.update(inside.taken)
        inside.fixed.difference_update([self.names[k] for k in self.changed])
        apart = elements_of_rows(self.body, self.rows)
        heads = [
            (self.targets(row, x, apart[row], inside), _walked(outer, x))
            for row, x in zip(self.rows, self.of.rows, strict=True)
        ]
        skipped = {n for group in apart.values() for n in group}
        plan = self.plan([n for n in self.body.nodes if n not in skipped and n.op not in (UNPACK, PACK)])
        inner = BlockLowering(Lifetimes(plan, inside, self.called), outer.space)
        lines = inner.block(self.items(plan))
        if len(heads) == 1:
            target, values = heads[0]
        elif heads:
            target = tuple([t for t, _ in heads])
            values = Expr(
                parse_template(f"zip({', '.join(slots(len(heads)))})", len(heads)), tuple([v for _, v in heads])
            )
        else:
            target, values = "_", Expr(RANGE, (node.param("count"),))
        outer.out += [For(target, values, lines, node.origin)] if lines else []  # a body may hand on what it is given
        for k, name in self.lists.items():
            if not _is_list(self.parts[k]):
                outer.out.append(Assign(name, Expr(AS_ARRAY, (name,))))
        for name in self.taken:
            outer.names.release(name)

    def begin(self) -> None:
        """Name what is carried, and write what it begins with."""
        outer, memory = self.outer, self.outer.memory
        lines: list[tuple[str, Expression]] = []
        for k, (state, x) in enumerate(zip(self.states, self.of.carried, strict=True)):
            value, part = outer.operand(x), self.parts.get(k)
            wish = identifier(self.wish(k) or generic_name(part or state))
            is_free = type(value) is str and value not in outer.names.fixed and memory.last_read.get(x) == memory.here
            is_free = is_free and x not in self.of.constants
            if is_free and (x.role == self.node.role or value == wish) and self.of.carried.count(x) == 1:
                memory.last_read[x] = -1  # the name goes on
                self.names.append(value)
            else:
                self.ended |= {value} if is_free else set()
                self.names.append(outer.names.take(identifier(wish)))
                lines.append((self.names[k], value))
            if part is None:
                self.taken.append(self.names[k])
            else:
                outer.name[part] = self.names[k]
        self.called |= zip(self.states, self.names, strict=True)
        outer.out += beginnings(lines)
        self.lists = {k: memory.call(part) for k, part in self.parts.items() if k >= self.carried}
        outer.out += [Assign(name, EMPTY_LIST) for name in self.lists.values()]

    def wish(self, k: int) -> str | None:
        """Return how a carried value is called: as the body has it, or its result, or what is added to it."""
        state, o, part = self.states[k], self.body.outputs[k], self.parts.get(k)
        name = state.name or o.name or (part and part.name)
        if not name and o.op in SUMS and state in o.inputs:
            name = next((i.name for i in o.inputs if i is not state), None)
        return name or None

    def targets(self, row: Node, x: Node, elements: Sequence[Node], inside: Names) -> Any:
        """Name the elements of a row, and return what stands between `for` and `in`."""
        known: Sequence[str | None] = ()
        source = x.inputs[0] if x.op in PARTS and len(x.inputs) == 1 else x
        if source in self.outer.kept:
            known = self.outer.kept[source]
        elif type(whole := self.outer.name.get(source)) is str:
            known = element_names(f"{whole}_k", row.type)
        wishes = [*known, *[None] * (row.type.size - len(known))]
        targets = ["_"] * row.type.size
        for e in elements:
            k = e.param("index") if row.type.shape else 0
            own = None if source in self.outer.kept else e.name or variable_for(row)
            e.name = inside.take(identifier(own or wishes[k] or e.name or "v"))  # products are called after it
            self.called[e] = targets[k] = e.name
        return _in_shape(targets, row.type.shape) if row.type.shape else targets[0]

    def plan(self, nodes: Sequence[Node]) -> FloatPlan:
        """Plan the lines: what is only handed on, or added to what is handed on, needs no name besides that one's."""
        handed = {self.body.outputs[k]: k for k in self.changed}
        wanted = [*self.body.outputs[: self.carried], *[i for k in self.lists for i in self.packs[k].inputs]]
        uses = count_uses(nodes, wanted)
        unnamed = {o for o in handed if uses[o] == 1}
        for o, k in handed.items():
            if o in unnamed and self.states[k] in o.inputs and o.op in SUMS:
                unnamed |= {i for i in o.inputs if uses[i] == 1 and identifier(i.name or "_") == self.names[k]}
        plan = FloatPlan(nodes, wanted, unnamed)
        plan.wishes |= {o: self.names[k] for o, k in handed.items() if o not in unnamed}
        self.leaves = {o: plan.nest_results([o]) for o in wanted}  # each has a line to itself
        plan.wishes |= {o: self.names[k] for o, k in handed.items() if o not in plan.nested}
        return plan

    def items(self, plan: FloatPlan) -> list[Any]:
        """Return the items of the body: numbers are appended as soon as they are there."""
        items: list[Any] = [n for n in plan.nodes if n not in plan.nested and n.op is not CONSTANT and n.op is not ITEM]
        for k in self.lists:
            leaves = tuple([leaf for i in self.packs[k].inputs for leaf in self.leaves[i]])
            after = max([j for j, item in enumerate(items, 1) if item in leaves], default=0)
            items.insert(after, Deferred(partial(self.append, k), leaves))
        ends = tuple([leaf for k in self.changed for leaf in self.leaves[self.body.outputs[k]]])
        return [*items, Deferred(self.finish, ends)]

    def append(self, k: int, inner: BlockLowering) -> None:
        pack = self.packs[k]
        values = [inner.operand(i) for i in pack.inputs]
        self.outer.kept[self.parts[k]] = [
            v if type(v) is str else made_name(i, inner.name) for v, i in zip(values, pack.inputs, strict=True)
        ]
        value = _tuple(values, pack.type.shape) if pack.type.shape else values[0]
        inner.out.append(Do(Expr(APPEND, (self.lists[k], value))))

    def finish(self, inner: BlockLowering) -> None:
        results = [(self.names[k], self.body.outputs[k]) for k in self.changed]
        inner.out += map(in_place, together([(name, inner.operand(o), o.origin) for name, o in results]))


def beginnings(lines: Sequence[tuple[str, Expression]]) -> list[Assign]:
    """Write what carried values begin with: equal numbers as `a = b = 0.0`."""
    equal: dict[Any, list[str]] = {}
    for name, value in lines:
        equal.setdefault(repr(value) if type(value) in (int, float) else name, []).append(name)
    values = dict(lines)
    return [Assign(names[0], values[names[0]], more=tuple(names[1:])) for names in equal.values()]


def elements_of_rows(body: Graph, rows: Sequence[Node]) -> dict[Node, list[Node]]:
    """Return the numbers that are taken out of each row."""
    apart: dict[Node, list[Node]] = {row: [] for row in rows}
    for n in body.nodes:
        source = n.inputs[0] if n.op is NUMBER_OF else None
        if n.op is ITEM and n.inputs[0].op is UNPACK:
            source = n.inputs[0].inputs[0]
        if source in apart:
            apart[source].append(n)
    return apart


def _walked(outer: Lowering, x: Node) -> Expression:
    """Write what a loop goes through."""
    turned = x.op in PARTS and _is_list(x.inputs[0])
    if turned and x in outer.plan.nested and x.param("index") == (BACKWARDS,):
        return Expr(REVERSED, (outer.operand(x.inputs[0]),))
    if turned or _is_list(x):
        return outer.operand(x)
    return Expr(TO_LIST, (outer.operand(x),))


def _is_list(x: Node) -> bool:
    """Return whether a value is a list: an argument, or made by a loop for others."""
    if is_list(x):
        return True
    if x.op is not ITEM or x.inputs[0].op is not FLOAT_LOOP:
        return False
    loop, k = x.inputs[0], x.param("index") - x.inputs[0].param("carried")
    return bool(0 <= k < loop.param("lists"))


def _tuple(values: Sequence[Expression], shape: tuple[int, ...]) -> Expr:
    """Write the numbers of a row as a tuple, of tuples if need be."""
    if len(shape) > 1:
        n = math.prod(shape[1:])
        values = [_tuple(values[k : k + n], shape[1:]) for k in range(0, len(values), n)]
    text = ", ".join(slots(len(values)))
    return Expr(parse_template(f"({text}{',' if len(values) == 1 else ''})", len(values)), tuple(values))


def _in_shape(targets: Sequence[str], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Return targets as those of a row: `(a, b)`, or `((a, b), (c, d))`."""
    if len(shape) < 2:
        return tuple(targets)
    n = math.prod(shape[1:])
    return tuple([_in_shape(targets[k : k + n], shape[1:]) for k in range(0, len(targets), n)])
