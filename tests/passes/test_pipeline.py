"""The pipeline: its passes by name, its report, and the graphs that whole gradients become."""

import numpy as np
import pytest

import tapec
from tapec.autodiff.reverse import value_and_grad_graph
from tapec.errors import VerifyError
from tapec.ir import Builder, Graph, Node, input_node, interpret, parse
from tapec.ir.types import Type
from tapec.ops import Symbol
from tapec.passes import pipeline
from tapec.passes.listed_pass import Pass
from tapec.passes.pass_report import Report
from tapec.passes.pipeline import PIPELINE, optimize, run_passes
from tests.passes.support import text

NAMES = ["transparent", "dce", "cse", "bodies", "masks", "guards", "fold", "layout", "factors", "stability"]
NAMES += [
    "systems",
    "inverses",
    "triangles",
    "sums",
    "algebra",
    "chains",
    "rows",
    "multiples",
    "ends",
    "cleared",
    "batched",
    "order",
]


def gradient(f, *shapes, wrt=(0,)):
    """The value of f and its gradients, as differentiation leaves them."""
    builder = Builder()
    inputs = [input_node("wxyz"[k], Type(shape, "f8")) for k, shape in enumerate(shapes)]
    out = f(*[Symbol(i, builder) for i in inputs])
    return value_and_grad_graph(builder.graph(inputs, [out.node], "f"), list(wrt))


def ops(graph):
    return [n.op.name for n in graph.nodes if n.inputs]


def test_names_and_descriptions():
    assert [p.name for p in PIPELINE] == NAMES
    assert all(p.does for p in PIPELINE)


def test_passes_by_name():
    graph = parse(text("%x: f64[3]", "multiply %x, 1.0; add %0, %0; sin %x; return %1"))
    assert ops(run_passes(graph, [])) == ["multiply", "add", "sin"]
    assert ops(run_passes(graph, ["dce"])) == ["multiply", "add"]
    assert ops(run_passes(graph, ["dce", "algebra"])) == ["multiply"]
    with pytest.raises(KeyError):
        run_passes(graph, ["dec"])


def test_bounds_whose_derivative_is_one_are_a_clip():
    graph = parse(text("%x: f64[3]", "sin %x; capped %0, -inf, 0.0; exp %1; return %2, %1"))
    assert run_passes(graph, ["transparent"]) == parse(
        text("%x: f64[3]", "sin %x; clip %0, -inf, 0.0; exp %1; return %2, %1")
    )


def test_report():
    graph = parse(text("%x: f64[3]", "multiply %x, 1.0; sin %0; divide %x, 1.0; cos %2; add %1, %3; tan %x; return %4"))
    report = Report(keep=True)
    result = optimize(graph, report)
    assert [p.name for p in report.passes] == NAMES
    assert (report.passes[1].before, report.passes[1].after) == (len(graph.nodes), len(graph.nodes) - 1)
    assert report.passes[-1].after == len(result.nodes) == 3
    assert report.hits == {"times-one": 1, "over-one": 1}
    assert [(r.rule, r.before.op.name) for p in report.passes for r in p.rewrites] == [
        ("times-one", "multiply"),
        ("over-one", "divide"),
    ]
    assert all(p.seconds >= 0 for p in report.passes)
    lines = str(report).splitlines()
    assert len(lines) == len(NAMES)
    assert lines[NAMES.index("algebra")].endswith("times-one 1, over-one 1")


def test_a_report_keeps_no_nodes_unless_asked():
    report = Report()
    optimize(parse(text("%x: f64[3]", "multiply %x, 1.0")), report)
    assert report.hits == {"times-one": 1}
    assert not any(p.rewrites for p in report.passes)


def test_each_pass_is_verified_when_asked(monkeypatch):
    def broken(graph):
        bad = Node(graph.nodes[0].op, (), (), graph.nodes[0].type)
        return Graph(graph.inputs, [bad], [bad])

    monkeypatch.setattr(pipeline, "PIPELINE", (Pass("broken", broken),))
    graph = parse(text("%x: f64[3]", "sin %x"))
    with tapec.settings(verify=False):
        optimize(graph)
    with tapec.settings(verify=True), pytest.raises(VerifyError):
        optimize(graph)


# ---------------------------------------------------------------------------------------------------------------
# whole gradients
# ---------------------------------------------------------------------------------------------------------------
def assert_same_results(before, after, rng):
    values = [rng.uniform(0.5, 2.0, i.type.shape) for i in before.inputs]
    for x, y in zip(interpret(before, *values), interpret(after, *values), strict=True):
        assert np.allclose(x, y, rtol=1e-13, atol=1e-13)


def test_the_example_of_the_design(rng):
    graph = gradient(lambda w, x, y: np.mean((np.tanh(x @ w) - y) ** 2), (5, 3), (10, 5), (10, 3))
    lean = optimize(graph)
    assert ops(lean) == (
        ["matmul", "tanh", "subtract", "multiply", "mean"]
        + ["multiply", "subtract", "multiply", "multiply", "transpose", "matmul"]
    )
    assert_same_results(graph, lean, rng)


def test_rosenbrock(rng):
    graph = gradient(lambda w: np.sum(100.0 * (w[1:] - w[:-1] ** 2) ** 2 + (1 - w[:-1]) ** 2), (10,))
    lean = optimize(graph)
    assert not {"full", "broadcast_to", "power", "log", "negative"} & set(ops(lean))
    assert_same_results(graph, lean, rng)


def test_no_ones_are_built_for_a_sum(rng):
    graph = gradient(lambda w, x: np.sum(x @ w), (5, 3), (10, 5))
    lean = optimize(graph)
    assert ops(lean).count("matmul") == 1
    assert_same_results(graph, lean, rng)


def test_a_bias_is_never_spread_out(rng):
    graph = gradient(lambda b, x: np.sum(np.exp(x + b)), (3,), (10, 3))
    lean = optimize(graph)
    assert ops(lean) == ["add", "exp", "sum", "sum"]
    assert_same_results(graph, lean, rng)


def unit_rows(w):
    """Rows of length one; a row of zeros stays one."""
    rows = np.reshape(w, (1, 3))
    length = np.sqrt(np.sum(rows * rows, axis=1, keepdims=True))
    return np.where(length > 0, rows / length, 0.0)


@pytest.mark.parametrize(
    ("f", "at", "expected"),
    [
        (lambda w: np.sum(np.where(w > 0, np.log(w), 0.0)), [0.0, 2.0, -1.0], [0.0, 0.5, 0.0]),
        (lambda w: np.sum(np.where(w > 0, 1 / w, w)), [0.0, 2.0, -1.0], [1.0, -0.25, 1.0]),
        (lambda w: np.sum(np.where(w > 0, np.sqrt(w), 0.0) * 3), [0.0, 4.0, -1.0], [0.0, 0.75, 0.0]),
        (lambda w: np.sum(np.where(w < 0, 0.0, w**0.5)[::-1]), [-1.0, 4.0, 1.0], [0.0, 0.25, 0.5]),
        (lambda w: np.sum(np.reshape(np.where(w > 0, np.log(w), 0.0), (3, 1)) * 2), [0.0, 2.0, -1.0], [0.0, 1.0, 0.0]),
        (lambda w: np.sum(unit_rows(w)), [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        (lambda w: np.sum(unit_rows(w) * [1.0, 2.0, 3.0]), [0.0, 4.0, 0.0], [0.25, 0.0, 0.75]),
    ],
)
def test_the_branch_not_taken_does_not_leak(f, at, expected):
    graph = gradient(f, (3,))
    (_, found) = interpret(optimize(graph), np.array(at))
    assert np.allclose(found, expected, rtol=1e-14)


def test_second_derivatives_stay_right(rng):
    builder = Builder()
    w = input_node("w", Type((4,), "f8"))
    s = Symbol(w, builder)
    inner = builder.graph([w], [np.sum(np.exp(s) * s**3 / (1 + s * s)).node], "f")
    first = value_and_grad_graph(inner, [0])
    builder = Builder()
    total = Graph(first.inputs, first.nodes, first.outputs[1:])
    builder.nodes.extend(total.nodes)
    norm = np.sum(Symbol(total.outputs[0], builder) ** 2)
    graph = value_and_grad_graph(builder.graph([w], [norm.node], "g"), [0])
    assert_same_results(graph, optimize(graph), rng)


def test_optimising_again_changes_nothing():
    graph = optimize(gradient(lambda w, x, y: np.mean((np.tanh(x @ w) - y) ** 2), (5, 3), (10, 5), (10, 3)))
    assert optimize(graph) == graph


@pytest.mark.thorough
def test_long_programs():
    def f(w):
        x = w
        for _ in range(2000):
            x = x + 0.01 * np.sin(x) * w - 0.5 * x**2 / (1.0 + np.exp(-x))
        return np.sum(x)

    graph = gradient(f, (3,))
    lean = optimize(graph)
    assert len(lean.nodes) < 0.76 * len(graph.nodes)  # that exponentials are held to numbers stays


def test_a_negative_zero_is_no_zero():
    zeros = tapec.compile(lambda x: (np.full_like(x, -0.0), np.full_like(x, 0.0)))
    assert [np.signbit(z).tolist() for z in zeros(np.ones(2))] == [[True, True], [False, False]]


def test_without_optimising_only_what_gradients_need_is_done():
    graph = parse(text("%x: f64[3]", "greater %x, 0; where %0, %x, 0.0 !ct; divide %1, %x !ct; multiply %2, 1.0 !ct"))
    report = Report()
    with tapec.settings(optimize=False):
        lean = optimize(graph, report)
    assert [p.name for p in report.passes] == ["transparent", "dce", "bodies", "masks", "guards"]
    assert [n.op.name for n in lean.nodes][-1] == "where"  # the selection went outwards
    assert "multiply" in [n.op.name for n in lean.nodes]
