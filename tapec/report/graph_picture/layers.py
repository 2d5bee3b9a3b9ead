"""Lay out boxes joined by arrows in layers from top to bottom (after Sugiyama).

Boxes get a layer by their longest path, long arrows are broken at every layer they cross, the order within layers
settles by averages of neighbours, and then each layer is placed as near to its neighbours as its order allows: a least
squares problem that pooling of adjacent boxes solves exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tapec.report import tuning

__all__ = ["Arrangement", "Arrow", "arrange"]

GAP_X, GAP_Y = 18.0, 30.0
BEND = 6.0  # width kept free around an arrow that passes a layer


@dataclass(frozen=True)
class Arrow:
    """Describes an arrow from one box to another, which ends `shift` to the right of the other's middle."""

    source: int
    target: int
    shift: float = 0.0


@dataclass
class Arrangement:
    """Holds the centres of the boxes, and for each arrow the points it passes, from edge to edge."""

    centres: list[tuple[float, float]]
    paths: list[list[tuple[float, float]]]
    width: float
    height: float


def arrange(
    sizes: Sequence[tuple[float, float]],
    arrows: Sequence[Arrow],
    top: frozenset[int] = frozenset(),
    bottom: frozenset[int] = frozenset(),
) -> Arrangement:
    """Place boxes, numbered so that every arrow goes from a smaller number to a larger one.

    Boxes of `top` and `bottom` are kept to the first and the last layer.
    """
    if not sizes:
        return Arrangement([], [], 0.0, 0.0)
    layer = _layers(len(sizes), arrows, top, bottom)
    boxes = list(sizes)
    bends: dict[int, list[int]] = {}
    chains = [_broken(arrow, layer, boxes, bends) for arrow in arrows]
    table: list[list[int]] = [[] for _ in range(max(layer) + 1)]
    for box, k in enumerate(layer):
        table[k].append(box)
    links = [(a, b, s) for chain, arrow in zip(chains, arrows) for a, b, s in _links(chain, arrow.shift)]
    _order(table, links, len(boxes))
    x = _columns(table, links, boxes, len(sizes))
    y, height = _heights(table, boxes)
    left = min(c - boxes[i][0] / 2 for i, c in enumerate(x))
    x = [c - left for c in x]
    width = max(c + boxes[i][0] / 2 for i, c in enumerate(x))
    centres = [(x[i], y[layer[i]]) for i in range(len(sizes))]
    paths = [_path(chain, arrow, x, y, layer, boxes, table) for chain, arrow in zip(chains, arrows)]
    return Arrangement(centres, paths, width, height)


def _layers(count: int, arrows: Sequence[Arrow], top: frozenset[int], bottom: frozenset[int]) -> list[int]:
    """The longest path to each box; but a box with no more arrows in than out stands just above what uses it first."""
    layer = [0 if k in top or not top else 1 for k in range(count)]
    incoming: list[list[int]] = [[] for _ in range(count)]
    outgoing: list[list[int]] = [[] for _ in range(count)]
    for a in arrows:
        incoming[a.target].append(a.source)
        outgoing[a.source].append(a.target)
    for box in range(count):
        for source in incoming[box]:
            layer[box] = max(layer[box], layer[source] + 1)
    for box in reversed(range(count)):
        free = [layer[t] - 1 for t in outgoing[box] if t not in bottom]
        if free and box not in top and len(incoming[box]) <= len(free):
            layer[box] = max(layer[box], min(free))
    last = max(layer) if not bottom else max([layer[k] + 1 for k in range(count) if k not in bottom], default=0)
    for box in bottom:
        layer[box] = last
    return layer


def _broken(arrow: Arrow, layer: list[int], boxes: list[tuple[float, float]], bends: dict[int, list[int]]) -> list[int]:
    """The boxes that an arrow passes; arrows that leave the same box share their bends."""
    shared = bends.setdefault(arrow.source, [])
    needed = layer[arrow.target] - layer[arrow.source] - 1
    while len(shared) < needed:
        boxes.append((BEND, 0.0))
        layer.append(layer[arrow.source] + 1 + len(shared))
        shared.append(len(boxes) - 1)
    return [arrow.source, *shared[: max(needed, 0)], arrow.target]


def _links(chain: list[int], shift: float) -> list[tuple[int, int, float]]:
    return [(a, b, shift if b == chain[-1] else 0.0) for a, b in pairwise(chain)]


def _neighbours(links: Sequence[tuple[int, int, float]], count: int) -> tuple[list, list]:
    """Return for each box the boxes above it and below it: (other box, shift of the wanted middle)."""
    above: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    below: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for a, b, shift in set(links):
        below[a].append((b, shift))
        above[b].append((a, -shift))
    for side in (above, below):
        for entries in side:
            entries.sort()
    return above, below


def _order(table: list[list[int]], links: Sequence[tuple[int, int, float]], count: int) -> None:
    """Sort each layer by the mean position of neighbours, down and up in turns."""
    above, below = _neighbours(links, count)
    place = {box: float(k) for boxes in table for k, box in enumerate(boxes)}
    for sweep in range(tuning.LAYER_SWEEPS):
        side = below if sweep % 2 else above
        for boxes in reversed(table) if sweep % 2 else table:
            wanted = {b: _mean([place[o] - s / 1000 for o, s in side[b]], place[b]) for b in boxes}
            boxes.sort(key=lambda b: wanted[b])
            for k, b in enumerate(boxes):
                place[b] = float(k)


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _columns(
    table: list[list[int]], links: Sequence[tuple[int, int, float]], boxes: list[tuple[float, float]], real: int
) -> list[float]:
    """The middle of each box: near its neighbours, in order, apart."""
    above, below = _neighbours(links, len(boxes))
    x = [0.0] * len(boxes)
    for layer in table:
        _spread(layer, [0.0] * len(layer), [1.0] * len(layer), boxes, x)
    for sweep in range(tuning.LAYER_SWEEPS):
        for layer in reversed(table) if sweep % 2 else table:
            wanted, weight = [], []
            for b in layer:
                near = [*above[b], *below[b]]
                wanted.append(_mean([x[o] + s for o, s in near], x[b]))
                weight.append(len(near) or 0.1)
            _spread(layer, wanted, weight, boxes, x)
    for layer in table:  # long arrows run straight where nothing is in their way
        wanted = [x[above[b][0][0]] if b >= real and above[b][0][0] >= real else x[b] for b in layer]
        _spread(layer, wanted, [0.01 if b >= real else 1.0 for b in layer], boxes, x)
    return x


def _spread(
    layer: list[int], wanted: list[float], weight: list[float], boxes: list[tuple[float, float]], x: list[float]
) -> None:
    """Least squares under "each to the right of the one before": pool adjacent boxes that are in each other's way."""
    offset, reach = [], 0.0
    for k, b in enumerate(layer):
        if k:
            before = boxes[layer[k - 1]]
            reach += before[0] / 2 + (GAP_X if before[1] and boxes[b][1] else BEND) + boxes[b][0] / 2
        offset.append(reach)
    pools: list[tuple[float, float, int]] = []  # mean, weight, how many
    for want, w, o in zip(wanted, weight, offset):
        mean, total, count = want - o, w, 1
        while pools and pools[-1][0] >= mean:
            m, t, c = pools.pop()
            mean, total, count = (m * t + mean * total) / (t + total), t + total, c + count
        pools.append((mean, total, count))
    k = 0
    for mean, _, count in pools:
        for _ in range(count):
            x[layer[k]] = mean + offset[k]
            k += 1


def _heights(table: list[list[int]], boxes: list[tuple[float, float]]) -> tuple[list[float], float]:
    """The middle of each layer, and where the last one ends."""
    y, reach = [], 0.0
    for layer in table:
        tall = max((boxes[b][1] for b in layer), default=0.0)
        y.append(reach + tall / 2)
        reach += tall + GAP_Y
    return y, reach - GAP_Y


def _path(
    chain: list[int],
    arrow: Arrow,
    x: list[float],
    y: list[float],
    layer: list[int],
    boxes: list[tuple[float, float]],
    table: list[list[int]],
) -> list[tuple[float, float]]:
    """Return the points of an arrow from the lower edge of its source to the upper edge of its target.

    It goes straight through each layer between.
    """
    source, target = chain[0], chain[-1]
    points = [(x[source], y[layer[source]] + boxes[source][1] / 2)]
    for bend in chain[1:-1]:
        tall = max(boxes[b][1] for b in table[layer[bend]]) / 2
        points += [(x[bend], y[layer[bend]] - tall), (x[bend], y[layer[bend]] + tall)]
    points.append((x[target] + arrow.shift, y[layer[target]] - boxes[target][1] / 2))
    return points
