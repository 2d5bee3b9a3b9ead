"""Write the lines of a program that has loops: around them, and of one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.common.block_items import Repeat, Results
from tapec.codegen.common.block_lowering import BlockLowering
from tapec.codegen.common.expressions import Expr, parse_template, slots
from tapec.codegen.common.line_templates import APPEND, EMPTY_LIST
from tapec.codegen.common.naming import generic_name, identifier, wished_name
from tapec.codegen.common.statements import Assign, Do, For, target_width
from tapec.codegen.floats.float_lowering import FloatLowering, FloatPlan
from tapec.codegen.loops.arrange_loops import Arranged
from tapec.codegen.loops.found_loop import Carried
from tapec.codegen.loops.induction_variables import range_text
from tapec.codegen.loops.loop_model import Block, Feed, Pick, slice_text
from tapec.codegen.schedule.inlining import Plan
from tapec.codegen.schedule.lifetimes import Lifetimes
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, ITEM, Node

__all__ = ["RepeatLowering", "Repeating", "Stepping", "repeat_items", "repeat_plan"]

DIGITS = "_0123456789"
POP = parse_template("_0.pop()", 1)


class Keep(NamedTuple):
    """`values.append((a, b))` puts values of a step into a list."""

    values: Node
    elements: tuple[Node, ...]
    leaves: tuple[Node, ...]


class Next(NamedTuple):
    """The end of a step: its values move to the names by which the next step finds them."""

    leaves: tuple[Node, ...]


def repeat_plan(program: Arranged, kind: type[Plan] = FloatPlan) -> Plan:
    """Return a plan in which all that loops read, or that is read across a loop, has a line of its own."""
    ends = list(program.outputs)
    stretch: dict[Node, int] = {}
    before = 0
    for x in program.order:
        if type(x) is Block:
            before += 1
            ends += x.read
        if type(x) is not Node:
            continue
        stretch[x] = before
        ends += [i for i in x.inputs if stretch.get(i, before) != before]
    plan = kind(list(stretch), ends)
    blocks = [x for x in program.order if type(x) is Block]
    begun = [n for x in blocks for n in x.first.values()]
    in_steps = {i for x in blocks for n in (*x.recomputed, *x.body) for i in n.inputs}
    plan.nested.update([n for n in begun if n.op.kind == "creation" and plan.uses[n] == 1 and n not in in_steps])
    return plan


def repeat_items(plan: Plan, program: Arranged) -> list[Any]:
    """Return the items of a program with loops, in order."""
    results = Results(program.outputs, plan.nest_results(program.outputs))
    items: list[Any] = []
    for x in program.order:
        if type(x) is Block:
            items.append(Repeat(x, tuple(x.read)))
        elif type(x) is Pick or (x in plan.uses and x not in plan.nested and x.op not in (CONSTANT, ITEM)):
            items.append(x)
    return [*items, results]


class Repeating(BlockLowering):
    """Writes lines, and loops between them."""

    kept_names: frozenset[str] = frozenset()

    def results(self, item: Any) -> None:
        if type(item) is Repeat:
            self.repeat(item.block)
            self.memory.free_dead(item.leaves)
        elif type(item) is Pick:
            value = Expr(parse_template(f"_0[{item.place}]", 1), (self.name[item.values],))
            self.memory.free_dead(item.leaves)
            self.out.append(Assign(self.targets(item.targets), value))
        else:
            super().results(item)

    def targets(self, nodes: list[Node | None], known: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Name the values of an unpacking as they were named before, if these names are free."""
        for k, t in enumerate(nodes):
            if t is not None:
                self.name[t] = self.names.take(known[k] if known else identifier(t.name or generic_name(t)))
        return tuple(["_" if t is None else self.name[t] for t in nodes])

    def repeat(self, block: Block) -> None:
        """Write a loop: the lists that it fills, the values that its first step finds, and the `for` with one step."""
        names, name = self.names, self.name
        for elements, values in block.kept.items():
            own = wished_name(elements[0]) if len(elements) == 1 else None
            name[values] = names.take(identifier(values.name or (f"{own}s" if own else "steps")))
            self.out.append(Assign(name[values], EMPTY_LIST))
        inside = {i for n in (*block.recomputed, *block.body) for i in n.inputs}
        firsts = list(block.first.values())
        for key, before in block.before.items():
            first = block.first[key]
            self.begin(key, before, first, first in inside or firsts.count(first) > 1)
        self.begun(firsts, inside)
        mark = names.mark()
        names.fixed.update([name[b] for b in block.before.values()])
        lowering = self.stepping()
        lines: list[Any] = []
        target, along = self.head(block, lines)
        lines += lowering.step(block)
        self.before(block, lowering)
        self.out.append(For(target, along, lines))
        for node, p in block.final_values.items():
            name[node] = name[block.before.get((p, 1), block.body[p])]
        left = {name[n] for n in block.final_values} | self.after(block, lowering)
        names.back_to(mark, left)
        for before in block.before.values():
            if name[before] not in left and name[before] not in names.fixed:
                names.release(name[before])

    def called_like(self, p: int) -> str:
        """Return the name for a value of a step: the user's, or that of the value of the last step."""
        block = self.memory.items[self.memory.here].block
        later, last = block.body[p], block.loop.steps[-1][p]
        final = wished_name(last) if last in block.final_values else ""
        return identifier(wished_name(later) or final or self.letter(last))

    def letter(self, node: Node) -> str:
        """Return the name for a value that has none."""
        return generic_name(node)

    def stepping(self) -> Any:
        """Return the lowering for the body of a loop."""
        raise NotImplementedError

    def begun(self, firsts: list[Node], inside: set[Node]) -> None:
        """Do what can be done once all that the first step finds has a name."""

    def before(self, block: Block, lowering: Any) -> None:
        """Write the lines that must stand before a loop."""

    def after(self, block: Block, lowering: Any) -> set[str]:
        """Free what has been in use in a loop; return the names that are still needed."""
        return set()

    def begin(self, key: Carried, before: Node, first: Node, inside: bool) -> None:
        """Name a value that steps find, the same in all steps.

        It has the name of the value it begins with, where that is named alike and nobody else needs it.
        """
        own, wish = self.name.get(first), self.called_like(key[0])
        if own is not None and own.rstrip(DIGITS) == wish.rstrip(DIGITS) and own not in self.kept_names:
            if not inside and self.memory.last_read.get(first) == self.memory.here:
                self.memory.last_read[first] = -1
                del self.name[first]
                self.name[before] = own
                self.names.fixed.discard(own)
                return
        value = self.operand(first)
        self.name[before] = self.names.take(wish)
        self.out.append(Assign(self.name[before], value))

    def head(self, block: Block, lines: list[Any]) -> tuple[Any, Expr]:
        """Write `for a, b in ...`; return the targets and what they go along."""
        texts: list[str] = []
        lists: list[str] = []
        targets: list[Any] = []
        for feed in block.feeds:
            called = self.targets(feed.targets, tuple([self.name[e] for e in feed.elements]))
            target = called if len(called) > 1 else called[0]
            if type(feed.values) is range:
                texts.append(range_text(feed.values))
            elif self.pops(block, feed):
                lines.append(Assign(target, Expr(POP, (self.name[feed.values],))))
                continue
            else:
                text = slice_text(f"_{len(lists)}", feed.length, feed.start, feed.stride, block.count)
                # a slice would make a list
                texts.append(f"reversed(_{len(lists)})" if text.endswith("[::-1]") else text)
                lists.append(self.name[feed.values])
            targets.append(target)
        if not texts:
            return "_", Expr(parse_template(f"range({block.count})", 0), ())
        text = f"zip({', '.join(texts)})" if len(texts) > 1 else texts[0]
        if target_width(targets) + len(text) > tuning.FOR_MAX_CHARACTERS:
            targets = [t if type(t) is str else self.taken_apart(t, lines) for t in targets]
        return tuple(targets) if len(targets) > 1 else targets[0], Expr(parse_template(text, len(lists)), tuple(lists))

    def pops(self, block: Block, feed: Feed) -> bool:
        """Return whether each step takes from the list for good what it reads."""
        return False

    def taken_apart(self, target: Any, lines: list[Any]) -> str:
        step = self.names.take("step")
        lines.append(Assign(target, step))
        return step


class RepeatLowering(Repeating, FloatLowering):
    """Writes loops on floats."""

    def begun(self, firsts: list[Node], inside: set[Node]) -> None:
        """Free the names of values that end here, so that values of the steps can have them."""
        self.memory.free_dead(
            [i for i in dict.fromkeys(firsts) if i not in inside and self.memory.last_read.get(i) == self.memory.here]
        )

    def stepping(self) -> StepLowering:
        return StepLowering(Lifetimes(self.plan, self.names, self.name), self.space)


class Stepping(BlockLowering):
    """Writes the lines of one step.

    A step finds values that the step before has left, and computes those that the next one finds in their places:
    `next_value` maps a value found to the one computed for the next step, `carried_as` is the inverse of that.
    """

    next_value: dict[Node, Node]
    carried_as: dict[Node, Node]

    def step(self, block: Block) -> list[Any]:
        """Return the lines of one step."""
        before = block.before
        later = {b: block.body[p] if d == 1 else before[p, d - 1] for (p, d), b in before.items()}
        self.next_value = later
        self.carried_as = {}
        for b, node in later.items():
            self.carried_as.setdefault(node, b)
        left = [block.body[p] for p in block.final_values.values()]
        kept = [e for elements in block.kept for e in elements if e not in later]
        self.plan = self.memory.plan = plan = self.planned(
            [*block.recomputed, *block.body], [*later.values(), *kept, *left]
        )
        items: list[Any] = [n for n in plan.nodes if n not in plan.nested and n.op not in (CONSTANT, ITEM)]
        for elements, values in block.kept.items():
            made = {e.inputs[0] if e.op is ITEM else e for e in elements}
            last = max([k for k, n in enumerate(items) if n in made], default=-1)
            items.insert(last + 1, Keep(values, elements, elements))
        items.append(Next((*later.values(), *left, *block.read)))
        self.prepare(block)
        return self.block(items)

    def planned(self, nodes: list[Node], ends: list[Node]) -> Plan:
        return FloatPlan(nodes, ends)

    def prepare(self, block: Block) -> None:
        """Find out what has to be known of a step before its lines are written."""

    def results(self, item: Any) -> None:
        if type(item) is Keep:
            called = tuple([self.operand(e) for e in item.elements])
            kept = called[0] if len(called) == 1 else in_tuple(called)
            self.out.append(Do(Expr(APPEND, (self.name[item.values], kept))))
            self.memory.free_dead(item.leaves)
            return
        moves = self.moves()
        if len(moves) == 1:
            self.out.append(Assign(*moves[0]))
        elif moves:
            called, values = zip(*moves)
            self.out.append(Assign(called, in_tuple(values)))

    def moves(self) -> list[tuple[str, str]]:
        """Return the names by which the next step finds its values, each with the name where the value is."""
        found = [(self.name[b], self.name[node]) for b, node in self.next_value.items()]
        return [(b, n) for b, n in found if b != n]


class StepLowering(Stepping, FloatLowering):
    """Writes a step on floats."""

    def value(self, node: Node, leaves: Sequence[Node]) -> None:
        before = self.carried_as.get(node)
        if before is None or self.memory.last_read.get(before, -1) > self.memory.here:
            super().value(node, leaves)
            return
        value = self.express(node)
        self.memory.free_dead(leaves)
        name = self.name[node] = self.name[before]
        self.out.append(Assign(name, value, node.origin))


def in_tuple(values: tuple[Any, ...]) -> Expr:
    return Expr(parse_template(f"({', '.join(slots(len(values)))})", len(values)), values)
