"""The lines of a program on floats that has loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tapec.codegen.arrange import Arranged
from tapec.codegen.expressions import Expr, parse_template, slots
from tapec.codegen.feeds import Block, Feed, Pick, slice_text
from tapec.codegen.float_lines import FloatLowering, FloatPlan
from tapec.codegen.items import Results
from tapec.codegen.names import generic_name, identifier
from tapec.codegen.statements import Assign, Do, For
from tapec.codegen.templates import APPEND, EMPTY_LIST
from tapec.ir import CONSTANT, Node

__all__ = ["RepeatLowering", "repeat_items", "repeat_plan"]

DIGITS = "_0123456789"
WIDEST = 90  # characters of a `for`; what is wider is unpacked on a line of its own


class Repeat(NamedTuple):
    block: Block
    leaves: tuple[Node, ...]


class Keep(NamedTuple):
    """`values.append((a, b))`."""

    values: Node
    elements: tuple[Node, ...]
    leaves: tuple[Node, ...]


class Next(NamedTuple):
    """The end of a step."""

    leaves: tuple[Node, ...]


def repeat_plan(program: Arranged) -> FloatPlan:
    """What loops read, and what is read on the other side of a loop, has a line of its own."""
    ends = list(program.outputs)
    stretch: dict[Node, int] = {}
    blocks = 0
    for x in program.order:
        if type(x) is Block:
            blocks += 1
            ends += x.read
        if type(x) is not Node:
            continue
        stretch[x] = blocks
        ends += [i for i in x.inputs if stretch.get(i, blocks) != blocks]
    return FloatPlan(list(stretch), ends)


def repeat_items(plan: FloatPlan, program: Arranged) -> list[Any]:
    results = Results(tuple(program.outputs), plan.nest_results(program.outputs))
    items: list[Any] = []
    for x in program.order:
        if type(x) is Block:
            items.append(Repeat(x, tuple(x.read)))
        elif type(x) is Pick or (x in plan.uses and x not in plan.nested and x.op is not CONSTANT):
            items.append(x)
    return [*items, results]


class RepeatLowering(FloatLowering):
    """Lines, and loops between them."""

    def results(self, item: Any) -> None:
        if type(item) is Repeat:
            self.repeat(item.block)
            self.bury(item.leaves)
        elif type(item) is Pick:
            value = Expr(parse_template(f"_0[{item.place}]", 1), (self.name[item.values],))
            self.bury(item.leaves)
            self.out.append(Assign(self.targets(item.targets), value))
        else:
            super().results(item)

    def targets(self, nodes: list[Node | None], known: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Names of what is unpacked: those that the values had, if they are free."""
        for k, t in enumerate(nodes):
            if t is not None:
                self.name[t] = self.names.take(known[k] if known else identifier(t.name or generic_name(t)))
        return tuple(["_" if t is None else self.name[t] for t in nodes])

    def repeat(self, block: Block) -> None:
        names, name = self.names, self.name
        for values in block.kept.values():
            name[values] = names.take(identifier(values.name or "steps"))
            self.out.append(Assign(name[values], EMPTY_LIST))
        inside = {i for n in (*block.again, *block.body) for i in n.inputs}
        firsts = list(block.first.values())
        for key, before in block.before.items():
            first = block.first[key]
            self.begin(before, first, block.body[key[0]], first in inside or firsts.count(first) > 1)
        gone = [i for i in dict.fromkeys(firsts) if i not in inside and self.last_read.get(i) == self.here]
        self.bury(gone)  # so what goes along their steps can have their names
        mark = names.mark()
        names.fixed.update([name[b] for b in block.before.values()])
        lowering = StepLowering(self.plan, names, name, self.space)
        lines: list[Any] = []
        target, along = self.head(block, lines)
        lines += lowering.step(block)
        self.out.append(For(target, along, lines))
        for node, p in block.left.items():
            name[node] = name[block.before.get((p, 1), block.body[p])]
        left = {name[n] for n in block.left}
        names.back_to(mark, left)
        for before in block.before.values():
            if name[before] not in left and name[before] not in names.fixed:
                names.release(name[before])

    def begin(self, before: Node, first: Node, later: Node, inside: bool) -> None:
        """What a step finds has one name in all steps: that of the value it begins with, where it is called alike and
        nobody else needs it."""
        own, wish = self.name.get(first), identifier(later.name) if later.name else generic_name(later)
        if own is not None and own.rstrip(DIGITS) == wish.rstrip(DIGITS) and own not in self.kept_names:
            if not inside and self.last_read.get(first) == self.here:
                self.last_read[first] = -1
                del self.name[first]
                self.name[before] = own
                self.names.fixed.discard(own)
                return
        value = self.operand(first)
        self.name[before] = self.names.take(wish)
        self.out.append(Assign(self.name[before], value))

    kept_names: frozenset[str] = frozenset()

    def head(self, block: Block, lines: list[Any]) -> tuple[Any, Expr]:
        """`for a, b in ...`."""
        if not block.feeds:
            return "_", Expr(parse_template(f"range({block.count})", 0), ())
        texts, lists, targets = [], [], []
        for k, feed in enumerate(block.feeds):
            text = slice_text(f"_{k}", feed.length, feed.start, feed.stride, block.count)
            texts.append(f"reversed(_{k})" if text == f"_{k}[::-1]" else text)  # which makes no list
            lists.append(self.name[feed.values])
            targets.append(self.target(feed, lines))
        text = f"zip({', '.join(texts)})" if len(texts) > 1 else texts[0]
        return tuple(targets) if len(targets) > 1 else targets[0], Expr(parse_template(text, len(lists)), tuple(lists))

    def target(self, feed: Feed, lines: list[Any]) -> Any:
        called = self.targets(feed.targets, tuple([self.name[e] for e in feed.elements]))
        if len(called) == 1:
            return called[0]
        if sum(map(len, called)) + 2 * len(called) < WIDEST:
            return called
        step = self.names.take("step")
        lines.append(Assign(called, step))
        return step


class StepLowering(FloatLowering):
    """The lines of one step; `later` has what each value that it finds is in the next, `heir` the same by that."""

    later: dict[Node, Node]
    heir: dict[Node, Node]

    def step(self, block: Block) -> list[Any]:
        before = block.before
        later = {b: block.body[p] if d == 1 else before[p, d - 1] for (p, d), b in before.items()}
        self.later = later
        self.heir = {}
        for b, node in later.items():
            self.heir.setdefault(node, b)
        left = [block.body[p] for p in block.left.values()]
        kept = [e for elements in block.kept for e in elements if e not in later]
        self.plan = plan = FloatPlan([*block.again, *block.body], [*later.values(), *kept, *left])
        items: list[Any] = [n for n in plan.nodes if n not in plan.nested and n.op is not CONSTANT]
        for elements, values in block.kept.items():
            last = max([items.index(e) for e in elements if e in plan.templates], default=-1)
            items.insert(last + 1, Keep(values, elements, elements))
        items.append(Next((*later.values(), *left, *block.read)))
        return self.block(items)

    def value(self, node: Node, leaves: Sequence[Node]) -> None:
        before = self.heir.get(node)
        if before is None or self.last_read.get(before, -1) > self.here:
            super().value(node, leaves)
            return
        value = self.express(node)
        self.bury(leaves)
        name = self.name[node] = self.name[before]
        self.out.append(Assign(name, value, node.origin))

    def results(self, item: Any) -> None:
        if type(item) is Keep:
            called = tuple([self.operand(e) for e in item.elements])
            kept = called[0] if len(called) == 1 else in_tuple(called)
            self.out.append(Do(Expr(APPEND, (self.name[item.values], kept))))
            self.bury(item.leaves)
            return
        moves = [(self.name[b], self.name[node]) for b, node in self.later.items()]
        moves = [(b, n) for b, n in moves if b != n]
        if len(moves) == 1:
            self.out.append(Assign(*moves[0]))
        elif moves:
            called, values = zip(*moves)
            self.out.append(Assign(called, in_tuple(values)))


def in_tuple(values: tuple[Any, ...]) -> Expr:
    return Expr(parse_template(f"({', '.join(slots(len(values)))})", len(values)), values)
