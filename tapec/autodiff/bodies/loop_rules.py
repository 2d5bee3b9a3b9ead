"""Differentiate and batch loops.

    forward:   the tangents are carried beside the values, through a body that has both
    reverse:   a loop that collects, in each turn, what the cotangents need of it; then one that goes backwards over
               these rows, carries the cotangents of what was carried, and adds up those of constants

Where the count depends on values, no array can hold such rows: then it goes backwards over stretches of so many turns,
and runs the loop again up to each of these. A loop with a condition is counted first. What a body computes of constants
alone is computed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tapec.autodiff import tuning
from tapec.autodiff.batching import batch_graph, batch_into
from tapec.autodiff.bodies.body_helpers import (
    batch_size,
    cotangents_of_results,
    everywhere,
    moving_of,
    plain_symbols,
    spread_tangents,
    tangents_of_results,
    with_axes,
)
from tapec.autodiff.bodies.cond_rules import selected
from tapec.autodiff.bodies.kept_values import kept_values
from tapec.autodiff.bodies.sums_after import SumsAfter
from tapec.autodiff.compose.inline_graph import copy_into
from tapec.autodiff.compose.partition import split
from tapec.autodiff.forward import jvp_graph
from tapec.autodiff.reverse import vjp_graph
from tapec.autodiff.rule_application import dependents, plain
from tapec.autodiff.symbolic.symbolic_zeros import Zero
from tapec.ir import CT, Builder, Graph, Node, Type, get_op, input_node, is_literal, prune
from tapec.ir.source_location import name_for
from tapec.ir.types import is_differentiable
from tapec.ops import Symbol, apply
from tapec.ops.control.body_graphs import body_of
from tapec.ops.control.cond import COND
from tapec.ops.control.loop import LOOP, Operands, loop, operands_of

__all__ = ["RULES"]

ONE = np.int64(1)
_ADD, _LESS, _NUMBER = get_op("add"), get_op("less"), get_op("number")


def _symbols(nodes: Sequence[Node], builder: Builder) -> list[Symbol]:
    return [Symbol(n, builder) for n in nodes]


# ---------------------------------------------------------------------------------------------------------------
# forward
# ---------------------------------------------------------------------------------------------------------------
def _jvp(ts: Any, ys: Any, *xs: Any, **params: Any) -> Any:
    of, moved = operands_of(xs, **params), operands_of(ts, **params)
    if _is_map(params):
        return _map_jvp(ts, ys, xs, params)
    bodies, carried = params["bodies"], params["carried"]
    body = bodies[0]
    moves = _moving(body, [t is not None for t in (*moved.constants, *moved.carried, *moved.rows)], params)
    wrt = [k for k, m in enumerate(moves) if m]
    both = jvp_graph(body, wrt)
    inputs, tangents = both.inputs[: len(moves)], dict(zip(wrt, both.inputs[len(moves) :], strict=True))
    left = iter(both.outputs[len(body.outputs) :])
    out = [next(left) if is_differentiable(o.type) else None for o in body.outputs]
    ends = params["constants"], params["constants"] + carried

    def beside(values: Sequence[Any], first: int) -> list[Any]:
        """The values, then those tangents that move."""
        return [*values, *[tangents[first + k] for k in range(len(values)) if first + k in tangents]]

    parts = [
        beside(inputs[: ends[0]], 0),
        beside(inputs[ends[0] : ends[1]], ends[0]),
        beside(inputs[ends[1] :], ends[1]),
    ]
    carried_on = [t for k, t in enumerate(out[:carried]) if t is not None and moves[ends[0] + k]]
    collected = [t for t in out[carried:] if t is not None]
    outputs = [*both.outputs[:carried], *carried_on, *collected]
    new: list[Graph] = [prune(Graph([i for part in parts for i in part], both.nodes, outputs, body.name))]
    for condition in bodies[1:]:
        extra = [[input_node(None, i.type) for i in part[len(given) :]] for part, given in zip(parts, of[1:])]
        given = condition.inputs[: ends[0]], condition.inputs[ends[0] :]
        new.append(
            Graph([*given[0], *extra[0], *given[1], *extra[1]], condition.nodes, condition.outputs, condition.name)
        )
    builder: Builder = xs[0].builder
    zero = [Zero(plain(x.node.type), builder) for x in of.carried]
    started = [
        z if t is None else t for z, t, m in zip(zero, moved.carried, moves[ends[0] : ends[1]], strict=True) if m
    ]
    constants = [*of.constants, *plain_symbols(moved.constants)]
    rows = [*of.rows, *plain_symbols(moved.rows)]
    found = loop(tuple(new), constants, [*of.carried, *plain_symbols(started)], rows, _count(of, params))
    of_carried = iter(found[carried : carried + len(carried_on)])
    of_rows = iter(found[carried + len(carried_on) :])
    first = [next(of_carried) if moves[ends[0] + k] else None for k in range(carried)]
    return tuple([*first, *[None if t is None else next(of_rows) for t in out[carried:]]])


def _moving(body: Graph, moves: list[bool], params: dict[str, Any]) -> list[bool]:
    """Return which inputs of a body move in some turn, where these move in the first one."""
    first = params["constants"]
    while True:
        active = dependents(body.nodes, [i for i, m in zip(body.inputs, moves, strict=True) if m])
        next_turn = list(moves)
        for k, o in enumerate(body.outputs[: params["carried"]], first):
            next_turn[k] = moves[k] or (o in active and is_differentiable(o.type))
        if next_turn == moves:
            return moves
        moves = next_turn


def _moves_a_result(body: Graph, k: int) -> bool:
    """Return whether a derivative can flow from an input of a body to one of its results."""
    return not dependents(body.nodes, [body.inputs[k]]).isdisjoint(body.outputs)


def _count(of: Operands, params: dict[str, Any]) -> Any:
    return of.turns[0] if of.turns else params["count"]


# ---------------------------------------------------------------------------------------------------------------
# reverse
# ---------------------------------------------------------------------------------------------------------------
def _vjp(cts: Any, ys: Any, *xs: Any, wanted: Sequence[bool] | None = None, **params: Any) -> Any:
    of, body = operands_of(xs, **params), params["bodies"][0]
    first = len(of.turns)
    moves = _moving(body, [True] * len(body.inputs) if wanted is None else list(wanted[first:]), params)
    carried = range(params["constants"], params["constants"] + params["carried"])
    wrt = [k for k in moving_of(body) if moves[k] and (k in carried or _moves_a_result(body, k))]
    if _is_map(params):
        return _map_vjp(cts, ys, xs, params, wrt)
    if params["count"] is not None:
        found = _over_rows(cts, ys, of, params, wrt)
    else:
        found = _run_again(cts, of, params, wrt, of.turns[0] if of.turns else _counted(of, params))
    return tuple([None] * first + [found.get(k) for k in range(len(body.inputs))])


def _over_rows(cts: Any, ys: Any, of: Operands, params: dict[str, Any], wrt: list[int]) -> dict[int, Any]:
    """Collect what the cotangents need of each turn, and go backwards over that."""
    body, carried, constants = params["bodies"][0], params["carried"], params["constants"]
    builder: Builder = (*of.constants, *of.carried, *of.rows)[0].builder
    back = vjp_graph(body, wrt, with_results=True)
    late = list(range(len(body.inputs), len(back.inputs)))
    early, after = split(back, late, list(range(len(wrt))))
    ends = early.outputs[: len(body.outputs)]
    whole = dict(zip(body.inputs[:constants], of.constants, strict=True))
    there: dict[Node, Any] = dict(zip(body.inputs[constants + carried :], of.rows, strict=True))
    there = dict(zip(ends[carried:], ys[carried:], strict=True)) | there
    invariant = _invariant(early, whole)
    required = early.outputs[len(body.outputs) :]
    kept, again = kept_values(required, {*there, *invariant})
    begins = body.inputs[constants : constants + carried]
    follows: dict[Node, int] = {}  # what a turn hands on, where it keeps what it was handed: the next one keeps that
    for k in range(carried):
        if begins[k] in kept and ends[k] not in {*there, *invariant, *begins}:
            follows.setdefault(ends[k], k)
    if follows:
        kept, again = kept_values(required, {*there, *invariant, *follows})
    after, crossing = _computed_again(after, required, again, [*early.inputs, *early.nodes])
    given = after.inputs[len(crossing) :]
    follows = {n: k for n, k in follows.items() if n in crossing and begins[k] in crossing}
    crossed = [n for n in crossing if n not in there and n not in invariant and n not in follows]
    for k in follows.values():  # `h_before`, beside `h`: what comes after the turn
        called = _called(begins[k], ends[k])
        crossing[begins[k]].name, crossing[begins[k]].role = f"{called}_before" if called else None, CT

    fixed: list[tuple[Node, Any]] = []  # inputs of the body backwards, each with its operand: constants
    rows: list[tuple[Node, Any]] = []  # and rows
    for n, i in crossing.items():
        if n in invariant:
            alone = prune(Graph(body.inputs[:constants], early.nodes, [n]))
            (made,) = copy_into(builder, alone, tuple([x.node for x in of.constants]))
            fixed.append((i, Symbol(made, builder)))
        elif n in there:
            rows.append((i, there[n]))
    if crossed:
        forward = prune(Graph(body.inputs, early.nodes, [*ends[:carried], *crossed], body.name))
        found = loop((forward,), of.constants, of.carried, of.rows, params["count"])
        for n, values in zip(crossed, found[carried:], strict=True):
            name = name_for(n) if n.role is None else None
            if n in begins:
                name = _called(n, ends[begins.index(n)])
            values.node.name = f"{name}s" if name else None
            rows.append((crossing[n], values))

    places = [k for k, o in enumerate(body.outputs) if is_differentiable(o.type)]
    active = dependents(body.nodes, [body.inputs[k] for k in wrt])
    of_carried: list[tuple[Node, Any]] = []
    for i, k in zip(given, places, strict=True):
        i.role = CT
        if k >= carried and body.outputs[k] in active:
            called = name_for(body.outputs[k])
            i.name = f"d_{called}_k" if called else None  # the row of this turn
            rows.append((i, Symbol(cts[k].node, builder)))
        elif k < carried and constants + k in wrt:  # called after what is carried
            called = _called(begins[k], ends[k])
            i.name = f"d_{called}" if called else None
            of_carried.append((i, cts[k]))

    inner = Builder()
    handed_on = [(crossing[n], crossing[begins[k]], ys[k]) for n, k in follows.items()]
    outputs = [*after.outputs, *[i for _, i, _ in handed_on]]
    after, rows = _with_strong_rows(Graph(after.inputs, after.nodes, outputs, after.name), rows)
    inner.nodes.extend(after.nodes)
    parts = dict(zip(wrt, after.outputs, strict=False))
    out = {k: parts[k] for k in wrt if k >= constants + carried}
    later = SumsAfter(dict(rows), [i for i, _ in fixed], params["count"], out.values())
    sums = [(input_node(None, parts[k].type), k) for k in wrt if k < constants and not later.take(k, parts[k])]
    added = [inner.emit(_ADD, (total, parts[k])) for total, k in sums]
    on = [parts[k] for k in wrt if constants <= k < constants + carried]
    states = [*[i for i, _ in of_carried], *[i for i, _ in sums], *[i for i, _, _ in handed_on]]
    inputs = [*[i for i, _ in fixed], *states, *[i for i, _ in rows]]
    outputs = [*on, *added, *after.outputs[len(wrt) :], *later.collected]
    backwards = inner.graph(inputs, outputs, f"{body.name}_back")
    start = [
        *plain_symbols([ct for _, ct in of_carried]),
        *[Symbol(Zero(i.type, builder).node, builder) for i, _ in sums],
        *[y for _, _, y in handed_on],
    ]
    found = loop((backwards,), [x for _, x in fixed], start, [x[::-1] for _, x in rows], params["count"])
    results = dict(zip([k for k in wrt if constants <= k < constants + carried], found[: len(on)], strict=True))
    results |= dict(zip([k for _, k in sums], found[len(on) :], strict=False))
    for n, x in zip(later.collected, found[len(states) :], strict=True):
        if isinstance(x, Symbol):  # else it is known already, as a derivative of what is not smooth
            x.node.name = f"{n.name}s" if n.name else None
    collected = dict(zip(later.collected, [x[::-1] for x in found[len(states) :]], strict=True))
    return results | {k: collected[part] for k, part in out.items()} | later.sums(collected)


def _called(begin: Node, end: Node) -> str | None:
    """Return what the user calls a carried value: at the beginning of a turn, or else at its end."""
    return name_for(begin) or (name_for(end) if end.role is None else None)


def _computed_again(
    after: Graph, required: Sequence[Node], again: set[Node], order: Sequence[Node]
) -> tuple[Graph, dict[Node, Node]]:
    """Let the body backwards, whose first inputs are required values, compute some of these again.

    Return it, and its inputs by the values that they stand for.
    """
    place = dict(zip(required, after.inputs[: len(required)], strict=True))
    read = {i for n in again for i in n.inputs} | {*required}
    builder = Builder()
    crossing: dict[Node, Node] = {}
    new: dict[Node, Node] = {}
    for n in order:
        if n in again or is_literal(n):
            new[n] = builder.add(n.with_inputs(tuple([new[i] for i in n.inputs])) if n in again else n)
        elif n in read:
            made = input_node(n.name, n.type, n.origin if n.role is None else None)
            new[n] = crossing[n] = made
    moved = {place[n]: new[n] for n in required}
    for node in after.nodes:
        moved[node] = builder.add(node.with_inputs(tuple([moved.get(i, i) for i in node.inputs])))
    inputs = [*crossing.values(), *after.inputs[len(required) :]]
    return builder.graph(inputs, [moved.get(o, o) for o in after.outputs], after.name), crossing


def _invariant(graph: Graph, constants: Iterable[Node]) -> set[Node]:
    """Return the values that are the same in all turns: those constants, and what is computed of them alone."""
    found = set(constants)
    for node in graph.nodes:
        if all([i in found for i in node.inputs]):
            found.add(node)
    return found


def _with_strong_rows(after: Graph, rows: list[tuple[Node, Any]]) -> tuple[Graph, list[tuple[Node, Any]]]:
    """Let a graph take rows of arrays where it takes numbers of Python's, which no array holds."""
    weak = {i: input_node(i.name, plain(i.type)) for i, _ in rows if i.type.weak}
    if not weak:
        return after, rows
    builder = Builder()
    new: dict[Node, Node] = {i: builder.emit(_NUMBER, (x,), (("dtype", x.type.dtype),)) for i, x in weak.items()}
    for node in after.nodes:
        new[node] = builder.add(node.with_inputs(tuple([new.get(i, i) for i in node.inputs])))
    outputs = [new.get(o, o) for o in after.outputs]
    made = Graph([weak.get(i, i) for i in after.inputs], builder.nodes, outputs, after.name)
    return made, [(weak.get(i, i), x) for i, x in rows]


def _counted(of: Operands, params: dict[str, Any]) -> Any:
    """Run a loop with a condition to count its turns."""
    body, condition = params["bodies"]
    builder = Builder()
    turn = input_node("turn", Type((), np.dtype(np.int64)))
    outputs = [*copy_into(builder, body, body.inputs), builder.emit(_ADD, (turn, builder.constant(ONE)))]
    counting = (
        builder.graph([*body.inputs, turn], outputs, body.name),
        Graph([*condition.inputs, input_node("turn", turn.type)], condition.nodes, condition.outputs, condition.name),
    )
    zero = Symbol(of.carried[0].builder.constant(np.int64(0)), of.carried[0].builder)
    return loop(counting, of.constants, [*of.carried, zero])[-1]


def _run_again(cts: Any, of: Operands, params: dict[str, Any], wrt: list[int], count: Any) -> dict[int, Any]:
    """Go backwards from stretch to stretch; what was carried into one comes from running the loop up to it."""
    body, carried, constants = params["bodies"][0], params["carried"], params["constants"]
    builder: Builder = count.builder
    count = count if count.dtype == np.int64 and not count.weak else count.astype(np.int64)
    moving = [k for k in range(carried) if is_differentiable(body.outputs[k].type)]
    sums = [k for k in wrt if k < constants]
    stretch = _stretch(body, constants)
    back = vjp_graph(stretch, [*sums, *[constants + 2 + k for k in moving]])
    fixed = [*of.constants, count, *of.carried]
    size = np.int64(tuning.STRETCH_TURNS)

    def turn(*given: Symbol) -> tuple[Any, ...]:
        values, k, rest = given[: len(fixed)], given[len(fixed)], given[len(fixed) + 1 :]
        first = k * size
        state = loop((body,), values[:constants], values[constants + 1 :], count=first)
        operands = (*values[: constants + 1], first, *state, *rest[: len(moving)])
        found = _symbols(copy_into(k.builder, back, tuple([x.node for x in operands])), k.builder)
        totals = [total + more for total, more in zip(rest[len(moving) :], found)]
        return (k - ONE, *found[len(sums) :], *totals)

    start = [
        *plain_symbols([cts[k] for k in moving]),
        *[Symbol(Zero(plain(of.constants[k].node.type), builder).node, builder) for k in sums],
    ]
    stretches = (count + (size - ONE)) // size
    types = [x.node.type for x in (*fixed, stretches, *start)]
    found = loop((body_of(f"{body.name}_back", turn, types),), fixed, [stretches - ONE, *start], count=stretches)[1:]
    return dict(zip([*[constants + k for k in moving], *sums], found, strict=True))


def _stretch(body: Graph, constants: int) -> Graph:
    """Return a stretch of turns of a loop, from constants, the number of turns of the whole, and the first to come."""
    states = body.inputs[constants:]
    i64 = Type((), np.dtype(np.int64))
    types = [*[i.type for i in body.inputs[:constants]], i64, i64, *[i.type for i in states]]
    same = [input_node(None, i.type) for i in body.inputs]
    bodies = (body, Graph(same, (), same[constants:], "past_the_end"))

    def turn(*given: Symbol) -> tuple[Any, ...]:
        values, count, k, state = given[:constants], given[constants], given[constants + 1], given[constants + 2 :]
        return (k + ONE, *apply(COND, (k < count, *values, *state), (("bodies", bodies),)))

    step = body_of(body.name, turn, types)
    return body_of(
        f"{body.name}_stretch",
        lambda *xs: loop((step,), xs[: constants + 1], xs[constants + 1 :], (), tuning.STRETCH_TURNS)[1:],
        types,
    )


# ---------------------------------------------------------------------------------------------------------------
# turns that do not hear of each other
# ---------------------------------------------------------------------------------------------------------------
def _is_map(params: dict[str, Any]) -> bool:
    """Return whether a loop carries nothing: what is known of one turn holds of all, as of a batch."""
    return bool(params["count"] and not params["carried"])


def _map_vjp(cts: Any, ys: Any, xs: tuple[Any, ...], params: dict[str, Any], wrt: list[int]) -> Any:
    """Batch the cotangents of one turn; a constant gets the sum over the turns."""
    (body,), count, constants = params["bodies"], params["count"], params["constants"]
    found = _each_turn(cotangents_of_results(body, wrt), xs, plain_symbols(cts), ys, params)
    parts = [None] * len(xs)
    for k, (part, has_axis) in zip(wrt, found, strict=True):
        part = everywhere(part, has_axis, count)
        parts[k] = np.sum(part, axis=0) if k < constants else part
    return tuple(parts)


def _map_jvp(ts: Any, ys: Any, xs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    (body,), constants = params["bodies"], params["constants"]
    wrt = [k for k, t in enumerate(ts) if t is not None]
    moved = list(zip(plain_symbols(ts), [k >= constants for k in wrt], strict=True))
    found = _each_turn(tangents_of_results(body, wrt), xs, moved, ys, params)
    return spread_tangents(body, [everywhere(t, has_axis, params["count"]) for t, has_axis in found])


def _each_turn(body: Graph, xs: Any, given: Sequence[Any], ys: Any, params: dict[str, Any]) -> list[tuple[Any, bool]]:
    """Do a body of operands, what is given, and results for all turns at once."""
    operands = [(x, k >= params["constants"]) for k, x in enumerate(xs)]
    rows = [x if type(x) is tuple else (x, True) for x in given]
    builder: Builder = xs[0].builder
    return batch_into(builder, body, [*operands, *rows, *[(y, True) for y in ys]], params["count"])


# ---------------------------------------------------------------------------------------------------------------
# batches
# ---------------------------------------------------------------------------------------------------------------
def _batch(flags: tuple[bool, ...], *xs: Any, **params: Any) -> Any:
    of, marks = operands_of(xs, **params), operands_of(flags, **params)
    if marks.turns == (True,):
        return _each_counted(of, marks, batch_size(flags, xs), params)
    bodies, carried = params["bodies"], params["carried"]
    size, condition = batch_size(flags, xs), bodies[1:]
    on = list(marks.carried)
    while True:  # until what is carried is batched in each turn
        _, out = batch_graph(bodies[0], (*marks.constants, *on, *marks.rows), size)
        now = [a or b for a, b in zip(on, out[:carried], strict=True)]
        for test in condition:
            if batch_graph(test, (*marks.constants, *now), size)[1][0]:
                now = [True] * carried
        if now == on:
            break
        on = now
    inside = (*marks.constants, *on, *marks.rows)
    own = bool(condition) and batch_graph(condition[0], inside, size)[1][0]
    new: tuple[Graph, ...]
    if own:
        new = _each_stopping(bodies, inside, size)
    else:
        flagged = [*on, *[True] * (len(bodies[0].outputs) - carried)]
        body = with_axes(bodies[0], inside, size, lambda k, y, b: everywhere(y, b, size) if flagged[k] else y)
        new = (body, *[batch_graph(test, inside, size)[0] for test in condition])
    state = [everywhere(x, b, size) if now and not b else x for x, b, now in zip(of.carried, marks.carried, on)]
    rows = [np.moveaxis(x, 0, 1) if b else x for x, b in zip(of.rows, marks.rows, strict=True)]
    found = loop(new, of.constants, state, rows, _count(of, params))
    ends = [everywhere(y, b, size) for y, b in zip(found[:carried], on, strict=True)]
    return tuple([*ends, *[np.moveaxis(y, 1, 0) for y in found[carried:]]])


def _each_stopping(bodies: tuple[Graph, ...], flags: tuple[bool, ...], size: int) -> tuple[Graph, Graph]:
    """Return the bodies of a loop that runs until no example goes on; an example that has stopped stays as it is."""
    body, condition = bodies
    first = len(body.inputs) - len(body.outputs)
    asked, _ = batch_graph(condition, flags, size)
    builder = Builder()
    (going,) = copy_into(builder, asked, asked.inputs)
    moved, out = batch_graph(body, flags, size)
    results = copy_into(builder, moved, asked.inputs)
    outputs = [
        selected(Symbol(going, builder), everywhere(Symbol(y, builder), b, size), Symbol(x, builder)).node
        for y, b, x in zip(results, out, asked.inputs[first:], strict=True)
    ]
    step = builder.graph(asked.inputs, outputs, body.name)
    builder = Builder()
    (going,) = copy_into(builder, asked, asked.inputs)
    going_on: Any = np.any(Symbol(going, builder))
    return step, builder.graph(asked.inputs, [going_on.node], condition.name)


def _each_counted(of: Operands, marks: Operands, size: int, params: dict[str, Any]) -> Any:
    """Batch a loop that has a count of its own for each example: as one with a condition."""
    (body,) = params["bodies"]
    (count,) = of.turns
    turn, limit = [input_node(None, Type((), count.dtype)) for _ in range(2)]
    first = params["constants"]
    builder = Builder()
    outputs = copy_into(builder, body, body.inputs)
    outputs.append(builder.emit(_ADD, (turn, builder.constant(count.dtype.type(1)))))
    step = builder.graph([limit, *body.inputs, turn], outputs, body.name)
    given = [input_node(None, i.type) for i in step.inputs]
    asking = Builder()
    condition = asking.graph(given, [asking.emit(_LESS, (given[-1], given[0]))], f"{body.name}_goes_on")
    zero = Symbol(count.builder.constant(count.dtype.type(0)), count.builder)
    flags = (True, *marks.constants, *marks.carried, False)
    changed = {"count": None, "constants": first + 1, "carried": params["carried"] + 1, "bodies": (step, condition)}
    return _batch(flags, count, *of.constants, *of.carried, zero, **changed)[:-1]


RULES = {LOOP: (_vjp, _jvp, _batch)}
