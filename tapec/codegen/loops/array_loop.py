"""Write loops of programs on arrays.

What each step computes is in arrays that are made once, before the loop; what is kept for later is an array of its own
in each step.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.common.block_items import Repeat, Results
from tapec.codegen.common.expressions import Expr
from tapec.codegen.common.line_templates import COPY, new_array
from tapec.codegen.common.naming import identifier
from tapec.codegen.common.statements import Assign, Delete
from tapec.codegen.loops.arrange_loops import arranged
from tapec.codegen.loops.array_step import ArrayStep
from tapec.codegen.loops.found_loop import Carried
from tapec.codegen.loops.index_operands import put_numbers_back
from tapec.codegen.loops.loop_lowering import DIGITS, Repeating, repeat_items, repeat_plan
from tapec.codegen.loops.loop_model import Block, Feed
from tapec.codegen.numpy.lowering import Lowering
from tapec.codegen.numpy.scatter_lines import Filled
from tapec.codegen.schedule.inlining import Plan, is_big, is_view
from tapec.ir import Graph, Node, ops
from tapec.ir.cost import bytes_of
from tapec.ir.types import Type
from tapec.locks import computed_once

__all__ = ["ArrayRepeats", "in_loops"]


def in_loops(graph: Graph, least: int) -> tuple[type[ArrayRepeats], Plan, list[Any]] | None:
    """Return lowering, plan and items of a program that has loops; None where they spare too few operations."""
    found = arranged(graph, least)
    if found is None:
        return None
    for x in found.order:
        put_numbers_back([x] if type(x) is Node else [*x.recomputed, *x.body] if type(x) is Block else ())
    plan = repeat_plan(found, Plan)
    return ArrayRepeats, plan, repeat_items(plan, found)


class ArrayRepeats(Repeating, Lowering):
    """Writes programs with loops on arrays.

    `called` are the lines that give an array the name by which steps find it, `kept` has the bytes in each list.
    """

    def __init__(self, *given: Any):
        super().__init__(*given)
        self.called: dict[str, int] = {}
        self.kept: dict[Any, int] = {}

    def stepping(self) -> ArrayStep:
        return ArrayStep(self)

    # -- what the first step finds ----------------------------------------------------------------------------------
    def begin(self, key: Carried, before: Node, first: Node, inside: bool) -> None:
        """Give a value that steps find the array of the value it begins with, if nobody else needs that.

        Else the value has another name, and is copied if steps turn out to write into it.
        """
        if not before.type.shape:
            super().begin(key, before, first, inside)
        elif not inside and self.ends_here(first):
            self.take_over(before, first, self.called_like(key[0]))
        else:
            wish = self.called_like(key[0])
            if len(wish) == 1:
                wish = identifier(self.plan.wishes.get(first, wish))
            name = self.name[before] = self.names.take(wish)
            value = self.operand(first)
            if type(value) is str:
                self.called[name] = len(self.out)
            else:
                self.memory.use.allocate(before.type)
                self.memory.use.moved += self.memory.use.traffic(first)
                if first.op is ops.full and not first.param("value"):
                    self.places.filled[before] = Filled(0, bytearray(), 0, self.out, len(self.out))
            self.out.append(Assign(name, value))

    def ends_here(self, first: Node) -> bool:
        """Return whether a value is an array of our own that only this loop reads."""
        block = self.memory.items[self.memory.here].block
        return (
            self.memory.is_overwritable(first, first.type)
            and [self.memory.root_of(i) for i in block.read].count(first) == 1
        )

    def take_over(self, before: Node, first: Node, wish: str) -> None:
        """Give the array of `first` to the value that steps find, under its old name if that fits."""
        old = self.name.pop(first)
        self.memory.owned.discard(first)
        self.memory.last_read[first] = -1
        if first in self.places.filled:
            self.places.filled[before] = self.places.filled.pop(first)
        if len(wish) == 1 or old.rstrip(DIGITS) == wish:
            self.name[before] = old
            return
        self.name[before] = self.names.take(wish)
        self.out.append(Assign(self.name[before], old))
        self.names.release(old)

    def letter(self, node: Node) -> str:
        return self.memory.wish(node)  # the name of what will be made in its memory

    # -- lists ------------------------------------------------------------------------------------------------------
    def pops(self, block: Block, feed: Feed) -> bool:
        """Return whether each step takes an array from a list for good: it is free then for what the step keeps."""
        backward = feed.stride == -1 and feed.start == feed.length - 1 and self.is_last(feed)
        once = feed.values in self.kept and [f.values for f in block.feeds].count(feed.values) == 1
        return backward and once and bool(block.kept)

    def is_last(self, feed: Feed) -> bool:
        """Return whether nobody reads the list after this loop."""
        return type(feed.values) is Node and self.memory.last_read.get(feed.values) == self.memory.here

    def lists_over(self, block: Block) -> list[str]:
        """Return the names of lists of much memory that this loop was the last to read, and that still hold it."""
        lists = dict.fromkeys([f.values for f in block.feeds if self.is_last(f) and not self.pops(block, f)])
        much = tuning.BUFFER_MIN_BYTES * tuning.BUFFER_MIN_RATIO
        return [self.name[values] for values in lists if self.kept.get(values, 0) >= much]  # type: ignore[index]

    # -- memory -----------------------------------------------------------------------------------------------------
    def before(self, block: Block, step: ArrayStep) -> None:
        for name, at in self.called.items():
            line: Any = self.out[at]
            if name in step.memory.written:
                self.out[at] = line._replace(value=Expr(COPY, (line.value,)))
                self.memory.use.allocate(step.memory.workspace[name])
        self.called = {}
        self.out += new_arrays(step.memory.made, self.sizes_given_back)
        firsts = {b: block.first[key] for key, b in block.before.items()}
        for value in step.memory.pinned:  # lists hold views of these arrays: nobody may write into them
            self.memory.owned.discard(self.memory.root_of(firsts.get(value, value)))
        self.kept.update(step.memory.bytes_kept(block))
        kept = sum([self.kept[values] for values in block.kept.values()])
        freed = sum([self.kept.get(f.values, 0) for f in block.feeds if self.pops(block, f)])
        made = sum([bytes_of(t) for t in step.memory.made.values()])
        step.memory.use.peak += max(0, kept - freed)
        step.memory.use.moved *= block.count
        self.memory.use.count_turns(step.memory.use, made, kept // block.count)
        self.memory.use.alive += kept + made

    @computed_once
    def sizes_given_back(self) -> set[int]:
        """Return the sizes, in bytes, of the arrays that the function returns."""
        results = [n for item in self.memory.items if type(item) is Results for n in item.nodes or ()]
        return {bytes_of(n) for n in results if not n.op.multi and n.type.shape}

    @computed_once
    def last_loop(self) -> int:
        return max([k for k, item in enumerate(self.memory.items) if type(item) is Repeat])

    def seen_last(self) -> list[str]:
        """Return names of large arrays whose views were read for the last time, and of these views.

        They would lie beside what later lines make.
        """
        names = []
        for view in self.memory.items[self.memory.here].leaves:
            array = self.memory.root_of(view)
            if view is array or array not in self.memory.owned or self.memory.last.get(array) != self.memory.here:
                continue
            if is_big(array.type, tuning.BUFFER_MIN_RATIO):
                self.memory.owned.discard(array)
                self.memory.use.alive -= bytes_of(array)
                if view in self.name:  # else it begins what the loop carries, under the name of that
                    names.append(self.name[view])
                if self.name[array] not in self.names.taken:
                    names.append(self.name[array])
        return names

    def after(self, block: Block, step: ArrayStep) -> set[str]:
        more = self.memory.ahead[self.memory.here + 1] or self.memory.here < self.last_loop
        over = [*self.seen_last(), *self.lists_over(block)] if more else []
        if over:
            self.out.append(Delete(tuple(over)))
        self.memory.unbind([*over, *step.memory.bound])
        for feed in block.feeds:  # the arrays of a list live as long as its name
            values: Any = feed.values
            if self.is_last(feed) and (self.pops(block, feed) or self.name[values] in over):
                self.memory.use.alive -= self.kept.pop(values, 0)
        for node, p in block.final_values.items():
            last = block.body[p]
            if node.type.shape and not is_view(node) and last not in step.memory.pinned:
                self.memory.owned.add(node)
            if last in self.places.filled:
                self.places.filled[node] = self.places.filled.pop(last)
        left = {self.name[n] for n in block.final_values}
        free = {
            name: t for name, t in step.memory.workspace.items() if name in step.memory.written and name not in left
        }
        for name, t in free.items():
            if self.plan.is_big(t):
                self.memory.add_to_pool(name, t)
                (self.memory.straight.add if step.memory.is_straight(name) else self.memory.straight.discard)(name)
        return {name for name in free if name in self.memory.pooled}


def new_arrays(arrays: Mapping[str, Type], given_back: Container[int]) -> list[Assign]:
    """Return the lines that make arrays, those of one type together.

    What has the size of what is `given_back`, and may be just that in the end, is an array of its own.
    """
    groups: dict[Any, tuple[Type, list[str]]] = {}
    for name, t in arrays.items():
        groups.setdefault(name if bytes_of(t) in given_back else t, (t, []))[1].append(name)
    lines = []
    for t, names in groups.values():
        many = len(names) > 1
        whole = Type((len(names), *t.shape), t.dtype) if many else t
        lines.append(Assign(tuple(names) if many else names[0], new_array("np.empty", whole)))
    return lines
