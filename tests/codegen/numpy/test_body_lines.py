"""Ops with bodies as an expert would write them, and results that share no memory."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

import tapec
from tapec.codegen import compile_graph
from tapec.ir import Graph, Type, interpret
from tapec.ops import apply
from tapec.ops.control.body_graphs import body_of
from tapec.ops.control.cond import COND, REGION
from tapec.ops.control.loop import loop
from tapec.ops.control.select_and_call import CALL
from tests.properties import calls, has, has_loop, loops, nodes, statements, text

F0, F3, F33 = Type((), float), Type((3,), float), Type((3, 3), float)
X, ROWS, W = np.array([0.3, -1.2, 2.0]), np.arange(12.0).reshape(4, 3), np.arange(9.0).reshape(3, 3)


def lines(graph: Graph) -> list[str]:
    return compile_graph(graph, "f", target="numpy").source.splitlines()[1:]


def right(graph: Graph, *values: Any) -> None:
    """Generated code and the interpreter agree; results share memory neither with each other nor with the inputs."""
    kept = [np.copy(v) for v in values]
    for target in (None, "numpy"):
        found = compile_graph(graph, "f", target=target).function(*values)
        for a, b in zip(found, interpret(graph, *values), strict=True):
            assert type(a) is type(b) or not np.shape(a)
            np.testing.assert_allclose(a, b, rtol=1e-14 if target is None else 0)  # `math` rounds tanh otherwise
    arrays = [a for a in (*found, *values) if isinstance(a, np.ndarray)]
    assert not any(np.shares_memory(a, b) for k, a in enumerate(arrays) for b in arrays[:k])
    for a, b in zip(values, kept, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_loop_over_rows() -> None:
    cell = body_of("cell", lambda w, h, row: (np.tanh(w @ h + row), h), [F33, F3, F3])
    graph = body_of("f", lambda w, h, rows: loop((cell,), [w], [h], [rows], 4), [F33, F3, Type((4, 3), float)])
    assert lines(graph) == [
        "def f(x0, x1, x2):",
        "    state = x1",
        "    x1s = np.empty((len(x2), *x1.shape))",
        "    for k, x2_k in enumerate(x2):",
        "        x1s[k] = state",
        "        state = np.tanh(x0 @ state + x2_k)",
        "    return state, x1s",
    ]
    right(graph, W, X, ROWS)


def test_a_loop_with_a_condition() -> None:
    halve = body_of("halve", lambda a, x: (x * a,), [F0, F3])
    large = body_of("large", lambda a, x: (np.sum(x * x) > a,), [F0, F3])
    graph = body_of("f", lambda a, x: loop((halve, large), [a], [x]), [F0, F3])
    assert lines(graph) == [
        "def f(x0, x1):",
        "    state = x1.copy()",
        "    while state.dot(state) > x0:",
        "        state = state * x0",
        "    return state,",
    ]
    right(graph, np.float64(0.5), X)
    right(graph, np.float64(100.0), X)


def test_a_condition_of_several_lines() -> None:
    large = body_of("large", lambda x: ((s := np.sum(x)) * s > np.sin(s) + 0.1,), [F3])
    halve = body_of("halve", lambda x: (x * 0.5,), [F3])
    graph = body_of("f", lambda x: loop((halve, large), [], [x]), [F3])
    assert has_loop(compile_graph(graph)) and nodes(compile_graph(graph), ast.Break)
    right(graph, X)


def test_a_choice() -> None:
    then = body_of("then", lambda x, a: (np.sin(x) * a, x), [F3, F0])
    otherwise = body_of("otherwise", lambda x, a: (x, np.exp(x)), [F3, F0])

    def chosen(x: Any, a: Any) -> Any:
        return apply(COND, (a > 0.0, x, a), (("bodies", (then, otherwise)),))

    graph = body_of("f", chosen, [F3, F0])
    assert lines(graph) == [
        "def f(x0, x1):",
        "    x1_pos = x1 > 0.0",
        "    if x1_pos:",
        "        result = np.sin(x0) * x1",
        "        other = x0.copy()",
        "    else:",
        "        result = x0.copy()",
        "        other = np.exp(x0)",
        "    return result, other",
    ]
    right(graph, X, np.float64(1.0))
    right(graph, X, np.float64(-1.0))


@pytest.mark.parametrize("op", [REGION, CALL], ids=["region", "call"])
def test_one_body_stands_inline(op: Any) -> None:
    body = body_of("body", lambda x, y: (np.sum(x * y), x - y, x), [F3, F3])
    graph = body_of("f", lambda x, y: apply(op, (x, y + 1.0), (("bodies", (body,)),)), [F3, F3])
    assert not has_loop(compile_graph(graph))
    right(graph, X, X[::-1].copy())


@pytest.mark.parametrize("count", [0, 1, 3])
def test_values_that_change_places_or_stay(count: int) -> None:
    body = body_of("body", lambda w, a, b, c, d, row: (b, a, c, a * 2.0, w, row), [F3] * 6)
    body = Graph(body.inputs, body.nodes, [*body.outputs[:3], body.outputs[4], *body.outputs[5:]], "body")
    types = [*[F3] * 5, Type((count, 3), float)]
    graph = body_of("f", lambda w, a, b, c, d, rows: loop((body,), [w], [a, b, c, d], [rows], count), types)
    values = [X + k for k in range(5)]
    right(graph, *values, ROWS[:count])
    busy = body_of("f", lambda *xs: tuple([y * 2.0 for y in loop((body,), xs[:1], xs[1:5], xs[5:], count)]), types)
    right(busy, *values, ROWS[:count])


def test_a_loop_in_a_choice_in_a_loop_and_constants() -> None:
    weights = np.linspace(0.0, 1.0, 3)
    inner = body_of("inner", lambda x: (x * weights + 1.0,), [F3])
    then = body_of("then", lambda x: (loop((inner,), [], [x], (), 3)[0],), [F3])
    otherwise = body_of("otherwise", lambda x: (x - weights,), [F3])

    def turn(x: Any) -> Any:
        return apply(COND, (np.sum(x) > 1.0, x), (("bodies", (then, otherwise)),))

    outer = body_of("outer", turn, [F3])
    graph = body_of("f", lambda x: loop((outer,), [], [x], (), 4), [F3])
    right(graph, X)
    right(graph, -X)


def test_nan_is_found_inside() -> None:
    body = body_of("body", lambda x: (np.log(x),), [F3])
    graph = body_of("f", lambda x: loop((body,), [], [x], (), 2), [F3])
    with (
        tapec.settings(check_nan=True),
        np.errstate(all="ignore"),
        pytest.raises(FloatingPointError, match="log_x0 is nan"),
    ):
        compile_graph(graph).function(X)


def layers(w1: Any, w2: Any, rows: Any) -> Any:
    """Two recurrent layers: the second goes through what the first has collected."""

    def step(w: Any) -> Any:
        def turn(h: Any, x: Any) -> Any:
            h = np.tanh(x @ w + h @ w.T)
            return h, h

        return turn

    _, hs = tapec.scan(step(w1), np.zeros((4, 9)), rows)
    last, outputs = tapec.scan(step(w2), np.zeros((4, 9)), hs)
    return np.sum(last * last) + np.sum(np.sin(outputs))


def test_what_a_loop_backwards_collects_is_read_by_the_next_one() -> None:
    rng = np.random.default_rng(0)
    given = [0.3 * rng.normal(size=shape) for shape in ((9, 9), (9, 9), (6, 4, 9))]
    slopes = tapec.grad(layers, argnums=(0, 1, 2))(*given)
    for k, slope in enumerate(slopes):
        moved = [rng.normal(size=x.shape) * (j == k) for j, x in enumerate(given)]
        ends = [layers(*[x + s * 1e-6 * m for x, m in zip(given, moved)]) for s in (1, -1)]
        np.testing.assert_allclose(np.sum(slope * moved[k]), (ends[0] - ends[1]) / 2e-6, rtol=1e-7)


def test_rows_are_read_from_the_last_on_and_no_array_is_turned() -> None:
    source = tapec.grad(layers, argnums=(0, 1)).source(np.ones((9, 9)), np.ones((9, 9)), np.ones((6, 4, 9)))
    assert calls(source, "reversed")


def test_a_loop_forwards_counts_up() -> None:
    """What it collects is read from the last on, but its own rounds go forwards."""

    def f(u: Any, k: Any) -> Any:
        for _ in range(20):
            u = u + k * np.roll(np.sin(u), 1, axis=0)
        return np.sum(u * u)

    source = tapec.grad(f, argnums=(0, 1)).source(np.ones((40, 40)), 0.1)
    first, *_ = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.For)]
    assert not calls(ast.unparse(first.iter), "reversed")


def test_lists_keep_what_each_turn_made() -> None:
    """What is collected for the loop backwards is written over by nothing, not even where a value could be."""

    def f(u: Any, k: Any) -> Any:
        for _ in range(20):
            s = np.exp(-u * k)
            s = s / np.sum(s)
            u = np.sin(u + s * np.cos(s)) * k
        return np.sum(u * u)

    def g(u: Any, k: Any) -> Any:
        total = 0.0
        for _ in range(20):
            v = np.sin(u)
            u[1:-1] += k * v[2:] * u[:-2]
            u[0] = u[0] * np.cos(u[-1])
            total = total + np.sum(v * u)
        return total

    def before_each_turn(u: Any, k: Any) -> Any:
        first = u * k
        h, hs = first, []
        for _ in range(20):
            hs.append(h)
            h = np.tanh(k * h + 0.1 * np.cos(h))
        first = np.exp(first + 1.0)
        return sum([np.sum(h * h) for h in hs]) + np.sum(first)

    u = np.random.default_rng(0).normal(size=30)
    for program in (f, g, before_each_turn):
        slopes = tapec.grad(lambda u, k, program=program: program(u.copy(), k), argnums=(0, 1))(u, 0.3)
        move = np.cos(np.arange(30))
        ends = [program(u + s * 1e-6 * move, 0.3 + s * 1e-6) for s in (1, -1)]
        np.testing.assert_allclose(slopes[0] @ move + slopes[1], (ends[0] - ends[1]) / 2e-6, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_sum_of_numbers_begins_with_one_and_stays_of_its_type(dtype: Any) -> None:
    def f(u: Any, k: Any) -> Any:
        for _ in range(20):
            u = u + k * np.sin(u[:, ::-1])
        return np.sum(u * u)

    derivative = tapec.grad(f, argnums=(0, 1))
    given = np.ones((30, 40), dtype), dtype(0.1)
    source = derivative.source(*given)
    assert type(derivative(*given)[1]) is dtype
    assert has(source, "d_k = 0.0") is (dtype is np.float64) and not has(source, "_ = d_k")


def test_the_value_stands_before_the_loop_of_its_derivative():
    """So what it is made of has one name, and need not last until after that loop."""

    def loss(x, W):
        h = np.zeros(len(W))
        for row in x:
            h = np.tanh(W @ h + row)
        return h @ h

    x, W = np.ones((12, 64)), np.eye(64)
    source = tapec.value_and_grad(loss, argnums=1).source(x, W)
    _, backwards = loops(source)
    (last,) = nodes(source, ast.Return)
    assert type(last.value.elts[0]) is ast.Name  # the value has a line
    lines = [s for s in statements(source) if type(s) is ast.Assign and type(s.targets[0]) is ast.Name]
    (line,) = [s for s in lines if text(s.targets[0]) == text(last.value.elts[0])]
    assert line.lineno < backwards.lineno
    assert not [s for s in lines if type(s.value) is ast.Name]  # `h2 = h`
