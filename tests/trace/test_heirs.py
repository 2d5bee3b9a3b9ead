"""Operations of a tape that compute in the memory of an operand: where nobody else needs it, and nobody sees it."""

import gc
import sys
import tracemalloc
from weakref import ref

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable
from tapec.errors import InPlaceError
from tapec.trace import heirs
from tapec.trace.idle import HABITS
from tapec.trace.log import Gone
from tapec.trace.tensor import Tensor, raw_value

N = 64
X = np.linspace(-1.0, 1.0, N * N).reshape(N, N)
COUNTED = all(heirs._FEWEST.values())
needs_counts = pytest.mark.skipif(not COUNTED, reason="this interpreter does not tell what nobody holds")


@pytest.fixture(autouse=True)
def no_habits():
    """Nothing is known of what was recorded before."""
    tapec.cache_clear()
    HABITS._due.clear()
    HABITS.worth_it = True


def taken(tape):
    """The operations whose results another one has taken over, or that are let go."""
    return [entry[0].name for entry in tape.log.records if type(raw_value(entry[3])) is Gone]


def run(program, times=4, watched=X, **options):
    """Gradients of a program that is recorded at one place, and what is gone by then, each time."""
    found = []
    for _ in range(times):
        w, b = Variable(watched.T / N), Variable(np.full(N, 0.5, watched.dtype))
        with GradientTape(**options) as tape:
            y = program(w, b)
        names = taken(tape)
        found.append(([g.numpy() for g in tape.gradient(y, [w, b])], names))
    return found


def agree(program, watched=X):
    """The same, for a tape that lets go of nothing has the same gradients."""
    [(expected, names)] = run(program, 1, watched, persistent=True)
    assert names == []
    found = run(program, 4, watched)
    for got, _ in found:
        for g, wanted in zip(got, expected, strict=True):
            assert g.dtype == wanted.dtype
            np.testing.assert_allclose(g, wanted, rtol=1e-12 if watched.dtype == np.float64 else 1e-5)
    return found[-1][1]


def test_counts_tell_what_nobody_holds():
    """As long as Python counts a reference for a name; later ones borrow it."""
    assert COUNTED or sys.version_info >= (3, 14)


# -- memory -----------------------------------------------------------------------------------------------------------
def peak(program, times):
    """Arrays at most while the last of so many is recorded."""
    for k in range(times):
        w, b = Variable(X.T / N), Variable(np.full(N, 0.5))
        if k == times - 1:
            tracemalloc.start()
        try:
            with GradientTape() as tape:
                y = program(w, b)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        tape.gradient(y, [w, b])
    return most / X.nbytes


@needs_counts
@pytest.mark.parametrize(
    "program",
    [
        lambda w, b: np.tanh(w @ w + b),
        lambda w, b: np.tanh(X + w @ w),
        lambda w, b: np.tanh(0.5 - w @ w),
        lambda w, b: np.tanh(-(w @ w) / 2.0 + 1.0),
        lambda w, b: np.tanh(np.add(np.multiply(w @ w, 0.5), b)),
    ],
)
def test_one_array_for_a_chain(program):
    """Beside the copy that is kept of a plain operand."""
    first, later = peak(program, 1), peak(program, 4)
    assert first > 2.9 and later < first - 0.9 and later < 2.2


@needs_counts
def test_what_has_a_name_is_not_taken():
    def named(w, b):
        z = w @ w
        h = z + b
        return np.tanh(h)

    assert peak(named, 4) > 2.9


def test_nothing_is_left_to_the_garbage_collector():
    run(lambda w, b: np.sum(np.tanh(w @ w + b)))
    gc.collect()
    gc.disable()
    try:
        run(lambda w, b: np.sum(np.tanh(w @ w + b)), 50)
        assert gc.collect() < 50
    finally:
        gc.enable()


# -- the same gradients -----------------------------------------------------------------------------------------------
PROGRAMS = {
    "layers": lambda w, b: np.sum(np.tanh(np.tanh(w @ w + b) @ w + b) ** 2),
    "logistic": lambda w, b: np.sum(1.0 / (1.0 + np.exp(-(w @ w + b)))),
    "reflected": lambda w, b: np.sum(np.exp(2.0 - 3.0 * (1.0 + b - w @ w))),
    "of itself": lambda w, b: np.sum(np.tanh((w @ w) ** 2 + b)),
    "read before": lambda w, b: (lambda z: np.sum(np.tanh(z + b)) + np.sum(z[0]))(w @ w),
    "comparison": lambda w, b: np.sum(np.where(w @ w + b > 0, w, b)),
    "relu": lambda w, b: np.sum(np.maximum(w @ w + b, 0.0) * w),
    "looked at alone": lambda w, b: np.sum(w * b) + np.sum(np.minimum(np.maximum(w @ w, 0.0), b) > 0.1),
    "plain operands": lambda w, b: np.sum(np.tanh(X @ w + X) * (X + b)),
    "residual": lambda w, b: np.sum(np.tanh(w + np.tanh(w @ w + b))),
    "views": lambda w, b: np.sum(np.tanh((w @ w + b).T * b) + (w @ w).reshape(-1, N)),
    "softmax": lambda w, b: -np.sum(np.log(np.exp(w @ w + b) / np.sum(np.exp(w @ w), axis=1, keepdims=True))),
    "clipped": lambda w, b: np.sum(np.clip(np.sqrt((w @ w) ** 2 + 1.0) * b, 0.1, 2.0)),
    "minimum of two": lambda w, b: np.sum(np.minimum(w @ w + b, w * b)),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gradients_are_the_same(name, dtype):
    agree(PROGRAMS[name], X.astype(dtype))


@needs_counts
def test_what_is_taken():
    assert agree(PROGRAMS["layers"])[:2] == ["matmul", "add"]
    assert agree(PROGRAMS["relu"]) == ["matmul"]
    assert agree(PROGRAMS["looked at alone"]) == ["matmul", "maximum"]


def test_another_program_at_the_same_place():
    """Whatever the last one has let us expect."""
    programs = [*PROGRAMS.values()]
    for first, second in zip(programs, programs[1:] + programs[:1], strict=True):
        [(expected, _)] = run(second, 1, persistent=True)
        turn = iter([first, first, first, second])
        (got, _) = run(lambda w, b: next(turn)(w, b))[-1]  # noqa: B023
        for g, wanted in zip(got, expected, strict=True):
            np.testing.assert_allclose(g, wanted, rtol=1e-12)


@pytest.mark.parametrize(
    "other",
    [
        lambda z, b: z + b.astype(np.float32),
        lambda z, b: z + 1,
        lambda z, b: z + [*range(N)],
        lambda z, b: z + np.float32(1.0),
        lambda z, b: z * b,
        lambda z, b: np.isnan(z) + b,
        lambda z, b: z[:, :, None] + b[:2],
        lambda z, b: np.add(z, b, dtype=np.float64),
        lambda z, b: z.astype(np.float32) + b,
        lambda z, b: z.sum(),
        lambda z, b: np.sum(z, axis=0),
        lambda z, b: z.copy(),
        lambda z, b: float(z[0, 0]) + z,
    ],
)
def test_what_comes_next_is_something_else(other):
    """It gives what it gives without a tape."""
    w, b = np.ascontiguousarray(X.T / N), np.full(N, 0.5)
    for k in range(4):
        v = tapec.constant(w)
        with GradientTape() as tape:
            tape.watch(v)
            z = v @ v + b if k < 3 else other(v @ v, b)
            y = np.sum(np.tanh(z))
        tape.gradient(y, v)
    expected = other(w @ w, b)
    assert z.dtype == expected.dtype
    np.testing.assert_array_equal(np.asarray(z), expected)


# -- what somebody still needs ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("watch", ["name", "list", "weak", "view", "array"])
def test_what_somebody_holds_is_there(watch):
    """Also if nobody held it the times before."""
    for k in range(6):
        w, b, held = Variable(X.T / N), Variable(np.full(N, 0.5)), []

        def keep(z):
            look = {"view": lambda z: z[1:], "array": lambda z: np.asarray(z), "weak": ref}.get(watch, lambda z: z)
            if k in (2, 5):  # noqa: B023
                held.append(look(z))  # noqa: B023
            return z

        with GradientTape() as tape:
            if watch == "name" and k in (2, 5):
                z = w @ w
                held.append(z)
                h = np.tanh(z + b)
                del z
            else:
                h = np.tanh(keep(w @ w) + b)
            y = np.sum(h)
        expected = (X.T / N) @ (X.T / N)
        expected = expected[1:] if watch == "view" else expected
        if watch == "weak":  # the tape holds it as long as it is not used up
            held = [z() for z in held]
        assert all([np.array_equal(np.asarray(z), expected) for z in held])
        tape.gradient(y, [w, b])
        assert all([np.array_equal(np.asarray(z), expected) for z in held])


@pytest.fixture
def uncounted(monkeypatch):
    """As if somebody held tensors by references that are not counted: names, here."""
    monkeypatch.setattr(heirs, "_FEWEST", {k: (v[0] + 1, v[1]) for k, v in heirs._FEWEST.items()})


@needs_counts
@pytest.mark.parametrize("when", ["while it is recorded", "after the block", "after the gradient"])
def test_what_is_taken_from_somebody_is_computed_again(uncounted, when):
    """And taken no more."""
    taken = []
    for _ in range(5):
        w, b, held = Variable(X.T / N), Variable(np.full(N, 0.5)), []
        with GradientTape() as tape:
            z = X @ w
            h = z + b
            taken.append(isinstance(raw_value(z), Gone))
            if when == "while it is recorded":
                held = [z.numpy()]
            y = np.sum(np.tanh(h))
        if when == "after the block":
            held = [z.numpy()]
        got = tape.gradient(y, [w, b])
        if when == "after the gradient":
            held = [z.numpy()]
        np.testing.assert_array_equal(held[0], X @ (X.T / N))
        assert type(z) is Tensor
        slope = 1.0 - np.tanh(X @ (X.T / N) + 0.5) ** 2
        np.testing.assert_allclose(got[0].numpy(), X.T @ slope, rtol=1e-12)
        np.testing.assert_allclose(got[1].numpy(), slope.sum(0), rtol=1e-12)
    assert taken == [False, True, False, False, False]


@needs_counts
def test_it_is_computed_of_what_was_recorded(uncounted):
    """Plain arrays may have changed by then; of large ones no copy is kept, so that is an error."""
    for x in (np.ones((N, N)), np.ones((200, N))):
        for k in range(3):
            w, b = Variable(X.T / N), Variable(np.full(N, 0.5))
            with GradientTape() as tape:
                z = x @ w
                h = z + b
                y = np.sum(np.tanh(h))
            if k < 2:
                tape.gradient(y, [w, b])
        assert isinstance(raw_value(z), Gone)
        x += 1.0
        if x.nbytes > 1 << 16:
            with pytest.raises(InPlaceError, match="was changed in place after it was recorded"):
                z.numpy()
        else:
            np.testing.assert_allclose(z.numpy(), (x - 1.0) @ w.numpy(), rtol=1e-12)


# -- errors -----------------------------------------------------------------------------------------------------------
def test_an_operation_that_fails_leaves_the_tape_as_it_was():
    for k in range(6):
        w, b = Variable(X.T), Variable(np.full(N, 0.5))
        with GradientTape() as tape:
            total = np.sum(b * b)
            with np.errstate(over="raise"):
                try:
                    total = total + np.sum(np.exp(w @ w * (1e5 if k > 3 else 0.1)))
                except FloatingPointError as error:
                    assert k > 3 and "test_heirs.py" in "".join(error.__notes__)
            y = total * 2.0
        slopes = tape.gradient(y, [w, b])
        assert (slopes[0] is None) is (k > 3)
        np.testing.assert_allclose(slopes[1].numpy(), np.full(N, 2.0))


def test_an_error_goes_through_the_block():
    for k in range(5):
        w, b = Variable(X.T / N), Variable(np.full(N, 0.5))
        tape = GradientTape()
        try:
            with tape:
                h = np.tanh(w @ w + b)
                if k == 4:
                    raise KeyError
                y = np.sum(h)
        except KeyError:
            y = np.sum(h)
            assert k == 4
            continue
        tape.gradient(y, [w, b])


@needs_counts
def test_numpys_buffers_are_as_they_were():
    sizes = []
    before = np.setbufsize(4096)
    try:
        for _ in range(4):
            w, b = Variable(X.T / N), Variable(np.full(N, 0.5))
            with GradientTape() as tape:
                y = np.sum(np.tanh(w @ w + b))
            tape.gradient(y, [w, b])
            sizes.append(np.getbufsize())
    finally:
        np.setbufsize(before)
    assert sizes == [4096] * 4
