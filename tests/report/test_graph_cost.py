"""Costs against counts by hand, and units."""

from itertools import pairwise

import numpy as np
import pytest

from tapec.ir import Graph, prune
from tapec.report.graph_cost import cost_of, flops
from tapec.report.pass_stages import graph_diff, stages
from tapec.report.units import bytes_text, count_text, time_text
from tests.report.programs import gradient_graph, graph_of, loss_graph


def last(f, **shapes):
    return graph_of(f, **shapes).outputs[0]


@pytest.mark.parametrize(
    ("f", "shapes", "count"),
    [
        (lambda a, b: a @ b, {"a": (3, 4), "b": (4, 5)}, 2 * 3 * 4 * 5),
        (lambda a, b: a @ b, {"a": (7, 3, 4), "b": (4,)}, 2 * 7 * 3 * 4),
        (lambda a: np.sin(a), {"a": (3, 4)}, 12),
        (lambda a: np.sum(a), {"a": (3, 4)}, 12),
        (lambda a: a.T, {"a": (3, 4)}, 0),
    ],
)
def test_flops(f, shapes, count):
    assert flops(last(f, **shapes)) == count


def test_bytes_and_peak():
    graph = graph_of(lambda x: np.sum(np.sin(np.sin(x))), x=(100,))
    cost = cost_of(graph)
    assert cost.nodes == 3
    assert cost.bytes == 4 * 800 + 800 + 8  # in, out, in, out; then the sum
    assert cost.peak == 1600  # two results alive at a time
    assert cost_of(Graph([], [], [])) == (0, 0, 0, 0)


def test_views_move_nothing():
    assert cost_of(graph_of(lambda x: x.T, x=(30, 40))).bytes == 0


def test_stages_start_with_the_program_and_end_where_the_pipeline_does():
    from tapec.passes.pipeline import PIPELINE, optimize

    found = list(stages(loss_graph(), gradient_graph()))
    assert [s.name for s in found] == ["forward", "gradient", *[p.name for p in PIPELINE]]
    assert found[-1].graph == optimize(gradient_graph())
    assert all(s.changed == (s.graph != before.graph) for before, s in pairwise(found[1:]))


def test_diff_shows_lines_that_differ():
    a = graph_of(lambda x: np.sin(x) * 2.0, x=(3,))
    b = graph_of(lambda x: np.cos(x) * 2.0, x=(3,))
    changed = [line for line in graph_diff(a, b).splitlines() if line[0] in "+-"]
    assert changed == [
        "-  %0: f64[3] = sin %x",
        "-  %1: f64[3] = multiply %0, 2.0",
        "-  return %1",
        "+  %2: f64[3] = cos %x",
        "+  %3: f64[3] = multiply %2, 2.0",
        "+  return %3",
    ]
    assert graph_diff(a, a) == ""


def test_a_value_keeps_its_number_in_a_diff():
    a = graph_of(lambda x: (np.sum(np.sin(x)), np.exp(np.cos(x)))[1] + 1.0, x=(3,))
    b = prune(a)
    changed = [line for line in graph_diff(a, b).splitlines() if line[0] in "+-"]
    assert changed == ["-  %0: f64[3] = sin %x", "-  %1: f64[] = sum %0 {axis=(0,), keepdims=False}"]


def test_units():
    assert [time_text(t) for t in (2.0, 0.0999, 1.234e-5, 5e-8)] == ["2.00 s", "99.9 ms", "12.3 µs", "50.0 ns"]
    assert [bytes_text(n) for n in (0, 999, 1000, 12_345_678, 5e9, 5e13)] == [
        "0 B",
        "999 B",
        "1.00 kB",
        "12.3 MB",
        "5.00 GB",
        "50000 GB",
    ]
    assert count_text(1234567) == "1\u00a0234\u00a0567"
