"""Fuse loops that go along each other: a step of one reads what the same step of the other makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tapec.codegen import tuning
from tapec.codegen.loops.found_loop import CARRIED, OWN, SAME, WALK, Loop, StepOperand, Walk
from tapec.ir import Node

__all__ = ["joined"]


def joined(loops: Sequence[Loop], index: Mapping[Node, int]) -> list[Loop]:
    """Return the loops, with those joined that can be one; `index` tells where each operation is in the program."""
    groups = _Groups(loops, index)
    for loop in loops:
        groups.add(loop)
    found: list[Loop] = []
    now: dict[Loop, tuple[Loop, int]] = {}  # the joined loop of each loop, and its first place there
    for group in groups.groups:
        both, places = group[0]._replace(walks=[_moved(w, now) for w in group[0].walks]), {group[0]: 0}
        for loop in group[1:]:
            places[loop] = len(both.pattern)
            both = _both(both, loop, places, now)
        now.update((loop, (both, place)) for loop, place in places.items())
        found.append(both)
    return found


class _Groups:
    """Collects loops that will be one."""

    def __init__(self, loops: Sequence[Loop], index: Mapping[Node, int]):
        self.index = index
        self.home = {n: loop for loop in loops for step in loop.steps for n in step}
        self.groups: list[list[Loop]] = []
        self.number: dict[Loop, int] = {}

    def add(self, loop: Loop) -> None:
        bases = {b: self.number[b] for b in _bases(loop)}
        last = max(bases.values(), default=-1)
        if last >= 0 and self.can_join(loop, last, bases):
            self.groups[last].append(loop)
        else:
            last = len(self.groups)
            self.groups.append([loop])
        self.number[loop] = last

    def can_join(self, loop: Loop, g: int, bases: Mapping[Loop, int]) -> bool:
        """Return whether all that a loop reads is made by the same steps of a group, or before the group begins."""
        begin = self.index[self.groups[g][0].steps[0][0]]
        if len(loop.steps) != len(self.groups[g][0].steps):
            return False
        if any([self.end(b) >= begin for b, number in bases.items() if number != g]):
            return False
        if any([_within(w) is None for w in loop.walks if w.loop is not None and bases[w.loop] == g]):
            return False
        same = [x for sources in loop.sources for kind, x in sources if kind == SAME]
        return self.are_before([*same, *loop.first.values()], begin)

    def are_before(self, nodes: list[Node], begin: int) -> bool:
        """Return whether nodes can be computed before a loop that begins at `begin`; nothing they need may be in it."""
        seen = set(nodes)
        first = len(seen)
        while nodes:
            node = nodes.pop()
            home = self.home.get(node)
            if home is not None and (self.index.get(node, -1) >= begin or self.end(home) >= begin):
                return False
            if self.index.get(node, -1) >= begin:
                nodes += [i for i in node.inputs if i not in seen]
                seen.update(node.inputs)
            if len(seen) > tuning.FUSED_MAX_OPS_BETWEEN + first:
                return False
        return True

    def end(self, loop: Loop) -> int:
        """Return the place of the last operation of all loops in the group of this one."""
        group = self.groups[self.number[loop]] if loop in self.number else [loop]
        return max([self.index.get(n, 0) for other in group for n in other.steps[-1]])


def _bases(loop: Loop) -> set[Loop]:
    return {w.loop for w in loop.walks if w.loop is not None}


def _moved(walk: Walk, now: Mapping[Loop, tuple[Loop, int]]) -> Walk:
    if walk.loop is None:
        return walk
    loop, place = now[walk.loop]
    return walk._replace(base=(loop, place + walk.base[1]))


def _within(walk: Walk) -> StepOperand | None:
    """Return what a walk along a loop reads of the same step of it; None where it reads another step."""
    loop, p = walk.base
    carried = (p, 1) in loop.first
    if walk.stride != 1 or walk.start not in (0, int(carried)):
        return None
    return (CARRIED, (p, 1)) if walk.start < carried else (OWN, p)


def _both(a: Loop, b: Loop, places: Mapping[Loop, int], now: Mapping[Loop, tuple[Loop, int]]) -> Loop:
    """Return the loop whose steps are those of both; `places` tells where the loops stand that b may go along."""
    walks = list(a.walks)

    def shifted(kind: int, x: object, place: int) -> StepOperand:
        if kind == CARRIED:
            return CARRIED, (x[0] + place, x[1])  # type: ignore[index]
        return kind, x + place if kind == OWN else x  # type: ignore[operator]

    found: list[StepOperand] = []
    for walk in b.walks:
        inside = _within(walk) if walk.loop in places else None
        if inside is not None:
            found.append(shifted(*inside, places[walk.loop]))  # type: ignore[index]
        else:
            moved = _moved(walk, now)
            # 0.0 equals -0.0, and 1 equals 1.0, but they are other numbers
            known = not moved.is_numbers and moved in walks
            found.append((WALK, walks.index(moved) if known else len(walks)))
            if not known:
                walks.append(moved)
    own = places[b]
    sources = [tuple([found[x] if kind == WALK else shifted(kind, x, own) for kind, x in s]) for s in b.sources]
    first = a.first | {(p + own, d): node for (p, d), node in b.first.items()}
    return Loop([x + y for x, y in zip(a.steps, b.steps)], [*a.sources, *sources], walks, first, a.exact and b.exact)
