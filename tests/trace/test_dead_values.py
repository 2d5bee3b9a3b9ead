"""What a tape lets go before its only gradient runs: less memory, and nothing is missing for who holds it, or asks."""

import tracemalloc
from weakref import ref

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable
from tapec.trace import tuning

N = 64
X = np.linspace(-1.0, 1.0, N * N).reshape(N, N)
assert X.nbytes > tuning.FREED_MIN_BYTES


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


def layers(w, b, times=4):
    h = X
    for _ in range(times):
        h = np.tanh(h @ w + b)
    return np.sum(h * h)


def asked(what, program):
    """What is asked of a tape, which is entered here and nowhere else."""
    w, b = Variable(X.T / N), Variable(np.full(N, 0.5))
    with GradientTape(persistent=what == "persistent") as tape:
        y = program(w, b)
    with np.errstate(all="ignore"):
        if what == "jacobian":
            return [np.asarray(tape.jacobian(y, b))]
        if what == "one":
            return [tape.gradient(y, b).numpy()]
        if what == "source":
            tape.source(y, [w, b])
            tape.ir(y, [w, b], stage="forward")
        if what == "seed":
            return [tape.gradient(y, b, output_gradients=tapec.constant(2.0)).numpy()]
        if what == "recorded":
            seed = tapec.constant(2.0)
            with GradientTape() as outer:
                outer.watch(seed)
                g = tape.gradient(y, b, output_gradients=seed)
            return [g.numpy(), outer.gradient(g, seed).numpy()]
        return [g.numpy() for g in tape.gradient(y, [w, b])]


def squares(w, b):
    """Its gradient takes what that of `layers` does not."""
    h = X
    for _ in range(4):
        h = np.sin(h @ w + b)
    return np.sum(h * h)


@pytest.mark.parametrize("program", [layers, squares, lambda w, b: layers(w, b, 2), net])
@pytest.mark.parametrize("what", ["plain", "jacobian", "one", "source", "seed", "recorded", "persistent"])
def test_whatever_is_recorded_there_next_and_asked_of_it(what, program):
    """All is there that is asked for, and the same to the last bit."""
    tapec.cache_clear()
    expected = asked(what, program)
    tapec.cache_clear()
    asked("plain", layers), asked("plain", layers)
    for _ in range(3):
        for got, wanted in zip(asked(what, program), expected, strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_two_programs_recorded_on_one_line_in_turn():
    """Each computes what it says: no operation writes over what another one is to read."""
    x, w, c = np.random.default_rng(0).normal(size=(3, 3000))
    v = Variable(x)
    for step in range(6):
        with GradientTape() as tape:
            if step % 2 == 0:
                loss, want = np.sum((np.sin(v * w) - c) ** 2), np.sum((np.sin(x * w) - c) ** 2)
                slope = 2.0 * (np.sin(x * w) - c) * np.cos(x * w) * w
            else:
                loss, want = np.sum((np.sin(v) - w * w) ** 2), np.sum((np.sin(x) - w * w) ** 2)
                slope = 2.0 * (np.sin(x) - w * w) * np.cos(x)
        np.testing.assert_allclose(loss.numpy(), want, rtol=1e-12)
        np.testing.assert_allclose(tape.gradient(loss, v).numpy(), slope, rtol=1e-11, atol=1e-14)


def test_what_somebody_refers_to_weakly_stays():
    """While recording, and when the gradient has run."""
    for keep in (True, False, True):
        watched = []
        w, b = Variable(X.T / N), Variable(np.full(N, 0.5))
        with GradientTape() as tape:
            z = X @ w
            if keep:
                watched.append(ref(z))
            h = z + b
            del z
            y = np.sum(np.tanh(np.tanh(h) @ w + b) ** 2)
        for z in watched:
            np.testing.assert_array_equal(z().numpy(), X @ w.numpy())
        tape.gradient(y, [w, b])
        for z in watched:
            assert z() is None or np.array_equal(z().numpy(), X @ w.numpy())


def test_changes_in_place_where_there_were_none():
    for change in (False, False, True):
        w, b = Variable(X.T / N), Variable(np.full(N, 0.5))
        with GradientTape() as tape:
            h = np.tanh(X @ w + b)
            h = np.tanh(h @ w + b)
            if change:
                h[0] = 1.0
            y = np.sum(h * h)
        got = tape.gradient(y, b).numpy()
    with GradientTape() as plain:
        h = np.tanh(np.tanh(X @ w + b) @ w + b)
        y = np.sum(h[1:] ** 2)
    np.testing.assert_allclose(got, plain.gradient(y, b).numpy(), rtol=1e-12)


def test_a_gradient_that_fails_where_values_are_gone():
    def loss(w, b):
        return layers(w, b) + np.sum(np.sqrt(b - 0.5))  # whose slope at 0 is infinite

    for _ in range(3):
        w, b = Variable(X.T / N), Variable(np.full(N, 0.5))
        with GradientTape() as tape:
            y = loss(w, b)
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            tape.gradient(y, [w, b])
        with np.errstate(all="ignore"):
            got = tape.gradient(y, w).numpy()
    with GradientTape(persistent=True) as plain:
        y = layers(w, b)
    np.testing.assert_allclose(got, plain.gradient(y, w).numpy(), rtol=1e-12)


def test_an_array_that_changed_since():
    """What a gradient that failed has freed is computed again from what the array held."""
    x = np.ones((200, 200))
    w = Variable(np.full((200, 200), 0.001))
    with GradientTape() as tape:
        y = np.sqrt(np.tanh(x * w + 1.0) - np.tanh(1.001))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        tape.gradient(y, w)
    x[:] = 2.0
    with np.errstate(all="ignore"):
        assert np.all(np.isinf(tape.gradient(y, w).numpy()))
