"""Pictures: what is drawn, and that it can be read."""

import itertools
import sys
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import numpy as np
import pytest

from tapec.autodiff.reverse import value_and_grad_graph
from tapec.errors import TapecError
from tapec.ir import Graph, Type, input_node
from tapec.report.graph_picture.dot import dot
from tapec.report.graph_picture.line_clusters import cut, rows
from tapec.report.graph_picture.picture_file import save_picture
from tapec.report.graph_picture.picture_layout import layout
from tapec.report.graph_picture.svg import svg
from tests.report.programs import chain_graph, gradient_graph, graph_of, loss, loss_graph

NOTHING = Graph([], [], [], "nothing")
UNUSED = Graph([input_node("x", Type((3,), float))], [], [], "unused")
_x = input_node("x", Type((3,), float))
SAME = Graph([_x], [], [_x, _x], "same")

GRAPHS = {
    "forward": loss_graph(),
    "gradient": gradient_graph(),
    "chain": chain_graph(12),
    "long": chain_graph(600),
    "nothing": NOTHING,
    "unused": UNUSED,
    "same": SAME,
    "results": graph_of(lambda x: (x + 1.0, x, np.sum(x)), x=(2, 2)),
}
LINE = loss.__code__.co_firstlineno


@pytest.fixture(params=sorted(GRAPHS))
def graph(request) -> Graph:
    return GRAPHS[request.param]


def test_svg_is_well_formed_and_always_the_same(graph):
    text = svg(graph)
    assert ET.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert svg(graph) == text


def test_boxes_do_not_overlap(graph):
    for a, b in itertools.combinations(layout(graph).boxes, 2):
        apart_x = abs(a.x - b.x) >= (a.width + b.width) / 2 - 0.01
        apart_y = abs(a.y - b.y) >= (a.height + b.height) / 2 - 0.01
        assert apart_x or apart_y, (a.title, b.title)


def test_frames_hold_their_boxes_and_do_not_overlap(graph):
    drawing = layout(graph)
    for a, b in itertools.combinations(drawing.frames, 2):
        assert a.x + a.width <= b.x or b.x + b.width <= a.x or a.y + a.height <= b.y or b.y + b.height <= a.y
    for box in drawing.boxes:
        if box.line is not None:
            around = [f for f in drawing.frames if holds(f, box)]
            assert [f.line for f in around] == [box.line]


def holds(f, box) -> bool:
    left, right = box.x - box.width / 2, box.x + box.width / 2
    high, low = box.y - box.height / 2, box.y + box.height / 2
    return f.x <= left and right <= f.x + f.width and f.y <= high and low <= f.y + f.height


def test_wires_between_cells_cross_no_frame(graph):
    drawing = layout(graph)
    for wire in drawing.wires:
        if not wire.curved:
            for (x, y), (x2, y2) in itertools.pairwise(wire.points):
                for f in drawing.frames:
                    outside_x = max(x, x2) <= f.x + 0.01 or min(x, x2) >= f.x + f.width - 0.01
                    outside_y = max(y, y2) <= f.y + 0.01 or min(y, y2) >= f.y + f.height - 0.01
                    assert outside_x or outside_y


def test_wires_of_different_values_share_no_track(graph):
    drawing = layout(graph)
    taken: dict[tuple[str, float], list] = {}
    for wire in drawing.wires:
        if not wire.curved:
            for (x, y), (x2, y2) in itertools.pairwise(wire.points):
                if abs(y - y2) < 0.01 < abs(x - x2):
                    span = (min(x, x2), max(x, x2), wire.points[0])
                    for low, high, start in taken.setdefault(("y", round(y, 2)), []):
                        assert start == wire.points[0] or span[1] < low or high < span[0]
                    taken["y", round(y, 2)].append(span)


def test_everything_lies_on_the_canvas(graph):
    drawing = layout(graph)
    points = [p for wire in drawing.wires for p in wire.points]
    points += [(b.x + side * b.width / 2, b.y) for b in drawing.boxes for side in (-1, 1)]
    assert all(0 <= x <= drawing.width and 0 <= y <= drawing.height for x, y in points)


def test_forward_goes_down_on_the_left_and_derivatives_up_on_the_right():
    drawing = layout(gradient_graph())
    forward = [b for b in drawing.boxes if b.kind == "forward"]
    derivative = [b for b in drawing.boxes if b.kind == "derivative"]
    assert max(b.x + b.width / 2 for b in forward) < min(b.x - b.width / 2 for b in derivative)
    lines = {f.line.number: f for f in drawing.frames if not f.derivative}
    assert sorted(lines) == sorted(lines, key=lambda line: lines[line].y) == [LINE + k for k in range(1, 6)]
    y = {b.nodes[0]: b.y for b in drawing.boxes if b.nodes and b.kind in ("forward", "derivative")}
    for node in gradient_graph().nodes:
        assert all((y[i] < y[node]) == (node.role is None) for i in node.inputs if i in y and node in y)


def test_a_line_and_its_derivative_stand_side_by_side():
    table = rows(gradient_graph())
    pairs = [row for row in table if row.forward and row.backward]
    assert len(pairs) == 4
    assert all(row.forward.line == row.backward.line for row in pairs)
    alone = [row.forward.line.number for row in table if row.backward is None]
    assert alone == [LINE + 3]  # a difference hands its cotangent on as it is


def test_labels_tell_line_and_code():
    drawing = layout(loss_graph())
    assert next((f.label, f.code) for f in drawing.frames) == (f"programs.py:{LINE + 1}", "h = np.tanh(x @ w1)")
    assert ("matmul", "f64[32,8]") in [(b.title, b.subtitle) for b in drawing.boxes]
    assert "multiply · 0.1" in [b.title for b in drawing.boxes]


def test_clusters_can_run_in_their_order(graph):
    done = set(graph.inputs)
    for cluster in cut([n for n in graph.nodes if n.inputs], graph):
        for node in cluster.nodes:
            assert all(i in done or not i.inputs for i in node.inputs)
            done.add(node)
    assert done >= {n for n in graph.nodes if n.inputs}


def test_a_large_graph_has_one_box_for_a_line():
    def waves(x):
        for f in [np.sin, np.cos] * 299:
            x = f(x)
        return np.sum(x)

    boxes = [b for b in layout(graph_of(waves, x=(3,)), limit=0).boxes if b.kind == "forward"]
    assert [(b.title, b.subtitle) for b in boxes] == [
        ("598 operations", "sin × 299, cos × 299"),
        ("1 operation", "sum"),
    ]


def test_what_a_loop_did_is_one_box_with_a_count():
    boxes = [b for b in layout(chain_graph(600)).boxes if b.kind == "forward"]
    assert [(b.title, b.subtitle, b.carried) for b in boxes] == [
        ("sin ×600", "f64[3]", True),  # reads what the round before has left
        ("add · 1 ×600", "f64[3]", False),
        ("sum axis=0", "f64[]", False),
    ]
    assert [len(b.members) for b in boxes] == [600, 600, 0]
    assert [f.label.split()[-1] for f in layout(chain_graph(600)).frames][:2] == ["×600", "×600"]
    assert svg(chain_graph(600)).count('class="behind"') == 2


def test_a_short_program_is_drawn_whole():
    assert not any(b.members for b in layout(chain_graph(12)).boxes)


def test_a_loop_and_its_derivative_are_folded_alike():
    forward = chain_graph(40)
    drawing = layout(value_and_grad_graph(forward, [0]))
    counts = {b.title: b.kind for b in drawing.boxes if b.members}
    assert {"sin ×40", "cos ×40"} <= set(counts) and counts["cos ×40"] == "derivative"
    assert len(drawing.boxes) < 20


def test_dot_names_every_node_once_and_only_known_ones():
    text = dot(gradient_graph())
    declared = [line.split()[0] for line in text.splitlines() if "[label" in line]
    used = {w for line in text.splitlines() if "->" in line for w in line.replace("->", "").split()}
    assert len(declared) == len(set(declared)) and used <= set(declared)
    assert text.count("subgraph") == 9  # five lines, and the derivatives of four
    assert text.startswith('digraph "loss" {') and text.endswith("}\n")
    assert text.count("{") == text.count("}")


def test_dot_folds_what_a_loop_did():
    text = dot(chain_graph(600))
    assert 'label="sin ×600\\nf64[3]"' in text and text.count("[label") == 5


def test_files_by_their_ending(tmp_path, monkeypatch):
    graph = loss_graph()
    save_picture(graph, tmp_path / "g.svg")
    save_picture(graph, str(tmp_path / "g.dot"))
    assert (tmp_path / "g.svg").read_text() == svg(graph)
    assert (tmp_path / "g.dot").read_text() == dot(graph)
    with pytest.raises(TapecError, match=r"g\.txt: a picture is a file that ends in \.svg, \.dot, \.png or \.pdf"):
        save_picture(graph, tmp_path / "g.txt")


def test_png_without_a_converter_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(TapecError, match=r"needs CairoSVG .* or Graphviz .*tapec\[graphviz\].* A \.svg needs nothing"):
        save_picture(loss_graph(), tmp_path / "g.png")
    assert not (tmp_path / "g.png").exists()


def test_png_through_a_converter(tmp_path, monkeypatch):
    stub = SimpleNamespace(svg2png=lambda data: b"PNG" + data[:4])
    monkeypatch.setitem(sys.modules, "cairosvg", stub)
    save_picture(loss_graph(), tmp_path / "g.png")
    assert (tmp_path / "g.png").read_bytes() == b"PNG<svg"


def test_labels_lie_over_their_halo():
    """Readers that know no `paint-order` would draw an outline over the letters."""
    text = svg(gradient_graph())
    assert "paint-order" not in text
    halos, labels = text.count('class="halo"'), text.count('class="label"')
    assert halos == labels > 0
    assert all("stroke" not in part.split("}")[0] for part in text.split(".tp .label {")[1:])
