"""Loops of a program on floats, and how one grows from a single step: forward and backward, as far as the operations
of the next step are in the program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tapec.codegen.elements import COMMUTATIVE, OPS
from tapec.ir import Node, Op, constant

__all__ = ["CARRIED", "OWN", "SAME", "WALK", "Carried", "Growing", "Loop", "Source", "Walk"]

OWN, CARRIED, SAME, WALK = range(4)
Source = tuple[int, Any]  # what an operation reads: (OWN, place), (CARRIED, Carried), (SAME, node), (WALK, number)
Carried = tuple[int, int]  # a place, and how many steps before: one, as a rule
NEUTRAL = {OPS["add"]: constant(-0.0), OPS["multiply"]: constant(1.0)}  # 0.0 would make a zero of -0.0


class Walk(NamedTuple):
    """Step k reads element `start + k * stride` of a sequence.

    The base is the number of an input whose elements are read; or (loop, place), what a loop computes there; or
    ("numbers", the numbers themselves). Of what a loop carries, element k is what step k finds, so the first is what it
    begins with.
    """

    base: Any
    start: int
    stride: int

    def at(self, k: int) -> int:
        return self.start + k * self.stride


class Loop(NamedTuple):
    """`steps[k][p]` is the operation at place p of step k, `sources[p]` what it reads in each step.

    `first` has what the first step finds of steps before.
    """

    steps: list[list[Node]]
    sources: list[tuple[Source, ...]]
    walks: list[Walk]
    first: dict[Carried, Node]

    @property
    def pattern(self) -> list[Node]:
        """A step that is like all others."""
        return self.steps[1]

    def __repr__(self) -> str:
        return f"<loop of {len(self.steps)} steps>"

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


class Growing:
    """A loop that grows from one step on, which is step 0 here, and finds `carried`.

    `known` has the operations of the program by what they compute, `nodes` as they follow each other: the step begins
    `at` there. `sequences` has what walks go along, and no operation in `used` is taken. `first` is what the first step
    finds.
    """

    def __init__(
        self,
        seed: list[Node],
        carried: dict[Carried, Node],
        sources: list[tuple[Source, ...]],
        walks: list[Walk],
        known: Mapping[tuple[Op, tuple[Node, ...]], Node],
        nodes: Sequence[Node],
        at: int,
        sequences: Mapping[Any, Sequence[Node | None]],
        used: set[Node],
    ):
        self.ops = [n.op for n in seed]
        self.sources = sources
        self.walks = walks
        self.known = known
        self.nodes = nodes
        self.at = at
        self.sequences = sequences
        self.used = used
        self.taken = set(seed)
        counts = [[kind for kind, _ in s].count(CARRIED) for s in sources]
        self.swaps = [op in COMMUTATIVE and n < 2 for op, n in zip(self.ops, counts)]  # may they read in either order?
        self.first = carried
        after = list(self.forward(seed))
        before = list(self.backward(len(seed)))
        self.behind = len(before)
        self.steps = [*reversed(before), seed, *after]

    def forward(self, step: list[Node]) -> Iterator[list[Node]]:
        carried, k = self.first, 1
        while True:
            older = {(p, d + 1): node for (p, d), node in carried.items()}
            carried = {**older, **{(p, 1): node for p, node in enumerate(step)}}
            made = self.completed([None] * len(step), carried, {}, k)
            if made is None:
                return
            carried = {key: carried[key] for key in self.first}
            yield made
            step = made
            k += 1

    def backward(self, period: int) -> Iterator[list[Node]]:
        k = -1
        while True:
            made = self.before(period, k)
            if made is None:
                return
            yield made
            k -= 1

    # -- backward ---------------------------------------------------------------------------------------------------
    def before(self, period: int, k: int) -> list[Node] | None:
        """The step before the first: what it carries over is known, and so what that was computed from."""
        made: list[Node | None] = [None] * period
        carried: dict[Carried, Node] = {}
        for (p, d), node in self.first.items():
            if d == 1:
                made[p] = node
            else:
                carried[p, d - 1] = node
        begun: dict[int, Carried] = {}
        for q in reversed(range(len(made))):
            known = made[q]
            if known is None:
                known = made[q] = self.likely(q, k)
            if known is None:
                continue
            if known.op is not self.ops[q]:
                if not self.begins(q, known, made, begun):
                    return None
            elif self.is_open(q, known, made):
                continue
            elif not self.agrees(q, known.inputs, made, carried):
                if not (self.swaps[q] and self.agrees(q, known.inputs[::-1], made, carried)):
                    return None
        done = self.completed(made, carried, begun, k)
        if done is not None:
            self.first = carried | {key: NEUTRAL[self.ops[q]] for q, key in begun.items()}
        return done

    def likely(self, q: int, k: int) -> Node | None:
        """What may be at place q of step k, by the distance: something that no step reads."""
        at = self.at + q + k * len(self.ops)
        return self.nodes[at] if at >= 0 and self.nodes[at].op is self.ops[q] else None

    def agrees(self, q: int, inputs: Sequence[Node], made: list[Node | None], carried: dict[Carried, Node]) -> bool:
        """May the operation at place q read these? Then it is noted what they are."""
        pairs = list(zip(self.sources[q], inputs))
        for (kind, p), i in pairs:
            known = made[p] if kind == OWN else carried.get(p) if kind == CARRIED else p if kind == SAME else i
            if known is not None and known is not i:
                return False
        for (kind, p), i in pairs:
            if kind == OWN:
                made[p] = i
            elif kind == CARRIED:
                carried[p] = i
        return True

    def adds_up(self, q: int) -> bool:
        return self.swaps[q] and {kind for kind, _ in self.sources[q]} == {OWN, CARRIED}

    def is_open(self, q: int, node: Node, made: list[Node | None]) -> bool:
        """Is it a sum of which nobody can tell yet what is carried, and what is new?"""
        if not self.adds_up(q):
            return False
        (_, r), (_, (p, _)) = sorted(self.sources[q], key=lambda source: source[0])
        x, y = node.inputs
        return made[r] is None and x.op is y.op is self.ops[r] is not self.ops[p]

    def begins(self, q: int, node: Node, made: list[Node | None], begun: dict[int, Carried]) -> bool:
        """Is it what a sum, or a product, is after the first step: the addend itself?"""
        if self.ops[q] not in NEUTRAL:
            return False
        (other, r), (kind, key) = sorted(self.sources[q], key=lambda source: source[0])
        if (other, kind) != (OWN, CARRIED) or key[1] > 1 or made[r] not in (None, node):
            return False
        made[r] = node
        begun[q] = key
        return True

    # -- both ways --------------------------------------------------------------------------------------------------
    def completed(
        self, made: list[Any], carried: dict[Carried, Node], begun: dict[int, Carried], k: int
    ) -> list[Node] | None:
        """Step k, of which some operations may be known already; None where the program has no such step."""
        known, moving = self.known, self.moving(k)
        for q, sources in enumerate(self.sources):
            if q in begun:
                continue
            inputs: Any = tuple(
                [
                    made[x] if kind == OWN else carried.get(x) if kind == CARRIED else x if kind == SAME else moving[x]
                    for kind, x in sources
                ]
            )
            if made[q] is not None and None in inputs and self.adds_up(q):
                inputs = self.settled(q, made, carried)
            node = known.get((self.ops[q], inputs))
            if node is None and self.swaps[q]:
                node = known.get((self.ops[q], inputs[::-1]))
            if node is None or (made[q] is not None and made[q] is not node):
                return None
            made[q] = node
        step = set(made)
        if len(step) + len(begun) < len(made) or not (step.isdisjoint(self.taken) and step.isdisjoint(self.used)):
            return None
        self.taken |= step
        return made

    def settled(self, q: int, made: list[Any], carried: dict[Carried, Node]) -> tuple[Node, ...]:
        """What a sum reads of which the new part is known now."""
        (_, r), (_, key) = sorted(self.sources[q], key=lambda source: source[0])
        x, y = made[q].inputs
        carried[key] = y if x is made[r] else x
        return (x, y)

    def moving(self, k: int) -> list[Node | None]:
        """What step k finds on its walks."""
        found = []
        for walk in self.walks:
            at, values = walk.at(k), self.sequences[walk.base]
            found.append(values[at] if 0 <= at < len(values) else None)
        return found
