"""Find loops that tracing unrolled: stretches of a program that repeat.

A loop is found in three steps. Equal operations at equal distances tell where something may repeat, and how long one
step is. Two neighbouring steps then tell what each operation reads: a value of its own step, of the step before, the
same value in all steps, or one that moves along: element by element through an array, or step by step through another
loop, backward as often as forward. Last, the loop grows for as long as the program has what the next step would be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain, pairwise
from typing import Any

import numpy as np

from tapec.codegen import tuning
from tapec.codegen.common.block_items import is_block_loop
from tapec.codegen.loops.found_loop import CARRIED, OWN, SAME, WALK, Loop, StepOperand, Walk
from tapec.codegen.loops.fuse_loops import joined
from tapec.codegen.loops.grow_loop import Growing, ProgramIndex
from tapec.codegen.schedule.inlining import readers_of
from tapec.ir import CONSTANT, Graph, Node, is_literal
from tapec.ir.source_location import line_of

__all__ = ["find_loops"]

Numbers = dict[Walk, int]
Stretch = tuple[int, int, int]  # start and stop of something that repeats, and the length of one step


def find_loops(graph: Graph, groups: Sequence[Sequence[Node | None]]) -> list[Loop]:
    """Return the loops in a program, none of which has an operation in common with another.

    `groups` are the elements of each input, where these are known; else loops may walk along the inputs. A loop that
    walks along another comes after it.
    """
    finder = _Finder(graph, groups)
    return joined(finder.loops(), finder.index)


class _Finder:
    def __init__(self, graph: Graph, groups: Sequence[Sequence[Node | None]]):
        self.nodes = [n for n in graph.nodes if n.op is not CONSTANT and n.op.kind != "creation"]
        self.index = {n: k for k, n in enumerate(self.nodes)}
        self.kinds = kinds_of(self.nodes)
        self.sequences: dict[Any, Sequence[Node | None]] = dict(enumerate(groups))
        self.place: dict[Node, tuple[Any, int]] = {}  # the sequence that has a value, and its number there
        self.used: set[Node] = set()
        self.around = (0, 0)  # where the steps may lie of the loop that is looked for
        if not groups:
            self.sequences["inputs"] = graph.inputs
        for g, group in self.sequences.items():
            self.place.update({e: (g, k) for k, e in enumerate(group) if e is not None})
        self.program = ProgramIndex(
            self.nodes,
            self.index,
            self.kinds,
            {(kind, n.inputs): n for n, kind in self.kinds.items()},
            self.sequences,
            {n.value: n for n in graph.nodes if n.op is CONSTANT and type(n.value) is int},
            {*graph.outputs, *[i for n in graph.nodes if n.op.kind == "creation" for i in n.inputs]},
            self.used,
            cache(partial(readers_of, self.nodes)),  # computed at first use: most loops end without a look at readers
        )

    def loops(self) -> list[Loop]:
        """Return all loops.

        Where a stretch repeats and no loop is found, it may walk along a loop that is found later. So it is tried
        again; till then the repeats inside of its steps wait as well.
        """
        found: list[Loop] = []
        failed: list[Stretch] = []
        inner: list[Stretch] = []
        keys = self.keys()
        inside = bytearray(len(self.nodes))
        for width in tuning.REPEAT_WIDTHS:
            if len(self.used) + width > len(self.nodes):
                continue
            known = len(found)
            for stretch in _repeating(keys, width):
                start, stop, period = stretch
                if inside.find(1, start, stop) >= 0:
                    inner.append(stretch)
                elif not self.find(stretch, found, keys) and stop - start >= tuning.LOOP_MIN_STEPS * period:
                    failed.append(stretch)
                    inside[start:stop] = b"\1" * (stop - start)
            if len(found) > known:
                failed = self.retry(failed, found, keys)
        if self.retry(inner, found, keys) != inner:
            self.retry(failed, found, keys)
        return found

    def retry(self, failed: list[Stretch], found: list[Loop], keys: list[int]) -> list[Stretch]:
        """Look again at stretches without a loop, as long as there is something to find; return those still without."""
        for _ in range(tuning.LOOP_ROUNDS_MAX):
            rest = [stretch for stretch in failed if not self.find(stretch, found, keys)]
            if len(rest) == len(failed):
                break
            failed = rest
        return failed

    def find(self, stretch: Stretch, found: list[Loop], keys: list[int]) -> bool:
        """Return whether there is a loop in a stretch.

        On either side of it there may be others; and two may meet in the middle of the stretch.
        """
        known, parts = len(found), [stretch]
        halves = tuning.HALVED_MAX_TIMES
        for start, stop, period in parts:
            if stop - start < 3 * period:
                continue
            loop = self.loop(start, stop, period) or self.loop(start, stop, self.turns(start, stop, period) * period)
            if loop is not None:
                found.append(loop)
                self.take(loop, keys)
                places = [self.index[n] for n in chain(loop.steps[0], loop.steps[-1]) if n in self.index]
                parts += [(start, min(places), period), (max(places) + 1, stop, period)]
            elif halves and stop - start >= tuning.HALVED_MIN_STEPS * period:
                halves -= 1
                middle = start + (stop - start) // 2
                parts += [(start, middle, period), (middle, stop, period)]
        return len(found) > known

    def turns(self, start: int, stop: int, period: int) -> int:
        """Return how many periods make one step, where an operation reads several values, or loops, by turns.

        Else it may be two, where two values change places.
        """
        middle = start + (stop - start) // 2
        for at in range(middle, min(middle + min(period, tuning.TURNS_MAX_OPS), stop)):
            for k, read in enumerate(self.nodes[at].inputs):
                ahead = self.nodes[at + period : min(stop, at + (tuning.TURNS_MAX_LOOPS + 1) * period) : period]
                others = [n.inputs[k] for n in ahead if len(n.inputs) > k]
                along = [self.place.get(i, (None, 0))[0] for i in (read, *others)]
                for what, *later in ((read, *others), along):
                    if what is not None and what in later[1:] and later[0] != what:
                        return later.index(what) + 1
        return 2

    def keys(self) -> list[int]:
        """Return numbers that are equal where operations are, up to the constants that they read."""
        kinds: dict[Any, int] = {}
        keys = []
        for node in self.nodes:
            read = 0
            for i in node.inputs:
                read += read + (i.op is CONSTANT)
            keys.append(kinds.setdefault((self.kinds[node], read), len(kinds)))
        return keys

    def take(self, loop: Loop, keys: list[int]) -> None:
        """Reserve the operations of a loop, which belong to no other; other loops may walk along it."""
        for p, nodes in enumerate(zip(*loop.steps)):
            self.used.update(nodes)
            for node in nodes:
                at = self.index.get(node)
                if at is not None:
                    keys[at] = -1 - at  # a key that is equal to no other
            start = [loop.first[p, 1]] if (p, 1) in loop.first else []
            base = loop, p
            self.sequences[base] = [*start, *nodes]
            self.place.update({node: (base, k) for k, node in enumerate(nodes, len(start))})

    # -- two steps tell the pattern ---------------------------------------------------------------------------------
    def loop(self, start: int, stop: int, period: int) -> Loop | None:
        """Return the loop whose steps have so many operations, and lie in this stretch."""
        if stop - start < 3 * period or not self.used.isdisjoint(self.nodes[start:stop]):
            return None
        self.around = max(0, start - tuning.LOOP_MIN_STEPS * period), stop + tuning.LOOP_MIN_STEPS * period
        found = [self.grown(cut, stop, period) for cut in self.cuts(start, period)[: tuning.STEP_BEGINNINGS_MAX]]
        return max(found, key=lambda loop: (len(loop.steps), loop.exact) if loop is not None else (0, False))

    def grown(self, cut: int, stop: int, period: int) -> Loop | None:
        """Return the loop whose steps begin at this operation, if there is one."""
        middle = cut + period * max(1, (stop - cut) // period // 2)
        seed = self.nodes[middle : middle + period]
        walks: Numbers = {}
        sources = []
        for a, b in zip(self.nodes[middle - period : middle], seed):
            if self.kinds[a] != self.kinds[b]:
                return None
            read = self.read(a.inputs, b, middle, period, walks)
            if read is None and a.op.commutative and len(a.inputs) == 2:
                read = self.read(a.inputs[::-1], b, middle, period, walks)
            if read is None:
                return None
            sources.append(read)
        keys = [key for read in sources for kind, key in read if kind == CARRIED]
        carried = {(p, d): self.nodes[middle - d * period + p] for p, last in keys for d in range(1, last + 1)}
        grown = Growing(seed, carried, sources, list(walks), self.program, middle)
        along = grown_along(grown)
        if any([walk.is_whole(len(grown.steps)) for walk in along]):
            grown.drop_first()
            along = grown_along(grown)
        # a short loop pays where the values of another loop would else be read one by one
        short = len(grown.steps) * period < tuning.REPEAT_WIDTHS[-1] and all([walk.loop is None for walk in along])
        if len(grown.steps) < tuning.LOOP_MIN_STEPS or short:
            return None
        return Loop(grown.steps, sources, along, grown.first, grown.exact)

    def cuts(self, start: int, period: int) -> list[int]:
        """Return where a step had best begin: where the fewest values go over to the next."""
        furthest: dict[int, int] = {}
        for j in range(start, start + 3 * period):
            for i in self.nodes[j].inputs:
                k = self.index.get(i, -1)
                if start <= k < start + period:
                    furthest[k] = j
        change = [0] * (3 * period + 2)
        for k, j in furthest.items():
            if j - k < 2 * period:
                change[k + 1 - start] += 1
                change[j + 1 - start] -= 1
        crossing = [0] * period
        alive = 0
        for k, c in enumerate(change):
            alive += c
            crossing[k % period] += alive
        least = min(crossing)
        best = [start + k for k, c in enumerate(crossing) if c == least]
        turns = list(map(self.turn, best))
        return [k for k, turn in zip(best, turns) if turn == max(turns)]

    def turn(self, k: int) -> int:
        """Return how many lines back the user's program goes here, as at the end of a loop's body.

        A derivative runs backward.
        """
        node, last = self.nodes[k], self.nodes[k - 1] if k else None
        if node.origin is None or last is None or last.origin is None or node.origin[0] is not last.origin[0]:
            return 0
        lines = line_of(last.origin) - line_of(node.origin)
        return lines if node.role is None else -lines

    def read(
        self, inputs: tuple[Node, ...], b: Node, middle: int, period: int, walks: Numbers
    ) -> tuple[StepOperand, ...] | None:
        """Return the sources of operation b of a step; `inputs` are those of the same operation in the step before."""
        found = []
        for k, (x, y) in enumerate(zip(inputs, b.inputs)):
            source = self.source(x, y, middle, period, walks)
            if source is None and _is_number(x) and _is_number(y):
                source = self.numbers(self.index[b], k, period, walks)
            if source is None:
                return None
            found.append(source)
        return tuple(found)

    def source(self, x: Node, y: Node, middle: int, period: int, walks: Numbers) -> StepOperand | None:
        """Return the source of an operand that is x in one step and y in the next, which begins at `middle`."""
        if x is y:
            return SAME, y
        at = self.index.get(y, -1)
        if at >= middle:
            return (OWN, at - middle) if self.nodes[at - period] is x else None
        if y.op.multi:
            return None  # an operation with several results stays together with them
        if at >= middle - period:
            return CARRIED, (at - middle + period, 1)
        ago = -(-(middle - at) // period)
        if at >= period and ago <= tuning.CARRIED_MAX_STEPS and self.nodes[at - period] is x:
            return CARRIED, (at - middle + ago * period, ago)
        if x not in self.place or y not in self.place:
            return None
        (base, i), (also, j) = self.place[x], self.place[y]
        if base != also or i == j or x.type != y.type:
            return None
        return WALK, walks.setdefault(Walk(base, j, j - i), len(walks))

    def numbers(self, at: int, k: int, period: int, walks: Numbers) -> StepOperand:
        """Return a walk along numbers that are others in each step: those read by operations at equal distances."""
        low, high = self.around
        first = at - (at - low) // period * period
        found = []
        for node in self.nodes[first:high:period]:
            number = node.inputs[k] if len(node.inputs) > k else None
            known = number is not None and _is_number(number)
            found.append(number if known else None)
        self.sequences["numbers", at, k] = found
        return WALK, walks.setdefault(Walk(("numbers", at, k), (at - first) // period, 1), len(walks))


def kinds_of(nodes: Sequence[Node]) -> dict[Node, int]:
    """Return numbers that are equal where operations do the same to what they read."""
    known: dict[Any, int] = {}
    found = {}
    for node in nodes:
        key: Any = node.op, node.params, node.type, node.bodies
        try:
            found[node] = known.setdefault(node if node.bodies and is_block_loop(node) else key, len(known))
        except TypeError:  # a parameter without a hash: like no other operation
            found[node] = known.setdefault(node, len(known))
    return found


def grown_along(grown: Growing) -> list[Walk]:
    """Return what the steps of a loop walk along."""
    return [moved(w, seen, grown.behind, len(grown.steps)) for w, seen in zip(grown.walks, grown.seen)]


def moved(walk: Walk, seen: Mapping[int, Node | None], behind: int, count: int) -> Walk:
    """Return a walk that begins so many steps before; one along numbers has those that are seen."""
    if not walk.is_numbers:
        return walk._replace(start=walk.at(-behind))
    numbers: list[Any] = [seen[k - behind] for k in range(count)]
    return Walk(("numbers", tuple([n.value for n in numbers])), 0, 1)


def _is_number(node: Node) -> bool:
    return is_literal(node) and type(node.value) in (float, int) and math.isfinite(node.value)


def _repeating(keys: list[int], width: int) -> Iterator[Stretch]:
    """Give stretches (start, stop, period) in which each of `width` or more keys is the one `period` places before."""
    windows = _digests(np.array(keys), width)
    order = np.argsort(windows, kind="stable")
    ahead = np.diff(order) * (np.diff(windows[order]) == 0)
    distance = np.zeros(len(windows), int)
    distance[order[1:]] = ahead  # distance to the last window that is equal
    edges = np.flatnonzero(np.diff(distance, prepend=0, append=0)).tolist()
    for start, stop in pairwise(edges):
        period = int(distance[start])
        if period:
            yield max(0, start - period), stop + width - 1, period


def _digests(keys: Any, width: int) -> Any:
    """Return a number for each stretch of `width` keys, equal for equal stretches: polynomials, modulo 2 ** 64."""
    base, count = 0x9E3779B97F4A7C15, len(keys) - width + 1
    powers = np.cumprod(np.full(len(keys), base, np.uint64))
    sums = np.cumsum(keys.astype(np.uint64) * powers)
    ahead = np.cumprod(np.full(count, pow(base, -1, 1 << 64), np.uint64))
    return (sums[width - 1 :] - np.append(np.uint64(0), sums[: count - 1])) * ahead
