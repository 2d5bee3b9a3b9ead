"""Decide in which memory the values of one step of a loop on arrays live.

The arrays of the workspace are made before the loop, or found free there; some of them hold the values that a step
finds. Steps write into them as soon as their values are dead, and where the next step finds its values in others, they
change places: `x, t = t, x`. A value that is viewed after the step is in none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapec.codegen.loops.loop_lowering import Carrying
from tapec.codegen.loops.loop_model import Block
from tapec.codegen.schedule.buffers import Buffers
from tapec.codegen.schedule.inlining import Plan, is_view
from tapec.ir import Node, cost
from tapec.ir.types import Type

__all__ = ["StepBuffers"]


class StepBuffers(Buffers):
    """The memory of a step: arrays of a workspace, which are made once, before the loop, or found free there.

    `workspace` has their types by name: a name stands for the same memory in every step. `outer` is the memory of the
    lines around the loop.

    `pinned` are the values whose arrays are viewed after the step; these and all others in `fresh` get an array of
    their own in each step. `ours` are the values that a step finds in arrays that it may write, `there` the arrays of
    the workspace that need not be made for it, `written` those that change. `lives` tells which of them a name stands
    for, where it is not called so itself, and `holder` which value a name was given to last.
    """

    comes_again = True

    def __init__(self, plan: Plan, outer: Buffers, block: Block, carrying: Carrying):
        super().__init__(plan, outer.names, outer.name)
        self.outer = outer
        self.carrying = carrying
        kept = [e for elements in block.kept for e in elements]
        left = {block.body[p] for p in block.final_values.values()}
        views = [n for n in (*carrying.later.values(), *left) if is_view(n)]
        self.pinned = pinned = {self.root_of(n) for n in (*kept, *views)}
        found = block.before.items()
        shared = {p for (p, _), b in found if b in pinned or self.root_of(block.body[p]) in pinned}
        self.ours = {b for (p, _), b in found if b.type.shape and p not in shared}
        fresh = {n for b, n in carrying.later.items() if b not in self.ours}
        self.fresh = pinned | fresh | (left - carrying.found.keys())
        self.owned.update(self.ours)
        self.workspace: dict[str, Type] = {self.name[b]: b.type for b in self.ours}
        self.there = {self.name[b] for b in self.ours}
        self.written: set[str] = set()
        self.lives: dict[str, str] = {}
        self.holder: dict[str, Node] = {self.name[b]: b for _, b in found}

    @property
    def made(self) -> dict[str, Type]:
        return {name: t for name, t in self.workspace.items() if name not in self.there}

    def bytes_kept(self, block: Block) -> dict[Node, int]:
        """Return the bytes of memory that each list holds and no other does."""
        makers = {b: block.body[p] for (p, d), b in block.before.items() if d == 1}  # in the step before
        seen: set[Node] = set()
        found = {}
        for elements, values in block.kept.items():
            roots = {makers.get(r, r) for r in map(self.root_of, elements)} - seen
            seen |= roots
            found[values] = block.count * sum([cost.bytes_of(r) for r in roots if r in self.plan.leaves])
        return found

    # -- which array a value is in ----------------------------------------------------------------------------------
    def array_of(self, name: str) -> str:
        """Return the array of the workspace that a name stands for; empty, where it stands for another."""
        return self.lives.get(name, name if name in self.workspace else "")

    def is_overwritable(self, node: Node, wanted: Any, successor: Node | None = None) -> bool:
        if successor in self.fresh and self.array_of(self.name.get(node, "")):
            return False
        return super().is_overwritable(node, wanted, successor)

    def reuse(self, t: Type, wish: str | None = None, node: Node | None = None) -> str | None:
        """Return the name of a free array of the workspace, a new one if need be; none for what is to have its own."""
        if node in self.fresh:
            return None
        free = self.pool.get(t)
        if free:
            name = wish if wish in free else next(reversed(free))
            self.remove_from_pool(name)
            self.release(name)
        else:
            name = self.names.take_new(wish or "work")
            self.workspace[name] = t
            self.use.alive += cost.bytes_of(t)
            self.use.peak += cost.bytes_of(t)  # the workspace is there from the first line on
        self.written.add(self.array_of(name))
        return name

    def is_straight(self, name: str) -> bool:
        return name in self.straight or (name in self.workspace and name not in self.there)

    def release(self, name: str) -> None:
        if name not in self.workspace:
            super().release(name)

    def take_memory_of(self, node: Node, victim: Node, leaves: Sequence[Node] = ()) -> None:
        super().take_memory_of(node, victim, leaves)
        self.holder[self.name[node]] = node
        self.written.add(self.array_of(self.name[node]))
        if node in self.pinned:
            self.owned.discard(node)

    def own(self, node: Node, new: bool = True) -> None:
        super().own(node, new)
        if node in self.pinned:
            self.owned.discard(node)

    # -- names ------------------------------------------------------------------------------------------------------
    def call(self, node: Node, old: str | None = None, likely: Sequence[str] = (), other: bool = False) -> str:
        before = self.carrying.found.get(node)
        array = "" if old is None else self.array_of(old)
        if old is not None and before is not None:
            name = self.name[node] = old if old in self.workspace else self.names.take(old)
        elif before is not None and self.is_free(before):
            name = self.name[node] = self.name[before]
            if name in self.pooled:
                self.remove_from_pool(name)
        elif old in self.workspace and old == (self.own_wish(node) or old):
            name = self.name[node] = old
        else:
            name = super().call(node, old, likely, other)
        self.lives[name] = array
        self.holder[name] = node
        return name

    def keeps_name(self, node: Node, name: str) -> bool:
        """Return whether a value may have this name; one that the next step finds may, as arrays change places then."""
        return node in self.carrying.found or super().keeps_name(node, name)

    def is_free(self, before: Node) -> bool:
        """Return whether nothing reads the value of this name any more, so that the next step's value may have it."""
        holder = self.holder[self.name[before]]
        return max(self.last_read.get(holder, -1), self.last_read.get(before, -1)) < self.here

    def moves(self) -> list[tuple[str, str]]:
        """Return the moves at the end of a step.

        Arrays that the step is done with change places with those that the next step finds values in.
        """
        found = self.carrying.moves(self.name)
        targets, arrays = {b for b, _ in found}, [self.array_of(n) for _, n in found]
        own = {self.name[b] for b in self.ours}
        free = [b for b, _ in found if b in own and b not in arrays]
        for array in arrays:
            if array and array not in targets:
                given = next(f for f in free if self.workspace[f] == self.workspace[array])
                free.remove(given)
                found.append((array, given))
        self.written.update([name for pair in found for name in pair if name in self.workspace])
        return found
