"""Values that steps of a loop keep need no memory of their own where there is some.

There is some beside what is kept, and in arrays that steps write from end to end.
"""

import ast
import tracemalloc

import numpy as np
import pytest

import tapec
from tapec.ir import Graph
from tests.codegen.kit import check, drawn, gradient_of, graph_of
from tests.properties import allocates, has, loops, nodes, uses_out

pytestmark = pytest.mark.usefixtures("middle_sized_is_large")

STEPS, BATCH, WIDE = 12, 32, 64


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rnn(xs, w, u):
    h = np.zeros((BATCH, WIDE))
    for t in range(STEPS):
        h = np.tanh(xs[t] @ w + h @ u)
    return np.sum(h * h)


def lstm(xs, w, u):
    h = c = np.zeros((BATCH, WIDE))
    for t in range(STEPS):
        z = xs[t] @ w + h @ u
        i, f, o = [sigmoid(z[:, k * WIDE : (k + 1) * WIDE]) for k in range(3)]
        c = f * c + i * np.tanh(z[:, 3 * WIDE :])
        h = o * np.tanh(c)
    return np.sum(h * h)


def gru(xs, wz, wr, wc, h):
    for t in range(STEPS):
        hx = np.concatenate([h, xs[t]], axis=1)
        z, r = sigmoid(hx @ wz), sigmoid(hx @ wr)
        h = (1 - z) * h + z * np.tanh(np.concatenate([r * h, xs[t]], axis=1) @ wc)
    return np.sum(h * h)


def peak(function, values):
    function(*values)
    tracemalloc.start()
    function(*values)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def held(compiled, values):
    """The memory that a call takes, which is what the header states."""
    found = peak(compiled.function, values)
    assert 0.9 < compiled.cost.peak / found < 1.05, (compiled.cost.peak, found)
    return found


def kept(compiled):
    """Return how many values each step appends to the list."""
    (append,) = [call for call in nodes(compiled, ast.Call) if has(call.func, "steps.append")]
    return len(append.args[0].elts)


@pytest.mark.parametrize(("function", "gates"), [(rnn, 1), (lstm, 4)])
def test_the_memory_stated_is_what_is_kept(function, gates):
    values = drawn(STEPS, BATCH, 20), drawn(20, gates * WIDE), drawn(WIDE, gates * WIDE)
    held(check(gradient_of(function, *values, wrt=(1,)), *values), values)


def test_results_are_no_views_of_what_steps_keep():
    def f(xs, w, u):
        h, found = np.zeros((BATCH, WIDE)), []
        for t in range(STEPS):
            h = np.tanh(xs[t] @ w + h @ u)
            found.append(h)
        return h, found[3], np.sum(np.stack(found), axis=0), np.sum(h)

    values = drawn(STEPS, BATCH, 20), drawn(20, WIDE), drawn(WIDE, WIDE)
    check(graph_of(f, *values), *values)
    last = tapec.compile(lambda *a: f(*a)[0])(*values)
    assert last.base is None and last.flags.owndata


def test_values_that_were_joined_are_read_there():
    values = (drawn(STEPS, BATCH, 80), *[drawn(80 + 64, 64) for _ in range(3)], drawn(BATCH, 64))
    compiled = check(gradient_of(gru, *values), *values)
    assert kept(compiled) == 5  # neither the state nor 1 - z
    assert has(loops(compiled)[-1], "_ = _[:, :64]") and uses_out(loops(compiled)[-1], "np.subtract")
    held(compiled, values)


def test_small_states_are_kept_themselves():
    values = (drawn(STEPS, 4, 8), *[drawn(8 + 6, 6) for _ in range(3)], drawn(4, 6))
    assert kept(check(gradient_of(gru, *values), *values)) == 7


def test_parts_of_a_gradient_are_written_into_free_memory():
    values = drawn(STEPS, BATCH, 20), drawn(20, 4 * WIDE), drawn(WIDE, 4 * WIDE)
    backward = loops(check(gradient_of(lstm, *values), *values))[-1]
    assert has(backward, "_[:, 192:] = _") and uses_out(backward, into="_[:, 128:192]")
    assert not allocates(backward)


@pytest.mark.parametrize("whole", [True, False])
def test_an_array_that_is_written_in_part_begins_with_zeros(whole):
    def f(x, a):
        y = np.tanh(a @ x)
        y = y * y + np.exp(y)
        return np.sum(np.sin(y[:20]) * 2.0) + np.sum(np.cos(y[20 if whole else 22 :]) * 3.0)

    values = drawn(40, 40), drawn(40, 40)
    compiled = check(gradient_of(f, *values, wrt=(0,)), *values)
    assert allocates(compiled, "zeros", (40, 40)) == (not whole)


# -- what is computed where it is stored -------------------------------------------------------------------------------
def residual(w, v, x):
    h = x
    for k in range(STEPS):
        h = h + np.maximum(h @ w[k], 0.0) @ v[k]
    return np.sum(h * h)


def test_products_are_computed_where_they_are_stored():
    values = drawn(STEPS, WIDE, 40), drawn(STEPS, 40, WIDE), drawn(BATCH, WIDE)
    compiled = check(gradient_of(residual, *values, wrt=(0, 1)), *values)
    for name in ("d_x", "d_y"):
        assert uses_out(compiled, into=f"{name}[k]") and not has(compiled, f"{name}[_] = _")
    held(compiled, values)


def test_parts_across_rows_are_multiplied_beside_them():
    """BLAS wants whole rows."""

    def f(x, a, b):
        s = np.sum((x[:, :20] @ a) ** 2) + np.sum(np.exp(x[:, 20:30]) * b)
        return s + np.sum(np.sin(x[:, 30:]) * b)

    values = drawn(40, 40), drawn(20, 30), drawn(40, 10)
    assert has(check(gradient_of(f, *values, wrt=(0,)), *values), "d_x[:, :20] = _")


@pytest.mark.parametrize("again", [False, True])
def test_parts_with_other_readers_are_stored_later(again):
    def f(x, a):
        t, u = np.tanh(x[:40] @ a), np.sin(x[40:]) @ a
        return np.sum(t * t) + np.sum(u * u)

    values = drawn(80, 40), drawn(40, 40)
    graph = gradient_of(f, *values, wrt=(0,))
    if again:  # each cotangent of a part is a result, too
        parts = [n.inputs[0] for n in graph.nodes if n.op.name == "scatter"]
        graph = Graph(graph.inputs, graph.nodes, [*graph.outputs, *parts], graph.name)
    assert bool(uses_out(check(graph, *values), into="d_x[_]")) == (not again)


def test_the_stated_memory_has_lists_that_are_over():
    """Nothing much is made later, so nobody lets go of them; what one step leaves is there when the next begins."""

    def f(w, v, x, y):
        return residual(w, v, x) + np.sum(np.cos(y[:, :40]))

    values = drawn(STEPS, 40, 40), drawn(STEPS, 40, 40), drawn(16, 40), drawn(16, 160)
    held(check(gradient_of(f, *values, wrt=(2, 3)), *values), values)


@pytest.mark.parametrize("steps", [12, 13])
def test_results_of_loops_hold_no_memory_but_their_own(steps):
    """Results had been a line of the workspace, all of which was there as long as they were."""

    def f(xs, w, u, h):
        total = 0.0
        for t in range(steps):
            h = np.sin(xs[t] @ w[:, :WIDE] + h @ u)
            total = total + np.sum(h * h)
        return h, total

    values = drawn(steps, BATCH, WIDE), drawn(WIDE, 2 * WIDE), drawn(WIDE, WIDE), drawn(BATCH, WIDE)
    state = check(graph_of(f, *values), *values).function(*values)[0]
    assert state.base is None or state.base.nbytes == state.nbytes
