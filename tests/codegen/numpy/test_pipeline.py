"""The passes of NumPy as a target: listed as those of all targets are, and run as these are."""

import numpy as np
import pytest

import tapec
from tapec.codegen.numpy.pipeline import PIPELINE, Program, prepare
from tapec.ir import parse
from tapec.passes.pass_report import Report
from tests.codegen.kit import graph_of
from tests.properties import call_count, has, has_loop

rng = np.random.default_rng(0)


def test_names_and_descriptions():
    names = [p.name for p in PIPELINE]
    assert names[:3] == ["bodies", "short-axes", "flat-places"] and len(set(names)) == len(names)
    assert all(p.does.endswith(".") for p in PIPELINE)
    assert [p.name for p in PIPELINE if p.is_needed] == ["paths"]


def test_a_report_has_a_line_for_each_pass():
    graph, report = graph_of(lambda x: np.sum(np.tanh(x) * x), rng.normal(size=(30, 20))), Report()
    after = prepare(graph, Program(), report)
    assert [p.name for p in report.passes] == [p.name for p in PIPELINE]
    assert [n.op.name for n in after.nodes] == ["tanh", "sum_of_products"]
    assert parse(str(after)) == after


def looped(x):
    for _ in range(60):
        x = np.tanh(x) * 0.5 + x @ x
    return np.sum(x)


def blocks(x):
    return np.tanh(x * 2.0 + 1.0) * np.exp(-x)


def scalar(x):
    return np.sin(x) * np.exp(x)


@pytest.mark.parametrize(
    ("f", "x", "is_plain"),
    [
        (looped, 0.1 * rng.normal(size=(12, 12)), lambda source: not has_loop(source)),
        (blocks, rng.normal(size=2_000_000), lambda source: not has_loop(source)),
        (scalar, np.float64(0.5), lambda source: not call_count(source, "math.sin")),
        (lambda x: np.sum(np.tanh(x) * x), rng.normal(size=500), lambda source: not has(source, "_.dot(_)")),
    ],
    ids=["loops", "blocks", "floats", "sums of products"],
)
def test_without_optimisation_code_is_plain(f, x, is_plain):
    g = tapec.compile(f)
    wanted, source = g(x), g.source(x)
    assert not is_plain(source)
    with tapec.settings(optimize=False):
        g = tapec.compile(f)
        np.testing.assert_allclose(g(x), wanted, rtol=1e-10)
        assert is_plain(g.source(x)), g.source(x)
