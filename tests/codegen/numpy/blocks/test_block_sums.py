"""A loop over blocks adds to parts of arrays only where nobody else reads them."""

import ast

import numpy as np
import pytest

import tapec
from tapec.ir.static_index import Slice
from tapec.ops import apply
from tapec.ops.indexing.getitem_and_scatter import SCATTER
from tests.codegen.kit import check, gradient_of, graph_of
from tests.properties import allocates, block_loops, has_loop, nodes, text

rng = np.random.default_rng(3)
LONG = rng.normal(size=300_007)
IMAGE = rng.normal(size=(501, 420))


def valley(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def variation(u, f):
    dx, dy = u[1:, :-1] - u[:-1, :-1], u[:-1, 1:] - u[:-1, :-1]
    return np.sum(np.sqrt(dx**2 + dy**2 + 1e-3)) + 0.5 * np.sum((u - f) ** 2)


def rough(x, y):
    return 0.5 * np.sum((x - y) ** 2) + np.sum(np.sqrt((x[1:] - x[:-1]) ** 2 + 1e-2))


CASES = {"valley": (valley, (LONG,)), "variation": (variation, (IMAGE, 0.5 * IMAGE)), "rough": (rough, (LONG, LONG**2))}


def added(code):
    """Return the names of the blocks of arrays that loops over blocks add to, or subtract from."""
    sums = [n for loop in block_loops(code) for n in nodes(loop, ast.AugAssign) if isinstance(n.op, (ast.Add, ast.Sub))]
    return [name for n in sums if (name := text(n.target)).endswith("[block]")]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_differences(name, dtype):
    """Gradients of differences have no array of their length but the result."""
    f, values = CASES[name]
    values = tuple([np.concatenate([v, v]).astype(dtype) for v in values])
    compiled = check(gradient_of(f, *values), *values)
    assert len(added(compiled)) == (3 if name == "variation" else 2)
    assert not any(allocates(compiled, "empty", v.shape) for v in values)
    assert allocates(compiled, "zeros") == (name == "valley")


def test_the_gradient_in_closed_form():
    g = np.zeros_like(LONG)
    d = LONG[1:] - LONG[:-1] ** 2
    g[1:] += 200.0 * d
    g[:-1] -= 400.0 * d * LONG[:-1] + 2.0 * (1.0 - LONG[:-1])
    np.testing.assert_allclose(tapec.grad(valley)(LONG), g, rtol=1e-12, atol=1e-12)


def put(v, size, start, stop=None, step=None):
    """Return these values among zeros."""
    return apply(SCATTER, (v,), (("shape", (size,)), ("index", (Slice(start, stop, step),))))


def test_kept_values_are_added_too():
    def f(x, y):
        e = np.exp(x[1:]) * np.sin(y[1:])
        return e, x * y + put(e, len(LONG), 1) - put(e * y[:-1], len(LONG), None, -1)

    assert len(added(check(graph_of(f, LONG, LONG), LONG, LONG))) == 2


READERS = {  # who looks into an array to which something is added, and when that can be in the loop
    "nobody": (lambda x, t: x[1:] * x[:-1], lambda u, t: u, True),
    "before": (lambda x, t: x[1:] * np.sum(t), lambda u, t: u, True),
    "the loop": (lambda x, t: np.tanh(t[1:]) * t[:-1], lambda u, t: u, False),
    "later": (lambda x, t: x[1:] * x[:-1], lambda u, t: (u, np.sum(t * u)), False),
    "who asked": (lambda x, t: x[1:] * x[:-1], lambda u, t: (u, t), False),
    "another sum": (lambda x, t: x[1:] * x[:-1], lambda u, t: (u, t + put(t[1:], len(LONG), 1)), False),
}


@pytest.mark.parametrize("name", READERS)
def test_arrays_with_other_readers_are_not_changed(name):
    inner, after, placed = READERS[name]

    def f(x, y):
        t = x * y
        e = np.exp(inner(x, t)) * np.sin(y[1:])
        return after(t + put(e * np.sin(e), len(LONG), 1) - put(e, len(LONG), None, -1), t)

    values = 0.1 * LONG, LONG[::-1].copy()
    assert bool(added(check(graph_of(f, *values), *values))) == placed


@pytest.mark.parametrize("step", [2, -1])
def test_other_steps_are_added_after_the_loop(step):
    size = 2 * len(LONG) if step == 2 else len(LONG)

    def f(x, y):
        e = np.exp(np.sin(x) * np.cos(x) + x)
        return y * 2.0 + put(e, size, None, None, step)

    values = LONG, np.linspace(-1, 1, size)
    assert not added(check(graph_of(f, *values), *values))


def test_parts_of_two_arrays():
    def f(x, y):
        e = np.exp(np.sin(x[1:]) * np.cos(y[1:]))
        a = put(e, len(LONG), 1) - put(e, len(LONG), None, -1)
        return a, x * y - put(e * e, len(LONG), 1)

    assert len(added(check(graph_of(f, LONG, LONG[::-1].copy()), LONG, LONG[::-1].copy()))) == 3


def test_an_argument_is_not_changed():
    def f(x, y):
        e = np.exp(y[1:]) * np.sin(y[1:]) + y[:-1]
        u = x.copy()
        u[1:] += e
        u[:-1] -= e
        return u

    x = LONG.copy()
    u = tapec.compile(f)(x, LONG)
    np.testing.assert_array_equal(x, LONG)
    np.testing.assert_allclose(u, f(LONG, LONG), rtol=1e-14)


def test_threads_do_not_add_to_shared_rows():
    with tapec.settings(threads=2):
        g = tapec.grad(valley)
        np.testing.assert_allclose(g(LONG), tapec.grad(valley)(LONG), rtol=1e-13, atol=1e-13)
        assert [loop.threads for loop in block_loops(g.source(LONG))] == [2] and not added(g.source(LONG))


def test_small_arrays_have_no_loop():
    x = LONG[:100]
    assert not has_loop(check(gradient_of(valley, x), x))


def test_paths_have_their_own():
    @tapec.grad
    def f(x):
        return valley(x) if x[0] > 0 else valley(-x)

    for x in (np.abs(LONG), -np.abs(LONG)):
        wanted = tapec.grad(valley)(x) if x[0] > 0 else -tapec.grad(valley)(-x)
        np.testing.assert_allclose(f(x), wanted, rtol=1e-12, atol=1e-12)
