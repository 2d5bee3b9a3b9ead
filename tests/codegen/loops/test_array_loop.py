"""Loops of programs on arrays that were written out, found again: the same values, bit for bit, in lines that a person
would write."""

import ast
import random

import numpy as np
import pytest

import tapec
from tapec.codegen import compile_graph, tuning
from tapec.codegen.loops.index_operands import lifted, put_numbers_back
from tapec.codegen.numpy import pipeline
from tapec.ir import parse
from tapec.passes.pipeline import optimize
from tests.codegen.kit import check, counted, drawn, gradient_of, graph_of, graphs_as_differentiated, same_bits
from tests.properties import (
    allocates,
    block_loops,
    call_count,
    copies,
    count_of,
    deleted,
    has,
    has_loop,
    loop_count,
    loops,
    nodes,
    reads,
    rounds,
    statements,
    updates,
)

pytestmark = pytest.mark.usefixtures("middle_sized_is_large")


def written_out(graph, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(tuning, "ARRAY_LOOPS_MIN_SPARED_OPS", 10**9)
        return compile_graph(graph, "function")


def as_written_out(graph, values, monkeypatch):
    """The code with loops, which gives what the code without them gives."""
    compiled = check(graph, *values)
    plain = written_out(graph, monkeypatch)
    assert loop_count(plain) == 0
    same_bits(compiled.function(*values), plain.function(*values), graph, compiled.source)
    return compiled


def rnn(xs, w, u):
    h = np.zeros((xs.shape[1], w.shape[1]), xs.dtype)
    for t in range(12):
        h = np.tanh(xs[t] @ w + h @ u)
    return np.sum(h * h)


def leapfrog(q, p, e):
    for _ in range(15):
        p = p - 0.5 * e * np.sin(q)
        q = q + e * p
        p = p - 0.5 * e * np.sin(q)
    return np.sum(p * p) + np.sum(np.cos(q))


def descent(a, b, w):
    for _ in range(15):
        w = w - 0.1 * (a.T @ (a @ w - b))
    return np.sum((a @ w - b) ** 2)


def adam(a, b, w):
    m, v = w * 0.0, w * 0.0
    for t in range(1, 12):
        g = a.T @ (a @ w - b)
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        w = w - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-8)
    return np.sum((a @ w - b) ** 2)


def heat(u, k):
    u = u * 1.0
    for _ in range(12):
        u = u + np.concatenate([k[:1] * 0.0, k[1:-1] * (u[2:] - 2 * u[1:-1] + u[:-2]), k[-1:] * 0.0])
    return np.sum(u * u)


def waves(a, b):
    for _ in range(12):
        a, b = b, 2 * b - a + 0.1 * (np.roll(b, 1) - 2 * b + np.roll(b, -1))
    return np.sum(b * b)


def power_iteration(a, x):
    for _ in range(12):
        y = a @ x
        x = y / np.sqrt(y @ y)
    return x @ a @ x


def batches(x, y, w):
    for t in range(12):
        part = x[t * 4 : (t + 1) * 4]
        w = w - 0.1 * (part.T @ (part @ w - y[t * 4 : (t + 1) * 4]))
    return np.sum(w * w)


def determinants(a, b):
    total = 0.0
    for _ in range(12):
        a = a @ b + 2.0 * np.eye(4)
        sign, log = np.linalg.slogdet(a)
        total = total + sign * log
    return total


def stacked(a, x):
    out = []
    for _ in range(12):
        x = np.tanh(a @ x)
        out.append(x)
    return np.sum(np.stack(out) ** 2)


def losses(xs, w, u, v, ys):
    h, total = np.zeros((xs.shape[1], w.shape[1]), xs.dtype), 0.0
    for t in range(12):
        h = np.tanh(xs[t] @ w + h @ u)
        total = total + np.mean((h @ v - ys[t]) ** 2)
    return total / 12


def kalman(ys, q, r):
    """The filter of one output: the gradient reads the inverse of its variance in two places."""
    f, h = np.eye(8, dtype=q.dtype) + np.eye(8, k=1, dtype=q.dtype), np.eye(1, 8, dtype=q.dtype)
    m, p, total = np.zeros(8, q.dtype), q, 0.0
    for t in range(12):
        m, p = f @ m, f @ p @ f.T + q
        e, s = ys[t] - h @ m, h @ p @ h.T + r * np.eye(1, dtype=q.dtype)
        k = p @ h.T @ np.linalg.inv(s)
        m, p = m + k @ e, p - k @ h @ p
        total = total + e @ np.linalg.solve(s, e)
    return total


PROGRAMS = [
    (losses, (drawn(12, 4, 3), drawn(3, 5), drawn(5, 5), drawn(5, 2), drawn(12, 4, 2))),
    (rnn, (drawn(12, 4, 3), drawn(3, 5), drawn(5, 5))),
    (rnn, (drawn(12, 32, 40), drawn(40, 48), drawn(48, 48))),
    (leapfrog, (drawn(20), drawn(20), np.array(0.1))),
    (leapfrog, (drawn(2000), drawn(2000), np.array(0.1))),
    (descent, (drawn(30, 12), drawn(30), drawn(12))),
    (adam, (drawn(30, 12), drawn(30), drawn(12))),
    (heat, (drawn(40), np.full(40, 0.1))),
    (heat, (drawn(3000), np.full(3000, 0.1))),
    (waves, (drawn(40), drawn(40))),
    (waves, (drawn(3000), drawn(3000))),
    (power_iteration, (drawn(12, 12), drawn(12))),
    (batches, (drawn(48, 12), drawn(48), drawn(12))),
    (determinants, (drawn(4, 4), drawn(4, 4))),
    (stacked, (drawn(12, 12), drawn(12))),
    (kalman, (drawn(12, 1), np.eye(8), np.array(1.0))),
]


def several_names(code):
    """Return the names of each tuple in it: what a step keeps, what a loop takes apart."""
    tuples = nodes(code, ast.Tuple)
    return [names for t in tuples if len(names := [e.id for e in t.elts if isinstance(e, ast.Name)]) > 1]


@pytest.mark.parametrize(("function", "values"), PROGRAMS)
def test_programs(function, values, monkeypatch):
    compiled = as_written_out(gradient_of(function, *values), values, monkeypatch)
    assert loop_count(compiled) >= 2
    assert all(len(set(names)) == len(names) for names in several_names(compiled)), compiled.source
    # both have one line for the value
    assert len(statements(compiled)) - 1 < (len(statements(written_out(compiled.graph, monkeypatch))) - 1) / 2


@pytest.mark.parametrize(("function", "values"), PROGRAMS)
def test_single_precision(function, values, monkeypatch):
    values = [v.astype(np.float32) for v in values]
    assert loop_count(as_written_out(gradient_of(function, *values), values, monkeypatch)) >= 2


@pytest.mark.parametrize(("function", "values"), [p for p in PROGRAMS if p[0] is not determinants])
def test_programs_after_tests(function, values):
    """On each path what was computed before a test stays as it is."""

    def tested(*values):
        first = np.sort(values[0], axis=0)
        if np.sum(first) > 1e9:
            return 0.0
        scale = np.sum(np.cos(first))
        if scale > 0.0:
            return function(*values) * scale, first
        return function(*[2.0 * v for v in values]) - scale, first * 1.0

    def run():
        f = tapec.grad(tested, argnums=tuple(range(len(values))), has_aux=True)
        return [f(*values), f(values[0] + 2.0, *values[1:]), f(*values)]

    results = run()
    with tapec.settings(optimize=False):
        expected = run()
    for found, wanted in zip(results, expected, strict=True):
        for a, b in zip((*found[0], found[1]), (*wanted[0], wanted[1]), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10 * np.max(np.abs(b)))


def test_rnn_and_its_gradient_read_as_handwritten():
    """Forward the states are kept, backward each step reads its own; sums begin with zeros."""
    compiled = check(gradient_of(rnn, *PROGRAMS[2][1]), *PROGRAMS[2][1])
    assert rounds(compiled) == [12, 11] and has(compiled, "zip(reversed(range(1, 12)), steps[:0:-1])")
    assert count_of(compiled, "steps.append(_)") == 1 and has(compiled, "d_z = np.zeros((48, 48))")
    assert has(compiled, "_, _ = _, _")  # arrays that change places


def test_steps_beside_blocks_in_threads():
    def f(u, x):
        v = np.tanh(u * 0.1) * np.exp(-u * u) + np.sin(u)
        h, s = x, np.sum(v)
        for _ in range(25):
            h = np.tanh(h * s * 1e-6 + x) + 0.1 * h
        return np.sum(h * h) + np.sum(np.log1p(v * v))

    values = drawn(100_000, 10), drawn(3000)
    graph = gradient_of(f, *values)
    with tapec.settings(threads=2):
        compiled = check(graph, *values)
    assert [loop.threads for loop in block_loops(compiled)] == [2] * len(block_loops(compiled)) != []
    assert any(reads(loop.iter, "steps") for loop in loops(compiled))


def test_gradients_of_large_weights_are_added_up_in_steps(monkeypatch):
    """No loop over blocks adds up the products of all steps: they would all be there at once."""
    values = drawn(12, 4, 6), drawn(6, 370), drawn(370, 370)
    compiled = as_written_out(gradient_of(rnn, *values), values, monkeypatch)
    assert loop_count(compiled) == 2 and allocates(compiled, "empty", (370, 370)) == 1


def test_few_operations_are_written_out():
    def f(a, x):
        for _ in range(4):
            x = np.tanh(a @ x)
        return np.sum(x)

    assert loop_count(check(gradient_of(f, drawn(12, 12), drawn(12)), drawn(12, 12), drawn(12))) == 0


def test_inputs_that_steps_write_into_are_copied():
    def f(x):
        for _ in range(60):
            x = x + 1.0
        return x

    compiled = check(graph_of(f, drawn(300)), drawn(300))
    assert loop_count(compiled) == 1 and has(compiled, "x.copy()")


def test_lines_along_any_axis():
    def f(x, w):
        h = x[:, 0] * 0.0
        for t in range(12):
            h = np.tanh(h + x[:, t] * w)
        return np.sum(h)

    compiled = check(gradient_of(f, drawn(5, 12, 3), drawn(3)), drawn(5, 12, 3), drawn(3))
    assert has(compiled, "x[:, k]") and has(compiled, "d_x[:, k] = _")
    assert has(compiled, "d_x = np.empty(x.shape)")  # all of it is written


def test_lines_that_are_written_only_in_part():
    def f(x):
        h = x[0]
        for t in range(2, 24, 2):
            h = np.tanh(h) * x[t]
        return np.sum(h)

    x = drawn(30, 6)
    compiled = check(gradient_of(f, x), x).on_arrays
    assert loop_count(compiled) == 2 and allocates(compiled, "zeros", (30, 6))


def test_a_line_that_each_step_adds_to():
    def f(x):
        y, total = np.tanh(x), 0.0
        for k in range(5):
            part = y.copy()
            part[0] = x[0] * 2
            part[..., k] += 0.3
            total = total + part
        return np.sum(total * total)

    x = tapec.constant(np.linspace(0.1, 0.5, 5, dtype=np.float32))
    with graphs_as_differentiated(), tapec.GradientTape(persistent=True) as tape:
        tape.watch(x)
        loss = f(x)
        gradient = tape.gradient(loss, x)
        assert updates(tape.source(loss, [x]), "+", "d_x[0]")
    np.testing.assert_allclose(gradient, tapec.grad(f)(x.numpy()), rtol=1e-5)


def test_a_last_step_that_nobody_reads():
    def f(x):
        s, v, found = np.zeros_like(x), x, []
        for _ in range(9):
            row = np.expand_dims(v, 0)
            found.append(s)
            s = s + 0.1 * np.sum(row, axis=0)
            v = np.tanh(v * 0.9 + np.mean(s))
        return np.sum(np.stack(found))

    x = np.linspace(0.1, 0.9, 3, dtype=np.float32)
    with graphs_as_differentiated():
        gradient = tapec.grad(f)(x)  # an index had been 0.1
    np.testing.assert_allclose(gradient, tapec.grad(f)(x), rtol=1e-5)


def test_a_single_step_with_another_that_nobody_reads():
    def f(x):
        y = np.sin(x)
        for _ in range(5):
            y = y - 0.05 * np.tanh(np.trapezoid(np.outer(x, x), axis=-1)) * y
        return y

    x = np.linspace(0.1, 0.9, 40)
    with graphs_as_differentiated():
        found = tapec.compile(f)(x)
    np.testing.assert_allclose(found, f(x))


def test_a_first_value_that_each_step_reads_has_a_name():
    def f(x):
        y = np.zeros(x.shape)
        for _ in range(30):
            y = y + x
        return np.sin(y)

    x = np.linspace(0.1, 0.9, 40)
    with graphs_as_differentiated():
        found = tapec.jacfwd(f)(x)
    np.testing.assert_allclose(found, np.diag(30 * np.cos(30 * x)), atol=1e-12)


def test_lines_that_overlap(monkeypatch):
    def f(x):
        h = x[0] * 0.0
        for t in range(12):
            h = np.tanh(h + x[t] * x[t + 1])
        return np.sum(h)

    x = drawn(14, 60)
    assert loop_count(as_written_out(gradient_of(f, x), (x,), monkeypatch)) == 2


def test_zeros_keep_their_signs(monkeypatch):
    def f(x, a):
        for _ in range(30):
            x = np.tanh(x * a)
        return np.sum(x * 0.0)

    for x in (np.array([-0.0, 0.0, 1.0, -1.0]), np.array([np.inf, -np.inf, np.nan, -0.0])):
        x, a = np.tile(x, 100), np.tile([-0.0, -1.0, 0.0, 1.0], 100)
        assert loop_count(as_written_out(gradient_of(f, x, a), (x, a), monkeypatch)) == 2


def test_arrays_of_negative_zeros():
    assert np.signbit(tapec.compile(lambda x: np.full_like(x, -0.0))(np.ones(300))).all()


def test_results_from_the_middle(monkeypatch):
    def f(x):
        seen = []
        for _ in range(40):
            x = np.sin(x) + 0.5
            seen.append(x)
        return seen[3], seen[-1], seen[-1][1:], np.stack(seen[::2]), seen[20] * 2.0

    x = drawn(200)
    assert loop_count(as_written_out(graph_of(f, x), (x,), monkeypatch)) == 1


def test_long_steps_of_which_a_sum_reads_each(monkeypatch):
    """Seven lines that read single steps are less than seven steps."""

    def kalman(noise, ys):
        move, h, m, p, total = np.eye(8) + 0.1 * np.eye(8, k=1), np.eye(1, 8), np.zeros(8), np.eye(8), 0.0
        for t in range(10):
            m, p = move @ m, move @ p @ move.T + np.exp(noise) * np.eye(8)
            k = p @ h.T @ np.linalg.inv(h @ p @ h.T + np.eye(1))
            e = ys[t] - h @ m
            m, p, total = m + k @ e, p - k @ h @ p, total + e @ e
        return total

    values = np.float64(0.3), drawn(10, 1)
    assert loop_count(as_written_out(gradient_of(kalman, *values, wrt=(0,)), values, monkeypatch)) == 2


def test_views_that_last(monkeypatch):
    """The next step finds a view of an array that this step has made, so each step makes the array anew."""

    def f(x):
        for _ in range(30):
            x = (np.tanh(x) * 0.9)[::-1]
        return x, x[1:]

    x = drawn(2000)
    assert loop_count(as_written_out(graph_of(f, x), (x,), monkeypatch)) == 1


def test_each_line_has_its_origin():
    def f(a, x):
        for _ in range(20):
            x = np.tanh(a @ x)
            x = x * 0.5
        return np.sum(x)

    g = tapec.grad(f, argnums=(0, 1))
    values = drawn(8, 8), drawn(8)
    g(*values)
    source = g.source(*values, lines=True)
    assert "np.tanh(a @ x)" in source and "x * 0.5" in source and loop_count(source) == 2  # in comments


def test_settings_that_look_at_every_value():
    def f(x):
        for _ in range(40):
            x = np.sqrt(x) - 0.5
        return np.sum(x)

    with tapec.settings(check_nan=True), pytest.raises(tapec.NonFiniteError, match="sqrt"):
        tapec.grad(f)(np.full(3, 0.2))


# -- lists of arrays ---------------------------------------------------------------------------------------------------
def layers(params, x):
    for w, b in params:
        x = x + np.tanh(x @ w + b)
    return np.mean(x * x)


def weights(layers, layer, x):
    for w in layers:
        x = x + layer(x @ w)
    return np.mean(x * x)


@pytest.mark.parametrize("count", [5, 12])
def test_layers_of_a_network(count, monkeypatch):
    """Loops go along lists of inputs, and gradients of each are given out as lists."""
    params, x = [(drawn(20, 20), drawn(20)) for _ in range(count)], drawn(30, 20)
    g = tapec.grad(layers)
    got = g(params, x)
    source = g.source(params, x)
    assert loop_count(source) == 2 and has(source, "part") and nodes(source, ast.ListComp)
    monkeypatch.setattr(tuning, "ARRAY_LOOPS_MIN_SPARED_OPS", 10**9)
    wanted = tapec.grad(layers)(params, x)
    flat = [a for pair in got for a in pair]
    for a, b in zip(flat, [b for pair in wanted for b in pair], strict=True):
        assert a.tobytes() == b.tobytes() and a.flags.writeable
    for k, a in enumerate(flat):
        assert not any(np.shares_memory(a, other) for other in [*flat[:k], x, *[p for pair in params for p in pair]])


def test_results_of_all_steps():
    params, x = [drawn(20, 20) for _ in range(12)], drawn(30, 20)
    g = tapec.value_and_grad(weights)
    _, grads = g(params, np.sin, x)
    source = g.source(params, np.sin, x)
    assert has(statements(source)[-1], "_[::-1]")  # `return t, *d_ws[::-1]`, but for the first ones perhaps
    assert len(grads) == 12 and all(d.shape == (20, 20) for d in grads)


def test_inputs_of_other_shapes_are_written_out():
    def f(params, x):
        for w in params:
            x = np.tanh(x * w)
        return np.sum(x)

    params = [drawn(20) if k % 3 else drawn(30, 20) for k in range(20)]
    g = tapec.grad(f)
    grads = g(params, drawn(30, 20))
    assert [d.shape for d in grads] == [p.shape for p in params]


# -- indices as operands -----------------------------------------------------------------------------------------------
LINES = """graph(%x: f64[6,3]) {
  %0: f64[3] = getitem %x {index=(0,)}
  %1: f64[3] = getitem %x {index=(1,)}
  %2: f64[3] = getitem %x {index=(2,)}
  %3: f64[3] = getitem %x {index=(3,)}
  %4: f64[2,3] = getitem %x {index=(4:6,)}
  return %0, %1, %2, %3, %4
}"""


def test_indices_become_operands_and_indices_again():
    graph = parse(LINES)
    made = lifted(graph)
    reads = [n for n in made.nodes if n.op.name == "getitem"]
    assert [len(n.inputs) for n in reads] == [2, 2, 2, 2, 1]
    assert [n.inputs[1].value for n in reads[:4]] == [0, 1, 2, 3]
    put_numbers_back(reads)
    assert [n.params for n in reads] == [n.params for n in graph.nodes]


# -- programs that are drawn -------------------------------------------------------------------------------------------
UNARY = ["np.tanh({})", "np.sin({})", "({} * 0.5)", "-{}", "np.maximum({}, 0.1)", "np.roll({}, 1)", "{}[::-1]"]
BINARY = ["({} + {})", "({} - {})", "({} * {})", "np.maximum({}, {})", "({} / (1.0 + {} * {}))"]


def drawn_program(r):
    """A loop of some random lines on one to three states, in text."""
    states = [f"s{k}" for k in range(r.choice([1, 1, 2, 3]))]
    known = [*states, "b", "x[t]", "x[11 - t]", "x[t + 1]", "(b * 0.9**t)"]

    def term():
        found = r.choice(known)
        for _ in range(r.choice([0, 1, 1, 2])):
            found = r.choice(UNARY).format(found)
        return found

    def sum_of_terms():
        text = r.choice(BINARY)
        return text.format(r.choice(states), *[term()] * (text.count("{}") - 1))

    lines = []
    for k in range(r.choice([1, 2, 3])):
        lines.append(f"m{k} = {sum_of_terms()}")
        known.append(f"m{k}")
    if r.random() < 0.4:
        lines.append(r.choice(["total = total + np.sum({0})", "acc = acc + {0}"]).format(r.choice(known[-1:])))
    lines.append(f"{', '.join(states)} = {', '.join(f'np.tanh({sum_of_terms()})' for _ in states)}")
    first = [f"    {s} = {r.choice(['a', 'a * 1.0', 'b + a', 'a * 0.0'])}" for s in states]
    body = "\n".join(f"        {line}" for line in lines)
    return (
        "def f(a, b, x):\n    total, acc = 0.0, a * 0.0\n"
        + "\n".join(first)
        + f"\n    for t in range(12):\n{body}\n"
        + f"    return np.sum({' + '.join(states)}) + total + np.sum(acc * b)\n"
    )


@pytest.mark.sampled(one_in=6)
@pytest.mark.parametrize("seed", range(60))
def test_drawn_programs(seed, monkeypatch):
    r = random.Random(seed)
    space = {"np": np}
    exec(drawn_program(r), space)
    n = r.choice([300, 1500])
    g = np.random.default_rng(seed)
    values = [g.normal(size=n), g.normal(size=n), g.normal(size=(13, n))]
    values[0][0], values[2][::3] = -0.0, 0.0
    as_written_out(gradient_of(space["f"], *values), values, monkeypatch)


def test_zeros_that_steps_read_before_all_are_written():
    """Steps read lines that only later steps write."""
    lines = ["%z: f64[40,30] = full {shape=(40, 30), value=0.0, dtype=f64}"]
    rows, seen = "%z", "%x"
    for k in range(40):
        lines += [
            f"%r{k} = getitem %x {{index=({k},)}}",
            f"%s{k} = sin %r{k}",
            f"%c{k} = scatter %s{k} {{shape=(40, 30), index=({k},)}}",
            f"%a{k} = add {rows}, %c{k}",
            f"%w{k} = multiply %a{k}, 0.5",
            f"%v{k} = add {seen}, %w{k}",
        ]
        rows, seen = f"%a{k}", f"%v{k}"
    graph = parse("graph(%x: f64[40,30]) {\n  " + "\n  ".join(lines) + f"\n  return {rows}, {seen}\n}}")
    x = drawn(40, 30)
    junk = [np.full((40, 30), np.nan) for _ in range(30)]
    del junk  # what an empty array may find
    compiled = check(graph, x)
    assert loop_count(compiled) == 1 and allocates(compiled, "zeros", (40, 30))


def test_steps_that_begin_with_a_unit_matrix():
    """Where steps are linear, the Hessian of the squares is 2 A'A."""

    def f(u):
        for _ in range(10):
            u = u.copy()
            u[1:-1] += 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        return np.sum(u * u)

    hessian = tapec.hessian(f)
    step = np.eye(12)
    step[1:-1] += 0.1 * (np.eye(12)[2:] - 2.0 * np.eye(12)[1:-1] + np.eye(12)[:-2])
    a = np.linalg.matrix_power(step, 10)
    np.testing.assert_allclose(hessian(np.linspace(0.5, 1.0, 12)), 2.0 * a.T @ a, rtol=1e-12, atol=1e-13)
    assert has_loop(hessian.source())


@pytest.mark.parametrize("large", [False, True])
def test_large_arrays_that_a_loop_reads_last_are_deleted(large, monkeypatch):
    values = (drawn(12, 40, 6), drawn(6, 6), drawn(6, 6))
    if not large:
        monkeypatch.setattr(tuning, "BUFFER_MIN_BYTES", 1 << 30)
    compiled = as_written_out(gradient_of(rnn, *values), values, monkeypatch)
    assert bool(deleted(compiled)) == large, compiled.source


@pytest.mark.parametrize("large", [False, True])
def test_long_lists_that_a_loop_reads_last_are_deleted(large, monkeypatch):
    def f(x, u):
        h, hs = x, []
        for _ in range(20):
            h = np.tanh(h @ u)
            hs.append(h)
        for t in range(20):
            h = np.sin(h * hs[19 - t]) + h
        y = np.exp(x) @ u
        return np.sum(h), y @ u, y

    values = drawn(40, 30), drawn(30, 30)
    if not large:
        monkeypatch.setattr(tuning, "BUFFER_MIN_BYTES", 1 << 30)
    compiled = as_written_out(graph_of(f, *values), values, monkeypatch)
    assert loop_count(compiled) == 2 and ("steps" in deleted(compiled)) == large, compiled.source


def test_a_value_that_begins_as_two_numbers():
    """The slope of k begins as nothing where it is added, and as one where it is taken on."""

    def f(x):
        k, s, y = 0.5, np.tanh(x), np.sum(x, axis=0)
        for _ in range(5):
            k = np.tanh(k + 0.1 * np.sum(s))
            s = s * 2
            y = np.tanh(y + 0.1 * np.sum(s))
        return k + np.sum(y)

    x = 0.01 * np.sin(np.arange(600.0)).reshape(20, 30)
    with graphs_as_differentiated():
        found = tapec.grad(f)(x)
    d = 0.01 + x
    slope = (f(x + 1e-6 * d) - f(x - 1e-6 * d)) / 2e-6
    np.testing.assert_allclose(np.sum(found * d), slope, rtol=1e-7)


@pytest.mark.thorough
def test_work_grows_with_the_program():
    """The work also grows no faster with many loops, and with many arrays that wait for others to take their memory."""

    def calls(count):
        r = random.Random(1)

        def f(x):
            total = 0.0
            for k in range(count):
                total = total + r.choice([np.sin, np.cos, np.tanh])(x[k : k + 200]) * r.random()
            return np.sum(total)

        compiled, made = counted(compile_graph, gradient_of(f, np.linspace(0.1, 0.9, 1300)))
        assert loop_count(compiled) > count // 50
        return made

    assert calls(1000) < 2.2 * calls(500)


def test_free_arrays_that_a_loop_finds_may_lie_in_any_order():
    """`np.dot` writes only into rows that follow one another."""

    def f(x):
        s = x * 1.0
        for _ in range(6):
            rows = np.sum(np.einsum("...i,...j->...ij", s, s), axis=0)
            s = np.concatenate([s[..., 1:], (s * 0.5 + np.sin(rows))[..., :1]], axis=-1)
        return np.sum(s)

    x = np.random.default_rng(1).normal(size=40)
    slope, hessian = tapec.grad(f), tapec.hessian(f)(x)
    want = np.stack([(slope(x + d) - slope(x - d)) / 2e-5 for d in 1e-5 * np.eye(40)])
    np.testing.assert_allclose(hessian, want, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("at", [[7], [1, 4]])
def test_a_result_that_is_read_outside_of_the_loop_alone(at, monkeypatch):
    """An operation with several results stays together with them: such steps are written out."""

    def f(a):
        found = []
        for _ in range(8):
            w, v = np.linalg.eigh(a)
            a = np.tanh(0.5 * a + v @ a.T)
            found.append(w)
        return a, sum([found[k] for k in at])

    a = np.diag(np.arange(5.0)) + 0.1
    assert loop_count(as_written_out(graph_of(f, a), (a,), monkeypatch)) == 0


def test_a_view_of_a_view_that_is_read_beside_it():
    def f(x):
        q = np.sin(x)
        for _ in range(11):
            q[1:] -= 0.5 * q[:-1]
            q.T[1:] = q.T[:-1]
        return q

    x, compiled = drawn(9, 9), tapec.compile(f)
    np.testing.assert_allclose(compiled(x), f(x), rtol=1e-12)
    assert has_loop(compiled.source())


@pytest.mark.parametrize("shape", [(6, 4), (40, 4), (6, 4, 3)])
def test_views_and_numbers_stand_before_what_reads_them(shape):
    """Numbers of indices that the program has elsewhere too; views of views that both have one reader."""

    def f(x, b):
        s = np.zeros_like(x)
        for t in range(20):
            q = s.copy()
            q[..., t % shape[-1]] += np.sum(b) * 0.2
            s = np.tanh(q) * x + 0 * s
        return s

    x, b = np.random.default_rng(0).normal(size=shape), np.ones(4)
    with graphs_as_differentiated():
        plain = tapec.jacfwd(f)(x, b)
    np.testing.assert_allclose(plain, tapec.jacrev(f)(x, b), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("line", [lambda k: k, lambda k: (slice(None), k)], ids=["rows", "columns"])
def test_lines_written_one_by_one(line):
    """Each step reads another version of the array, and no version is a copy; a row is, after both loops."""

    def f(x):
        y = np.zeros_like(x)
        y[line(0)] = x[line(0)]
        for k in range(1, 40):
            y[line(k)] = 0.9 * y[line(k - 1)] + np.tanh(x[line(k)])
        return np.sum(y * y)

    x = np.random.default_rng(0).normal(size=(40, 40))
    compiled, slope = tapec.compile(f), tapec.grad(f)
    assert compiled(x) == pytest.approx(f(x), rel=1e-14) and loop_count(compiled.source()) == 1
    assert has(compiled.source(), "y = np.zeros(...)")
    with tapec.settings(optimize=False):
        wanted = tapec.grad(f)(x)
    np.testing.assert_allclose(slope(x), wanted, rtol=1e-12)
    assert loop_count(slope.source()) == 2 and copies(slope.source()) == call_count(slope.source(), "np.copy") == 1


def test_running_differences_begin_with_a_number(monkeypatch):
    """Differences are like sums: the first step is a step like the others."""

    def value(x, w):
        left = 1.0
        for _ in range(14):
            x = np.tanh(w @ x)
            left = left - np.sum(x * x)
        return left, x

    for dtype in (np.float64, np.float32):
        values = drawn(40).astype(dtype), drawn(40, 40).astype(dtype)
        compiled = as_written_out(graph_of(value, *values), values, monkeypatch)
        assert rounds(compiled) == [14] and call_count(compiled, "np.tanh") == 1


def test_views_of_kept_values_are_not_kept(monkeypatch):
    """The last line reads the transpose of one step."""

    def value(x, w):
        seen, turned = [], []
        for _ in range(14):
            x = np.tanh(w @ x) + 1.0
            seen.append(x)
            turned.append(x.T)
            x = x - np.cos(w @ turned[-1])
        return np.sum(np.stack(seen), axis=0) + turned[3] * x

    values = drawn(20, 20), drawn(20, 20)
    compiled = as_written_out(graph_of(value, *values), values, monkeypatch)
    assert call_count(compiled, "append") == 1


def test_a_step_that_overwrites_keeps_the_name():
    """The array that a step writes has a name of its own; the other name still stands for its array after the loop."""

    def value(x, y, w):
        total = 0.0
        for _ in range(3):
            x = x + 0.1 * np.sin(y)
            x = x - 0.1 * (w.T @ (w @ x - y))
        y = y.copy()
        y[0] = 0.5 * x[0]
        for _ in range(18):
            y = np.tanh(w @ y) + x * 0.1
            x = np.concatenate([x[1:], y[:1]]) * 0.95
            total = total + np.sum(x * y)
        return total + np.sum(x)

    values = drawn(200), drawn(200), drawn(200, 200) / 20.0
    gradient = tapec.grad(value, argnums=(0, 1, 2))
    found = gradient(*values)
    with tapec.settings(optimize=False):
        wanted = tapec.grad(value, argnums=(0, 1, 2))(*values)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    assert loop_count(gradient.source()) == 2


def test_programs_without_repetition_are_not_searched():
    inputs = "graph(%x: f64[50]) {\n"
    slices = [f"  %{k} = getitem %x {{index=(0:{k + 1},)}}\n" for k in range(45)]
    results = ", ".join([f"%{k}" for k in range(45)])
    assert not pipeline.may_spare(parse(f"{inputs}{''.join(slices)}  return {results}\n}}"), 40)
    chain = [f"  %{k} = sin {f'%{k - 1}' if k else '%x'}\n" for k in range(45)]
    sines = parse(f"{inputs}{''.join(chain)}  return %44\n}}")
    assert pipeline.may_spare(sines, 44) and not pipeline.may_spare(sines, 45)


def test_first_step_does_not_depend_on_itself(monkeypatch):
    """`du` begins as what `u` is made of: that is a sum, too, as each later `du` is, and no step of the loop."""

    def bent(u):
        return np.roll(u, 1) - 2 * u + np.roll(u, -1)

    def along(u, k):
        du = bent(u)
        u = u + k * du
        for _ in range(12):
            w, dw = bent(u), bent(du)
            u, du = u + k * w, du + (w + k * dw)
        return u, du

    values = drawn(20), drawn()
    compiled = as_written_out(optimize(graph_of(along, *values)), values, monkeypatch)
    assert loop_count(compiled) == 1 and rounds(compiled) == [12]


def test_an_element_of_a_large_array_that_begins_what_a_loop_carries():
    def value(x, y, s, m):
        v2 = y ** (m + 1)
        for k, _ in enumerate(x):
            v2[0] += k
        v3 = v2[0]
        v6 = np.broadcast_to(v3, (2, *v3.shape))
        v7 = v6 * -0.4
        return np.sum(np.sin(v7) * 0.4)

    x, y = np.ones(3000), np.linspace(0.5, 1.5, 3000)
    found, (dx, dy) = tapec.value_and_grad(value, argnums=(0, 1))(x, y, 0.3, 0)
    np.testing.assert_allclose(found, value(x, y, 0.3, 0))
    slope = -0.4 * 0.4 * 2 * np.cos((y[0] + sum(range(3000))) * -0.4)
    np.testing.assert_allclose(dy, slope * np.eye(3000)[0], rtol=1e-9)
    assert not dx.any()
