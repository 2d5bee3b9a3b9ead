"""Sums and products of derivatives stand in the order in which a person writes them."""

import numpy as np
import pytest

import tapec
from tapec import check_grads
from tapec.ir import interpret, parse, verify
from tapec.passes import tuning
from tapec.passes.pipeline import optimize
from tapec.passes.whole_graph.written_order import in_written_order
from tapec.testing.rewrites import ordered
from tests.passes.support import text
from tests.properties import has, operations

XY = "%x: f64[3], %y: f64[3]"


def check(body, after, inputs=XY):
    start, end = (verify(parse(text(inputs, b))) for b in (body, after))
    found = verify(in_written_order(start))
    assert ordered(found) == ordered(end)
    rng = np.random.default_rng(0)
    values = [rng.normal(size=i.type.shape) for i in start.inputs]
    for a, b in zip(interpret(found, *values), interpret(start, *values), strict=True):
        assert np.allclose(a, b, rtol=1e-14, atol=0)


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("multiply %x, 2.0 !ct", "multiply 2.0, %x !ct"),
        ("multiply %x, %y !ct; multiply %0, 2.0 !ct", "multiply 2.0, %x !ct; multiply %0, %y !ct"),
        ("divide %x, %y !ct; multiply %0, 2.0 !ct", "divide %x, %y !ct; multiply 2.0, %0 !ct"),
        ("multiply %x, %y !ct; multiply %0, 1e9 !ct", "multiply %x, %y !ct; multiply 1e9, %0 !ct"),
        ("multiply %y, -2.0 !ct; add %x, %0 !ct", "multiply 2.0, %y !ct; subtract %x, %0 !ct"),
        ("multiply %y, -2.0 !ct; subtract %x, %0 !ct", "multiply 2.0, %y !ct; add %x, %0 !ct"),
        ("multiply -1.0, %y !ct; add %x, %0 !ct", "subtract %x, %y !ct"),
        ("divide 1.0, %y !ct; multiply %x, %0 !ct", "divide %x, %y !ct"),
        ("getitem %y {index=(0,)}; multiply %x, %0 !ct", "getitem %y {index=(0,)}; multiply %0, %x !ct"),
    ],
)
def test_numbers_come_first(body, after):
    check(body, after)


@pytest.mark.parametrize(
    "body",
    [
        "multiply %x, 2.0",  # the user's
        "multiply %x, %y; multiply 2.0, %0 !ct",  # exact values of the user's
        "multiply 2.0, %x !ct",
        "divide 2.0, %y !ct; multiply %x, %0 !ct",
        "divide 1.0, %y !ct; multiply %x, %0 !ct; return %0, %1",  # another result
        "divide 1.0, %y; multiply %x, %0 !ct",  # the user's
        "add %x, %y !ct",  # of no known place
        "multiply -2.0, %y !ct; add %x, %0 !ct; sin %0 !ct; add %1, %2 !ct",  # another one reads the product
    ],
)
def test_what_is_in_order_stays(body):
    graph = parse(text(XY, body))
    assert in_written_order(graph) is graph


def test_negative_parts_are_taken_away_from_places():
    inputs = "%x: f64[3], %y: f64[2]"
    put = "scatter %0 {shape=(3,), index=(1:,)} !ct"
    check(
        f"multiply %y, -2.0 !ct; {put}; add %x, %1 !ct",
        f"multiply 2.0, %y !ct; {put}; subtract %x, %1 !ct",
        inputs,
    )


def three_uses(x, y):
    return np.sum(np.exp(x) * y + np.cos(x) * y + np.tanh(x * y))


def test_parts_come_in_the_order_of_the_program():
    x, y = np.random.default_rng(1).normal(size=(2, 5))
    graph = optimize(tapec.value_and_grad(three_uses).ir(x, y, stage="gradient"))
    first, second = graph.outputs[1].inputs, graph.outputs[1].inputs[0].inputs
    assert graph.outputs[1].op.name == "add" and graph.outputs[1].inputs[0].op.name == "subtract"
    assert "exp" in below(second[0]) and "sin" in below(second[1]) and "tanh" in below(first[1])
    check_grads(three_uses, (x, y))


def below(node):
    return {node.op.name}.union(*[below(i) for i in node.inputs])


def test_long_sums_of_large_arrays_stay(monkeypatch):
    x, y = np.random.default_rng(1).normal(size=(2, 5))
    monkeypatch.setattr(tuning, "ORDERED_MAX_ELEMENTS", 4)
    graph = optimize(tapec.value_and_grad(three_uses).ir(x, y, stage="gradient"))
    assert "tanh" in below(graph.outputs[1].inputs[0])


def whittaker(z, y):
    d = z[2:] - 2.0 * z[1:-1] + z[:-2]
    return np.sum(d**2) + np.sum((y - z) ** 2)


def test_parts_in_places_come_after_whole_ones():
    z, y = np.random.default_rng(1).normal(size=(2, 9))
    graph = optimize(tapec.value_and_grad(whittaker).ir(z, y, stage="gradient"))
    node, found = graph.outputs[1], []
    while node.op.name in ("add", "subtract"):
        found.append(node.inputs[1])
        node = node.inputs[0]
    assert node.op.name == "multiply"
    assert [str(n.param("index")) for n in found[::-1]] == [str(n.param("index")) for n in graph.nodes if is_part(n)]
    check_grads(whittaker, (z, y))


def is_part(node):
    return node.op.name == "getitem"


def standardised(x, w):
    centred = x - np.mean(x, axis=1, keepdims=True)
    return np.sum(centred / np.sqrt(np.mean(centred**2, axis=1, keepdims=True) + 1e-5) * w)


def test_a_sum_over_its_size_is_a_mean():
    x, w = np.random.default_rng(1).normal(size=(2, 6, 4))
    graph = optimize(tapec.value_and_grad(standardised).ir(x, w, stage="gradient"))
    means = [n for n in graph.nodes if n.op.name == "mean" and n.role is not None]
    assert len(means) == 2 and not [n for n in graph.nodes if n.op.name == "sum" and n.role is not None]
    check_grads(standardised, (x, w))


def test_a_sum_over_a_number_that_its_size_has_by_chance_is_none():
    x, w = np.random.default_rng(1).normal(size=(2, 6, 4))
    by_chance = lambda x, w: np.sum(np.sin(0.25 * np.sum(x * w, axis=1, keepdims=True) * x))
    graph = optimize(tapec.value_and_grad(by_chance).ir(x, w, stage="gradient"))
    assert not [n for n in graph.nodes if n.op.name == "mean"]


def test_a_small_array_is_divided_by_its_size(monkeypatch):
    x = np.linspace(-1, 1, 10)
    gradient = tapec.value_and_grad(lambda x: np.mean(np.exp(x)))
    for most, op in ((10, "divide"), (9, "multiply")):
        monkeypatch.setattr(tuning, "DIVIDED_MAX_ELEMENTS", most)
        graph = optimize(gradient.ir(x, stage="gradient"))
        assert graph.outputs[1].op.name == op
        assert np.allclose(interpret(graph, x)[1], np.exp(x) / 10, rtol=1e-15)


def test_a_choice_is_divided_by_a_size_once():
    def robust(r, delta):
        return np.mean(np.where(np.abs(r) <= delta, 0.5 * r * r, delta * (np.abs(r) - 0.5 * delta)))

    r = np.linspace(-1.0, 1.0, 1000)
    gradient = tapec.grad(robust)
    np.testing.assert_allclose(gradient(r, 0.5), np.clip(r, -0.5, 0.5) / r.size, rtol=1e-14)
    code = gradient.source(r, 0.5)
    assert has(code, "np.where(...) / len(r)") and operations(code, "/") == 1


def test_whole_numbers_are_taken_away_as_they_are():
    x, counts = np.linspace(-1.0, 1.0, 5), np.arange(5)
    gradient = tapec.grad(lambda x: np.sum(np.exp(x) - counts * x))
    np.testing.assert_allclose(gradient(x), np.exp(x) - counts, rtol=1e-14)
    assert not operations(gradient.source(x), "*")


def test_signs_of_places_whose_number_has_gone():
    """1 / y in front of a product becomes a quotient, in which no number is left to take a sign."""
    body = (
        "divide 1.0, %y !ct; multiply %0, %x !ct; scatter %1 {shape=(6,), index=(3:,)} !ct; "
        "scatter %x {shape=(6,), index=(:3,)} !ct; subtract %3, %2 !ct"
    )
    start = verify(parse(text(XY, body)))
    values = np.random.default_rng(0).normal(size=(2, 3))
    np.testing.assert_allclose(
        interpret(verify(in_written_order(start)), *values), interpret(start, *values), rtol=1e-14
    )
    x, n = np.linspace(0.1, 1.0, 6), 3

    def parts(x):
        s = np.sum(x)
        return np.sum(np.sin(x[1:] * s)) - np.sum(np.cos(2.0 * x[:n]) * x[0]) / s

    tapec.check_grads(parts, (x,), order=2)
