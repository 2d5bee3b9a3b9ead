"""Zeros known to be zeros: what they make vanish, and where they become arrays."""

from __future__ import annotations

import numpy as np

from tapec.autodiff.reverse import vjp_graph
from tapec.autodiff.symbolic.symbolic_zeros import Zero, is_zero
from tapec.ir import Builder, Type, input_node, prune
from tapec.ir.checks.interpreter import interpret
from tapec.ops import Symbol
from tests.autodiff.programs import graph_of


def symbols() -> tuple[Symbol, Zero, Builder]:
    builder = Builder()
    x = Symbol(input_node("x", Type((3,), float)), builder)
    return x, Zero(Type((2, 3), float), builder), builder


def test_products_and_linear_operations_vanish() -> None:
    x, zero, builder = symbols()
    for made in (zero * x, x * zero, zero / x, -zero, zero.T, np.sum(zero, axis=0), zero @ x, zero[0], np.conj(zero)):
        assert isinstance(made, Zero)
    assert not builder.nodes
    assert (zero @ x).shape == (2,) and zero.T.shape == (3, 2)


def test_sums_keep_the_other_operand() -> None:
    x, zero, builder = symbols()
    assert (x + zero).shape == (2, 3) and [n.op.name for n in builder.nodes] == ["broadcast_to"]
    difference = zero - x
    assert difference.shape == (2, 3) and {n.op.name for n in builder.nodes} == {"broadcast_to", "negative"}


def test_elsewhere_they_become_arrays() -> None:
    _, zero, builder = symbols()
    assert np.exp(zero).shape == (2, 3)
    assert [n.op.name for n in builder.nodes] == ["full", "exp"]


def test_numbers_count_too() -> None:
    _, zero, _ = symbols()
    assert is_zero(0) and is_zero(0.0) and is_zero(zero) and not is_zero(1) and not is_zero(False)


def test_a_result_that_nobody_uses_costs_nothing() -> None:
    """The gradient through the eigenvalues alone divides by no difference of eigenvalues."""
    graph = prune(vjp_graph(graph_of(lambda a: np.linalg.eigh(a)[0], (3, 3)), [0]))
    assert "divide" not in {n.op.name for n in graph.nodes}


def test_a_derivative_known_to_vanish_is_an_array_of_zeros() -> None:
    graph = vjp_graph(graph_of(lambda x: np.sign(x) * 2.0, (3,)), [0])
    (found,) = interpret(graph, np.array([-1.0, 0.0, 2.0]), np.ones(3))
    np.testing.assert_array_equal(found, np.zeros(3))
    assert {n.op.name for n in graph.nodes if n in graph.outputs} == {"full"}
