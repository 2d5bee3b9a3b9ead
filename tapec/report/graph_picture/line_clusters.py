"""Cut a graph into clusters, one for each run of operations that a line of the user's made, and put them into rows.

A row holds what one line became: its forward operations to the left, their derivatives to the right. Read from top to
bottom, the left side is the program; read from bottom to top, the right side is its gradient.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from tapec.ir import CT, Graph, Node, is_literal
from tapec.report import tuning
from tapec.report.graph_picture.user_lines import Line, user_line_of

__all__ = ["Cluster", "Row", "rows"]


@dataclass(eq=False)
class Cluster:
    """Operations that belong together: of one line, in one direction. `folded` ones are shown as a single box."""

    line: Line | None
    derivative: bool
    nodes: list[Node] = field(default_factory=list)
    folded: bool = False


@dataclass(eq=False)
class Row:
    """Holds the operations of one line and their derivatives; either may be missing."""

    forward: Cluster | None
    backward: Cluster | None


def rows(graph: Graph, limit: int | None = None) -> list[Row]:
    """The rows of a picture. A graph of more than `limit` nodes has each line's operations folded into one box."""
    limit = tuning.PICTURE_MAX_NODES if limit is None else limit
    nodes = [n for n in graph.nodes if not is_literal(n)]
    clusters = cut(nodes, graph)
    if len(nodes) > limit:
        clusters = fold(clusters)
    forward = [c for c in clusters if not c.derivative]
    backward = [c for c in clusters if c.derivative][::-1]
    return paired(forward, backward)


def cut(nodes: Sequence[Node], graph: Graph) -> list[Cluster]:
    """Return clusters in an order in which they can run."""
    keys = _keys(nodes, graph)
    clusters: list[Cluster] = []
    last: object = None
    for node in _gathered(nodes, keys):
        key = keys[node]
        if not clusters or key != last:
            clusters.append(Cluster(*key))
            last = key
        clusters[-1].nodes.append(node)
    return clusters


Key = tuple[Line | None, bool]


def _keys(nodes: Sequence[Node], graph: Graph) -> dict[Node, Key]:
    """The line and direction of each node; one without a line or without inputs goes with the first that uses it."""
    first_user: dict[Node, Node] = {}
    for node in reversed(graph.nodes):
        for i in node.inputs:
            first_user[i] = node
    keys: dict[Node, Key] = {}
    for node in reversed(nodes):
        line, derivative = user_line_of(node), node.role == CT
        user = first_user.get(node)
        follows = user in keys and (not node.inputs or (line is None and keys[user][1] == derivative))
        keys[node] = keys[user] if follows else (line, derivative)  # type: ignore[index]
    for node in nodes:  # a result that nobody uses stays with what it is a result of
        for i in node.inputs:
            if keys[node][0] is None and i in keys and keys[i][1] == keys[node][1]:
                keys[node] = keys[i]
    return keys


def _gathered(nodes: Sequence[Node], keys: dict[Node, Key]) -> list[Node]:
    """The nodes in another order that can run, staying with a key as long as it goes."""
    position = {n: k for k, n in enumerate(nodes)}
    waiting = {n: sum(i in position for i in set(n.inputs)) for n in nodes}
    users: dict[Node, list[Node]] = {n: [] for n in nodes}
    for n in nodes:
        for i in set(n.inputs):
            if i in position:
                users[i].append(n)
    ready: dict[Key, list[int]] = {}
    first: list[int] = []

    def make_ready(n: Node) -> None:
        heapq.heappush(ready.setdefault(keys[n], []), position[n])
        heapq.heappush(first, position[n])

    for n in nodes:
        if not waiting[n]:
            make_ready(n)
    done: list[Node] = []
    taken: set[int] = set()
    key = None
    while len(done) < len(nodes):
        if key is None or not ready.get(key):
            while first[0] in taken:
                heapq.heappop(first)
            key = keys[nodes[first[0]]]
        k = heapq.heappop(ready[key])
        taken.add(k)
        done.append(nodes[k])
        for user in users[nodes[k]]:
            waiting[user] -= 1
            if not waiting[user]:
                make_ready(user)
    return done


def fold(clusters: list[Cluster]) -> list[Cluster]:
    """Put all operations of a line in one cluster that is shown as one box, in the order of first appearance."""
    merged: dict[Key, Cluster] = {}
    for c in clusters:
        whole = merged.setdefault((c.line, c.derivative), Cluster(c.line, c.derivative, folded=True))
        whole.nodes.extend(c.nodes)
    return list(merged.values())


def paired(forward: list[Cluster], backward: list[Cluster]) -> list[Row]:
    """Put clusters of the same line side by side, as far as both orders allow."""
    table: list[Row] = []
    matcher = SequenceMatcher(None, [c.line for c in forward], [c.line for c in backward], autojunk=False)
    for tag, i, i2, j, j2 in matcher.get_opcodes():
        if tag == "equal":
            table += [Row(f, b) for f, b in zip(forward[i:i2], backward[j:j2], strict=True)]
        else:
            table += [Row(f, None) for f in forward[i:i2]]
            table += [Row(None, b) for b in backward[j:j2]]
    return table
