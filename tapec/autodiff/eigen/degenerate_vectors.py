"""`Slopes` tell how the cotangents of eigenvectors change with the eigenvalues.

Where eigenvalues w_i, w_j are equal, the rule of `eigh` has a quotient of two zeros: M_ij, what turns the vectors i and
j among themselves, by w_j - w_i. A loss for which it does not matter which vectors were found is a smooth function of
the matrix, and for that M_ij = S_ij (w_j - w_i) at all values, whatever the program is made of. So where the values
move by t d, and the vectors stay as they are, M_ij has the slope S_ij (d_j - d_i), and S_ij is the limit. One tangent
of the cotangents has it for all pairs at once, if no two places of d are equal. A second one tells how the limit
changes with the gap: where values are close, and in second derivatives.

What is a function of the whole matrix turns with no vectors. It adds nothing to those slopes, and is taken to stand
still: see `eigen_axes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tapec.autodiff import tuning
from tapec.autodiff.eigen.eigen_axes import Axes, carried
from tapec.autodiff.modes import MODES
from tapec.autodiff.rule_application import (
    carries,
    decomposition_of,
    decompositions,
    has_spectrum,
    plain,
    signed_cotangents,
)
from tapec.autodiff.symbolic.symbolic_zeros import Zero, filled, is_zero
from tapec.errors import TapecError
from tapec.ir import Builder, Node
from tapec.ops import Symbol
from tapec.ops.linalg.eigen import FINITE, directions

__all__ = ["Slopes"]

Slope = dict[int, Symbol]  # of the cotangents of results, where they have one


class Slopes:
    """Knows what moves with the values of decompositions in a program, and in its gradient so far."""

    def __init__(self, builder: Builder, nodes: Sequence[Node], lift: Callable[[Node], Node]):
        self.builder = builder
        self.given = lift
        self.stands: dict[Node, Node] = {}  # for what is in the builder: the forward value that it stands for
        self.axes: dict[Node, dict[Node, Axes]] = {}  # along the values of which decompositions
        self.whole: set[Node] = set()  # functions of a whole matrix: no derivative of several operations skips them
        self.order: dict[Node, int] = {}
        self.seen = len(builder.nodes)
        self.decompositions = decompositions(nodes)
        self.passes = len(self.decompositions) <= tuning.NESTED_DECOMPOSITIONS_MAX
        for node in nodes:
            self._follow(node)
        self.program = len(self.order)
        self.derived = {start for node, found in self.axes.items() if node.op is FINITE for start in found}

    def lift(self, node: Node) -> Node:
        """Return what stands for a forward value in the gradient; that moves as the value does."""
        found = self.given(node)
        if found is not node and node in self.axes:
            self.stands[found] = node
        return found

    def cotangents(self, node: Node, cts: Any, y: Any, xs: Sequence[Symbol], wanted: Sequence[bool]) -> Sequence[Any]:
        """The cotangents of what is decomposed. Where there are many, those are taken to be functions of the whole."""
        slopes = self.of(node, cts)
        parts = signed_cotangents(node, cts, y, xs, wanted, slopes)
        if not self.passes:
            self.seen = len(self.builder.nodes)
        return parts

    def of(self, node: Node, cts: Any) -> list[tuple[Any, ...]]:
        """The slopes of the cotangents of a decomposition, and theirs; none where vectors do not depend on values.

        Vectors of two kinds that are both used are used in pairs, which turn together: then even zeros tell something.
        The second ones are left out where the program is a derivative already.
        """
        vectors = [k for k in node.op.facts["spectrum"].vectors if isinstance(cts[k], Symbol) and not is_zero(cts[k])]
        start = self._first(node) or node
        try:
            found = [self._slope(start, {k: cts[k] for k in vectors})]
            if found[0] and start not in self.derived:
                found.append(self._slope(start, found[0]))
        except TapecError:  # of functions that have no tangents, or no second derivatives
            return []
        if not found[0] and len(vectors) < 2:
            return []
        return [
            tuple([slope[k] if k in slope else Zero(plain(t), self.builder) for k, t in enumerate(node.type)])
            for slope in found
        ]

    # -- what moves ---------------------------------------------------------------------------------------------------
    def _start(self, node: Node) -> tuple[Node | None, int]:
        """The decomposition of the program of which a node is a result, and which."""
        found, result = decomposition_of(node, self.decompositions)
        return (None if found is None else self._first(found)), result

    def _first(self, node: Node) -> Node | None:
        """The first decomposition like this one: tapes may have the same several times."""
        alike = self.decompositions.get((node.op.name, node.inputs), ())
        return next((d for d in alike if d.params == node.params), None)

    def _follow(self, node: Node) -> None:
        if has_spectrum(node) and not self.passes:
            return
        before = [self.axes.get(self._forward(i), {}) for i in node.inputs]
        starts = sorted({s for axes in before for s in axes}, key=self.order.__getitem__)
        starts = starts[-tuning.FOLLOWED_DECOMPOSITIONS_MAX :]
        found = {s: carried(node, [axes.get(s, frozenset()) for axes in before]) for s in starts}
        start, result = self._start(node)
        if start is not None:
            self.order.setdefault(start, len(self.order))
            found[start] = frozenset([_own_axis(start, result)])
        if not all(found.values()):
            self.whole.add(node)
        found = {s: axes for s, axes in found.items() if axes}
        if found:
            self.axes[node] = found
            self.order[node] = len(self.order)

    # -- tangents -----------------------------------------------------------------------------------------------------
    def _slope(self, start: Node, ends: Slope) -> Slope:
        """The tangents of these where the values of a decomposition move, each in its own direction."""
        while self.seen < len(self.builder.nodes):
            self._follow(self.builder.nodes[self.seen])
            self.seen += 1
        last = {k: self._forward(x.node) for k, x in ends.items()}
        moving: dict[Node, Any] = {}
        for node in sorted(self._upwards(start, last.values()), key=self.order.__getitem__):
            lift = self.lift if self.order[node] < self.program else _same
            of, result = self._start(node)
            if of is not start:
                if carries(node) and any([i in moving for i in node.inputs]):
                    MODES.push(self.builder, node, moving, self.whole, lift)
            elif result == start.op.facts["spectrum"].values:
                ones = filled(self.builder, plain(node.type), 1.0)
                moving[node] = ones * directions(node.type.shape[-1]).astype(node.type.dtype)
            if node in moving:
                moving[lift(node)] = moving[node]
        return {k: moving[node] for k, node in last.items() if node in moving}

    def _upwards(self, start: Node, ends: Iterable[Node]) -> list[Node]:
        """List the nodes between `start` and these ends that move, each once."""
        found = {node: None for node in ends if start in self.axes.get(node, ())}
        waiting = list(found)
        while waiting:
            for i in map(self._forward, waiting.pop().inputs):
                if i not in found and start in self.axes.get(i, ()):
                    found[i] = None
                    waiting.append(i)
        return list(found)

    def _forward(self, node: Node) -> Node:
        return self.stands.get(node, node)


def _same(node: Node) -> Node:
    return node


def _own_axis(node: Node, result: int) -> int:
    """The axis of values, or that of vectors which belongs to values."""
    spectrum = node.op.facts["spectrum"]
    stack = node.type[spectrum.values].ndim - 1
    return stack if result == spectrum.values else stack + 2 + spectrum.vectors[result]
