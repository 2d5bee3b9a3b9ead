"""Choose which values each turn of a loop keeps for the gradient: all others are computed from these again.

    h = tanh(z)    needed: 1 - h * h, h > 0        kept: h

It is a minimum cut through the values of a turn. To keep a value costs that it is written, held, and read; to compute
it again costs one pass over it, and a view costs nothing. What takes longer, as products of matrices and exponentials
do, is never computed again.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from tapec.ir import CONSTANT, Node, OpTable, is_literal, ops
from tapec.ir.cost import bytes_of, elements

__all__ = ["kept_values"]

PASS = 8  # the unit of costs: bytes of a float that one operation writes
PASSES: OpTable[int] = OpTable(
    {
        "add subtract multiply negative absolute square sign maximum minimum clip relu where number": 1,
        "less less_equal greater greater_equal equal not_equal logical_not logical_and logical_or": 1,
        "divide": 2,
    }
)
SMALL_POWERS = 2, 3  # which are written as products


def kept_values(required: Iterable[Node], free: Collection[Node]) -> tuple[set[Node], set[Node]]:
    """Return the values to keep, and those to compute again, of which a gradient requires these.

    `free` are values that are there anyway. Of cuts that cost the same it is the one with the earlier values: what the
    user has called by a name.
    """
    found: dict[Node, None] = {}
    left = [n for n in required if n not in free]
    start = dict.fromkeys(left)
    while left:
        node = left.pop()
        if node not in found:
            found[node] = None
            left += _operands(node, free)
    flow = _Flow()
    for node in found:  # a value is computed again (node, 0), and is there (node, 1): beyond the cut
        flow.add("kept", (node, 0), _cost_again(node))
        flow.add((node, 0), (node, 1), 2 * PASS * elements(node) + bytes_of(node))
        for i in _operands(node, free):
            flow.add((i, 1), (node, 0), math.inf)
        if node in start:
            flow.add((node, 1), "gradient", math.inf)
    before = flow.cut()
    kept, again = set(), set()
    left, seen = list(start), set(free)
    while left:  # of what lies beyond the cut, what is needed
        node = left.pop()
        if node in seen:
            continue
        seen.add(node)
        if (node, 0) in before:
            kept.add(node)
        else:
            again.add(node)
            left += _operands(node, free)
    return kept, again


def _operands(node: Node, free: Collection[Node]) -> list[Node]:
    """Return the values from which a value may be computed again."""
    if _cost_again(node) == math.inf:
        return []
    return [i for i in dict.fromkeys(node.inputs) if i not in free and i.op is not CONSTANT]


def _cost_again(node: Node) -> float:
    if node.op.view and len(node.inputs) == 1:
        return 0
    if node.op is ops.power and is_literal(node.inputs[1]) and node.inputs[1].value in SMALL_POWERS:
        return PASS * elements(node)
    return PASSES[node.op] * PASS * elements(node) if node.op in PASSES else math.inf


class _Flow:
    """Holds a network of pipes, and sends through it from "kept" to "gradient" what it can take."""

    def __init__(self) -> None:
        self.room: dict[object, dict[object, float]] = {"kept": {}, "gradient": {}}

    def add(self, a: object, b: object, capacity: float) -> None:
        self.room.setdefault(a, {})[b] = capacity
        self.room.setdefault(b, {}).setdefault(a, 0)

    def cut(self) -> set[object]:
        """Return what lies before the smallest cut."""
        while True:
            came: dict[object, object] = {"kept": None}
            left: list[object] = ["kept"]
            for at in left:
                for to, room in self.room[at].items():
                    if room > 0 and to not in came:
                        came[to] = at
                        left.append(to)
            if "gradient" not in came:
                return set(came)
            path: list[tuple[object, object]] = []
            b: object = "gradient"
            while came[b] is not None:
                path.append((came[b], b))
                b = came[b]
            most = min([self.room[a][to] for a, to in path])
            for a, to in path:
                self.room[a][to] -= most
                self.room[to][a] += most
