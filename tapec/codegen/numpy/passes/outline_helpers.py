"""Compute in one function what calls of a helper of the user's compute alike, and their derivatives in another one.

    k1 = rhs(u); k2 = rhs(u + h * k1)        def rhs(u): ...                  called for k1, k2
                                             def rhs_backward(d_du, u): ...   called for their cotangents

An operation belongs to the code of the user's in which it was written, and what stands in no loop of that code has run
once in each call. That only proposes: calls share a function where they compute the same of their operands, operation
by operation, and where nothing outside is computed on the way. So this comes last of all, when the program is
differentiated, lean and in order. Residuals of a gradient are results of the forward function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.common.naming import Names, identifier
from tapec.codegen.numpy.passes.find_helper_calls import HelperCall, owners_of, proposed_calls
from tapec.codegen.numpy.passes.helper_names import InsideNames, name_at_call
from tapec.codegen.numpy.what_pays import microseconds
from tapec.codegen.schedule.inlining import readers_of
from tapec.codegen.schedule.order import early_ends, put_off
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import ITEM, Graph, Node, OpSet, cost, input_node, is_literal
from tapec.ir.builder import constant_key
from tapec.ir.sizes import tells_size
from tapec.ops.control.select_and_call import CALL

__all__ = ["outlined"]

GIVEN = OpSet("constant input")


class Helper(NamedTuple):
    """Holds calls that are alike: `given` are the numbers of the operands that are parameters, in their order, and
    `results` those of the operations that somebody outside reads."""

    name: str
    calls: Sequence[HelperCall]
    given: Sequence[int]
    results: Sequence[int]

    @property
    def spares(self) -> int:
        """Return how many lines it spares: what calls compute stands once, with a head, a return and a blank line."""
        return (len(self.calls) - 1) * len(self.calls[0].nodes) - len(self.calls) - 3


def outlined(graph: Graph, names: dict[Any, InsideNames]) -> tuple[Graph, list[Graph]]:
    """Return the program with calls of shared bodies, and these; the same graph where there are none that pay.

    `names` has those of helpers by their code, of graphs that were looked at before: bodies of loops.
    """
    owners = owners_of(graph.nodes)
    if not owners:
        return graph, []
    proposed = [proposed_calls(graph, *owner) for owner in owners.items()]
    helpers = _helpers(graph, proposed)
    while helpers:
        order = _in_order(graph, helpers)
        if order is not None:
            return _with_calls(graph, helpers, order, names)
        helpers.remove(min(helpers, key=lambda h: h.spares))  # what two calls compute for each other is no call
    return graph, []


# -- which calls share a function -------------------------------------------------------------------------------------
def _helpers(graph: Graph, proposed: list[list[HelperCall]]) -> list[Helper]:
    """Return the helpers that pay, in the order of their first calls."""
    found: list[Helper] = []
    readers = readers_of(graph.nodes)
    for calls in proposed:
        alike: dict[Any, list[HelperCall]] = {}
        for call in calls:
            if not any([n.op.multi or n.op is ITEM for n in call.nodes]):
                alike.setdefault(call.key, []).append(call)
        for same in alike.values():
            given = [k for k in range(len(same[0].operands)) if not _is_one_number(same, k)]
            helper = Helper("", same, given, _results(graph, same, readers))
            if _is_worth_reading(helper) and _is_sound(helper):
                found.append(helper)
    left = tuning.HELPER_MAX_SHARE_OF_TIME * sum(map(microseconds, graph.nodes))
    kept: list[Helper] = []
    taken: set[Node] = set()
    for helper in sorted(found, key=lambda h: -h.spares / len(h.calls)):
        time = len(helper.calls) * tuning.HELPER_CALL_COST
        nodes = [node for call in helper.calls for node in call.nodes]
        if time <= left and taken.isdisjoint(nodes):
            left -= time
            taken.update(nodes)
            kept.append(helper)
    place, names = {node: k for k, node in enumerate(graph.nodes)}, Names()
    kept.sort(key=lambda h: place[h.calls[0].nodes[0]])
    return [h._replace(name=names.take(_name(h.calls[0]))) for h in kept]


def _is_one_number(calls: Sequence[HelperCall], k: int) -> bool:
    """Return whether an operand is the same number in all calls, and no size, which is to be read from an array."""
    numbers = [call.operands[k] for call in calls]
    if not all([is_literal(i) and not (i.name and tells_size(i.name)) for i in numbers]):
        return False
    return len({constant_key(i.value) for i in numbers}) == 1


def _results(graph: Graph, calls: Sequence[HelperCall], readers: Mapping[Node, list[Node]]) -> list[int]:
    """Return which operations somebody outside reads, of one call or another: residuals, for derivatives, come last."""
    outputs, found = set(graph.outputs), dict[int, bool]()
    for call in calls:
        own = set(call.nodes)
        for k, node in enumerate(call.nodes):
            outside = [n for n in readers.get(node, ()) if n not in own]
            if node in outputs or outside:
                is_residual = node not in outputs and all([n.role is not node.role for n in outside])
                found[k] = found.get(k, True) and is_residual
    return sorted(found, key=lambda k: (found[k], k))


def _is_worth_reading(helper: Helper) -> bool:
    """Return whether a function spares enough lines for what is handed to and fro."""
    if len(helper.calls) < 2 or len(helper.calls[0].nodes) < tuning.HELPER_MIN_OPS:
        return False
    if len(helper.given) > tuning.HELPER_MAX_OPERANDS or len(helper.results) > tuning.HELPER_MAX_RESULTS:
        return False
    return helper.spares >= tuning.HELPER_MIN_SPARED_LINES


def _is_sound(helper: Helper) -> bool:
    """Return whether a function gives what its lines do: Python's numbers would become NumPy's, and views be copied.

    Its arrays are new ones in each call: large ones had better be written again, while they are in the cache.
    """
    nodes = helper.calls[0].nodes
    if any([cost.bytes_of(n) > tuning.HELPER_ARRAY_MAX_BYTES for n in nodes]):
        return False
    return not any([nodes[k].type.weak or nodes[k].op.view for k in helper.results])


def _name(call: HelperCall) -> str:
    """Return the name of a function: that of the helper, with what its derivatives are."""
    name = identifier(call.code.co_name)
    if call.nodes[0].role is None:
        return name
    offsets = [n.origin[1] for n in call.nodes if n.origin is not None and n.origin[0] is call.code]
    steps = [b - a for a, b in pairwise(offsets) if a != b]
    return f"{name}_backward" if 2 * sum([s < 0 for s in steps]) >= len(steps) else f"{name}_forward"


# -- the graph with calls ---------------------------------------------------------------------------------------------
def _in_order(graph: Graph, helpers: Sequence[Helper]) -> list[Node] | None:
    """Return nodes, and the first ones of calls for these, in an order that can run, near to the one that they have;
    None where there is none."""
    whole: dict[Node, Node] = {n: n for n in graph.nodes}
    for helper in helpers:
        for call in helper.calls:
            whole.update(dict.fromkeys(call.nodes, call.nodes[0]))
    last = {whole[n]: k for k, n in enumerate(graph.nodes)}
    waiting: dict[Node, set[Node]] = {n: set() for n in last}
    readers: dict[Node, set[Node]] = {n: set() for n in last}
    for node in graph.nodes:
        own = whole[node]
        for i in node.inputs:
            made = whole.get(i, own)
            if made is not own:
                waiting[own].add(made)
                readers[made].add(own)
    ready = [(k, n) for n, k in last.items() if not waiting[n]]
    heapify(ready)
    order = []
    while ready:
        _, node = heappop(ready)
        order.append(node)
        for reader in readers[node]:
            waiting[reader].discard(node)
            if not waiting[reader]:
                heappush(ready, (last[reader], reader))
    return order if len(order) == len(last) else None


def _with_calls(
    graph: Graph, helpers: Sequence[Helper], order: list[Node], insides: dict[Any, InsideNames]
) -> tuple[Graph, list[Graph]]:
    """Return the program in which calls stand for what they compute, and the bodies of these."""
    readers = readers_of(graph.nodes)
    calls: dict[Node, tuple[Helper, HelperCall, Graph]] = {}
    bodies = []
    for helper in helpers:
        body, ordered = _body(helper, insides.setdefault(helper.calls[0].code, InsideNames()))
        calls.update({call.nodes[0]: (ordered, call, body) for call in helper.calls})
        bodies.append(body)
    new: dict[Node, Node] = {}
    nodes: list[Node] = []
    for node in order:
        if node not in calls:
            new[node] = node.with_inputs(tuple([new.get(i, i) for i in node.inputs])) if node.inputs else node
            nodes.append(new[node])
            continue
        helper, call, body = calls[node]
        given = tuple([new.get(i, i) for i in map(call.operands.__getitem__, helper.given)])
        whole = Node(CALL, given, (), tuple([o.type for o in body.outputs]), None, None, node.role, (body,))
        nodes.append(whole)
        for k, place in enumerate(helper.results):
            old = call.nodes[place]
            name = name_at_call(old, readers.get(old, ()))
            new[old] = Node(ITEM, (whole,), (("index", k),), old.type, None, name, old.role)
            nodes.append(new[old])
    return Graph(graph.inputs, nodes, [new.get(o, o) for o in graph.outputs], graph.name), bodies


def _body(helper: Helper, names: InsideNames) -> tuple[Graph, Helper]:
    """Return the graph of a helper, and the helper with its parameters and results in the order of the user's.

    What is the same number in all calls is written there. What is computed of parameters alone waits for its reader:
    they are there to the end.
    """
    first = helper.calls[0]
    wishes = {k: names.of_parameter([call.operands[k] for call in helper.calls], first.nodes) for k in helper.given}
    outcomes = {k: names.of_result(first.nodes[k]) for k in helper.results}
    given = sorted(helper.given, key=lambda k: names.rank(wishes[k], first.operands[k], first.code))
    results = sorted(helper.results, key=lambda k: names.rank_of_result(outcomes[k]))
    if first.nodes[0].role is None:
        names.learn(helper.calls, {k: wishes[k] for k in given}, [outcomes[k] for k in results])
    new = {first.operands[k]: input_node(wishes[k], first.operands[k].type) for k in given}
    inputs = list(new.values())
    nodes = [i for i in first.operands if i not in new]
    new |= {i: i for i in nodes}
    for k, node in enumerate(first.nodes):
        new[node] = node.with_inputs(tuple([new[i] for i in node.inputs]))
        if node.role is not None and outcomes.get(k):
            new[node].name = outcomes[k]
        nodes.append(new[node])
    outputs = [new[first.nodes[k]] for k in results]
    late = {n for n in nodes if n.inputs and n.op.kind == "elementwise" and all([i.op in GIVEN for i in n.inputs])}
    return Graph(inputs, put_off(early_ends(nodes), late), outputs, helper.name), helper._replace(
        given=given, results=results
    )
