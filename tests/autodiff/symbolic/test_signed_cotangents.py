"""Signs and numbers of cotangents stay out of the graph until something makes use of them."""

import numpy as np
import pytest

from tapec.autodiff.reverse import value_and_grad_graph
from tapec.ir import parse, prune, verify
from tapec.ir.checks.interpreter import interpret


def gradient(body, inputs="%x: f64[3], %y: f64[3]", wrt=(0, 1)):
    lines = [f"  %{k} = {line.strip()}" for k, line in enumerate(body.split(";"))]
    text = "\n".join([f"graph({inputs}) {{", *lines, f"  return %{len(lines) - 1}", "}"])
    return verify(prune(value_and_grad_graph(parse(text), wrt)))


def derivative_ops(graph):
    return [n.op.name for n in graph.nodes if n.role is not None]


SUM = "sum %{} {{axis=(0,), keepdims=False}}"


def test_the_seed_becomes_a_factor_or_vanishes():
    assert derivative_ops(gradient("multiply %x, %y; " + SUM.format(0))) == []
    mean = gradient("sin %x; mean %0 {axis=(0,), keepdims=False}", wrt=(0,))
    assert derivative_ops(mean) == ["cos", "multiply"]
    assert mean.nodes[-2].value == 1 / 3


def test_a_seed_that_fills_the_gradient_is_an_array():
    graph = gradient("negative %x; " + SUM.format(0), wrt=(0,))
    assert derivative_ops(graph) == ["full"]
    assert graph.nodes[-1].param("value") == -1.0


def test_single_precision_has_numbers_in_their_shortest_form():
    graph = gradient("sin %x; mean %0 {axis=(0,), keepdims=False}", "%x: f32[10]", (0,))
    assert graph.outputs[1].type == graph.inputs[0].type
    assert [n.value for n in graph.nodes if n.op.name == "constant"] == [0.1]


def test_signs_become_differences():
    body = "multiply %x, %y; exp %x; subtract %0, %1; " + SUM.format(2)
    assert "negative" not in derivative_ops(gradient(body))


def test_a_sign_that_meets_no_sum_stands_at_the_end():
    body = "sin %x; subtract %y, %0; exp %1; " + SUM.format(2)
    assert derivative_ops(gradient(body, wrt=(0,)))[-1] == "negative"


def test_a_value_times_itself():
    assert derivative_ops(gradient("multiply %x, %x; " + SUM.format(0), wrt=(0,))) == ["multiply"]


@pytest.mark.parametrize(
    "body",
    [
        "subtract %x, %y; multiply %0, %x; negative %1; cos %2; " + SUM.format(3),
        "negative %x; negative %0; multiply %1, %0; exp %2; " + SUM.format(3),
        "cos %x; subtract %y, %0; multiply %1, %1; multiply %2, -3.0; subtract %x, %3; " + SUM.format(4),
        "subtract 1.0, %x; divide %y, %0; subtract %1, %x; mean %2 {axis=(0,), keepdims=False}; exp %3",
        "negative %x; reshape %0 {shape=(3, 1)}; subtract %y, %1; mean %2 {axis=(0, 1), keepdims=False}",
        "absolute %x; negative %0; maximum %1, %y; " + SUM.format(2),
        "copysign %x, %y; add %0, %y; " + SUM.format(1),
        "copysign %x, %y; subtract %y, %0; " + SUM.format(1),
    ],
)
def test_gradients(body):
    graph = gradient(body)
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 3)) + 3.0
    _, d_x, d_y = interpret(graph, x, y)
    step = 1e-6
    for k, found in ((0, d_x), (1, d_y)):
        for i in range(3):
            ends = []
            for sign in (1, -1):
                point = [x.copy(), y.copy()]
                point[k][i] += sign * step
                ends.append(interpret(graph, *point)[0])
            assert found[i] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6, abs=1e-7)


def test_numbers_fold_into_numbers():
    body = "multiply %x, 3.0; subtract %y, %0; add %1, %x; " + SUM.format(2)
    graph = gradient(body)
    assert derivative_ops(graph) == ["full", "full"]
    assert [n.param("value") for n in graph.outputs[1:]] == [-2.0, 1.0]


def test_a_number_and_an_array_add_up():
    graph = gradient("sin %x; add %0, %x; " + SUM.format(1), wrt=(0,))
    assert derivative_ops(graph) == ["cos", "add"]


@pytest.mark.parametrize("body", ["subtract %0, %1; sin %2", "subtract %1, %0; sin %2"])
def test_parts_are_taken_away_from_others(body):
    """Whichever comes first: cos is added in one place, and taken away in another."""
    graph = gradient(f"getitem %x {{index=(0,)}}; getitem %x {{index=(2,)}}; {body}", "%x: f64[3]", (0,))
    assert derivative_ops(graph) == ["cos", "scatter", "scatter", "subtract"]
    x = np.array([0.5, -1.5, 2.0])
    sign = 1.0 if body.startswith("subtract %0") else -1.0
    np.testing.assert_array_equal(interpret(graph, x)[1], np.cos(1.5) * np.array([sign, 0.0, -sign]))


def test_the_only_part_is_negated_before_it_is_put_among_zeros():
    graph = gradient("getitem %x {index=(1,)}; subtract %y, %0; sin %1", "%x: f64[3], %y: f64[]", (0,))
    assert derivative_ops(graph) == ["cos", "negative", "scatter"]
