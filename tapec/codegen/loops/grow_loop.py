"""Grow a loop from a single step, forward and backward, as far as the program has the operations of the next step.

The first step is the seed; its operations, by place, say what each step does, and `sources` what each of them reads.

- Forward (`forward`), the operands of the next step are known, so its operations are looked up by kind and operands.
- Backward (`before`), what the step carries over is known, and its operands are read from that.
- The program may lack the beginning of a sum or product: the first step has the addend alone, since nobody adds to
  zero. `begins` sees that, and `neutral` makes the number, or the array, that the loop begins with in its place.
- The program may lack a part of the last step, which nobody reads. `one_more` makes the missing operations where they
  are harmless and little work, because all steps of a loop are equal.

Generated code with a loop may thus compute a little that the program does not.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any

import numpy as np

from tapec.codegen import tuning
from tapec.codegen.loops.found_loop import CARRIED, OWN, SAME, Carried, StepOperand, Walk
from tapec.codegen.loops.index_operands import FIRST, exchanged
from tapec.codegen.loops.loop_model import CHEAP
from tapec.codegen.numpy.scatter_forms import is_line, is_scatter
from tapec.codegen.schedule.inlining import is_view
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, Node, OpSet, OpTable, constant, get_op, is_literal, ops
from tapec.ir.flops import flops
from tapec.ir.static_index import Slice

__all__ = ["Growing", "ProgramIndex"]

NEUTRAL = OpTable({"add": -0.0, "multiply": 1.0})  # 0.0 would make a zero of -0.0
HARMLESS = OpSet("add subtract multiply negative matmul sum where scatter")


def is_harmless(node: Node) -> bool:
    """Return whether a node can be computed although nobody asked for it: no value makes it complain."""
    return is_view(node) or node.op.facts.get("plain", node.op) in HARMLESS


def is_inside(node: Node) -> bool:
    """Return whether the numbers in an index, where it has some, are places that there are."""
    first = FIRST.get(node.op)
    if first is None or len(node.inputs) == first:
        return True
    places = [i.value for i in node.inputs[first:] if is_literal(i) and type(i.value) is int]
    if len(places) < len(node.inputs) - first:
        return False
    index = exchanged(node.param("index"), [], places)
    parts = tuple([slice(*p) if type(p) is Slice else p for p in index])
    whole, part = (node.type, node.inputs[0].type) if node.op is ops.scatter else (node.inputs[0].type, node.type)
    try:
        return np.broadcast_to(0, whole.shape)[parts].shape == part.shape
    except IndexError:
        return False


class ProgramIndex(NamedTuple):
    """A program, as loops grow in it.

    `nodes` are its operations as they follow each other, `positions` tells where each is, `kinds` which are alike;
    `known` has each operation by its kind and what it reads. `sequences` are what walks go along, `numbers` the whole
    numbers, `ends` the values that go into results. `used` are operations that belong to a loop already, `readers`
    returns the readers of each value.
    """

    nodes: Sequence[Node]
    positions: Mapping[Node, int]
    kinds: Mapping[Node, int]
    known: Mapping[tuple[int, tuple[Node, ...]], Node]
    sequences: Mapping[Any, Sequence[Node | None]]
    numbers: Mapping[int, Node]
    ends: Container[Node]
    used: set[Node]
    readers: Callable[[], Mapping[Node, Sequence[Node]]]


class Growing:
    """A loop that grows from one step on, the seed, which is step 0 here.

    The seed begins at place `at` of the program, and finds `carried`. `steps` are those found so far, `behind` of them
    before the seed, and `taken` all operations in them, and all values that every step reads; `first` has what the
    first step finds, `ahead` what the step after the last would find, and its number. `seen` has what each step finds
    on each walk, `swaps` tells which operations may read their operands in either order.
    """

    def __init__(
        self,
        seed: list[Node],
        carried: dict[Carried, Node],
        sources: list[tuple[StepOperand, ...]],
        walks: list[Walk],
        program: ProgramIndex,
        at: int,
    ):
        self.program = program
        self.seed = seed
        self.kinds = [program.kinds[n] for n in seed]
        self.sources = sources
        self.walks = walks
        self.seen: list[dict[int, Node | None]] = [{} for _ in walks]  # values that each step finds on each walk
        self.moving(0)
        self.moving(-1)
        self.at = at
        self.taken = {*seed, *[x for s in sources for kind, x in s if kind == SAME]}
        counts = [[kind for kind, _ in s].count(CARRIED) for s in sources]
        # operands in either order, unless both are carried
        self.swaps = [n.op.commutative and len(n.inputs) == 2 > c for n, c in zip(seed, counts)]
        self.first = carried
        after = list(self.forward(seed))
        before = list(self.backward(len(seed)))
        self.behind = len(before)
        self.steps = [*reversed(before), seed, *after]
        self.exact = True
        self.one_more()
        begin = max([program.positions.get(w.loop.steps[0][0], 0) for w in walks if w.loop is not None], default=0)
        while len(self.steps) > 1 and self.is_before(self.steps[-1], begin):
            self.steps.pop()
        while len(self.steps) > 1 and (self.is_before(self.steps[0], begin) or not self.can_begin()):
            self.drop_first()

    def forward(self, step: list[Node]) -> Iterator[list[Node]]:
        """Give the steps after this one, until the program has no next one."""
        carried, k = self.first, 1
        while True:
            older = {(p, d + 1): node for (p, d), node in carried.items()}
            carried = {**older, **{(p, 1): node for p, node in enumerate(step)}}
            made = self.completed([None] * len(step), carried, k)
            if made is None:
                self.ahead = carried, k
                return
            carried = {key: carried[key] for key in self.first}
            yield made
            step = made
            k += 1

    def one_more(self) -> None:
        """Append a last step of which nobody reads all: if the rest is little, it is computed too.

        All steps are equal then.
        """
        missing: dict[int, Node] = {}
        made = self.completed([None] * len(self.seed), *self.ahead, missing)
        if made is not None and 2 * len(missing) < len(made):
            little = sum(map(flops, self.seed)) * len(self.steps) * tuning.LAST_STEP_MAX_SHARE_OF_WORK
            if sum(map(flops, missing.values())) <= little and not self.ends_before(made, missing):
                self.steps.append(made)
                self.exact = False

    def ends_before(self, step: list[Node], missing: Mapping[int, Node]) -> bool:
        """Return whether the loop had better end before a step in which some operations are `missing` from the program.

        It had where the last step's value at one of these places is a result of the loop; or where these operations add
        to an array that is a result of this step: each step would need a copy of the array.
        """
        own = set(chain.from_iterable([*self.steps, step]))

        readers = self.program.readers()

        def is_read(node: Node) -> bool:
            return node in self.program.ends or any([n not in own for n in readers.get(node, ())])

        if len(self.steps) < 2:
            return True
        changed = {i for n in missing.values() if any(map(is_scatter, n.inputs)) for i in n.inputs}
        if any(map(is_read, changed.intersection(step))):
            return True
        return any([is_read(self.steps[-1][p]) and not is_read(self.steps[-2][p]) for p in missing])

    def backward(self, period: int) -> Iterator[list[Node]]:
        """Give the steps before the first, until the program has none."""
        k = -1
        while True:
            made = self.before(period, k)
            if made is None:
                return
            yield made
            k -= 1

    # -- backward ---------------------------------------------------------------------------------------------------
    def before(self, period: int, k: int) -> list[Node] | None:
        """Return the step before the first: what it carries over is known, and so what that was computed from."""
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
            if self.program.kinds.get(known) != self.kinds[q]:
                if not self.begins(q, known, made, begun):
                    return None
            elif self.is_open(q, known, made):
                continue
            elif not self.agrees(q, known.inputs, made, carried):
                if not (self.swaps[q] and self.agrees(q, known.inputs[::-1], made, carried)):
                    return None
        for q, key in begun.items():
            start: Any = self.neutral(q)
            if carried.setdefault(key, start) is not start:
                return None  # another operation begins with another value
        done = self.completed(made, carried, k, None, begun)
        if done is not None:
            self.first = carried
        return done

    def likely(self, q: int, k: int) -> Node | None:
        """Return the operation that may be at place q of step k, by its distance: one that no step reads."""
        at, nodes = self.at + q + k * len(self.kinds), self.program.nodes
        return nodes[at] if at >= 0 and self.program.kinds[nodes[at]] == self.kinds[q] else None

    def agrees(self, q: int, inputs: Sequence[Node], made: list[Node | None], carried: dict[Carried, Node]) -> bool:
        """Return whether the operation at place q may read these inputs; if so, note what they are."""
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

    def goes_on(self, q: int) -> bool:
        """Return whether an operation adds to its value of the step before, or subtracts: it may begin with a number.

        So a sum may begin with 0.0, which no step computes.
        """
        less = self.seed[q].op is ops.subtract and self.sources[q][0] == (CARRIED, (q, 1))
        return less or self.adds_up(q)

    def is_open(self, q: int, node: Node, made: list[Node | None]) -> bool:
        """Return whether a node is a sum of which nobody can tell yet which operand is carried, and which is new."""
        if not self.adds_up(q):
            return False
        (_, r), (_, (p, _)) = sorted(self.sources[q], key=lambda source: source[0])
        x, y = node.inputs
        kinds = self.program.kinds
        return made[r] is None and kinds.get(x) == kinds.get(y) == self.kinds[r] != self.kinds[p]

    def begins(self, q: int, node: Node, made: list[Node | None], begun: dict[int, Carried]) -> bool:
        """Return whether a node is what a sum, or a product, is after the first step: the addend itself."""
        if self.neutral(q) is None:
            return False
        (other, r), (kind, key) = sorted(self.sources[q], key=lambda source: source[0])
        if (other, kind) != (OWN, CARRIED) or key[1] > 1 or made[r] not in (None, node):
            return False
        made[r] = node
        begun[q] = key
        return True

    def neutral(self, q: int) -> Node | None:
        """Return what a sum, or a product, is before anything is in it.

        A gradient's zeros may lose a sign. Where each step adds a line of its own to an array, that array begins as
        zeros.
        """
        op, t, role = self.seed[q].op, self.seed[q].type, self.seed[q].role
        value = NEUTRAL.get(op.facts.get("plain", op))
        if value is None or t.dtype.kind != "f":
            return None
        if not value and role is not None:
            value = 0.0
        parts = [self.seed[p] for kind, p in self.sources[q] if kind == OWN and self.seed[p].op is ops.scatter]
        if parts:
            if any([not is_line(part) for part in parts]):
                return None
            value = 0.0
        if not t.shape:
            return constant(value)
        params = (("shape", t.shape), ("value", value), ("dtype", t.dtype))
        return Node(get_op("full"), (), params, t, self.seed[q].origin, None, role)

    def is_before(self, step: list[Node], begin: int) -> bool:
        """Return whether a step has an operation before a loop that the steps go along, and that may need it."""
        return any([self.program.positions.get(node, begin) < begin for node in step])

    def can_begin(self) -> bool:
        """Return whether all that the first step finds is like what the others find, and there before the step."""
        return all(map(self.fits, self.first)) and not self.is_made_inside()

    def is_made_inside(self) -> bool:
        """Return whether a value that the first step finds is made of what the step computes, and not cheaply."""
        step, place = set(self.steps[0]), self.program.positions
        begin = min([place.get(node, 0) for node in step])
        left = list(self.first.values())
        met = set(left)
        while left:
            node = left.pop()
            if node in step:
                again = (node.op in CHEAP or is_view(node)) and step.isdisjoint(node.inputs)
                if not again or node in self.first.values():
                    return True
                continue
            later = [i for i in node.inputs if place.get(i, -1) >= begin and i not in met]
            met.update(later)
            left += later
        return False

    def fits(self, key: Carried) -> bool:
        """Return whether a value that the first step finds is like what the others find."""
        node, wanted = self.first[key], self.seed[key[0]].type
        return node.type == wanted or (node.op is CONSTANT and not wanted.shape and self.goes_on(key[0]))

    def drop_first(self) -> None:
        """Take the first step out of the loop."""
        step = self.steps.pop(0)
        self.first = {(p, d): step[p] if d == 1 else self.first[p, d - 1] for p, d in self.first}
        self.behind -= 1

    # -- both ways --------------------------------------------------------------------------------------------------
    def completed(
        self,
        made: list[Any],
        carried: dict[Carried, Node],
        k: int,
        missing: dict[int, Node] | None = None,
        begun: Mapping[int, Carried] = MappingProxyType({}),
    ) -> list[Node] | None:
        """Complete step k, of which some operations may be known already; None where the program has no such step.

        Operations that the program lacks are made and noted in `missing`, if that is given and can do no harm.
        """
        known, moving = self.program.known, self.moving(k)
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
            node = known.get((self.kinds[q], inputs))
            if node is None and self.swaps[q]:
                node = known.get((self.kinds[q], inputs[::-1]))
            if node is None and missing is not None and None not in inputs and is_harmless(self.seed[q]):
                node = self.seed[q].with_inputs(inputs)
                if not is_inside(node):
                    return None
                missing[q] = node
            if node is None or (made[q] is not None and made[q] is not node):
                return None
            made[q] = node
        step = set(made)
        if len(step) + len(begun) < len(made):
            return None
        if not (step.isdisjoint(self.taken) and step.isdisjoint(self.program.used)):
            return None
        self.taken |= step
        return made

    def settled(self, q: int, made: list[Any], carried: dict[Carried, Node]) -> tuple[Node, ...]:
        """Return the operands of a sum whose new part is known now, and note the other one as carried."""
        (_, r), (_, key) = sorted(self.sources[q], key=lambda source: source[0])
        x, y = made[q].inputs
        carried[key] = y if x is made[r] else x
        return (x, y)

    def moving(self, k: int) -> list[Node | None]:
        """Return what step k finds on its walks."""
        found = []
        for walk, seen in zip(self.walks, self.seen):
            at, values = walk.at(k), self.program.sequences[walk.base]
            seen[k] = values[at] if 0 <= at < len(values) else None
            if walk.is_numbers:
                seen[k] = self.next_number(seen, k) or seen[k]
            found.append(seen[k])
        return found

    def next_number(self, seen: dict[int, Node | None], k: int) -> Node | None:
        """Return the next of whole numbers that count, wherever it stands; None where the last two do not tell it."""
        way = 1 if k > 0 else -1
        last = [n.value for n in [seen.get(k - way), seen.get(k - 2 * way)] if n is not None]
        return self.program.numbers.get(2 * last[0] - last[1]) if [type(n) for n in last] == [int, int] else None
