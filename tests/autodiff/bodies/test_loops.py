"""Loops and conditions against the same programs written out turn by turn, in every transform and combination."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapec
from tapec.autodiff import tuning
from tapec.autodiff.batching import batch_graph
from tapec.autodiff.compose.inline_graph import copy_into
from tapec.autodiff.forward import jvp_graph
from tapec.autodiff.reverse import value_and_grad_graph, vjp_graph
from tapec.codegen import compile_graph
from tapec.ir import Builder, Graph, Type, input_node, interpret, parse, verify
from tapec.ir.text.printer import constant_table
from tapec.ops import Symbol
from tapec.ops.control.body_graphs import body_of
from tapec.ops.control.cond import COND
from tapec.ops.control.loop import loop
from tapec.passes.pipeline import optimize

RNG = np.random.default_rng(0)
F0, F3, F33 = Type((), float), Type((3,), float), Type((3, 3), float)
W, H, ROWS = RNG.normal(size=(3, 3)), RNG.normal(size=3), RNG.normal(size=(5, 3))

CELL = body_of(
    "cell", lambda w, h, s, row: (np.tanh(w @ h + row), s + np.sum(h * row), np.exp(-h) * s), [F33, F3, F0, F3]
)


def in_graph(function: Any, types: list[Type]) -> Graph:
    return body_of("program", function, types)


def looped(w: Any, h: Any, s: Any, rows: Any) -> Any:
    h, s, out = loop((CELL,), [w], [h, s], [rows], 5)
    return (np.sum(h * h) + s + np.sum(out * out),)


def unrolled(w: Any, h: Any, s: Any, rows: Any) -> Any:
    total = 0.0
    for k in range(5):
        given = tuple([x.node for x in (w, h, s, rows[k])])
        h, s, out = [Symbol(n, w.builder) for n in copy_into(w.builder, CELL, given)]
        total = total + np.sum(out * out)
    return (np.sum(h * h) + s + total,)


def counted(w: Any, h: Any, s: Any, rows: Any) -> Any:
    """The same number of turns, of which only the operand knows."""
    five = Symbol(w.builder.constant(np.int64(5)), w.builder)
    h, s = loop((TURN,), [w], [h, s], (), five)
    return (np.sum(h * h) + s,)


def conditional(w: Any, h: Any, s: Any, rows: Any) -> Any:
    """The same number of turns, until a condition fails."""
    zero = Symbol(w.builder.constant(np.int64(0)), w.builder)
    h, s, _ = loop((COUNTING, BELOW), [w], [h, s, zero])
    return (np.sum(h * h) + s,)


def five_turns(w: Any, h: Any, s: Any, rows: Any) -> Any:
    for _ in range(5):
        h, s = [Symbol(n, w.builder) for n in copy_into(w.builder, TURN, tuple([x.node for x in (w, h, s)]))]
    return (np.sum(h * h) + s,)


I0 = Type((), np.dtype(np.int64))
TURN = body_of("turn", lambda w, h, s: (np.tanh(w @ h) * s, s + np.sum(h)), [F33, F3, F0])
COUNTING = body_of(
    "counting", lambda w, h, s, k: (np.tanh(w @ h) * s, s + np.sum(h), k + np.int64(1)), [F33, F3, F0, I0]
)
BELOW = body_of("below", lambda w, h, s, k: (k < np.int64(5),), [F33, F3, F0, I0])

TYPES = [F33, F3, F0, Type((5, 3), float)]
GIVEN = (W, H, np.float64(0.4), ROWS)


def gradient(graph: Graph) -> Graph:
    whole = value_and_grad_graph(graph, range(len(TYPES)))
    return Graph(whole.inputs, whole.nodes, whole.outputs[1:], "gradient")


def of_gradient(graph: Graph) -> Graph:
    """A number that depends on each element of the gradient."""
    builder = Builder()
    found = [Symbol(n, builder) for n in copy_into(builder, gradient(graph), graph.inputs)]
    total = sum([np.sum(np.sin(g)) for g in found])
    return builder.graph(graph.inputs, [total.node], "of_gradient")


PROGRAMS = {
    "value": lambda g: (g, GIVEN),
    "gradient": lambda g: (gradient(g), GIVEN),
    "gradient of gradient": lambda g: (gradient(of_gradient(g)), GIVEN),
    "tangent": lambda g: (jvp_graph(g, [0, 1, 3]), (*GIVEN, W.T, H[::-1].copy(), ROWS * 0.3)),
    "tangent of one": lambda g: (jvp_graph(g, [2]), (*GIVEN, np.float64(1.0))),
    "forward over reverse": lambda g: (jvp_graph(of_gradient(g), [0]), (*GIVEN, W.T)),
    "batch": lambda g: (batch_graph(g, (False, True, False, False), 4)[0], (W, RNG_ROWS, *GIVEN[2:])),
    "batch of gradient": lambda g: (
        batch_graph(gradient(g), (True, False, False, True), 4)[0],
        (np.stack([W * k for k in range(4)]), H, GIVEN[2], np.stack([ROWS - k for k in range(4)])),
    ),
    "gradient of batch": lambda g: (gradient(summed(batch_graph(g, (False, True, True, False), 4)[0])), BATCHED),
}
RNG_ROWS = RNG.normal(size=(4, 3))
BATCHED = (W, RNG_ROWS, RNG.normal(size=4), ROWS)


def summed(graph: Graph) -> Graph:
    builder = Builder()
    (y,) = copy_into(builder, graph, graph.inputs)
    return builder.graph(graph.inputs, [np.sum(Symbol(y, builder)).node])


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    ("with_loop", "without"),
    [(looped, unrolled), (counted, five_turns), (conditional, five_turns)],
    ids=["rows", "count", "condition"],
)
def test_as_if_it_were_written_out(with_loop: Any, without: Any, name: str) -> None:
    found, values = PROGRAMS[name](in_graph(with_loop, TYPES))
    expected, _ = PROGRAMS[name](in_graph(without, TYPES))
    verify(found)
    right = interpret(expected, *values)
    same(interpret(found, *values), right)
    assert parse(str(found), constant_table(found)) == found
    lean = verify(optimize(found))
    same(interpret(lean, *values), right)
    for graph in (found, lean):
        kept = [np.copy(v) for v in values]
        same(compile_graph(graph).function(*values), right)
        same(values, kept, rtol=0.0)


def same(found: Any, expected: Any, rtol: float = 1e-9) -> None:
    for a, b in zip(found, expected, strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=0.01 * rtol)


def test_each_example_stops_by_itself() -> None:
    """Collatz steps, and halving: a batch goes on until its last example has stopped."""
    step = body_of("step", lambda x, n: (x * 0.5, n + np.int64(1)), [F0, I0])
    large = body_of("large", lambda x, n: (x > 1.0,), [F0, I0])

    def steps(x: Any) -> Any:
        zero = Symbol(x.builder.constant(np.int64(0)), x.builder)
        return loop((step, large), (), [x, zero])

    graph = in_graph(steps, [F0])
    xs = np.array([0.5, 3.0, 100.0, 1.0])
    found, count = interpret(batch_graph(graph, (True,), 4)[0], xs)
    np.testing.assert_array_equal(count, [0, 2, 7, 0])
    np.testing.assert_array_equal(found, xs * 0.5**count)
    slopes = summed(batch_graph(Graph(graph.inputs, graph.nodes, graph.outputs[:1]), (True,), 4)[0])
    (found,) = interpret(value_and_grad_graph(slopes, [0]), xs)[1:]
    np.testing.assert_array_equal(found, 0.5**count)


def test_a_branch_that_did_not_run_leaves_no_nan() -> None:
    root = body_of("root", lambda x: (np.sqrt(x),), [F0])
    zero = body_of("zero", lambda x: (x * 0.0,), [F0])

    builder = Builder()
    x = input_node("x", F0)
    node = builder.emit(COND, ((Symbol(x, builder) > 0.0).node, x), (("bodies", (root, zero)),))
    graph = builder.graph([x], builder.items(node))
    assert interpret(value_and_grad_graph(graph, [0]), np.float64(0.0))[1] == 0.0
    assert interpret(value_and_grad_graph(graph, [0]), np.float64(4.0))[1] == 0.25
    xs = np.array([0.0, 4.0, -1.0])
    batched = summed(batch_graph(graph, (True,), 3)[0])
    gradients = optimize(value_and_grad_graph(batched, [0]))
    np.testing.assert_array_equal(interpret(gradients, xs)[1], [0.0, 0.25, 0.0])


def test_nothing_is_carried_or_collected() -> None:
    """A vjp of a loop of no turns gives the cotangents as they came."""
    step = body_of("step", lambda a, y: (y * a,), [F0, F3])
    graph = in_graph(lambda a, y: loop((step,), [a], [y], (), 0), [F0, F3])
    back = vjp_graph(graph, [0, 1])
    a, y = interpret(back, np.float64(2.0), H, np.ones(3))
    assert a == 0.0
    np.testing.assert_array_equal(y, np.ones(3))


@pytest.mark.parametrize("turns", [0, 1, 4, 5, 6, 11])
def test_a_count_that_depends_on_values_is_gone_back_through_in_stretches(turns: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(tuning, "STRETCH_TURNS", 5)
    step = body_of("step", lambda a, y: (np.sin(y) * a,), [F0, F3])
    counts, given = [Type((), np.dtype(t)) for t in ("i8", "i4")], (np.float64(0.7), H)
    for count in counts:
        graph = body_of("f", lambda n, a, y: (np.sum(loop((step,), [a], [y], (), n)[0]),), [count, F0, F3])
        fixed = body_of("f", lambda a, y: (np.sum(loop((step,), [a], [y], (), turns)[0]),), [F0, F3])
        found = optimize(value_and_grad_graph(graph, [1, 2]))
        right = interpret(value_and_grad_graph(fixed, [0, 1]), *given)
        same(interpret(found, count.dtype.type(turns), *given), right)
        same(compile_graph(found).function(count.dtype.type(turns), *given), right)


@pytest.mark.parametrize(
    "step",
    [
        lambda h, t: (np.tanh(h), None),
        lambda h, t: (h + (t > 0.5), None),
        lambda h, t: (h + np.floor(t), np.sign(t)),
        lambda h, t: (h * 0.5, h),
        lambda h, t: (np.ones(3), t * t),
    ],
)
def test_rows_of_which_a_result_depends_in_no_smooth_way(step: Any) -> None:
    def scanned(h: Any, ts: Any) -> Any:
        h, ys = tapec.scan(step, h, ts)
        return np.sum(np.sin(h)) + (0.0 if ys is None else np.sum(ys * ys))

    h, ts = H, np.linspace(0.12, 1.09, 20)
    for wrt in (0, 1, (0, 1)):
        found = tapec.grad(scanned, argnums=wrt)(h, ts)
        for k, part in zip((0, 1), found, strict=True) if type(wrt) is tuple else [(wrt, found)]:
            move = [np.zeros(3), np.zeros(20)]
            move[k] = np.cos(np.arange(len(move[k])))
            ends = [scanned(h + s * 1e-6 * move[0], ts + s * 1e-6 * move[1]) for s in (1, -1)]
            np.testing.assert_allclose(np.sum(part * move[k]), (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-8)
