"""Order nodes so that few large arrays live at one time.

Nodes that free a large array come early: `picked = z[rows, labels]` before `np.exp(z, out=z)`, and `d_w = h.T @ d_z`
before the next gradient, which may then take the memory of `h`. Nodes that make a large array from inputs only come
late: `d_w += w * 0.2` when the rest of `d_w` is there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.numpy.scatter_forms import is_write
from tapec.codegen.schedule.inlining import is_big, is_view
from tapec.ir import CONSTANT, INPUT, ITEM, Node, OpSet, is_literal
from tapec.ir.cost import bytes_of

__all__ = ["early_ends", "put_off", "scheduled"]

JOINED = OpSet("concatenate roll")  # of parts of their operands


def scheduled(nodes: Sequence[Node], donated: Collection[Node] = ()) -> list[Node]:
    """Return the nodes in an order that can run, and in which big arrays live for a short time."""
    return late_starts(early_ends(nodes, donated))


def early_ends(nodes: Sequence[Node], donated: Collection[Node] = ()) -> list[Node]:
    """Move up the nodes that shrink a big array, together with the views that they read.

    Of the inputs, those `donated` may be written when they have been read.
    """
    place = {n: k for k, n in enumerate(nodes)}
    last_of_type = {n.type: k for k, n in enumerate(nodes) if n.op is not ITEM and is_big(n.type) and not is_view(n)}
    ends = {n for n in nodes if _frees(n, place, last_of_type, donated)}
    if not ends:
        return list(nodes)
    waiting: dict[Node, int] = {}
    readers: dict[Node, list[Node]] = {}
    for n in ends:
        inputs = {i for i in map(_seen, n.inputs) if i in place and not is_at_hand(i)}
        waiting[n] = len(inputs)
        for i in inputs:
            readers.setdefault(i, []).append(n)
    order: list[Node] = []
    done: set[Node] = set()
    for node in nodes:
        stack = [node]
        while stack:
            n = stack.pop()
            for made in (*_views_of(n), n):
                if made in place and made not in done:
                    done.add(made)
                    order.append(made)
                    for r in sorted(readers.get(made, ()), key=place.__getitem__, reverse=True):
                        waiting[r] -= 1
                        if not waiting[r]:
                            stack.append(r)
    return order


def _frees(node: Node, place: dict[Node, int], last_of_type: dict[Any, int], donated: Collection[Node]) -> bool:
    """Return whether a node makes something small of a big array whose memory a later value may take.

    `last_of_type` has the last place of a value of each type.
    """
    if isinstance(node.type, tuple) or node.op is ITEM or is_view(node):
        return False
    for i in map(_seen, node.inputs):
        if not is_big(i.type) or bytes_of(node) * tuning.SHRINK_MIN_RATIO > bytes_of(i):
            continue
        if i.op is not INPUT or i in donated:
            if last_of_type.get(i.type, -1) > place.get(i, -1):
                return True
    return False


def _seen(node: Node) -> Node:
    """Return the value that a chain of views looks into."""
    while is_view(node) and len(node.inputs) == 1:
        node = node.inputs[0]
    return node


def is_at_hand(node: Node) -> bool:
    """Return whether a node makes a small array of inputs alone, such as the numbers of their rows."""
    return node.op.kind == "creation" and all([i.op is INPUT for i in node.inputs]) and not is_big(node.type)


def _views_of(node: Node) -> list[Node]:
    """Return the views through which a node reads its operands, each after what it looks into.

    Before these come operands that can be made at any time.
    """
    views = []
    for i in node.inputs:
        if is_at_hand(i):
            views.append(i)
        while is_view(i) and len(i.inputs) == 1:
            views.append(i)
            i = i.inputs[0]
    return views[::-1]


def late_starts(nodes: Sequence[Node]) -> list[Node]:
    """Move nodes of gradients that make large arrays of little to their first reader.

    These are elementwise operations and joins on inputs only, operations that make much out of little, such as an outer
    product, and numbers written into an array: what stood there has been read by then, and nobody needs a copy.
    """
    late: set[Node] = set()
    for n in nodes:
        if n.role is not None and ((is_write(n) and is_literal(n.inputs[1])) or _spreads(n)):
            late.add(n)
        elif n.role is not None and (n.op.kind == "elementwise" or n.op in JOINED) and is_big(n.type):
            if all([i.op is INPUT or i.op is CONSTANT or i in late for i in map(_seen, n.inputs)]):
                late.add(n)
    return put_off(nodes, late) if late else list(nodes)


def _spreads(node: Node) -> bool:
    """Return whether a node makes an array that is far larger than what it is computed from."""
    if node.op.kind not in ("elementwise", "product") or not is_big(node.type):
        return False
    return sum([bytes_of(i) for i in map(_seen, node.inputs)]) * tuning.SHRINK_MIN_RATIO <= bytes_of(node)


def with_needed(node: Node, waiting: set[Node]) -> list[Node]:
    """Return a node behind all nodes in `waiting` that it needs; those are taken out of `waiting`."""
    order = []
    stack = [(node, iter(node.inputs))]
    while stack:
        last, inputs = stack[-1]
        first = next((i for i in inputs if i in waiting), None)
        if first is None:
            order.append(last)
            stack.pop()
        else:  # one at a time: this one may need the next
            waiting.discard(first)
            stack.append((first, iter(first.inputs)))
    return order


def put_off(nodes: Sequence[Node], late: set[Node]) -> list[Node]:
    """Move each of the nodes in `late` to just before its first reader."""
    order: list[Node] = []
    for node in nodes:
        if node not in late:
            order += with_needed(node, late)
    return [*order, *[n for n in nodes if n in late]]
