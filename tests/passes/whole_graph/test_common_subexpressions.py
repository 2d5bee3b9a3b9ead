"""Common subexpressions and dead code."""

import numpy as np
import pytest

from tapec.ir import CT, Graph, Node, constant, get_op, input_node, parse, prune, verify
from tapec.ir.types import Type
from tapec.passes.whole_graph.common_subexpressions import cse
from tests.passes.support import text

F3 = Type((3,), "f8")


def after(body, inputs="%x: f64[3], %y: f64[3]", run=cse):
    return verify(run(parse(text(inputs, body))))


def ops(graph):
    return [n.op.name for n in graph.nodes if n.inputs]


def test_equal_operations_become_one():
    graph = after("sin %x; sin %x; add %0, %1")
    assert ops(graph) == ["sin", "add"]
    assert graph.nodes[1].inputs == (graph.nodes[0],) * 2


def test_in_chains():
    assert ops(after("sin %x; cos %0; sin %x; cos %2; multiply %1, %3")) == ["sin", "cos", "multiply"]


def test_operands_of_commutative_ops_in_either_order():
    assert ops(after("add %x, %y; add %y, %x; divide %0, %1")) == ["add", "divide"]
    assert ops(after("sin %x; multiply %y, %0; multiply %0, %y; divide %1, %2")) == ["sin", "multiply", "divide"]
    assert ops(after("subtract %x, %y; subtract %y, %x; divide %0, %1")) == ["subtract", "subtract", "divide"]


def test_outputs_and_results_of_several_are_merged():
    graph = after("modf %x; item %0 {index=0}; modf %x; item %2 {index=0}; return %1, %3")
    assert ops(graph) == ["modf", "item"] and graph.outputs[0] is graph.outputs[1]


def test_different_parameters_types_and_numbers_stay():
    body = "sum %m {axis=(0,), keepdims=False}; sum %m {axis=(1,), keepdims=False}; add %0, %1"
    assert len(after(body, "%m: f64[3,3]").nodes) == 3
    assert ops(after("multiply %x, 2; multiply %x, 2.0; divide %0, %1")) == ["multiply", "multiply", "divide"]
    assert ops(after("multiply %x, 0.0; multiply %x, -0.0; divide %0, %1")) == ["multiply", "multiply", "divide"]


def test_constants_are_merged_by_value_and_big_ones_by_identity():
    small, big = np.arange(3.0), np.arange(3.0 * 1000).reshape(1000, 3)
    nodes = [constant(v) for v in (small, small.copy(), big, big, big.copy())]
    x = input_node("x", F3)
    sums = [Node(get_op("add"), (x, n), (), n.type) for n in nodes]
    graph = cse(Graph([x], [*nodes, *sums], sums))
    assert [graph.outputs.index(o) for o in graph.outputs] == [0, 0, 2, 2, 4]


def test_the_users_exact_value_is_kept():
    graph = after("sin %x !ct; sin %x; add %0, %1")
    assert graph.nodes[0].role is None
    graph = after("sin %x !ct; sin %x !ct; add %0, %1 !ct")
    assert [n.role for n in graph.nodes] == [CT, CT]


def test_nothing_to_merge():
    graph = parse(text("%x: f64[3]", "sin %x; cos %x; add %0, %1"))
    assert cse(graph) is graph and prune(graph) is graph


def test_dead_code():
    assert ops(after("sin %x; cos %x; tan %0; return %1", run=prune)) == ["cos"]
    assert ops(after("modf %x; item %0 {index=0}; item %0 {index=1}; return %2", run=prune)) == ["modf", "item"]
    assert after("sin %x; return %y", run=prune).nodes == ()


@pytest.mark.thorough
def test_long_graphs():
    lines = ["sin %x"] + [f"add %{k}, %{k}" for k in range(30_000)] + ["sin %x"]
    graph = after("; ".join([*lines, f"add %{len(lines) - 2}, %{len(lines) - 1}"]))
    assert len(graph.nodes) == 30_002
