"""What a tape lets go before its only gradient runs: less memory, and nothing is missing for who holds it, or asks."""

import tracemalloc

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable
from tapec.trace.idle import LARGE

N = 64
X = np.linspace(-1.0, 1.0, N * N).reshape(N, N)
assert X.nbytes > LARGE


def net(w, b):
    return np.sum(np.tanh(X @ w + b) ** 2)


def recorded(persistent=False, loss=net):
    w, b = Variable(X.T / N), Variable(np.full(N, 0.5))
    with GradientTape(persistent=persistent) as tape:
        y = loss(w, b)
    return tape, y, [w, b]


def most(persistent):
    """How many matrices there are at most while the gradient runs, with those recorded."""
    tracemalloc.start()
    try:
        tape, y, sources = recorded(persistent)
        tracemalloc.reset_peak()
        tape.gradient(y, sources)
        return tracemalloc.get_traced_memory()[1] / X.nbytes
    finally:
        tracemalloc.stop()


def test_memory():
    """The gradient takes np.tanh(x @ w + b); neither x @ w + b nor x @ w."""
    most(True), most(False)
    assert most(True) - most(False) > 1.9


def test_gradients_are_the_same():
    once, again = recorded(), recorded(persistent=True)
    for _ in range(2):
        for got, wanted in zip(once[0].gradient(*once[1:]), again[0].gradient(*again[1:]), strict=True):
            np.testing.assert_array_equal(got.numpy(), wanted.numpy())
        once = recorded()


def test_what_somebody_holds_stays():
    held = []

    def loss(w, b):
        z = X @ w
        held.append(z)
        return np.sum(np.tanh(z + b) ** 2)

    tape, y, (w, b) = recorded(loss=loss)
    tape.gradient(y, [w, b])
    np.testing.assert_array_equal(held[0].numpy(), X @ w.numpy())


def test_what_a_view_looks_into_stays():
    held = []

    def loss(w, b):
        z = X @ w
        held.append(z.T)
        return np.sum(np.tanh(z + b) ** 2)

    tape, y, (w, b) = recorded(loss=loss)
    tape.gradient(y, [w, b])
    np.testing.assert_array_equal(held[0].numpy(), (X @ w.numpy()).T)


def test_what_another_tape_has_recorded_stays():
    w = tapec.constant(X)
    with GradientTape() as one, GradientTape() as other:
        one.watch(w)
        other.watch(w)
        y = np.sum(np.sin(X @ w + 1.0))
    expected = X.T @ np.cos(X @ X + 1.0)
    for tape in (one, other):
        np.testing.assert_allclose(tape.gradient(y, w).numpy(), expected, rtol=1e-12)


def test_an_outer_tape_has_all():
    w = tapec.constant(X / N)
    with GradientTape() as outer:
        outer.watch(w)
        with GradientTape() as inner:
            inner.watch(w)
            y = np.sum((X @ w + 1.0) ** 3)
        g = np.sum(inner.gradient(y, w))
    z, ones = X @ (X / N) + 1.0, np.ones((N, N))
    np.testing.assert_allclose(outer.gradient(g, w).numpy(), X.T @ (6.0 * z * (X @ ones)), rtol=1e-9)


@pytest.mark.parametrize("inside", [False, True])
def test_a_gradient_that_fails_leaves_the_tape_as_it_was(inside):
    """It can be asked again, for something else too, and gives what it would have given."""

    def loss(w, b):
        return np.sum(np.sqrt(np.tanh(X @ w + b) * 2.0 + 7.0) * np.sqrt(b - 0.5))  # whose slope at 0 is infinite

    def asked(tape, y, sources):
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            tape.gradient(y, sources)
        with np.errstate(all="ignore"):
            return [g.numpy() for g in tape.gradient(y, sources[:1])]

    if inside:
        w, b = Variable(X.T / N), Variable(np.full(N, 0.5))
        with GradientTape() as tape:
            y = loss(w, b)
            got = asked(tape, y, [w, b])
    else:
        got = asked(*recorded(loss=loss))
    tape, y, (w, _) = recorded(True, loss)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got[0], tape.gradient(y, w).numpy())


def test_programs_that_change_tensors_in_place():
    def loss(w, b):
        z = X @ w
        z += b
        z[0] = 1.0
        return np.sum(z * z)

    tape, y, (w, b) = recorded(loss=loss)
    again, y2, sources = recorded(True, loss)
    for got, wanted in zip(tape.gradient(y, [w, b]), again.gradient(y2, sources), strict=True):
        np.testing.assert_array_equal(got.numpy(), wanted.numpy())


def test_the_same_structure_with_and_without_somebody_holding():
    def loss(w, b, held):
        z = X @ w
        held.append(z)
        return np.sum(np.tanh(z + b) ** 2)

    for keep in (True, False, True):
        held = []
        tape, y, (w, b) = recorded(loss=lambda w, b: loss(w, b, held))  # noqa: B023
        if not keep:
            held.clear()
        tape.gradient(y, [w, b])
        for z in held:
            np.testing.assert_array_equal(z.numpy(), X @ w.numpy())


def test_the_same_structure_with_and_without_changes_in_place():
    """What stands for a value until it changed is held by each tape that was there, and read when one goes on."""

    def losses(w, inplace):
        z = X @ w
        first = np.sum(np.sin(z))
        if inplace:
            z += 1.0
        else:
            z = z + 1.0
        return first, np.sum(np.sin(z * 1.0))

    w = tapec.constant(X)
    for inplace in (False, True):
        with GradientTape() as outer, GradientTape() as once, GradientTape(persistent=True) as inner:
            for tape in (outer, once, inner):
                tape.watch(w)
            first, second = losses(w, inplace)
        once.gradient(second, w)
        with outer:
            g = inner.gradient(first, w)
            y = np.sum(g * g)
        slope = X.T @ np.cos(X @ X)
        expected = X.T @ (-np.sin(X @ X) * (X @ (2 * slope)))
        np.testing.assert_allclose(outer.gradient(y, w).numpy(), expected, rtol=1e-9)
