"""Write the lines of a program that has loops: around them, and of one step."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from functools import partial
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.common.block_items import Deferred, Results
from tapec.codegen.common.block_lowering import BlockLowering
from tapec.codegen.common.expressions import Expr, parse_template, slots
from tapec.codegen.common.line_templates import APPEND, EMPTY_LIST
from tapec.codegen.common.made_names import WORDS_ALONE, wished_name
from tapec.codegen.common.naming import Names, generic_name, identifier
from tapec.codegen.common.statements import Assign, Do, For, target_width
from tapec.codegen.floats.float_plan import FloatPlan
from tapec.codegen.loops.arrange_loops import Arranged
from tapec.codegen.loops.found_loop import Carried
from tapec.codegen.loops.induction_variables import range_text
from tapec.codegen.loops.loop_model import Block, Feed, Pick, slice_text
from tapec.codegen.schedule.inlining import Plan
from tapec.codegen.schedule.lifetimes import Lifetimes
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, ITEM, Node

__all__ = ["Carrying", "LoopLines", "repeat_items", "repeat_plan"]

DIGITS = "_0123456789"
POP = parse_template("_0.pop()", 1)


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


def repeat_items(plan: Plan, program: Arranged, kind: Callable[..., LoopLines]) -> list[Any]:
    """Return the items of a program with loops, in order; `kind` writes a loop, and is told whether one follows."""
    results = Results(program.outputs, plan.nest_results(program.outputs))
    items: list[Any] = []
    more = False
    for x in reversed(program.order):
        if type(x) is Block:
            items.append(Deferred(partial(_loop, kind, x, more), tuple(x.read)))
            more = True
        elif type(x) is Pick:
            items.append(Deferred(partial(_pick, x), x.leaves))
        elif x in plan.uses and x not in plan.nested and x.op not in (CONSTANT, ITEM):
            items.append(x)
    return [*reversed(items), results]


def _loop(kind: Callable[..., LoopLines], block: Block, more: bool, low: BlockLowering) -> None:
    kind(low, block, more).write()


def _pick(pick: Pick, low: BlockLowering) -> None:
    """Write `a, _, b = steps[-1]`."""
    value = Expr(parse_template(f"_0[{pick.place}]", 1), (low.name[pick.values],))
    low.memory.free_dead(pick.leaves)
    low.out.append(Assign(targets(low, pick.targets), value))


def targets(low: BlockLowering, nodes: list[Node | None], known: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Name the values of an unpacking as they were named before, if these names are free."""
    for k, t in enumerate(nodes):
        if t is not None:
            low.name[t] = low.names.take(known[k] if known else identifier(t.name or generic_name(t)))
    return tuple(["_" if t is None else low.name[t] for t in nodes])


class Carrying(NamedTuple):
    """Tells what a step hands on: it finds values that the step before has left, and computes those of the next one.

    `later` maps a value found to the one computed for the next step, `found` is the inverse of that.
    """

    later: dict[Node, Node]
    found: dict[Node, Node]

    def moves(self, name: Mapping[Node, str]) -> list[tuple[str, str]]:
        """Return the names by which the next step finds its values, each with the name where the value is."""
        moves = [(name[b], name[node]) for b, node in self.later.items()]
        return [(b, n) for b, n in moves if b != n]


class StepNames(Lifetimes):
    """The names of the numbers of a step: what the next step finds has the name of what this one has found, if free."""

    def __init__(self, plan: Plan, names: Names, name: dict[Node, str], carrying: Carrying):
        super().__init__(plan, names, name)
        self.carrying = carrying

    def call(self, node: Node) -> str:
        before = self.carrying.found.get(node)
        if before is None or self.last_read.get(before, -1) > self.here:
            return super().call(node)
        name = self.name[node] = self.name[before]
        return name

    def moves(self) -> list[tuple[str, str]]:
        return self.carrying.moves(self.name)


class LoopLines:
    """Writes one loop, and the lines around it, on floats; `more` tells whether another loop follows.

    `params` are parameters of the function, whose names no other value may have.
    """

    def __init__(self, low: Any, block: Block, more: bool, params: Container[str] = ()):
        self.params = params
        self.low = low
        self.block = block
        self.more = more

    def write(self) -> None:
        """Write the lists that a loop fills, the values that its first step finds, and the `for` with one step."""
        low, block = self.low, self.block
        names, name = low.names, low.name
        for elements, values in block.kept.items():
            own = wished_name(elements[0]) if len(elements) == 1 else None
            name[values] = names.take(identifier(values.name or (f"{own}s" if own else "steps")))
            low.out.append(Assign(name[values], EMPTY_LIST))
        inside = {i for n in (*block.recomputed, *block.body) for i in n.inputs}
        firsts = list(block.first.values())
        for key, before in block.before.items():
            first = block.first[key]
            self.begin(key, before, first, first in inside or firsts.count(first) > 1)
        self.begun(firsts, inside)
        mark = names.mark()
        names.fixed.update([name[b] for b in block.before.values()])
        lines: list[Any] = []
        target, along = self.head(lines)
        step = self.step()
        lines += step.out
        self.before(step.memory)
        low.out.append(For(target, along, lines))
        for node, p in block.final_values.items():
            name[node] = name[block.before.get((p, 1), block.body[p])]
        left = {name[n] for n in block.final_values} | self.after(step.memory)
        names.back_to(mark, left)
        for before in block.before.values():
            if name[before] not in left and name[before] not in names.fixed:
                names.release(name[before])

    # -- around the loop --------------------------------------------------------------------------------------------
    def begin(self, key: Carried, before: Node, first: Node, inside: bool) -> None:
        """Name a value that steps find, the same in all steps.

        It has the name of the value it begins with, where that is named alike and nobody else needs it.
        """
        low, memory = self.low, self.low.memory
        own, wish = low.name.get(first), self.called_like(key[0])
        stems = {name.rstrip(DIGITS) for name in (own, wish) if name}
        alike = own is not None and own not in self.params and (len(stems) == 1 or stems <= WORDS_ALONE)
        if alike and not inside and memory.last_read.get(first) == memory.here:
            memory.last_read[first] = -1
            low.name[before] = low.name.pop(first)
            low.names.fixed.discard(own)
            return
        value = low.operand(first)
        low.name[before] = low.names.take(wish)
        low.out.append(Assign(low.name[before], value))

    def begun(self, firsts: list[Node], inside: set[Node]) -> None:
        """Free the names of values that end here, so that values of the steps can have them."""
        memory = self.low.memory
        memory.free_dead(
            [i for i in dict.fromkeys(firsts) if i not in inside and memory.last_read.get(i) == memory.here]
        )

    def before(self, memory: Any) -> None:
        """Write the lines that must stand before a loop, the memory of whose steps is known."""

    def after(self, memory: Any) -> set[str]:
        """Free what has been in use in a loop; return the names that are still needed."""
        return set()

    def called_like(self, p: int) -> str:
        """Return the name for a value of a step: the user's, or that of the value of the last step."""
        later, last = self.block.body[p], self.block.loop.steps[-1][p]
        final = wished_name(last) if last in self.block.final_values else ""
        return identifier(wished_name(later) or final or self.letter(last))

    def letter(self, node: Node) -> str:
        """Return the name for a value that has none."""
        return generic_name(node)

    def pops(self, feed: Feed) -> bool:
        """Return whether each step takes from the list for good what it reads."""
        return False

    # -- one step ---------------------------------------------------------------------------------------------------
    def step(self) -> BlockLowering:
        """Write the lines of one step; return the lowering that has written them."""
        block, before = self.block, self.block.before
        later = {b: block.body[p] if d == 1 else before[p, d - 1] for (p, d), b in before.items()}
        carrying = Carrying(later, {node: b for b, node in reversed(later.items())})
        left = [block.body[p] for p in block.final_values.values()]
        kept = [e for elements in block.kept for e in elements if e not in later]
        low = self.inner([*block.recomputed, *block.body], [*later.values(), *kept, *left], carrying)
        items: list[Any] = [n for n in low.plan.nodes if n not in low.plan.nested and n.op not in (CONSTANT, ITEM)]
        for elements, values in block.kept.items():
            made = {e.inputs[0] if e.op is ITEM else e for e in elements}
            last = max([k for k, n in enumerate(items) if n in made], default=-1)
            items.insert(last + 1, Deferred(partial(_keep, values, elements), elements))
        items.append(Deferred(_move, (*later.values(), *left, *block.read), open=True))
        low.block(items)
        return low

    def inner(self, nodes: list[Node], ends: list[Node], carrying: Carrying) -> BlockLowering:
        """Return the lowering for a step of these nodes, which needs what it ends with."""
        names = StepNames(FloatPlan(nodes, ends), self.low.names, self.low.name, carrying)
        return BlockLowering(names, self.low.space)

    def head(self, lines: list[Any]) -> tuple[Any, Expr]:
        """Write `for a, b in ...`; return the targets and what they go along."""
        low, block = self.low, self.block
        texts: list[str] = []
        lists: list[str] = []
        heads: list[Any] = []
        for feed in block.feeds:
            called = targets(low, feed.targets, tuple([low.name[e] for e in feed.elements]))
            target = called if len(called) > 1 else called[0]
            if type(feed.values) is range:
                texts.append(range_text(feed.values))
            elif self.pops(feed):
                lines.append(Assign(target, Expr(POP, (low.name[feed.values],))))
                continue
            else:
                text = slice_text(f"_{len(lists)}", feed.length, feed.start, feed.stride, block.count)
                # a slice would make a list
                texts.append(f"reversed(_{len(lists)})" if text.endswith("[::-1]") else text)
                lists.append(low.name[feed.values])
            heads.append(target)
        if not texts:
            return "_", Expr(parse_template(f"range({block.count})", 0), ())
        text = f"zip({', '.join(texts)})" if len(texts) > 1 else texts[0]
        if target_width(heads) + len(text) > tuning.FOR_MAX_CHARACTERS:
            heads = [t if type(t) is str else self.taken_apart(t, lines) for t in heads]
        return tuple(heads) if len(heads) > 1 else heads[0], Expr(parse_template(text, len(lists)), tuple(lists))

    def taken_apart(self, target: Any, lines: list[Any]) -> str:
        step = self.low.names.take("step")
        lines.append(Assign(target, step))
        return step


def _keep(values: Node, elements: tuple[Node, ...], low: BlockLowering) -> None:
    """Write `values.append((a, b))`, which puts values of a step into a list."""
    called = tuple(map(low.operand, elements))
    kept = called[0] if len(called) == 1 else in_tuple(called)
    low.out.append(Do(Expr(APPEND, (low.name[values], kept))))


def _move(low: Any) -> None:
    """Write the end of a step: its values move to the names by which the next step finds them."""
    moves = low.memory.moves()
    if len(moves) == 1:
        low.out.append(Assign(*moves[0]))
    elif moves:
        called, values = zip(*moves)
        low.out.append(Assign(called, in_tuple(values)))


def in_tuple(values: tuple[Any, ...]) -> Expr:
    return Expr(parse_template(f"({', '.join(slots(len(values)))})", len(values)), values)
