"""Slopes: how the cotangents of eigenvectors change with the eigenvalue that each vector belongs to.

Where eigenvalues w_i, w_j are equal, the rule of `eigh` has a quotient of two zeros: M = V^H V̄ less its adjoint, by
w_j - w_i. It is what turns the vectors of one space among themselves, and a loss that does not depend on which of them
were found has no more of it than the limit: the derivative of M_ij by w_j. That is V^H times the slope of V̄, its column
j by w_j, the vectors as they are. For (v * f(w)) @ v.T it comes to f'(w_j).

A slope is a tangent that follows an axis. A value X with an axis along the eigenvalues has one of its own shape,
dX[.., j, ..] / dw_j, and operations that work on each place of that axis by itself make a slope of it as they make
tangents of tangents. Where the axis is summed over it ends: a sum over all vectors of a space is a function of the
space alone, and what the cotangents get through that turns no vectors. A single value that meets others ends as well.
Through an operation that is not known it is lost, and where that is part of a cotangent no slope of it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapec.autodiff.along import LOST, Axes, Known, Route, Use, carried, is_diagonal, is_single
from tapec.autodiff.forward import summed, tangent
from tapec.autodiff.reverse import decomposition_of, decompositions, fit, plain
from tapec.autodiff.zeros import Zero, filled, is_zero
from tapec.ir import Builder, Node
from tapec.ir.types import is_differentiable
from tapec.ops import Symbol

__all__ = ["Slopes"]

MOST = 8  # decompositions, the latest ones, from which a value has routes: long programs have many
Parts = dict[int, list[Route]]  # by operands: which of their routes make one of the result's
Step = tuple[Node, Route]


class Slopes:
    """The routes from decompositions through a program and its gradient, as far as that has come.

    Vectors have routes as their values have. Their slopes are zero, but what is lost of either is lost to both.
    """

    def __init__(self, builder: Builder, nodes: Sequence[Node], lift: Callable[[Node], Node]):
        self.builder = builder
        self.given = lift
        self.stands: dict[Node, Node] = {}  # for what is in the builder: the forward value that it stands for
        self.asked: set[Node] = set()  # decompositions whose slopes have been asked for
        self.routes: dict[Node, dict[Route, Parts]] = {}
        self.diagonal: set[Node] = set()
        self.order: dict[Node, int] = {}
        self.seen = len(builder.nodes)
        self.decompositions = decompositions(nodes)
        for node in nodes:
            self._follow(node)
        self.program = len(self.order)

    def lift(self, node: Node) -> Node:
        """What stands for a forward value in the gradient has its routes."""
        found = self.given(node)
        if found is not node:
            if node in self.routes:
                self.stands[found] = node
            if node in self.diagonal:
                self.diagonal.add(found)
        return found

    def of(self, node: Node, cts: Any) -> tuple[Any, ...] | None:
        """The slopes of the cotangents of a decomposition, zeros where no route leads; None where all are.

        Also where a route is lost: half of a slope tells nothing. Vectors of two kinds that are both used are used in
        pairs, which turn together: then even zeros tell something.
        """
        while self.seen < len(self.builder.nodes):
            self._follow(self.builder.nodes[self.seen])
            self.seen += 1
        self.asked.add(node)
        vectors = [k for k in node.op.facts["spectrum"].vectors if isinstance(cts[k], Symbol) and not is_zero(cts[k])]
        if any([Route(node, LOST) in self._routes(cts[k].node) for k in vectors]):
            return None
        found = {k: s for k in vectors if (s := self._slope(node, k, cts[k].node)) is not None}
        paired = len(vectors) > 1
        if not paired and not found:
            return None
        return tuple([found[k] if k in found else Zero(plain(t), self.builder) for k, t in enumerate(node.type)])

    def _slope(self, node: Node, k: int, ct: Node) -> Any:
        wanted = _first_axes(node, k)
        along = [r for r in self._routes(ct) if r.of is node and all(map(frozenset.issubset, wanted, r.axes))]
        return self._tangent([(self.stands.get(ct, ct), route) for route in along])

    # -- routes -------------------------------------------------------------------------------------------------------
    def _routes(self, node: Node) -> dict[Route, Parts]:
        return self.routes.get(self.stands.get(node, node), {})

    def _follow(self, node: Node) -> None:
        if is_diagonal(node, self.diagonal):
            self.diagonal.add(node)
        found: dict[Route, Parts] = {}
        start, result = decomposition_of(node, self.decompositions)
        if start is not None:
            self.order.setdefault(start, len(self.order))
            found[Route(start, _first_axes(start, result))] = {}
        known = Known(self.diagonal, self._routes)
        if node.op.gradient == "yes" and _is_differentiable(node.type):
            for k, i in enumerate(node.inputs):
                for route in self._routes(i):
                    axes = None if route.of in self.asked else carried(Use(node, k, route, known))
                    if axes is not None:
                        found.setdefault(Route(route.of, axes), {}).setdefault(k, []).append(route)
        if found:
            self.order[node] = len(self.order)
            self.routes[node] = _unmixed(node, self._latest(found))

    def _latest(self, found: dict[Route, Parts]) -> dict[Route, Parts]:
        starts = {route.of for route in found}
        if len(starts) <= MOST:
            return found
        kept = sorted(starts, key=self.order.__getitem__)[-MOST:]
        return {route: parts for route, parts in found.items() if route.of in kept}

    # -- tangents along them ------------------------------------------------------------------------------------------
    def _tangent(self, ends: list[Step]) -> Any:
        """From the values on, where the slope is one."""
        known: dict[Step, Any] = {}
        for node, route in sorted(self._upwards(ends), key=lambda step: self.order[step[0]]):
            parts = self.routes[node][route]
            if not parts:
                of_values = decomposition_of(node, self.decompositions)[1] == route.of.op.facts["spectrum"].values
                known[node, route] = filled(self.builder, node.type, 1.0) if of_values else None
                continue
            ts = [
                summed([known[step] for step in self._before(i, parts.get(k, ()))]) for k, i in enumerate(node.inputs)
            ]
            lift = self.lift if self.order[node] < self.program else _same
            t = None if all([t is None for t in ts]) else tangent(self.builder, node, ts, lift)
            known[node, route] = None if t is None or is_zero(t) else fit(self.builder, t, plain(node.type))
        return summed([known[end] for end in ends])

    def _upwards(self, ends: list[Step]) -> list[Step]:
        """All that the slope is made of, each once."""
        found = dict.fromkeys(ends)
        waiting = list(ends)
        while waiting:
            node, route = waiting.pop()
            for k, routes in self.routes[node][route].items():
                new = [step for step in self._before(node.inputs[k], routes) if step not in found]
                found.update(dict.fromkeys(new))
                waiting += new
        return list(found)

    def _before(self, node: Node, routes: Sequence[Route]) -> list[Step]:
        return [(self.stands.get(node, node), route) for route in routes]


def _same(node: Node) -> Node:
    return node


def _is_differentiable(t: Any) -> bool:
    return any([is_differentiable(x) for x in (t if isinstance(t, tuple) else (t,))])


def _first_axes(node: Node, result: int) -> Axes:
    """The axes of values, or those of vectors that belong to values."""
    spectrum = node.op.facts["spectrum"]
    stack = node.type[spectrum.values].ndim - 1
    own = stack if result == spectrum.values else stack + 2 + spectrum.vectors[result]
    return tuple([frozenset([a]) for a in (*range(stack), own)])


def _unmixed(node: Node, found: dict[Route, Parts]) -> dict[Route, Parts]:
    """Single values have no place any more where others join them, in sums over all of them and quotients by one.

    As in w[0] * a + w[1] * b, in a term of a sum that has others, and in w / w[-1]. So long programs have short routes.
    """
    if not any([is_single(a) for route in found for places in route.axes for a in places]):
        return found
    kept: dict[Route, Parts] = {}
    for route, parts in found.items():
        common = _common(node, {r: p for r, p in found.items() if r.of is route.of and r.axes != LOST})
        axes = tuple([frozenset([a for a in places if not is_single(a) or a in common]) for places in route.axes])
        if all(axes):
            merged = kept.setdefault(Route(route.of, axes), {})
            for k, before in parts.items():
                merged.setdefault(k, []).extend(before)
    return kept


def _common(node: Node, found: dict[Route, Parts]) -> frozenset[Any]:
    """The single places that all operands with routes have, and all terms of a sum; both of the two in w[k] / w[-1]."""
    sums = node.op.name in ("add", "subtract")
    places: dict[int, frozenset[Any]] = {k: frozenset() for k, i in enumerate(node.inputs) if sums and i.type.ndim}
    for route, parts in found.items():
        for k in parts:
            places[k] = places.get(k, frozenset()).union(*route.axes)
    both = frozenset(filter(is_single, frozenset().union(*places.values())))
    if not sums and len(both) <= 2:
        return both
    return frozenset.intersection(*places.values()) if places else both
