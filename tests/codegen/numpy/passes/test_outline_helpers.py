"""Helpers that are called several times are functions, with derivatives beside them, and give the same numbers."""

import random

import numpy as np
import pytest

import tapec
from tapec.codegen import compile_graph, tuning
from tapec.passes import tuning as passes_tuning
from tests.codegen.kit import check
from tests.properties import call_count, functions, has_loop, parameters, statements

A, B, C, D = 1.1, 0.4, 0.1, 0.4
rng = np.random.default_rng(3)
U, V = rng.uniform(0.5, 1.5, 1000), rng.uniform(0.5, 1.5, 1000)


def rhs(u, v):
    uv = u * v
    du = A * u - B * uv
    dv = C * uv - D * v
    return du, dv


def step(u, v, dt):
    k1, l1 = rhs(u, v)
    k2, l2 = rhs(u + 0.5 * dt * k1, v + 0.5 * dt * l1)
    k3, l3 = rhs(u + 0.5 * dt * k2, v + 0.5 * dt * l2)
    k4, l4 = rhs(u + dt * k3, v + dt * l3)
    return u + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4), v + dt / 6 * (l1 + 2 * l2 + 2 * l3 + l4)


def loss(u, v, dt):
    p, q = step(u, v, dt)
    return np.sum((p - 1.0) ** 2) + np.sum((q - 1.0) ** 2)


def laplacian(u):
    return np.roll(u, 1) - 2.0 * u + np.roll(u, -1)


class Heat:
    def __init__(self, nu):
        self.nu = nu

    def rate(self, u):
        lap = laplacian(u)
        return self.nu * lap - np.sin(u) * u * u + np.exp(-u) * np.cos(u)

    def loss(self, u):
        for_now = self.rate(u)
        later = self.rate(u + 0.1 * for_now)
        last = self.rate(u + 0.2 * later)
        return np.sum((u + for_now + later + last) ** 2)


def helpers(f, *args):
    """The names of the functions that stand beside the one that is called."""
    return list(functions(f.source(*args)))[:-1]


def without_helpers(monkeypatch, f, *args):
    """What the same program gives that has all lines in their places."""
    graph = f.ir(*args)
    with monkeypatch.context() as m:
        m.setattr(tuning, "HELPER_MIN_OPS", 10**9)
        source = compile_graph(graph).source
    assert len(functions(source)) == 1
    return source


def same(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_helper_and_its_derivative_are_functions_called_at_each_stage(monkeypatch):
    f = tapec.value_and_grad(loss, (0, 1))
    source = f.source(U, V, 0.1)
    assert helpers(f, U, V, 0.1) == ["rhs", "rhs_backward"]
    main = functions(source)["loss_value_and_grad"]
    assert call_count(main, "rhs") == call_count(main, "rhs_backward") == 4
    assert parameters(functions(source)["rhs"])[:2] == ["u", "v"]
    assert parameters(functions(source)["rhs_backward"])[:4] == ["d_du", "d_dv", "u", "v"]
    longer = without_helpers(monkeypatch, f, U, V, 0.1)
    assert len(statements(main)) < 0.75 * len(statements(longer))


def test_values_and_derivatives_of_all_kinds_are_those_of_numpy():
    f = tapec.value_and_grad(loss, (0, 1))
    value, (du, dv) = f(U, V, 0.1)
    same(value, loss(U, V, 0.1))
    for k in (0, 500, 999):
        e = np.zeros(1000)
        e[k] = 1e-6
        for found, slope in (
            (du[k], (loss(U + e, V, 0.1) - loss(U - e, V, 0.1)) / 2e-6),
            (dv[k], (loss(U, V + e, 0.1) - loss(U, V - e, 0.1)) / 2e-6),
        ):
            np.testing.assert_allclose(found, slope, rtol=1e-5)
    _, tangent = tapec.jvp(lambda u: loss(u, V, 0.1), (U,), (V,))
    np.testing.assert_allclose(tangent, du @ V, rtol=1e-12)
    many = tapec.vmap(tapec.grad(loss), in_axes=(0, None, None))(np.stack([U, U + 0.1]), V, 0.1)
    np.testing.assert_allclose(many[0], du, rtol=1e-12)
    np.testing.assert_allclose(tapec.hvp(lambda u: loss(u, V, 0.1))(U, V)[:3], _slopes(U, V)[:3], rtol=1e-5)


def _slopes(u, v):
    f = tapec.grad(lambda u: loss(u, V, 0.1))
    return (f(u + 1e-6 * v) - f(u - 1e-6 * v)) / 2e-6


def test_compiled_graphs_give_what_the_interpreter_gives():
    f = tapec.value_and_grad(loss, (0, 1))
    given = {"u": U, "v": V, "dt": 0.1, "A": A, "B": B, "C": C, "D": D}
    graph = f.ir(U, V, 0.1)
    assert len(functions(check(graph, *[given[i.name] for i in graph.inputs]))) == 3


def test_single_precision_stays_single():
    u, v = U.astype(np.float32), V.astype(np.float32)
    value, (du, dv) = tapec.value_and_grad(loss, (0, 1))(u, v, 0.1)
    assert value.dtype == du.dtype == dv.dtype == np.float32
    np.testing.assert_allclose(du, tapec.grad(loss)(U, V, 0.1), rtol=1e-4, atol=1e-5)


def test_methods_and_helpers_of_helpers():
    heat = Heat(0.3)
    f = tapec.compile(heat.loss)
    assert helpers(f, U) == ["rate"] and call_count(f.source(U), "rate") == 3
    same(f(U), heat.loss(U))
    heat.nu = 0.2
    same(f(U), heat.loss(U))


def test_all_calls_have_one_derivative_whoever_else_reads_their_argument():
    heat = Heat(0.3)
    f = tapec.grad(heat.loss)
    source = f.source(U)
    assert helpers(f, U) == ["rate", "rate_backward"]
    assert call_count(functions(source)["loss_grad"], "rate_backward") == 3  # also of `u`, which is added to the sum
    _, slope = tapec.jvp(heat.loss, (U,), (V,))
    np.testing.assert_allclose(f(U) @ V, slope, rtol=1e-12)


def test_results_of_one_call_go_into_the_next(monkeypatch):
    monkeypatch.setattr(passes_tuning, "ROLLED_MIN_ROUNDS", 10**9)  # else it is a loop of four rounds

    def helper(u):
        t = np.sin(u) * u + np.exp(-u)
        return t / (1.0 + t * t) + np.cos(t)

    f = tapec.compile(lambda u: np.sum(helper(helper(helper(helper(u))))))
    assert helpers(f, U) == ["helper"] and call_count(f.source(U), "helper") == 4
    same(f(U), np.sum(helper(helper(helper(helper(U))))))


def test_numbers_that_differ_are_arguments():
    def helper(u, k):
        t = np.sin(u) * k + np.exp(-u) * k
        return t / (1.0 + t * t) + np.cos(t) * u

    f = tapec.compile(lambda u: np.sum(helper(u, 2.0) + helper(u + 1.0, 3.0) + helper(u - 1.0, 0.5)))
    assert parameters(functions(f.source(U))["helper"]) == ["u", "k"]
    same(f(U), np.sum(helper(U, 2.0) + helper(U + 1.0, 3.0) + helper(U - 1.0, 0.5)))


def once(u):
    t = np.sin(u) * u + np.exp(-u)
    return t / (1.0 + t * t) + np.cos(t) * u


def in_steps(u):
    for _ in range(3):
        t = np.sin(u) * u + np.exp(-u)
        u = t / (1.0 + t * t) + np.cos(t) * u
    return u


def each_another(u, k):
    t = np.sin(u) * u + np.exp(-u)
    return t / (1.0 + t * t) + (np.cos(t), np.sin(t), np.tanh(t))[k] * u


def a_view(u):
    t = np.sin(u) * u + np.exp(-u)
    return (t / (1.0 + t * t) + np.cos(t) * u)[::-1]


def summed_in_place(u):
    t = np.sin(u) * u
    t += np.exp(-u)
    t[0] = 1.0
    return t / (1.0 + t * t) + np.cos(t) * u


REFUSED = {
    "called once": lambda u: np.sum(once(u)),
    "a loop of its own": lambda u: np.sum(in_steps(u)),
    "something else in each call": lambda u: np.sum(each_another(u, 0) + each_another(u, 1) + each_another(u, 2)),
    "a view": lambda u: np.sum(a_view(u) + a_view(u + 1.0) + a_view(u + 2.0)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_stays_in_its_places(name):
    f = tapec.compile(REFUSED[name])
    assert not helpers(f, U)
    same(f(U), REFUSED[name](U))


def test_large_arrays_are_written_again_in_their_places():
    large = np.linspace(0.0, 1.0, tuning.HELPER_ARRAY_MAX_BYTES // 8 + 1)
    f = tapec.compile(lambda u: np.sum(once(u) + once(u + 1.0) + once(u + 2.0)))
    assert not helpers(f, large) and helpers(f, U) == ["once"]


def test_writes_inside_a_helper_are_its_own():
    def program(u):
        return np.sum(summed_in_place(u) + summed_in_place(u + 1.0) + summed_in_place(u + 2.0))

    given = U.copy()
    same(tapec.compile(program)(given), program(U))
    np.testing.assert_array_equal(given, U)


def test_steps_in_a_loop_stay_a_loop():
    def program(u):
        for _ in range(60):
            u = u + 0.01 * once(u)
        return np.sum(u * u)

    f = tapec.grad(program)
    assert has_loop(f.source(U)) and not helpers(f, U)


def test_bodies_of_loops_share_the_functions():
    def program(u, v, dt):
        u, v = tapec.fori_loop(0, 50, lambda k, s: step(s[0], s[1], dt), (u, v))
        return np.sum(u * v)

    def written_out(u, v, dt):
        for _ in range(50):
            u, v = step(u, v, dt)
        return np.sum(u * v)

    f = tapec.grad(program, (0, 1))
    source = f.source(U, V, 0.01)
    assert helpers(f, U, V, 0.01) == ["rhs", "rhs_backward"]
    assert parameters(functions(source)["rhs_backward"]) == ["d_du", "d_dv", "u", "v", *"ABCD"]
    assert call_count(source, "rhs") == 8 and call_count(source, "rhs_backward") == 4  # the values run on two ways
    for found, wanted in zip(f(U, V, 0.01), tapec.grad(written_out, (0, 1))(U, V, 0.01), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10)


def test_calls_that_take_too_much_of_the_time_are_written_out(monkeypatch):
    monkeypatch.setattr(tuning, "HELPER_MAX_SHARE_OF_TIME", 0.0)
    f = tapec.compile(lambda u: np.sum(once(u) * 1.5 + once(u + 1.5) + once(u + 2.5)))
    assert not helpers(f, U)


UNARY = "np.sin({0})", "np.exp(-{0} * {0})", "np.roll({0}, 1)", "np.sum({0}) * {0}", "{0}[::-1] * 2.0", "np.cumsum({0})"
BINARY = "{0} * {1}", "{0} + {1}", "{0} - {1}", "{0} / (1.5 + {1} * {1})", "np.maximum({0}, {1})", "{0} * scale"


def drawn_program(seed):
    """A function that calls helpers of several results, of which each may call another one."""
    draw = random.Random(seed)
    lines, known = ["import numpy as np", "scale = 0.7"], []
    for name in ("first", "second", "third"):
        lines.append(f"def {name}(p, q):")
        values = ["p", "q"]
        for k in range(draw.randint(4, 7)):
            text = draw.choice([*UNARY, *BINARY]).format(draw.choice(values), draw.choice(values))
            if known and draw.random() < 0.2:
                text = f"{draw.choice(known)}({draw.choice(values)}, {draw.choice(values)})[0]"
            lines.append(f"    v{k} = {text}")
            values.append(f"v{k}")
        lines.append(f"    return {values[-1]} + p, {draw.choice(values[2:])} * q")
        known.append(name)
    lines.append("def program(x, z):")
    values = ["x", "z"]
    for k in range(5):
        given = [
            draw.choice([draw.choice(values), f"{draw.choice(values)} + 0.1 * {draw.choice(values)}"]) for _ in "pq"
        ]
        lines.append(f"    a{k}, b{k} = {draw.choice(known)}({', '.join(given)})")
        values += [f"a{k}", f"b{k}"]
    lines.append(f"    return np.sum({' + '.join(f'np.sin({v})' for v in values)})")
    space = {}
    exec(compile("\n".join(lines), f"drawn_{seed}.py", "exec"), space)
    return space["program"]


@pytest.mark.parametrize("seed", range(12))
def test_drawn_programs(seed, monkeypatch):
    for name, value in (("MIN_OPS", 3), ("MIN_SPARED_LINES", 1), ("MAX_SHARE_OF_TIME", 10.0)):
        monkeypatch.setattr(tuning, f"HELPER_{name}", value)
    program = drawn_program(seed)
    x, z = rng.uniform(0.1, 1.0, 300), rng.uniform(0.1, 1.0, 300)
    found = []
    for f in (tapec.compile(program), tapec.value_and_grad(program, (0, 1)), tapec.grad(lambda x, z: program(x, z))):
        graph = f.ir(x, z)
        values = [{"x": x, "z": z, "scale": 0.7}[i.name] for i in graph.inputs]
        found += list(functions(check(graph, *values)))
    assert len(found) > 3
