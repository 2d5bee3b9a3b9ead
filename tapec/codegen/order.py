"""The order of a program that has loops, which stand at one place each where their operations were far apart."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tapec.codegen.asked import Questions, questions_in, waits
from tapec.codegen.feeds import Block, Pick
from tapec.ir import Node

__all__ = ["in_order"]


def in_order(
    index: Mapping[Node, int],
    nodes: Mapping[Node, int],
    items: Iterable[Node],
    blocks: Sequence[Block],
    picks: Sequence[Pick],
    beside: Mapping[Node, Sequence[Node]] = MappingProxyType({}),
) -> list[Node | Block | Pick] | None:
    """Operations and loops, each after what it reads, and else as they were; None where that cannot be.

    `index` tells where operations were in the program, `nodes` the same of those outside of loops that are written;
    `items` of lists stand before what reads them first; `beside` has what operations need besides their operands.
    """
    rank: dict[Any, int] = dict(nodes)
    maker: dict[Node, Any] = {n: n for n in nodes}
    reads: dict[Any, Sequence[Node]] = {n: (*n.inputs, *beside.get(n, ())) for n in nodes}
    for block in blocks:
        rank[block] = index[block.loop.steps[0][0]]
        rank.update({n: rank[block] for n in block.first.values() if n in rank and n not in index})
        maker.update(dict.fromkeys([*block.left, *block.kept.values()], block))
        reads[block] = block.read
    for k, pick in enumerate(picks):
        reads[k] = [pick.values]
        maker.update(dict.fromkeys([t for t in pick.targets if t], k))
    waiting: Counter[Any] = Counter()
    readers: dict[Any, list[Any]] = {}
    behind = asked_before(index, nodes, blocks)
    for x, inputs in reads.items():
        for source in {maker[i] for i in inputs if i in maker} | behind.get(x, set()):
            waiting[x] += 1
            readers.setdefault(source, []).append(x)
    for item in (*items, *range(len(picks))):
        rank[item] = min([rank[x] for x in readers.get(item, ())], default=0)
    places = {x: k for k, x in enumerate(reads)}
    ready = [(-rank[x], -places[x], x) for x in reads if not waiting[x]]  # the first stands last
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


def asked_before(
    index: Mapping[Node, int], nodes: Mapping[Node, int], blocks: Sequence[Block]
) -> dict[Any, set[Node | Block]]:
    """What asks the question that comes before an operation, or before a loop; where none comes, it is missing."""
    asking: dict[int, Node | Block] = {nodes[n]: n for n in questions_in(nodes)}
    places: dict[Node | Block, int] = {n: place for n, place in nodes.items() if waits(n)}
    for block in blocks:
        own = [index[n] for step in block.loop.steps for n in questions_in(step)]
        asking.update(dict.fromkeys(own, block))
        places[block] = min(own) if own else max([index.get(n, 0) for step in block.loop.steps for n in step])
    if not asking:
        return {}
    questions = Questions(asking)
    found = {x: questions.before(place) for x, place in places.items()}
    return {x: {asking[questions.places[k - 1]]} for x, k in found.items() if k}
