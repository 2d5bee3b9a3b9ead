"""Slopes: how the cotangents of eigenvectors change with the eigenvalue that each vector belongs to.

Where eigenvalues w_i, w_j are equal, the rule of `eigh` has a quotient of two zeros: M = V^H V̄ less its adjoint, by
w_j - w_i. It is what turns the vectors of one space among themselves, and a loss that does not depend on which of them
were found has no more of it than the limit: the derivative of M_ij by w_j. That is V^H times the slope of V̄, its column
j by w_j, the vectors as they are. For (v * f(w)) @ v.T it comes to f'(w_j).

A slope is a tangent that follows an axis. A value X with an axis along the eigenvalues has one of its own shape,
dX[.., j, ..] / dw_j, and operations that work on each place of that axis by itself make a slope of it as they make
tangents of tangents. Where the axis is summed over it ends: a sum over all vectors of a space is a function of the
space alone, and what the cotangents get through that turns no vectors. A single value that meets others ends as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapec.autodiff.along import Route, carried, is_diagonal, is_point
from tapec.autodiff.forward import tangent
from tapec.autodiff.reverse import fit, plain
from tapec.autodiff.zeros import Zero, filled, is_zero
from tapec.ir import CONSTANT, ITEM, Builder, Node
from tapec.ir.types import is_differentiable
from tapec.ops import Symbol

__all__ = ["Slopes"]

MOST = 8  # decompositions, the latest ones, whose values a value has routes from: long programs have many
Parts = dict[int, Route]  # by operands: which of their routes make one of the result's
Step = tuple[Node, Route]


class Slopes:
    """The routes from eigenvalues through a program and its gradient, as far as that has come."""

    def __init__(self, builder: Builder, nodes: Sequence[Node], lift: Callable[[Node], Node]):
        self.builder = builder
        self.given = lift
        self.stands: dict[Node, Node] = {}  # for what is in the builder: the forward value that it stands for
        self.values: dict[Node, Node] = {}  # of decompositions whose slopes have not been asked for
        self.routes: dict[Node, dict[Route, Parts]] = {}
        self.diagonal: set[Node] = set()
        self.order: dict[Node, int] = {}
        self.seen = len(builder.nodes)
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

        Vectors of two kinds that are both used are used in pairs, which turn together: then even zeros tell something.
        """
        while self.seen < len(self.builder.nodes):
            self._follow(self.builder.nodes[self.seen])
            self.seen += 1
        vectors = node.op.facts["spectrum"].vectors
        values = self.values.pop(node, None)
        found = [self._slope(values, ct, vectors.get(k)) for k, ct in enumerate(cts)]
        paired = len(vectors) > 1 and not any([is_zero(cts[k]) for k in vectors])
        if not paired and not any([s is not None for s in found]):
            return None
        return tuple([Zero(plain(t), self.builder) if s is None else s for s, t in zip(found, node.type, strict=True)])

    def _slope(self, values: Node | None, ct: Any, axis: int | None) -> Any:
        if values is None or axis is None or not isinstance(ct, Symbol):
            return None
        n = values.type.ndim
        route = Route(values, (*range(n - 1), n + 1 + axis))
        return self._tangent((ct.node, route)) if route in self._routes(ct.node) else None

    # -- routes -------------------------------------------------------------------------------------------------------
    def _routes(self, node: Node) -> dict[Route, Parts]:
        return self.routes.get(self.stands.get(node, node), {})

    def _follow(self, node: Node) -> None:
        found: dict[Route, Parts] = {}
        if node.op is ITEM:
            spectrum = node.inputs[0].op.facts.get("spectrum")
            if spectrum is not None and spectrum.values == node.param("index"):
                self.values[node.inputs[0]] = node
                found[Route(node, tuple(range(node.type.ndim)))] = {}
        elif is_diagonal(node, self.diagonal) or (node.op is CONSTANT and _is_diagonal(node.value)):
            self.diagonal.add(node)
        if node.op.gradient == "yes" and not isinstance(node.type, tuple) and is_differentiable(node.type):
            for k, i in enumerate(node.inputs):
                for route in self._routes(i):
                    if route.values.inputs[0] not in self.values:
                        continue
                    for axes in carried(node, k, route, self.diagonal):
                        found.setdefault(Route(route.values, axes), {}).setdefault(k, route)
        if found:
            self.order[node] = len(self.order)
            self.routes[node] = _unmixed(node, self._latest(found))

    def _latest(self, found: dict[Route, Parts]) -> dict[Route, Parts]:
        values = {route.values for route in found}
        if len(values) <= MOST:
            return found
        kept = sorted(values, key=lambda v: self.order[v])[-MOST:]
        return {route: parts for route, parts in found.items() if route.values in kept}

    # -- tangents along them ------------------------------------------------------------------------------------------
    def _tangent(self, end: Step) -> Any:
        """From the values on, where the slope is one."""
        known: dict[Step, Any] = {}
        for node, route in sorted(self._upwards(end), key=lambda step: self.order[step[0]]):
            parts = self.routes[node][route]
            if not parts:
                known[node, route] = filled(self.builder, node.type, 1.0)
                continue
            before = dict(self._before(node, parts))
            ts = [known[before[k]] if k in before else None for k in range(len(node.inputs))]
            t = tangent(self.builder, node, ts, self.lift if self.order[node] < self.program else _same)
            known[node, route] = None if t is None or is_zero(t) else fit(self.builder, t, plain(node.type))
        return known[self.stands.get(end[0], end[0]), end[1]]

    def _upwards(self, end: Step) -> set[Step]:
        """All that the slope is made of."""
        waiting = [(self.stands.get(end[0], end[0]), end[1])]
        found = set(waiting)
        while waiting:
            node, route = waiting.pop()
            for _, step in self._before(node, self.routes[node][route]):
                if step not in found:
                    found.add(step)
                    waiting.append(step)
        return found

    def _before(self, node: Node, parts: Parts) -> list[tuple[int, Step]]:
        return [(k, (self.stands.get(node.inputs[k], node.inputs[k]), route)) for k, route in parts.items()]


def _same(node: Node) -> Node:
    return node


def _is_diagonal(value: Any) -> bool:
    return np.ndim(value) == 2 and np.array_equal(value, np.diag(np.diagonal(value)))


def _unmixed(node: Node, found: dict[Route, Parts]) -> dict[Route, Parts]:
    """Single values are on no route any more where others join them, in sums over all of them and quotients by one.

    As in w[0] * a + w[1] * b, and in a term of a sum that has others. So long programs have short routes.
    """
    if not any([is_point(a) for r in found for a in r.axes]):
        return found
    joined = {k for k, i in enumerate(node.inputs) if i.type.ndim} if node.op.name in ("add", "subtract") else set()
    if len(found) == 1 and all([joined <= set(parts) for parts in found.values()]):
        return found
    return {r: parts for r, parts in found.items() if not any(map(is_point, r.axes))}
