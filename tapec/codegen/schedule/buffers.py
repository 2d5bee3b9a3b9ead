"""Assign memory and names to values, and tell when they are free again.

An array may be written again when it was made here, when nothing reads it later, and when no living value looks into
it. Inputs, constants and results are never written, except inputs that the caller has donated.

A lowering has `Buffers`, which it asks in which memory it may compute what its lines make. They also decide on `del`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.common.naming import RESULT, Names, generic_names, identifier
from tapec.codegen.schedule.emitted_cost import MemoryUse, bytes_of, copied
from tapec.codegen.schedule.inlining import Plan, is_view, makes_more
from tapec.codegen.schedule.lifetimes import Lifetimes
from tapec.ir import Node, OpSet, cost, is_literal, ops
from tapec.ir.types import Type

__all__ = ["Buffers"]

AUGMENTED = OpSet("add subtract multiply divide")


class Buffers(Lifetimes):
    """The memory of the values of one block of code on arrays, besides their names.

    `root` has the value whose memory it looks into, `owned` the arrays made here, `pool` the names of dead big arrays
    by type, the latest last (`pooled` has their types by name). `in_rows` are the values in arrays whose rows surely
    follow one another in memory. `last` has the item that reads a memory for the last time. `use` counts bytes.

    In a loop (`comes_again`), names hold what the turn before has left.

    `bound` maps each name to all names that stand for the same memory. `ahead[k]` has the most bytes that one item
    makes from item k on. `to_delete` are the names of arrays that the next line is to `del`.
    """

    comes_again = False

    def __init__(self, plan: Plan, names: Names, name: dict[Node, str]):
        super().__init__(plan, names, name)
        self.root: dict[Node, Node] = {}
        self.owned: set[Node] = set(plan.donated)
        self.pool: dict[Type, dict[str, None]] = {}
        self.pooled: dict[str, Type] = {}
        self.in_rows: set[Node] = set()
        self.unasked: set[str] = set()  # names that no value of the user's has wished for
        self.last: dict[Node, int] = {}
        self.bound: dict[str, list[str]] = {}
        self.ahead: list[int] = []
        self.to_delete: list[list[str]] = []
        self.use = MemoryUse(plan)

    def start(self, items: list[Any]) -> None:
        """Find the last reader of each value and of each memory."""
        super().start(items)
        for leaf, k in self.last_read.items():
            root = self.root_of(leaf)
            self.last[root] = max(k, self.last.get(root, -1))
        if not self.comes_again:
            self.look_ahead(items)

    def look_ahead(self, items: list[Any]) -> None:
        """Find how much items make in new memory from each one on (`ahead`)."""
        new = [makes_more(item) and not self.is_changed(item, k) for k, item in enumerate(items)]
        self.ahead = [bytes_of((item,)) if made else 0 for item, made in zip(items, new)] + [0]
        results = getattr(items[-1], "nodes", None) or ()
        self.ahead[-2] = max([bytes_of((n,)) for n in results if is_view(n)], default=0)  # views are copied in the end
        for k in reversed(range(len(items))):
            self.ahead[k] = max(self.ahead[k], self.ahead[k + 1])

    def is_changed(self, node: Node, k: int) -> bool:
        """Return whether a value overwrites an operand that line `k` is the last to read."""
        if node.op.kind != "elementwise":
            return False
        same = [i for i in node.inputs if i.type == node.type and not self.plan.is_kept(i) and not is_view(i)]
        return any([self.last.get(i) == k for i in same])

    def is_worth_deleting(self, t: Type) -> bool:
        """Return whether a dead array deserves a `del`: large ones are made later, and it is much of what is in use,
        or as much is dead, with what names hold already, as is in use."""
        size = cost.bytes_of(t)
        if not self.ahead or self.made_after(self.here) * tuning.DELETED_MAX_RATIO < size:
            return False
        return size >= self.use.least_deleted() or self.use.is_mostly_dead(size)

    def bind(self, name: str, old: str | None = None) -> None:
        """Note that a name stands for new memory, or for the memory that the name `old` stands for."""
        group = [] if old is None else self.names_like(old)
        if self.bound.get(name) is not group:
            self.unbind((name,))
            group.append(name)
            self.bound[name] = group

    def names_like(self, name: str) -> list[str]:
        """Return all names that stand for the same memory."""
        return self.bound.setdefault(name, [name])

    def unbind(self, names: Collection[str]) -> None:
        """Note that these names stand for nothing any more."""
        for name in names:
            if name in self.bound:
                self.bound.pop(name).remove(name)

    def deletions(self) -> Sequence[str]:
        """Return the names of arrays that are dead, all that still stand for them."""
        if not self.to_delete:
            return ()
        dead = [n for group in self.to_delete for n in group]
        names = [n for n in dead if n not in self.names.taken and n not in self.names.fixed]
        self.unbind(names)
        self.to_delete = []
        return names

    def branch(self) -> Buffers:
        """Return the state for a path that branches off: facts on values are shared, lists of free memory copied."""
        path = Buffers(self.plan, self.names.branch(), self.name)
        path.root, path.owned, path.in_rows = self.root, self.owned, self.in_rows
        path.pool = {t: dict(names) for t, names in self.pool.items()}
        path.pooled = dict(self.pooled)
        path.use.alive, path.use.left_over = self.use.alive, dict(self.use.left_over)
        return path

    def join(self, path: Buffers) -> None:  # type: ignore[override]
        self.use.count(path.use, 0)

    def last_reader(self, node: Node) -> Any:
        """Return the item that is the last to read the memory of a value; None if nothing does."""
        k = self.last.get(node)
        return None if k is None else self.items[k]

    def made_after(self, k: int) -> int:
        """Return the most bytes that one item makes behind item `k`."""
        return self.ahead[k + 1]

    # -- memory -----------------------------------------------------------------------------------------------------
    def root_of(self, node: Node) -> Node:
        """Return the value whose memory this one looks into."""
        found = self.root.get(node)
        if found is None:
            chain = [node]
            while is_view(chain[-1]) and chain[-1].inputs[0] not in self.root:
                chain.append(chain[-1].inputs[0])
            found = self.root[chain[-1].inputs[0]] if is_view(chain[-1]) else chain[-1]
            for n in chain:
                self.root[n] = found
        return found

    def own(self, node: Node, new: bool = True) -> None:
        """Note that a value has been made, in new memory or in a dead array's."""
        view = is_view(node)
        if view or (new and node.type.shape):
            self.use.made(node)
        if not view and node.type.shape:
            self.owned.add(node)
            if new and self.comes_in_rows(node):
                self.in_rows.add(node)

    def comes_in_rows(self, node: Node) -> bool:
        """Return whether a value is a matrix that NumPy makes row by row.

        An elementwise operation does so where an operand of that shape lies in rows.
        """
        if node.type.ndim != 2:
            return False
        if node.op.kind == "elementwise":
            return any([i in self.in_rows and i.type.shape == node.type.shape for i in node.inputs])
        return node.op is ops.matmul

    def is_overwritable(self, node: Node, wanted: Type, successor: Node | None = None) -> bool:
        """Return whether a value is an array of our own, of this type, that this line is the last to need.

        In loops it must also be one that `successor`, the value to be written over it, may live in.
        """
        return (
            node in self.owned
            and self.last.get(node) == self.here
            and node.type == wanted
            and node not in self.plan.nested
            and not self.plan.checked
        )

    def take_memory_of(self, node: Node, victim: Node, leaves: Sequence[Node] = ()) -> None:
        """Let a value take over the memory and the name of `victim`, which this line is the last to read."""
        self.owned.discard(victim)
        self.owned.add(node)
        self.name[node] = self.name[victim]
        if victim in self.in_rows:
            self.in_rows.add(node)
        self.free_dead(leaves, (victim,))

    def hand_on(self, node: Node, other: Node | None) -> None:
        """Let what a loop carries have the name and the memory of a value that nothing else reads; `other` is what that
        is after the loop, if somebody reads it then."""
        self.owned.discard(node)
        self.last_read[node] = -1
        name = self.name[node]
        self.bind(name)
        if other is not None:
            self.name[other] = name

    def is_reusable(self, node: Node) -> bool:
        """Return whether a dead array is kept for later values."""
        return self.plan.is_big(node.type)

    def let_go(self, name: str, size: int) -> None:
        """Note that a name has so many bytes that are dead: until it gets another value, also in the next turn."""
        self.use.left_over[name] = size

    def add_to_pool(self, name: str, t: Type) -> None:
        """Note that an array is dead, and that its name still holds it."""
        self.pool.setdefault(t, {})[name] = None
        self.pooled[name] = t

    def remove_from_pool(self, name: str) -> Type:
        """Take an array out of the pool of free ones, and return its type."""
        t = self.pooled.pop(name)
        del self.pool[t][name]
        return t

    def release(self, name: str) -> None:
        """Free a name, whose value is dead or has another name."""
        self.names.release(name)

    def free_dead(self, leaves: Sequence[Node], victims: Collection[Node] = ()) -> None:
        """Free the names of values read for the last time; keep big arrays for later operations.

        The memory and the name of `victims` are another value's by now.
        """
        here, last_read = self.here, self.last_read
        for leaf in leaves if not self.plan.checked else ():
            if last_read.get(leaf) != here:
                continue
            last_read[leaf] = -1
            name = self.name.get(leaf)
            root = self.root_of(leaf)
            dead = root in self.owned and self.last[root] == here
            if name is None or leaf in victims or (name in self.names.fixed and not dead):
                continue
            if dead and root not in self.plan.donated and self.is_worth_deleting(root.type):
                self.to_delete.append(self.names_like(name))
                self.release(name)
                self.use.alive -= cost.bytes_of(root) + (copied(leaf) if root is not leaf else 0)
                self.owned.discard(root)  # counted once, though several views may end here
            elif dead and root is leaf and self.is_reusable(leaf):
                self.add_to_pool(name, leaf.type)
            else:
                self.release(name)
                if dead and root not in self.plan.donated:
                    self.let_go(name, cost.bytes_of(root) + (copied(leaf) if root is not leaf else 0))
                    self.owned.discard(root)

    # -- names ------------------------------------------------------------------------------------------------------
    def call(self, node: Node, old: str | None = None, likely: Sequence[str] = (), other: bool = False) -> str:
        """Name a new value: as it wishes, or by one of the `likely` names, or after what it is.

        Memory (`old`) that serves each turn of a loop keeps its name, but where a quite `other` thing comes into it.
        """
        own = self.own_wish(node) or (RESULT if node is self.main_value else None)
        same = old if self.comes_again and not other else None
        wish = own or same
        if wish in self.pooled and wish not in self.names.fixed:
            self.use.alive -= cost.bytes_of(self.remove_from_pool(wish))
            self.names.release(wish)
        name = self.names.take(wish) if wish else self.names.name_value(self.made_of(node), self.name, likely)
        self.use.alive -= self.use.left_over.pop(name, 0)
        self.name[node] = name
        (self.unasked.discard if own else self.unasked.add)(name)
        if node.type.shape:
            self.bind(name, self.looked_into(node) if old is None else old)
        return name

    def looked_into(self, node: Node) -> str | None:
        """Return the name of the array that a view is taken of, or of a view on the same line; None for no view."""
        while is_view(node):
            node = node.inputs[0]
            if node in self.name:
                return self.name[node]
        return None

    def keeps_name(self, node: Node, name: str) -> bool:
        """Return whether a value may have this name: it wants no other name, or wants this one with a number."""
        wish = self.plan.wishes.get(node)
        return wish is None or identifier(wish) in (name, self.names.taken.get(name, ("", 0))[0].rstrip("_"))

    def wish(self, node: Node) -> str:
        """Return the value's own name, or the name that its memory ends up with, or one that tells what it is."""
        return self.own_wish(node) or generic_names(self.made_of(node), self.name, self.names.given)[0]

    def made_of(self, node: Node) -> Node:
        """Return the value, or what operators make of it in its memory, after which it is called: `resid -= y`."""
        last = node
        for _ in range(tuning.NAME_MAX_OPS_AHEAD if node.type.shape else 0):
            reader = self.last_reader(last) if self.plan.uses.get(last) == 1 else None
            if type(reader) is not Node or reader.op not in AUGMENTED or reader.type != node.type:
                break
            if (node.role is not None and last.of is not None) or reader.role != node.role or last not in reader.inputs:
                break
            first = reader.inputs[0]
            if last is not first and (not reader.op.commutative or self.is_overwritten(first, last)):
                break
            last = reader
            if last.of is not None if node.role is not None else not any(map(is_literal, last.inputs)):
                node = last  # a multiple keeps the name
        return node

    def is_overwritten(self, first: Node, other: Node) -> bool:
        """Return whether what reads two values writes into the memory of the first rather than of the other."""
        return (
            first.type == other.type
            and not self.plan.is_kept(first)
            and first not in self.plan.nested
            and self.last.get(first) == self.last[other]
        )

    def own_wish(self, node: Node) -> str | None:
        """Return the value's own name, or the name that its memory ends up with, if either has one."""
        wishes, n = self.plan.wishes, node
        for _ in range(tuning.NAME_MAX_OPS_AHEAD):
            found = wishes.get(n)
            if found is not None:
                return identifier(found)
            reader = self.last_reader(n) if self.plan.uses.get(n) == 1 else None  # else it is read under its name
            if type(reader) is not Node or n not in reader.inputs or reader.type != n.type or reader.role != n.role:
                break
            if reader.op.kind != "elementwise" and reader not in self.plan.fused:
                break
            if reader.inputs[0] is not n and self.is_overwritten(reader.inputs[0], n):
                break  # the reader writes into that one's memory, not into ours
            n = reader
        return None
