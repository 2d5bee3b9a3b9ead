"""Loops that carry the same are one; what nobody reads is dropped; constant work stands before loops."""

from __future__ import annotations

from typing import Any

import numpy as np

import tapec
from tapec.autodiff.reverse import value_and_grad_graph
from tapec.ir import Graph, Type, interpret, ops, verify
from tapec.ops import Symbol, apply
from tapec.ops.control.body_graphs import body_of
from tapec.ops.control.cond import COND
from tapec.ops.control.loop import LOOP, loop
from tapec.passes.pipeline import optimize

F0, F3, F33 = Type((), float), Type((3,), float), Type((3, 3), float)
X, ROWS, W = np.array([0.3, -1.2, 2.0]), np.arange(12.0).reshape(4, 3) * 0.1, np.arange(9.0).reshape(3, 3) * 0.1


def lean(graph: Graph, *values: Any) -> Graph:
    found = verify(optimize(verify(graph)))
    for a, b in zip(interpret(found, *values), interpret(graph, *values), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    return found


def loops(graph: Graph) -> list[Any]:
    return [n for n in graph.nodes if n.op is LOOP]


def test_the_loop_of_a_gradient_collects_in_that_of_the_value() -> None:
    cell = body_of("cell", lambda w, h, row: (np.tanh(w @ h + row),), [F33, F3, F3])
    graph = body_of(
        "f", lambda w, h, rows: (np.sum(loop((cell,), [w], [h], [rows], 4)[0]),), [F33, F3, Type((4, 3), float)]
    )
    both = value_and_grad_graph(graph, [0, 1, 2])
    assert len(loops(both)) == 3
    assert len(loops(lean(both, W, X, ROWS))) == 2


def test_loops_that_carry_other_values_stay_apart() -> None:
    plus, minus = [body_of("cell", lambda h, s=s: (h + s,), [F3]) for s in (1.0, -1.0)]
    graph = body_of("f", lambda h: (*loop((plus,), [], [h], (), 4), *loop((minus,), [], [h], (), 4)), [F3])
    assert len(loops(lean(graph, X))) == 2


def test_what_nobody_reads_is_not_carried() -> None:
    cell = body_of("cell", lambda a, x, y, z, row: (x * y, y + a, z + row, x, z), [F0, F3, F3, F3, F3])
    types = [F0, F3, F3, F3, Type((4, 3), float)]
    graph = body_of("f", lambda a, *xs: (loop((cell,), [a], xs[:3], xs[3:], 4)[0],), types)
    (node,) = loops(lean(graph, np.float64(0.5), X, X + 1, X - 1, ROWS))
    assert (node.param("carried"), len(node.inputs), len(node.type)) == (2, 3, 2)


def test_a_choice_drops_operands_and_results() -> None:
    then = body_of("then", lambda x, y, z: (np.sin(x), np.sum(z)), [F3, F3, F3])
    otherwise = body_of("otherwise", lambda x, y, z: (np.cos(x), np.sum(y)), [F3, F3, F3])
    graph = body_of(
        "f", lambda p, *xs: (apply(COND, (p > 0.0, *xs), (("bodies", (then, otherwise)),))[0],), [F0, F3, F3, F3]
    )
    found = lean(graph, np.float64(1.0), X, X, X)
    (node,) = [n for n in found.nodes if n.op is COND]
    assert (len(node.inputs), len(node.type)) == (2, 1)


def test_what_constants_give_is_computed_before_the_loop() -> None:
    cell = body_of("cell", lambda w, h: ((w.T @ w) @ h + np.linalg.eigvalsh(w + w.T),), [F33, F3])
    graph = body_of("f", lambda w, h: loop((cell,), [w], [h], (), 4), [F33, F3])
    found = lean(graph, W, X)
    (node,) = loops(found)
    assert {n.op for n in node.bodies[0].nodes} == {ops.matmul, ops.add}
    none = body_of("f", lambda w, h: loop((cell,), [w], [h], (), 0), [F33, F3])
    assert any([n.op is ops.eigvalsh for n in loops(lean(none, W, X))[0].bodies[0].nodes])


def test_a_count_that_is_a_constant_is_static() -> None:
    cell = body_of("cell", lambda h: (h * 0.5,), [F3])
    graph = body_of("f", lambda h: loop((cell,), [], [h], (), Symbol(h.builder.constant(np.int64(3)), h.builder)), [F3])
    assert loops(lean(graph, X))[0].param("count") == 3


def test_bodies_are_simplified_and_markers_read_through_even_unoptimised() -> None:
    cell = body_of("cell", lambda h: (tapec.stop_gradient(h * 1.0) + 0.0 * 1.0,), [F3])
    graph = body_of("f", lambda h: loop((cell,), [], [h], (), 3), [F3])
    assert {n.op.name for n in loops(lean(graph, X))[0].bodies[0].nodes} <= {"add", "constant"}
    with tapec.settings(optimize=False):
        found = lean(graph, X)
    assert "stop_gradient" not in {n.op.name for n in loops(found)[0].bodies[0].nodes}


def test_what_no_turn_changes_is_a_constant_or_a_number_in_the_body() -> None:
    cell = body_of("cell", lambda x, y, one: (x * one + y, y, one), [F3, F3, F0])
    graph = body_of("f", lambda x, y: (loop((cell,), [], [x, y, np.float64(1.0)], (), 4)[0],), [F3, F3])
    (node,) = loops(lean(graph, X, X + 1))
    assert (node.param("constants"), node.param("carried"), len(node.type)) == (1, 1, 1)


def test_what_no_turn_changes_is_still_given() -> None:
    cell = body_of("cell", lambda x, y: (x + y, y), [F3, F3])
    for count in (0, 4):
        graph = body_of("f", lambda x, y, n=count: (*loop((cell,), [], [x, y], (), n),), [F3, F3])
        (node,) = loops(lean(graph, X, X + 1))
        assert len(node.type) == 2
