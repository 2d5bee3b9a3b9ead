"""Gradients that are asked for again and again are as the first one, by the same code."""

import gc
import weakref

import numpy as np
import pytest

import tapec
from tapec import GradientTape, IndexedSlices, Variable, constant
from tapec.api.tape import run_gradient
from tapec.log_gradients import gradient_program
from tests.api.test_threads import together
from tests.properties import constants


@pytest.fixture(autouse=True)
def empty_cache():
    tapec.cache_clear()
    yield
    tapec.cache_clear()


def plain(found):
    if isinstance(found, (list, tuple)):
        return type(found)(map(plain, found))
    return found if found is None else np.asarray(found).tolist()


A = np.arange(6.0).reshape(2, 3)
W, V = Variable(A), Variable(A + 1.0)
FROZEN = Variable(A, trainable=False)
ASKED = {
    "one": lambda y: W,
    "a list": lambda y: [W, V],
    "a tuple": lambda y: (V, W),
    "a list of one": lambda y: [V],
    "one twice": lambda y: [W, V, W],
    "a dict": lambda y: {"w": W, "v": V},
    "a tuple of lists": lambda y: ([W], [V]),
    "the target": lambda y: [y, W],
    "what is not watched": lambda y: [W, FROZEN],
    "what is not recorded": lambda y: [Variable(1.0), V],
}


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked(name):
    def ask():
        with GradientTape() as tape:
            y = np.sum(np.tanh(W * V) * FROZEN)
        sources = ASKED[name](y)
        return plain(list(found.values())) if isinstance(found := tape.gradient(y, sources), dict) else plain(found)

    want = ask()
    for _ in range(4):
        assert ask() == want


@pytest.mark.parametrize("options", [{}, {"unconnected_gradients": "zero"}, {"output_gradients": constant(3.0)}])
def test_how_it_is_asked(options):
    def ask(**options):
        with GradientTape() as tape:
            y = np.sum(W * W)
        return plain(tape.gradient(y, [W, FROZEN], **options))

    want = ask(**options)
    for _ in range(4):
        ask()
        assert ask(**options) == want
    assert want[1] is None if options.get("unconnected_gradients") is None else want[1] == [[0.0] * 3] * 2


def test_where_no_path_leads():
    def ask(persistent):
        with GradientTape(persistent) as tape:
            y = np.sum(tapec.stop_gradient(W) * FROZEN)
        return tape, tape.gradient(y, W)

    for _ in range(4):
        tape, found = ask(False)
        assert found is None
        with pytest.raises(tapec.TapeError, match="one set of gradients"):
            tape.gradient(W, W)
        assert ask(True)[1] is None


def test_several_things_by_turns():
    def ask():
        with GradientTape(persistent=True) as tape:
            a, b = np.sum(W * V), np.sum(np.sin(W) * V)
        return [plain(tape.gradient(t, s)) for t in (a, b) for s in (W, V, [W, V], (V,), [V, W], [W, W])]

    want = ask()
    for _ in range(4):
        assert ask() == want


def test_targets_of_other_kinds():
    def ask(target):
        with GradientTape(persistent=True) as tape:
            y = np.sum(W * W)
            z = y * 2.0
        return plain(tape.gradient({"y": y, "[z]": [z], "W": W, "both": [y, z]}[target], W))

    want = {target: ask(target) for target in ("y", "[z]", "W", "both")}
    for _ in range(3):
        assert {target: ask(target) for target in want} == want


def test_it_counts_as_found():
    def ask():
        with GradientTape() as tape:
            y = W * 2.0
        return tape.gradient(y, W)

    for _ in range(7):
        ask()
    info = tapec.cache_info()
    assert (info.hits, info.misses, info.compilations, info.size) == (6, 1, 1, 1)


def test_after_clearing_it_is_compiled_again():
    def record():
        with GradientTape(persistent=True) as tape:
            y = W * 2.0
        return tape, y

    for _ in range(3):
        tape, y = record()
        tape.gradient(y, W)
    tapec.cache_clear()
    tape.gradient(y, W)
    assert tapec.cache_info().compilations == 1


def test_what_the_cache_drops_is_compiled_again():
    def ask(n):
        x = constant(np.ones(n))
        with GradientTape() as tape:
            tape.watch(x)
            y = np.sin(x)
        return tape.gradient(y, x)

    with tapec.settings(cache_size=1):
        for _ in range(3):
            ask(1)
        for n in (2, 3, 4):
            ask(n)
        before = tapec.cache_info().compilations
        assert ask(1).tolist() == [np.cos(1.0)]
        assert tapec.cache_info().compilations == before + 1


def test_other_settings_are_other_code():
    def ask():
        with GradientTape() as tape:
            y = W * 2.0
        return tape.gradient(y, W)

    for _ in range(3):
        ask()
    with tapec.settings(fast_math=True):
        ask()
    assert tapec.cache_info().compilations == 2
    with tapec.settings(check_nan=True), pytest.raises(FloatingPointError):
        for _ in range(4):
            with GradientTape() as tape:
                y = np.sum(np.log(constant(-1.0) * W))
            tape.gradient(y, W)


def test_numbers_that_change():
    for k in range(9):
        with GradientTape() as tape:
            y = np.sum(W * 7.25 * (k + 1.0))
        assert plain(tape.gradient(y, W)) == [[7.25 * (k + 1.0)] * 3] * 2
    assert tapec.cache_info().compilations == 2


def test_a_number_that_changes_while_code_runs(monkeypatch):
    """As it does in another thread: the code has the number written in it."""

    def ask(n):
        x = constant(2.0)
        with GradientTape() as tape:
            tape.watch(x)
            y = x * n
        return float(tape.gradient(y, x))

    def meanwhile(*args):
        monkeypatch.setattr(run_gradient, "run", gradient_program.run)
        assert ask(3.0) == 3.0
        return gradient_program.run(*args)

    assert ask(2.0) == 2.0
    monkeypatch.setattr(run_gradient, "run", meanwhile)
    assert ask(2.0) == 2.0
    assert run_gradient.run is gradient_program.run
    assert [ask(n) for n in (2.0, 5.0, 3.0, 5.0, 7.0)] == [2.0, 5.0, 3.0, 5.0, 7.0]


def test_an_outer_tape_records_it():
    def ask():
        x = constant(3.0)
        with GradientTape() as outer:
            outer.watch(x)
            with GradientTape() as inner:
                inner.watch(x)
                y = x * x * x
            g = inner.gradient(y, x)
        return plain(g), plain(outer.gradient(g, x))

    for _ in range(5):
        assert ask() == (27.0, 18.0)


def test_a_variable_read_at_several_values():
    v = Variable(2.0)
    for again in (False, False, False, True, True, False):
        v.assign(2.0)
        with GradientTape() as tape:
            y = v * 3.0
            if again:
                v.assign(5.0)
            y = y * v
        assert tape.gradient(y, v).numpy() == (2.0 * 3.0 + 5.0 * 3.0 if again else 12.0)


def test_rows_stay_sparse():
    table = Variable(np.ones((4, 2)))
    for _ in range(4):
        with GradientTape() as tape:
            y = np.sum(table[np.array([0, 2, 2])] * 2.0)
        found = tape.gradient(y, table)
        assert type(found) is IndexedSlices and np.asarray(found).sum() == 12.0


def test_a_source_that_is_watched_no_more():
    x, c = constant(3.0), constant(2.0)
    for watched in ("xc", "xc", "xc", "x", "c"):
        with GradientTape() as tape:
            tape.watch([t for name, t in (("x", x), ("c", c)) if name in watched])
            y = x * c
        assert plain(tape.gradient(y, [x, c])) == [2.0 if "x" in watched else None, 3.0 if "c" in watched else None]


def references(records):
    return [weakref.ref(e[3]._value) for e in records if type(e[3]._value) is np.ndarray]


def test_large_values_are_let_go():
    tapec.cache_clear()
    w, b = Variable(np.ones((64, 64))), Variable(np.zeros(64))
    for _ in range(4):
        with GradientTape() as tape:
            h = np.tanh(w @ w + b)
            y = np.sum(h * h)
        made = references(tape.log.records[:2])
        assert len(made) == 2
        tape.gradient(y, [w, b])
        assert all(r() is None for r in made)


@pytest.mark.parametrize("n", [3, 100])
def test_what_fails_leaves_the_tape_as_it_was(n):
    """Also where large values were let go by then."""
    x = constant(np.zeros((n, n)))
    for k in range(4):
        with GradientTape() as tape:
            tape.watch(x)
            y = np.sum(np.sqrt(x * 2.0 + 0.0) * 3.0)
        if k > 1:
            with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
                tape.gradient(y, x)
        with np.errstate(divide="ignore"):
            assert np.isinf(tape.gradient(y, x)).all()


def test_a_tape_that_is_used_up_says_so_and_shows_what_ran():
    for _ in range(4):
        with GradientTape() as tape:
            y = np.sum(W * V * 7.25)
        tape.gradient(y, [W, V])
        assert 7.25 in constants(tape.source(y, [W, V]))
        assert tape.ir(y, [W, V]) is not None
        with pytest.raises(tapec.TapeError, match="used up"):
            tape.source(y, [V, W])
        with pytest.raises(tapec.TapeError, match="non-persistent"):
            tape.gradient(y, [W, V])
        assert tape.watched_variables() == (W, V)


def test_a_tape_that_records_is_stopped():
    for _ in range(4):
        with GradientTape() as tape:
            y = np.sum(W * V)
            assert plain(tape.gradient(y, W)) == (A + 1.0).tolist()
        with GradientTape(persistent=True) as tape:
            y = np.sum(W * V)
            assert plain(tape.gradient(y, W)) == (A + 1.0).tolist()


def test_a_tape_that_was_reset():
    for _ in range(4):
        with GradientTape() as tape:
            y = np.sum(W * V)
            tape.reset()
            z = np.sum(W * V)
        assert tape.gradient(z, W) is not None
        with GradientTape() as tape:
            y = np.sum(W * V)
            tape.reset()
            np.sum(W * V)
        assert tape.gradient(y, W) is None


def test_another_tape_is_asked():
    for _ in range(4):
        with GradientTape() as one:
            y = np.sum(W * V)
        with GradientTape() as other:
            z = np.sum(W * V)
        assert one.gradient(z, W) is None
        assert plain(other.gradient(z, W)) == (A + 1.0).tolist()
        assert y is not z


def test_no_tensor_is_held():
    for _ in range(4):
        with GradientTape() as tape:
            h = W * V
            y = np.sum(h)
        gone = weakref.ref(h), weakref.ref(y)
        tape.gradient(y, W)
        del h, y
        assert [r() for r in gone] == [None, None]


def test_no_tensor_is_held_by_a_gradient_function():
    """It rides on a recording, and is no part of what is compiled for it."""
    triple = tapec.custom_gradient(lambda x: (x * 3.0, lambda d: d * np.sign(x) * 3.0))

    def ask():
        x = constant(A)
        with GradientTape() as tape:
            tape.watch(x)
            y = np.sum(triple(x))
        tape.gradient(y, x)
        return weakref.ref(x)

    for _ in range(4):
        gone = ask()
        gc.collect()
        assert gone() is None


def test_in_threads():
    def work(k):
        x = constant(np.full(k % 3 + 1, 0.5))
        for n in range(40):
            with GradientTape() as tape:
                tape.watch(x)
                y = np.sin(x) * (n + k)
            np.testing.assert_allclose(tape.gradient(y, x).numpy(), np.cos(0.5) * (n + k), rtol=1e-14)

    together(work)
