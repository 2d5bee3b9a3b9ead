"""Products of three that share two factors: a * u * v and b * u * v.

Each by itself passes its cotangent on through a * u and b * u, and multiplies by u and by v anew. As multiples of one
product u * v all of them pass theirs on to that, which multiplies by u and by v once:

    g * (a * u) + h * (b * u)  ->  (g * a + h * b) * u

The value of u * v is asked for by the cotangents of a and b alone. Values that the user computes stay what they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from tapec.autodiff.as_one import Shortcut
from tapec.autodiff.reverse import scaled
from tapec.ir import CONSTANT, CT, Builder, Node
from tapec.ir.op import OWN_KINDS
from tapec.ops import UFUNCS
from tapec.tuples import NamedTuple

__all__ = ["Pairs", "shared_pairs"]

MULTIPLY = UFUNCS[np.multiply]
ROUNDS = 4  # what products have in common is a pair, or that and one factor more, and so on


class Multiple(NamedTuple):
    """A product y = (a * u) * v, or with factors in another order; `inner` is a * u. Without these, y = u * v."""

    y: Node
    u: Node
    v: Node
    a: Node | None = None
    inner: Node | None = None


Group = list[Multiple]  # of one pair u, v


class Pairs(NamedTuple):
    """The program with the products of pairs in their places, and how what is a multiple of one is differentiated.

    `made` has the products that stand there for derivatives alone, each with one of the user's that it equals, if any.
    """

    nodes: Sequence[Node]
    multiples: Mapping[Node, Shortcut]
    made: Mapping[Node, Node | None]

    def lifting(self, lift: Callable[[Node], Node], builder: Builder) -> Callable[[Node], Node]:
        """`lift`, which knows the user's program, for these products too."""

        def lifted(node: Node) -> Node:
            if node not in self.made:
                return lift(node)
            known = self.made[node]
            return builder.emit(MULTIPLY, tuple(map(lifted, node.inputs))) if known is None else lift(known)

        return lifted


def shared_pairs(
    nodes: Sequence[Node], active: set[Node], sources: Collection[Node], is_apart: Callable[[Node], bool]
) -> Pairs | None:
    """The pairs whose products it pays to go back through; None if there are none. `active` gets these products.

    No source is skipped, and no product that is apart: those have a derivative of their own.
    """
    walk = _Walk(nodes, active, sources, is_apart)
    for _ in range(ROUNDS):
        if not walk.takes_pairs():
            break
    if not walk.made:
        return None
    steps = [n for y in nodes for n in (*walk.before.get(y, ()), y)]
    return Pairs(steps, walk.multiples, walk.made)


class _Walk:
    """The program, with the pairs that are taken so far."""

    def __init__(
        self, nodes: Sequence[Node], active: set[Node], sources: Collection[Node], is_apart: Callable[[Node], bool]
    ):
        self.active = active
        self.sources = set(sources)
        self.is_apart = is_apart
        products = [n for n in nodes if n.op is MULTIPLY and n in active and n.type.dtype.kind == "f"]
        self.factors = {n: n.inputs for n in products if n not in self.sources}  # of products, as they are seen by now
        self.places = {n: k for k, n in enumerate(self.factors)}
        self.uses = Counter(chain.from_iterable([n.inputs for n in nodes]))
        self.first = _First(self.sources)
        self.multiples: dict[Node, Shortcut] = {}
        self.made: dict[Node, Node | None] = {}
        self.before: dict[Node, list[Node]] = {}  # what products of pairs come before a node

    def takes_pairs(self) -> bool:
        """Take the pairs that it pays to take, the best ones first. May there be others after that?"""
        gains = [(self.gain(group), group) for group in self.groups() if len(group) > 1]
        taken: set[Node] = set()
        for gain, group in sorted(gains, key=lambda found: -found[0]):
            free = self.free(group, taken) if gain > 0 else []
            if len(free) == len(group) or (len(free) > 1 and self.gain(free) > 0):
                self.take(free)
                taken.update([m.y for m in free])
        seen = self.factors.items()
        return any([a in self.factors if y in taken else a in taken or b in taken for y, (a, b) in seen])

    def groups(self) -> Collection[Group]:
        """The multiples of each pair of which there is a product of three."""
        found: dict[tuple[Node, Node], Group] = {}
        for y, factors in self.factors.items():
            for m in self.products_of_three(y, *factors):
                found.setdefault(self.key(m.u, m.v), []).append(m)
        if found:
            for y, (u, v) in self.factors.items():
                group = found.get(self.key(u, v))
                if group is not None and _is_like(u, y) and _is_like(v, y):
                    group.append(Multiple(y, u, v))
        return found.values()

    def products_of_three(self, y: Node, *factors: Node) -> Iterator[Multiple]:
        """The ways to see a product as one of three: by inner products that nothing else uses."""
        for inner, v in (factors, factors[::-1]):
            if inner in self.factors and self.uses[inner] == 1:
                below = self.factors[inner]
                for a, u in (below, below[::-1]) if _is_like(v, y) else ():
                    if _is_like(u, y) and _has_digits(a, y):
                        yield Multiple(y, u, v, a, inner)

    def key(self, u: Node, v: Node) -> tuple[Node, Node]:
        """One for pairs of the same values, in either order."""
        u, v = self.first[u], self.first[v]
        return (u, v) if id(u) < id(v) else (v, u)

    def free(self, group: Group, taken: set[Node]) -> Group:
        """Those of them that are not seen in another way since, each once."""
        found: Group = []
        seen: set[Node] = set()
        for m in group:
            own = (m.y,) if m.inner is None else (m.y, m.inner)
            if all([n in self.factors and n not in taken and n not in seen and not self.is_apart(n) for n in own]):
                seen.update(own)
                found.append(m)
        return found

    def gain(self, group: Group) -> int:
        """How many multiplications and additions it saves to go back through the product of a pair."""
        _, u, v, *_ = group[0]
        ends = (u in self.active) + (v in self.active)
        through = 1 if ends else 0
        thirds = [m.a in self.active for m in group if m.inner is not None]
        asked = any(thirds) and len(thirds) == len(group)  # for a value of u * v that is not there
        sums = len(group) - 1
        apart = len(thirds) + sum(thirds) + (len(group) + sums) * ends
        together = len(thirds) * through + sum(thirds) + ends + asked + sums * through
        return apart - together

    def take(self, group: Group) -> None:
        """Differentiate these by the product of their pair."""
        y, u, v, _, inner = min(group, key=lambda m: self.places[m.y])
        known = next((m.y for m in group if m.inner is None), None)
        pair = Node(MULTIPLY, (u, v), (), MULTIPLY.rule(u.type, v.type), (known or inner or y).origin, None, CT)
        self.before.setdefault(y, []).append(pair)
        self.made[pair] = known
        if u in self.active or v in self.active:
            self.active.add(pair)
        for m in group:
            if m.a is None or m.inner is None:
                self.multiples[m.y] = Shortcut((pair,), (), lambda ct, y, pair: (ct,), None)
                del self.factors[m.y]
            else:
                self.multiples[m.y] = Shortcut((m.a, pair), (m.inner,), _factors_back, None)
                self.factors[m.y] = m.a, pair
                del self.factors[m.inner]


class _First(dict[Node, Node]):
    """The first of those that were seen to be the same: tapes have values recorded twice."""

    def __init__(self, sources: set[Node]):
        self.sources = sources
        self.known: dict[Any, Node] = {}

    def __missing__(self, node: Node) -> Node:
        found = node
        if node.inputs and node.op.kind not in OWN_KINDS and node not in self.sources:
            found = self.known.setdefault((node.op, node.inputs, node.params), node)
        self[node] = found
        return found


def _factors_back(ct: Any, y: Any, a: Any, pair: Any) -> tuple[Any, Any]:
    return scaled(ct, pair), scaled(ct, a)


def _is_like(u: Node, y: Node) -> bool:
    """Is it a value like the result, and no number of the program?"""
    t, want = u.type, y.type
    return u.op is not CONSTANT and (t is want or (t.shape == want.shape and t.dtype == want.dtype))


def _has_digits(a: Node, y: Node) -> bool:
    """Has it the digits of the result, or is it a number?"""
    t, want = a.type, y.type
    return t is want or t.dtype == want.dtype or (t.weak and t.dtype.kind in "fi")
