"""Draw a graph as text: an operation a line, from top to bottom, and a rail for each value until it is read last.

    ○    x  f64[3]
    │ ○  w  f64[3]
    ●─┤  multiply  f64[3]               model.py:4  return np.sum(x * w * w)
    ●─┘  multiply  f64[3]
    ●    sum axis=0  f64[]  → output 0

A rail ends (└, ┘, ┴) where nobody reads the value again, and passes (├, ┤, ┼) where somebody does. An operation takes
the rail of a value that it reads last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Graph, Node, is_literal
from tapec.report import tuning
from tapec.report.graph_picture.box_labels import folded_label, node_label
from tapec.report.graph_picture.line_clusters import Cluster, cut, fold

__all__ = ["RailLine", "text_rails"]


class RailLine(NamedTuple):
    """Holds a line of the drawing: its rails, what stands there, and the user's line where another one begins.

    `kind` is "input", "forward", "derivative" or "output".
    """

    rails: str
    label: str
    kind: str
    place: str = ""


class _Box(NamedTuple):
    nodes: tuple[Node, ...]
    label: str
    kind: str
    place: str


def text_rails(graph: Graph, limit: int | None = None) -> list[RailLine]:
    """Return the lines of the drawing; above `limit` nodes, each line of the user's is one box."""
    boxes = list(_boxes(graph, limit))
    home = {node: k for k, box in enumerate(boxes) for node in box.nodes}
    reads = [sorted({home[i] for n in box.nodes for i in n.inputs if i in home} - {k}) for k, box in enumerate(boxes)]
    left = Counter([k for read in reads for k in read])  # how many boxes read it still
    columns: list[int | None] = []
    lines = []
    for k, box in enumerate(boxes):
        before = [i for i, c in enumerate(columns) if c in reads[k]]
        left.subtract(reads[k])
        ending = [i for i in before if not left[columns[i]]]  # type: ignore[index]
        at = ending[0] if ending else _free(columns)
        lines.append(RailLine(_rails(columns, before, ending, at), box.label, box.kind, box.place))
        for i in ending:
            columns[i] = None
        columns[at] = k if left[k] else None
        while columns and columns[-1] is None:
            columns.pop()
    return lines


def _boxes(graph: Graph, limit: int | None) -> Iterator[_Box]:
    """Return what stands on the lines: inputs before the first box that reads them, operations by lines of the user's,
    and what is returned."""
    limit = tuning.PICTURE_MAX_NODES if limit is None else limit
    nodes = [n for n in graph.nodes if not is_literal(n)]
    clusters = cut(nodes, graph)
    if len(nodes) > limit:
        clusters = fold(clusters)
    waiting = dict.fromkeys(graph.inputs)
    for cluster in clusters:
        place = _place(cluster)
        for part in [cluster.nodes] if cluster.folded else [[n] for n in cluster.nodes]:
            for i in [i for n in part for i in n.inputs if i in waiting]:
                if i in waiting:
                    del waiting[i]
                    yield _Box((i,), f"{i.name or 'input'}  {i.type}", "input", "")
            label = "  ".join(folded_label(part) if cluster.folded else node_label(part[0]))
            outputs = [f"output {k}" for k, o in enumerate(graph.outputs) if o in part]
            label += f"  → {', '.join(outputs)}" if outputs else ""
            yield _Box(tuple(part), label, "derivative" if cluster.derivative else "forward", place)
            place = ""
    for i in waiting:
        yield _Box((i,), f"{i.name or 'input'}  {i.type}  (not read)", "input", "")


def _place(cluster: Cluster) -> str:
    if cluster.line is None:
        return ""
    return f"{'∂ ' if cluster.derivative else ''}{cluster.line}  {cluster.line.text}"


def _free(columns: list[int | None]) -> int:
    """Return the first column without a rail, which there is afterwards."""
    if None in columns:
        return columns.index(None)
    columns.append(None)
    return len(columns) - 1


def _rails(columns: Sequence[int | None], read: list[int], ending: list[int], at: int) -> str:
    """Return a line of rails: `read` are the columns that the box at column `at` reads, of which some are `ending`."""
    first, last = min([*read, at]), max([*read, at])
    out = ""
    for i, value in enumerate(columns):
        if i == at:
            mark = "●" if read else "○"
        elif i in read:
            is_end, is_first, is_last = i in ending, i == first, i == last
            mark = (
                ("└" if is_first else "┘" if is_last else "┴")
                if is_end
                else "├"
                if is_first
                else "┤"
                if is_last
                else "┼"
            )
        elif value is not None:
            mark = "│"
        else:
            mark = "─" if first < i < last else " "
        out += mark + ("─" if first <= i < last else " ")
    return out.rstrip()
