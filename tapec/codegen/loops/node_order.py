"""Order a program that has loops; each loop stands at one place."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tapec.codegen.loops.loop_model import Block, Pick
from tapec.ir import Node

__all__ = ["in_order"]


def in_order(
    index: Mapping[Node, int],
    nodes: Mapping[Node, int],
    items: Iterable[Node],
    blocks: Sequence[Block],
    picks: Sequence[Pick],
) -> list[Node | Block | Pick] | None:
    """Return operations and loops, each after what it reads, and else as they were; None where that cannot be.

    `index` tells where operations were in the program, `nodes` the same of those outside of loops that are written;
    `items` of lists stand before their first readers.
    """
    rank: dict[Any, int] = dict(nodes)
    maker: dict[Node, Any] = {n: n for n in nodes}
    reads: dict[Any, Sequence[Node]] = {n: n.inputs for n in nodes}
    for block in blocks:
        rank[block] = index[block.loop.steps[0][0]]
        rank.update({n: rank[block] for n in block.first.values() if n in rank and n not in index})
        maker.update(dict.fromkeys([*block.final_values, *block.kept.values()], block))
        reads[block] = block.read
    for k, pick in enumerate(picks):
        reads[k] = [pick.values]
        maker.update(dict.fromkeys([t for t in pick.targets if t], k))
    waiting: Counter[Any] = Counter()
    readers: dict[Any, list[Any]] = {}
    for x, inputs in reads.items():
        for source in {maker[i] for i in inputs if i in maker}:
            waiting[x] += 1
            readers.setdefault(source, []).append(x)
    for item in (*items, *range(len(picks))):
        rank[item] = min([rank[x] for x in readers.get(item, ())], default=0)
    places = {x: k for k, x in enumerate(reads)}
    # taken from the end, so the first one stands last
    ready = [(-rank[x], -places[x], x) for x in reads if not waiting[x]]
    ready.sort(key=lambda entry: entry[:2])
    order: list[Node | Block | Pick] = []
    while ready:
        *_, x = ready.pop()
        order.append(picks[x] if type(x) is int else x)
        for reader in readers.get(x, ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                insort(ready, (-rank[reader], -places[reader], reader))
    return order if len(order) == len(reads) else None
