"""Decide in which memory the values of one turn of a loop over blocks live."""

from __future__ import annotations

from tapec.codegen.common.naming import Names
from tapec.codegen.schedule.buffers import Buffers
from tapec.codegen.schedule.inlining import Plan
from tapec.ir import Node
from tapec.ir.types import Type

__all__ = ["BlockBuffers"]


class BlockBuffers(Buffers):
    """The memory of one turn: blocks in the cache, for whose size NumPy has memory at hand, and blocks of large arrays.

    `spare` has, by name, blocks of arrays that die in the loop, each with its array: results may be computed there.
    `wholes` are the names of the arrays of which the loop makes blocks.
    """

    comes_again = True

    def __init__(self, plan: Plan, names: Names, name: dict[Node, str], spare: dict[str, Node], wholes: set[str]):
        super().__init__(plan, names, name)
        self.spare = spare
        self.wholes = wholes

    def is_reusable(self, node: Node) -> bool:
        return bool(self.spare) and any([n in self.spare for n in self.names_like(self.name[node])])

    def own_wish(self, node: Node) -> str | None:
        found = super().own_wish(node)
        return None if found in self.wholes else found

    def take_spare(self, node: Node, t: Type) -> tuple[str, Node] | None:
        """Return a block of a dying array of this type to compute a value into, and the array; None without one.

        It is that of an operand that ends here, or one that is free already.
        """
        ending = [i for i in node.inputs if self.is_overwritable(i, node.type)] if self.plan.has_out(node) else ()
        for name in [*[self.name[i] for i in ending], *self.pool.get(node.type, ())]:
            own = next((n for n in self.names_like(name) if n in self.spare), name)
            if own in self.spare and self.spare[own].type == t:
                if name in self.pooled:
                    self.remove_from_pool(name)
                self.owned.difference_update([i for i in node.inputs if self.name.get(i) == name])
                self.names.fixed.add(name)
                return name, self.spare.pop(own)
        return None
