"""Write a graph in the DOT language, for Graphviz and its kin: one cluster for each line, as in the SVG."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tapec.ir import Graph, Node, is_literal
from tapec.report.graph_picture.box_labels import folded_label, node_label, repeated_label
from tapec.report.graph_picture.line_clusters import Cluster, rows
from tapec.report.graph_picture.repeats import Folded, folded_repeats

__all__ = ["dot"]

_FILL = {"input": "#dafbe1", "forward": "#ddf4ff", "derivative": "#fff1e5"}


def dot(graph: Graph, limit: int | None = None) -> str:
    """Return DOT text of a graph. Above `limit` nodes, each line becomes one box."""
    return "\n".join(_lines(graph, limit)) + "\n"


def _lines(whole: Graph, limit: int | None) -> Iterator[str]:
    folded = folded_repeats(whole)
    graph = folded.graph
    name: dict[Node, str] = {n: f"i{k}" for k, n in enumerate(graph.inputs)}
    yield f"digraph {json.dumps(graph.name)} {{"
    yield '  node [shape=box style="filled,rounded" fontname=monospace fontsize=11]'
    for n in graph.inputs:
        yield _box(name[n], (n.name or "input", str(n.type)), "input")
    clusters = [c for row in rows(graph, limit) for c in (row.forward, row.backward) if c is not None]
    for k, cluster in enumerate(clusters):
        yield from _cluster(k, cluster, name, folded)
    arrows: dict[str, None] = {}
    for node in graph.nodes:
        for i in node.inputs:
            if not is_literal(i) and name[i] != name[node]:
                arrows[f"  {name[i]} -> {name[node]}"] = None
    yield from arrows
    for k, node in enumerate(graph.outputs):
        yield f'  o{k} [label="output {k}" fillcolor=white]'
        if not is_literal(node):
            yield f"  {name[node]} -> o{k}"
    yield "}"


def _cluster(k: int, cluster: Cluster, name: dict[Node, str], folded: Folded) -> Iterator[str]:
    kind = "derivative" if cluster.derivative else "forward"
    boxes = [cluster.nodes] if cluster.folded else [[n] for n in cluster.nodes]
    if cluster.line is not None:
        mark = "∂ " if cluster.derivative else ""
        yield f"  subgraph cluster_{k} {{"
        yield f"    label={json.dumps(f'{mark}{cluster.line}  {cluster.line.text}', ensure_ascii=False)}"
        yield '    labeljust=l color="#d1d9e0" fontname=monospace fontsize=10'
    for j, nodes in enumerate(boxes):
        name.update(dict.fromkeys(nodes, f"n{k}_{j}"))
        members = [m for n in nodes for m in folded.members.get(n, (n,))]
        alone = node_label(nodes[0]) if len(members) == 1 else repeated_label(members)
        yield _box(f"n{k}_{j}", folded_label(members) if cluster.folded else alone, kind)
    if cluster.line is not None:
        yield "  }"


def _box(name: str, label: tuple[str, str], kind: str) -> str:
    text = json.dumps("\n".join(label), ensure_ascii=False)
    return f'    {name} [label={text} fillcolor="{_FILL[kind]}"]'
