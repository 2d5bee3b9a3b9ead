"""Gradients of a tape that write over what it recorded: where nobody else needs it, and so that nobody sees it."""

import tracemalloc

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable
from tapec.codegen import tuning
from tapec.trace.classes import raw_value
from tests.benchmarks.bench_memory import net, peak, step_by_hand, step_on_a_tape
from tests.properties import parameters, updates, uses_out

N = 150
X = np.linspace(-1.0, 1.0, N * N).reshape(N, N)
ROWS = np.random.default_rng(0).integers(0, N, 3 * N)


@pytest.fixture(autouse=True)
def nothing_is_known():
    tapec.cache_clear()


def recorded(program, x=X, **options):
    w, b = Variable(x.T / N), Variable(np.full(len(x), 0.5, x.dtype))
    with GradientTape(**options) as tape:
        y = program(w, b) + np.sum(b)
    return tape, y, [w, b]


PROGRAMS = {
    "a layer": lambda w, b: np.sum(np.tanh(X @ w + b) ** 2),
    "a column": lambda w, b: np.mean((np.tanh(X @ w + b) @ b[:, None] - 1.0) ** 2),
    "layers": lambda w, b: np.sum(np.tanh(np.tanh(np.tanh(w @ w + b) @ w + b) @ w) ** 3),
    "softmax": lambda w, b: np.mean(np.log(np.sum(np.exp(w @ w + b), axis=1)) - (w @ w)[:, 0]),
    "products": lambda w, b: np.sum(np.sin(w) * np.cos(w * b) * np.exp(w) / (1.0 + w * w)),
    "selections": lambda w, b: np.sum(np.where(np.sin(w) > b, np.exp(w), np.sqrt(w * w + 1.0)) ** 2),
    "parts": lambda w, b: np.sum(np.exp(w)[1:, ::2] * np.exp(w)[:-1, 1::2]) + np.sum(np.exp(w)[3] * b),
    "rows": lambda w, b: np.sum(np.tanh(w)[ROWS] ** 2 * np.exp(w[ROWS])),
    "turned": lambda w, b: np.sum(np.exp(w).T @ np.exp(w) * np.tanh(w.T)),
    "joined": lambda w, b: np.sum(np.sin(np.concatenate([np.exp(w), np.tanh(w * b)], axis=1)) ** 2),
    "sums": lambda w, b: np.sum(np.cumsum(np.exp(w * b), axis=0) ** 2 / np.sum(np.exp(w), axis=0)),
    "extremes": lambda w, b: np.sum(np.max(np.sin(w), axis=1) * np.min(np.exp(w), axis=0)),
    "norms": lambda w, b: np.sum(np.exp(w) / np.sqrt(np.sum(np.exp(w) ** 2, axis=1, keepdims=True)) * b),
    "einsum": lambda w, b: np.einsum("ij,jk,ki->", np.exp(w), np.tanh(w), np.sin(w)),
    "solve": lambda w, b: np.sum(np.linalg.solve(np.exp(w) + 9.0 * np.eye(N), np.tanh(w))),
    "read twice": lambda w, b: (lambda h: np.sum(h * h) + np.sum(h @ h) + np.sum(h * b))(np.tanh(w @ w)),
    "powers": lambda w, b: np.sum((1.0 + np.exp(w)) ** 2.5 * np.log1p(np.exp(w))),
}


OF_ONE_SIZE = {"a layer", "a column", "rows", "solve"}
SIZES = [(name, size) for name in PROGRAMS for size in ([N] if name in OF_ONE_SIZE else [N, 700])]


@pytest.mark.sampled(one_in=4, per="name")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name, size", SIZES)
def test_gradients_are_the_same(name, size, threads):
    """In one piece, and in blocks."""
    x = X if size == N else np.linspace(-1.0, 1.0, size * size).reshape(size, size)
    program = PROGRAMS[name]
    with tapec.settings(threads=threads):
        tape, y, sources = recorded(program, x, persistent=True)
        expected = tape.gradient(y, sources)
        for _ in range(3):
            tape, y, sources = recorded(program, x)
            for got, wanted in zip(tape.gradient(y, sources), expected, strict=True):
                np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-11, atol=1e-14 * size)


def test_the_source_says_so(monkeypatch):
    monkeypatch.setattr(tuning, "BUFFER_ALWAYS_MIN_BYTES", X.nbytes)
    tape, y, sources = recorded(PROGRAMS["a column"])
    tape.gradient(y, sources)
    source = tape.source(y, sources)
    assert "# may write over t2: nobody else needs it" in source
    assert [p for p in parameters(source) if uses_out(source, into=p) or updates(source, target=p)] == ["t2"]


def most(persistent):
    """Arrays at most while the gradient runs, beside those recorded."""
    x = np.linspace(-1.0, 1.0, 600 * 600).reshape(600, 600)
    tape, y, sources = recorded(PROGRAMS["layers"], x, persistent=persistent)
    tracemalloc.start()
    try:
        tape.gradient(y, sources)
        return tracemalloc.get_traced_memory()[1] / x.nbytes
    finally:
        tracemalloc.stop()


def test_memory():
    most(False), most(True)
    assert most(False) < most(True) - 0.9


@pytest.mark.parametrize("rows", [128, 1024, 8192])
def test_a_step_of_training_takes_at_most_twice_the_memory_of_one_by_hand(rows):
    """One by hand has two arrays of a layer at one time; a tape has recorded three when the layer is over."""
    parameters, x, y = net(rows)
    variables = [Variable(p) for p in parameters]
    by_hand, ours = peak(step_by_hand, (parameters, x, y)), peak(step_on_a_tape, (variables, x, y))
    assert ours <= 2 * by_hand
    np.testing.assert_allclose(variables[0].numpy(), parameters[0], rtol=1e-9)


# -- what somebody still needs ----------------------------------------------------------------------------------------
WAYS = {
    "the tensor": lambda h: h,
    "a view": lambda h: h[1:],
    "a turned view": lambda h: h.T,
    "its array": lambda h: raw_value(h),
    "a part of its array": lambda h: raw_value(h)[::2],
    "a buffer": lambda h: memoryview(raw_value(h)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("first", [True, False])
def test_what_somebody_holds_stays(way, first):
    """If it is held when the gradient is compiled, or another time."""
    for k in range(5):
        w, held = Variable(X.T / N), []
        with GradientTape() as tape:
            h = np.tanh(X @ w)
            if (k % 2 == 0) is first:
                held.append(WAYS[way](h))
                before = np.array(raw_value(h))
            y = np.sum(h * h) + np.sum(h @ h)
            del h
        got = tape.gradient(y, w)
        for x in held:
            np.testing.assert_array_equal(np.asarray(x), np.asarray(WAYS[way](tapec.constant(before))))
        z = np.tanh(X @ (X.T / N))
        slope = (2.0 * z + z.sum(1) + z.sum(0)[:, None]) * (1.0 - z * z)
        np.testing.assert_allclose(got.numpy(), X.T @ slope, rtol=1e-11, atol=1e-12)


def test_targets_and_sources_stay():
    x = tapec.constant(X)
    for _ in range(3):
        with GradientTape() as tape:
            tape.watch(x)
            h = np.tanh(x)
            tape.watch(h)
            y = h * h * 2.0
        g = tape.gradient(y, [x, h])
        np.testing.assert_array_equal(y.numpy(), np.tanh(X) ** 2 * 2.0)
        np.testing.assert_array_equal(h.numpy(), np.tanh(X))
        np.testing.assert_array_equal(x.numpy(), X)
        np.testing.assert_allclose(g[0].numpy(), 4.0 * np.tanh(X) * (1.0 - np.tanh(X) ** 2), rtol=1e-12)


def test_results_are_arrays_of_their_own():
    """Two gradients never share memory, not even that of a value that both might live in."""
    for _ in range(3):
        u, v = Variable(X), Variable(X.T.copy())
        with GradientTape() as tape:
            y = np.sum(np.exp(u + v))
        first, second = tape.gradient(y, [u, v])
        assert not np.may_share_memory(first.numpy(), second.numpy())
        first, second = raw_value(first), raw_value(second)
        assert not np.may_share_memory(first, second)
        assert first.flags.writeable and second.flags.writeable


def test_variables_stay():
    for _ in range(3):
        tape, y, sources = recorded(PROGRAMS["products"])
        tape.gradient(y, sources)
        np.testing.assert_array_equal(sources[0].numpy(), X.T / N)


def test_outer_tapes_have_all():
    for _ in range(3):
        w = tapec.constant(X / N)
        with GradientTape() as outer:
            outer.watch(w)
            with GradientTape() as inner:
                inner.watch(w)
                y = np.sum(np.tanh(w @ w) ** 2)
            g = np.sum(inner.gradient(y, w) ** 2)
        got = outer.gradient(g, w).numpy()
        expected = tapec.grad(lambda w: np.sum(tapec.grad(lambda w: np.sum(np.tanh(w @ w) ** 2))(w) ** 2))(X / N)
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-13)


# -- errors -----------------------------------------------------------------------------------------------------------
def test_a_gradient_that_fails_leaves_the_tape_as_it_was():
    w = Variable(X / N)
    for _ in range(4):
        with GradientTape() as tape:
            h = np.tanh(w @ w)
            y = np.sum(np.tanh(h) ** 3) + np.sqrt(np.sum(w * 0.0))
            del h
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            tape.gradient(y, w)
        with np.errstate(all="ignore"):
            got = tape.gradient(y, w).numpy()
        with GradientTape(persistent=True) as plain:
            z = np.sum(np.tanh(np.tanh(w @ w)) ** 3) + np.sqrt(np.sum(w * 0.0))
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(got, plain.gradient(z, w).numpy())


def test_cache_on_disk(tmp_path):
    """What writes over its arguments is another entry than what does not."""
    with tapec.settings(cache_dir=str(tmp_path / "cache")):
        expected = None
        for persistent in (True, False, False, True, False):
            tapec.cache_clear()
            tape, y, sources = recorded(PROGRAMS["layers"], persistent=persistent)
            got = [g.numpy() for g in tape.gradient(y, sources)]
            assert ("# may write over" in (tape.source(y, sources))) is not persistent
            expected = expected or got
            for g, wanted in zip(got, expected, strict=True):
                np.testing.assert_allclose(g, wanted, rtol=1e-12)
        assert len([*(tmp_path / "cache").rglob("*.*")]) >= 2


def test_compilations_are_counted():
    tape, y, sources = recorded(PROGRAMS["layers"])
    tape.gradient(y, sources)
    before = tapec.cache_info().compilations
    tape, y, sources = recorded(PROGRAMS["layers"], persistent=True)
    for _ in range(2):
        tape.gradient(y, sources)
    assert tapec.cache_info().compilations == before + 1  # what leaves the values as they are
