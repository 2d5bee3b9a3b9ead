"""Graphs drawn as text: an operation a line, a rail for each value until it is read last."""

import itertools

import numpy as np
import pytest

import tapec
from tapec.ir import is_literal, parse
from tapec.report.graph_picture.text_rails import text_rails

GRAPH = """\
graph(%x: f64[3], %w: f64[3], %unread: f64[]) {
  %0: f64[3] = multiply %x, %w
  %1: f64[3] = multiply %0, %w
  %2: f64[3] = add %x, %1
  %3: f64[] = sum %2 {axis=(0,), keepdims=False}
  %4: f64[3] = exp %0
  return %3, %4
}
"""


def gradient_graph():
    def loss(w, x):
        h = np.tanh(x @ w)
        return np.mean(h * h) + np.sum(w)

    return tapec.grad(loss).ir(np.ones(3), np.ones((4, 3)), stage="gradient")


def drawn(graph, limit=None):
    return [f"{line.rails}  {line.label}" for line in text_rails(graph, limit)]


def test_a_small_graph():
    assert drawn(parse(GRAPH)) == [
        "○  x  f64[3]",
        "│ ○  w  f64[3]",
        "├─┼─●  multiply  f64[3]",
        "│ ●─┤  multiply  f64[3]",
        "●─┘ │  add  f64[3]",
        "●   │  sum axis=0  f64[]  → output 0",
        "    ●  exp  f64[3]  → output 1",
        "○  unread  f64[]  (not read)",
    ]


def test_kinds_and_lines_of_the_user():
    lines = text_rails(gradient_graph())
    assert {line.kind for line in lines} == {"input", "forward", "derivative"}
    places = [line.place for line in lines if line.place]
    assert len(places) == len(set(places)) and any(place.startswith("∂ ") for place in places)


def test_large_graphs_have_a_box_for_each_line():
    graph = gradient_graph()
    few, many = drawn(graph, 2), drawn(graph)
    assert len(few) < len(many) and any(" operations  " in line for line in few)


@pytest.mark.parametrize("limit", [1, None])
def test_rails_lead_from_values_to_their_readers(limit):
    """Each column has at most one value, and a box reads as many rails as it has operands that are no literals."""
    graph = gradient_graph()
    lines = text_rails(graph, limit)
    for above, below in itertools.pairwise(lines):
        for k, mark in enumerate(below.rails):
            if mark in "│├┤┼└┘┴":
                assert above.rails[k : k + 1] in tuple("│├┤┼●○"), (above, below)
    if limit is None:
        boxes = {n for n in graph.nodes if not is_literal(n)}
        reads = sum([len({i for i in n.inputs if not is_literal(i)}) for n in boxes])
        joined = sum([line.rails.count(mark) for line in lines for mark in "├┤┼└┘┴"])
        last = sum([line.rails.count("●") for line in lines if line.kind != "input"])
        assert joined <= reads <= joined + last
