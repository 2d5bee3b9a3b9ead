"""Forward mode writes a graph's directional derivative as more graph, from the same definitions as reverse mode.

The tangent of a node comes from its op's own `jvp` if it has one; from its partials; from the op itself, where it is
linear; and otherwise from its `vjp` transposed: that is linear in the cotangent, so differentiating it in reverse with
respect to the cotangent gives the map of tangents. Programs with eigenvectors are transposed as a whole: at equal
eigenvalues the vectors have no tangents, but cotangents of functions of them have limits: see
`eigen/degenerate_vectors.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tapec.autodiff.bodies.recomputation import inline_checkpoints
from tapec.autodiff.compose.inline_graph import copy_into
from tapec.autodiff.composite.composites import Composites, unless_infinite
from tapec.autodiff.constant_slopes import plain_parts
from tapec.autodiff.linearity import is_multilinear, linear_inputs
from tapec.autodiff.modes import MODES
from tapec.autodiff.reverse import backward
from tapec.autodiff.rule_application import (
    decomposition_of,
    decompositions,
    dependents,
    fit,
    fit_signed,
    input_cotangents,
    partials_of,
    plain,
    result_of,
    summed,
)
from tapec.autodiff.symbolic.signed_cotangents import NEGATIVE, Minus, added, settled
from tapec.autodiff.symbolic.symbolic_zeros import Zero
from tapec.errors import GraphError
from tapec.ir import CT, ITEM, Builder, Graph, Node, Op, Type, input_node, prune
from tapec.ir.node import parted
from tapec.ir.source_location import place_of
from tapec.ir.types import is_differentiable
from tapec.ops import Symbol, apply
from tapec.ops.core.define import Missing

__all__ = ["jvp_graph", "push", "pushforward"]


def jvp_graph(graph: Graph, wrt: Sequence[int]) -> Graph:
    """Return a graph of all outputs of a graph, and then the tangents of the differentiable ones.

    Each of the inputs `wrt` gives one more input: its tangent. An output to which no path leads gets zeros.
    """
    builder = Builder()
    outputs = copy_into(builder, inline_checkpoints(graph), graph.inputs)
    sources = [graph.inputs[k] for k in wrt]
    given = [input_node(f"t_{s.name}", plain(s.type)) for s in sources]
    tangents = {s: Symbol(t, builder) for s, t in zip(sources, given, strict=True)}
    targets = [o for o in outputs if is_differentiable(o.type)]
    moved = pushforward(builder, targets, tangents)
    return prune(builder.graph([*graph.inputs, *given], [*outputs, *moved], graph.name))


def pushforward(
    builder: Builder,
    targets: Sequence[Node],
    tangents: dict[Node, Any],
    recognise: Callable[..., Composites] = Composites,
) -> list[Node]:
    """Return tangents of nodes of the program that the builder holds; zeros where nothing moves them.

    `recognise` finds operations that are differentiated as one.
    """
    if _turns_vectors(builder.nodes, targets, tangents):
        moved = _program_transposed(builder, targets, tangents)
        if moved is not None:
            return moved
    moving: dict[Node, Any] = dict(tangents)
    keep = builder.origin, builder.role
    builder.role = CT
    nodes = tuple(builder.nodes)
    composites = recognise(tangents, nodes)
    shifts = composites.shifts(targets)
    for node in nodes:
        if any([i in moving for i in node.inputs]) and node.op.gradient == "yes" and node not in shifts:
            builder.origin = node.origin
            push(builder, node, moving, composites)
    builder.origin, builder.role = keep
    return [moving[t].node if t in moving else Zero(plain(t.type), builder).node for t in targets]


def _same(node: Node) -> Node:
    return node


def push(
    builder: Builder,
    node: Node,
    moving: dict[Node, Any],
    composites: Composites,
    lift: Callable[[Node], Node] = _same,
    signed: bool = False,
) -> None:
    """Find the tangent of one node from those of its inputs; nothing when it does not move.

    `lift` gives the node that stands for a value in `builder`; where it may be `signed`, a sign may stand apart.
    """
    whole = composites.shortcut(node) if composites.has_any else None
    if node.op is ITEM:
        t = moving[node.inputs[0]][node.param("index")]
    elif whole is not None and whole.jvp is not None:
        xs = [Symbol(lift(i), builder) for i in whole.inputs]
        t = whole.jvp([settled(moving.get(i)) for i in whole.inputs], Symbol(lift(node), builder), *xs)
    else:
        ts = [moving.get(i) for i in node.inputs]
        if whole is not None and whole.flat in moving:
            k = node.inputs.index(whole.flat)
            ts[k] = unless_infinite(Symbol(lift(whole.flat), builder), settled(ts[k]))
        t = signed_tangent(builder, node, ts, lift)
    if isinstance(node.type, tuple):
        if t is not None:
            moving[node] = t
    elif t is not None and type(t) is not Zero and is_differentiable(node.type):
        t = fit_signed(builder, t, False, node.type)
        moving[node] = t if signed or type(t) is not Minus else settled(t)


def push_alone(
    builder: Builder,
    node: Node,
    moving: dict[Node, Any],
    sources: Collection[Node],
    lift: Callable[[Node], Node] = _same,
) -> None:
    """Find the tangent of one node as `push` does, for a rule that looks at no whole program."""
    push(builder, node, moving, Composites(sources), lift)


def tangent(builder: Builder, node: Node, ts: list[Any], lift: Callable[[Node], Node]) -> Any:
    """The tangent of one node from those of its inputs, None for those that do not move."""
    return settled(signed_tangent(builder, node, ts, lift))


def signed_tangent(builder: Builder, node: Node, ts: list[Any], lift: Callable[[Node], Node]) -> Any:
    """Find the tangent as `tangent` does, where a sign may stand apart."""
    parts = plain_parts(node, ts, lift)
    if parts is not None:
        return added(parts)
    op, params = node.op, dict(node.given)
    ts = [settled(t, may_be_uniform=True) for t in ts]
    xs = [Symbol(lift(i), builder) for i in node.inputs]
    if op.jvp is not None:
        return _sign_apart(op.jvp(ts, result_of(builder, lift(node)), *xs, **params))
    if op.partials is not None:
        partials = partials_of(op, Symbol(lift(node), builder), xs, params)
        return added([_scaled(t, p) for t, p in zip(ts, partials, strict=True)])
    linear = linear_inputs(op, len(ts))
    through = [k for k, t in enumerate(ts) if t is not None and k in linear]
    others = tuple([k for k, t in enumerate(ts) if t is not None and k not in linear])
    parts = [_linear(builder, node, xs, ts, through, linear)] if through else []
    if others:
        parts.append(_transposed(builder, node, ts, others, lift))
    return summed(parts)


def _linear(
    builder: Builder, node: Node, xs: list[Any], ts: list[Any], through: list[int], linear: Sequence[int]
) -> Any:
    """The op itself on the tangents of the inputs in which it is linear."""
    op = node.op
    if is_multilinear(op):
        return summed([apply(op, tuple([*xs[:k], ts[k], *xs[k + 1 :]]), node.given) for k in through])
    args = list(xs)
    for k in linear:
        args[k] = ts[k] if ts[k] is not None else _nothing(builder, node, xs[k])
    return apply(op, tuple(args), node.given)


def _nothing(builder: Builder, node: Node, x: Symbol) -> Any:
    """The zero tangent of an operand: a number where shapes broadcast, an array of its shape otherwise."""
    return 0 if node.op.kind == "elementwise" else Zero(plain(x.node.type), builder)


def _scaled(t: Any, partial: Any) -> Any:
    """Return partial * t, as `rule_application.scaled` does, where a sign may stand apart; None where nothing moves."""
    if t is None or partial is None or (isinstance(partial, (int, float)) and partial == 0):
        return None
    if isinstance(partial, (int, float)) and partial in (1, -1):
        return t if partial == 1 else Minus(t)
    if isinstance(partial, Symbol) and partial.dtype == bool:
        return np.where(partial, t, 0)
    if isinstance(partial, Missing):
        partial.refuse()
    partial = _sign_apart(partial)
    return Minus(t * partial.value) if type(partial) is Minus else t * partial


def _sign_apart(x: Any) -> Any:
    if type(x) is Symbol and x.node.op is NEGATIVE and x.node.role is CT:
        return Minus(Symbol(x.node.inputs[0], x.builder))
    return x


# ---------------------------------------------------------------------------------------------------------------
# transposing
# ---------------------------------------------------------------------------------------------------------------
def _transposed(
    builder: Builder, node: Node, ts: list[Any], moving: tuple[int, ...], lift: Callable[[Node], Node]
) -> Any:
    graph = transposed(node.op, tuple([i.type for i in node.inputs]), node.type, node.given, moving)
    if graph is None:
        place = "" if node.origin is None else f"{place_of(node.origin).short}: "
        raise GraphError(
            f"{place}the gradient function given for this result is not linear in the cotangent (as np.clip of it is "
            f"not), so forward mode cannot be derived from it. Fix: reverse mode alone, tapec.jacrev(f), and "
            f"tapec.jacrev(tapec.grad(f)) for second derivatives; or tapec.custom_jvp"
        )
    ys = builder.items(lift(node)) if isinstance(node.type, tuple) else (lift(node),)
    found = copy_into(builder, graph, (*map(lift, node.inputs), *ys, *[ts[k].node for k in moving]))
    if not isinstance(node.type, tuple):
        return Symbol(found[0], builder)
    rest = iter(found)
    return tuple([Symbol(next(rest), builder) if is_differentiable(t) else None for t in node.type])


@lru_cache(maxsize=1024)
def transposed(op: Op, xs: tuple[Type, ...], result: Any, params: Any, moving: tuple[int, ...]) -> Graph | None:
    """Return the vjp rule transposed: from inputs, results and tangents of the moving inputs to tangents of the
    results.

    None where the rule is not linear in the cotangent, as users' gradient functions may be.
    """
    builder = Builder()
    builder.role = CT
    inputs = [input_node(f"x{k}", t) for k, t in enumerate(xs)]
    results = [input_node(f"y{k}", t) for k, t in enumerate(result if isinstance(result, tuple) else (result,))]
    cts = {y: input_node(f"ct{k}", plain(y.type)) for k, y in enumerate(results) if is_differentiable(y.type)}
    tangents = [input_node(f"t{k}", plain(xs[k])) for k in moving]

    given = tuple([Symbol(cts[y], builder) if y in cts else None for y in results])
    ys = tuple([Symbol(y, builder) for y in results])
    static, bodies = parted(params)
    node = Node(op, tuple(inputs), static, result, bodies=bodies)
    ct, y = (given, ys) if isinstance(result, tuple) else (given[0], ys[0])
    parts = input_cotangents(node, ct, y, [Symbol(x, builder) for x in inputs])

    pairs = [(parts[k], t) for k, t in zip(moving, tangents, strict=True) if parts[k] is not None]
    outputs = _turned_around(builder, [(p, Symbol(t, builder)) for p, t in pairs], list(cts.values()))
    graph = prune(builder.graph([*inputs, *results, *tangents], outputs, op.name))
    return None if _reads(graph, list(cts.values())) else graph


def _reads(graph: Graph, inputs: Sequence[Node]) -> bool:
    """Return whether a graph depends on these inputs. If it does, it is not linear in them."""
    left = set(inputs)
    return any(i in left for n in graph.nodes for i in n.inputs) or not left.isdisjoint(graph.outputs)


def _turned_around(builder: Builder, pairs: Sequence[tuple[Any, Symbol]], cts: Sequence[Node]) -> list[Node]:
    """Return the tangents of the values that `cts` belong to.

    `pairs` has cotangents that are linear in `cts`, each with a tangent.
    """
    targets = [fit(builder, part, t.node.type).node for part, t in pairs]
    found = backward(builder, tuple(builder.nodes), targets, [t for _, t in pairs], cts, _same)
    return [(Zero(plain(c.type), builder) if t is None else t).node for c, t in zip(cts, found, strict=True)]


# ---------------------------------------------------------------------------------------------------------------
# whole programs
# ---------------------------------------------------------------------------------------------------------------
def _program_transposed(builder: Builder, targets: Sequence[Node], tangents: dict[Node, Any]) -> list[Node] | None:
    """The pullback of the program, transposed as that of one op is; None if it is not linear."""
    cts = [input_node(None, plain(t.type)) for t in targets]
    found = backward(builder, tuple(builder.nodes), targets, [Symbol(c, builder) for c in cts], list(tangents), _same)
    pairs = [(ct, t) for ct, t in zip(found, tangents.values(), strict=True) if ct is not None]
    moved = _turned_around(builder, pairs, cts)
    return None if _reads(prune(builder.graph(cts, moved)), cts) else moved


def _turns_vectors(nodes: Sequence[Node], targets: Sequence[Node], sources: Collection[Node]) -> bool:
    """Return whether several results of a decomposition are in use.

    Eigenvectors of equal values have no tangents of their own.
    """
    known = decompositions(nodes)
    if not known:
        return False
    used: dict[Node, set[int]] = {}
    for i in dict.fromkeys([*targets, *[i for n in nodes for i in n.inputs]]):
        decomposition, result = decomposition_of(i, known)
        if decomposition is not None:
            used.setdefault(decomposition, set()).add(result)
    several = [node for node, results in used.items() if len(results) > 1]
    return not dependents(nodes, list(sources)).isdisjoint(several)


MODES.push, MODES.tangent, MODES.jvp_graph = push_alone, tangent, jvp_graph
