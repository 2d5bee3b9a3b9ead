"""Find what calls of the user's functions compute: by where operations were written, and which values they read."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.schedule.inlining import readers_of
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, INPUT, Graph, Node
from tapec.ir.source_location import repeats

__all__ = ["HelperCall", "owners_of", "proposed_calls"]

Owner = tuple[Any, Any]  # a code object of the user's, and the role of the operations


class HelperCall(NamedTuple):
    """Describes one call of a function of the user's: its operations in order, and the values that they read from
    outside; the key is equal for calls that do the same with those."""

    code: Any
    nodes: Sequence[Node]
    operands: Sequence[Node]
    key: Any


def owners_of(nodes: Sequence[Node]) -> dict[Owner, list[int]]:
    """Return the places of operations by owner, of those that have enough for several calls of a named function."""
    owned: dict[Owner, list[int]] = {}
    for k, node in enumerate(nodes):
        if node.origin is not None and node.op is not CONSTANT and node.op is not INPUT:
            owned.setdefault((node.origin[0], node.role), []).append(k)
    least = 2 * tuning.HELPER_MIN_OPS
    return {o: places for o, places in owned.items() if len(places) >= least and not o[0].co_name.startswith("<")}


def proposed_calls(graph: Graph, owner: Owner, places: Sequence[int]) -> list[HelperCall]:
    """Return what the calls of a function compute, one after the other; none where that is not clear."""
    nodes, code = graph.nodes, owner[0]
    by_site: dict[Any, list[int]] = {}
    for k in places:
        by_site.setdefault((nodes[k].origin[1], nodes[k].op), []).append(k)
    counts = [len(found) for site, found in by_site.items() if len(found) > 1 and not repeats((code, site[0]))]
    if not counts:
        return []
    count = Counter(counts).most_common(1)[0][0]
    groups: list[set[int]] = [set() for _ in range(count)]
    for found in by_site.values():
        if len(found) == count:
            for group, k in zip(groups, found, strict=True):
                group.add(k)
    number = {k: call for call, group in enumerate(groups) for k in group}
    sure = set(number)
    ends = [(min(group), max(group)) for group in groups]
    if any([last >= first for (_, last), (first, _) in pairwise(ends)]):
        return []
    place = {node: k for k, node in enumerate(nodes)}
    readers = readers_of(nodes)
    _assign_others(nodes, place, readers, places, by_site, ends, number)
    _leave_shared(nodes, place, number, sure)
    _take_in_called(nodes, place, readers, owner, number)
    groups = [set() for _ in range(count)]
    for k, call in number.items():
        groups[call].add(k)
    groups = [g for g in groups if g and max(g) - min(g) <= tuning.HELPER_MAX_SPREAD * len(g)]
    for group in groups:
        _close(nodes, place, group)
    if sum(map(len, groups)) > len(set().union(*groups)):
        return []  # one call computes what another one does
    return [_call(code, _in_order(owner, [nodes[k] for k in sorted(group)])) for group in groups]


def _assign_others(
    nodes: Sequence[Node],
    place: dict[Node, int],
    readers: dict[Node, list[Node]],
    places: Sequence[int],
    by_site: dict[Any, list[int]],
    ends: list[tuple[int, int]],
    number: dict[int, int],
) -> None:
    """Enter further operations: those of sites that ran as often in each call, and those near what they read, or are
    read by."""
    before, after = [-1, *[last for _, last in ends]], [*[first for first, _ in ends[1:]], len(nodes)]
    for found in by_site.values():
        each, rest = divmod(len(found), len(ends))
        if each > 1 and not rest:
            parts = [found[c * each : (c + 1) * each] for c in range(len(ends))]
            if all([before[c] < part[0] and part[-1] < after[c] for c, part in enumerate(parts)]):
                number.update({k: c for c, part in enumerate(parts) for k in part})
    for k in places:
        if k not in number:
            c = bisect_left(ends, (k, k)) - 1  # the last call that begins before it
            inside = [c] if c >= 0 and k < ends[c][1] else []
            found = inside or [number[p] for i in nodes[k].inputs if (p := place.get(i)) in number]
            if found:
                number[k] = found[0]
    for k in reversed(places):
        if k not in number:
            found = [number[p] for r in readers.get(nodes[k], ()) if (p := place[r]) in number]
            if found and found.count(found[0]) == len(found):
                number[k] = found[0]


def _leave_shared(nodes: Sequence[Node], place: dict[Node, int], number: dict[int, int], sure: set[int]) -> None:
    """Leave out what one call has computed for another one, too, and what that is computed of."""
    shared = set()
    for k, call in number.items():
        for p in map(place.get, nodes[k].inputs):
            if p in number and number[p] != call and p not in sure:
                shared.add(p)
    while shared:
        k = shared.pop()
        if number.pop(k, None) is not None:
            shared.update([p for p in map(place.get, nodes[k].inputs) if p in number])


def _take_in_called(
    nodes: Sequence[Node],
    place: dict[Node, int],
    readers: dict[Node, list[Node]],
    owner: Owner,
    number: dict[int, int],
) -> None:
    """Take in what functions that the code names have computed for one call alone, or of what it has computed."""
    code, role = owner
    named = {*code.co_names, *code.co_freevars, *code.co_varnames} - {code.co_name}
    theirs = [
        k
        for k, n in enumerate(nodes)
        if k not in number and n.origin is not None and n.role is role and n.origin[0].co_name in named
    ]
    for k in reversed(theirs):
        found = {number.get(place[r]) for r in readers.get(nodes[k], ())}
        if len(found) == 1 and (call := found.pop()) is not None:
            number[k] = call
    for k in theirs:
        given = {number[p] for i in nodes[k].inputs if (p := place.get(i)) in number}
        if k not in number and len(given) == 1:
            number[k] = given.pop()


def _close(nodes: Sequence[Node], place: dict[Node, int], group: set[int]) -> None:
    """Take in what is computed of a call's values, and is needed for others: helpers that the helper calls."""
    first, last = min(group), max(group)
    after = set(group)
    for k in range(first, last):
        if k not in after and any([place.get(i) in after for i in nodes[k].inputs]):
            after.add(k)
    before = set(group)
    for k in range(last, first, -1):
        if k in before:
            before.update([p for p in map(place.get, nodes[k].inputs) if p in after])
    group |= before & after


def _in_order(owner: Owner, nodes: Sequence[Node]) -> list[Node]:
    """Return the operations of a call in the order in which they were written, as far as they can run in it;
    derivatives in the reverse order."""
    code, role = owner
    ranks: dict[Node, tuple[int, str, int]] = {}
    waiting: dict[Node, int] = {}
    readers: dict[Node, list[Node]] = {node: [] for node in nodes}
    for k, node in enumerate(nodes):
        offset = node.origin[1] if node.origin is not None and node.origin[0] is code else 0
        ranks[node] = offset if role is None else -offset, node.op.name, k
        inside = {i for i in node.inputs if i in ranks}
        waiting[node] = len(inside)
        for i in inside:
            readers[i].append(node)
    ready = [(ranks[node], node) for node in nodes if not waiting[node]]
    heapify(ready)
    order: list[Node] = []
    while ready:
        _, node = heappop(ready)
        order.append(node)
        for reader in readers[node]:
            waiting[reader] -= 1
            if not waiting[reader]:
                heappush(ready, (ranks[reader], reader))
    return order


def _call(code: Any, nodes: list[Node]) -> HelperCall:
    """Describe a call by its operations and where these read."""
    inside: dict[Node, int] = {}
    operands: dict[Node, int] = {}
    key: list[Any] = []
    for k, node in enumerate(nodes):
        reads = tuple([inside[i] if i in inside else -1 - operands.setdefault(i, len(operands)) for i in node.inputs])
        key.append((node.op, repr(node.params), node.type, node.role, node.bodies, reads))
        inside[node] = k
    given = tuple(operands)
    return HelperCall(code, nodes, given, (tuple(key), tuple([i.type for i in given])))
