"""Programs cut in two where some inputs come later."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tapec.autodiff.compose.partition import split
from tapec.autodiff.forward import jvp_graph
from tapec.ir import Graph
from tapec.ir.checks.interpreter import interpret
from tests.autodiff.programs import draw_like, graph_of, programs
from tests.selection import examples


@examples(40)
@given(programs(outputs=2, complex_=True), st.integers(0, 2**16))
def test_both_parts_together_are_the_whole(graph: Graph, seed: int) -> None:
    n, m = len(graph.inputs), len(graph.outputs)
    whole = jvp_graph(graph, range(n))
    early, late = split(whole, range(n, 2 * n), range(m, len(whole.outputs)))
    values = draw_like(np.random.default_rng(seed), [i.type for i in whole.inputs])
    first = interpret(early, *values[:n])
    found = [*first[:m], *interpret(late, *first[m:], *values[n:])]
    for a, b in zip(found, interpret(whole, *values), strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_is_known_early_is_computed_early() -> None:
    def f(x: Any, t: Any) -> Any:
        return np.exp(np.sin(x)), np.exp(np.sin(x)) * t

    early, late = split(graph_of(f, (3,), (3,)), [1], [1])
    assert [n.op.name for n in early.nodes] == ["sin", "exp"]
    assert [n.op.name for n in late.nodes] == ["multiply"]
    assert early.outputs == (early.nodes[1], early.nodes[1])


def test_what_is_made_of_nothing_is_made_again() -> None:
    early, late = split(graph_of(lambda x, t: (x, np.zeros_like(t) + 2.0 * t), (2,), (2,)), [1], [1])
    assert len(early.outputs) == 1 and late.inputs[-1].name == "x1"


def test_a_late_result_that_is_known_early() -> None:
    early, late = split(graph_of(lambda x, t: (t * 2.0, np.sin(x)), (2,), (2,)), [1], [0, 1])
    x, t = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    a, b = interpret(late, *interpret(early, x), t)
    np.testing.assert_array_equal(a, 2 * t)
    np.testing.assert_array_equal(b, np.sin(x))
