"""Reverse mode writes a graph's gradient as more graph.

Accumulation, symbolic zeros, un-broadcasting, dtypes and complex conjugation happen here, once; rules know nothing of
them. Complex gradients follow TensorFlow: the cotangent of x is ct * conj(dy/dx), so that `x - lr * grad` descends.
As a map of the real plane that is the transpose of the tangent map, so transposing twice gives forward mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tapec.autodiff.compose.inline_graph import copy_into
from tapec.autodiff.composite.composites import Composites, unless_infinite
from tapec.autodiff.constant_slopes import plain_parts
from tapec.autodiff.eigen.lazy import slopes_of
from tapec.autodiff.modes import MODES
from tapec.autodiff.rule_application import (
    carries,
    dependents,
    fit_signed,
    has_spectrum,
    plain,
    result_of,
    signed_cotangents,
)
from tapec.autodiff.symbolic.signed_cotangents import (
    Minus,
    Uniform,
    accumulate,
    settled,
    taken_apart,
)
from tapec.autodiff.symbolic.symbolic_zeros import Zero, filled
from tapec.ir import CT, ITEM, Builder, Graph, Node, input_node
from tapec.ir.source_location import name_for
from tapec.ir.types import is_differentiable
from tapec.ops import Symbol
from tapec.ops.core.define import conj
from tapec.ops.indexing.getitem_and_scatter import GETITEM

if TYPE_CHECKING:
    from tapec.autodiff.eigen.degenerate_vectors import Slopes

__all__ = ["backward", "pullback", "value_and_grad_graph", "vjp_graph"]


def backward(
    builder: Builder,
    nodes: Sequence[Node],
    targets: Sequence[Node],
    seeds: Sequence[Any],
    sources: Sequence[Node],
    lift: Callable[[Node], Node],
    recognise: Callable[..., Composites] = Composites,
) -> list[Any]:
    """Find the cotangents of the sources, None where no path leads from a target.

    `nodes` is the forward program in order; `lift` gives the node that stands for a forward value in `builder`.
    `recognise` finds operations that are differentiated as one.
    """
    active = dependents(nodes, sources)
    ends = {source for source in sources if not (source.inputs and carries(source))}
    composites = recognise(sources, nodes, backwards=True)
    shifts = composites.shifts(targets)
    slopes = _slopes(builder, nodes, active, lift)
    program = _Program(builder, nodes, active, composites, lift if slopes is None else slopes.lift, slopes)
    pending: dict[Node, Any] = {}
    keep = builder.origin, builder.role
    builder.role = CT
    for target, seed in zip(targets, seeds, strict=True):
        if is_differentiable(target.type):
            accumulate(pending, target, seed)
    origin: Any = None
    for node in reversed(program.steps):
        program.calls.add_up(pending, node)
        if node in pending and node in active and node not in ends:
            if (node.op.partials is None or node.op.vjp is not None) and not _is_added(node, pending):
                pending[node] = settled(pending[node], node.op.kind in ("reduction", "layout"))
            if node.origin is not origin:  # of several operations in one call, the last is what the user named
                _name_cotangent(pending[node], node)
            builder.origin = origin = node.origin
            if node in shifts:
                pending[node] = Zero(plain(node.type), builder)
            _step(builder, node, pending, active, program)
    for source in sources:
        program.calls.add_up(pending, source)
        if source in pending:
            pending[source] = settled(pending[source])
            _name_cotangent(pending[source], source)
    builder.origin, builder.role = keep
    return [pending.get(s) for s in sources]


def _is_added(node: Node, pending: dict[Node, Any]) -> bool:
    """Return whether a node is a part of a value that has a cotangent already.

    Then its own cotangent needs no sign: it can be taken away from that.
    """
    return node.op is GETITEM and type(pending[node]) is Minus and node.inputs[0] in pending


def _slopes(builder: Builder, nodes: Sequence[Node], active: set[Node], lift: Callable[[Node], Node]) -> Slopes | None:
    """Make what eigenvectors need where eigenvalues are equal; None for a program without any."""
    if not any([has_spectrum(node) and node in active for node in nodes]):
        return None
    return slopes_of(builder, nodes, lift)


def _name_cotangent(ct: Any, node: Node) -> None:
    """Call a cotangent after its value: `d_h` for `h`."""
    if isinstance(ct, Symbol) and ct.node.name is None and ct.node.role is CT:
        name = node.name or name_for(node)
        if name is not None:
            ct.node.name = f"d_{name}"
        ct.node.of = ct.node.of or node


class _Calls:
    """Adds up what one call of a helper gives to a cotangent of its argument, before it is added to what others gave.

    So calls that compute the same have derivatives that are the same, and one function may compute them all. `main` is
    the code of the function that is differentiated, whose parts are added one by one; `open` has the sums so far, each
    with the code of the helper and the place of its last part.
    """

    def __init__(self, builder: Builder, main: Any):
        self.builder = builder
        self.main = main
        self.open: dict[Node, tuple[Any, int, dict[Node, Any]]] = {}

    def give(self, pending: dict[Node, Any], node: Node, part: Any, reader: Node) -> None:
        """Add a part to the cotangent of a node, or to the sum of the call that its reader belongs to."""
        code, offset = reader.origin or (self.main, 0)
        found = self.open.get(node)
        if found is not None and (found[0] is not code or offset > found[1]):
            self.add_up(pending, node)  # of another call
            found = None
        if code is self.main or (node.origin is not None and node.origin[0] is code):
            accumulate(pending, node, part)
            return
        sums = {} if found is None else found[2]
        accumulate(sums, node, part)
        self.open[node] = code, offset, sums

    def add_up(self, pending: dict[Node, Any], node: Node) -> None:
        """Add the sum of a call to the cotangent of a node."""
        found = self.open.pop(node, None)
        if found is not None:
            keep, self.builder.origin = self.builder.origin, node.origin
            accumulate(pending, node, found[2][node])
            self.builder.origin = keep


class _Program:
    """Holds the program that is differentiated: its steps, and how its values are lifted."""

    def __init__(
        self,
        builder: Builder,
        nodes: Sequence[Node],
        active: set[Node],
        composites: Composites,
        lift: Callable[[Node], Node],
        slopes: Any,
    ):
        self.steps = nodes
        self.lift = lift
        self.slopes: Slopes | None = slopes
        last = next((n.origin for n in reversed(nodes) if n.origin is not None), None)
        self.calls = _Calls(builder, None if last is None else last[0])
        pairs = composites.pairs(active)
        if pairs is not None:
            self.steps, self.lift = pairs.nodes, pairs.lifting(lift, builder)
        self.composites = composites if composites.has_any else None


def _step(
    builder: Builder,
    node: Node,
    pending: dict[Node, Any],
    active: set[Node],
    program: _Program,
) -> None:
    """Carry the cotangent of one node to its inputs."""
    lift, slopes = program.lift, program.slopes
    ct = pending[node]
    minus, ct = taken_apart(ct)
    if node.op is ITEM:
        slots = pending.setdefault(node.inputs[0], [None] * len(node.inputs[0].type))
        k = node.param("index")
        slots[k] = ct if slots[k] is None else slots[k] + ct
        return
    whole = None if program.composites is None else program.composites.shortcut(node)
    inputs = node.inputs if whole is None else whole.inputs
    wanted = [i in active for i in inputs]
    if not any(wanted):
        return
    parts: Sequence[Any] | None = None
    if whole is None and type(ct) is Symbol:
        parts = plain_parts(node, [ct if want else None for want in wanted], lift)
    if parts is None and (node.op.gradient == "zero" or _all_zero(ct)):
        parts = [Zero(plain(i.type), builder) for i in inputs]
    elif parts is None:
        xs = [Symbol(lift(i), builder) for i in inputs]
        y = result_of(builder, lift(node))
        if whole is None:
            ct = _complete(builder, node, ct)
            if slopes is not None and has_spectrum(node):
                parts = slopes.cotangents(node, ct, y, xs, wanted)
            else:
                parts = signed_cotangents(node, ct, y, xs, wanted)
        else:
            if whole.flat is not None and program.composites.of_derivatives:  # type: ignore[union-attr]
                ct = unless_infinite(Symbol(lift(whole.flat), builder), settled(ct))
            parts = whole.vjp(ct, y, *xs)
    for i, want, part in zip(inputs, wanted, parts, strict=True):
        if want and part is not None:
            program.calls.give(pending, i, fit_signed(builder, part, minus, i.type), node)


def _all_zero(ct: Any) -> bool:
    return all(c is None or type(c) is Zero for c in ct) if isinstance(ct, list) else type(ct) is Zero


def _complete(builder: Builder, node: Node, ct: Any) -> Any:
    """Fill in zeros for the results of a node that nothing used; None for those that are no numbers with a
    derivative."""
    if not node.op.multi:
        return ct
    types = zip(ct, node.type, strict=True)
    return tuple([Zero(t, builder) if c is None and is_differentiable(t) else c for c, t in types])


# ---------------------------------------------------------------------------------------------------------------
# whole graphs
# ---------------------------------------------------------------------------------------------------------------
def value_and_grad_graph(graph: Graph, wrt: Sequence[int], holomorphic: bool = False) -> Graph:
    """Return a graph of all outputs, and then the gradients of the first with respect to these inputs.

    An input to which no path leads gets zeros. The derivative of a holomorphic function is the gradient's conjugate.
    """
    builder = Builder()
    outputs = copy_into(builder, graph, graph.inputs)
    t = plain(outputs[0].type)
    seed = Uniform(t, 1.0, builder) if t.dtype.char in "fd" else filled(builder, t, 1.0)
    grads = pullback(builder, outputs[:1], [seed], [graph.inputs[k] for k in wrt])
    if holomorphic:
        grads = [conj(Symbol(g, builder)).node for g in grads]
    return builder.graph(graph.inputs, [*outputs, *grads], graph.name)


def vjp_graph(graph: Graph, wrt: Sequence[int], with_results: bool = False) -> Graph:
    """The cotangents of these inputs, then the results, if asked for; each differentiable output gives one more input:
    its cotangent."""
    builder = Builder()
    results = copy_into(builder, graph, graph.inputs)
    targets = [o for o in results if is_differentiable(o.type)]
    seeds = [input_node(f"ct{k}", plain(o.type)) for k, o in enumerate(targets)]
    grads = pullback(builder, targets, [Symbol(s, builder) for s in seeds], [graph.inputs[k] for k in wrt])
    return builder.graph([*graph.inputs, *seeds], [*grads, *(results if with_results else ())], graph.name)


def pullback(builder: Builder, targets: Sequence[Node], seeds: Sequence[Any], sources: Sequence[Node]) -> list[Node]:
    """Return cotangents of sources of the program that the builder holds; zeros where no path leads."""
    found = backward(builder, tuple(builder.nodes), targets, seeds, sources, lambda node: node)
    nodes = []
    for s, c in zip(sources, found, strict=True):
        nodes.append((Zero(plain(s.type), builder) if c is None else c).node)
        if c is None and nodes[-1].name is None and s.name is not None:
            nodes[-1].name = f"d_{s.name}"
    return nodes


MODES.backward = backward
