"""Order: what reads a big array and makes something small of it runs as soon as it can.

The array is then free earlier: `picked = z[rows, labels]` before `np.exp(z, out=z)`.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapec.codegen.plan import is_big, is_view
from tapec.ir import ITEM, Node

__all__ = ["early_ends"]

SHRINKS = 4  # times smaller than what it reads


def early_ends(nodes: Sequence[Node]) -> list[Node]:
    """The nodes in an order that can run, with those that shrink a big array moved up."""
    ends = {n for n in nodes if _shrinks(n)}
    if not ends:
        return list(nodes)
    place = {n: k for k, n in enumerate(nodes)}
    waiting: dict[Node, int] = {}
    readers: dict[Node, list[Node]] = {}
    for n in ends:
        inputs = {i for i in n.inputs if i in place}
        waiting[n] = len(inputs)
        for i in inputs:
            readers.setdefault(i, []).append(n)
    order: list[Node] = []
    done: set[Node] = set()
    for node in nodes:
        stack = [node]
        while stack:
            n = stack.pop()
            if n in done:
                continue
            done.add(n)
            order.append(n)
            for r in sorted(readers.get(n, ()), key=place.__getitem__, reverse=True):
                waiting[r] -= 1
                if not waiting[r]:
                    stack.append(r)
    return order


def _shrinks(node: Node) -> bool:
    if isinstance(node.type, tuple) or node.op is ITEM or is_view(node):
        return False
    return any(
        not isinstance(i.type, tuple) and is_big(i.type) and node.type.nbytes * SHRINKS <= i.type.nbytes
        for i in node.inputs
    )
