"""Find numbers that count.

An index that goes up or down by equal steps is one variable of a loop, and a view that such an index makes is made
again by whoever reads it, not kept.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from tapec.codegen.loops.found_loop import OWN, SAME, WALK, Walk
from tapec.codegen.loops.loop_model import Block, Feed, text_op
from tapec.codegen.schedule.inlining import is_view
from tapec.ir import Node, input_node
from tapec.ir.types import weak_type

__all__ = ["counted", "numbered", "range_text", "seen_again"]

Numbers = tuple[float, ...]


def counted(numbers: Numbers, block: Block) -> Node | None:
    """Return the node for whole numbers that count; None where they do not."""
    stride = numbers[1] - numbers[0]
    if not stride or any([type(n) is not int for n in numbers]):
        return None
    if any([b - a != stride for a, b in pairwise(numbers)]):
        return None
    known = block.numbers.get((numbers[0], stride))
    if known is None:
        known = block.numbers[numbers[0], stride] = _new_number(int(numbers[0]), int(stride), len(numbers), block)
    return known


def _new_number(start: int, stride: int, count: int, block: Block) -> Node:
    """Make a variable of the loop; or a number in terms of another variable that is there."""
    for feed in block.feeds:
        if type(feed.values) is range and abs(feed.values.step) == abs(stride):
            first, ahead = feed.values.start, start - feed.values.start
            text = f"{{0}} {'+' if ahead > 0 else '-'} {abs(ahead)}"
            if feed.values.step != stride:
                text = f"{start + first} - {{0}}"
            inputs = tuple([k for k in feed.targets if k is not None])
            block.recomputed.append(Node(text_op("number", text), inputs, (), weak_type(int)))
            return block.recomputed[-1]
    k = input_node("k", weak_type(int))
    block.feeds.append(Feed(range(start, start + stride * count, stride), count, 0, 1, [k], []))
    return k


def numbered(block: Block) -> dict[Node, range]:
    """Return the range of each number that counts in a loop."""
    made = {node: (start, stride) for (start, stride), node in block.numbers.items()}
    return {n: range(int(a), int(a + d * block.count), int(d)) for n, (a, d) in made.items()}


def range_text(values: range) -> str:
    """Write `range(n)`, or a range backward as a person writes it."""
    if values.step < 0:
        return f"reversed({range_text(values[::-1])})"
    if values.step != 1:
        return str(values)
    return f"range({values.stop})" if values.start == 0 else f"range({values.start}, {values.stop})"


def seen_again(walk: Walk, count: int, block: Block, resolve: Callable[[Node], Node]) -> Node | None:
    """Return the node for a view, at an index that counts, that another loop makes of a value that neither computes."""
    loop, p = walk.base
    chain: list[int] = []
    made = None
    while made is None:
        made = block.views.get((loop, p, walk.start, walk.stride))
        if made is not None:
            break
        (kind, x), *indices = loop.sources[p]
        if not is_view(loop.pattern[p]) or (p, 1) in loop.first or any([k not in (SAME, WALK) for k, _ in indices]):
            return None
        chain.append(p)
        if kind == SAME:
            made = resolve(x)
        elif kind != OWN:
            return None
        p = x
    found: dict[int, Node | None] = {}
    for w in dict.fromkeys([x for p in chain for kind, x in loop.sources[p] if kind == WALK]):
        along = loop.walks[w]
        numbers = along.base[1] if along.is_numbers else ()
        found[w] = counted(tuple([numbers[walk.at(k)] for k in range(count)]), block) if numbers else None
        if found[w] is None:
            return None
    for p in reversed(chain):
        indices = [found[x] if kind == WALK else resolve(x) for kind, x in loop.sources[p][1:]]
        made = loop.pattern[p].with_inputs((made, *indices))
        block.recomputed.append(made)
        block.views[loop, p, walk.start, walk.stride] = made
    return made
