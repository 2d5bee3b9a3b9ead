"""Guards that other elements of an array needed are left out of programs on floats.

`passes.guards` keeps infinities from where nothing flows: `ct * np.where(ct != 0, b, 0)`. Nothing flows at places that
a unit vector or a scatter leaves free, which are no elements of a program on floats at all, or where something is
selected when the code runs. So of the elements that there are, only what comes from such a selection is asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapec.ir import CONSTANT, CT, Node, Op

__all__ = ["Flowing"]

PRODUCTS, SUMS = ("multiply", "divide", "negative"), ("add", "subtract")
SELECTING = ("where", "maximum", "minimum", "picked", "float")
FAR = 64  # nodes among which it is looked for what a product began with


class Flowing:
    """What is known of elements that have been made, and how many guards were left out; `ops` has ops by name."""

    def __init__(self, nodes: Sequence[Node], ops: dict[str, Op]) -> None:
        self.nodes, self.seen, self.left_out = nodes, 0, 0
        self.empty: set[Node] = set()  # what may be zero since it is selected, as far as anybody knows
        self.where, self.differs, self.divide = ops["where"], ops["not_equal"], ops["divide"]
        self.products, self.sums = [{ops[name] for name in names} for names in (PRODUCTS, SUMS)]
        self.selecting = {ops[name] for name in SELECTING}

    def without_guard(self, part: Node, kept: Node, nothing: float) -> Node | None:
        """What is kept to where a cotangent flows, if it always does; None where that is not known."""
        if kept.op is not self.where:
            return None
        test, free, other = kept.inputs
        if test.op is not self.differs or test.role is not CT or not _is_number(other, nothing):
            return None
        began, zero = test.inputs
        began = self.without_number(began)
        if not _is_number(zero, 0.0) or not self.began_with(part, began) or self.may_be_empty(began):
            return None
        self.left_out += 1
        return free

    def without_number(self, x: Node) -> Node:
        """A multiple of what is asked for is zero where that is."""
        while x.op in self.products and len(x.inputs) == 2 and x.inputs[1].op is CONSTANT and x.inputs[1].value:
            x = x.inputs[0]
        return x

    def began_with(self, part: Node, began: Node) -> bool:
        """Is it a cotangent, or a product of it with others?"""
        found = [part]
        for node in found:
            if node is began:
                return True
            if node.op in self.products and len(found) < FAR:
                found.extend(node.inputs[: 1 if node.op is self.divide else 2])
        return False

    def may_be_empty(self, x: Node) -> bool:
        while self.seen < len(self.nodes):
            node = self.nodes[self.seen]
            if node.role is CT and self.comes_from_nothing(node):
                self.empty.add(node)
            self.seen += 1
        return self.is_unknown(x)

    def comes_from_nothing(self, node: Node) -> bool:
        """Is it selected, or made of what is, or of what is given, of which nobody knows? Functions of it are not."""
        if node.op in self.sums:
            return all([self.is_unknown(i) for i in node.inputs])
        if node.op in self.products:
            return any([self.is_unknown(i) for i in node.inputs])
        return node.op in self.selecting or node.op.kind != "float"

    def is_unknown(self, x: Node) -> bool:
        return x in self.empty or (x.op is not CONSTANT and x.op.kind != "float")


def _is_number(x: Node, value: float) -> bool:
    return x.op is CONSTANT and bool(x.value == value)
