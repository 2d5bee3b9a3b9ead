"""Place everything in a picture: boxes, the frames around a line's boxes, and wires.

Rows are stacked. Within a cell `layers` arranges the boxes; between cells wires run on tracks in the gaps between rows
and on lanes in the gutters beside the columns, so that none crosses a box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CT, Graph, Node, is_literal
from tapec.report.graph_picture.box_labels import folded_label, node_label, repeated_label, short
from tapec.report.graph_picture.layers import Arrow, arrange
from tapec.report.graph_picture.line_clusters import Cluster, rows
from tapec.report.graph_picture.repeats import Folded, folded_repeats
from tapec.report.graph_picture.user_lines import Line
from tapec.report.graph_picture.wire_routes import Net, Router

__all__ = ["Box", "Drawing", "Frame", "Mark", "Wire", "layout"]

Point = tuple[float, float]

CHAR, SMALL_CHAR = 7.3, 6.1  # widths of the two sizes of the fixed-width font
BOX_HEIGHT, MARK_HEIGHT = 36.0, 24.0
PAD, LABEL = 10.0, 18.0
PORT_STEP = 9.0
LABEL_LENGTH = 56


class Mark(NamedTuple):
    """Says what an output is: a result, or the test by which a path is chosen; one without a kind is not drawn."""

    title: str
    subtitle: str = ""
    kind: str = "output"


@dataclass(eq=False)
class Box:
    """Shows an operation, input or output. `kind` is forward, derivative, input, constant, output or test.

    `members` are the operations of a loop that it stands for, `carried` tells that it reads what the round before has
    left.
    """

    title: str
    subtitle: str
    kind: str
    line: Line | None = None
    nodes: tuple[Node, ...] = ()
    members: tuple[Node, ...] = ()
    carried: bool = False
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        return max(len(self.title) * CHAR, len(self.subtitle) * SMALL_CHAR) + (34 if self.carried else 18)

    @property
    def height(self) -> float:
        return BOX_HEIGHT if self.subtitle else MARK_HEIGHT


@dataclass(eq=False)
class Frame:
    """Draws the surroundings of a cell, with the line that it stands for."""

    x: float
    y: float
    width: float
    height: float
    label: str
    code: str
    line: Line | None
    derivative: bool


@dataclass(eq=False)
class Wire:
    """Draws the line that carries a value: `points` joined by curves within a cell, by right angles between cells."""

    points: list[Point]
    derivative: bool
    curved: bool
    head: bool = False  # does it end at a box?


@dataclass(eq=False)
class Drawing:
    """Holds a picture, ready to be written down."""

    boxes: list[Box] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0


@dataclass(eq=False)
class Cell:
    """Holds the boxes of one cluster. `entries`, `exits`: where wires cross its edge, x within the cell."""

    row: int
    column: int  # 0: forward, read downwards; 1: derivatives, read upwards
    boxes: list[Box]
    cluster: Cluster | None = None
    uses: list[tuple[Box, Box, float]] = field(default_factory=list)
    entries: dict[Box, float] = field(default_factory=dict)
    exits: dict[Box, float] = field(default_factory=dict)
    paths: list[tuple[list[Point], bool]] = field(default_factory=list)  # and whether it ends at a box
    width: float = 0.0
    height: float = 0.0

    @property
    def framed(self) -> bool:
        return self.cluster is not None and self.cluster.line is not None


def layout(graph: Graph, limit: int | None = None, marks: Sequence[Mark] = ()) -> Drawing:
    """Place a graph: forward operations on the left, derivatives on the right. `marks` say what its outputs are."""
    cells, box_of = _cells(folded_repeats(graph), limit, marks)
    _connect(cells, box_of)
    for cell in cells:
        _arrange_cell(cell)
    return _assemble(cells)


# ---------------------------------------------------------------------------------------------------------------
# cells
# ---------------------------------------------------------------------------------------------------------------
def _cells(folded: Folded, limit: int | None, marks: Sequence[Mark]) -> tuple[list[Cell], dict[Node, Box]]:
    """Return cells: inputs on top of the left column, gradients on top of the right one, values at the bottom."""
    graph = folded.graph
    box_of: dict[Node, Box] = {}
    for n in graph.inputs:
        box_of[n] = Box(n.name or "input", str(n.type), "input", nodes=(n,))
    cells = [Cell(0, 0, [box_of[n] for n in graph.inputs])]
    table = rows(graph, limit)
    for k, row in enumerate(table, start=1):
        for column, cluster in enumerate((row.forward, row.backward)):
            if cluster is not None:
                cells.append(Cell(k, column, _cluster_boxes(cluster, box_of, folded), cluster))
    above: list[Box] = []
    below: list[Box] = []
    for k, node in enumerate(graph.outputs):
        shown = marks[k] if marks else Mark(f"output {k}" if len(graph.outputs) > 1 else "output")
        if shown.kind:
            mark = Box(shown.title, shown.subtitle, shown.kind, nodes=(node,))
            (above if node.role == CT else below).append(mark)
    if above:
        cells.append(Cell(0, 1, above))
    if below:
        cells.append(Cell(len(table) + 1, 0, below))
    return [c for c in cells if c.boxes], box_of


def _cluster_boxes(cluster: Cluster, box_of: dict[Node, Box], folded: Folded) -> list[Box]:
    kind = "derivative" if cluster.derivative else "forward"
    if cluster.folded:
        members = tuple([m for n in cluster.nodes for m in folded.members.get(n, (n,))])
        box = Box(*folded_label(members), kind, cluster.line, tuple(cluster.nodes), members)
        box_of.update(dict.fromkeys(cluster.nodes, box))
        return [box]
    boxes = []
    for node in cluster.nodes:
        members = folded.members.get(node, ())
        label = repeated_label(members) if members else node_label(node)
        kind_of = kind if node.inputs or members else "constant"
        box_of[node] = Box(*label, kind_of, cluster.line, (node,), members, node in folded.carried)
        boxes.append(box_of[node])
    return boxes


def _connect(cells: list[Cell], box_of: dict[Node, Box]) -> None:
    """Find what each box uses: (source, target, where on the target's edge)."""
    for cell in cells:
        for box in cell.boxes:
            if box.kind in ("output", "test"):
                source = box_of.get(box.nodes[0])
                if source is not None:
                    cell.uses.append((source, box, 0.0))
            elif len(box.nodes) == 1:
                shown = [box_of[i] for i in box.nodes[0].inputs if not is_literal(i)]
                cell.uses += [(s, box, (k - (len(shown) - 1) / 2) * PORT_STEP) for k, s in enumerate(shown)]
            else:
                sources = dict.fromkeys(box_of[i] for n in box.nodes for i in n.inputs if not is_literal(i))
                cell.uses += [(s, box, 0.0) for s in sources if s is not box]
    home = {box: cell for cell in cells for box in cell.boxes}
    for cell in cells:
        for source, _, _ in cell.uses:
            if home[source] is not cell:
                cell.entries[source] = 0.0
                home[source].exits[source] = 0.0


def _arrange_cell(cell: Cell) -> None:
    """Find places within the cell, in coordinates of its own; its ports are boxes without a size at its edges."""
    inside = {box: len(cell.entries) + k for k, box in enumerate(cell.boxes)}
    entry = {box: k for k, box in enumerate(cell.entries)}
    exit_ = {box: len(cell.entries) + len(cell.boxes) + k for k, box in enumerate(cell.exits)}
    ports_in, ports_out = [(PORT_STEP, 0.0)] * len(entry), [(PORT_STEP, 0.0)] * len(exit_)
    sizes = [*ports_in, *[(b.width, b.height) for b in cell.boxes], *ports_out]
    arrows = [Arrow(inside[s] if s in inside else entry[s], inside[t], shift) for s, t, shift in cell.uses]
    arrows += [Arrow(inside[b], exit_[b]) for b in cell.exits]
    found = arrange(sizes, arrows, frozenset(entry.values()), frozenset(exit_.values()))
    up = cell.column == 1
    head = LABEL if cell.framed else 0.0
    need = 0.0
    if cell.framed:
        need = (len(frame_label(cell)[0]) + len(frame_label(cell)[1]) + 4) * SMALL_CHAR
    cell.width = max(found.width, need) + 2 * PAD
    cell.height = found.height + head + (0.0 if entry and exit_ else PAD)
    left = (cell.width - found.width) / 2

    def put(point: Point) -> Point:
        return left + point[0], (cell.height - point[1] if up else point[1] + head)

    for box, k in inside.items():
        box.x, box.y = put(found.centres[k])
    cell.entries = {box: put(found.centres[k])[0] for box, k in entry.items()}
    cell.exits = {box: put(found.centres[k])[0] for box, k in exit_.items()}
    near, far = (cell.height, 0.0) if up else (0.0, cell.height)
    ports = {*entry.values(), *exit_.values()}
    for arrow, path in zip(arrows, found.paths):
        points = [put(p) for p in path]  # those that start or end at a port are drawn out to the edge of the cell
        start = [(points[0][0], near)] if arrow.source in ports else []
        end = [(points[-1][0], far)] if arrow.target in ports else []
        cell.paths.append(([*start, *points, *end], arrow.target not in ports))


def frame_label(cell: Cell) -> tuple[str, str]:
    """Return `model.py:7` and the code of the line; derivatives are told by a ∂."""
    assert cell.cluster is not None
    line = cell.cluster.line
    rounds = max([len(box.members) for box in cell.boxes]) if not cell.cluster.folded else 0
    times = f" ×{rounds}" if rounds > 1 else ""
    return ("∂ " if cell.column else "") + str(line) + times, short(line.text if line else "", LABEL_LENGTH)


# ---------------------------------------------------------------------------------------------------------------
# the whole
# ---------------------------------------------------------------------------------------------------------------
def _assemble(cells: Sequence[Cell]) -> Drawing:
    home = {box: cell for cell in cells for box in cell.boxes}
    nets = []
    for cell in cells:
        for source, x in cell.exits.items():
            ends = [(c.row, c.column, c.entries[source]) for c in cells if source in c.entries]
            nets.append(Net(source, (cell.row, cell.column, x), ends))
    router = Router(nets, {(c.row, c.column): (c.width, c.height) for c in cells})
    drawing = Drawing(width=router.width, height=router.height)
    for cell in cells:
        x, y = router.corner(cell.row, cell.column)
        if cell.framed:
            assert cell.cluster is not None
            label, code = frame_label(cell)
            drawing.frames.append(
                Frame(x, y, cell.width, cell.height, label, code, cell.cluster.line, cell.column == 1)
            )
        for box in cell.boxes:
            box.x, box.y = box.x + x, box.y + y
            drawing.boxes.append(box)
        for path, head in cell.paths:
            drawing.wires.append(Wire([(px + x, py + y) for px, py in path], cell.column == 1, True, head))
    for net, points in router.wires():
        drawing.wires.append(Wire(points, home[net.source].column == 1, False))
    return drawing
