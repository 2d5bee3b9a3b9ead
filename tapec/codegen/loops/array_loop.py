"""Write loops of programs on arrays.

What each step computes is in arrays that are made once, before the loop; what is kept for later is an array of its own
in each step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.common.block_items import Results
from tapec.codegen.common.expressions import Expr
from tapec.codegen.common.line_templates import COPY, new_array
from tapec.codegen.common.made_names import WORDS_ALONE
from tapec.codegen.common.naming import identifier
from tapec.codegen.common.statements import Assign, Delete
from tapec.codegen.loops.arrange_loops import arranged
from tapec.codegen.loops.array_step import StepBuffers
from tapec.codegen.loops.found_loop import Carried
from tapec.codegen.loops.index_operands import put_numbers_back
from tapec.codegen.loops.induction_variables import numbered
from tapec.codegen.loops.loop_lowering import DIGITS, Carrying, LoopLines, repeat_items, repeat_plan
from tapec.codegen.loops.loop_model import Block, Feed
from tapec.codegen.numpy.lowering import Lowering
from tapec.codegen.numpy.scatter_lines import Filled, Places
from tapec.codegen.schedule.inlining import Plan, is_big, is_view
from tapec.ir import Graph, Node, ops
from tapec.ir.cost import bytes_of
from tapec.ir.types import Type

__all__ = ["in_loops"]


def in_loops(graph: Graph, least: int) -> tuple[Plan, list[Any]] | None:
    """Return plan and items of a program that has loops; None where they spare too few operations."""
    found = arranged(graph, least)
    if found is None:
        return None
    for x in found.order:
        put_numbers_back([x] if type(x) is Node else [*x.recomputed, *x.body] if type(x) is Block else ())
    plan = repeat_plan(found, Plan)
    return plan, repeat_items(plan, found, ArrayLoop)


class ArrayLoop(LoopLines):
    """Writes a loop on arrays.

    `called` are the lines that give an array the name by which steps find it.
    """

    def __init__(self, low: Lowering, block: Block, more: bool):
        super().__init__(low, block, more)
        self.memory = low.memory
        self.called: dict[str, int] = {}

    def inner(self, nodes: list[Node], ends: list[Node], carrying: Carrying) -> Lowering:
        plan = Plan(nodes, ends)
        memory = StepBuffers(plan, self.memory, self.block, carrying)
        reads = Counter([i for n in plan.nodes for i in n.inputs])  # what a step ends with only the next step reads
        return self.low.inner(memory, places=Places(reads, numbered(self.block), self.low.places.filled, set()))

    def begun(self, firsts: list[Node], inside: set[Node]) -> None:
        return  # the loop reads them

    # -- what the first step finds ----------------------------------------------------------------------------------
    def begin(self, key: Carried, before: Node, first: Node, inside: bool) -> None:
        """Give a value that steps find the array of the value it begins with, if nobody else needs that.

        Else the value has another name, and is copied if steps turn out to write into it.
        """
        low, memory = self.low, self.memory
        if not before.type.shape:
            super().begin(key, before, first, inside)
        elif not inside and self.ends_here(first):
            self.take_over(before, first, self.called_like(key[0]))
        else:
            wish = self.called_like(key[0])
            if wish in WORDS_ALONE:
                wish = identifier(low.plan.wishes.get(first, wish))
            name = low.name[before] = low.names.take(wish)
            value = low.operand(first)
            if type(value) is str:
                self.called[name] = len(low.out)
            else:
                memory.use.allocate(before.type)
                memory.use.moved += memory.use.traffic(first)
                if first.op is ops.full and not first.param("value"):
                    low.places.filled[before] = Filled(0, bytearray(), 0, low.out, len(low.out))
            low.out.append(Assign(name, value))

    def ends_here(self, first: Node) -> bool:
        """Return whether a value is an array of our own that only this loop reads."""
        roots = [self.memory.root_of(i) for i in self.block.read]
        return self.memory.is_overwritable(first, first.type) and roots.count(first) == 1

    def take_over(self, before: Node, first: Node, wish: str) -> None:
        """Give the array of `first` to the value that steps find, under its old name if that fits."""
        low = self.low
        old = low.name.pop(first)
        self.memory.owned.discard(first)
        self.memory.last_read[first] = -1
        if first in low.places.filled:
            low.places.filled[before] = low.places.filled.pop(first)
        if wish in WORDS_ALONE or old.rstrip(DIGITS) == wish:
            low.name[before] = old
            return
        low.name[before] = low.names.take(wish)
        low.out.append(Assign(low.name[before], old))
        low.names.release(old)

    def letter(self, node: Node) -> str:
        return self.memory.wish(node)  # the name of what will be made in its memory

    # -- lists ------------------------------------------------------------------------------------------------------
    def pops(self, feed: Feed) -> bool:
        """Return whether each step takes an array from a list for good: it is free then for what the step keeps."""
        backward = feed.stride == -1 and feed.start == feed.length - 1 and self.is_last(feed)
        once = feed.values in self.memory.use.lists and [f.values for f in self.block.feeds].count(feed.values) == 1
        return backward and once and bool(self.block.kept)

    def is_last(self, feed: Feed) -> bool:
        """Return whether nobody reads the list after this loop."""
        return type(feed.values) is Node and self.memory.last_read.get(feed.values) == self.memory.here

    def lists_over(self) -> list[str]:
        """Return the names of lists of much memory that this loop was the last to read, and that still hold it."""
        lists: Any = dict.fromkeys([f.values for f in self.block.feeds if self.is_last(f) and not self.pops(f)])
        much = tuning.BUFFER_MIN_BYTES
        return [self.low.name[values] for values in lists if self.memory.use.lists.get(values, 0) >= much]

    # -- memory -----------------------------------------------------------------------------------------------------
    def before(self, memory: StepBuffers) -> None:
        low, block, outer = self.low, self.block, self.memory
        for name, at in self.called.items():
            if name in memory.written:
                low.out[at] = low.out[at]._replace(value=Expr(COPY, (low.out[at].value,)))
                outer.use.allocate(memory.workspace[name])
        low.out += new_arrays(memory.made, sizes_given_back(outer.items[-1]))
        firsts = {b: block.first[key] for key, b in block.before.items()}
        for value in memory.pinned:  # lists hold views of these arrays: nobody may write into them
            outer.owned.discard(outer.root_of(firsts.get(value, value)))
        lists = outer.use.lists
        lists.update(memory.bytes_kept(block))
        kept = sum([lists[values] for values in block.kept.values()])
        freed = sum([lists[f.values] for f in block.feeds if type(f.values) is Node and self.pops(f)])
        made = sum(map(bytes_of, memory.made.values()))
        memory.use.peak += max(0, kept - freed)
        memory.use.moved *= block.count
        outer.use.count_turns(memory.use, made, kept // block.count)
        outer.use.alive += kept + made

    def seen_last(self) -> list[str]:
        """Return names of large arrays whose views were read for the last time, and of these views.

        They would lie beside what later lines make.
        """
        memory, name = self.memory, self.low.name
        names = []
        for view in self.block.read:
            array = memory.root_of(view)
            if view is array or array not in memory.owned or memory.last.get(array) != memory.here:
                continue
            if is_big(array.type):
                memory.owned.discard(array)
                memory.use.alive -= bytes_of(array)
                if view in name:  # else it begins what the loop carries, under the name of that
                    names.append(name[view])
                if name[array] not in memory.names.taken:
                    names.append(name[array])
        return names

    def after(self, memory: StepBuffers) -> set[str]:
        low, block, outer = self.low, self.block, self.memory
        over = [*self.seen_last(), *self.lists_over()] if self.more or outer.made_after(outer.here) else []
        if over:
            low.out.append(Delete(tuple(over)))
        outer.unbind([*over, *memory.bound])
        for feed in block.feeds:  # the arrays of a list live as long as its name
            values: Any = feed.values
            if self.is_last(feed) and (self.pops(feed) or low.name[values] in over):
                outer.use.alive -= outer.use.lists.pop(values, 0)
        filled = low.places.filled
        for node, p in block.final_values.items():
            last = block.body[p]
            if node.type.shape and not is_view(node) and last not in memory.pinned:
                outer.owned.add(node)
            if last in filled:
                filled[node] = filled.pop(last)
        left = {low.name[n] for n in block.final_values}
        free = {name: t for name, t in memory.workspace.items() if name in memory.written and name not in left}
        for name, t in free.items():
            if low.plan.is_big(t):
                outer.add_to_pool(name, t, memory.is_straight(name))
        return {name for name in free if name in outer.pooled}


def sizes_given_back(results: Results) -> set[int]:
    """Return the sizes, in bytes, of the arrays that the function returns."""
    return {bytes_of(n) for n in results.nodes or () if not n.op.multi and n.type.shape}


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
