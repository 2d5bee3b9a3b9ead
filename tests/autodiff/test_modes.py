"""Reverse, forward and batch against differences and against each other, on drawn programs and to order two."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tapec.autodiff.batching import batch_graph
from tapec.autodiff.forward import jvp_graph
from tapec.autodiff.reverse import value_and_grad_graph, vjp_graph
from tapec.ir import Graph
from tapec.ir.checks.interpreter import interpret
from tests.autodiff.programs import close, draw_like, everything, inner, programs, slope
from tests.selection import examples

SEEDS = st.integers(0, 2**16)


def types_of(graph: Graph) -> list[Any]:
    return [i.type for i in graph.inputs]


def check_forward(graph: Graph, seed: int, tolerance: float = 1e-6) -> None:
    """Tangents against differences along a drawn direction."""
    rng = np.random.default_rng(seed)
    values, direction = draw_like(rng, types_of(graph)), draw_like(rng, types_of(graph))
    found = interpret(jvp_graph(graph, everything(graph)), *values, *direction)
    expected = slope(graph, values, direction)
    for a, b, o in zip(found[len(expected) :], expected, graph.outputs, strict=True):
        assert a.dtype == o.type.dtype and a.shape == o.type.shape
        close(a, b, tolerance)


def check_dot(graph: Graph, seed: int) -> None:
    """<ct, J t> = <J^T ct, t> with the real inner product: reverse is the transpose of forward."""
    rng = np.random.default_rng(seed)
    values, ts = draw_like(rng, types_of(graph)), draw_like(rng, types_of(graph))
    cts = draw_like(rng, [o.type for o in graph.outputs])
    pushed = interpret(jvp_graph(graph, everything(graph)), *values, *ts)[len(cts) :]
    pulled = interpret(vjp_graph(graph, everything(graph)), *values, *cts)
    for p, i in zip(pulled, graph.inputs, strict=True):
        assert p.dtype == i.type.dtype and p.shape == i.type.shape
    a, b = inner(cts, pushed), inner(pulled, ts)
    scale = max(1.0, inner(cts, cts) ** 0.5 * inner(pushed, pushed) ** 0.5)
    assert abs(a - b) <= 1e-11 * scale


def check_batch(graph: Graph, seed: int, flags: Any) -> None:
    """The batched graph against the graph on each example."""
    rng = np.random.default_rng(seed)
    size = 3
    many = [[v for v in draw_like(rng, types_of(graph))] for _ in range(size)]
    columns = [np.stack(c) if f else c[0] for c, f in zip(zip(*many, strict=True), flags, strict=True)]
    batched, out = batch_graph(graph, flags, size)
    found = interpret(batched, *columns)
    for k in range(size):
        row = [c[k] if f else c for c, f in zip(columns, flags, strict=True)]
        for y, is_batched, expected in zip(found, out, interpret(graph, *row), strict=True):
            close(y[k] if is_batched else y, expected, 1e-12)
            assert y.dtype == expected.dtype


@given(programs(outputs=2), SEEDS)
def test_forward_is_the_limit_of_differences(graph: Graph, seed: int) -> None:
    check_forward(graph, seed)


@given(programs(outputs=2), SEEDS)
def test_reverse_is_the_transpose_of_forward(graph: Graph, seed: int) -> None:
    check_dot(graph, seed)


@given(programs(outputs=2, complex_=True), SEEDS)
def test_complex_programs_too(graph: Graph, seed: int) -> None:
    check_forward(graph, seed)
    check_dot(graph, seed)


@examples(30)
@given(programs(), SEEDS)
def test_forward_over_reverse_and_reverse_over_reverse(graph: Graph, seed: int) -> None:
    second = vjp_graph(graph, everything(graph))
    check_forward(second, seed)
    check_dot(second, seed)


@examples(30)
@given(programs(), SEEDS)
def test_reverse_over_forward_and_forward_over_forward(graph: Graph, seed: int) -> None:
    second = jvp_graph(graph, everything(graph))
    check_forward(second, seed)
    check_dot(second, seed)


@given(programs(outputs=2, kinks=True), SEEDS)
def test_kinks_have_one_derivative_in_both_modes(graph: Graph, seed: int) -> None:
    check_dot(graph, seed)


@given(programs(outputs=2, complex_=True, kinks=True), SEEDS, st.data())
def test_a_batch_is_its_examples(graph: Graph, seed: int, data: Any) -> None:
    flags = data.draw(st.lists(st.booleans(), min_size=len(graph.inputs), max_size=len(graph.inputs)))
    check_batch(graph, seed, flags)


@examples(30)
@given(programs(), SEEDS, st.data())
def test_batches_of_derivatives_and_derivatives_of_batches(graph: Graph, seed: int, data: Any) -> None:
    for derived in (vjp_graph(graph, everything(graph)), jvp_graph(graph, everything(graph))):
        flags = data.draw(st.lists(st.booleans(), min_size=len(derived.inputs), max_size=len(derived.inputs)))
        check_batch(derived, seed, flags)
    flags = [True, *[False] * (len(graph.inputs) - 1)]
    batched, _ = batch_graph(graph, flags, 3)
    check_forward(batched, seed)
    check_dot(batched, seed)


@examples(20)
@given(programs(), SEEDS)
def test_batches_of_batches(graph: Graph, seed: int) -> None:
    flags = [True, *[False] * (len(graph.inputs) - 1)]
    once, _ = batch_graph(graph, flags, 2)
    check_batch(once, seed, flags)
    check_batch(once, seed, [True] * len(flags))


@given(programs(), SEEDS)
def test_the_gradient_is_the_pullback_of_one(graph: Graph, seed: int) -> None:
    values = draw_like(np.random.default_rng(seed), types_of(graph))
    ones = np.ones(graph.outputs[0].type.shape)[()]
    joint = interpret(value_and_grad_graph(graph, everything(graph)), *values)
    pulled = interpret(vjp_graph(graph, everything(graph)), *values, ones)
    for a, b in zip(joint[len(graph.outputs) :], pulled, strict=True):
        close(a, b, 1e-13)
