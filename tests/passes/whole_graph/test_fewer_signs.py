"""Signs go on through all readers of a value to where they are taken up."""

import numpy as np
import pytest

import tapec
from tapec.ir import interpret, parse, verify
from tapec.passes.pipeline import optimize
from tapec.passes.whole_graph.fewer_signs import with_fewer_signs
from tapec.testing.rewrites import ordered
from tests.passes.support import text

XY = "%x: f64[3], %y: f64[3]"


@pytest.mark.parametrize(
    ("body", "after"),
    [
        (
            "negative %x !ct; multiply %0, %y !ct; negative %1 !ct; subtract %y, %1 !ct; return %2, %3",
            "multiply %x, %y !ct; add %y, %0 !ct; return %0, %1",
        ),
        (
            "negative %x !ct; sum %0 {axis=(0,), keepdims=False} !ct; multiply 2.0, %1 !ct",
            "sum %x {axis=(0,), keepdims=False} !ct; multiply -2.0, %0 !ct",
        ),
        (
            "divide 2.0, %x !ct; reshape %0 {shape=(3, 1)} !ct; negative %1 !ct",
            "divide -2.0, %x !ct; reshape %0 {shape=(3, 1)} !ct",
        ),
        (
            "multiply 2.0, %x !ct; multiply %0, %y !ct; negative %1 !ct",
            "multiply -2.0, %x !ct; multiply %0, %y !ct",
        ),
        ("negative %x !ct; divide %0, %y !ct; add %1, %y !ct", "divide %x, %y !ct; subtract %y, %0 !ct"),
        ("negative %x !ct; subtract %0, %y !ct; negative %1 !ct", "add %x, %y !ct"),
        ("subtract %x, %y !ct; negative %0 !ct", "subtract %y, %x !ct"),
        (
            "divide -1.0, %x !ct; multiply %y, %0 !ct; multiply %1, -2.0 !ct",
            "divide 1.0, %x !ct; multiply %y, %0 !ct; multiply %1, 2.0 !ct",
        ),
        ("negative %x !ct; multiply %0, %0 !ct; add %1, %0 !ct", "multiply %x, %x !ct; subtract %0, %x !ct"),
        (
            "negative %y !ct; scatter %0 {shape=(4,), index=(1:,)} !ct; negative %1 !ct",
            "scatter %y {shape=(4,), index=(1:,)} !ct",
        ),
    ],
)
def test_signs_that_are_taken_up(body, after):
    start, end = (verify(parse(text(XY, b))) for b in (body, after))
    found = verify(with_fewer_signs(start))
    assert ordered(found) == ordered(end)
    values = np.random.default_rng(0).normal(size=(2, 3))
    for a, b in zip(interpret(found, *values), interpret(start, *values), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize(
    "body",
    [
        "negative %x; multiply %0, %y !ct; negative %1 !ct",  # the user's
        "multiply 2.0, %x; negative %0 !ct",
        "multiply 2.0, %x !ct; negative %0 !ct; return %0, %1",
        "negative %x !ct; multiply %0, %y !ct",  # a result
        "negative %x !ct; multiply %0, %y !ct; sin %1 !ct",
        "negative %x !ct; multiply %0, %y !ct; add %1, %y !ct; return %1, %2",
        "negative %x !ct; multiply %0, %y; negative %1 !ct",  # the user's reader
        "negative %x !ct; getitem %y {index=(0,)} !ct; add %0, %1 !ct; maximum %0, %2 !ct",
    ],
)
def test_signs_that_stay(body):
    graph = parse(text(XY, body))
    assert with_fewer_signs(graph) is graph


def scaled(mu, logs, x):
    t = (x[:, None, :] - mu) * np.exp(-logs)
    return np.sum(np.exp(-0.5 * np.sum(t**2, axis=2))) - np.sum(logs)


def test_a_gradient_of_two_parameters_has_no_double_sign():
    rng = np.random.default_rng(0)
    arrays = rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), rng.normal(size=(20, 3))
    graph = optimize(tapec.value_and_grad(scaled, argnums=(0, 1)).ir(*arrays, stage="gradient"))
    assert not [n for n in graph.nodes if n.op.name == "negative" and n.role is not None]
    tapec.check_grads(scaled, arrays)


def test_opposites_are_no_longer_derivatives_by_what_they_were():
    graph = parse(text(XY, "negative %x !ct; multiply %0, %y !ct; negative %1 !ct; subtract %y, %1 !ct; return %2, %3"))
    x, y = graph.inputs
    product, end = graph.nodes[1], graph.nodes[2]
    product.of, end.of, end.name = y, x, "d_x"
    found = with_fewer_signs(graph)
    (value,) = [n for n in found.nodes if n.op.name == "multiply"]
    assert value.of is x and value.name == "d_x"
    assert graph.nodes[0].inputs[0].of is None
