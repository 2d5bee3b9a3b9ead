"""Copies of small parts of large arrays, and where there are none."""

import tracemalloc

import numpy as np
import pytest

import tapec
from tests.codegen.kit import check, gradient_of, graph_of
from tests.properties import call_count, calls, copies, has, loops

pytestmark = pytest.mark.usefixtures("middle_sized_is_large")

rng = np.random.default_rng(3)
A, B = rng.normal(size=(128, 8)) / 3, rng.normal(size=(128, 8)) / 3


def contrastive(a, b):
    """Return a contrastive loss: each row should be more similar to its partner than to any other row."""
    s = a @ b.T / 0.5
    m = np.max(s, axis=1, keepdims=True)
    return np.mean(m[:, 0] + np.log(np.sum(np.exp(s - m), axis=1)) - np.diag(s))


def test_a_diagonal_of_an_overwritten_matrix_is_copied():
    compiled = check(gradient_of(contrastive, A, B), A, B)
    assert has(compiled, "np.copy(np.diagonal(...))")
    compiled.function(A, B)
    tracemalloc.start()
    compiled.function(A, B)
    assert tracemalloc.get_traced_memory()[1] < 1.6 * 8 * 128 * 128
    tracemalloc.stop()


def test_the_gradient_is_that_of_differences():
    gradient = tapec.grad(contrastive)(A, B)
    step = np.zeros_like(A)
    step[5, 3] = 1e-6
    wanted = (contrastive(A + step, B) - contrastive(A - step, B)) / 2e-6
    np.testing.assert_allclose(gradient[5, 3], wanted, rtol=1e-6)


def first_row_late(x):
    z = x @ x.T
    e = np.exp(z)
    return np.sum(e), z[0] * np.sum(e, axis=0)


def test_a_row_that_is_read_late_is_copied():
    x = rng.normal(size=(128, 4)) / 4
    assert has(check(graph_of(first_row_late, x), x), "np.copy(_[0])")


def heat(conductivity, steps):
    """Each step writes the next row of one array."""
    u = np.zeros((steps + 1, 200))
    u[0, 80:120] = 1.0
    for n in range(steps):
        u[n + 1, 1:-1] = u[n, 1:-1] + conductivity[1:-1] * (u[n, 2:] - 2 * u[n, 1:-1] + u[n, :-2])
    return np.sum(u[-1] ** 2)


def test_steps_on_one_array_copy_what_they_read():
    """Steps would copy the whole array else."""
    k, moved = np.full(200, 0.2), []
    for steps in (40, 160):
        slope = tapec.grad(lambda k, steps=steps: heat(k, steps))
        tapec.check_grads(lambda k, steps=steps: heat(k, steps), (k,), order=1)
        backward = loops(slope.source(k))[-1]
        assert copies(backward) == call_count(backward, "np.copy")
        moved.append(slope.explain(k).cost["moved"])
    assert moved[1] < 5 * moved[0]


def test_slices_are_copied_where_the_step_count_is_an_argument():
    slope = tapec.grad(heat)
    k = np.full(200, 0.2)
    np.testing.assert_allclose(slope(k, 40), tapec.grad(lambda k: heat(k, 40))(k), rtol=1e-13)
    backward = loops(slope.source(k, 40))[-1]
    assert copies(backward) == call_count(backward, "np.copy")


def test_nothing_else_is_copied():
    def whole_returned(x):
        z = x @ x.T
        e = np.exp(z)
        return z, z[0] * np.sum(e, axis=0)

    def whole_read_later(x):
        z = x @ x.T
        e = np.exp(z)
        return z[0] * np.sum(e, axis=0), z @ e

    def of_an_input(x):
        e = np.exp(x)
        return x[0] * np.sum(e, axis=0)

    def read_at_once(x):
        z = x @ x.T
        r = z[0] * 2.0
        return np.sum(np.exp(z)) * r

    def large(x):
        z = x @ x.T
        e = np.exp(z)
        return z[:64] * np.sum(e, axis=0)

    x = rng.normal(size=(128, 128)) / 20
    for function in (whole_returned, whole_read_later, of_an_input, read_at_once, large):
        assert not calls(check(graph_of(function, x), x), "np.copy"), function.__name__
    small = x[:20]
    assert not calls(check(graph_of(first_row_late, small), small), "np.copy")
